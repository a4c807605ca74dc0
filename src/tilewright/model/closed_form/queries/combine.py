"""Compiled kernels: the values of queries, from the numbers of their dimension groups."""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Bools, Ints
from tilewright.model.closed_form.queries.program import NONE, OWN_STEPS, Program

HEAD, STEP = 5, 7  # numbers of a query's head, and of a step besides its other groups


@part
def query_values(
    code: Ints,
    at: int,
    row: Ints,
    base: Ints,
    several: Bools,
    size: int,
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
    size : int
        Mappings.
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
    for m in range(size):
        value[m] = code[at]
    begin = at + HEAD
    end = begin + 2 * code[at + 1]
    for x in range(begin, end, 2):
        place_of = base[code[x]]
        place = code[x + 1]
        for m in range(size):
            value[m] *= row[place_of[m] + place]
    steps = code[at + 3]
    if steps == 0:
        return
    begin = end
    end = begin + 2 * code[at + 2]
    held = end > begin
    walking = state[0]
    changing = state[1]
    run_dim = state[2]
    run_open = state[3]
    left = 0
    for m in range(size):
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


@kernel
def all_values(program: Program, tiles: Ints, numbers: Ints, base: Ints) -> Ints:
    """Return the values of all queries for one choice of tile sizes.

    Parameters
    ----------
    tiles : array of (loops, 1)
        Tile sizes, those of the loops at the compute unit included.
    numbers, base : array, array of (tables, 1)
        Rows of all tables, and where they begin.
    """
    several = np.zeros((len(program.loop_dim), 1), np.bool_)
    extent = program.bounds.copy()
    for i in range(len(program.loop_dim)):
        d = program.loop_dim[i]
        several[i, 0] = extent[d] > tiles[i, 0]
        extent[d] = tiles[i, 0]
    values = np.zeros((len(program.query), 1), np.int64)
    cut = several[:, :1]
    begins = base[:, :1]
    state = np.zeros((4, 1), np.int64)
    for q in range(len(program.query)):
        at = program.query[q]
        size = values.shape[1]
        query_values(program.code, at, numbers, begins, cut, size, values[q], state)
    return values[:, 0]
