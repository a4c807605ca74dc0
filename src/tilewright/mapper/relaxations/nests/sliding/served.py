"""How many iterations of a sliding window give the same word while a tile stays, or slides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.sliding.returns import (
    come_back,
    come_back_around,
    come_back_cut,
    inside_serves,
    rarely,
    rarely_in_line,
)
from tilewright.mapper.relaxations.nests.sliding.window_spans import (
    BACK,
    FAR,
    RARE,
    RUN,
    SPAN,
    Instances,
    chunks,
)
from tilewright.mapper.windows.slides import gcd, pair_words

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest

# what a tile does along an expression: it stays, slides along the first or the second term, comes
# back after each run along one of them, or after some
STAYS, SLIDES, RETURNS, RARELY = -1, 0, 2, 4
WAYS = 6
STEPS = 1, 1, 1, 0, 0, 0  # of loops of which nothing is known


@called_leaf
def fill_same(ns: Nest, windows: Ints, instances: Instances, same: Floats) -> None:
    """Fill how many iterations of windows give the same word of a tensor at most.

    Parameters
    ----------
    windows : array of (expressions, FIELDS)
        See `windows_of`.
    same : array of (2, tensors)
        Of words that come into an instance, and of those that all instances share.
    """
    for t in range(len(ns.words)):
        same[0, t] = same[1, t] = 1.0
        if t == ns.window:
            same[0, t] = same_words(ns, windows, instances, False)
            same[1, t] = same_words(ns, windows, instances, True)
        else:
            for e in range(ns.terms.shape[1]):
                same[0, t] *= ns.pairs[t, e]
                same[1, t] *= ns.pairs[t, e]


@called_leaf
def same_words(ns: Nest, windows: Ints, instances: Instances, together: bool) -> float:
    """Return how many iterations of a tensor's windows give the same word at most.

    The tile may slide along one expression, as far as that goes in each way; the other expressions
    stay as they are. Each extent is at its most.
    """
    t = ns.window
    most = 1.0
    for slid in range(-1, ns.terms.shape[1]):
        product = 1.0
        for e in range(ns.terms.shape[1]):
            if ns.terms[t, e, 2] < 0:
                continue
            span = windows[e, SPAN], windows[e, SPAN + 1]
            far, wide = windows[e, FAR], windows[e, FAR + 1]
            reach = far, wide
            own = served(ns, e, STAYS, span, reach, instances, together, STEPS)
            if e == slid:
                for k in range(2):
                    run = windows[e, RUN] if k == 0 else far
                    other = windows[e, RUN + 1] if k == 1 else wide
                    now = served(ns, e, SLIDES + k, span, (run, other), instances, together, STEPS)
                    own = max(own, now)
                    if windows[e, BACK + k] > 0:
                        now = served(ns, e, RETURNS + k, span, reach, instances, together, STEPS)
                        own = max(own, now)
                    if windows[e, RARE + k] > 0:
                        now = served(ns, e, RARELY + k, span, reach, instances, together, STEPS)
                        own = max(own, now)
            product *= own
        most = max(most, product)
    return most


@called_leaf
def served(
    ns: Nest,
    e: int,
    way: int,
    span: tuple[int, int],
    reach: tuple[int, int],
    instances: Instances,
    together: bool,
    steps: tuple[int, int, int, int, int, int],
) -> float:
    """Return how many iterations of an expression of two terms give the same word at most.

    Parameters
    ----------
    way : int
        What the tile does along the expression.
    span : tuple of int, int
        What it spans of both dimensions in an instance.
    reach : tuple of int, int
        How far loops on them reach.
    together : bool
        Whether words are counted that all instances share.
    steps : tuple of six int
        How long a run is at least, of those that a tile comes back after, or 1; from one iteration
        of an instance to the next, along both dimensions, where that is known to be more than 1;
        what an instance has of both in a row, where that is known; and how far loops reach that
        bring back a tile, see `cases.around_run`.
    """
    m, n = span
    far, wide = reach
    spread, active = instances
    long, leap, jump, row, column, near = steps
    d, a, o, b = ns.terms[ns.window, e]
    whole, other = ns.bounds[d], ns.bounds[o]
    if leap > 1 and not together:
        a, whole, m = a * leap, chunks(whole, leap), 1
        far = min(far, whole)
    if jump > 1 and not together:
        b, other, n = b * jump, chunks(other, jump), 1
        wide = min(wide, other)
    g = gcd(a, b)
    a, b = a // g, b // g
    # where there is an instance for each iteration, it has no loops
    loops = spread[d] < ns.bounds[d] and spread[o] < ns.bounds[o]
    # what is cut may stand apart
    cut, torn = active[d] > 1, active[o] > 1
    apart = together and (cut or torn)
    lines = n if way % 2 == 0 else m
    # a tile finds words again where iterations of the other dimension are as far apart as those of
    # a step of the run; after a run it does so wherever another loop advances
    overlaps = way >= RETURNS or lines > (a if way % 2 == 0 else b)
    parts = np.inf
    if apart:
        # what they share where tiles are parts of what instances have of one of the dimensions
        many, several = min(whole, m * active[d]), min(other, n * active[o])
        in_row = not torn or n == column or spread[o] == other
        if cut and m < row < whole and in_row:
            parts = parts_serve(m, several, row, active[d], whole, a, b)
        in_row = not cut or m == row or spread[d] == whole
        if torn and n < column < other and in_row:
            parts = parts_serve(n, many, column, active[o], other, b, a)
        m, n = many, several
        far, wide = min(whole, far * active[d]), min(other, wide * active[o])
        cut, torn = cut and spread[d] < whole, torn and spread[o] < other
    else:
        if spread[d] == ns.bounds[d]:
            m = far = 1
        if spread[o] == ns.bounds[o]:
            n = wide = 1
        # loops that reach no further than what an instance has in a row make no larger steps
        cut = cut and leap == 1 and (row >= whole or far > row)
        torn = torn and jump == 1 and (column >= other or wide > column)
    rows = in_a_row(whole, spread[d], row) if not apart and not cut and leap == 1 else whole
    columns = in_a_row(other, spread[o], column) if not apart and not torn and jump == 1 else other
    own = min(pairs_of(m, n, rows, columns, cut, torn, a, b), parts)
    if way == STAYS or not overlaps or (way >= RETURNS and not loops):
        return float(min(ns.pairs[ns.window, e], own))
    first = way % 2 == 0
    length, width = max(m, far), max(n, wide)
    along = pairs_of(length if first else m, n if first else width, whole, other, cut, torn, a, b)
    most = along
    if way >= RETURNS:
        most = pairs_of(length, width, whole, other, cut, torn, a, b)
    leaps = torn if first else cut
    if not first:
        m, n, far, wide, whole, other, a, b = n, m, wide, far, other, whole, b, a
    if way >= RARELY:
        if not apart and lines == 1 and a > 1 and not leaps:
            slid = rarely_in_line(m, other, a, b, long)
        else:
            tiles = 2.0 if apart else max(2.0, long / m)
            slid = rarely(lines, a, apart, tiles) * (along if apart else 1.0)
    elif apart:
        slid = most
    elif way < RETURNS:
        slid = slid_along(m, n, far, a, b)
    elif cut and torn and near <= 0:
        slid = come_back_cut(m, n, whole, other, a, b)
    elif leaps and near <= 0:
        slid = come_back_around(m, n, far, other, a, b)
    else:
        cut = (cut or torn) and near <= 0
        slid = come_back(m, n, whole if cut else far, wide, a, b, other, cut)
    # with a negative one, a run may take all: that of a loop of larger steps is longer
    inside = near > 0 or (near < 0 and not leaps and m + b * (n // a) < whole)
    if RETURNS <= way < RARELY and inside and not apart and n >= a:
        slid = min(slid, inside_serves(m, n - n % a, far if near > 0 else whole, a, b, abs(near)))
    return float(min(ns.pairs[ns.window, e], max(own, min(slid, most))))


@leaf
def in_a_row(whole: int, spread: int, row: int) -> int:
    """Return what every instance has of a dimension, or all of it where that differs."""
    return int(row) if spread > 1 and row < whole and whole % (spread * row) == 0 else int(whole)


@called_leaf
def pairs_of(
    m: int, n: int, whole: int, other: int, cut: bool, torn: bool, a: int, b: int
) -> float:
    """Return the pairs for a word of a*i + b*j at most, in tiles of m x n that cover all.

    All but the last ones are as large as can be: the words of a tile grow less than its sides.

    Parameters
    ----------
    whole, other : int
        Bounds of both dimensions.
    cut, torn : bool
        Whether the m and the n values may stand apart; if not, they stand in a row.
    a, b : int
        Without a common divisor.
    """
    if not cut and not torn:
        words = 0.0
        for i in range(2):
            p, rows = (m, whole // m) if i == 0 else (whole % m, 1)
            for j in range(2):
                q, columns = (n, other // n) if j == 0 else (other % n, 1)
                words += rows * columns * pair_words(p, q, a, b, False)
        return float(whole * other / words)
    return min(sum_of_sets(m, n, whole, other, torn, a), sum_of_sets(n, m, other, whole, cut, b))


@called_leaf
def parts_serve(m: int, n: int, row: int, count: int, whole: int, a: int, b: int) -> float:
    """Return the pairs for a word of all instances at most, for n values of j in a row.

    Each of them has a row of values of i, the rows one after the other, and takes parts of m in
    turn. Where that leaves none without work, the last parts are what is left of the rows.

    Parameters
    ----------
    row : int
        Values of i that an instance has.
    count : int
        How many instances there are.
    whole : int
        Bound of i.
    """
    words = 0.0
    times, rest = row // m, row % m if whole % (count * row) == 0 else 0
    for k in range(2 if rest > 0 else 1):
        own = m if k == 0 else rest
        between = row - own + 1
        if b * (n - 1) < a * between:
            each = count * pair_words(own, n, a, b, False)
        elif a == 1 and b == 1:
            each = count * (own + between - 1.0) - between + n
        else:
            return np.inf  # parts that lie apart may give fewer words than those in a row
        words += each * (times if k == 0 else 1)
    return count * (times * m + rest) * n / words


@called_leaf
def sum_of_sets(m: int, n: int, whole: int, other: int, torn: bool, a: int) -> float:
    """Return the pairs for a word of a*i + b*j at most, for m values of i, anywhere, and n of j.

    In each class of remainders of j, two sets add up to |A| + |B| - 1 words at least.
    """
    classes = max(1.0, n / chunks(other, a)) if torn else float(min(n, a))
    count = chunks(whole, m)
    return whole * n / (count * n + classes * (whole - count))


@leaf
def slid_along(m: int, n: int, run: int, a: int, b: int) -> float:
    """Return the pairs for a word at most where a tile of m x n slides along the first term.

    It shares words with the tile before.
    """
    kept = max(0, n - a) * min(1.0, max(0, 2 * m - b) / m)
    return run * n / (n + (run - 1) * (n - kept))
