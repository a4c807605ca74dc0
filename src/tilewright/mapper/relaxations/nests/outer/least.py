"""What the tiles of the memory above the array cost at least around inner tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.relaxations.nests.inner_tiles import value_of
from tilewright.mapper.relaxations.nests.outer.closer import closer_value
from tilewright.mapper.relaxations.nests.outer.costs import (
    Between,
    InnerWindow,
    Sought,
    add_outer,
)
from tilewright.mapper.relaxations.nests.outer.fit import OuterTiles, fits_outer, is_held
from tilewright.mapper.relaxations.nests.sliding.cases import case_fields
from tilewright.mapper.relaxations.nests.sliding.stay_limits import stay_limit, stays_inside
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances, Nested, chunks

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


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


class Carried(NamedTuple):
    """The outermost tile in the inner memories.

    Attributes
    ----------
    tensor : int
        Whose it is.
    whole : bool
        Whether it may span all that an element has of the dimensions relevant to it. Else it is
        loaded anew for every tile in the outer memory.
    held : array of dimensions
        What the tiles of all elements may span beyond what others need.
    spans : array of (2, dimensions)
        What it spans at most, and at least, see `above.fill_spans`.
    limits : array of (dimensions + 4)
        How long it stays at most, see `stay_limits.windows_of`.
    nested : Nested
        All tiles in the inner memories.
    """

    tensor: int
    whole: bool
    held: Ints
    spans: Ints
    limits: Ints
    nested: Nested


@part
def least_outer(
    ns: Nest,
    inner: Carried,
    cuts: Ints,
    instances: Instances,
    window: InnerWindow,
    begin: Floats,
    sought: Sought,
    found: Ints,
) -> float:
    """Return the least value of tiles in the outer memory, or the ceiling.

    Parameters
    ----------
    cuts : array of (7, dimensions)
        Of each dimension, what an element has, the least and the most that all together have, the
        fewest steps, what `cuts.limit_runs` fills, and `cuts.evenness`.
    begin : array of costs
        What all else costs.
    found : array of (2 x dimensions + 1)
        Filled with how long tiles stay in the outer memory, and the carried one, and with the
        order.
    """
    carried, limits, active = inner.tensor, inner.limits, instances.active
    goal, steps = sought.goal, sought.steps
    nd, nt = len(ns.bounds), len(ns.words)
    best = sought.ceiling
    cost = np.empty(len(begin))
    between = Between(
        reach=np.empty((5, nd), np.int64),
        least=np.empty(nd, np.int64),
        case=np.empty(case_fields(ns), np.int64),
        lower=np.empty(len(begin)),
        cost=cost,
    )
    place = np.empty(nt + 1, np.int64)
    grown, extents = np.empty(nd, np.int64), np.empty(nd, np.int64)
    size = np.empty((2, nd), np.int64)
    free = np.empty(2 * nd, np.int64)
    loose, spanned = np.zeros(2 * nd, np.bool_), np.zeros(2 * nd, np.bool_)
    slower = np.ones((2, nd))
    least, most = cuts[1], cuts[2]
    longest = np.empty((2, nd), np.int64)
    for d in range(nd):
        longest[0, d] = longest[1, d] = ns.bounds[d]
        if ns.owner[d] == carried:
            longest[1, d] = stay_limit(ns, limits, active, d)
            if longest[1, d] < least[d]:
                return best
    for o in range(ns.outer_orders.shape[1]):
        order = ns.outer_orders[carried, o]
        if order[0] < 0 and o > 0:
            break
        place[:] = -1
        for i in range(len(order)):
            if order[i] >= 0:
                place[order[i]] = i
        tiles = OuterTiles(
            order=order,
            place=place,
            carried=carried,
            size=size,
            least=least,
            spans=inner.spans,
            grown=grown,
            extents=extents,
        )
        if not inner.whole and place[nt] >= 0 and last_place(place) > place[nt]:
            continue
        count = 0
        for k in range(2):
            for d in range(nd):
                own = ns.owner[d]
                held = k == 0 and is_held(ns, place, carried, d)
                if k == 0:
                    longest[k, d] = ns.bounds[d]
                if held:
                    longest[k, d] = min(ns.bounds[d], max(most[d], inner.held[d]))
                size[k, d] = longest[k, d]
                if own < 0:
                    continue
                if (
                    held
                    or (k == 0 and place[own] > 0)
                    or (k == 1 and own == carried and (place[nt] > 0 or limits[d] >= 0))
                ):
                    free[count], spanned[count] = k * nd + d, held
                    size[k, d] = least[d]
                    count += 1
        if not fits_outer(ns, tiles, -1):
            continue
        if not stays_inside(ns, inner.nested, limits, size[1], active):
            continue
        add_outer(ns, tiles, instances.spread, cuts, np.inf, window.same, begin, cost)
        if count == 0:
            value = value_of(ns, goal, cost, steps)
            if value < best:
                now_sought = Sought(goal, steps, best)
                value = closer_value(ns, tiles, instances, cuts, window, begin, between, now_sought)
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
                add_outer(ns, tiles, instances.spread, cuts, np.inf, window.same, begin, cost)
                value = value_of(ns, goal, cost, steps * slowed(slower))
            if not more or value >= best:
                # shorter stays cost more
                size[k, d] = longest[k, d]
                depth -= 1
                enter = False
                continue
            if loose[depth] and not spanned[depth]:
                turns = unaligned_steps(ns.bounds[d], now, cuts[0, d], least[d], most[d])
                slower[k, d] = max(1.0, turns / cuts[3, d])
                value = value_of(ns, goal, cost, steps * slowed(slower))
                if value >= best:
                    enter = False
                    continue
            for j in range(depth + 1, count):
                size[free[j] // nd, free[j] % nd] = least[free[j] % nd]
            fine = fits_outer(ns, tiles, -1)
            fine = fine and stays_inside(ns, inner.nested, limits, size[1], active)
            if fine and depth == count - 1:
                now_sought = Sought(goal, steps * slowed(slower), best)
                value = closer_value(ns, tiles, instances, cuts, window, begin, between, now_sought)
                if value < best:
                    best = value
                    note(size, o, found)
            for j in range(depth + 1, count):
                size[free[j] // nd, free[j] % nd] = longest[free[j] // nd, free[j] % nd]
            enter = fine and depth < count - 1
            if enter:
                depth += 1
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
def note(size: Ints, order: int, found: Ints) -> None:
    """Keep what costs least so far."""
    nd = size.shape[1]
    for d in range(nd):
        found[d], found[nd + d] = size[0, d], size[1, d]
    found[2 * nd] = order
