"""Compiled kernels: groups of several dimensions, such as ``P + R``, by walking their own loops.

The boxes of all steps and instances partition the group's iterations, so the work is proportional
to the product of the bounds of its few dimensions at most, whatever the rest of the nest: like
chunks are walked once.
"""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Bools, Ints
from tilewright.model.closed_form.boxes import (
    box_words,
    descend,
    first_counts,
    ranked,
    step_back,
    touched_words,
    works,
)
from tilewright.model.closed_form.words import F, G, T, U, temporal_loops


@kernel
def window(
    coef: Ints,
    bounds: Ints,
    dim: Ints,
    tile: Ints,
    mode: Ints,
    counted: Bools,
    everything: bool,
    row: Ints,
    at: int,
) -> None:
    """Put `all`, `only`, `adv` and `slide` of a group of several dimensions into a row.

    From the second one on, the chunks of a loop that are not short are alike, but for the place of
    their words: one of them stands for all where every word counts.

    Parameters
    ----------
    coef, bounds : arrays of dimensions
        Coefficient and iterations of each dimension of the group.
    dim, tile, mode : arrays of loops
        Dimension (its position in the group), chunk size and kind of its loops, outermost first.
    counted : array of words
        The words that count; none of the others does.
    everything : bool
        Whether all of them count.
    """
    loops = len(dim)
    depth = temporal_loops(mode)
    width = depth + 1
    for x in range(4 * width):
        row[at + x] = 0
    only = at + width
    adv = at + 2 * width
    slide = at + 3 * width
    span = 1
    volume = 1
    for d in range(len(bounds)):
        span += coef[d] * (bounds[d] - 1)
        volume *= bounds[d]
    count = first_counts(bounds, dim, tile, mode)
    rank = np.ones(loops, np.int64)
    for i in range(loops):
        if mode[i] == T or mode[i] == U:
            rank[i] = 0 if mode[i] == T else 2
    order, begin = ranked(rank)  # temporal, then summed, then united
    index = np.zeros(loops, np.int64)
    low = np.empty(len(bounds), np.int64)
    extent = np.empty(len(bounds), np.int64)
    words = np.empty(volume, np.int64)
    held = np.zeros(span, np.int64)  # stamp of the set in which the word was last seen
    latest = np.zeros(span, np.int64)  # largest `several` among the instances that hold it
    changed = np.zeros(span, np.bool_)  # some instance that holds it has a new tile
    moved = np.zeros(span, np.int64)  # stamp of the set in which the word last slid in
    before = np.zeros(span, np.int64)  # mark of the old tile that held the word
    matched = np.zeros(span, np.int64)  # mark of the old tile that it was found in again
    touched = np.empty(span, np.int64)
    stamp = 0
    mark = 0
    while True:
        advanced = _just_advanced(mode, index)
        q = temporal_loops(mode[: advanced + 1])
        stamp += 1
        seen = 0
        slid = 0
        times = 1
        for i in range(loops):
            if everything and mode[i] == T and index[i] == 1:
                times *= _alike(i, bounds, dim, tile, mode, index)
        while True:  # over one set of united instances
            if descend(bounds, dim, tile, index, low, extent):
                several = _later_work(q, bounds, dim, tile, mode, index)
                put = box_words(coef, low, extent, words)
                fresh = True
                if q > 0:
                    mark += 1
                    fresh = _differs(coef, bounds, dim, tile, mode, index, advanced,
                                     words, put, low, extent, before, matched, mark)  # fmt: skip
                for x in range(put):
                    word = words[x]
                    if not counted[word]:
                        continue
                    if held[word] != stamp:
                        held[word] = stamp
                        latest[word] = several
                        changed[word] = fresh
                        touched[seen] = word
                        seen += 1
                    else:
                        latest[word] = max(latest[word], several)
                        changed[word] = changed[word] or fresh
                    if q > 0 and moved[word] != stamp and before[word] != mark:
                        moved[word] = stamp
                        slid += 1
            carry = loops - 1
            while carry >= 0:
                i = order[carry]
                if everything and mode[i] == T and index[i] == 1:
                    index[i] += _alike(i, bounds, dim, tile, mode, index)
                else:
                    index[i] += 1
                if index[i] < count[i]:
                    break
                index[i] = 0
                carry -= 1
            if carry < 0 or carry < begin[2]:
                break
        row[at + q] += times * seen
        row[slide + q] += times * slid
        for x in range(seen):
            word = touched[x]
            row[only + max(q, latest[word])] += times
            if q > 0 and not changed[word]:
                row[adv + q] += times
        if carry < 0:
            break
    for q in range(depth):
        row[at + q + 1] += row[at + q]
        row[only + q + 1] += row[only + q]


