"""How dimensions are cut among the instances of an array, and in how many steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.relaxations.nests.inner_tiles import (
    add_direct,
    add_inner,
    add_outermost,
    value_of,
)
from tilewright.mapper.relaxations.nests.outer.costs import InnerWindow, Sought
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances, chunks

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest

MOST_WAYS = 512  # to cut a dimension among instances
MOST_KNOWN = 1024  # sizes of tiles for which they are kept
FIRST_ROWS = 1 << 12  # of what is kept, to begin with
WIDTH = 0.03  # of the ranges of what instances have together
WAY = 7  # numbers of a way to cut a dimension
EVEN = 6  # the one that says how evenly instances work
ALIKE, ROUGH, EXACT = 0, 1, 2  # which ways there are, see `ways_to_cut`


@leaf
def turns_of(bound: int, extent: int, together: int) -> int:
    """Return the fewest steps when instances have an extent each, and some extent together."""
    return int(bound // together * extent + min(extent, bound % together))


@leaf
def tiles_in_parts(bound: int, size: int, instances: int, together: int) -> int:
    """Return the fewest tiles of all instances when these have no more than some extent together.

    Loops above the array cut the bound into parts of that extent and into shorter ones. In a
    regular mapping each loop has a full part in every chunk, so there are no more short parts than
    full ones. A full part has a tile in each instance; a lower extent leaves more parts.
    """
    full = chunks(bound, 2 * together - 1)
    return full * instances + chunks(max(0, bound - full * together), size)


@leaf
def short_parts(instances: int, active: int) -> int:
    """Return how many instances may have less than the others at a time.

    Along one axis only the last one may. Where several axes cut a dimension, that is one for each
    chunk that the last of them cuts, into two at least.
    """
    if active > instances:
        return (active + 1) // 2
    factor = 2
    while factor * factor <= instances and instances % factor:
        factor += 1
    return instances // factor if factor * factor <= instances else 1


@called_leaf
def stays_of(
    bound: int, instances: int, active: int, extent: int, stay: int, steps: int
) -> tuple[int, int]:
    """Return in how many stays instances have all of a bound at least, and one after the other.

    An instance goes through an extent at most in one go. Where all work, that takes as many steps
    as the extent; where one works alone, a step for every iteration.

    Parameters
    ----------
    instances, active : int
        That it takes for even chunks, and that work at a time at most.
    extent, stay : int
        Iterations of an instance, and of a stay; the extent is no less.
    steps : int
        All steps, which is exact.
    """
    each = chunks(extent, stay)
    if each * stay == extent:
        return chunks(bound, stay), chunks(steps, stay)
    # how often all work: more often leaves less to do alone
    least = max(0, chunks(bound - steps, (active - 1) * extent))
    most = steps // extent
    fewest = np.inf
    few = np.inf
    short = short_parts(instances, active)
    for times in (least, most):
        many = bound - steps + times * extent
        full = (many - active * times * (each - 1) * stay) / (extent - (each - 1) * stay)
        alone = (steps - times * extent) / stay
        fewest = min(fewest, active * times * (each - 1) + full + alone)
        # all other parts are as long as the extent
        long = max(0.0, (many - times * short * (extent - 1)) / extent)
        few = min(few, long * each + (bound - long * extent) / stay)
    after = least * each + chunks(max(0, steps - least * extent), stay)
    return max(chunks(bound, stay), math.ceil(max(fewest, few) - 1e-6)), after


@leaf
def add_way(
    ways: Ints,
    n: int,
    span: tuple[int, int, int],
    times: tuple[int, int, int],
    even: int,
    exact: bool,
) -> int:
    """Add a way to cut a dimension, unless a known one of a smaller extent costs no more.

    One of an exact extent stands for no other. The `span` and the `times` are the first columns of
    a way.
    """
    extent, low, high = span
    steps, stays, after = times
    for k in range(n):
        if (
            ways[k, 1] <= low
            and ways[k, 3] <= steps
            and ways[k, 4] <= stays
            and ways[k, 5] <= after
            and (ways[k, EVEN] == 0 or (even > 0 and not exact))
        ):
            return n
    if n < len(ways):
        ways[n, 0], ways[n, 1], ways[n, 2] = extent, low, high
        ways[n, 3], ways[n, 4], ways[n, 5], ways[n, EVEN] = steps, stays, after, even
        return n + 1
    # no room: the last one stands for all others, whatever they are
    ways[n - 1, 0] = 1
    ways[n - 1, 1], ways[n - 1, 2] = min(ways[n - 1, 1], low), max(ways[n - 1, 2], high)
    for k in range(3, 6):
        ways[n - 1, k] = 1
    ways[n - 1, EVEN] = 0
    return n


@called_leaf
def ways_to_cut(
    bound: int, size: int, instances: int, active: int, counted: bool, which: int, ways: Ints
) -> int:
    """Fill ways to cut a dimension among instances, and return how many.

    Each is the extent that an instance has, the least and the most that all have together, the
    fewest steps, how often tiles change at least, in all instances and one after the other, and
    `evenness`. Where that is known, more steps are another way.
    The tile below the array may be a part of the extent, which is of use where this takes fewer
    steps.

    Parameters
    ----------
    size : int
        What the tile of the dimension's owner stays through below the array.
    instances, active : int
        That it takes for even chunks, and that work at a time at most.
    counted : bool
        Whether it matters how often that tile changes.
    which : int
        EXACT where each extent with the fewest possible steps is a way of its own. Else a way
        stands for those of larger extents that cost no less; with ROUGH nothing is said of how
        evenly instances work.
    """
    if instances == 1:
        ways[0, 0], ways[0, 1], ways[0, 2], ways[0, 3] = size, size, size, bound
        ways[0, 4] = ways[0, 5] = chunks(bound, size)
        ways[0, EVEN] = 1
        return 1
    exact = which == EXACT and active == instances
    which = ROUGH if which == EXACT and not exact else which
    n = 0
    high = min(size * instances, bound)
    while high > size * (instances - 1):
        least = max(size * (instances - 1) + 1, math.ceil(high * (1 - WIDTH)))
        steps = turns_of(bound, size, high)
        ways[n, 0], ways[n, 1], ways[n, 2] = size, least, high
        even = evenness(bound, active, steps, which)
        tiles = tiles_in_parts(bound, size, instances, high)
        for more in range(2 if even else 1):
            ways[n, 0], ways[n, 1], ways[n, 2], ways[n, 3] = size, least, high, steps + more
            ways[n, 4], ways[n, 5] = tiles, chunks(steps + more, size)
            ways[n, EVEN] = even if more == 0 else 0
            n += 1
        high = least - 1
    most = fewest = ways[0, 3]
    floor = chunks(bound, instances)
    own = size + 1
    while own <= floor and (fewest > floor or exact):
        whole = not counted or own % size == 0
        high = min(own * instances, bound)
        steps = turns_of(bound, own, high)
        if whole:
            fewest = min(fewest, steps)
        every = fewest > floor
        while high > own * (instances - 1) and (steps < most if every else steps == floor):
            low = max(own * (instances - 1) + 1, math.ceil(high * (1 - WIDTH)))
            stays, after = stays_of(bound, instances, active, own, size, steps)
            even = evenness(bound, active, steps, which)
            n = add_way(ways, n, (own, low, high), (steps, stays, after), even, exact)
            if even or not whole:
                few, last = chunks(bound, size), chunks(steps + 1, size)
                n = add_way(ways, n, (own, low, high), (steps + 1, few, last), 0, exact)
            high = low - 1
            steps = turns_of(bound, own, high)
        own += 1
    return n


@leaf
def evenness(bound: int, active: int, steps: int, which: int) -> int:
    """Return 1 where instances work in every step, each; or 0 where nothing is known.

    Where the extent is exact and steps are the fewest possible, it is 1 + the iterations that they
    could do besides. A chunk for one instance alone would leave more of them idle.
    """
    idle = steps * active - bound
    if which != ROUGH and (idle == 0 or (which == EXACT and 0 < idle < active - 1)):
        return int(1 + idle)
    return 0


@leaf
def least_of(ways: Ints, number: int, fewest: Ints) -> None:
    """Fill the fewest steps and changes of tiles of some ways, each by itself."""
    for k in range(3):
        fewest[k] = ways[0, 3 + k]
        for n in range(1, number):
            fewest[k] = min(fewest[k], ways[n, 3 + k])


@part
def known_ways(
    bound: int,
    size: int,
    instances: int,
    active: int,
    counted: bool,
    which: int,
    known: Ints,
    pool: Ints,
    filled: int,
) -> tuple[Ints, int, int]:
    """Return where ways to cut a dimension are kept, and add them where they are not.

    A row before them says what they depend on, how many there are, and the `least_of` them.

    Parameters
    ----------
    known : array of (instances, tile sizes)
        The first row of ways, or 0.
    pool : array of (rows, WAY)
    filled : int
        Rows that are in use.

    Returns
    -------
    pool, filled
        As they are now.
    int
        The first row.
    """
    at = size % known.shape[1]
    row = known[instances, at]
    kind = 6 * active + 2 * which + counted
    if row > 0 and pool[row - 1, 0] == kind and pool[row - 1, 5] == size:
        return pool, filled, row
    if filled + MOST_WAYS >= len(pool):
        pool = np.concatenate((pool, np.empty_like(pool)))
    row = filled + 1
    ways = pool[row : row + MOST_WAYS]
    count = ways_to_cut(bound, size, instances, active, counted, which, ways)
    pool[filled, 0], pool[filled, 1], pool[filled, 5] = kind, count, size
    least_of(ways, count, pool[filled, 2:5])
    known[instances, at] = row
    return pool, filled + 1 + count, row


@called_leaf
def least_value(
    ns: Nest,
    order: Ints,
    limits: Ints,
    instances: Instances,
    window: InnerWindow,
    cost: Floats,
    goal: Floats,
) -> float:
    """Return what tiles cost at least where tiles change so often as the window's `times` say."""
    times = window.times
    steps = 1.0
    for d in range(times.shape[1]):
        steps *= times[0, d]
    for r in range(len(cost)):
        cost[r] = ns.base[r]
    add_direct(ns, instances.active, times, cost)
    add_inner(ns, order, window.same, times, cost)
    add_outermost(ns, order, window.same, limits, instances, cost)
    return value_of(ns, goal, cost, steps)


