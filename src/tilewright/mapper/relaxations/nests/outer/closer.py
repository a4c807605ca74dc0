"""What tiles above the array cost where a window slides below it: a closer look at few tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.inner_tiles import value_of
from tilewright.mapper.relaxations.nests.outer.costs import (
    Between,
    InnerWindow,
    Sought,
    add_outer,
    slid_value,
    widest_tile,
)
from tilewright.mapper.relaxations.nests.outer.fit import (
    OuterTiles,
    fits_outer,
    longest_stay,
    spans_at_most,
)
from tilewright.mapper.relaxations.nests.outer.runs import met_again
from tilewright.mapper.relaxations.nests.sliding.case_numbers import HEAD, SLID
from tilewright.mapper.relaxations.nests.sliding.case_serves import case_serves
from tilewright.mapper.relaxations.nests.sliding.window_spans import Instances, chunks
from tilewright.mapper.windows.slides import pair_words

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


@called_leaf
def cut_into_parts(ns: Nest, tiles: OuterTiles, spread: Ints, shape: Ints, case: Ints) -> None:
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
def met_by_next(ns: Nest, tiles: OuterTiles, active: Ints, case: Ints, changes: float) -> float:
    """Return the share of words at most that are there when the carried tile begins a next stay.

    It may stay for a part of a dimension of the window, and change with loops of several steps that
    are irrelevant to the window: these bring in all words of the part again. But their last step
    ends where the next part begins, so the tile of the window slides on, or is the same. What else
    the carried tile stays through is part of that tile then.

    Parameters
    ----------
    changes : float
        How many steps the loops have that are irrelevant to the window, at least.
    """
    e = case[SLID]
    if e < 0 or changes < 2:
        return 0.0
    size, share = tiles.size, 0.0
    for k in range(2):
        d, a = ns.terms[ns.window, e, 2 * k], ns.terms[ns.window, e, 2 * k + 1]
        o, b = ns.terms[ns.window, e, 2 - 2 * k], ns.terms[ns.window, e, 3 - 2 * k]
        parts = chunks(ns.bounds[d], size[1, d])
        if ns.owner[d] != tiles.carried or parts == 1:
            continue
        inside = True
        for other in range(ns.terms.shape[1]):
            for i in range(2 if ns.terms[ns.window, other, 2] >= 0 and other != e else 0):
                x = ns.terms[ns.window, other, 2 * i]
                most = case[HEAD + 4 * other + 2 * i + 1] * active[x]
                inside &= ns.owner[x] != tiles.carried or size[1, x] <= most
        if not inside:
            continue
        m, n = case[HEAD + 4 * e + 2 * k + 1], case[HEAD + 4 * e + 3 - 2 * k]
        for together in range(2):
            p, q = (m * active[d], n * active[o]) if together else (m, n)
            long = size[1, d] if together else chunks(size[1, d], active[d])
            words = pair_words(min(p, long), q, a, b, False) / pair_words(long, q, a, b, False)
            share = max(share, words * (parts - 1) / parts)
    # each loop has several steps
    return share * (changes // 2) / changes


@called_leaf
def slid_below(
    ns: Nest,
    tiles: OuterTiles,
    instances: Instances,
    cuts: Ints,
    window: InnerWindow,
    begin: Floats,
    between: Between,
    sought: Sought,
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
        far[0, d], far[1, d], far[2, d] = ns.bounds[d], 1, 1
        far[3, d] = widest_tile(ns, cuts, spread, d)
        far[4, d] = most_of_instance(ns, cuts, spread, d, begin, sought)
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
    if kind == 0:
        less = 1.0 - met_by_next(ns, tiles, active, case, sent)
        first, second = min(same[0, t], first / less), min(same[1, t], second / less)
    more = max(ns.words[t], ns.points[t] / first) - max(ns.words[t], ns.points[t] / same[0, t])
    got *= more
    if ns.unites[t]:
        more = max(ns.words[t], ns.points[t] / second)
        sent *= more - max(ns.words[t], ns.points[t] / same[1, t])
    else:
        sent = got
    for r in range(len(cost)):
        cost[r] = begin[r] + ns.sent[r, t] * sent + ns.received[r, t] * got


@leaf
def spans_more(ns: Nest, cuts: Ints, spread: Ints, case: Ints) -> bool:
    """Whether the tile of the window spans more than an instance has."""
    for e in range(ns.terms.shape[1]):
        for k in range(2 if ns.terms[ns.window, e, 2] >= 0 else 0):
            d = ns.terms[ns.window, e, 2 * k]
            if case[HEAD + 4 * e + 2 * k] > widest_tile(ns, cuts, spread, d):
                return True
    return False


@called_leaf
def around_window(
    ns: Nest, tiles: OuterTiles, spread: Ints, cuts: Ints, case: Ints, least: Ints
) -> OuterTiles:
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
    return OuterTiles(
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
    """Return how many steps of a dimension cost less than what is sought at most.

    All dimensions take the fewest steps otherwise: those that are sought may already count more.
    """
    turns, most, others = cuts[3, d], ns.bounds[d], 1.0
    for k in range(cuts.shape[1]):
        others *= cuts[3, k] if k != d else 1
    while turns < most:
        middle = (turns + most + 1) // 2
        if value_of(ns, sought.goal, cost, others * middle) >= sought.ceiling:
            most = middle - 1
        else:
            turns = middle
    return int(turns)


@leaf
def most_of_instance(
    ns: Nest, cuts: Ints, spread: Ints, d: int, cost: Floats, sought: Sought
) -> int:
    """Return how many iterations of a window's dimension an instance has: one a step at most."""
    if spread[d] == 1 or not ns.relevant[ns.window, d]:
        return int(ns.bounds[d])
    return most_steps(ns, cuts, d, cost, sought)


