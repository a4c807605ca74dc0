"""What a tile of a sliding window may do, each with what fits the inner memory at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.relaxations.nests.sliding.case_serves import (
    HEAD,
    REACH,
    ROOM,
    SLID,
    WAY,
    case_serves,
)
from tilewright.mapper.relaxations.nests.sliding.served import RARELY, RETURNS, STAYS, WAYS
from tilewright.mapper.relaxations.nests.sliding.window_spans import (
    BACK,
    RARE,
    Instances,
    Nested,
    extent,
    fits,
    is_narrow,
    most_spanned,
    tile_words,
    within,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.inner_tiles import Inner
    from tilewright.mapper.relaxations.nests.nest import Nest

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
    nested = Nested(order, inner.sizes[c], place, grown, extents)
    count = cases_of(ns, nested, inner.kinds[c], inner.windows[c], cases[taken:])
    own[0], own[1] = taken, taken + count
    return cases, taken + count


@called_leaf
def tighten_same(
    ns: Nest, cases: Ints, own: Ints, instances: Instances, far: Ints, same: Floats
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
            most = max(most, case_serves(ns, cases[c], instances, far, k == 1, most))
        same[k, ns.window] = min(same[k, ns.window], most)


@part
def fill_served(
    ns: Nest,
    cases: Ints,
    own: Ints,
    instances: Instances,
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
            served_here = case_serves(ns, cases[c], instances, far, k == 1, 1.0)
            serves[c - own[0], k] = min(same[k, ns.window], served_here)
    return int(own[1] - own[0])


@called_leaf
def cases_of(
    ns: Nest,
    nested: Nested,
    kind: int,
    windows: Ints,
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
    size, place, grown = nested.size, nested.place, nested.grown
    p = place[ns.window]
    count = 0
    for e in range(-1, ns.terms.shape[1]):
        if e >= 0 and ns.terms[ns.window, e, 2] < 0:
            continue
        for d in range(len(size)):
            grown[d] = 1
        narrow = e >= 0 and is_narrow(ns, nested, e)
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
                    fill_case(ns, nested, e, way, level, cases[count])
                    count += 1
                if e < 0 or level < 0:
                    break
                if not passes(ns, nested, e, way, level, kind, narrow):
                    break
    for d in range(len(size)):
        grown[d] = 1
    return count


@called_leaf
def passes(
    ns: Nest,
    nested: Nested,
    e: int,
    way: int,
    level: int,
    kind: int,
    narrow: bool,
) -> bool:
    """Whether loops may reach beyond a tile; what that one stays through is added to `grown`."""
    order, size, place, grown = nested.order, nested.size, nested.place, nested.grown
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
    return fits(ns, nested, place[ns.window])


@called_leaf
def fill_case(
    ns: Nest,
    nested: Nested,
    e: int,
    way: int,
    level: int,
    case: Ints,
) -> None:
    """Fill a case in which loops reach as far as the tile of a level, or -1, spans or stays."""
    order, size, place, grown = nested.order, nested.size, nested.place, nested.grown
    extents = nested.extents
    t = ns.window
    p = place[t]
    case[SLID], case[WAY] = e, way if e >= 0 else STAYS
    for k in range(2):
        case[REACH + k] = 1
        if e >= 0:
            d = ns.terms[t, e, 2 * k]
            case[REACH + k] = ns.bounds[d]
            if level >= 0:
                case[REACH + k] = within(ns, nested, level, d)
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
                most = most_spanned(ns, nested, t, d)
                case[at + 1] = max(case[at], most)
