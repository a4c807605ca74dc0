"""What a tile of a sliding window may do, each with what fits the inner memory at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.relaxations.nests.served import RARELY, RETURNS, SLIDES, STAYS, WAYS, served
from tilewright.mapper.relaxations.nests.window_spans import (
    BACK,
    RARE,
    extent,
    fits,
    is_narrow,
    most_spanned,
    tile_words,
    within,
)
from tilewright.mapper.windows.slides import gcd, pair_words

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.inner_tiles import Inner
    from tilewright.mapper.relaxations.nests.nest import Nest

# of a case: the expression along which the tile does not stay, what it does there, how far loops on
# both dimensions reach, the words that fit; then the least and the most extents of both dimensions
# of each expression
SLID, WAY, REACH, ROOM, HEAD = 0, 1, 2, 4, 5
MOST_WORDS = 1 << 40


@leaf
def case_fields(ns: Nest) -> int:
    """Return how many numbers a case has."""
    return int(HEAD + 4 * ns.terms.shape[1])


@part
def known_cases(
    ns: Nest, inner: Inner, c: int, own: Ints, cases: Ints, taken: int
) -> tuple[Ints, int]:
    """Return the cases that are known, with those of a tile.

    Parameters
    ----------
    inner : Inner
    c : int
        The tile.
    own : array of 2
        Where its cases begin and end, filled here unless the end is known.
    cases : array of (cases, `case_fields`)
    taken : int
        How many are in use.

    Returns
    -------
    cases, taken
        As they are now.
    """
    if own[1] > 0:
        return cases, taken
    most = 1 + WAYS * ns.terms.shape[1] * (len(ns.words) + 1)
    while taken + most > len(cases):
        cases = np.concatenate((cases, np.empty_like(cases)))
    order = ns.inner_orders[inner.which[c]]
    place = np.full(len(ns.words), -1, np.int64)
    for i in range(len(order)):
        place[order[i]] = i
    grown, extents = np.ones(len(ns.bounds), np.int64), np.empty(len(ns.bounds), np.int64)
    count = cases_of(
        ns,
        order,
        inner.sizes[c],
        place,
        inner.kinds[c],
        inner.windows[c],
        grown,
        extents,
        cases[taken:],
    )
    own[0], own[1] = taken, taken + count
    return cases, taken + count


@called_leaf
def tighten_same(
    ns: Nest, cases: Ints, own: Ints, spread: Ints, active: Ints, far: Ints, same: Floats
) -> None:
    """Lower what is served of the window, see `served.fill_same`, to that of the best case.

    Parameters
    ----------
    far : array of (3, dimensions)
        See `case_serves`.
    """
    for k in range(2):
        most = 1.0
        for c in range(own[0], own[1]):
            most = max(most, case_serves(ns, cases[c], spread, active, far, k == 1, most))
        same[k, ns.window] = min(same[k, ns.window], most)


@part
def fill_served(
    ns: Nest,
    cases: Ints,
    own: Ints,
    spread: Ints,
    active: Ints,
    far: Ints,
    same: Floats,
    serves: Floats,
) -> int:
    """Fill what cases serve of the window in an instance, and of what all share; return how many.

    A mapping is one case: the loops along which the tile slides are the same for each instance and
    for all together.

    Parameters
    ----------
    far : array of (3, dimensions)
        See `case_serves`.
    same : array of (2, tensors)
        What is served at most in any case.
    serves : array of (cases, 2)
    """
    for c in range(own[0], own[1]):
        for k in range(2):
            served_here = case_serves(ns, cases[c], spread, active, far, k == 1, 1.0)
            serves[c - own[0], k] = min(same[k, ns.window], served_here)
    return int(own[1] - own[0])


@called_leaf
def cases_of(
    ns: Nest,
    order: Ints,
    size: Ints,
    place: Ints,
    kind: int,
    windows: Ints,
    grown: Ints,
    extents: Ints,
    cases: Ints,
) -> int:
    """Fill the cases of a tile that lies inside another one, and return how many.

    Where loops along which it slides reach beyond tiles around it, what those stay through is part
    of it: that leaves less room to all else.

    Parameters
    ----------
    kind : int
        Whether loops on windows reach beyond the outermost tile, see `window_spans.windows_of`.
    windows : array of (expressions, FIELDS)
    """
    p = place[ns.window]
    count = 0
    for e in range(-1, ns.terms.shape[1]):
        if e >= 0 and ns.terms[ns.window, e, 2] < 0:
            continue
        for d in range(len(size)):
            grown[d] = 1
        narrow = e >= 0 and is_narrow(ns, order, size, place, e, grown, extents)
        for way in range(WAYS):
            if e < 0 and way > 0:
                break
            if RETURNS <= way < RARELY and windows[e, BACK + way - RETURNS] == 0:
                continue
            if way >= RARELY and windows[e, RARE + way - RARELY] == 0:
                continue
            for d in range(len(size)):
                grown[d] = 1
            for level in range(p - 1, -2, -1):
                if way < RARELY or level < 0:
                    fill_case(ns, order, size, place, e, way, level, grown, extents, cases[count])
                    count += 1
                if e < 0 or level < 0:
                    break
                if not passes(ns, order, size, place, e, way, level, kind, narrow, grown, extents):
                    break
    for d in range(len(size)):
        grown[d] = 1
    return count


@called_leaf
def passes(
    ns: Nest,
    order: Ints,
    size: Ints,
    place: Ints,
    e: int,
    way: int,
    level: int,
    kind: int,
    narrow: bool,
    grown: Ints,
    extents: Ints,
) -> bool:
    """Whether loops may reach beyond a tile; what that one stays through is added to `grown`."""
    first = 2 * (way % 2)
    run, other = ns.terms[ns.window, e, first], ns.terms[ns.window, e, 2 - first]
    returns = way >= RETURNS
    beyond = 2 + e + (ns.terms.shape[1] if way >= RARELY else 0)
    for k in range(len(size)):
        if ns.owner[k] != order[level] or ns.bounds[k] == 1:
            continue
        own = k == run or (returns and k == other)
        if own and not (returns and narrow and level == 0):
            continue
        if level > 0:
            grown[k] = size[k]
        elif kind != 1 and (kind != beyond or not returns or k == other):
            return False
    return fits(ns, order, size, place, place[ns.window], grown, extents)


@called_leaf
def fill_case(
    ns: Nest,
    order: Ints,
    size: Ints,
    place: Ints,
    e: int,
    way: int,
    level: int,
    grown: Ints,
    extents: Ints,
    case: Ints,
) -> None:
    """Fill a case in which loops reach as far as the tile of a level, or -1, spans or stays."""
    t = ns.window
    p = place[t]
    case[SLID], case[WAY] = e, way if e >= 0 else STAYS
    for k in range(2):
        case[REACH + k] = 1
        if e >= 0:
            d = ns.terms[t, e, 2 * k]
            case[REACH + k] = ns.bounds[d]
            if level >= 0:
                case[REACH + k] = within(ns, order, size, place, level, d, grown, extents)
    others = single = 0.0
    for i in range(len(order)):
        for d in range(len(size)):
            extents[d] = extent(ns, size, place, i, d)
            if i <= p:
                extents[d] = max(extents[d], grown[d])
        if i != p and ns.inner_group[order[i]] != ns.inner_group[t]:
            continue
        if i != p:
            others += ns.inner_bits[order[i]] * tile_words(ns, order[i], extents)
            continue
        single = ns.inner_bits[t]
        for x in range(ns.terms.shape[1]):
            if ns.terms[t, x, 2] < 0 <= ns.terms[t, x, 0]:
                single *= extents[ns.terms[t, x, 0]]
            for k in range(2):
                if ns.terms[t, x, 2] >= 0:
                    case[HEAD + 4 * x + 2 * k] = extents[ns.terms[t, x, 2 * k]]
    room = min(ns.inner_share[t], ns.inner_room[ns.inner_group[t]] - others)
    case[ROOM] = int(min(float(MOST_WORDS), room / single))
    for x in range(ns.terms.shape[1]):
        for k in range(2):
            if ns.terms[t, x, 2] >= 0:
                at = HEAD + 4 * x + 2 * k
                d = ns.terms[t, x, 2 * k]
                most = most_spanned(ns, order, size, place, t, d, grown, extents)
                case[at + 1] = max(case[at], most)


@called_leaf
def case_serves(
    ns: Nest,
    case: Ints,
    spread: Ints,
    active: Ints,
    far: Ints,
    together: bool,
    known: float,
) -> float:
    """Return how many iterations of windows give the same word at most, or what is known.

    What the tile spans of two expressions together is no more words than fit.

    Parameters
    ----------
    far : array of (3, dimensions)
        How far loops along which tiles slide reach at most, and at least; and the distance from one
        iteration of an instance to the next, or 1 where it is not known.
    """
    t = ns.window
    slid, other = case[SLID], -1
    rest, words = 1.0, 1.0  # of the expressions but these two
    for e in range(ns.terms.shape[1]):
        if ns.terms[t, e, 2] < 0 or e == slid:
            continue
        if slid < 0:
            slid = e
        elif other < 0:
            other = e
        else:
            rest *= span_serves(ns, case, e, spread, active, far, together)
            words *= least_words(ns, case, e)
    beside, taken = 1.0, 1.0
    if other >= 0:
        beside = span_serves(ns, case, other, spread, active, far, together)
        taken = least_words(ns, case, other)
    _, a, _, b = ns.terms[t, slid]
    at = HEAD + 4 * slid
    first, last = case[at], most_in(ns, case, slid, 0, spread)
    second, end = case[at + 2], most_in(ns, case, slid, 1, spread)
    way = case[WAY]
    best = known
    whole = slid_serves(ns, case, slid, last, end, first, second, spread, active, far, together)
    if whole * beside * rest <= best:
        return best
    for m in range(first, (first if way == SLIDES else last) + 1):
        for n in range(second, (second if way == SLIDES + 1 else end) + 1):
            own = pair_words(m, n, a, b, False) * words
            if own * taken > case[ROOM]:
                break
            # the extent along which it slides matters little
            wide = last if way == SLIDES else m
            high = end if way == SLIDES + 1 else n
            served_here = rest * slid_serves(
                ns, case, slid, wide, high, m, n, spread, active, far, together
            )
            if served_here * beside <= best:
                continue
            if other >= 0:
                left = int(case[ROOM] / own)
                served_here *= room_serves(ns, case, other, left, spread, active, far, together)
            best = max(best, served_here)
    return best


@called_leaf
def most_in(ns: Nest, case: Ints, e: int, k: int, spread: Ints) -> int:
    """Return what the tile in an instance spans at most of a dimension of an expression."""
    d = ns.terms[ns.window, e, 2 * k]
    at = HEAD + 4 * e + 2 * k
    most = case[at + 1]
    if spread[d] > 1:
        most = min(most, (ns.bounds[d] - 1) // (spread[d] - 1))
    return int(max(case[at], most))


@called_leaf
def least_words(ns: Nest, case: Ints, e: int) -> float:
    """Return the words of an expression that the tile spans at least."""
    _, a, _, b = ns.terms[ns.window, e]
    return pair_words(case[HEAD + 4 * e], case[HEAD + 4 * e + 2], a, b, False)


@called_leaf
def span_serves(
    ns: Nest, case: Ints, e: int, spread: Ints, active: Ints, far: Ints, together: bool
) -> float:
    """Return what an expression serves at most along which the tile stays."""
    m, n = most_in(ns, case, e, 0, spread), most_in(ns, case, e, 1, spread)
    leap, jump = far[2, ns.terms[ns.window, e, 0]], far[2, ns.terms[ns.window, e, 2]]
    return served(ns, e, STAYS, m, n, 1, 1, spread, active, together, 1, leap, jump)


@called_leaf
def room_serves(
    ns: Nest,
    case: Ints,
    e: int,
    room: int,
    spread: Ints,
    active: Ints,
    far: Ints,
    together: bool,
) -> float:
    """Return what an expression serves at most along which the tile stays, of so many words."""
    _, a, _, b = ns.terms[ns.window, e]
    g = gcd(a, b)
    a, b = a // g, b // g
    at = HEAD + 4 * e
    last, end = most_in(ns, case, e, 0, spread), most_in(ns, case, e, 1, spread)
    best = 1.0
    leap, jump = far[2, ns.terms[ns.window, e, 0]], far[2, ns.terms[ns.window, e, 2]]
    for n in range(case[at + 2], end + 1):
        m = room // n
        if n > a and m >= b:
            m = (room - b * (n - a)) // a
        if m < case[at]:
            break
        m = min(m, last)
        now = served(ns, e, STAYS, m, n, 1, 1, spread, active, together, 1, leap, jump)
        best = max(best, now)
    return best


@called_leaf
def slid_serves(
    ns: Nest,
    case: Ints,
    e: int,
    m: int,
    n: int,
    first: int,
    second: int,
    spread: Ints,
    active: Ints,
    limits: Ints,
    together: bool,
) -> float:
    """Return what the expression serves along which the tile does not stay.

    Where an array cuts a dimension, loops above it move the tile by more than what all instances
    have. A tile of at least first x second that shares no word then with the one before slides
    through the part of one instance only.
    """
    far = min(case[REACH], limits[0, ns.terms[ns.window, e, 0]])
    wide = min(case[REACH + 1], limits[0, ns.terms[ns.window, e, 2]])
    long = limits[1, ns.terms[ns.window, e, 2 * (case[WAY] % 2)]]
    if not together and case[WAY] < RETURNS:
        d, a, o, b = ns.terms[ns.window, e]
        if spread[d] > 1 and a * (first * (spread[d] - 2) + 2) > b * (n - 1):
            far = min(far, (ns.bounds[d] - 1) // (spread[d] - 1))
        if spread[o] > 1 and b * (second * (spread[o] - 2) + 2) > a * (m - 1):
            wide = min(wide, (ns.bounds[o] - 1) // (spread[o] - 1))
    leap, jump = limits[2, ns.terms[ns.window, e, 0]], limits[2, ns.terms[ns.window, e, 2]]
    return served(ns, e, case[WAY], m, n, far, wide, spread, active, together, long, leap, jump)
