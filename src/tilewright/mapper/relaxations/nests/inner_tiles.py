"""Tiles in the memory below an array, and what they cost at least in every spatial choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.ascending import ascending
from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import called_leaf, kernel, leaf, part
from tilewright.kernels.record import record
from tilewright.mapper.label.labels import objective_value
from tilewright.mapper.relaxations.nests.sliding.served import fill_same
from tilewright.mapper.relaxations.nests.sliding.stay_limits import (
    MOST_DIMENSIONS,
    stay_limit,
    stay_limit_together,
    windows_of,
)
from tilewright.mapper.relaxations.nests.sliding.window_spans import (
    FIELDS,
    Instances,
    Nested,
    chunks,
    fits,
)
from tilewright.mapper.windows.slides import step_words

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


@leaf
def value_of(ns: Nest, goal: Floats, cost: Floats, steps: float) -> float:
    """Return what is minimised."""
    cycles = steps * ns.cycles
    for r in range(1, len(cost)):
        cycles = max(cycles, cost[r])
    value, _ = objective_value(goal, cost[0] + ns.leakage * cycles, cycles)
    return float(value)


@record
class Inner(NamedTuple):
    """Tiles in the memory below the array.

    Attributes
    ----------
    which : array of tiles
        Row of `inner_orders`.
    sizes : array of (tiles, dimensions)
        Iterations that the tile of the dimension's owner stays through; where it is not kept,
        extents of the outermost tile; else 1.
    kinds : array of tiles
        How far loops on windows reach, see `windows_of`.
    windows : array of (tiles, expressions, FIELDS)
        Of the tensor with windows, see `windows_of`.
    limits : array of (tiles, dimensions + 4)
        How long the outermost tile stays at most in an instance, see `windows_of`.
    """

    which: Ints
    sizes: Ints
    kinds: Ints
    windows: Ints
    limits: Ints


@kernel
def inner_tiles(ns: Nest, most: int) -> Inner:
    """Return all tiles that fit the inner memory, or more than `most` of them."""
    nd, nt, ne = len(ns.bounds), len(ns.words), ns.terms.shape[1]
    room = 1 << 10
    which, kinds = np.empty(room, np.int64), np.empty(room, np.int64)
    sizes, limits = np.empty((room, nd), np.int64), np.empty((room, nd + 4), np.int64)
    windows = np.ones((room, ne, FIELDS), np.int64)
    n = 0
    own = np.ones((5, nd), np.int64)
    size, spanned, free = own[0], own[1], own[4]
    place = np.empty(nt, np.int64)
    for o in range(len(ns.inner_orders)):
        order = ns.inner_orders[o]
        place[:] = -1
        for i in range(len(order)):
            place[order[i]] = i
        nested = Nested(order, size, place, own[2], own[3])
        open_ones = 0
        size[:] = 1
        for d in range(nd):
            t = ns.owner[d]
            kept = t >= 0 and place[t] > 0
            alone = t >= 0 and place[t] < 0 and len(order) > 0
            if kept or alone:
                free[open_ones] = d
                open_ones += 1
        more = fits(ns, nested, -1)
        while more and n <= most:
            if n + 2 * ne + 2 > room:
                which, kinds = np.concatenate((which, which)), np.concatenate((kinds, kinds))
                sizes, limits = np.concatenate((sizes, sizes)), np.concatenate((limits, limits))
                windows = np.concatenate((windows, windows))
                room *= 2
            for kind in range(2 + 2 * ne):
                if windows_of(ns, nested, kind, spanned, windows[n], limits[n]):
                    which[n], kinds[n] = o, kind
                    copy(size, sizes[n])
                    n += 1
            more = False
            k = open_ones - 1
            while k >= 0 and not more:
                d = free[k]
                size[d] += 1
                more = size[d] <= ns.bounds[d] and fits(ns, nested, -1)
                if not more:
                    size[d] = 1
                    k -= 1
    return Inner(which[:n], sizes[:n], kinds[:n], windows[:n], limits[:n])


@called_leaf
def add_inner(ns: Nest, order: Ints, same: Floats, times: Ints, cost: Floats) -> float:
    """Add what comes into the inner memory, but for the outermost tile.

    The energy is returned of what is sent past the outer memory.

    Parameters
    ----------
    same : array of (2, tensors)
        Iterations of windows that give the same word at most, see `served.fill_same`.
    times : array of (3, dimensions)
        The steps of each dimension, one after the other, and how often the tile of its owner
        changes: in all instances, and one after the other.
    """
    past = 0.0
    for i in range(1, len(order)):
        t = order[i]
        got = sent = 1.0
        for d in range(times.shape[1]):
            if ns.owner[d] == t:
                got *= times[1, d]
                sent *= times[2, d]
        got *= max(ns.words[t], ns.points[t] / same[0, t])
        sent *= max(ns.words[t], ns.points[t] / same[1, t])
        if not ns.unites[t]:
            sent = got
        for r in range(len(cost)):
            cost[r] += ns.sent[r, t] * sent + ns.received[r, t] * got
        if not ns.outside[t]:
            past += ns.sent[0, t] * sent
    return past


@called_leaf
def add_direct(ns: Nest, active: Ints, times: Ints, cost: Floats) -> None:
    """Add what the compute unit reads through the array, with no memory below it.

    Instances along the dimensions of a window share some of what they read in a step.
    """
    for t in range(len(ns.words)):
        if ns.inside[t]:
            continue
        got = ns.points[t]
        sent = 1.0
        for d in range(times.shape[1]):
            if ns.owner[d] == t:
                got *= ns.bounds[d]
                sent *= times[0, d]
        united = 1.0
        for e in range(ns.terms.shape[1]):
            d, a, o, b = ns.terms[t, e]
            if o >= 0:
                whole, other = ns.bounds[d], ns.bounds[o]
                words = step_words(active[d], active[o], whole, other, a, b)
                united *= min(ns.pairs[t, e], whole * other / words)
        sent *= max(ns.words[t], ns.points[t] / united)
        if not ns.unites[t]:
            sent = got
        for r in range(len(cost)):
            cost[r] += ns.sent[r, t] * sent + ns.received[r, t] * got


@called_leaf
def add_outermost(
    ns: Nest, order: Ints, same: Floats, limits: Ints, instances: Instances, cost: Floats
) -> None:
    """Add the least that the outermost tile of the inner memory and the outer memory cost."""
    spread, active = instances.spread, instances.active
    for t in range(len(ns.words)):
        count = stays = limited = 1.0
        for d in range(len(spread)):
            if ns.owner[d] == t:
                count *= spread[d]
                stays *= chunks(ns.bounds[d], stay_limit(ns, limits, active, d))
                if limits[d] >= 0:
                    limited *= ns.bounds[d]
        for r in range(len(cost)):
            if ns.outside[t]:
                cost[r] += ns.price[r, t] * ns.words[t]
            if len(order) and order[0] == t:
                stays = max(stays, limited / stay_limit_together(ns, limits, active))
                got = max(count, stays) * max(ns.words[t], ns.points[t] / same[0, t])
                sent = stays * max(ns.words[t], ns.points[t] / same[1, t])
                sent = sent if ns.unites[t] else got
                cost[r] += ns.sent[r, t] * sent + ns.received[r, t] * got


@called_leaf
def add_all(
    ns: Nest,
    order: Ints,
    same: Floats,
    times: Ints,
    limits: Ints,
    instances: Instances,
    around: Floats,
    cost: Floats,
) -> None:
    """Add all of it, and no less energy than `around` says."""
    past = add_inner(ns, order, same, times, cost)
    inside = cost[0]
    add_outermost(ns, order, same, limits, instances, cost)
    carried = around[order[0] if len(order) else 0]
    cost[0] = max(cost[0], inside + carried, inside - past + around[len(ns.words)])


@part
def growing_runs(which: Ints, sizes: Ints) -> Ints:
    """Return where runs of tiles begin that grow from one to the next, and the end of the last."""
    begins = np.empty(len(which) + 1, np.int64)
    n = 0
    for c in range(len(which)):
        grows = c > 0 and which[c] == which[c - 1]
        for d in range(sizes.shape[1]):
            grows = grows and sizes[c, d] >= sizes[c - 1, d]
        if not grows:
            begins[n] = c
            n += 1
    begins[n] = len(which)
    return begins[: n + 1]


@kernel
def likely(
    ns: Nest,
    inner: Inner,
    spreads: Ints,
    actives: Ints,
    around: Floats,
    goal: Floats,
    ceiling: float,
) -> tuple[Ints, Ints, Floats, int]:
    """Return the spatial choices and inner tiles that may cost less than a ceiling.

    Parameters
    ----------
    spreads, actives
        As `instances.spatial_choices` returns them.
    around : array of (spreads, tensors + 1)
        Energy that the outer memory needs at least together with the outermost inner tile, by whose
        tile that is, and together with all that is sent past it.

    Returns
    -------
    two arrays of ints
        Rows of `spreads`, and of the tiles.
    array of pairs
        What they cost at least.
    int
        Pairs that were looked at.
    """
    nr, nd = len(ns.base), len(ns.bounds)
    room = 1 << 10
    choice, tile = np.empty(room, np.int64), np.empty(room, np.int64)
    values = np.empty(room)
    n = 0
    times = np.ones((3, nd), np.int64)
    one_alone = Instances(np.ones(nd, np.int64), ns.bounds)
    begin, cost = np.empty(nr), np.empty(nr)
    same, whole = np.empty((2, len(ns.words))), np.empty((2, len(ns.words)))
    begins = growing_runs(inner.which, inner.sizes)
    # what the largest tile of a run costs at least in any spatial choice, the cheapest ones first;
    # larger ones may leave less room to windows
    floor = np.zeros((len(begins) - 1, nr))
    sames = np.empty((len(floor), 2, len(ns.words)))
    windows = np.empty((len(floor), *inner.windows.shape[1:]), np.int64)
    limits = np.empty((len(floor), nd + 4), np.int64)
    least = np.full(len(ns.words) + 1, np.inf)
    for s in range(len(spreads)):
        for t in range(len(least)):
            least[t] = min(least[t], around[s, t])
    for k in range(len(floor)):
        c = begins[k + 1] - 1
        copy(inner.limits[c], limits[k])
        for e in range(windows.shape[1]):
            copy(inner.windows[c, e], windows[k, e])
        for i in range(begins[k], c):
            for e in range(windows.shape[1]):
                for f in range(FIELDS):
                    windows[k, e, f] = max(windows[k, e, f], inner.windows[i, e, f])
            for d in range(nd + 1):
                if min(limits[k, d], inner.limits[i, d]) < 0:
                    limits[k, d] = -1
                else:
                    limits[k, d] = max(limits[k, d], inner.limits[i, d])
            for run in (limits[k, nd + 1], inner.limits[i, nd + 1]):
                if run >= 0 and limits[k, nd + 1] != inner.limits[i, nd + 1]:
                    limits[k, run // MOST_DIMENSIONS] = limits[k, nd] = -1
            if limits[k, nd + 1] != inner.limits[i, nd + 1]:
                limits[k, nd + 1] = -1
        order = ns.inner_orders[inner.which[c]]
        times[0], times[2] = 1, 1
        for d in range(nd):
            times[1, d] = chunks(ns.bounds[d], inner.sizes[c, d])
        fill_same(ns, windows[k], one_alone, sames[k])
        add_all(ns, order, sames[k], times, limits[k], one_alone, least, floor[k])
    ranking, unused = np.empty(len(floor), np.int64), np.empty(len(floor), np.int64)
    ascending(floor[:, 0], ranking, unused)
    looks = 0
    for s in range(len(spreads)):
        instances = Instances(spreads[s], actives[s])
        steps = 1.0
        for d in range(nd):
            times[0, d] = chunks(ns.bounds[d], spreads[s, d])
            steps *= times[0, d]
        copy(ns.base, begin)
        add_direct(ns, actives[s], times, begin)
        for i in range(len(ranking)):
            k = int(ranking[i])
            copy(begin, cost)
            cost[0] += floor[k, 0]
            if value_of(ns, goal, cost, steps) >= ceiling:
                break
            filled = False
            for c in range(begins[k + 1] - 1, begins[k] - 1, -1):
                looks += 1
                possible = True
                for d in range(nd):
                    size = inner.sizes[c, d]
                    possible &= size * (spreads[s, d] - 1) < ns.bounds[d]
                    times[1, d], times[2, d] = chunks(ns.bounds[d], size), chunks(times[0, d], size)
                if not possible:
                    continue
                order = ns.inner_orders[inner.which[c]]
                own = around[s]
                copy(begin, cost)
                add_all(ns, order, sames[k], times, limits[k], instances, own, cost)
                if value_of(ns, goal, cost, steps) >= ceiling:
                    break  # smaller tiles cost more
                if ns.window >= 0:
                    if not filled:
                        fill_same(ns, windows[k], instances, whole)
                        filled = True
                    copy(begin, cost)
                    add_all(ns, order, whole, times, limits[k], instances, own, cost)
                    if value_of(ns, goal, cost, steps) >= ceiling:
                        break
                fill_same(ns, inner.windows[c], instances, same)
                copy(begin, cost)
                stays = inner.limits[c]
                add_all(ns, order, same, times, stays, instances, own, cost)
                value = value_of(ns, goal, cost, steps)
                if value >= ceiling:
                    continue
                if n == room:
                    choice, tile = np.concatenate((choice, choice)), np.concatenate((tile, tile))
                    values = np.concatenate((values, values))
                    room *= 2
                choice[n], tile[n], values[n] = s, c, value
                n += 1
    return choice[:n], tile[:n], values[:n], looks
