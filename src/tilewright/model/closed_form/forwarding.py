"""Compiled kernels: words that some instance of the array already holds, and forwards.

What the instances hold together before a step is a product over dimension groups as long as all of
them work in the same steps. Where some idle, with a short chunk, they keep an older tile; then
`missing_words` follows every step, in time proportional to the words of all tiles.
"""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Ints
from tilewright.model.closed_form.boxes import box_words, descend, first_counts, ranked, step_back
from tilewright.model.closed_form.queries.program import HELD, Program
from tilewright.model.closed_form.words import F, S, T, U, temporal_loops


@part
def _ranks(mode: Ints) -> Ints:
    """Return the ranks of loops: the parent's instances (S), steps, J, U."""
    rank = np.full(len(mode), 2, np.int64)
    for i in range(len(mode)):
        if mode[i] == S or mode[i] == F:
            rank[i] = 0
        elif mode[i] == T:
            rank[i] = 1
        elif mode[i] == U:
            rank[i] = 3
    return rank


@part
def _next(order: Ints, begin: int, end: int, count: Ints, index: Ints) -> bool:
    """Advance the loops of some ranks like an odometer; False when they are all back at zero."""
    for x in range(end - 1, begin - 1, -1):
        i = order[x]
        index[i] += 1
        if index[i] < count[i]:
            return True
        index[i] = 0
    return False


@part
def held_group(
    coef: Ints, bounds: Ints, dim: Ints, tile: Ints, mode: Ints, row: Ints, at: int
) -> None:
    """Put what moves into a group's tiles, and what was held before, into a row.

    It takes 4 (D + 1) numbers, the first three kinds as in `words`: ``all[q]``; ``only[q]``, the
    words of the first inner tiles that the last inner tiles have too, any instance's; ``adv[q]``,
    the words of the tiles that some instance held when loop q advanced. The first number of the
    fourth kind is 1 when some instance idles while another works, and the rest does not hold.
    """
    loops = len(dim)
    depth = temporal_loops(mode)
    width = depth + 1
    for x in range(4 * width):
        row[at + x] = 0
    only = at + width
    adv = at + 2 * width
    uneven = at + 3 * width
    span = 1
    volume = 1
    for d in range(len(bounds)):
        span += coef[d] * (bounds[d] - 1)
        if coef[d] > 0:
            volume *= bounds[d]
    count = first_counts(bounds, dim, tile, mode)
    order, begin = ranked(_ranks(mode))
    index = np.zeros(loops, np.int64)
    low = np.empty(len(bounds), np.int64)
    extent = np.empty(len(bounds), np.int64)
    words = np.empty(volume, np.int64)
    held = np.zeros(span, np.int64)
    seen = np.zeros(span, np.int64)
    stamps = np.zeros(2, np.int64)
    while True:  # over the instances of the parent
        workers = -1
        while True:  # over steps
            working = 0
            while True:
                working += descend(bounds, dim, tile, index, low, extent)
                if not _next(order, begin[2], begin[4], count, index):
                    break
            if workers < 0:
                workers = working
            if 0 < working < workers:
                row[uneven] = 1
                return
            if working > 0:
                q = 0
                position = -1
                for x in range(begin[1], begin[2]):
                    if index[order[x]] > 0:
                        q = x - begin[1] + 1
                        position = order[x]
                if q > 0:
                    stamps[0] += 1
                    _hold(coef, bounds, dim, tile, mode, index, order, begin, count,
                          position, 1, low, extent, words, held, stamps[0])  # fmt: skip
                    row[adv + q] += _meet(coef, bounds, dim, tile, index, order, begin, count,
                                          low, extent, words, held, seen, stamps)  # fmt: skip
                for deeper in range(q, depth + 1):
                    stamps[0] += 1
                    position = order[begin[1] + deeper - 1] if deeper > 0 else -1
                    _hold(coef, bounds, dim, tile, mode, index, order, begin, count,
                          position, 0, low, extent, words, held, stamps[0])  # fmt: skip
                    met = _meet(coef, bounds, dim, tile, index, order, begin, count,
                                low, extent, words, held, seen, stamps)  # fmt: skip
                    row[only + deeper] += met
                    if deeper == depth:  # the instances' own tiles
                        row[at + q] += met
            if not _next(order, begin[1], begin[2], count, index):
                break
        if not _next(order, begin[0], begin[1], count, index):
            break
    for q in range(depth):
        row[at + q + 1] += row[at + q]


