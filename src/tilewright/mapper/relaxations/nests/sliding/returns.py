"""What a tile of a sliding window serves at most that comes back after each run, or after some."""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.windows.slides import pair_words


@called_leaf
def rarely(n: int, a: int, together: bool, tiles: float) -> float:
    """Return the pairs for a word at most where a tile comes back after every few runs.

    A run along the first term is two tiles long at least, and so many runs begin with a tile that
    is not there for one that does. All instances together may share most words of a run with its
    first tiles: this is times what they serve otherwise.

    Parameters
    ----------
    n : int
        What the tile spans of the second dimension in an instance.
    tiles : float
        How many of them a run is long at least.
    """
    runs = max(2.0, 1.0 + a / n)
    if together and n > 1:
        return runs / (runs - 1)
    served = tiles * runs / (tiles * runs - 1)
    return float(served if together else served * max(1.0, n / a))


@leaf
def rarely_in_line(m: int, other: int, a: int, b: int, long: int) -> float:
    """Return what `rarely` does where a tile spans 1 of the second dimension, in whose steps.

    A loop on the first dimension moves the tile by as much as it spans, where that on the second
    one begins anew: what both tiles share is no longer than the second loop is.

    Parameters
    ----------
    m : int
        What the tile spans at most of the first dimension.
    other : int
        Bound of the second one.
    long : int
        How long a run is at least.
    """
    shared = min(m, b * (other - 1) // a)
    words = (1 + a) * max(long, 2 * shared)
    return float(words / (words - shared)) if shared > 0 else 1.0


@called_leaf
def come_back(
    m: int, n: int, run: int, around: int, a: int, b: int, other: int, cut: bool
) -> float:
    """Return the pairs for a word at most where a tile slides along the first term and comes back.

    The tile is the same when the loop on the other term has moved it by b n, as much as the run,
    which is x = m + b n / a long then. The run brings in what it spans but for that tile. If it
    makes leaps, it has fewer iterations, and brings in no fewer words as long as m is b or more.
    Where n makes no whole step of the run, only a loop around both may bring it back: `rarely`.

    Parameters
    ----------
    run, around : int
        How far loops on both dimensions reach.
    other : int
        Bound of the second one.
    cut : bool
        Whether an array cuts the first dimension, so that the run makes leaps.
    """
    lines = n
    n -= n % a
    if run < 1 + b:
        return 1.0
    if n == 0 or around < 2 * a:
        # only where another loop on the first dimension advances
        return rarely_in_line(m, other, a, b, 1) if lines == 1 else rarely(lines, a, False, 2.0)
    if a > 1 and b > 1:
        return np.inf
    if b == 1:
        return come_back_in_line(m, n, run, other, a)
    if cut and m < b:
        return float(n + 1)
    return min(run_serves(m, n, run, a, b), run / b)


@leaf
def inside_serves(m: int, n: int, whole: int, a: int, b: int, near: int) -> float:
    """Return what `come_back` does where loops on the second dimension reach so far only.

    Each time when they begin anew, so does a run. Unless the tile comes back there, too, see
    `come_back_in_line`.

    Parameters
    ----------
    whole, near : int
        How far loops on both dimensions reach.
    """
    n = min(n, max((whole - 1) // b * a, a))
    moved = b * n // a
    m = min(m, moved, whole)
    long = min(m + moved, whole)
    words = pair_words(long, n, a, b, False)
    new = words - pair_words(m, n, a, b, False)
    times = max(1.0, near / n)
    most = times * n * long / (words + (times - 1) * new)
    step = min(n, a * m // b, near - 1) // a * a  # of which there are two, the last one shorter
    if step > 0:
        most = max(most, 2 * step * whole / pair_words(whole, 2 * step, a, b, False))
    return most


@leaf
def come_back_in_line(m: int, n: int, run: int, other: int, a: int) -> float:
    """Return what `come_back` does where the coefficient of the second dimension is 1.

    A run has at least two tiles, so that it moves the tile by m at least, and by n / a in all. Only
    a tile of the same size comes back: where n does not divide the bound, or where other loops cut
    that into several parts, two runs begin anew, at least, one of them perhaps with a tile of one
    line. Tiles of m = n / a may also come back when another loop on the first dimension advances,
    if the second one takes two steps of n inside.
    """
    n //= a
    twice = 2 * a * min(m, n, other // (2 * a))
    most = twice * run / (twice + a * (run - 1))
    size = n
    while size > 0 and other % (a * size) > 0 and other >= 2 * a * size:
        size -= 1
    for begun in range(1, 3):
        step = size if begun == 1 else n
        long = min(run, min(m, step) + step)
        if long > 0:
            most = max(most, other * long / (other + (a + begun - 1) * (long - 1)))
    return most


@leaf
def run_serves(m: int, n: int, run: int, a: int, b: int) -> float:
    """Return the pairs for a word at most of runs that a loop brings back to their first tile.

    Its steps are of n, or less where that is more than the run may move the tile.
    """
    n = min(n, (run - 1) // b * a)
    if m < b:
        return (m + b * n / a) * n / (n * (2 * b - m) - a * (b - m))
    return m / b + n / a


@leaf
def come_back_around(m: int, n: int, run: int, around: int, a: int, b: int) -> float:
    """Return what `come_back` does where an array cuts the second dimension alone.

    Then a loop on it may make larger steps, with a run as much longer. That is of use only where
    tiles are shorter than a step of the second term.
    """
    if a > 1:
        return come_back_cut(m, n, run, around, a, b)
    if run < 1 + b:
        return 1.0
    own = run_serves(m, n, run, a, b)
    return max(own, float(n)) if m < b else own


@called_leaf
def come_back_cut(m: int, n: int, run: int, around: int, a: int, b: int) -> float:
    """Return what `come_back` does where an array cuts the loops, so that a run makes leaps.

    Where a term makes steps, the values of the other one need the same remainders.

    Parameters
    ----------
    run, around : int
        Bounds of both dimensions.
    """
    if a == 1 and b == 1:
        return float(m + n)
    if b == 1 and around < 2 * a:
        return rarely(n, a, False, 2.0)
    if a == 1 and run < 2 * b:
        return run / b
    return np.inf
