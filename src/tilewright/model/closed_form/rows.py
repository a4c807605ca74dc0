"""Compiled kernels: the numbers of each dimension group, for given tile sizes."""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Ints
from tilewright.model.closed_form.boxes import box_footprint, distinct_words
from tilewright.model.closed_form.fits import BLOCK
from tilewright.model.closed_form.queries.program import (
    CHAIN,
    DISTINCT,
    PEAK,
    TOTAL,
    WINDOW,
    Program,
)
from tilewright.model.closed_form.windows import whole_window
from tilewright.model.closed_form.words import chains


@kernel
def fill_rows(program: Program, tiles: Ints, work: Ints, todo: Ints, numbers: Ints) -> None:
    """Compute rows of tables, but for what forwarding needs of them.

    Parameters
    ----------
    tiles : array of (loops, mappings)
        Tile sizes, those of the loops at the compute unit included.
    work : array of (tables, rows, 2)
        Rows of each table: place in `numbers`, mapping.
    todo : array of tables
        How many rows there are.
    numbers : array
        Takes the rows.
    """
    for table in range(len(todo)):
        for f in range(program.table_factor_start[table], program.table_factor_start[table + 1]):
            kind = program.factor_kind[f]
            loops = slice(program.factor_loop_start[f], program.factor_loop_start[f + 1])
            dims = slice(program.factor_dim_start[f], program.factor_dim_start[f + 1])
            index = program.loop_index[loops]
            local = program.loop_local[loops]
            mode = program.loop_mode[loops]
            coef = program.dim_coef[dims]
            bound = program.dim_bound[dims]
            place = program.factor_place[f]
            for begin in range(0, todo[table], BLOCK):
                rows = work[table, begin : min(begin + BLOCK, todo[table])]
                tile = np.empty((len(index), len(rows)), np.int64)
                for x in range(len(index)):
                    for w in range(len(rows)):
                        tile[x, w] = tiles[index[x], rows[w, 1]]
                if kind in (CHAIN, TOTAL):
                    chains(tile, mode, bound[0], kind == TOTAL, rows, place, numbers)
                    continue
                for w in range(len(rows)):
                    own = tile[:, w].copy()
                    _fill_window(kind, coef, bound, local, own, mode, numbers, rows[w, 0] + place)


@part
def _fill_window(
    kind: int,
    coef: Ints,
    bound: Ints,
    local: Ints,
    tile: Ints,
    mode: Ints,
    numbers: Ints,
    place: int,
) -> None:
    """Compute the numbers of several dimensions."""
    if kind == WINDOW:
        whole_window(coef, bound, local, tile, mode, numbers, place)
    elif kind == PEAK:
        extent = bound.copy()
        for x in range(len(tile)):
            extent[local[x]] = tile[x]
        numbers[place] = box_footprint(coef, extent)
    elif kind == DISTINCT:
        numbers[place] = distinct_words(coef, bound, local, tile, mode)
