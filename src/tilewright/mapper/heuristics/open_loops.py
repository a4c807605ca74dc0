"""Loops of one chunk wherever a loop may stand, so that any of them may become one of several.

They cost nothing, and are left out when tile sizes have been chosen.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby

import numpy as np

from tilewright.architecture.machine import Architecture, Array
from tilewright.kernels.types import Ints
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import segment_of
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

CUTS = 2.5  # loops of each dimension that are drawn with another number of chunks


def opened(mapping: Mapping, layer: Layer, architecture: Architecture) -> Mapping:
    """Return the mapping with a loop of one chunk wherever there is none of a dimension."""
    dimensions = [d for d in layer.dimensions if layer.bounds[d] > 1]
    extent = dict(layer.bounds)
    machine = in_letters(architecture, layer)
    above = dict(
        zip((m.name for m in architecture.memories), segment_of(architecture), strict=True)
    )
    nodes: list[Node] = []
    block: set[str] = set()

    def fill() -> None:
        if nodes and not isinstance(nodes[-1], Spatial):
            nodes.extend(For(d, extent[d]) for d in dimensions if d not in block)
        block.clear()

    def widen(array: Array) -> None:
        used = {(n.axis, n.dimension) for n in spatial if n.array == array.name}
        for axis in array.axes:
            allowed = machine.allowed_dimensions(array.name, axis)
            for d in dimensions:
                if (axis, d) not in used and (allowed is None or d in allowed):
                    nodes.append(Spatial(d, extent[d], axis, array.name))

    def pass_idle(count: int) -> None:
        while len(architecture.arrays) - len(arrays) < count:
            fill()
            widen(arrays.pop(0))

    arrays = list(architecture.arrays)
    names = [array.name for array in arrays]
    spatial = [node for node in mapping.nodes if isinstance(node, Spatial)]
    for node, following in zip(mapping.nodes, (*mapping.nodes[1:], None), strict=True):
        if isinstance(node, Store):
            pass_idle(above[node.memory])
            if nodes and not isinstance(nodes[-1], Store):
                fill()
            nodes.append(node)
            continue
        if isinstance(node, Spatial):
            pass_idle(names.index(node.array))
            fill()
        else:
            block.add(node.dimension)
        nodes.append(node)
        extent[node.dimension] = node.tile
        if isinstance(node, Spatial) and not isinstance(following, Spatial):
            own = names.index(node.array)
            if own == len(names) - len(arrays):
                widen(arrays.pop(0))
    pass_idle(len(names))
    return Mapping(tuple(nodes))


def in_any_order(mapping: Mapping, layer: Layer) -> Mapping:
    """Return a mapping with loops of one chunk around and inside all loops that follow each other.

    One dimension after the other may then become a loop, on either side of the others.
    """
    dimensions = [d for d in layer.dimensions if layer.bounds[d] > 1]
    extent = dict(layer.bounds)
    nodes: list[Node] = []
    for loops, own in groupby(mapping.nodes, key=lambda node: isinstance(node, For)):
        nodes += [For(d, extent[d]) for d in dimensions if loops]
        for node in own:
            nodes.append(node)
            if not isinstance(node, Store):
                extent[node.dimension] = node.tile
        nodes += [For(d, extent[d]) for d in dimensions if loops]
    return Mapping(tuple(nodes))


def storing(
    keep: KeepChoice, layer: Layer, architecture: Architecture, rng: np.random.Generator
) -> Mapping:
    """Return a mapping of one chunk per loop with a loop below every tensor of a bypass choice.

    In each memory but the outermost the tensors come in an order that is drawn.
    """
    outermost, *memories = architecture.memories
    idle = [For(d, bound) for d, bound in layer.bounds.items()][:1]
    nodes: list[Node] = [Store(outermost.name, tuple(t.name for t in layer.tensors)), *idle]
    for m, memory in enumerate(memories, start=1):
        kept = [t for t, chain in enumerate(keep) if m in chain]
        for t in rng.permutation(kept).tolist():
            nodes += [Store(memory.name, (layer.tensors[t].name,)), *idle]
    return Mapping(tuple(nodes))


def drawn(structure: Mapping, layer: Layer, rows: int, rng: np.random.Generator) -> Ints:
    """Draw tile sizes for the loops of a structure, of which a few have more than one chunk.

    Returns
    -------
    array of (rows, loops)
    """
    left = {d: np.full(rows, bound, np.int64) for d, bound in layer.bounds.items()}
    loops = [node for node in structure.nodes if not isinstance(node, Store)]
    idle = {d: 1 - CUTS / max(CUTS, sum(n.dimension == d for n in loops)) for d in left}
    tiles = np.empty((rows, len(loops)), np.int64)
    for i, node in enumerate(loops):
        extent = left[node.dimension]
        smaller = rng.integers(1, extent, endpoint=True)
        one = rng.random(rows) < idle[node.dimension]
        tiles[:, i] = left[node.dimension] = np.where(one, extent, smaller)
    return tiles


def closed(mapping: Mapping, tiles: Ints, layer: Layer) -> Mapping:
    """Return the mapping with these tile sizes, without loops of one chunk."""
    extent = dict(layer.bounds)
    left = iter(tiles.tolist())
    nodes: list[Node] = []
    for node in mapping.nodes:
        if isinstance(node, Store):
            last = nodes[-1] if nodes else None
            if isinstance(last, Store) and last.memory == node.memory and len(nodes) > 1:
                nodes[-1] = Store(last.memory, (*last.tensors, *node.tensors))
            else:
                nodes.append(node)
            continue
        tile = next(left)
        if tile < extent[node.dimension]:
            nodes.append(replace(node, tile=tile))
            extent[node.dimension] = tile
    return Mapping(tuple(nodes))
