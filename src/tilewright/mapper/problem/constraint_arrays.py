"""What constraints ask of the walk of one bypass choice, as plain arrays for the kernels."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.architecture.constraints.constraint import ROUNDING, Constraint
from tilewright.architecture.machine import Architecture
from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.bypass_choices import KeepChoice, about_memories
from tilewright.mapper.problem.lattice import Lattice
from tilewright.mapping.names import role_names
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer


@record
class Limits(NamedTuple):
    """What constraints ask of the walk (plain arrays for the kernels).

    A stage is how many of its store nodes in a segment each tensor has behind it. At most one
    memory has an open block at a stage: the innermost one that has a node, when it has all.

    Attributes
    ----------
    active : bool
        Whether they ask for anything; where they do not, the arrays are empty.
    tile : array of (tensors, links, shapes)
        Whether the receiver of a link may hold the tile of a shape.
    bound_to : array of (tensors, links, dimensions)
        Whether a loop on a dimension may not change places with the store node of a link, for that
        would change what such a tile has of it, or part the store nodes of an even memory.
    fixed : array of segments
        Whether loops and store nodes may not change places, for that would change the blocks.
    below : array of segments
        The same for loops right below the array above the segment, and that array.
    loops : array of (segments, stages)
        Whether a loop may stand here: not between the store nodes of an even memory.
    block : array of (segments, stages)
        Memory whose block is open, if its loops are constrained; otherwise -1.
    listed : array of memories
        Dimensions, as bits, that some order of the block puts below others.
    after : array of (memories, dimensions)
        Those of them above which a loop on a dimension has to stand.
    ends : array of (memories, dimensions)
        Whether a loop on a dimension may be the innermost of the block.
    least : array of memories
        Bits that have to be used once it has all its store nodes.
    whole : array of (segments, stages, memories)
        Whether it has them.
    """

    active: bool
    tile: Bools
    bound_to: Bools
    fixed: Bools
    below: Bools
    loops: Bools
    block: Ints
    listed: Ints
    after: Ints
    ends: Bools
    least: Floats
    whole: Bools


def no_limits() -> Limits:
    """Return what no constraints ask of the walk."""
    return limits_of_size(0, 0, 0, 0, 0, 0, 0)


def limits_of_size(
    tensors: int,
    links: int,
    shapes: int,
    dimensions: int,
    segments: int,
    stages: int,
    memories: int,
) -> Limits:
    """Return arrays of these sizes that allow everything."""
    return Limits(
        active=segments > 0,
        tile=np.ones((tensors, links, shapes), np.bool_),
        bound_to=np.zeros((tensors, links, dimensions), np.bool_),
        fixed=np.zeros(segments, np.bool_),
        below=np.zeros(segments, np.bool_),
        loops=np.ones((segments, stages), np.bool_),
        block=np.full((segments, stages), -1, np.int64),
        listed=np.zeros(memories, np.int64),
        after=np.zeros((memories, dimensions), np.int64),
        ends=np.ones((memories, dimensions), np.bool_),
        least=np.zeros(memories),
        whole=np.zeros((segments, stages, memories), np.bool_),
    )


def walk_limits(
    layer: Layer,
    architecture: Architecture,
    tiles: Lattice,
    keep: KeepChoice,
    of_memory: list[int],
    stages: list[Ints],
) -> Limits:
    """Return what the constraints of a machine ask of the walk of one bypass choice.

    Parameters
    ----------
    layer, architecture, tiles, keep
        The layer, the machine with all constraints, the lattice and the bypass choice.
    of_memory : list of int
        Segment of each memory.
    stages : list of array of (stages, tensors)
        For each segment, how many of its store nodes each tensor has behind it.
    """
    statements = about_memories(in_letters(architecture, layer))
    if not statements:
        return no_limits()
    limits = limits_of_size(
        len(keep), len(of_memory), len(tiles.repeats), len(tiles.dimensions), len(stages),
        max(map(len, stages)), len(of_memory),
    )  # fmt: skip
    nodes = [placed(keep, of_memory, s, counts) for s, counts in enumerate(stages)]
    for segment, (some, whole) in enumerate(nodes):
        limits.whole[segment, : len(some)] = whole
    position = {memory.name: m for m, memory in enumerate(architecture.memories)}
    for statement in statements:
        m = position[statement.at]
        segment = of_memory[m]
        some, whole = nodes[segment]
        own = slice(0, len(some))
        if statement.tile:
            limit_tiles(statement, m, layer, tiles, keep, limits)
        if statement.even:
            limits.loops[segment, own] &= ~some[:, m] | whole[:, m]
        if statement.min_utilization:
            total = architecture.memories[m].total_bits or inf
            bits = statement.min_utilization * total * (1 - ROUNDING)
            limits.least[m] = max(limits.least[m], bits) if m > 0 else 0.0
        if statement.order or statement.innermost:
            # loops that are not fixed could move through an idle array further in as well
            limits.fixed[segment] = True
            limits.below[segment + 1 :] = True
            open_ = whole[:, m] & some[:, m] & ~some[:, m + 1 :].any(axis=1)
            limits.block[segment, own][open_] = m
            limit_loops(statement, m, tiles, limits)
    even = {position[statement.at] for statement in statements if statement.even}
    bind_nodes(even, layer, tiles, keep, limits)
    return limits


def placed(
    keep: KeepChoice, of_memory: list[int], segment: int, counts: Ints
) -> tuple[Bools, Bools]:
    """Return whether each memory has some, and all, of its store nodes at each stage."""
    some = np.zeros((len(counts), len(of_memory)), np.bool_)
    whole = np.ones((len(counts), len(of_memory)), np.bool_)
    for t, chain in enumerate(keep):
        inside = [m for m in chain[1:] if of_memory[m] == segment]
        for k, m in enumerate(inside):
            some[:, m] |= counts[:, t] > k
            whole[:, m] &= counts[:, t] > k
    if segment == 0:
        # the outermost memory stores everything before the walk begins
        some[:, 0] = True
    return some, whole


def limit_tiles(
    statement: Constraint,
    memory: int,
    layer: Layer,
    tiles: Lattice,
    keep: KeepChoice,
    limits: Limits,
) -> None:
    """Enter which shapes a memory may hold."""
    names = [tensor.name for tensor in layer.tensors]
    chosen = role_names(statement.tensors, layer) if statement.tensors else names
    for t, chain in enumerate(keep):
        if names[t] not in chosen or memory not in chain[1:]:
            continue
        link = chain.index(memory) - 1
        for i, dimension in enumerate(tiles.dimensions):
            extents = tiles.values[i, tiles.digits[:, i]]
            for _, allowed in (pair for pair in statement.tile if pair[0] == dimension):
                least = min(allowed.least, layer.bounds[dimension])
                limits.tile[t, link] &= (least <= extents) & (extents <= allowed.most)
                limits.bound_to[t, link, i] = True


def filling(limits: Limits, of_memory: list[int]) -> Bools:
    """Return whether the bits used in a memory may still prove to be too few.

    Returns
    -------
    array of (segments, stages, slots)
        A slot is the position of a memory among those of its segment. Empty without limits.
    """
    segments, stages = limits.loops.shape
    found = np.zeros((segments, stages, max(map(of_memory.count, of_memory))), np.bool_)
    for m, segment in enumerate(of_memory if limits.active else ()):
        if limits.least[m] > 0:
            found[segment, :, of_memory[:m].count(segment)] = ~limits.whole[segment, :, m]
    return found


def most_words(tiles: Lattice, limits: Limits) -> Floats:
    """Return the words of the largest tile that the receiver of each link may hold.

    Returns
    -------
    array of (tensors, links)
        0 where it may hold none.
    """
    words: Floats = np.where(limits.tile, tiles.words[:, None, :], 0.0).max(axis=2)
    return words


def bind_nodes(
    even: set[int], layer: Layer, tiles: Lattice, keep: KeepChoice, limits: Limits
) -> None:
    """Enter which store nodes stay where they are because others do.

    A loop passes all nodes of an even memory or none; no node passes one of its tensor further out.
    """
    memories = sorted({m for chain in keep for m in chain[1:]})
    for m in memories:
        links = {t: chain.index(m) - 1 for t, chain in enumerate(keep) if m in chain[1:]}
        for i, dimension in enumerate(tiles.dimensions):
            if m in even and any(
                dimension in layer.tensors[t].dimensions or limits.bound_to[t, link, i]
                for t, link in links.items()
            ):
                for t, link in links.items():
                    limits.bound_to[t, link, i] = True
            for t, link in links.items():
                limits.bound_to[t, link:, i] |= limits.bound_to[t, link, i]


def limit_loops(statement: Constraint, memory: int, tiles: Lattice, limits: Limits) -> None:
    """Enter in which order the loops of a memory's block may stand."""
    bit = {dimension: 1 << i for i, dimension in enumerate(tiles.dimensions)}
    later = 0
    for dimension in (d for d in reversed(statement.order) if d in bit):
        limits.after[memory, tiles.dimensions.index(dimension)] |= later
        later |= bit[dimension]
    limits.listed[memory] = np.bitwise_or.reduce(limits.after[memory], initial=0)
    if statement.innermost:
        for i, dimension in enumerate(tiles.dimensions):
            limits.ends[memory, i] &= dimension in statement.innermost
