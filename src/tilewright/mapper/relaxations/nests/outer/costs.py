"""What tiles in the memory above the array cost, and the records that a closer look takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.inner_tiles import value_of
from tilewright.mapper.relaxations.nests.outer.fit import (
    OuterTiles,
)
from tilewright.mapper.relaxations.nests.outer.windows import comes_in, window_serves
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances, chunks

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


class InnerWindow(NamedTuple):
    """What the tile of the window does in the inner memory, and how often tiles change there.

    Attributes
    ----------
    slide : array of (0 or 1, fields)
        A case of `cases`, if it is kept there.
    kind : int
        How far loops on windows reach, see `stay_limits.windows_of`.
    same, times
        As `inner_tiles.add_inner` takes them.
    """

    slide: Ints
    kind: int
    same: Floats
    times: Ints


class Sought(NamedTuple):
    """What is sought: a value below a ceiling.

    Attributes
    ----------
    goal : array
        As in `labels.objective_value`.
    steps : float
    ceiling : float
    """

    goal: Floats
    steps: float
    ceiling: float


class Between(NamedTuple):
    """Arrays for use in between.

    Attributes
    ----------
    reach : array of (5, dimensions)
    least : array of dimensions
    case : array of fields
    lower, cost : arrays of costs
    """

    reach: Ints
    least: Ints
    case: Ints
    lower: Floats
    cost: Floats


@leaf
def instances_of(bound: int, stay: int, instances: int, even: bool) -> float:
    """Return how many instances take part at least in all stays that a bound is cut into.

    They all do where they work in every step.
    """
    if even:
        return float(instances * chunks(bound, stay))
    return float(instances * (bound // stay) + (1 if bound % stay else 0))


@leaf
def widest_tile(ns: Nest, cuts: Ints, spread: Ints, d: int) -> int:
    """Return how much of a dimension a tile below the array spans at most: what an instance has.

    Where it is known how evenly instances work, that is no more than the extent of this cut.

    Parameters
    ----------
    cuts : array of (7, dimensions)
        See `least.least_outer`.
    """
    return int(cuts[0, d] if cuts[6, d] > 0 and spread[d] > 1 else ns.bounds[d])


@called_leaf
def add_outer(
    ns: Nest,
    tiles: OuterTiles,
    spread: Ints,
    cuts: Ints,
    served: float,
    same: Floats,
    begin: Floats,
    cost: Floats,
) -> None:
    """Fill the cost with what comes into the outer memory, and the carried tile below the array.

    Parameters
    ----------
    served : float
        Iterations of windows that give the same word at most, in the outer memory.
    same : array of (2, tensors)
        The same below the array, as `inner_tiles.add_inner` takes it.
    """
    order, carried, size = tiles.order, tiles.carried, tiles.size
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
                got *= instances_of(ns.bounds[d], stay, spread[d], cuts[6, d] == 1)
        for r in range(len(cost)):
            words = ns.words[whose]
            if t == nt:
                sent = max(words, ns.points[whose] / same[1, whose]) * count
                each = max(words, ns.points[whose] / same[0, whose]) * got
                if not ns.unites[whose]:
                    sent = each
                cost[r] += ns.sent[r, whose] * sent + ns.received[r, whose] * each
                continue
            if t == ns.window:
                words = max(words, ns.points[t] / served)
            cost[r] += ns.price[r, whose] * count * words


@called_leaf
def slid_value(
    ns: Nest,
    tiles: OuterTiles,
    instances: Instances,
    cuts: Ints,
    same: Floats,
    begin: Floats,
    cost: Floats,
    sought: Sought,
) -> float:
    """Return the least value where an outer memory keeps a tile with windows, or one above a limit.

    The outermost tile may also stay for less than all: then it comes in twice at least, and so
    often that the tile of the window may span what it stays through.
    """
    best = np.inf
    for closer in range(2):
        best = np.inf
        # how often it comes in: once, or as often as lets the window go on along an expression
        for e in range(-1, 2 * ns.terms.shape[1]):
            times = 1
            if e >= 0:
                times = comes_in(ns, tiles, e // 2, e % 2 > 0)
                if times == 1:
                    continue
            served = window_serves(ns, tiles, times, closer > 0)
            add_outer(ns, tiles, instances.spread, cuts, served, same, begin, cost)
            if times > 1:
                add_again(ns, tiles, times, cost)
            best = min(best, value_of(ns, sought.goal, cost, sought.steps))
        if best >= sought.ceiling:
            break
    return best


@called_leaf
def add_again(ns: Nest, tiles: OuterTiles, times: int, cost: Floats) -> None:
    """Add what the outermost tile costs where it comes in so often, and once more at least."""
    order, carried, size = tiles.order, tiles.carried, tiles.size
    below = order[0] == len(ns.words)
    own = carried if below else order[0]
    now = 1
    for d in range(size.shape[1]):
        if ns.owner[d] == own:
            now *= chunks(ns.bounds[d], size[1 if below else 0, d])
    more = max(1, times - now) * ns.words[own]
    for r in range(len(cost)):
        cost[r] += more * (ns.sent[r, own] + ns.received[r, own] if below else ns.price[r, own])
