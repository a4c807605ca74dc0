"""Runs of a sliding window in the memory above the array, while the carried tile stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.outer.fit import (
    OuterTiles,
    fits_outer,
    grows_to,
    holds,
    longest_stay,
    spans_at_most,
)
from tilewright.mapper.relaxations.nests.sliding.served import pairs_of
from tilewright.mapper.relaxations.nests.sliding.window_spans import chunks
from tilewright.mapper.windows.slides import gcd, pair_words

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.nests.nest import Nest


class WindowRun(NamedTuple):
    """Where the tile of the window slides while the carried one stays.

    Attributes
    ----------
    far, wide : int
        How far that reaches along both dimensions.
    share, back : float
        What `goes_on` returns.
    """

    far: int
    wide: int
    share: float
    back: float


@leaf
def mean_of(share: float, first: float, second: float) -> float:
    """Return the pairs for a word where it has so many for a share of all pairs, and for others."""
    return 1.0 / (share / first + (1.0 - share) / second)


@leaf
def passes_on(ns: Nest, tiles: OuterTiles, y: int) -> bool:
    """Whether loops that change the carried tile may let that of the window slide on.

    They stand between loops on a dimension that the carried tile stays through. Those relevant to
    the window end its run, but for the other dimension `y` of the same expression; of those that
    are irrelevant to it, there are some where its own tile does not stay through all.
    """
    bounds, size = ns.bounds, tiles.size
    passes = tiles.spans[1, y] < bounds[y]
    for d in range(len(bounds)):
        passes |= ns.owner[d] == ns.window and size[0, d] < bounds[d]
    return bool(passes)


@leaf
def met_again(m: int, n: int, run: int, a: int, b: int, step: int) -> float:
    """Return how many words the first tile of a run of a*i + b*j has in common with one before.

    That is the last tile of a run of as many values of i. Tiles span m of i and n of j, and two of
    them at least make the run. The runs are a step of j apart, or none.
    """
    words = a * (min(2 * m, run) - run - 1) + b * (n - 1 + step) + 1
    return max(0.0, min(words, pair_words(max(1, min(m, run // 2)), n, a, b, False)))


@called_leaf
def goes_on(ns: Nest, tiles: OuterTiles, j: int, x: int, y: int) -> tuple[float, float]:
    """Return which share of runs on a dimension x goes on, and what the others find of their tile.

    A run lasts as long as the carried tile stays through x; coefficients are 1. Let the tile of the
    window span m of x and n of y. Runs of one tile go on, and so do those of two tiles of m <= n
    after a step on y: they are back at their first tile. What a longer run finds depends on the
    loop that stands between, see `met_again`:

    - After a step on y that is 2 n - 1 words at most, and n - 1 words after one on a dimension
      irrelevant to the window.
    - After a step on x, which comes after two on y at least, it may be all of a tile.

    Runs of short last chunks may be short where the others are not, if what those span fits.

    Parameters
    ----------
    j : int
        The place of the carried tile; what it stays through is part of that of the window, but
        for x.

    Returns
    -------
    float
        Of all iterations, those at most in runs that go on.
    float
        Words of the others, if all came in anew, over those that do come in.
    """
    bounds, size, spans = ns.bounds, tiles.size, tiles.spans
    number = chunks(bounds[x], size[1, x])
    n = spans[0, y]
    steps = spans[1, y] < bounds[y]
    holds(ns, tiles, j, x, -1, False)
    m = grows_to(ns, tiles, tiles.place[ns.window], x)
    if number == 1:
        words = bounds[x] + n - 1.0
        return 0.0, words / (words - met_again(m, n, bounds[x], 1, 1, n if steps else 0))
    shortest = max(2 * n if steps else 0, m)
    if chunks(bounds[x], number) <= shortest:
        return 1.0, 1.0
    stay = size[1, x]
    long = 0
    fine = False
    while not fine:
        long += 1
        size[1, x] = chunks(bounds[x] - (number - long) * shortest, long)
        fine = long == number or fits_outer(ns, tiles, -1)
    size[1, x] = stay
    run = (bounds[x] - (number - long) * shortest) // long
    words = run + n - 1.0
    found = met_again(m, n, min(run, 2 * m), 1, 1, n if steps else 0)
    if steps:
        found = max(found, (found + min(m, run // 2) + n - 1) / 2)
    # long runs serve more than the mean of all
    reach = longest_stay(bounds[x], stay)
    mean = pairs_of(reach, n, bounds[x], bounds[y], False, False, 1, 1)
    more = max(1.0, reach * n / (reach + n - 1.0) / mean)
    return (number - long) * shortest / bounds[x], more * words / (words - found)


@called_leaf
def begins_anew(ns: Nest, tiles: OuterTiles, j: int, e: int, run: int) -> float:
    """Return words of runs along an expression, if all came in anew, over those that do come in.

    A run lasts as long as the carried tile stays. The next one finds what is left of its first
    tile, as far as tiles also share words of other expressions.

    Parameters
    ----------
    j : int
        The place of the carried tile.
    run : int
        How long a run is at least.
    """
    if run < 2:
        return 1.0
    d, a, o, b = ns.terms[ns.window, e]
    x, y = d, o
    if ns.owner[o] == tiles.carried:
        x, y, a, b = o, d, b, a
    g = gcd(a, b)
    a, b = a // g, b // g
    n, step = tiles.spans[0, y], 0
    if holds(ns, tiles, j, x, -1, False):
        m = grows_to(ns, tiles, tiles.place[ns.window], x)
    else:
        shares = False
        for other in range(ns.terms.shape[1]):
            p, q = ns.terms[ns.window, other, 0], ns.terms[ns.window, other, 2]
            if other != e and q >= 0:
                own = q if ns.owner[p] == tiles.carried else p
                shares |= tiles.spans[0, own] > 1
        if not shares:
            return 1.0
        m = spans_at_most(ns, tiles, tiles.place[ns.window], x)
        step = n if tiles.spans[1, y] < ns.bounds[y] else 0
    words = pair_words(run, n, a, b, False)
    return float(words / (words - met_again(m, n, run, a, b, step)))


@called_leaf
def steps_serve(ns: Nest, tiles: OuterTiles) -> float:
    """Return the pairs for a word at most where each step of two expressions is one of loops.

    That is where the carried tile stays through all of one dimension of each, and spans one
    iteration of the other; the tile of the window spans what it stays through, and is loaded for
    all else once. Of all orders of loops, and of loops in several parts, the fewest words come in
    with all steps of one expression inside of those of the other one.

    Returns
    -------
    float
        Infinite elsewhere.
    """
    t, nt = ns.window, len(ns.words)
    place, size, bounds = tiles.place, tiles.size, ns.bounds
    j = place[nt]
    found = 0
    first, second, steps, others = 1, 1, 1, 1
    for d in range(len(bounds)):
        if ns.owner[d] == t and size[0, d] < bounds[d]:
            return np.inf
    for e in range(ns.terms.shape[1]):
        d, a, o, b = ns.terms[t, e]
        if o < 0:
            continue
        x, y = (d, o) if ns.owner[d] == tiles.carried else (o, d)
        within = ns.owner[x] == tiles.carried and ns.owner[y] != tiles.carried
        if not within or a != b or size[1, x] < bounds[x] or tiles.spans[0, y] > 1:
            return np.inf
        first, second = bounds[x], first
        steps, others = bounds[y], steps
        found += 1
    if found != 2 or not 0 <= j < place[t] or not holds(ns, tiles, j, -1, -1, False):
        return np.inf
    words = np.inf
    for _ in range(2):
        run = first + steps - 1.0
        met = max(0.0, 2.0 * first - run)
        words = min(words, others * second * run - (others - 1) * met * (second - 1))
        first, second, steps, others = second, first, others, steps
    return float(first * second * steps * others / words)