@leaf
def changes_inside(ns: Nest, tiles: OuterTiles, j: int, e: int) -> bool:
    """Whether the carried tile has other words at the end of the j-th one's stay than at its begin.

    It does if that one stays through more of a dimension than the carried tile spans in all
    instances. A loop on it then stands inside of the j-th tile. It has several steps in every
    instance, and begins anew with every loop around: the carried tile then has none of the words
    that it had before.

    Parameters
    ----------
    e : int
        The expression of the window whose dimensions do not count.
    """
    for d in range(len(ns.bounds)):
        if ns.owner[d] != tiles.order[j] or not ns.relevant[ns.window, d]:
            continue
        if d == ns.terms[ns.window, e, 0] or d == ns.terms[ns.window, e, 2]:
            continue
        # the shortest stay that cuts the bound into as many chunks
        stay = chunks(ns.bounds[d], chunks(ns.bounds[d], tiles.size[0, d]))
        if tiles.spans[0, d] < stay:
            return True
    return False


@called_leaf
def limit_carried(
    ns: Nest,
    tiles: OuterTiles,
    instances: Instances,
    cuts: Ints,
    window: InnerWindow,
    between: Between,
    sought: Sought,
) -> None:
    """Lower what the carried tile serves of its own window to what tiles around it allow.

    Where a tile around it stays through all of one dimension of an expression, other loops on the
    second one than those inside of that tile begin a run anew. That finds what the first tile has
    in common with the last one before, each instance for itself, or nothing, see `changes_inside`.
    The cost between is that without such limits.
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
        far[4, d] = most_of_instance(ns, cuts, instances.spread, d, cost, sought)
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
                anew = changes_inside(ns, tiles, j, e)
                found = 0.0 if anew else met_again(m, n, run, a, b, n)
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
    tiles: OuterTiles,
    instances: Instances,
    cuts: Ints,
    window: InnerWindow,
    begin: Floats,
    between: Between,
    sought: Sought,
) -> float:
    """Return the value of tiles with what their windows serve, above and below the array.

    It is infinite where the tile of the window below the array leaves no room to those above it,
    or an instance has less than that tile.
    """
    t = ns.window
    if len(window.slide) > 0:
        if spans_more(ns, cuts, instances.spread, window.slide[0]):
            return np.inf
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
    slid_below(ns, tiles, instances, cuts, window, begin, between, sought)
    if outside:
        return slid_value(ns, tiles, instances, cuts, same, between.lower, cost, sought)
    add_outer(ns, tiles, instances.spread, cuts, np.inf, same, between.lower, cost)
    return value_of(ns, sought.goal, cost, sought.steps)
