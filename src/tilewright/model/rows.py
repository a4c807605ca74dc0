"""Compiled kernels: the numbers of each dimension group, for given tile sizes."""

from __future__ import annotations

import numpy as np

from tilewright.model.boxes import box_footprint, distinct_words
from tilewright.model.kernel import kernel
from tilewright.model.program import CHAIN, DISTINCT, IRRELEVANT, PEAK, WINDOW, Program
from tilewright.model.types import Ints
from tilewright.model.windows import whole_window
from tilewright.model.words import chain, most_classes


@kernel
def fill_rows(program: Program, tiles: Ints, work: Ints, numbers: Ints) -> None:
    """Compute rows of tables, but for what forwarding needs of them.

    Parameters
    ----------
    tiles : array of (mappings, loops)
        Tile sizes; loops beyond them have tile 1.
    work : array of (rows, 3)
        Table, place of the row in `numbers`, mapping.
    numbers : array
        Takes the rows.
    """
    scratch = np.empty((2, 3, most_classes(len(program.loop_dim))), np.int64)
    buffer = np.empty(len(program.loop_dim), np.int64)
    named = tiles.shape[1]
    for w in range(len(work)):
        table = work[w, 0]
        for f in range(program.table_factor_start[table], program.table_factor_start[table + 1]):
            place = work[w, 1] + program.factor_place[f]
            kind = program.factor_kind[f]
            first = program.factor_loop_start[f]
            last = program.factor_loop_start[f + 1]
            tile = buffer[: last - first]
            for x in range(first, last):
                i = program.loop_index[x]
                tile[x - first] = tiles[work[w, 2], i] if i < named else 1
            mode = program.loop_mode[first:last]
            dims = slice(program.factor_dim_start[f], program.factor_dim_start[f + 1])
            bound = program.dim_bound[dims]
            relevant = kind == CHAIN
            if relevant or kind == IRRELEVANT:
                chain(tile, mode, bound[0], relevant, numbers, place, scratch)
                continue
            local = program.loop_local[first:last]
            coef = program.dim_coef[dims]
            if kind == WINDOW:
                whole_window(coef, bound, local, tile, mode, numbers, place)
            elif kind == PEAK:
                extent = bound.copy()
                for x in range(last - first):
                    extent[local[x]] = tile[x]
                numbers[place] = box_footprint(coef, extent)
            elif kind == DISTINCT:
                numbers[place] = distinct_words(coef, bound, local, tile, mode)