@part
def _hold(
    coef: Ints,
    bounds: Ints,
    dim: Ints,
    tile: Ints,
    mode: Ints,
    index: Ints,
    order: Ints,
    begin: Ints,
    count: Ints,
    loop: int,
    back: int,
    low: Ints,
    extent: Ints,
    words: Ints,
    held: Ints,
    stamp: int,
) -> None:
    """Stamp the words of all instances' tiles at an earlier step."""
    while True:
        if descend(bounds, dim, tile, index, low, extent):
            step_back(loop, back, bounds, dim, tile, mode, index, low, extent)
            for x in range(box_words(coef, low, extent, words)):
                held[words[x]] = stamp
        if not _next(order, begin[2], begin[4], count, index):
            return


@part
def _meet(
    coef: Ints,
    bounds: Ints,
    dim: Ints,
    tile: Ints,
    index: Ints,
    order: Ints,
    begin: Ints,
    count: Ints,
    low: Ints,
    extent: Ints,
    words: Ints,
    held: Ints,
    seen: Ints,
    stamps: Ints,
) -> int:
    """Return the stamped words in all instances' tiles, united over the U loops."""
    total = 0
    while True:
        stamps[1] += 1
        while True:
            if descend(bounds, dim, tile, index, low, extent):
                for x in range(box_words(coef, low, extent, words)):
                    word = words[x]
                    if held[word] == stamps[0] and seen[word] != stamps[1]:
                        seen[word] = stamps[1]
                        total += 1
            if not _next(order, begin[3], begin[4], count, index):
                break
        if not _next(order, begin[2], begin[3], count, index):
            return total


@kernel
def fill_held_rows(program: Program, tiles: Ints, work: Ints, todo: Ints, numbers: Ints) -> None:
    """Do what `rows.fill_rows` leaves out."""
    for table in range(len(todo)):
        for f in range(program.table_factor_start[table], program.table_factor_start[table + 1]):
            if program.factor_kind[f] != HELD:
                continue
            loops = slice(program.factor_loop_start[f], program.factor_loop_start[f + 1])
            dims = slice(program.factor_dim_start[f], program.factor_dim_start[f + 1])
            for w in range(todo[table]):
                held_group(
                    program.dim_coef[dims],
                    program.dim_bound[dims],
                    program.loop_local[loops],
                    tiles[:, work[table, w, 1]][program.loop_index[loops]],
                    program.loop_mode[loops],
                    numbers,
                    work[table, w, 0] + program.factor_place[f],
                )


@kernel
def missing_words(coef: Ints, bounds: Ints, dim: Ints, tile: Ints, mode: Ints) -> int:
    """Return the words that move in and that no instance already holds, step by step.

    Parameters
    ----------
    coef, bounds : arrays of dimensions
        Coefficients that number the tensor's words, 0 where irrelevant; iterations.
    dim, tile, mode : arrays of loops
        Dimension, chunk size and kind of all loops above the tile.
    """
    loops = len(dim)
    span = 1
    volume = 1
    smallest = bounds.copy()
    for i in range(loops):
        smallest[dim[i]] = tile[i]
    for d in range(len(bounds)):
        span += coef[d] * (bounds[d] - 1)
        if coef[d] > 0:
            volume *= smallest[d]
    count = first_counts(bounds, dim, tile, mode)
    order, begin = ranked(_ranks(mode))
    instances = 1
    for x in range(begin[2], begin[4]):
        instances *= count[order[x]]
    old = np.zeros((instances, 2, len(bounds)), np.int64)
    index = np.zeros(loops, np.int64)
    low = np.empty(len(bounds), np.int64)
    extent = np.empty(len(bounds), np.int64)
    words = np.empty(volume, np.int64)
    seen = np.zeros(span, np.int64)
    stamp = 0
    total = 0
    while True:  # over the instances of the parent
        holders = np.zeros(span, np.int64)
        old[:] = 0
        while True:  # over steps
            while True:
                stamp += 1
                while True:
                    if descend(bounds, dim, tile, index, low, extent):
                        for x in range(box_words(coef, low, extent, words)):
                            word = words[x]
                            if holders[word] == 0 and seen[word] != stamp:
                                seen[word] = stamp
                                total += 1
                    if not _next(order, begin[3], begin[4], count, index):
                        break
                if not _next(order, begin[2], begin[3], count, index):
                    break
            instance = 0
            while True:
                if descend(bounds, dim, tile, index, low, extent):
                    if old[instance, 1, 0] > 0:
                        for x in range(box_words(coef, old[instance, 0], old[instance, 1], words)):
                            holders[words[x]] -= 1
                    for x in range(box_words(coef, low, extent, words)):
                        holders[words[x]] += 1
                    old[instance, 0] = low
                    old[instance, 1] = extent
                instance += 1
                if not _next(order, begin[2], begin[4], count, index):
                    break
            if not _next(order, begin[1], begin[2], count, index):
                break
        if not _next(order, begin[0], begin[1], count, index):
            return total
