"""Compiled kernels: rows of numbers per dimension group, and the counts that they multiply to.

A *program* (plan.py) is a list of queries, each a sum of products over dimension groups. What a
group contributes depends on the tile sizes of its own few loops only. A *table* holds the numbers
of all groups that depend on the same loops; one of its rows belongs to one choice of tile sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tilewright.model.forwarding import held_group
from tilewright.model.types import Bools, Ints
from tilewright.model.windows import box_footprint, distinct_words, whole_window
from tilewright.model.words import chain

CHAIN, IRRELEVANT, WINDOW, HELD, PEAK, DISTINCT = range(6)
NONE, OWN_STEPS = -1, -2  # instead of a place in the row: zero, or the difference of two `all`


class Program(NamedTuple):
    """Everything that the kernels need to know of a mapping structure, as flat int64 arrays.

    ``x_start`` arrays delimit the part of a list that belongs to item i: ``[x_start[i]:x_start[i+1]]``.
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
    query_scale: Ints  # constant factor
    query_held: Ints  # 1 for words that some instance already held (forwarding)
    query_group_start: Ints
    group_table: Ints
    group_total: Ints  # place of all[D], or of the one number that is asked for, or NONE
    group_all: Ints
    group_only: Ints
    group_adv: Ints
    group_slide: Ints
    group_depth: Ints
    query_step_start: Ints  # temporal loops above the tile, innermost first
    step_loop: Ints
    step_group: Ints  # within the query's groups
    step_relevant: Ints


@njit(cache=True)
def fill_row(program: Program, table: int, tiles: Ints, row: Ints, base: int) -> None:
    """Compute the row of a table for tile sizes, from position `base`."""
    for f in range(program.table_factor_start[table], program.table_factor_start[table + 1]):
        place = base + program.factor_place[f]
        kind = program.factor_kind[f]
        loops = slice(program.factor_loop_start[f], program.factor_loop_start[f + 1])
        dims = slice(program.factor_dim_start[f], program.factor_dim_start[f + 1])
        tile = tiles[program.loop_index[loops]]
        mode = program.loop_mode[loops]
        local = program.loop_local[loops]
        coef = program.dim_coef[dims]
        bound = program.dim_bound[dims]
        if kind in (CHAIN, IRRELEVANT):
            chain(tile, mode, bound[0], kind == CHAIN, row, place)
        elif kind == WINDOW:
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
def several_chunks(program: Program, tiles: Ints, several: Bools, extent: Ints) -> None:
    """Say which loops have more than one chunk at their largest extent."""
    for d in range(len(extent)):
        extent[d] = program.bounds[d]
    for i in range(len(several)):
        d = program.loop_dim[i]
        several[i] = extent[d] > tiles[i]
        extent[d] = tiles[i]


@njit(cache=True)
def query_value(
    program: Program, query: int, row: Ints, base: Ints, several: Bools, depth: Ints
) -> int:
    """Return the value of a query; -1 when instances idle and words are forwarded.

    Parameters
    ----------
    row, base : arrays
        The numbers of all tables, and where each table's row begins.
    several : array of loops
        Whether a loop has more than one chunk.
    depth : array
        Space for as many numbers as the query has groups.

    Notes
    -----
    Summed over all steps the whole tiles are a plain product. From it is taken what did not move,
    loop by loop, innermost first: tiles that did not change, and words kept by a sliding window.
    Outside a loop that changes every tile nothing is left to take, so the walk is short.
    """
    first = program.query_group_start[query]
    groups = program.query_group_start[query + 1] - first
    total = program.query_scale[query]
    for g in range(first, first + groups):
        if program.group_total[g] != NONE:
            total *= row[base[program.group_table[g]] + program.group_total[g]]
    begin = program.query_step_start[query]
    end = program.query_step_start[query + 1]
    if begin == end:
        return total
    held = program.query_held[query] == 1
    changing = 0  # groups in which every tile changes in the loops seen so far
    changing_window = False
    for g in range(groups):
        depth[g] = program.group_depth[first + g]
        place = base[program.group_table[first + g]]
        if held and row[place + program.group_slide[first + g]] != 0:
            return -1
        if row[place + program.group_only[first + g] + depth[g]] == 0:
            changing += 1
            changing_window = program.group_adv[first + g] != NONE
    run_dim = -1
    run_group = -1
    run_open = not held
    for s in range(begin, end):
        loop = program.step_loop[s]
        own = program.step_group[s]
        q = depth[own]
        depth[own] -= 1
        if not several[loop]:
            continue
        g = first + own
        place = base[program.group_table[g]]
        whole = place + program.group_all[g] + q
        in_run = False
        if run_open and program.step_relevant[s]:
            dim = program.loop_dim[loop]
            if run_dim < 0:
                run_dim = dim
                run_group = own
            in_run = dim == run_dim
            run_open = in_run and program.group_slide[g] != NONE
        if in_run:
            if program.group_slide[g] != NONE:
                kept = row[whole] - row[whole - 1] - row[place + program.group_slide[g] + q]
                for h in range(groups):
                    if kept != 0 and h != own:
                        other = first + h
                        kept *= row[
                            base[program.group_table[other]] + program.group_all[other] + depth[h]
                        ]
                total -= kept
        elif program.group_adv[g] != NONE:
            if program.group_adv[g] == OWN_STEPS:
                kept = row[whole] - row[whole - 1]
            else:
                kept = row[place + program.group_adv[g] + q]
            for h in range(groups):
                if kept == 0:
                    break
                if h != own:
                    other = first + h
                    kept *= row[
                        base[program.group_table[other]] + program.group_only[other] + depth[h]
                    ]
            total -= kept
        if held:
            continue
        unchanged = place + program.group_only[g] + q
        if row[unchanged] != 0 and row[unchanged - 1] == 0:
            changing += 1
            changing_window = program.group_adv[g] != NONE
        if not run_open and (changing > 1 or (changing == 1 and not changing_window)):
            break
    return total


@njit(cache=True)
def query_values(program: Program, tiles: Ints) -> Ints:
    """Return the values of all queries of a program for one choice of tile sizes."""
    tables = len(program.table_width)
    base = np.zeros(tables + 1, np.int64)
    for t in range(tables):
        base[t + 1] = base[t] + program.table_width[t]
    row = np.zeros(base[tables], np.int64)
    for t in range(tables):
        fill_row(program, t, tiles, row, base[t])
    several = np.zeros(len(program.loop_dim), np.bool_)
    several_chunks(program, tiles, several, np.empty(len(program.bounds), np.int64))
    queries = len(program.query_scale)
    values = np.empty(queries, np.int64)
    depth = np.empty(len(program.group_table) + 1, np.int64)
    for query in range(queries):
        values[query] = query_value(program, query, row, base, several, depth)
    return values
