"""Compiled kernels: the words that move into a tensor's tiles, in closed form over the loops.

The idea. Dimensions that share an index expression of the tensor form a *group*; an irrelevant
dimension is a group of its own whose footprint is one word. Footprints, spatial instances and
idleness are products over groups, so every sum over steps is a product of sums over one group's
own loops. A step is told apart by the outermost loop that advanced, j; inside j every loop is back
at its first chunk. For each group and each depth q (its first q temporal loops run, the deeper ones
are at their first chunk) the kernels compute

    all[q]   words of the tiles, summed over the steps at that depth
    only[q]  the words among them that only *unchanged* instances hold (first inner tile = last one)
    adv[q]   the same when the group's own loop q has just advanced
    slide[q] the words that its loop q, when it slides the window, brings in

A group with D temporal loops takes 4 (D + 1) numbers, in this order, in a row of numbers. One of a
single dimension takes 3 (D + 1): `all`, `only`, and `all` again where the dimension is irrelevant
and each tile is one word; the rest follows from these. This module has the groups of one dimension,
`windows.py` those of several; `queries/combine.py` multiplies.
"""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import kernel, leaf, part
from tilewright.kernels.types import Ints

# What a loop does to the words of the instances or steps that it separates.
S = 0  # spatial: they are summed
U = 1  # spatial: they are united
F = 2  # spatial: only the first instance is looked at
J = 3  # spatial: they are summed, but any instance may forward what it holds to any other
T = 4  # temporal
G = 5  # below the tile, spatial: words of the first instance alone count
H = 6  # below the tile, otherwise


@leaf
def temporal_loops(mode: Ints) -> int:
    """Return the number of temporal loops among the loops of a group."""
    depth = 0
    for m in mode:
        if m == T:
            depth += 1
    return depth


@kernel
def chains(
    tile: Ints, mode: Ints, bound: int, total: bool, work: Ints, place: int, numbers: Ints
) -> None:
    """Put `all`, `only` and `all` of single words of one dimension into the rows of many mappings.

    Parameters
    ----------
    tile : array of (loops, mappings)
        Chunk sizes of the dimension's loops, outermost first.
    mode : array of loops
        Their kinds: T, S or F.
    bound : int
        Iterations of the dimension.
    total : bool
        Whether all[D], of words and of single words, is wanted alone.
    work, place : array of (mappings, 2), int
        The numbers of a mapping begin at ``work[m, 0] + place``.
    numbers : array
        Takes the numbers.

    Notes
    -----
    Instances and steps whose chunks have the same size form a class: its extent, and how many
    there are. A loop makes one more class of all full chunks, and leaves each older class its short
    chunk, which may be empty. The classes before a temporal loop are those at its depth. All
    mappings go through the same operations, without branches.
    """
    loops = tile.shape[0]
    size = tile.shape[1]
    width = temporal_loops(mode) + 1
    inner = loops  # all loops from here on are temporal
    while inner > 0 and mode[inner - 1] == T:
        inner -= 1
    several = 0
    for x in range(loops):
        several += mode[x] == S
    extent = np.empty((loops + 1, size), np.int64)
    times = np.empty((loops + 1, size), np.int64)
    chunk = np.empty((3, (loops + 3) << several, size), np.int64)
    sums = np.empty((3, size), np.int64)
    extent[0] = bound
    times[0] = 1
    smallest = tile[loops - 1] if loops > 0 else extent[0]
    count = len(extent) - loops  # 1; for a literal Numba would compile what it is passed to twice
    q = 0
    for x in range(loops + 1):
        if x == loops or (mode[x] == T and not total):
            for c in range(count):
                for m in range(size):
                    chunk[0, c, m] = extent[c, m]
                    chunk[1, c, m] = 0
                    chunk[2, c, m] = times[c, m]
            _first_chunks(tile, mode, x, inner, smallest, chunk, count, sums)
            _put(sums, work, place + q, 0 if total else width, numbers)
            q += 1
        if x == loops:
            return
        t = tile[x]
        if mode[x] == F:
            for c in range(count):
                for m in range(size):
                    extent[c, m] = min(extent[c, m], t[m])
            continue
        times[count] = 0
        for c in range(count):
            for m in range(size):
                full = extent[c, m] // t[m]
                times[count, m] += times[c, m] * full
                extent[c, m] -= full * t[m]
        for m in range(size):
            extent[count, m] = t[m]
        count += 1


