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

A group with D temporal loops takes 4 (D + 1) numbers, in this order, in a row of numbers; one of a
single dimension takes the first 2 (D + 1) only, for its `adv` and `slide` follow from `all`, and an
irrelevant one D + 1, for its `only` is its `all`. This module has the groups of one dimension,
`windows.py` those of several; `combine.py` multiplies.
"""

from __future__ import annotations

import numpy as np

from tilewright.model.kernel import kernel
from tilewright.model.types import Ints

# What a loop does to the words of the instances or steps that it separates.
S = 0  # spatial: they are summed
U = 1  # spatial: they are united
F = 2  # spatial: only the first instance is looked at
J = 3  # spatial: they are summed, but any instance may forward what it holds to any other
T = 4  # temporal
G = 5  # below the tile, spatial: words of the first instance alone count
H = 6  # below the tile, otherwise


@kernel
def temporal_loops(mode: Ints) -> int:
    """Return the number of temporal loops among the loops of a group."""
    depth = 0
    for m in mode:
        if m == T:
            depth += 1
    return depth


@kernel
def chain_scratch(loops: int) -> Ints:
    """Return space for `chain`, for at most so many loops: three lists of classes."""
    return np.empty((3, 3, most_classes(loops)), np.int64)


@kernel
def most_classes(loops: int) -> int:
    """Return how many classes of instances so many loops of one dimension can tell apart.

    A loop adds at most one class with a chunk in another iteration per class without, and one
    class without.
    """
    return loops * (loops + 5) // 2 + 4


@kernel
def chain(
    tiles: Ints,
    m: int,
    loop: Ints,
    mode: Ints,
    first: int,
    last: int,
    bound: int,
    relevant: bool,
    total: bool,
    row: Ints,
    at: int,
    scratch: Ints,
) -> None:
    """Put `all` and `only` of a group of one dimension into a row, from position `at`.

    Parameters
    ----------
    tiles, m : array of (loops, mappings), int
        Tile sizes, and the mapping that is asked for.
    loop, mode : arrays
        From `first` up to `last` the dimension's loops and their kinds, outermost first.
    bound : int
        Iterations of the dimension.
    relevant : bool
        Whether the tensor's words depend on the dimension; when not, `only` is left out.
    total : bool
        Whether all[D] is wanted alone.
    scratch : array
        See `chain_scratch`.

    Notes
    -----
    Instances and steps with chunks of the same size form a class. The steps at depth q + 1 are the
    classes that loop q + 1 makes of those at depth q; in those at depth q it stays at its first
    chunk, and so do the temporal loops inside it.
    """
    depth = 0
    fixed = first  # from here on loops stay at one chunk
    for x in range(first, last):
        if mode[x] == T:
            depth += 1
        elif relevant or mode[x] == S:
            fixed = x + 1
    classes = scratch[0]
    classes[0, 0] = bound
    classes[2, 0] = 1
    count = 1
    q = 0
    for x in range(first, last):
        t = tiles[loop[x], m]
        if mode[x] == T and not total:
            if x < fixed:
                everything, unchanged = _inside(
                    tiles, m, loop, mode, x, fixed, last, relevant, count, scratch
                )
            else:
                everything, unchanged = _first_tiles(
                    classes, count, tiles[loop[last - 1], m], relevant, False
                )
            row[at + q] = everything
            if relevant:
                row[at + depth + 1 + q] = unchanged
            q += 1
        if mode[x] == F or (mode[x] == U and not relevant):
            for c in range(count):
                classes[0, c] = min(classes[0, c], t)
            continue
        full = 0
        short = 0
        for c in range(count):
            extent = classes[0, c]
            times = classes[2, c]
            chunks = extent // t
            full += times * chunks
            if extent > chunks * t:
                classes[0, short] = extent - chunks * t
                classes[2, short] = times
                short += 1
        count = short
        if full > 0:
            classes[0, count] = t
            classes[2, count] = full
            count += 1
    everything, _ = _first_tiles(classes, count, bound, relevant, False)
    if total:
        row[at] = everything
        return
    row[at + depth] = everything
    if relevant:
        row[at + 2 * depth + 1] = everything


@kernel
def _first_tiles(
    classes: Ints, count: int, tile: int, relevant: bool, others: bool
) -> tuple[int, int]:
    """Return the words of the first chunks of some classes, and those that never change."""
    everything = 0
    unchanged = 0
    for c in range(count):
        words = classes[2, c]
        if relevant:
            extent = classes[0, c]
            words *= min(extent, tile)
            if extent <= tile and not (others and classes[1, c] > 0):
                unchanged += words
        everything += words
    return everything, unchanged


@kernel
def _inside(
    tiles: Ints,
    m: int,
    loop: Ints,
    mode: Ints,
    first: int,
    fixed: int,
    last: int,
    relevant: bool,
    count: int,
    scratch: Ints,
) -> tuple[int, int]:
    """Return `all` and `only` where temporal loops from `first` on stay at their first chunks.

    A class is (extent, other, number): its chunk; the largest chunk that the same instance would
    have in another iteration of a deeper loop, so it is unchanged when that is empty; how many.
    """
    classes = scratch[1]
    fresh = scratch[2]
    for c in range(count):
        classes[0, c] = scratch[0, 0, c]
        classes[1, c] = 0
        classes[2, c] = scratch[0, 2, c]
    for x in range(first, fixed):
        t = tiles[loop[x], m]
        if mode[x] == T or mode[x] == F or (mode[x] == U and not relevant):
            for c in range(count):
                extent = classes[0, c]
                if mode[x] == T and relevant and extent > t:
                    classes[1, c] = min(t, max(classes[1, c], extent - t))
                else:
                    classes[1, c] = min(t, classes[1, c])
                classes[0, c] = min(extent, t)
            continue
        found = 0
        for c in range(count):
            extent = classes[0, c]
            other = classes[1, c]
            times = classes[2, c]
            # chunks: both full, the one in which `other` ends, those without `other`
            full = extent // t
            both = other // t
            if both > 0:
                found = _add(fresh, found, t, t, times * both)
            reached = both
            if other > both * t:
                found = _add(fresh, found, min(t, extent - both * t), other - both * t, times)
                reached += 1
            if full > reached:
                found = _add(fresh, found, t, 0, times * (full - reached))
            if extent > full * t and full >= reached:
                found = _add(fresh, found, extent - full * t, 0, times)
        classes, fresh = fresh, classes
        count = found
    return _first_tiles(classes, count, tiles[loop[last - 1], m], relevant, True)


@kernel
def _add(classes: Ints, count: int, extent: int, other: int, times: int) -> int:
    for c in range(count):
        if classes[0, c] == extent and classes[1, c] == other:
            classes[2, c] += times
            return count
    classes[0, count] = extent
    classes[1, count] = other
    classes[2, count] = times
    return count + 1
