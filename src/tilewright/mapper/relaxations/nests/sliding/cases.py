"""What a tile of a sliding window may do, each with what fits the inner memory at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.relaxations.nests.sliding.case_numbers import (
    HEAD,
    LEVEL,
    LONG,
    NEAR,
    REACH,
    ROOM,
    SLID,
    WAY,
)
from tilewright.mapper.relaxations.nests.sliding.case_serves import case_serves
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
    within_grown,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.inner_tiles import Inner
    from tilewright.mapper.relaxations.nests.nest import Nest

MOST_WORDS = 1 << 40
MOST_PARTS = 8  # of what the tile spans of another expression, with a case for each


@leaf
def case_fields(ns: Nest) -> int:
    """Return how many numbers a case has."""
    return int(HEAD + 4 * ns.terms.shape[1] + len(ns.bounds))


@leaf
def most_cases(ns: Nest) -> int:
    """Return how many cases a tile has at most."""
    return int(MOST_PARTS * (1 + WAYS * ns.terms.shape[1] * (len(ns.words) + 1)))


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
    while taken + most_cases(ns) > len(cases):
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
    far : array of (5, dimensions)
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
    far : array of (5, dimensions)
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
    """Fill the cases of a tile, and return how many.

    Where loops along which it slides reach beyond tiles around it, what those stay through is part
    of it: that leaves less room to all else.

    Parameters
    ----------
    kind : int
        Whether loops on windows reach beyond the outermost tile, see `stay_limits.windows_of`.
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
                    count = fill_parts(ns, nested, e, way, level, cases, count)
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
        # where a tile changes with each step of a run, loops that bring back the tile have no
        # steps inside of it
        own = k == run or (k == other and (way >= RARELY or (returns and level == 0)))
        if own and not (returns and narrow and level == 0):
            continue
        if level > 0:
            grown[k] = size[k]
        elif kind != 1 and (kind != beyond or not returns or k == other):
            return False
    return fits(ns, nested, place[ns.window])


@called_leaf
def stays_around(ns: Nest, nested: Nested, e: int, way: int, level: int) -> int:
    """Return the tile that a run stays inside of, which is a loop's that brings back the tile.

    If that loop's dimension is all part of what another tile stays through, runs are inside of it:
    not beyond it, as far as loops of a level would reach. Two steps of the loop may lead on to
    another run.
    """
    size, place = nested.size, nested.place
    if RETURNS <= way < RARELY:
        other = ns.terms[ns.window, e, 2 - 2 * (way % 2)]
        own = ns.owner[other]
        inside = own >= 0 and max(level, 0) < place[own] < place[ns.window]
        most = most_spanned(ns, nested, ns.window, other)
        if inside and size[other] == ns.bounds[other] > 2 * most:
            return int(place[own])
    return level


@called_leaf
def around_run(ns: Nest, nested: Nested, e: int, way: int, level: int) -> int:
    """Return how far loops reach that bring back a tile, if that is known, or 0.

    It is positive where all loops are inside of a tile below the array. Those that the outermost
    tile stays through may be above the array. It is negative where only those are that bring it
    back after a run which does not take all: if all of the run's dimension is part of what another
    tile stays through, other loops on it are around those, and inside of that tile.
    """
    if RETURNS <= way < RARELY:
        run, other = (
            ns.terms[ns.window, e, 2 * (way % 2)],
            ns.terms[ns.window, e, 2 - 2 * (way % 2)],
        )
        own = ns.owner[run]
        if level > 0 or (level == 0 and ns.owner[other] != nested.order[0]):
            return int(within_grown(ns, nested, nested.place[ns.window], level, other))
        inside = own >= 0 and 0 < nested.place[own] < nested.place[ns.window]
        if inside and nested.size[run] == ns.bounds[run]:
            last = nested.place[ns.window]
            return -int(within_grown(ns, nested, last, nested.place[own], other))
    return 0


@called_leaf
def fill_parts(
    ns: Nest, nested: Nested, e: int, way: int, level: int, cases: Ints, count: int
) -> int:
    """Fill a case for each part of what the tile spans of another expression; return how many.

    What a tile around it spans of one expression leaves less room in that for another one, and so
    for how far loops reach inside of it.
    """
    order, grown, t = nested.order, nested.grown, ns.window
    last = nested.place[t] - 1
    split = at = -1
    before = most = 1
    first = e
    for x in range(ns.terms.shape[1]):
        if first < 0 <= ns.terms[t, x, 2]:
            first = x
    # first of all by the tile that loops reach to, else by the one that is next
    for i in ((level if level >= 0 else last), last):
        for x in range(ns.terms.shape[1]):
            for k in range(2):
                d = ns.terms[t, x, 2 * k]
                other = i >= 0 and x != first and ns.terms[t, x, 2] >= 0
                if other and split < 0 and ns.relevant[order[i], d] and ns.owner[d] >= 0:
                    before, most = grown[d], most_spanned(ns, nested, t, d)
                    if most > before:
                        split, at = d, HEAD + 4 * x + 2 * k
    if split < 0:
        before = most = 1
    low = before
    while low <= most:
        high = most if split < 0 else low + (low - before) // 2
        if low - before >= MOST_PARTS:
            high = most
        if split >= 0:
            grown[split] = low
        fill_case(ns, nested, e, way, level, cases[count])
        if split >= 0:
            cases[count, at + 1] = min(cases[count, at + 1], high)
            grown[split] = before
        count += 1
        low = high + 1
    return count


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
    t = ns.window
    case[SLID], case[WAY], case[LEVEL] = e, way if e >= 0 else STAYS, level
    copy(nested.grown, case[HEAD + 4 * ns.terms.shape[1] :])
    limit_case(ns, nested, case)
    for x in range(ns.terms.shape[1]):
        for k in range(2):
            if ns.terms[t, x, 2] >= 0:
                at = HEAD + 4 * x + 2 * k
                d = ns.terms[t, x, 2 * k]
                own = extent(ns, nested.size, nested.place, nested.place[t], d)
                case[at] = max(own, nested.grown[d])
                case[at + 1] = max(case[at], most_spanned(ns, nested, t, d))


@called_leaf
def limit_case(ns: Nest, nested: Nested, case: Ints) -> None:
    """Fill how far loops reach, and the words that fit, where tiles are `grown`."""
    order, size, place, grown = nested.order, nested.size, nested.place, nested.grown
    extents = nested.extents
    e, way, level = case[SLID], case[WAY], case[LEVEL]
    t = ns.window
    p = place[t]
    for k in range(2):
        case[REACH + k] = 1
        if e >= 0:
            d = ns.terms[t, e, 2 * k]
            case[REACH + k] = ns.bounds[d]
            around = stays_around(ns, nested, e, way, level) if way % 2 == k else level
            if around >= 0:
                case[REACH + k] = within_grown(ns, nested, p, around, d)
    case[NEAR], case[LONG] = around_run(ns, nested, e, way, level), 0
    if RETURNS <= way < RARELY:
        run, other = ns.terms[t, e, 2 * (way % 2)], ns.terms[t, e, 2 - 2 * (way % 2)]
        own = ns.owner[run]
        # a tile that stays through the run changes with each loop that brings back the window's
        if own >= 0 and max(level, 0) < place[own] < p and ns.relevant[own, other]:
            case[LONG] = size[run]
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
    room = min(ns.inner_share[t], ns.inner_room[ns.inner_group[t]] - others)
    case[ROOM] = int(min(float(MOST_WORDS), room / single))
