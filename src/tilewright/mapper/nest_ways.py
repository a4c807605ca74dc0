"""How dimensions are cut among the instances of an array, and in how many steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.mapper.nest_inner import (
    add_direct,
    add_inner,
    add_outermost,
    chunks,
    value_of,
)
from tilewright.model.kernel import leaf

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.nest import Nest

MOST_WAYS = 512  # to cut a dimension among instances
WIDTH = 0.03  # of the ranges of what instances have together


@leaf
def turns_of(bound: int, extent: int, together: int) -> int:
    """Return the fewest steps when instances have an extent each, and some extent together."""
    return int(bound // together * extent + min(extent, bound % together))


@leaf
def least_turns(bound: int, instances: int, low: int, high: int) -> int:
    """Return the fewest steps of instances that have an extent between two together."""
    steps = bound
    for together in range(low, high + 1):
        steps = min(steps, turns_of(bound, chunks(together, instances), together))
    return steps


@leaf
def ways_to_cut(
    ns: Nest, size: Ints, spread: Ints, ranges: Ints, known: Ints, ways: Ints, number: Ints
) -> None:
    """Fill ways to cut every dimension among instances.

    Each is the least extent that an instance has, the least and the most that all have together,
    and the fewest steps. The tile below the array may be a part of the extent, which is of use
    where this takes fewer steps.

    Parameters
    ----------
    ranges : array of MOST_WAYS
        Where ranges of extents begin; the last one is larger than any bound.
    known : array of (dimensions, instances, ranges)
        The fewest steps in each range, or 0; is filled.
    """
    for d in range(len(size)):
        bound, s, own = ns.bounds[d], spread[d], size[d]
        n = 0
        high = min(own * s, bound)
        low = high + 1
        if s == 1:
            ways[d, 0, 0], ways[d, 0, 1], ways[d, 0, 2], ways[d, 0, 3] = own, own, own, bound
            n, low = 1, bound + 1
        fewest = turns_of(bound, own, high)
        while s > 1 and high > own * (s - 1):
            least = max(own * (s - 1) + 1, min(high, int(high * (1 - WIDTH))))
            ways[d, n, 0], ways[d, n, 1], ways[d, n, 2] = own, least, high
            ways[d, n, 3] = turns_of(bound, own, high)
            n += 1
            high = least - 1
        at = 0
        while low <= bound and fewest > chunks(bound, s):
            while ranges[at + 1] <= low:
                at += 1
            high = min(bound, ranges[at + 1] - 1)
            if low > ranges[at]:
                steps = least_turns(bound, s, low, high)
            else:
                if known[d, s, at] == 0:
                    known[d, s, at] = least_turns(bound, s, low, high)
                steps = known[d, s, at]
            if steps < fewest:
                fewest = steps
                ways[d, n, 0], ways[d, n, 1], ways[d, n, 2] = chunks(low, s), low, high
                ways[d, n, 3] = steps
                n += 1
            low = high + 1
        number[d] = n


@leaf
def leave_out(
    ns: Nest,
    order: Ints,
    size: Ints,
    spans: Ints,
    spread: Ints,
    active: Ints,
    ways: Ints,
    number: Ints,
    turns: Ints,
    cost: Floats,
    goal: Floats,
    ceiling: float,
) -> None:
    """Leave out the ways to cut a dimension that cost too much with the best ones of all others."""
    for d in range(len(size)):
        kept = 0
        fine, too_many = 0, ns.bounds[d] + 1  # steps
        for n in range(number[d]):
            own = ways[d, n, 3]
            if fine < own < too_many:
                steps = 1.0
                for k in range(len(size)):
                    turns[k] = own if k == d else chunks(ns.bounds[k], spread[k])
                    steps *= turns[k]
                for r in range(len(cost)):
                    cost[r] = ns.base[r]
                add_direct(ns, active, turns, cost)
                add_inner(ns, order, size, spans, active, turns, cost)
                add_outermost(ns, order, spread, cost)
                if value_of(ns, goal, cost, steps) < ceiling:
                    fine = own
                else:
                    too_many = own
            if own <= fine:
                for k in range(4):
                    ways[d, kept, k] = ways[d, n, k]
                kept += 1
        number[d] = kept