@part
def _put(sums: Ints, work: Ints, place: int, width: int, numbers: Ints) -> None:
    """Put sums so far apart, or the totals of both kinds next to each other when that is 0."""
    for m in range(sums.shape[1]):
        at = work[m, 0] + place
        numbers[at] = sums[0, m]
        if width == 0:
            numbers[at + 1] = sums[2, m]
            continue
        numbers[at + width] = sums[1, m]
        numbers[at + 2 * width] = sums[2, m]


@part
def _first_chunks(
    tile: Ints,
    mode: Ints,
    first: int,
    inner: int,
    smallest: Ints,
    chunk: Ints,
    count: int,
    sums: Ints,
) -> None:
    """Add up classes of which the temporal loops from `first` on stay at their first chunks.

    Parameters
    ----------
    chunk : array of (3, classes, mappings)
        Extent of each class; `other`, the largest chunk that an instance would have in another
        iteration of a deeper loop, so that it is unchanged when that is empty; how many there are.
        Overwritten.
    sums : array of (3, mappings)
        Takes words, words of unchanged instances, and single words.
    """
    size = tile.shape[1]
    for x in range(first, inner):
        t = tile[x]
        if mode[x] == S:
            count = _split(t, chunk, count)
            continue
        for c in range(count):
            for m in range(size):
                if mode[x] == T:
                    chunk[1, c, m] = max(chunk[1, c, m], chunk[0, c, m] - t[m])
                chunk[1, c, m] = min(chunk[1, c, m], t[m])
                chunk[0, c, m] = min(chunk[0, c, m], t[m])
    sums[:] = 0
    for c in range(count):
        for m in range(size):
            extent = chunk[0, c, m]
            words = chunk[2, c, m] * min(extent, smallest[m])
            sums[0, m] += words
            sums[1, m] += words * ((chunk[1, c, m] == 0) & (extent <= smallest[m]))
            sums[2, m] += chunk[2, c, m] * min(extent, 1)


@part
def _split(t: Ints, chunk: Ints, count: int) -> int:
    """Cut classes into spatial chunks; return how many classes there are then.

    Per class the chunk in which `other` ends and the short one without it, and one class each of
    all full chunks with a full `other` and with none. Classes are kept unless empty everywhere.
    """
    size = len(t)
    with_other = 2 * count
    without = with_other + 1
    for m in range(size):
        chunk[0, with_other, m] = t[m]
        chunk[1, with_other, m] = t[m]
        chunk[2, with_other, m] = 0
        chunk[0, without, m] = t[m]
        chunk[1, without, m] = 0
        chunk[2, without, m] = 0
    for c in range(count):
        for m in range(size):
            extent = chunk[0, c, m]
            other = chunk[1, c, m]
            times = chunk[2, c, m]
            full = extent // t[m]
            both = other // t[m]
            ends = other - both * t[m]
            reached = both + min(ends, 1)
            chunk[2, with_other, m] += times * both
            chunk[2, without, m] += times * max(0, full - reached)
            chunk[0, count + c, m] = min(t[m], extent - both * t[m])
            chunk[1, count + c, m] = ends
            chunk[2, count + c, m] = times * min(ends, 1)
            chunk[0, c, m] = extent - full * t[m]
            chunk[1, c, m] = 0
            chunk[2, c, m] = times * (full >= reached)
    kept = 0
    for c in range(2 * count + 2):
        empty = 0
        for m in range(size):
            empty += (chunk[0, c, m] == 0) | (chunk[2, c, m] == 0)
        if empty < size:
            for k in range(3):
                for m in range(size):
                    chunk[k, kept, m] = chunk[k, c, m]
            kept += 1
    return kept
