"""Compiled kernels: where an instance stands in its loops, and the words of the box there.

A group's words are numbered by the value of its index expression.
"""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import part
from tilewright.kernels.types import Bools, Ints
from tilewright.model.closed_form.words import F, G, T


@part
def last_chunk(i: int, dim: Ints, tile: Ints, mode: Ints, index: Ints, extent: int) -> int:
    """Return the last chunk of loop i in which an instance has work, when it has any.

    `extent` is what the loops above leave of its dimension; `index` says where the instance stands.
    """
    t = tile[i]
    last = (extent + t - 1) // t - 1
    if last > 0 and not works(i, dim, tile, mode, index, extent - last * t):
        return int(last - 1)
    return int(last)


@part
def works(i: int, dim: Ints, tile: Ints, mode: Ints, index: Ints, extent: int) -> bool:
    """Whether an instance has work in a chunk of loop i, deeper loops at their first chunk."""
    for j in range(i + 1, len(dim)):
        if dim[j] == dim[i]:
            if mode[j] != T:
                extent -= index[j] * tile[j]
                if extent <= 0:
                    return False
            extent = min(extent, tile[j])
    return True


@part
def descend(bounds: Ints, dim: Ints, tile: Ints, index: Ints, low: Ints, extent: Ints) -> bool:
    """Walk an instance's loops down to its box; return whether it has work."""
    for d in range(len(bounds)):
        low[d] = 0
        extent[d] = bounds[d]
    for i in range(len(dim)):
        d = dim[i]
        offset = index[i] * tile[i]
        if offset >= extent[d]:
            return False
        low[d] += offset
        extent[d] = min(tile[i], extent[d] - offset)
    return True


@part
def step_back(
    loop: int,
    back: int,
    bounds: Ints,
    dim: Ints,
    tile: Ints,
    mode: Ints,
    index: Ints,
    low: Ints,
    extent: Ints,
) -> None:
    """Walk down to the box in which an instance stood earlier.

    Loop `loop` stands `back` chunks back, deeper temporal loops at their last chunk with work.
    """
    for d in range(len(bounds)):
        low[d] = 0
        extent[d] = bounds[d]
    for i in range(len(dim)):
        d = dim[i]
        chunk = index[i]
        if i == loop:
            chunk -= back
        elif i > loop and mode[i] == T:
            chunk = last_chunk(i, dim, tile, mode, index, extent[d])
        low[d] += chunk * tile[i]
        extent[d] = min(tile[i], extent[d] - chunk * tile[i])


@part
def box_words(coef: Ints, low: Ints, extent: Ints, out: Ints) -> int:
    """Put the words of a box, some of them twice, into `out`; return how many were put."""
    base = 0
    for d in range(len(coef)):
        base += coef[d] * low[d]
    out[0] = base
    count = 1
    for d in range(len(coef)):
        if coef[d] == 0:
            continue
        block = count
        for i in range(1, extent[d]):
            for w in range(block):
                out[count] = out[w] + i * coef[d]
                count += 1
    return count


@part
def chunk_counts(bounds: Ints, dim: Ints, tile: Ints) -> Ints:
    """Return the chunks of each loop of a group at its largest extent."""
    extent = bounds.copy()
    count = np.empty(len(dim), np.int64)
    for i in range(len(dim)):
        count[i] = (extent[dim[i]] + tile[i] - 1) // tile[i]
        extent[dim[i]] = min(tile[i], extent[dim[i]])
    return count


@part
def first_counts(bounds: Ints, dim: Ints, tile: Ints, mode: Ints) -> Ints:
    """Return the chunks of each loop that are looked at: of F loops the first one."""
    count = chunk_counts(bounds, dim, tile)
    for i in range(len(mode)):
        if mode[i] == F:
            count[i] = 1
    return count


@part
def ranked(rank: Ints) -> tuple[Ints, Ints]:
    """Return loops in the order of their ranks, 0 to 3, and where each rank begins there."""
    order = np.empty(len(rank), np.int64)
    begin = np.zeros(5, np.int64)
    count = 0
    for r in range(4):
        begin[r] = count
        for i in range(len(rank)):
            if rank[i] == r:
                order[count] = i
                count += 1
    begin[4] = count
    return order, begin


@part
def box_footprint_of_two(coef: Ints, extent: Ints) -> int:
    """Return the distinct words of a box of a group of two dimensions."""
    a, b = coef[0], coef[1]
    while b:
        a, b = b, a % b
    shared = max(0, extent[0] - coef[1] // a) * max(0, extent[1] - coef[0] // a)
    return int(extent[0] * extent[1] - shared)


@part
def box_footprint(coef: Ints, extent: Ints) -> int:
    """Return the distinct words of a box of a group."""
    if len(coef) == 1:
        return int(extent[0])
    if len(coef) == 2:
        return box_footprint_of_two(coef, extent)
    none = np.empty(0, np.int64)
    return distinct_words(coef, extent, none, none, none)


@part
def distinct_words(coef: Ints, bounds: Ints, dim: Ints, tile: Ints, mode: Ints) -> int:
    """Return the words of a group that the first instance (F loops) ever touches."""
    count = chunk_counts(bounds, dim, tile)
    alone = False
    for i in range(len(dim)):
        alone = alone or ((mode[i] == F or mode[i] == G) and count[i] > 1)
    if not alone and len(coef) == 2:
        return box_footprint_of_two(coef, bounds)
    return int(touched_words(coef, bounds, dim, tile, mode).sum())


@part
def touched_words(coef: Ints, bounds: Ints, dim: Ints, tile: Ints, mode: Ints) -> Bools:
    """Say for each word of a group whether the first instance (F and G loops) ever touches it."""
    count = chunk_counts(bounds, dim, tile)
    volume = 1
    span = 1
    for d in range(len(bounds)):
        span += coef[d] * (bounds[d] - 1)
        volume *= bounds[d]
    for i in range(len(dim)):
        if mode[i] == F or mode[i] == G:
            count[i] = 1
    index = np.zeros(len(dim), np.int64)
    low = np.empty(len(bounds), np.int64)
    extent = np.empty(len(bounds), np.int64)
    words = np.empty(volume, np.int64)
    seen = np.zeros(span, np.bool_)
    while True:
        if descend(bounds, dim, tile, index, low, extent):
            for x in range(box_words(coef, low, extent, words)):
                seen[words[x]] = True
        carry = len(dim) - 1
        while carry >= 0:
            index[carry] += 1
            if index[carry] < count[carry]:
                break
            index[carry] = 0
            carry -= 1
        if carry < 0:
            return seen
