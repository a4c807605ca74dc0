"""What the tiles of the memory above the array cost at least around inner tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.relaxations.nests.above import fits_outer, is_held, window_serves
from tilewright.mapper.relaxations.nests.inner_tiles import (
    stay_limit,
    stay_limit_together,
    value_of,
)
from tilewright.mapper.relaxations.nests.window_spans import chunks

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


@leaf
def instances_of(bound: int, stay: int, instances: int) -> float:
    """Return how many instances take part at least in all stays that a bound is cut into."""
    return float(instances * (bound // stay) + (1 if bound % stay else 0))


@called_leaf
def add_outer(
    ns: Nest,
    order: Ints,
    carried: int,
    size: Ints,
    spread: Ints,
    served: float,
    begin: Floats,
    cost: Floats,
) -> None:
    """Fill the cost with what comes into the outer memory, and the carried tile below the array.

    So many iterations of windows give the same word at most.
    """
    nt = len(ns.words)
    for r in range(len(cost)):
        cost[r] = begin[r]
    for i in range(len(order)):
        t = order[i]
        if t < 0:
            break
        count = got = 1.0
        whose = carried if t == nt else t
        for d in range(len(spread)):
            if ns.owner[d] == whose:
                stay = size[1 if t == nt else 0, d]
                count *= chunks(ns.bounds[d], stay)
                got *= instances_of(ns.bounds[d], stay, spread[d])
        if t == nt and not ns.unites[carried]:
            count = got
        for r in range(len(cost)):
            if t == nt:
                each = ns.sent[r, whose] * count + ns.received[r, whose] * got
            else:
                each = ns.price[r, whose] * count
            words = ns.words[whose]
            if t == ns.window:
                words = max(words, ns.points[t] / served)
            cost[r] += each * words


@leaf
def aligned(stay: int, low: int, high: int) -> int:
    """Return the least multiple of a number between two that is no less than a stay."""
    times = chunks(stay, high)
    return max(stay, times * low)


@called_leaf
def unaligned_steps(bound: int, stay: int, extent: int, low: int, high: int) -> int:
    """Return the fewest steps of a bound in chunks of a stay, which all elements do not divide.

    Each chunk ends with a part of what all elements take together, which is between two numbers,
    and takes no less than the extent of one element, or the part.
    """
    count = chunks(bound, stay)
    times = chunks(stay, high) - 1
    left = bound - count * times * high
    part = max(low - 1, 1)
    return int(count * times * extent + left // part * min(extent, part) + min(left % part, extent))


@called_leaf
def next_stay(
    bound: int, now: int, loose: bool, low: int, high: int, longest: int
) -> tuple[int, bool]:
    """Return the next stay to try, shorter ones in turn, and whether it is not aligned.

    Of all that cut the bound into as many chunks, that is the least one that is aligned, then the
    least one.

    Parameters
    ----------
    now : int
        The stay before, or 0.
    """
    if now == 0:
        count = chunks(bound, longest)
        if count == 1:
            return longest, False
        most = longest
    else:
        shortest = max(chunks(bound, chunks(bound, now)), low)
        if not loose and shortest < now:
            return shortest, True
        count = chunks(bound, now) + 1
        most = now - 1
    least = max(chunks(bound, chunks(bound, min(most, chunks(bound, count)))), low)
    own = aligned(least, low, high)
    if own <= most:
        return own, False
    return least, True


@part
def least_outer(
    ns: Nest,
    carried: int,
    whole: bool,
    cuts: Ints,
    most_held: Ints,
    spans: Ints,
    limits: Ints,
    spread: Ints,
    active: Ints,
    begin: Floats,
    steps: float,
    goal: Floats,
    ceiling: float,
    found: Ints,
) -> float:
    """Return the least value below a ceiling, or the ceiling.

    Depth first, the longest stays first: what is open takes the least room and costs the least.

    Parameters
    ----------
    carried : int
        The tensor whose tile is outermost in the inner memory, or 0.
    whole : bool
        Whether its tile may span all that an element has of the dimensions relevant to it. Else it
        is loaded anew for every tile in the outer memory.
    cuts : array of (4, dimensions)
        Of each dimension, what an element has, the least and the most that all together have, and
        the fewest steps.
    most_held : array of dimensions
        What the carried tiles of all elements may span beyond what others need.
    spans : array of dimensions
        What the carried tile spans at most, see `above.fill_spans`.
    limits : array of (dimensions + 2)
        How long the carried tile stays at most, see `window_spans.windows_of`.
    spread, active : arrays of dimensions
        Instances.
    begin : array of costs
        What all else costs.
    found : array of (2 x dimensions + 1)
        Filled with how long tiles stay in the outer memory, and the carried one, and with the
        order.
    """
    nd, nt = len(ns.bounds), len(ns.words)
    best = ceiling
    cost = np.empty(len(begin))
    place = np.empty(nt + 1, np.int64)
    grown, extents = np.empty(nd, np.int64), np.empty(nd, np.int64)
    size = np.empty((2, nd), np.int64)
    free = np.empty(2 * nd, np.int64)
    loose = np.zeros(2 * nd, np.bool_)
    slower = np.ones((2, nd))
    least, most = cuts[1], cuts[2]
    longest = np.empty((2, nd), np.int64)
    for d in range(nd):
        longest[0, d] = longest[1, d] = ns.bounds[d]
        if ns.owner[d] == carried:
            longest[1, d] = stay_limit(ns, limits, active, d)
            if longest[1, d] < least[d]:
                return best
    together = stay_limit_together(ns, limits, active)
    for o in range(ns.outer_orders.shape[1]):
        order = ns.outer_orders[carried, o]
        if order[0] < 0 and o > 0:
            break
        place[:] = -1
        for i in range(len(order)):
            if order[i] >= 0:
                place[order[i]] = i
        if not whole and place[nt] >= 0 and last_place(place) > place[nt]:
            continue
        slides = ns.window >= 0 and place[ns.window] > 0
        count = 0
        for k in range(2):
            for d in range(nd):
                own = ns.owner[d]
                size[k, d] = longest[k, d]
                if own < 0:
                    continue
                held = k == 0 and is_held(ns, place, carried, d)
                if held:
                    size[k, d] = max(most[d], most_held[d])
                elif (k == 0 and place[own] > 0) or (
                    k == 1 and own == carried and (place[nt] > 0 or limits[d] >= 0)
                ):
                    free[count] = k * nd + d
                    size[k, d] = least[d]
                    count += 1
        if not fits_outer(ns, order, place, carried, size, least, -1, extents, extents):
            continue
        if limited(size, limits) > together:
            continue
        add_outer(ns, order, carried, size, spread, np.inf, begin, cost)
        if count == 0:
            value = value_of(ns, goal, cost, steps)
            if value < best and slides:
                value = slid_value(
                    ns, order, place, carried, size, least, spans, spread, begin, cost,
                    steps, goal, grown, extents,
                )  # fmt: skip
            if value < best:
                best = value
                note(size, o, found)
            continue
        for k in range(count):
            size[free[k] // nd, free[k] % nd] = longest[free[k] // nd, free[k] % nd]
        depth = 0
        enter = True
        for d in range(nd):
            slower[0, d] = slower[1, d] = 1.0
        while depth >= 0:
            k, d = free[depth] // nd, free[depth] % nd
            now = 0 if enter else size[k, d]
            slower[k, d] = 1.0
            more = now == 0 or now > least[d]
            if more:
                now, loose[depth] = next_stay(
                    ns.bounds[d], now, loose[depth], least[d], most[d], longest[k, d]
                )
                size[k, d] = now
                add_outer(ns, order, carried, size, spread, np.inf, begin, cost)
                value = value_of(ns, goal, cost, steps * slowed(slower))
            if not more or value >= best:
                # shorter stays cost more
                size[k, d] = longest[k, d]
                depth -= 1
                enter = False
                continue
            if loose[depth]:
                turns = unaligned_steps(ns.bounds[d], now, cuts[0, d], least[d], most[d])
                slower[k, d] = max(1.0, turns / cuts[3, d])
                value = value_of(ns, goal, cost, steps * slowed(slower))
                if value >= best:
                    enter = False
                    continue
            for j in range(depth + 1, count):
                size[free[j] // nd, free[j] % nd] = least[free[j] % nd]
            fine = fits_outer(ns, order, place, carried, size, least, -1, extents, extents)
            fine = fine and limited(size, limits) <= together
            if fine and depth == count - 1:
                if slides:
                    value = slid_value(
                        ns, order, place, carried, size, least, spans, spread, begin, cost,
                        steps * slowed(slower), goal, grown, extents,
                    )  # fmt: skip
                if value < best:
                    best = value
                    note(size, o, found)
            for j in range(depth + 1, count):
                size[free[j] // nd, free[j] % nd] = longest[free[j] // nd, free[j] % nd]
            enter = fine and depth < count - 1
            if enter:
                depth += 1
    return best


@called_leaf
def slid_value(
    ns: Nest,
    order: Ints,
    place: Ints,
    carried: int,
    size: Ints,
    least: Ints,
    spans: Ints,
    spread: Ints,
    begin: Floats,
    cost: Floats,
    steps: float,
    goal: Floats,
    grown: Ints,
    extents: Ints,
) -> float:
    """Return the least value where a tile with windows lies inside another one.

    The outermost tile may also stay for less than all: then it comes in twice at least.
    """
    best = np.inf
    for first in range(2):
        served = window_serves(ns, order, place, carried, size, least, spans, first, grown, extents)
        add_outer(ns, order, carried, size, spread, served, begin, cost)
        for r in range(first * len(cost)):
            if order[0] == len(ns.words):
                cost[r] += (ns.sent[r, carried] + ns.received[r, carried]) * ns.words[carried]
            else:
                cost[r] += ns.price[r, order[0]] * ns.words[order[0]]
        best = min(best, value_of(ns, goal, cost, steps))
    return best


@leaf
def slowed(slower: Floats) -> float:
    """Return how many times more steps there are where either stay of a dimension takes more."""
    product = 1.0
    for d in range(slower.shape[1]):
        product *= max(slower[0, d], slower[1, d])
    return product


@leaf
def last_place(place: Ints) -> int:
    """Return the last place of all."""
    last = -1
    for own in place:
        last = max(last, own)
    return last


@leaf
def limited(size: Ints, limits: Ints) -> float:
    """Return the iterations of limited dimensions that the carried tile stays through."""
    total = 1.0
    for d in range(size.shape[1]):
        if limits[d] >= 0:
            total *= size[1, d]
    return total


@leaf
def note(size: Ints, order: int, found: Ints) -> None:
    """Keep what costs least so far."""
    nd = size.shape[1]
    for d in range(nd):
        found[d], found[nd + d] = size[0, d], size[1, d]
    found[2 * nd] = order
