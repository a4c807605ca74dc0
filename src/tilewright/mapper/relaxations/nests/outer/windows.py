"""What comes of a sliding window into the memory above the array."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.outer.fit import (
    OuterTiles,
    grows_to,
    holds,
    is_held,
    longest_stay,
    spans_at_most,
    spans_least,
)
from tilewright.mapper.relaxations.nests.outer.runs import (
    WindowRun,
    begins_anew,
    goes_on,
    mean_of,
    passes_on,
    steps_serve,
)
from tilewright.mapper.relaxations.nests.sliding.returns import rarely, rarely_in_line
from tilewright.mapper.relaxations.nests.sliding.served import pairs_of
from tilewright.mapper.relaxations.nests.sliding.window_spans import chunks
from tilewright.mapper.windows.slides import gcd, pair_words

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.nests.nest import Nest


@called_leaf
def comes_in(
    ns: Nest,
    tiles: OuterTiles,
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
    tiles: OuterTiles,
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


@called_leaf
def window_serves(
    ns: Nest,
    tiles: OuterTiles,
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
        run = WindowRun(far, wide, 0.0, 1.0)
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
                if spans[0, y] >= step and j == 0 and times > 1:
                    continue  # it may stay for less
                if spans[0, y] >= step:
                    other, less = goes_on(ns, tiles, j, x, y)
                    if mine:
                        run = WindowRun(reach, spans[0, y], other, less)
                    else:
                        run = WindowRun(spans[0, y], reach, other, less)
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
            shortest = reach if j > 0 else chunks(ns.bounds[x], times)
            anew = begins_anew(ns, tiles, j, e, shortest)
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
        own_pairs = pairs_of(m, n, ns.bounds[d], ns.bounds[o], False, False, a, b)
        stays = min(own_pairs, around, along)
        served *= stays
        most = max(most, slid / stays)
    if place[nt] > 0 or times == 1:
        every = min(every, steps_serve(ns, tiles))
    return min(served * most, every)
