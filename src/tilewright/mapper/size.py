"""How many mappings the searched space has, counted without visiting them.

Two mappings differ when some loop, some spatial factor, or the place of some store node among the
loops differs. Neighbouring store nodes have no order, and two consecutive loops on one dimension
are one. Mappings that exceed a capacity count too: the search has to tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.mapper.lattice import Floats, Ints, lattice
from tilewright.mapper.problem import array_choices
from tilewright.model.kernel import kernel
from tilewright.workload.layer import Layer, Tensor


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
        Exact below 2**53.
    """
    tiles = lattice(layer)
    zones = memories_between_arrays(architecture)
    choices = [array_choices(layer, tiles, architecture, array)[1] for array in architecture.arrays]
    # ways to complete a mapping inside a zone, for every shape that enters it
    inside = np.ones(len(tiles.repeats))
    for zone in reversed(range(len(zones))):
        last = zone == len(architecture.arrays)
        nest = (tiles.digits, tiles.strides, tiles.quotient)
        ends = inside if last else through_array(*nest, choices[zone], inside)
        inside = through_zone(*nest, *placements(layer.tensors, zones[zone]), ends, last)
    return float(inside[tiles.top])


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
    digits: Ints, strides: Ints, quotient: Ints, unroll: Ints, inside: Floats
) -> Floats:
    """Return the completions of each shape above an array, from those of the shapes below it.

    `unroll` holds the digits of the spatial factors, a row for each choice.
    """
    shapes, dimensions = digits.shape
    ends = np.zeros(shapes)
    for shape in range(shapes):
        for choice in range(len(unroll)):
            below = shape
            for d in range(dimensions):
                digit = digits[shape, d]
                smaller = quotient[d, digit, unroll[choice, d]]
                if smaller < 0:
                    below = -1
                    break
                below -= (digit - smaller) * strides[d]
            if below >= 0:
                ends[shape] += inside[below]
    return ends


@kernel
def through_zone(
    digits: Ints,
    strides: Ints,
    quotient: Ints,
    ways: Floats,
    rest: Floats,
    ends: Floats,
    last: bool,
) -> Floats:
    """Return the completions of each shape that enters the memories between two arrays.

    With x a shape, g a stage and d a dimension, and completions counted from there on:

    - loops[x, d] = sum over shapes x' cut from x along d of after[x', d]: the next event is a
      loop on d;
    - whole[x, g] = end[x, g] + sum over d of loops[x, d]: the next event is any loop, or the end;
    - after[x, d] = whole[x, g] - loops[x, d] + sum over later g' of ways[g, g'] * whole[x, g']:
      a loop on d has just been made, so the next one on d follows store nodes.

    Inside the innermost zone a mapping ends with a store node: what the loops leave runs at the
    compute unit.
    """
    shapes, dimensions = digits.shape
    stages = len(rest)
    whole = np.zeros((stages, shapes))
    after = np.zeros((shapes, dimensions))
    loops = np.zeros(dimensions)
    for stage in range(stages - 1, -1, -1):
        for shape in range(shapes):
            stored = 0.0
            for later in range(stage + 1, stages):
                stored += ways[stage, later] * whole[later, shape]
            end = rest[stage] * ends[shape]
            for d in range(dimensions):
                loops[d] = 0.0
                digit = digits[shape, d]
                for smaller in range(digit):
                    if quotient[d, digit, smaller] >= 0:
                        loops[d] += after[shape - (digit - smaller) * strides[d], d]
            whole[stage, shape] = end + loops.sum()
            for d in range(dimensions):
                # summed anew: a difference of large floats would lose the small ones
                others = stored if last else stored + end
                for other in range(dimensions):
                    if other != d:
                        others += loops[other]
                after[shape, d] = others
    inside = np.zeros(shapes)
    for shape in range(shapes):
        inside[shape] = whole[0, shape]
        for later in range(1, stages):
            inside[shape] += ways[0, later] * whole[later, shape]
    return inside
