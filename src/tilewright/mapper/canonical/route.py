"""A mapping as a route inward: its store nodes, each with what the words that it gets depend on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Ints
from tilewright.mapper.problem.link_costs import segment_of
from tilewright.mapper.problem.space import Space
from tilewright.mapping.nodes import Mapping, Spatial, Store
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Advance:
    """A loop of a slide: dimension and tile, and the extents and iterations outside it."""

    dimension: int
    tile: int
    shape: tuple[int, ...]
    outside: int


@dataclass(frozen=True)
class Node:
    """A store node of a tensor.

    Attributes
    ----------
    memory, segment : int
        Where it stands: position of the memory, and arrays above it.
    tile : tuple of int
        Extents of all dimensions of more than one iteration.
    outside : int
        Temporal iterations of dimensions irrelevant to the tensor outside the innermost relevant
        loop: how often the tile comes anew, apart from its own chunks and what arrays add.
    slide : tuple of Advance
        The loops inside the innermost relevant one on a dimension that does not slide with theirs.
    """

    memory: int
    segment: int
    tile: tuple[int, ...]
    outside: int
    slide: tuple[Advance, ...]


@dataclass(frozen=True)
class Route:
    """The store nodes of each tensor below the outermost memory, and how arrays are entered.

    Attributes
    ----------
    nodes : tuple of tuple of Node
        By tensor.
    factors, above : arrays of (arrays, dimensions)
        Spatial factors, and the extents above each array that unrolls something, else 0.
    """

    nodes: tuple[tuple[Node, ...], ...]
    factors: Ints
    above: Ints


def route_of(
    mapping: Mapping, layer: Layer, architecture: Architecture, sp: Space, window: Ints
) -> Route | None:
    """Return the route of a valid mapping; None where it leaves the lattice, or nodes cross.

    Nodes cross where a memory below an array stores above one that lies outside of it.

    Parameters
    ----------
    window : array of (tensors, dimensions)
        The expression of a tensor in which a dimension slides with others, or -1.
    """
    dimensions = [d for d in layer.dimensions if layer.bounds[d] > 1]
    number = {d: i for i, d in enumerate(dimensions)}
    memories = {memory.name: m for m, memory in enumerate(architecture.memories)}
    arrays = {array.name: a for a, array in enumerate(architecture.arrays)}
    tensors = {tensor.name: t for t, tensor in enumerate(layer.tensors)}
    of_memory = segment_of(architecture)
    relevant, slot = sp.relevant.tolist(), window.tolist()
    extents = [layer.bounds[d] for d in dimensions]
    factors = np.ones((len(arrays), len(dimensions)), np.int64)
    above = np.zeros_like(factors)
    nodes: list[list[Node]] = [[] for _ in tensors]
    # by tensor: iterations of irrelevant dimensions, and those outside the innermost relevant loop
    passed, outside = [1] * len(tensors), [1] * len(tensors)
    slides: list[list[Advance]] = [[] for _ in tensors]
    segment = 0
    for node in mapping.nodes[1:]:
        if isinstance(node, Store):
            m = memories[node.memory]
            if of_memory[m] < segment:
                return None
            segment = of_memory[m]
            for name in node.tensors:
                t = tensors[name]
                found = Node(m, segment, tuple(extents), outside[t], tuple(slides[t]))
                nodes[t].append(found)
            continue
        if node.dimension not in number:
            continue
        d = number[node.dimension]
        chunks, short = divmod(extents[d], node.tile)
        if short:
            return None
        if isinstance(node, Spatial):
            a = arrays[node.array]
            if segment > a:
                return None
            if not above[a].any():
                above[a] = extents
            factors[a, d] *= chunks
        elif chunks > 1:
            for t in tensors.values():
                if not relevant[t][d]:
                    passed[t] *= chunks
                    continue
                outside[t] = passed[t]
                own = [i for i, expression in enumerate(slot[t]) if expression == slot[t][d]]
                if slot[t][d] < 0 or (slides[t] and slides[t][-1].dimension not in own):
                    slides[t] = []
                if slot[t][d] >= 0:
                    loop = Advance(d, node.tile, tuple(extents), passed[t])
                    slides[t] = extended(slides[t], loop, own)
        extents[d] = node.tile
    return Route(tuple(map(tuple, nodes)), factors, above)


def extended(slide: list[Advance], loop: Advance, own: list[int]) -> list[Advance]:
    """Return a slide with one more loop; it goes on with the last one where nothing is between.

    `own` are the dimensions of the slide.
    """
    if slide and slide[-1].dimension == loop.dimension and slide[-1].outside == loop.outside:
        last = slide[-1]
        inside = [last.tile if i == loop.dimension else last.shape[i] for i in own]
        if inside == [loop.shape[i] for i in own]:
            return [*slide[:-1], replace(last, tile=loop.tile)]
    return [*slide, loop]
