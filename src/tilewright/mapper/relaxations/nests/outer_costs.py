"""What tiles in the memories above the array cost, with the windows on either side of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.above import (
    Tiles,
    fits_outer,
    longest_stay,
    spans_at_most,
)
from tilewright.mapper.relaxations.nests.inner_tiles import value_of
from tilewright.mapper.relaxations.nests.runs_above import met_again
from tilewright.mapper.relaxations.nests.sliding.case_serves import HEAD, SLID, case_serves
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances, chunks
from tilewright.mapper.relaxations.nests.windows_above import comes_in, window_serves
from tilewright.mapper.windows.slides import pair_words

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
        How far loops on windows reach, see `window_spans.windows_of`.
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
    reach : array of (4, dimensions)
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
        See `outer_tiles.least_outer`.
    """
    return int(cuts[0, d] if cuts[6, d] > 0 and spread[d] > 1 else ns.bounds[d])


@called_leaf
def add_outer(
    ns: Nest,
    tiles: Tiles,
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
    tiles: Tiles,
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
def add_again(ns: Nest, tiles: Tiles, times: int, cost: Floats) -> None:
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


@called_leaf
def cut_into_parts(ns: Nest, tiles: Tiles, spread: Ints, shape: Ints, case: Ints) -> None:
    """Fill a case with a shape, and what its tiles span at most in the mean where it stays.

    Where the carried tile stays for less than all, each of its stays is cut into tiles by itself.
    Stays are no longer than what they leave room for. What they cannot hold in one tile less than
    the longest one has, some of them hold in as many as that.
    """
    copy(shape, case)
    size = tiles.size
    for e in range(ns.terms.shape[1]):
        for k in range(2 if ns.terms[ns.window, e, 2] >= 0 and e != shape[SLID] else 0):
            d, at = ns.terms[ns.window, e, 2 * k], HEAD + 4 * e + 2 * k
            m, bound = shape[at], ns.bounds[d]
            number = chunks(bound, size[1, d])
            alone = ns.owner[d] == tiles.carried and spread[d] == 1 and shape[at + 1] == m
            if not alone or number == 1 or m == 1:
                continue
            stay = size[1, d]
            longest = stay
            while longest < bound:
                size[1, d] = longest + 1
                if not fits_outer(ns, tiles, -1):
                    break
                longest += 1
            size[1, d] = stay
            whole = (chunks(longest, m) - 1) * m
            if whole > 0 and bound > number * whole:
                parts = number * (whole // m) + chunks(bound - number * whole, longest - whole)
                case[at] = case[at + 1] = min(m, chunks(bound, parts))


@called_leaf
def slid_below(
    ns: Nest,
    tiles: Tiles,
    instances: Instances,
    cuts: Ints,
    window: InnerWindow,
    begin: Floats,
    between: Between,
) -> None:
    """Fill what all else costs where the window's tile slides while the carried one stays.

    Loops on windows either do not reach beyond the carried tile (kind 0): they end where that stays
    no longer. Or the tile comes back after some runs: then the carried one stays through a part of
    a run at most.
    """
    carried, size = tiles.carried, tiles.size
    t = ns.window
    spread, active = instances
    kind, same, times, case = window.kind, window.same, window.times, between.case
    far, cost = between.reach, between.lower
    cut_into_parts(ns, tiles, spread, window.slide[0], case)
    rare = kind >= 2 + ns.terms.shape[1]
    for d in range(len(spread)):
        far[0, d], far[1, d], far[3, d] = ns.bounds[d], 1, widest_tile(ns, cuts, spread, d)
        if ns.owner[d] == carried and kind == 0:
            far[0, d] = longest_stay(ns.bounds[d], size[1, d])
        elif ns.owner[d] == carried and rare:
            far[1, d] = size[1, d] // active[d]
    got = sent = 1.0
    for d in range(times.shape[1]):
        if ns.owner[d] == t:
            got *= times[1, d]
            sent *= times[2, d]
    second = min(same[1, t], case_serves(ns, case, instances, far, True, 1.0))
    for d in range(len(spread)):
        far[0, d], far[2, d] = min(far[0, d], cuts[4, d]), cuts[5, d]
    first = min(same[0, t], case_serves(ns, case, instances, far, False, 1.0))
    more = max(ns.words[t], ns.points[t] / first) - max(ns.words[t], ns.points[t] / same[0, t])
    got *= more
    if ns.unites[t]:
        more = max(ns.words[t], ns.points[t] / second)
        sent *= more - max(ns.words[t], ns.points[t] / same[1, t])
    else:
        sent = got
    for r in range(len(cost)):
        cost[r] = begin[r] + ns.sent[r, t] * sent + ns.received[r, t] * got


@called_leaf
def around_window(
    ns: Nest, tiles: Tiles, spread: Ints, cuts: Ints, case: Ints, least: Ints
) -> Tiles:
    """Return tiles above the array that span what that of the window does in all instances below.

    Parameters
    ----------
    least : array of dimensions
        Filled with that.
    """
    copy(cuts[1], least)
    for e in range(ns.terms.shape[1]):
        for k in range(2 if ns.terms[ns.window, e, 2] >= 0 else 0):
            d = ns.terms[ns.window, e, 2 * k]
            every = case[HEAD + 4 * e + 2 * k] * (spread[d] - 1) + 1
            least[d] = min(ns.bounds[d], max(least[d], case[HEAD + 4 * e + 2 * k], every))
    return Tiles(
        order=tiles.order,
        place=tiles.place,
        carried=tiles.carried,
        size=tiles.size,
        least=least,
        spans=tiles.spans,
        grown=tiles.grown,
        extents=tiles.extents,
    )


@called_leaf
def most_steps(ns: Nest, cuts: Ints, d: int, cost: Floats, sought: Sought) -> int:
    """Return how many steps of a dimension cost less than what is sought at most."""
    turns, most = cuts[3, d], ns.bounds[d]
    while turns < most:
        steps = sought.steps / cuts[3, d] * (turns + 1)
        if value_of(ns, sought.goal, cost, steps) >= sought.ceiling:
            break
        turns += 1
    return int(turns)


@called_leaf
def limit_carried(
    ns: Nest,
    tiles: Tiles,
    instances: Instances,
    cuts: Ints,
    window: InnerWindow,
    between: Between,
    sought: Sought,
) -> None:
    """Lower what the carried tile serves of its own window to what tiles around it allow.

    Where a tile around it stays through all of one dimension of an expression, other loops on the
    second one than those inside of that tile begin a run anew. That finds what the first tile has
    in common with the last one before, each instance for itself. The cost between is that without
    such limits.
    """
    t, nt = ns.window, len(ns.words)
    order, place, size = tiles.order, tiles.place, tiles.size
    active, case, far, same = instances.active, window.slide[0], between.reach, window.same
    cost = between.cost
    own, shared = 1.0, 1.0
    limited = False
    for d in range(len(active)):
        far[0, d], far[1, d], far[2, d] = ns.bounds[d], 1, 1
        far[3, d] = widest_tile(ns, cuts, instances.spread, d)
    # the outermost tile may stay for less than all
    for j in range(1, place[nt]):
        for e in range(ns.terms.shape[1]):
            for k in range(2 if ns.terms[t, e, 2] >= 0 else 0):
                x, a = ns.terms[t, e, 2 * k], ns.terms[t, e, 2 * k + 1]
                y, b = ns.terms[t, e, 2 - 2 * k], ns.terms[t, e, 3 - 2 * k]
                if ns.owner[x] != order[j] or ns.owner[y] == order[j]:
                    continue
                if size[0, x] < ns.bounds[x]:
                    continue
                m = case[HEAD + 4 * e + 2 * k + 1]
                # what others have is no more than the steps
                turns = cuts[3, x] if cuts[6, x] > 0 else most_steps(ns, cuts, x, cost, sought)
                run = ns.bounds[x] - turns * (active[x] - 1)
                if m >= run:
                    continue
                n = spans_at_most(ns, tiles, j, y)
                if n >= far[0, y]:
                    continue
                found = met_again(m, n, run, a, b, n)
                words = pair_words(run, n, a, b, False)
                every = pair_words(ns.bounds[x], n, a, b, False)
                several = found * active[x] * active[y]
                if several < every:
                    far[0, y] = n
                    limited = True
                    own = max(own, words / (words - found))
                    shared = max(shared, every / (every - several))
    if not limited:
        return
    same[1, t] = min(same[1, t], shared * case_serves(ns, case, instances, far, True, 1.0))
    for d in range(len(active)):
        far[0, d], far[2, d] = min(far[0, d], cuts[4, d]), cuts[5, d]
    same[0, t] = min(same[0, t], own * case_serves(ns, case, instances, far, False, 1.0))


@called_leaf
def closer_value(
    ns: Nest,
    tiles: Tiles,
    instances: Instances,
    cuts: Ints,
    window: InnerWindow,
    begin: Floats,
    between: Between,
    sought: Sought,
) -> float:
    """Return the value of tiles with what their windows serve, above and below the array.

    It is infinite where the tile of the window below the array leaves no room to those above it.
    """
    t = ns.window
    if len(window.slide) > 0:
        tiles = around_window(ns, tiles, instances.spread, cuts, window.slide[0], between.least)
        if not fits_outer(ns, tiles, -1):
            return np.inf
    outside = t >= 0 and tiles.place[t] >= 0
    cost, same = between.cost, window.same
    value = 0.0
    if tiles.carried == t and len(window.slide) > 0:
        before, shared = same[0, t], same[1, t]
        add_outer(ns, tiles, instances.spread, cuts, np.inf, same, begin, cost)
        limit_carried(ns, tiles, instances, cuts, window, between, sought)
        if outside:
            value = slid_value(ns, tiles, instances, cuts, same, begin, cost, sought)
        else:
            add_outer(ns, tiles, instances.spread, cuts, np.inf, same, begin, cost)
            value = value_of(ns, sought.goal, cost, sought.steps)
        same[0, t], same[1, t] = before, shared
        return value
    if outside:
        value = slid_value(ns, tiles, instances, cuts, same, begin, cost, sought)
    if value >= sought.ceiling or len(window.slide) == 0:
        if not outside:
            add_outer(ns, tiles, instances.spread, cuts, np.inf, same, begin, cost)
            value = value_of(ns, sought.goal, cost, sought.steps)
        return value
    slid_below(ns, tiles, instances, cuts, window, begin, between)
    if outside:
        return slid_value(ns, tiles, instances, cuts, same, between.lower, cost, sought)
    add_outer(ns, tiles, instances.spread, cuts, np.inf, same, between.lower, cost)
    return value_of(ns, sought.goal, cost, sought.steps)
