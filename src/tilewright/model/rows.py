"""Compiled kernels: the numbers of each dimension group, for given tile sizes."""

from __future__ import annotations

from tilewright.model.boxes import box_footprint, distinct_words
from tilewright.model.kernel import kernel
from tilewright.model.program import CHAIN, DISTINCT, IRRELEVANT, PEAK, TOTAL, WINDOW, Program
from tilewright.model.types import Ints
from tilewright.model.windows import whole_window
from tilewright.model.words import chain, chain_scratch


@kernel
def fill_rows(program: Program, tiles: Ints, work: Ints, numbers: Ints) -> None:
    """Compute rows of tables, but for what forwarding needs of them.

    Parameters
    ----------
    tiles : array of (loops, mappings)
        Tile sizes, those of the loops at the compute unit included.
    work : array of (rows, 3)
        Table, place of the row in `numbers`, mapping.
    numbers : array
        Takes the rows.
    """
    scratch = chain_scratch(len(program.loop_dim))
    loop = program.loop_index
    mode = program.loop_mode
    for w in range(len(work)):
        table = work[w, 0]
        m = work[w, 2]
        for f in range(program.table_factor_start[table], program.table_factor_start[table + 1]):
            place = work[w, 1] + program.factor_place[f]
            kind = program.factor_kind[f]
            first = program.factor_loop_start[f]
            last = program.factor_loop_start[f + 1]
            if kind in (CHAIN, IRRELEVANT, TOTAL):
                bound = program.dim_bound[program.factor_dim_start[f]]
                relevant = program.factor_relevant[f] > 0
                only_total = kind == TOTAL
                chain(
                    tiles, m, loop, mode, first, last, bound, relevant, only_total,
                    numbers, place, scratch,
                )  # fmt: skip
            else:
                _fill_window(program, tiles, m, f, numbers, place)


@kernel
def _fill_window(program: Program, tiles: Ints, m: int, f: int, numbers: Ints, place: int) -> None:
    """Compute the numbers of several dimensions."""
    kind = program.factor_kind[f]
    dims = slice(program.factor_dim_start[f], program.factor_dim_start[f + 1])
    coef = program.dim_coef[dims]
    bound = program.dim_bound[dims]
    loops = slice(program.factor_loop_start[f], program.factor_loop_start[f + 1])
    local = program.loop_local[loops]
    tile = tiles[:, m][program.loop_index[loops]]
    if kind == WINDOW:
        whole_window(coef, bound, local, tile, program.loop_mode[loops], numbers, place)
    elif kind == PEAK:
        extent = bound.copy()
        for x in range(len(tile)):
            extent[local[x]] = tile[x]
        numbers[place] = box_footprint(coef, extent)
    elif kind == DISTINCT:
        numbers[place] = distinct_words(coef, bound, local, tile, program.loop_mode[loops])
