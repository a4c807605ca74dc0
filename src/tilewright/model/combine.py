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
    code: Ints  # the queries, see `query_value`


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
def several_chunks(program: Program, tiles: Ints, several: Bools, extent: Ints) -> None:
    """Say which loops have more than one chunk at their largest extent."""
    for d in range(len(extent)):
        extent[d] = program.bounds[d]
    for i in range(len(several)):
        d = program.loop_dim[i]
        several[i] = extent[d] > tiles[i]
        extent[d] = tiles[i]


@njit(cache=True, inline="always")
def query_value(code: Ints, at: int, row: Ints, base: Ints, several: Bools) -> int:
    """Return the value of a query; -1 when instances idle and words are forwarded.

    Parameters
    ----------
    code, at : array, int
        The query begins at ``code[at]`` with its constant factor and the numbers of its totals,
        checks, steps and groups. Lists follow, of places in the row of a table.
        Totals (table, place): the product is taken.
        Checks (table, place): numbers that are not 0 when the query cannot be answered.
        Steps, one per temporal loop above the tile, innermost first: loop; its dimension if
        relevant, else -1; table of its group; places of all[q], adv[q], slide[q] and only[q]; for
        each other group (table, only, all) at the depth that it has there.
    row, base : arrays
        The numbers of all tables, and where each table's row begins.
    several : array of loops
        Whether a loop has more than one chunk.

    Notes
    -----
    Summed over all steps the whole tiles are a plain product. From it is taken what did not move,
    loop by loop, innermost first: tiles that did not change, and words kept by a sliding window.
    Outside a loop that changes every tile nothing is left to take, so the walk is short.
    """
    total = code[at]
    begin = at + HEAD
    end = begin + 2 * code[at + 1]
    for x in range(begin, end, 2):
        total *= row[base[code[x]] + code[x + 1]]
    steps = code[at + 3]
    if steps == 0:
        return int(total)
    begin = end
    end = begin + 2 * code[at + 2]
    for x in range(begin, end, 2):
        if row[base[code[x]] + code[x + 1]] != 0:
            return -1
    held = end > begin
    size = STEP + 3 * (code[at + 4] - 1)
    begin = end
    changing = 0  # groups in which every tile changes in the loops seen so far
    changing_window = False
    run_dim = -1
    run_open = not held
    for s in range(begin, begin + steps * size, size):
        if not several[code[s]]:
            continue
        place = base[code[s + 2]]
        whole = place + code[s + 3]
        adv = code[s + 4]
        slide = code[s + 5]
        in_run = False
        dim = code[s + 1]
        if run_open and dim >= 0:
            if run_dim < 0:
                run_dim = dim
            in_run = dim == run_dim
            run_open = in_run and slide != NONE
        kept = 0
        which = 1
        if in_run:
            if slide != NONE:
                kept = row[whole] - row[whole - 1] - row[place + slide]
                which = 2
        elif adv == OWN_STEPS:
            kept = row[whole] - row[whole - 1]
        elif adv != NONE:
            kept = row[place + adv]
        if kept != 0:
            for x in range(s + STEP, s + size, 3):
                kept *= row[base[code[x]] + code[x + which]]
            total -= kept
        if held:
            continue
        unchanged = place + code[s + 6]
        if dim >= 0 and row[unchanged] != 0 and row[unchanged - 1] == 0:
            changing += 1
            changing_window = adv != NONE
        if changing > 0 and not run_open and (changing > 1 or not changing_window):
            break
    return int(total)


@njit(cache=True)
def query_values(program: Program, tiles: Ints) -> Ints:
    """Return the values of all queries of a program for one choice of tile sizes."""
    tables = len(program.table_width)
    base = np.zeros(tables + 1, np.int64)
    for t in range(tables):
        base[t + 1] = base[t] + program.table_width[t]
    row = np.zeros(base[tables], np.int64)
    scratch = scratch_space(program)
    for t in range(tables):
        fill_row(program, t, tiles, row, base[t], scratch)
    several = np.zeros(len(program.loop_dim), np.bool_)
    several_chunks(program, tiles, several, np.empty(len(program.bounds), np.int64))
    queries = len(program.query)
    values = np.empty(queries, np.int64)
    for i in range(queries):
        values[i] = query_value(program.code, program.query[i], row, base, several)
    return values
