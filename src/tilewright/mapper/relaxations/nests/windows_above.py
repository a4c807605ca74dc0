"""What comes of a sliding window into the memory above the array."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.above import Tiles, fits_outer, is_held, longest_stay
from tilewright.mapper.relaxations.nests.sliding.returns import rarely, rarely_in_line
from tilewright.mapper.relaxations.nests.sliding.served import pairs_of
from tilewright.mapper.relaxations.nests.sliding.window_spans import chunks
from tilewright.mapper.windows.slides import gcd, pair_words

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.nests.nest import Nest


@called_leaf
def holds(
    ns: Nest,
    tiles: Tiles,
    j: int,
    run: int,
    other: int,
    whole: bool,
) -> bool:
    """Whether the tile of the window may span all that the j-th one stays through.

    But for two dimensions, if any. With `whole` also what that one spans.
    """
    order, place, carried, size = tiles.order, tiles.place, tiles.carried, tiles.size
    least, grown = tiles.least, tiles.grown
    own = carried if order[j] == len(ns.words) else order[j]
    row = 1 if order[j] == len(ns.words) else 0
    for d in range(len(least)):
        grown[d] = 1
        if d in (run, other) or not ns.relevant[ns.window, d]:
            continue
        if ns.owner[d] == own:
            grown[d] = size[row, d]
        elif whole:
            grown[d] = spans_least(ns, tiles, j, d)
    return fits_outer(ns, tiles, place[ns.window])


@leaf
def spans_least(ns: Nest, tiles: Tiles, j: int, d: int) -> int:
    """Return what the j-th tile spans of a dimension at least: what those inside stay through."""
    place, carried, size, least = tiles.place, tiles.carried, tiles.size, tiles.least
    own, most = ns.owner[d], least[d]
    if own >= 0 and place[own] > j:
        most = max(most, size[0, d])
    if own == carried and place[len(ns.words)] > j:
        most = max(most, size[1, d])
    return int(most)


@called_leaf
def spans_at_most(
    ns: Nest,
    tiles: Tiles,
    j: int,
    d: int,
) -> int:
    """Return how much of a dimension the j-th tile spans at most."""
    least, grown = tiles.least, tiles.grown
    for k in range(len(least)):
        grown[k] = 1
    return int(grows_to(ns, tiles, j, d))


@called_leaf
def grows_to(
    ns: Nest,
    tiles: Tiles,
    j: int,
    d: int,
) -> int:
    """Return how much of a dimension tiles up to the j-th span at most, and `grown` of others."""
    grown = tiles.grown
    low, high = 1, ns.bounds[d]
    while low < high:
        grown[d] = (low + high + 1) // 2
        if fits_outer(ns, tiles, j):
            low = grown[d]
        else:
            high = grown[d] - 1
    return int(low)


@called_leaf
def comes_in(
    ns: Nest,
    tiles: Tiles,
    e: int,
    whole: bool,
) -> int:
    """Return how often the outermost tile comes in if the window's goes on along an expression.

    Or 1 where that may go on in any case. What the outermost tile stays through then is part of the
    tile of the window, but for the dimensions of the expression; with `whole` also what it spans.
    """
    order, place, carried, least = tiles.order, tiles.place, tiles.carried, tiles.least
    spans, grown = tiles.spans, tiles.grown
    t = ns.window
    d, a, o, b = ns.terms[t, e]
    below = order[0] == len(ns.words)
    own = carried if below else order[0]
    mine = ns.owner[d] == own
    if o < 0 or place[t] == 0 or mine == (ns.owner[o] == own):
        return 1
    x, y, step = (d, o, a) if mine else (o, d, b)
    if below:
        if whole or holds(ns, tiles, 0, -1, -1, False):
            return 1
        if spans[0, y] * gcd(a, b) >= step and holds(ns, tiles, 0, x, -1, False):
            return 1
    elif holds(ns, tiles, 0, d, o, whole):
        return 1
    times = 1
    for k in range(len(least)):
        if ns.owner[k] != own or k in (d, o) or not ns.relevant[t, k]:
            continue
        for i in range(len(least)):
            grown[i] = 1
            if whole and ns.relevant[t, i] and ns.owner[i] != own and i not in (d, o):
                grown[i] = spans_least(ns, tiles, 0, i)
        most = grows_to(ns, tiles, place[t], k)
        times *= chunks(ns.bounds[k], most)
    return int(max(2, times))


@leaf
def kept_share(
    ns: Nest,
    tiles: Tiles,
    j: int,
    e: int,
    times: int,
) -> float:
    """Return the share of words at most that is there when the j-th tile changes.

    The tile of the window is at the end then of some other dimension that the j-th one spans, and
    begins anew. It finds again what a window makes its first tile share with its last one.
    """
    order, place, size = tiles.order, tiles.place, tiles.size
    t = ns.window
    share = 0.0
    for x in range(ns.terms.shape[1]):
        d, a, o, b = ns.terms[t, x]
        if x == e or o < 0:
            continue
        g = gcd(a, b)
        m = spans_least(ns, tiles, j, d)
        n = spans_least(ns, tiles, j, o)
        # what the j-th tile stays through is all part of that of the window
        first, second = ns.owner[d] == order[j], ns.owner[o] == order[j]
        whole = j > 0 or times == 1
        if first:
            m = size[0, d] if whole else 1
        if second:
            n = size[0, o] if whole else 1
        words = pair_words(m, n, a, b, False)
        if not first and spans_least(ns, tiles, place[t], d) < m:
            share = max(share, ((b * (ns.bounds[o] - 1) - a) // g + 1) / words)
        if not second and spans_least(ns, tiles, place[t], o) < n:
            share = max(share, ((a * (ns.bounds[d] - 1) - b) // g + 1) / words)
    return min(1.0, share)


@leaf
def passes_on(ns: Nest, tiles: Tiles, y: int) -> bool:
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
def goes_on(ns: Nest, tiles: Tiles, j: int, x: int, y: int) -> tuple[float, float]:
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
def begins_anew(ns: Nest, tiles: Tiles, j: int, e: int, run: int) -> float:
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


@leaf
def mean_of(share: float, first: float, second: float) -> float:
    """Return the pairs for a word where it has so many for a share of all pairs, and for others."""
    return 1.0 / (share / first + (1.0 - share) / second)


class Run(NamedTuple):
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


@called_leaf
def window_serves(
    ns: Nest,
    tiles: Tiles,
    times: int,
    closer: bool,
) -> float:
    """Return how many iterations of windows give the same word in the outer memory at most.

    It slides along one expression, or comes back; of the others it spans what fits.
    While a tile outside of that of the window stays, all that its loops inside span comes in. The
    window's tile slides on, or comes back, beyond that only if it spans what the other one stays
    through, but for the dimensions along which it does so.

    Tiles stay as shortly as cuts the bounds into so many chunks.

    Parameters
    ----------
    times : int
        How often the outermost tile comes in.
    closer : bool
        Whether it is counted that the tile slides along one expression only.
    """
    order, place, carried, size = tiles.order, tiles.place, tiles.carried, tiles.size
    spans = tiles.spans
    t, nt = ns.window, len(ns.words)
    served, most, every = 1.0, 1.0, 1.0
    for e in range(ns.terms.shape[1]):
        d, a, o, b = ns.terms[t, e]
        if o < 0:
            continue
        g = gcd(a, b)
        a, b = a // g, b // g
        far, wide, back, anew = ns.bounds[d], ns.bounds[o], 1.0, 1.0
        near, close, share = far, wide, 0.0
        run = Run(far, wide, 0.0, 1.0)
        for j in range(place[t] - 1, -1, -1):
            below = order[j] == nt
            own = carried if below else order[j]
            mine, others = ns.owner[d] == own, ns.owner[o] == own
            if mine == others:
                continue
            whole = part = False
            if j == 0:
                part = times >= comes_in(ns, tiles, e, False)
                whole = part and times >= comes_in(ns, tiles, e, True)
            elif not below:
                part = holds(ns, tiles, j, d, o, False)
                whole = part and holds(ns, tiles, j, d, o, True)
            if whole:
                continue
            if not below:
                if part:
                    share = max(share, kept_share(ns, tiles, j, e, times))
                for k in range(2):
                    x = d if k == 0 else o
                    if ns.owner[x] == own and is_held(ns, place, carried, x):
                        reach = spans[0, x]
                    elif ns.owner[x] == own:
                        reach = longest_stay(ns.bounds[x], size[0, x])
                    else:
                        reach = spans_at_most(ns, tiles, j, x)
                    if k == 0:
                        near = min(near, reach)
                    else:
                        close = min(close, reach)
                    if k == 0 and not part:
                        far = min(far, reach)
                    elif not part:
                        wide = min(wide, reach)
                continue
            # the carried tile stays through x and spans some of y
            x, y, step = (d, o, a) if mine else (o, d, b)
            if holds(ns, tiles, j, -1, -1, False):
                continue
            reach = longest_stay(ns.bounds[x], size[1, x])
            if passes_on(ns, tiles, y) and holds(ns, tiles, j, x, -1, False):
                if spans[0, y] >= step and (a > 1 or b > 1):
                    continue
                if spans[0, y] >= step:
                    other, less = goes_on(ns, tiles, j, x, y)
                    if mine:
                        run = Run(reach, spans[0, y], other, less)
                    else:
                        run = Run(spans[0, y], reach, other, less)
                    continue
                # with loops around those on the other dimension it comes back after some runs
                if reach < ns.bounds[x] and spans[0, y] == 1:
                    m = spans_at_most(ns, tiles, place[t], x)
                    slow = b if mine else a
                    runs = rarely_in_line(m, ns.bounds[y], step, slow, size[1, x])
                    back = max(back, runs)
                elif reach < ns.bounds[x]:
                    back = max(back, rarely(spans[0, y], step, False, 2.0))
                reach = ns.bounds[x]
            anew = begins_anew(ns, tiles, j, e, reach)
            if mine:
                far, wide = min(far, reach), min(wide, spans[0, y])
            else:
                far, wide = min(far, spans[0, y]), min(wide, reach)
        own_pairs = pairs_of(far, wide, ns.bounds[d], ns.bounds[o], False, False, a, b)
        near, close = min(near, far), min(close, wide)
        inside = pairs_of(near, close, ns.bounds[d], ns.bounds[o], False, False, a, b)
        around = mean_of(share, own_pairs, inside) * back
        near, close = min(run.far, far), min(run.wide, wide)
        inside = pairs_of(near, close, ns.bounds[d], ns.bounds[o], False, False, a, b)
        along = mean_of(run.share, own_pairs, inside) * back
        every *= ns.pairs[t, e]
        around = min(around, ns.pairs[t, e])
        # a step along another expression ends a run, which may leave words that the next one needs
        slid = min(around * anew, along * run.back)
        if not closer:
            served *= slid
            continue
        m = spans_at_most(ns, tiles, place[t], d)
        n = spans_at_most(ns, tiles, place[t], o)
        whole = pairs_of(m, n, ns.bounds[d], ns.bounds[o], False, False, a, b)
        stays = min(whole, min(around, along))
        served *= stays
        most = max(most, slid / stays)
    return min(served * most, every)
