"""How many mappings the searched space has, counted without visiting them.

Two mappings differ when some loop, some spatial factor, or the place of some store node among the
loops differs. Neighbouring store nodes have no order, and two consecutive loops on one dimension
are one. Mappings that exceed a capacity count too: the search has to tell them apart.

In which orders loops and store nodes can stand depends on the number of loops on each dimension
alone. Which tiles these loops can have depends on their number and on what the arrays leave of the
dimension, and not on other dimensions. So both are counted for all numbers of loops, of which there
are few: a dimension has no more loops than prime factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.kernels.kernel import kernel
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.problem.lattice import Divisors, divisors_of
from tilewright.mapper.problem.space import array_choices
from tilewright.workload.layer import Layer, Tensor

MOST_SHAPES = 1 << 25  # and no more steps than these: a second, and 300 MB
MOST_STEPS = 1 << 28


def mappings_in_space(layer: Layer, architecture: Architecture) -> float:
    """Return the number of different mappings among which the search finds the best.

    Parameters
    ----------
    layer : Layer
        What is computed.
    architecture : Architecture
        What computes it.

    Returns
    -------
    float
        Exact below 2**53; infinite where it would take seconds to count them.
    """
    tiles = divisors_of(layer)
    if tiles.shapes > MOST_SHAPES:
        return inf
    left = shapes_left(layer, tiles, architecture)
    if left is None:
        return inf
    # from ways to reach each shape to ways to make it with so many loops on each dimension
    for d, size in enumerate(tiles.sizes.tolist()):
        chains = loops_of_shape(tiles.quotient[d, :size, :size])
        left = np.moveaxis(np.tensordot(chains, left, (1, d)), 0, d)
    return float((left * orders(layer, architecture, left.shape)).sum())


def shapes_left(layer: Layer, tiles: Divisors, architecture: Architecture) -> Floats | None:
    """Return in how many ways the arrays leave each shape to the loops; None where too many."""
    left: Floats = np.zeros(tiles.shapes)
    left[-1] = 1.0
    for array in architecture.arrays:
        choices = array_choices(layer, tiles, architecture, array)[1]
        reached = np.flatnonzero(left)
        if len(reached) * len(choices) > MOST_STEPS:
            return None
        left = through_array(tiles.strides, tiles.sizes, tiles.quotient, choices, reached, left)
    return left.reshape(tuple(tiles.sizes.tolist()))


def loops_of_shape(quotient: Ints) -> Floats:
    """Return in how many ways so many loops on one dimension can cut each of its tiles.

    Returns
    -------
    array of (loops, digits)
        What the loops leave of a tile runs at the compute unit.
    """
    cuts = quotient >= 0
    cuts[:, 0] = False  # a loop cuts off a factor of its own
    inner = np.where(cuts, quotient, 0)
    rows = [np.ones(len(quotient))]
    while rows[-1].any():
        rows.append((rows[-1][inner] * cuts).sum(axis=1))
    return np.array(rows[:-1])


def orders(layer: Layer, architecture: Architecture, loops: tuple[int, ...]) -> Floats:
    """Return in how many orders loops and store nodes can stand, by loops on each dimension.

    `loops` holds one more than the most of each dimension.
    """
    zones = memories_between_arrays(architecture)
    sizes = np.array(loops, np.int64)
    inside = np.zeros(prod(loops))
    inside[0] = 1.0  # no loop is left in the end
    for zone in reversed(range(len(zones))):
        last = zone == len(architecture.arrays)
        inside = through_zone(sizes, *placements(layer.tensors, zones[zone]), inside, last)
    return inside.reshape(loops)


def memories_between_arrays(architecture: Architecture) -> list[list[Memory]]:
    """Return the memories above, between and below the arrays, without the outermost."""
    zones: list[list[Memory]] = [[]]
    for level in architecture.levels[1:]:
        if isinstance(level, Array):
            zones.append([])
        elif isinstance(level, Memory):
            zones[-1].append(level)
    return zones


def placements(tensors: Sequence[Tensor], memories: Sequence[Memory]) -> tuple[Floats, Floats]:
    """Return how the store nodes of some memories can follow each other.

    A stage is how many of the memories each tensor has behind it, stored or bypassed. The first
    stage is none; a stage comes after every other from which it can be reached.

    Returns
    -------
    ways : array of (stages, stages)
        Ways to get from one stage to another by store nodes with no loop in between: at least one
        for each tensor that gets further, bypassing any that may be.
    rest : array of stages
        1 where everything that is left may be bypassed, else 0.
    """
    n = len(memories)
    ways: Floats = np.ones((1, 1))
    rest: Floats = np.ones(1)
    for tensor in tensors:
        stored = [float(memory.may_store(tensor.role)) for memory in memories]
        bypassed = [float(tensor.role not in memory.must_keep) for memory in memories]
        further = np.eye(n + 1)
        for i in range(n):
            for j in range(i + 1, n + 1):
                between = (stored[m] + bypassed[m] for m in range(i, j - 1))
                further[i, j] = prod(between) * stored[j - 1]
        ways = np.asarray(np.kron(ways, further), np.float64)
        rest = np.asarray(np.kron(rest, [prod(bypassed[i:]) for i in range(n + 1)]), np.float64)
    return ways, rest


@kernel
def through_array(
    strides: Ints, sizes: Ints, quotient: Ints, unroll: Ints, reached: Ints, ways: Floats
) -> Floats:
    """Return the ways to get to each shape below an array, from those to the ones above it.

    `unroll` holds the digits of the spatial factors, a row for each choice; `reached` are the
    shapes above the array to which there is a way.
    """
    below = np.zeros(len(ways))
    for shape in reached:
        for choice in range(len(unroll)):
            smaller = 0
            for d in range(len(strides)):
                digit = quotient[d, shape // strides[d] % sizes[d], unroll[choice, d]]
                if digit < 0:
                    smaller = -1
                    break
                smaller += digit * strides[d]
            if smaller >= 0:
                below[smaller] += ways[shape]
    return below


@kernel
def through_zone(sizes: Ints, ways: Floats, rest: Floats, ends: Floats, last: bool) -> Floats:
    """Return the orders of what stands between two arrays and below, by numbers of loops.

    With x the loops that are left on each dimension, g a stage and d a dimension, and orders
    counted from there on:

    - loops[x, d] = after[x less one loop on d, d]: the next event is a loop on d;
    - whole[x, g] = end[x, g] + sum over d of loops[x, d]: the next event is any loop, or the end;
    - after[x, d] = whole[x, g] - loops[x, d] + sum over later g' of ways[g, g'] * whole[x, g']:
      a loop on d has just been made, so the next one on d follows store nodes.

    In the innermost zone all loops that are left have to be made, and a mapping ends with a store
    node: a loop after the last one would be the compute unit's.
    """
    dimensions, counts = len(sizes), len(ends)
    strides = np.ones(dimensions, np.int64)
    for d in range(dimensions - 2, -1, -1):
        strides[d] = strides[d + 1] * sizes[d + 1]
    stages = len(rest)
    whole = np.zeros((stages, counts))
    after = np.zeros((counts, dimensions))
    loops = np.zeros(dimensions)
    for stage in range(stages - 1, -1, -1):
        for x in range(counts):
            stored = 0.0
            for later in range(stage + 1, stages):
                stored += ways[stage, later] * whole[later, x]
            end = rest[stage] * ends[x]
            for d in range(dimensions):
                loops[d] = after[x - strides[d], d] if x // strides[d] % sizes[d] > 0 else 0.0
            whole[stage, x] = end + loops.sum()
            for d in range(dimensions):
                # summed anew: a difference of large floats would lose the small ones
                others = stored if last else stored + end
                for other in range(dimensions):
                    if other != d:
                        others += loops[other]
                after[x, d] = others
    inside = np.zeros(counts)
    for x in range(counts):
        inside[x] = whole[0, x]
        for later in range(1, stages):
            inside[x] += ways[0, later] * whole[later, x]
    return inside
