"""What words serve in an instance of which it is known what it has of a dimension in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf
from tilewright.mapper.relaxations.nests.sliding.case_numbers import LONG, NEAR, WAY
from tilewright.mapper.relaxations.nests.sliding.parts_come_back import parts_come_back
from tilewright.mapper.relaxations.nests.sliding.served import SLIDES
from tilewright.mapper.relaxations.nests.sliding.window_spans import chunks

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


@leaf
def rows_of(ns: Nest, e: int, k: int, spread: Ints, limits: Ints) -> int:
    """Return what instances have in a row of a dimension of an expression, or 0.

    It is known where an array cuts that dimension alone, and all instances work in every step, or
    one of them has one iteration less at the end: a shorter chunk on one of several axes would
    leave at least two of them idle.
    """
    d, o = ns.terms[ns.window, e, 2 * k], ns.terms[ns.window, e, 2 - 2 * k]
    several, row = spread[d], limits[3, d]
    one = ns.terms[ns.window, e, 1] == 1 and ns.terms[ns.window, e, 3] == 1
    if not one or several == 1 or spread[o] > 1 or idle_at_last(ns.bounds[d], several * row) > 1:
        return 0
    return int(row)


@leaf
def idle_at_last(bound: int, block: int) -> int:
    """Return how many iterations the last one of some blocks lacks."""
    return int(block - 1 - (bound - 1) % block)


@leaf
def rows_serve(ns: Nest, case: Ints, e: int, span: tuple[int, int], spread: Ints) -> float:
    """Return what words serve at most that are sent to rows of instances, if a tile comes back.

    Where an array cuts the dimension that brings it back, and moves tiles past what the run does,
    each instance has several tiles in a row. Two instances then need the words between their rows
    in different steps, with tiles of two iterations of the run at most: each has all words of its
    row. Elsewhere it is infinite.
    """
    first = case[WAY] % 2
    d, a = ns.terms[ns.window, e, 2 * first], ns.terms[ns.window, e, 2 * first + 1]
    o, b = ns.terms[ns.window, e, 2 - 2 * first], ns.terms[ns.window, e, 3 - 2 * first]
    m, n = span[first], span[1 - first]
    several, run, other = spread[o], ns.bounds[d], ns.bounds[o]
    beyond = (several - 1) * n + 1
    if a != 1 or b != 1 or spread[d] > 1 or m > 2 or beyond < max(min(run, other), m + 1):
        return np.inf
    return float(run * other / (other + several * (run - 1)))


@leaf
def short_rows_serve(
    ns: Nest,
    e: int,
    way: int,
    span: tuple[int, int],
    reach: tuple[int, int],
    spread: Ints,
    limits: Ints,
    together: bool,
) -> float:
    """Return what words serve at most in instances of which the rows are known.

    Each of them has the same row of iterations for every loop above the array, see `rows_of`, and
    the next one is behind the rows of all others. It needs all words of a row, or of each part of
    it as long as loops reach, and has none of them before.

    Of words that come in at a time, no more than a row are sent to one instance alone. What a tile
    slides by is less, and a whole tile comes in where a run begins. Elsewhere it is infinite.
    """
    least = np.inf
    for k in range(2):
        row = rows_of(ns, e, k, spread, limits)
        d, o = ns.terms[ns.window, e, 2 * k], ns.terms[ns.window, e, 2 - 2 * k]
        several, bound, other = spread[d], ns.bounds[d], ns.bounds[o]
        idle = idle_at_last(bound, several * max(row, 1))
        if row == 0 or other - 1 > (several - 1) * row - idle:
            continue
        m, n, rows = min(row, span[k]), span[1 - k], (bound + row - 1) // row
        long, wide = max(1, min(row, reach[k])), max(n, min(other, reach[1 - k]))
        if not together or m + n - 1 <= row:
            words = long + other - 1.0
            if long == row:
                # of all rows, one of them shorter
                words = (bound + rows * (other - 1.0)) / bound * row
            least = min(least, other * long / words)
        elif way == SLIDES + k:
            least = min(least, long * n / (long + row - m))
        elif way == SLIDES + 1 - k and n <= row and m < row:
            least = min(least, m * wide / (row - n + wide))
        elif way == SLIDES + 1 - k and n <= row:
            blocks = (rows + several - 1) // several
            words = bound + rows * (wide - n) + blocks * (n - 1)
            least = min(least, bound * wide / words)
    return least


@leaf
def known_runs_serve(
    ns: Nest, case: Ints, e: int, span: tuple[int, int], reach: int, spread: Ints, limits: Ints
) -> float:
    """Return what words serve at most in an instance where runs of a tile of that size are known.

    Loops that bring back the tile are known to be inside of another one, or of a row that an
    instance has, or it is known how long a run is. Elsewhere it is infinite, and where loops above
    an array cut the run's dimension, which may bring back a tile, too.
    """
    k = case[WAY] % 2
    d, o = ns.terms[ns.window, e, 2 * k], ns.terms[ns.window, e, 2 - 2 * k]
    if ns.terms[ns.window, e, 1] != 1 or ns.terms[ns.window, e, 3] != 1:
        return np.inf
    bound = ns.bounds[d]
    if spread[d] > 1:
        bound = rows_of(ns, e, k, spread, limits)
        if bound * spread[d] != ns.bounds[d]:
            return np.inf
    m, n, near, long = span[k], span[1 - k], case[NEAR], case[LONG]
    row = rows_of(ns, e, 1 - k, spread, limits)
    idle = idle_at_last(ns.bounds[o], spread[o] * max(row, 1))
    # how far the next row of an instance is behind, but for the tile: after one that an instance
    # lacks, it is two blocks behind
    behind, moved = (spread[o] - 1) * row, long - m
    met = behind - idle < moved <= behind + n or (idle > 0 and moved == 2 * spread[o] * row - idle)
    if row == 0 and spread[d] == 1 < spread[o] <= 3 and long == bound and moved > n * spread[o]:
        # the next row of one step is nearer. Longer rows bring it back once at most. After short
        # blocks it comes back once in all instances that work there, or in those that do not
        return float(2.0 * n * long / (2.0 * (long + n - 1) - (m + n - 1)))
    if spread[o] == 1:
        near = near if near > 0 or long == 0 else ns.bounds[o]
    elif row > 0 and long > 0 and not met and (long == bound or moved <= behind):
        near = min(near, row) if near > 0 else row
    else:
        long = 0
    if near <= 0 or (long == 0 and max(limits[2, d], limits[2, o]) > 1):
        return np.inf
    reach = max(reach, 1)
    if long == 0:
        return float(parts_come_back(m, n, (reach, 0), near, row if idle == 0 else 0))
    most = parts_come_back(m, n, (reach, long), near, row)
    any_run = parts_come_back(m, n, (min(reach, long), 0), near, row)
    if row > 1 and idle > 0:
        most = max(most, parts_come_back(m, n, (reach, long), near, row - 1))
        any_run = max(any_run, parts_come_back(m, n, (min(reach, long), 0), near, row - 1))
    # chunks of the run's dimension may be shorter at the end, no more of them than others
    share = min(1.0, float(chunks(bound, 2 * long - 1) * long) / bound)
    return float(max(most, 1.0 / (share / most + (1.0 - share) / any_run)))
