"""How dimensions are cut among the instances of an array, and in how many steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.nest_inner import (
    add_direct,
    add_inner,
    add_outermost,
    value_of,
)
from tilewright.mapper.nest_windows import chunks
from tilewright.model.kernel import leaf

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.nest import Nest
    from tilewright.mapper.problem import Bools

MOST_WAYS = 512  # to cut a dimension among instances
WIDTH = 0.03  # of the ranges of what instances have together


@leaf
def turns_of(bound: int, extent: int, together: int) -> int:
    """Return the fewest steps when instances have an extent each, and some extent together."""
    return int(bound // together * extent + min(extent, bound % together))


@leaf
def stays_of(bound: int, instances: int, extent: int, stay: int, steps: int) -> tuple[int, int]:
    """Return in how many stays instances have all of a bound at least, and one after the other.

    An instance goes through an extent at most in one go. Where all work, that takes as many steps
    as the extent; where one works alone, a step for every iteration.

    Parameters
    ----------
    instances : int
        That may work at a time.
    extent, stay : int
        Iterations of an instance, and of a stay; the extent is no less.
    steps : int
        All steps, which is exact.
    """
    each = chunks(extent, stay)
    if each * stay == extent:
        return chunks(bound, stay), chunks(steps, stay)
    # how often all work: more often leaves less to do alone
    least = max(0, chunks(bound - steps, (instances - 1) * extent))
    most = steps // extent
    fewest = np.inf
    for times in (least, most):
        many = bound - steps + times * extent
        full = (many - instances * times * (each - 1) * stay) / (extent - (each - 1) * stay)
        alone = (steps - times * extent) / stay
        fewest = min(fewest, instances * times * (each - 1) + full + alone)
    after = least * each + chunks(max(0, steps - least * extent), stay)
    return max(chunks(bound, stay), math.ceil(fewest - 1e-6)), after


@leaf
def add_way(
    ways: Ints, d: int, n: int, extent: int, low: int, high: int, steps: int, stays: int, after: int
) -> int:
    """Add a way to cut a dimension, unless a known one of a smaller extent costs no more."""
    for k in range(n):
        if (
            ways[d, k, 1] <= low
            and ways[d, k, 3] <= steps
            and ways[d, k, 4] <= stays
            and ways[d, k, 5] <= after
        ):
            return n
    if n < ways.shape[1]:
        ways[d, n, 0], ways[d, n, 1], ways[d, n, 2] = extent, low, high
        ways[d, n, 3], ways[d, n, 4], ways[d, n, 5] = steps, stays, after
        return n + 1
    # no room: the last one stands for all others
    for k in range(3, 6):
        ways[d, n - 1, k] = 1
    return n


@leaf
def ways_to_cut(
    ns: Nest, size: Ints, spread: Ints, active: Ints, counted: Bools, ways: Ints, number: Ints
) -> None:
    """Fill ways to cut every dimension among instances.

    Each is the extent that an instance has, the least and the most that all have together, the
    fewest steps, and how often tiles change at least: in all instances, and one after the other.
    The tile below the array may be a part of the extent, which is of use where this takes fewer
    steps.

    Parameters
    ----------
    counted : array of dimensions
        Whether it matters how often tiles change.
    """
    for d in range(len(size)):
        bound, s, own = ns.bounds[d], spread[d], size[d]
        if s == 1:
            ways[d, 0, 0], ways[d, 0, 1], ways[d, 0, 2], ways[d, 0, 3] = own, own, own, bound
            ways[d, 0, 4] = ways[d, 0, 5] = chunks(bound, own)
            number[d] = 1
            continue
        n = 0
        high = min(own * s, bound)
        while high > own * (s - 1):
            least = max(own * (s - 1) + 1, min(high, int(high * (1 - WIDTH))))
            ways[d, n, 0], ways[d, n, 1], ways[d, n, 2] = own, least, high
            ways[d, n, 3] = turns_of(bound, own, high)
            ways[d, n, 4], ways[d, n, 5] = chunks(bound, own), chunks(ways[d, n, 3], own)
            n += 1
            high = least - 1
        most = fewest = ways[d, 0, 3]
        floor = chunks(bound, s)
        own += 1
        while own <= floor and fewest > floor:
            whole = not counted[d] or own % size[d] == 0
            high = min(own * s, bound)
            steps = turns_of(bound, own, high)
            if whole:
                fewest = min(fewest, steps)
            while high > own * (s - 1) and steps < most:
                low = max(own * (s - 1) + 1, min(high, int(high * (1 - WIDTH))))
                stays, after = stays_of(bound, active[d], own, size[d], steps)
                n = add_way(ways, d, n, own, low, high, steps, stays, after)
                if not whole:
                    few, last = chunks(bound, size[d]), chunks(steps + 1, size[d])
                    n = add_way(ways, d, n, own, low, high, steps + 1, few, last)
                high = low - 1
                steps = turns_of(bound, own, high)
            own += 1
        number[d] = n


@leaf
def leave_out(
    ns: Nest,
    order: Ints,
    size: Ints,
    windows: Ints,
    limits: Ints,
    spread: Ints,
    active: Ints,
    ways: Ints,
    number: Ints,
    times: Ints,
    cost: Floats,
    goal: Floats,
    ceiling: float,
) -> None:
    """Leave out the ways to cut a dimension that cost too much with the best ones of all others."""
    for d in range(len(size)):
        kept = 0
        for n in range(number[d]):
            steps = 1.0
            for k in range(len(size)):
                if k == d:
                    times[0, k], times[1, k], times[2, k] = ways[d, n, 3:]
                else:
                    times[0, k] = chunks(ns.bounds[k], spread[k])
                    times[1, k] = chunks(ns.bounds[k], size[k])
                    times[2, k] = chunks(times[0, k], size[k])
                steps *= times[0, k]
            for r in range(len(cost)):
                cost[r] = ns.base[r]
            add_direct(ns, active, times, cost)
            add_inner(ns, order, windows, spread, active, times, cost)
            add_outermost(ns, order, limits, spread, active, cost)
            if value_of(ns, goal, cost, steps) < ceiling:
                for k in range(ways.shape[2]):
                    ways[d, kept, k] = ways[d, n, k]
                kept += 1
        number[d] = kept