class CutWays(NamedTuple):
    """Ways to cut dimensions, and those at hand.

    Attributes
    ----------
    ways : array of (dimensions, ways, WAY)
    number : array of dimensions
        How many there are.
    cuts : array of (7, dimensions)
        See `outer.least.least_outer`.
    """

    ways: Ints
    number: Ints
    cuts: Ints


@called_leaf
def leave_out(
    ns: Nest,
    order: Ints,
    limits: Ints,
    instances: Instances,
    every: CutWays,
    window: InnerWindow,
    cost: Floats,
    sought: Sought,
) -> bool:
    """Leave out the ways to cut a dimension that cost too much with the best ones of all others.

    The `times` of the window begin as the fewest of all ways, see `least_of`.

    Returns
    -------
    bool
        Whether some are left of every dimension.
    """
    ways, number, times = every.ways, every.number, window.times
    for d in range(len(number)):
        kept = 0
        before, other, after = times[0, d], times[1, d], times[2, d]
        for n in range(number[d]):
            for k in range(3):
                times[k, d] = ways[d, n, 3 + k]
            value = least_value(ns, order, limits, instances, window, cost, sought.goal)
            if value < sought.ceiling:
                for k in range(ways.shape[2]):
                    ways[d, kept, k] = ways[d, n, k]
                kept += 1
        times[0, d], times[1, d], times[2, d] = before, other, after
        number[d] = kept
        if kept == 0:
            return False
    return True


