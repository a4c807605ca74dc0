"""What words serve where a tile comes back after each run, in parts of a dimension."""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.sliding.window_spans import chunks


@leaf
def words_of_part(m: int, n: int, runs: tuple[int, int], part: int) -> float:
    """Return the words that a part brings in at least for each iteration of the run's dimension.

    A run brings in all of its words, unless the last tile of the run before is its first one. With
    steps of n that is so where it is m + n long. A last step with fewer of the other dimension
    begins anew; it finds the last tile of the run before only where that has fewer of the run's
    dimension, and as many words. Where a part is two steps of n = m, a loop on the run's dimension
    brings back the tile, too.
    """
    whole, long = runs
    steps, last = part // n, part % n
    # runs that find nothing are best as long as they can be
    most = long if long > 0 else whole
    words = ((steps + min(last, 1)) * (most - 1.0) + part) / most
    again = long == m + n or (long == 0 and m + n <= whole)
    if part == 2 * n and m == n:
        run = long if long > 0 else m + 1
        words = min(words, (whole + part - 1.0) / whole if again else (2 * run - 1.0) / run)
    if steps > 0 and again:
        begun = m + n + last - 1.0 if last > 0 else 0.0
        words = min(words, (steps * n + m + n - 1.0 + begun) / (m + n))
    short = long == m + last or (long == 0 and m + last <= whole)
    if steps > 0 and n - m < last and short:
        words = min(words, (steps * (m + last + n - 1.0) + last) / (m + last))
    return words


@called_leaf
def parts_come_back(m: int, n: int, runs: tuple[int, int], near: int, row: int) -> float:
    """Return what words serve at most where runs come back in parts of the other dimension.

    See `returns.inside_serves`. Let the tile span m of the run's dimension and n of the other one,
    with coefficients of 1.

    Parameters
    ----------
    runs : tuple of int, int
        How far loops on the run's dimension reach, and how long a run is, or 0 if that is open.
    near : int
        How far loops on the other one reach; a part is no longer.
    row : int
        What an instance has of the other dimension in all parts, or 0 where it is not known.
    """
    if row == 0:
        return most_served(m, n, runs, near)
    words = np.inf
    for part in range(min(near, row), 0, -1):
        # the longest part; others serve no more than the best one of them
        own, rest = words_of_part(m, n, runs, part), row - part
        if rest > 0:
            own += rest / most_served(m, n, runs, min(part, rest))
        words = min(words, own)
    return row / words


@leaf
def most_served(m: int, n: int, runs: tuple[int, int], near: int) -> float:
    """Return what a part no longer than that serves at most."""
    best = 0.0
    for part in range(1, near + 1):
        best = max(best, part / words_of_part(m, n, runs, part))
    return best


@leaf
def runs_in_parts_serve(bound: int, reach: int, lines: int) -> float:
    """Return what words serve at most where runs come back, in parts of a dimension at most.

    Let the tile have one iteration of the run and n others: a step on these brings it back after
    a run of n + 1, and after no other. What such runs leave of the bound takes runs that bring in
    all of their words. The last chunk of the other dimension is shorter: all tiles are looked at as
    if they had the n that serves best. One of n = 1 may also come back with other loops.

    Parameters
    ----------
    reach : int
        How long a run is at most.
    lines : int
        The most others.
    """
    best = 1.0
    for n in range(1, lines + 1):
        # runs that come back, and others
        back = bound // (n + 1) if n < reach else 0
        rest = chunks(bound - back * (n + 1), reach) if n > 1 else 0
        best = max(best, bound / ((bound - back - rest) / n + rest))
    return best
