"""Spills of a tensor, exactly, with as little to simulate as possible.

Four rules shorten the simulation and change nothing. They rest on one fact: spills are convex in
the memory and whole numbers, so as long as an inner group of blocks spills, a word that is held
through it costs at least one more spill there, and saves one at most.

- Sweeps over a loop that leads to other words have nothing in common: their spills add up.
- A loop that repeats words which fit the memory all together loads them once: it is one block.
- Where words are repeated only after such a loop has advanced, and each of its iterations spills,
  nothing is held over an iteration: all iterations load what they load alone.
- A layer's tensor that fits the memory is never spilled.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from tilewright.offchip.nest import Array, Flags, Nest
from tilewright.offchip.spills.belady import Loops, Trace, trace
from tilewright.offchip.spills.moves import block_words

NO_BLOCK = -1


def spills(
    nest: Nest, tensor: int, loops: Loops, capacity: int, extents: Array | None = None
) -> int:
    """Return how many words of a tensor are spilled; -1 when its largest block does not fit.

    Parameters
    ----------
    nest : Nest
    tensor : int
        Number of the tensor.
    loops : sequence of (dimension, block size)
        From outermost to innermost; other dimensions are whole in every block.
    capacity : int
        Words of memory.
    extents : array of int, optional
        Iterations of each dimension, when not those of the layer.

    Raises
    ------
    InputError
        When the tensor is used too often for a simulation.
    """
    bounds = nest.bounds if extents is None else extents
    moving = collapsed(nest, tensor, loops, capacity, bounds)
    if box_words(nest, tensor, moving, len(moving), bounds) > capacity:
        return NO_BLOCK
    if box_words(nest, tensor, moving, 0, bounds) <= capacity:
        return 0
    alone = nest.relevant[tensor] & ~nest.sliding[tensor]
    lead = next((at for at, (d, _) in enumerate(moving) if alone[d]), None)
    if lead is not None:
        inside = moving[lead + 1 :]
        kinds = iterations(moving[: lead + 1], bounds, nest.relevant[tensor])
        if lead == 0:
            return sum(n * spills(nest, tensor, inside, capacity, inner) for n, inner in kinds)
        loads = 0
        for times, inner in kinds:
            spilled = spills_if_any(nest, tensor, inside, capacity, inner)
            if spilled == 0:
                break
            loads += times * (spilled + box_words(nest, tensor, (), 0, inner))
        else:
            return loads - box_words(nest, tensor, (), 0, bounds)
    return recent_trace(nest, tensor, tuple(moving), tuple(bounds.tolist())).spills(capacity)


def spills_if_any(
    nest: Nest, tensor: int, loops: Loops, capacity: int, extents: Array
) -> int:  # fmt: skip
    """Return the spills of a tensor; none where the outer loops alone have none, looked at first.

    Further loops never make spills more.
    """
    for depth in range(len(loops)):
        if spills(nest, tensor, loops[:depth], capacity, extents) == 0:
            return 0
    return spills(nest, tensor, loops, capacity, extents)


def least_spills(nest: Nest, tensor: int, loops: Loops, capacity: int) -> int:
    """Return how many words of a tensor are spilled at least by nests that begin with some loops.

    Raises
    ------
    InputError
        When the tensor is used too often for a simulation.
    """
    moving = collapsed(nest, tensor, loops, capacity, nest.bounds)
    if box_words(nest, tensor, moving, 0, nest.bounds) <= capacity:
        return 0
    return recent_trace(nest, tensor, tuple(moving), tuple(nest.bounds.tolist())).least_spills(
        capacity
    )


@lru_cache(maxsize=2)
def recent_trace(
    nest: Nest, tensor: int, loops: tuple[tuple[int, int], ...], extents: tuple[int, ...]
) -> Trace:
    """Return a trace, which is often asked for again with another capacity."""
    return trace(nest, tensor, loops, np.array(extents, np.int64))


def collapsed(
    nest: Nest, tensor: int, loops: Loops, capacity: int, bounds: Array
) -> list[tuple[int, int]]:
    """Return the loops that matter: none that repeats words which all fit, and none within it."""
    moving = [(d, b) for d, b in loops if b < bounds[d]]
    for at, (d, _) in enumerate(moving):
        repeats = not nest.relevant[tensor, d]
        if repeats and box_words(nest, tensor, moving, at, bounds) <= capacity:
            moving = moving[:at]
            break
    while moving and not nest.relevant[tensor, moving[-1][0]]:
        moving.pop()
    return moving


def box_words(nest: Nest, tensor: int, loops: Loops, depth: int, bounds: Array) -> int:
    """Return the words of a tensor in one iteration of the outer loops down to a depth."""
    extents = bounds.copy()
    for d, block in loops[:depth]:
        extents[d] = block
    return int(block_words(tensor, extents, nest.expressions, nest.axes))


def iterations(loops: Loops, bounds: Array, relevant: Flags) -> list[tuple[int, Array]]:
    """Return the kinds of iterations of some loops: how often each, and its extents."""
    choices = []
    for d, block in loops:
        whole, short = divmod(int(bounds[d]), block)
        if not relevant[d]:
            # whole or short, the words are the same
            whole, short = whole + (short > 0), 0
        kinds = [(whole, block)] if whole else []
        choices.append([*kinds, (1, short)] if short else kinds)
    found = []
    for kind in product(*choices):
        inner = bounds.copy()
        inner[[d for d, _ in loops]] = [extent for _, extent in kind]
        found.append((prod(times for times, _ in kind), inner))
    return found
