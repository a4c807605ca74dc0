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
single dimension takes the first 2 (D + 1) only, for its `adv` and `slide` follow from `all`. This
module has the groups of one dimension, `windows.py` those of several; `combine.py` multiplies.
"""

from __future__ import annotations

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
def chain(
    tile: Ints, mode: Ints, bound: int, relevant: bool, row: Ints, at: int, scratch: Ints
) -> None:
    """Put `all` and `only` of a group of one dimension into a row, from position `at`.

    Parameters
    ----------
    tile, mode : arrays of loops
        Chunk size and kind of the dimension's loops, outermost first.
    bound : int
        Iterations of the dimension.
    relevant : bool
        Whether the tensor's words depend on the dimension.
    scratch : array of (2, 3, classes)
        Space for as many classes as `most_classes` says.
    """
    extent = bound
    for t in tile:
        if extent % t:
            _uneven_chain(tile, mode, bound, relevant, row, at, scratch)
            return
        extent = t
    depth = temporal_loops(mode)
    words = extent if relevant else 1
    extent = bound
    for i in range(len(tile)):
        if mode[i] == S or (mode[i] == U and relevant):
            words *= extent // tile[i]
        extent = tile[i]
    row[at] = words
    extent = bound
    q = 0
    for i in range(len(tile)):
        if mode[i] == T:
            q += 1
            words *= extent // tile[i]
            row[at + q] = words
        extent = tile[i]
    unchanged = True
    for q in range(depth, -1, -1):
        row[at + depth + 1 + q] = row[at + q] if unchanged or not relevant else 0
        if q > 0 and row[at + q] != row[at + q - 1]:
            unchanged = False


@kernel
def most_classes(loops: int) -> int:
    """Return how many classes of instances so many loops of one dimension can tell apart.

    A loop adds at most one class with a chunk in another iteration per class without, and one
    class without.
    """
    return loops * (loops + 5) // 2 + 4


@kernel
def _uneven_chain(
    tile: Ints, mode: Ints, bound: int, relevant: bool, row: Ints, at: int, scratch: Ints
) -> None:
    """Do the same when some chunk is short, by classes of equal instances.

    A class is (extent, other, number): its chunk; the largest chunk that the same instance would
    have in another iteration of a deeper loop, so it is unchanged when that is empty; how many.
    """
    loops = len(tile)
    classes = scratch[0]
    fresh = scratch[1]
    depth = temporal_loops(mode)
    for q in range(depth + 1):
        classes[0, 0] = bound
        classes[1, 0] = 0
        classes[2, 0] = 1
        count = 1
        seen = 0
        for i in range(loops):
            t = tile[i]
            if mode[i] == T:
                seen += 1
                first_only = seen > q
            else:
                first_only = mode[i] == F or (mode[i] == U and not relevant)
            m = 0
            for c in range(count):
                extent = classes[0, c]
                other = classes[1, c]
                times = classes[2, c]
                if first_only:
                    rest = min(t, other)
                    if mode[i] == T and extent > t:
                        rest = max(rest, min(t, extent - t))
                    m = _add(fresh, m, min(extent, t), rest, times)
                    continue
                # chunks: both full, the one in which `other` ends, those without `other`
                full = extent // t
                both = other // t
                if both > 0:
                    m = _add(fresh, m, t, t, times * both)
                reached = both
                if other > both * t:
                    m = _add(fresh, m, min(t, extent - both * t), other - both * t, times)
                    reached += 1
                if full > reached:
                    m = _add(fresh, m, t, 0, times * (full - reached))
                if extent > full * t and full >= reached:
                    m = _add(fresh, m, extent - full * t, 0, times)
            classes, fresh = fresh, classes
            count = m
        total = 0
        unchanged = 0
        for c in range(count):
            words = classes[2, c] * classes[0, c] if relevant else classes[2, c]
            total += words
            if classes[1, c] == 0 or not relevant:
                unchanged += words
        row[at + q] = total
        row[at + depth + 1 + q] = unchanged


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
