"""Compiled kernels: rows of numbers per dimension group, and the counts that they multiply to.

A *program* (plan.py) is a list of queries, each a sum of products over dimension groups. What a
group contributes depends on the tile sizes of its own few loops only. A *table* holds the numbers
of all groups that depend on the same loops; one of its rows belongs to one choice of tile sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tilewright.model.boxes import box_footprint, distinct_words
from tilewright.model.forwarding import held_group
from tilewright.model.types import Bools, Ints
from tilewright.model.windows import whole_window
from tilewright.model.words import chain, most_classes

CHAIN, IRRELEVANT, WINDOW, HELD, PEAK, DISTINCT = range(6)
HEAD, STEP = 5, 7  # numbers of a query's head, and of a step besides its other groups
NONE, OWN_STEPS = -1, -2  # instead of a place in the row: zero, or the difference of two `all`


class Program(NamedTuple):
    """Everything that the kernels need to know of a mapping structure, as flat int64 arrays.

    A ``start`` array delimits lists: what belongs to item i is ``[start[i] : start[i + 1]]``.
    """

    bounds: Ints  # iterations of each dimension
    loop_dim: Ints  # dimension of each loop, residual loops at the compute unit included
    table_factor_start: Ints
    table_width: Ints
    factor_kind: Ints
    factor_place: Ints  # first number of the factor in its table's row
    factor_dim_start: Ints
    dim_coef: Ints
    dim_bound: Ints
    factor_loop_start: Ints
    loop_index: Ints
    loop_local: Ints  # dimension of the loop within the factor
    loop_mode: Ints
    query: Ints  # where each query begins in `code`
    code: Ints  # the queries, see `query_values`


@njit(cache=True)
def fill_row(
    program: Program, table: int, tiles: Ints, row: Ints, base: int, scratch: Ints
) -> None:
    """Compute the row of a table for tile sizes, from position `base`; see `scratch_space`."""
    for f in range(program.table_factor_start[table], program.table_factor_start[table + 1]):
        place = base + program.factor_place[f]
        kind = program.factor_kind[f]
        loops = slice(program.factor_loop_start[f], program.factor_loop_start[f + 1])
        dims = slice(program.factor_dim_start[f], program.factor_dim_start[f + 1])
        index = program.loop_index[loops]
        tile = scratch[2, 0, : len(index)]
        for i in range(len(index)):
            tile[i] = tiles[index[i]]
        mode = program.loop_mode[loops]
        bound = program.dim_bound[dims]
        if kind in (CHAIN, IRRELEVANT):
            chain(tile, mode, bound[0], kind == CHAIN, row, place, scratch)
            continue
        local = program.loop_local[loops]
        coef = program.dim_coef[dims]
        if kind == WINDOW:
            whole_window(coef, bound, local, tile, mode, row, place)
        elif kind == HELD:
            held_group(coef, bound, local, tile, mode, row, place)
        elif kind == PEAK:
            extent = bound.copy()
            for i in range(len(tile)):
                extent[local[i]] = tile[i]
            row[place] = box_footprint(coef, extent)
        else:
            row[place] = distinct_words(coef, bound, local, tile, mode)


@njit(cache=True)
def scratch_space(program: Program) -> Ints:
    """Return space for `fill_row`: classes of instances, and the tile sizes of a factor."""
    return np.empty((3, 3, most_classes(len(program.loop_dim))), np.int64)


@njit(cache=True)
def query_values(
    code: Ints,
    at: int,
    row: Ints,
    base: Ints,
    several: Bools,
    live: Ints,
    value: Ints,
    state: Ints,
) -> None:
    """Find the value of a query for a block of mappings; -1 where it has none.

    A query about forwarded words has no value when instances idle.

    Parameters
    ----------
    code, at : array, int
        The query begins at ``code[at]`` with its constant factor and the numbers of its totals,
        checks, steps and groups. Lists follow, of places in the row of a table.
        Totals (table, place): the product is taken.
        Checks (table, place): numbers that are not 0 when the query has no value.
        Steps, one per temporal loop above the tile, innermost first: loop; its dimension if
        relevant, else -1; table of its group; places of all[q], adv[q], slide[q] and only[q]; for
        each other group (table, only, all) at the depth that it has there.
    row, base : array, array of (tables, mappings)
        The numbers of all tables, and where each table's row begins.
    several : array of (loops, mappings)
        Whether a loop has more than one chunk.
    live : array
        The mappings that are asked for.
    value : array of mappings
        Takes the values.
    state : array of (4, mappings)
        Scratch space.

    Notes
    -----
    Summed over all steps the whole tiles are a plain product. From it is taken what did not move,
    loop by loop, innermost first: tiles that did not change, and words kept by a sliding window.
    Outside a loop that changes every tile nothing is left to take, so the walk is short.
    """
    for m in live:
        value[m] = code[at]
    begin = at + HEAD
    end = begin + 2 * code[at + 1]
    for x in range(begin, end, 2):
        place_of = base[code[x]]
        place = code[x + 1]
        for m in live:
            value[m] *= row[place_of[m] + place]
    steps = code[at + 3]
    if steps == 0:
        return
    begin = end
    end = begin + 2 * code[at + 2]
    held = end > begin
    walking, changing, run_dim, run_open = state
    left = 0
    for m in live:
        for x in range(begin, end, 2):
            if row[base[code[x], m] + code[x + 1]] != 0:
                value[m] = -1
        if not held or value[m] >= 0:
            walking[left] = m
            left += 1
        changing[m] = 0  # groups in which every tile changes in the loops seen so far
        run_dim[m] = -1
        run_open[m] = not held
    size = STEP + 3 * (code[at + 4] - 1)
    for s in range(end, end + steps * size, size):
        has_chunks = several[code[s]]
        dim = code[s + 1]
        place_of = base[code[s + 2]]
        whole = code[s + 3]
        adv = code[s + 4]
        slide = code[s + 5]
        only = code[s + 6]
        still = 0
        for k in range(left):
            m = walking[k]
            walking[still] = m
            still += 1
            if not has_chunks[m]:
                continue
            place = place_of[m]
            in_run = False
            if dim >= 0 and run_open[m]:
                if run_dim[m] < 0:
                    run_dim[m] = dim
                in_run = dim == run_dim[m]
                run_open[m] = in_run and slide != NONE
            kept = 0
            which = 1
            if in_run:
                if slide != NONE:
                    kept = row[place + whole] - row[place + whole - 1] - row[place + slide]
                    which = 2
            elif adv == OWN_STEPS:
                kept = row[place + whole] - row[place + whole - 1]
            elif adv != NONE:
                kept = row[place + adv]
            if kept != 0:
                for x in range(s + STEP, s + size, 3):
                    kept *= row[base[code[x], m] + code[x + which]]
                value[m] -= kept
            if held or dim < 0:
                continue
            if row[place + only] != 0 and row[place + only - 1] == 0:
                changing[m] += 2 if adv == NONE else 1
            # all tiles change: for good, but for steps of a single group that is a window
            if changing[m] > 1 and not run_open[m]:
                still -= 1
        left = still
        if left == 0:
            break


@njit(cache=True)
def all_values(program: Program, tiles: Ints) -> Ints:
    """Return the values of all queries of a program for one choice of tile sizes."""
    tables = len(program.table_width)
    base = np.zeros((tables + 1, 1), np.int64)
    for t in range(tables):
        base[t + 1] = base[t] + program.table_width[t]
    row = np.zeros(base[tables, 0], np.int64)
    scratch = scratch_space(program)
    for t in range(tables):
        fill_row(program, t, tiles, row, base[t, 0], scratch)
    several = np.zeros((len(program.loop_dim), 1), np.bool_)
    extent = program.bounds.copy()
    for i in range(len(tiles)):
        d = program.loop_dim[i]
        several[i, 0] = extent[d] > tiles[i]
        extent[d] = tiles[i]
    values = np.zeros((len(program.query), 1), np.int64)
    live = np.zeros(1, np.int64)
    state = np.zeros((4, 1), np.int64)
    for q in range(len(program.query)):
        query_values(program.code, program.query[q], row, base, several, live, values[q], state)
    return values[:, 0]