@part
def _alike(i: int, bounds: Ints, dim: Ints, tile: Ints, mode: Ints, index: Ints) -> int:
    """Return how many chunks of a temporal loop are like its second one, that one included.

    They have a whole chunk before them, and are whole, for every instance that has work.
    """
    extent = bounds[dim[i]]
    for j in range(i):
        if dim[j] != dim[i]:
            continue
        if mode[j] == T or mode[j] == F:
            extent = min(tile[j], extent - index[j] * tile[j])
        elif extent > tile[j]:
            if extent % tile[j] > 0:
                return 1
            extent = tile[j]
    return int(max(1, extent // tile[i] - 1))


@part
def _just_advanced(mode: Ints, index: Ints) -> int:
    """Return the temporal loop that has just advanced, -1 at the very first step."""
    i = len(mode) - 1
    while i >= 0 and (mode[i] != T or index[i] == 0):
        i -= 1
    return i


@part
def whole_window(
    coef: Ints, bounds: Ints, dim: Ints, tile: Ints, mode: Ints, row: Ints, at: int
) -> None:
    """Do `window` for the loops above the tile; G and H loops below it say which words count."""
    span = 1
    for d in range(len(bounds)):
        span += coef[d] * (bounds[d] - 1)
    above = len(mode)
    while above > 0 and mode[above - 1] >= G:
        above -= 1
    if above < len(mode):
        counted = touched_words(coef, bounds, dim, tile, mode)
    else:
        counted = np.ones(span, np.bool_)
    everything = above == len(mode)
    window(coef, bounds, dim[:above], tile[:above], mode[:above], counted, everything, row, at)


@part
def _later_work(q: int, bounds: Ints, dim: Ints, tile: Ints, mode: Ints, index: Ints) -> int:
    """Return the innermost temporal loop below q in which an instance has another chunk, else 0."""
    several = 0
    ordinal = 0
    extent = bounds.copy()
    for i in range(len(dim)):
        d = dim[i]
        if mode[i] == T:
            ordinal += 1
            if ordinal > q and extent[d] > tile[i]:
                second = min(tile[i], extent[d] - tile[i])
                if works(i, dim, tile, mode, index, second):
                    several = ordinal
        extent[d] = min(tile[i], extent[d] - index[i] * tile[i])
    return several


@part
def _differs(
    coef: Ints,
    bounds: Ints,
    dim: Ints,
    tile: Ints,
    mode: Ints,
    index: Ints,
    advanced: int,
    words: Ints,
    put: int,
    low: Ints,
    extent: Ints,
    before: Ints,
    matched: Ints,
    mark: int,
) -> bool:
    """Mark the words of an instance's old tile; return whether its new one is another set."""
    step_back(advanced, 1, bounds, dim, tile, mode, index, low, extent)
    base = 0
    for d in range(len(coef)):
        base += coef[d] * low[d]
    distinct = 0
    outer = 1
    last = len(coef) - 1
    for d in range(last):
        outer *= extent[d]
    for p in range(outer):
        word = base
        r = p
        for d in range(last):
            word += coef[d] * (r % extent[d])
            r //= extent[d]
        for _ in range(extent[last]):
            if before[word] != mark:
                before[word] = mark
                distinct += 1
            word += coef[last]
    found = 0
    for x in range(put):
        word = words[x]
        if before[word] != mark:
            return True
        if matched[word] != mark:
            matched[word] = mark
            found += 1
    return found != distinct