@leaf
def limit_runs(ns: Nest, spread: Ints, cuts: Ints) -> bool:
    """Fill what an instance goes through where all work in every step, if that limits windows.

    It goes through extents as far apart as all instances together have. Those of one iteration are
    those of a loop of larger steps. Those that no window reaches across count each for itself.

    Parameters
    ----------
    cuts : array of (7, dimensions)
        See `outer.least.least_outer`. Filled are how far loops along windows reach in an instance,
        and the distance of iterations, or 1.
    """
    limited = False
    for e in range(ns.terms.shape[1]):
        for k in range(2 if ns.terms[ns.window, e, 2] >= 0 else 0):
            d, a = ns.terms[ns.window, e, 2 * k], ns.terms[ns.window, e, 2 * k + 1]
            o, b = ns.terms[ns.window, e, 2 - 2 * k], ns.terms[ns.window, e, 3 - 2 * k]
            if cuts[6, d] == 0 or spread[d] == 1:
                continue
            idle = cuts[6, d] - 1
            if cuts[0, d] == 1 and idle == 0:
                cuts[5, d] = spread[d]
                limited = True
            elif a * ((spread[d] - 1) * cuts[0, d] - idle + 1) > b * (ns.bounds[o] - 1):
                cuts[4, d] = cuts[0, d]
                limited = True
    return limited
