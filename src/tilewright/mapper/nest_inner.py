"""Tiles in the memory below an array, and what they cost at least in every spatial choice."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.labels import objective_value
from tilewright.mapper.slides import pair_words
from tilewright.model.kernel import kernel, leaf, part

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.nest import Nest


@leaf
def chunks(bound: int, tile: int) -> int:
    """Return the least number of chunks of a bound that are no larger than a tile."""
    return (bound + tile - 1) // tile


@leaf
def tile_words(ns: Nest, t: int, extents: Ints) -> float:
    """Return the words of a tile."""
    words = 1.0
    for e in range(ns.terms.shape[1]):
        d, a, o, b = ns.terms[t, e]
        if o >= 0:
            words *= pair_words(extents[d], extents[o], a, b, False)
        elif d >= 0:
            words *= extents[d]
    return words


@leaf
def value_of(ns: Nest, goal: Floats, cost: Floats, steps: float) -> float:
    """Return what is minimised."""
    cycles = steps * ns.cycles
    for r in range(1, len(cost)):
        cycles = max(cycles, cost[r])
    value, _ = objective_value(goal, cost[0] + ns.leakage * cycles, cycles)
    return float(value)


@leaf
def extent(ns: Nest, size: Ints, place: Ints, i: int, d: int) -> int:
    """Return the extent of the i-th tile: what the tile inside it stays through.

    That of the outermost tile is free where the dimension's owner is not kept.
    """
    own = ns.owner[d]
    spans = own >= 0 and (place[own] > i or (i == 0 and place[own] < 0))
    return int(size[d]) if spans else 1


@leaf
def fits(ns: Nest, order: Ints, size: Ints, place: Ints, extents: Ints) -> bool:
    """Whether the tiles fit the inner memory."""
    return fits_with(ns, order, size, place, -1, 0, 0, extents)


@leaf
def fits_with(
    ns: Nest,
    order: Ints,
    size: Ints,
    place: Ints,
    last: int,
    dimension: int,
    least: int,
    extents: Ints,
) -> bool:
    """Whether they fit where the tiles up to the last-th have so much of a dimension at least."""
    total = 0.0
    for i in range(len(order)):
        t = order[i]
        for d in range(len(size)):
            extents[d] = extent(ns, size, place, i, d)
        if i <= last:
            extents[dimension] = max(extents[dimension], least)
        bits = ns.inner_bits[t] * tile_words(ns, t, extents)
        if bits > ns.inner_share[t]:
            return False
        total += bits
    return total <= ns.inner_room


@leaf
def spans_outside(
    ns: Nest, order: Ints, size: Ints, place: Ints, t: int, extents: Ints, spans: Ints
) -> None:
    """Fill how much of the dimensions of its windows a tile has at most.

    That is what the tile stays through that lies outside or directly inside, and no more than fits:
    the tiles outside span no less.
    """
    for e in range(ns.terms.shape[1]):
        for k in range(2):
            d = ns.terms[t, e, 2 * k]
            if d < 0:
                continue
            own = ns.owner[d]
            spans[t, e, k] = ns.bounds[d]
            if t != ns.window or place[t] == 0:
                continue
            inside = own >= 0 and 0 < place[own] <= place[t] + 1
            if inside or (own >= 0 and place[own] < 0):
                spans[t, e, k] = size[d]
            low, high = 1, spans[t, e, k]
            while low < high:
                middle = (low + high + 1) // 2
                if fits_with(ns, order, size, place, place[t], d, middle, extents):
                    low = middle
                else:
                    high = middle - 1
            spans[t, e, k] = low


@leaf
def same_words(ns: Nest, t: int, spans: Ints, spread: Ints, active: Ints, together: bool) -> float:
    """Return how many iterations of a tensor's windows give the same word at most while it stays.

    The tile may slide along one expression; the other expressions stay as they are.

    Parameters
    ----------
    spans : array of (tensors, expressions, 2)
        The most that a tile spans.
    spread, active : arrays of dimensions
        Instances that it takes for even chunks, and the most that work at a time.
    together : bool
        Whether words are counted that all instances share.
    """
    most = 1.0
    for slid in range(-1, ns.terms.shape[1]):
        served = 1.0
        for e in range(ns.terms.shape[1]):
            d, a, o, b = ns.terms[t, e]
            if o < 0:
                continue
            m, n = spans[t, e, 0], spans[t, e, 1]
            whole, other = ns.bounds[d], ns.bounds[o]
            # an instance for each iteration has only one
            first, second = spread[d] < whole, spread[o] < other
            if together and (active[d] > 1 or active[o] > 1):
                m, n = min(whole, m * active[d]), min(other, n * active[o])
                own = sum_of_sets(m, n, whole, other, a, b)
                if e == slid:
                    own = max(
                        sum_of_sets(whole, n, whole, other, a, b),
                        sum_of_sets(m, other, whole, other, a, b),
                    )
                    if first and second:
                        own = ns.pairs[t, e]
            else:
                if not first:
                    m = whole = 1
                if not second:
                    n = other = 1
                own = m * n / pair_words(m, n, a, b, False)
                if e == slid:
                    own = max(own, slid_along(m, n, whole, a, b), slid_along(n, m, other, b, a))
                    if first and second:
                        own = max(own, come_back(m, n, whole, other, a, b))
            served *= min(ns.pairs[t, e], own)
        most = max(most, served)
    return most


@leaf
def sum_of_sets(m: int, n: int, whole: int, other: int, a: int, b: int) -> float:
    """Return the pairs for a word of a*i + b*j at most, for m values of i and n of j, anywhere.

    In each class of remainders, two sets add up to |A| + |B| - 1 words at least.
    """
    g = gcd(a, b)
    classes = chunks(n, chunks(other, a // g))
    words = n + classes * (m - 1)
    classes = chunks(m, chunks(whole, b // g))
    return m * n / max(words, m + classes * (n - 1))


@leaf
def slid_along(m: int, n: int, whole: int, a: int, b: int) -> float:
    """Return the pairs for a word at most where a tile of m x n slides along the first term.

    It shares words with the tile before.
    """
    g = gcd(a, b)
    kept = max(0, n - a // g) * min(1.0, max(0, 2 * m - b // g) / m)
    return whole * n / (n + (whole - 1) * (n - kept))


@leaf
def come_back(m: int, n: int, whole: int, other: int, a: int, b: int) -> float:
    """Return the pairs for a word at most where a tile slides along one term and then comes back.

    The tile is the same when the loop on the other term has moved it by as much as the run along
    the one, see `slides.back_and_forth`. With a step a > 1 of the one and b = 1, the values of the
    other need the same remainders.
    """
    if a == 1 and b == 1:
        return float(m + n)
    g = gcd(a, b)
    if b == g and other < 2 * (a // g):
        return other / (a // g)
    if a == g and whole < 2 * (b // g):
        return whole / (b // g)
    return np.inf


@kernel
def inner_tiles(ns: Nest, most: int) -> tuple[Ints, Ints, Ints]:
    """Return all tiles that fit the inner memory.

    Parameters
    ----------
    most : int
        Where there are more, what is returned has more rows.

    Returns
    -------
    array of tiles
        Row of `inner_orders`.
    array of (tiles, dimensions)
        Iterations that the tile of the dimension's owner stays through; where it is not kept,
        extents of the outermost tile; else 1.
    array of (tiles, tensors, expressions, 2)
        See `spans_outside`.
    """
    nd, nt, ne = len(ns.bounds), len(ns.words), ns.terms.shape[1]
    room = 1 << 10
    which = np.empty(room, np.int64)
    sizes = np.empty((room, nd), np.int64)
    spans = np.ones((room, nt, ne, 2), np.int64)
    n = 0
    size, extents, free = np.ones((3, nd), np.int64)
    place = np.empty(nt, np.int64)
    for o in range(len(ns.inner_orders)):
        order = ns.inner_orders[o]
        place[:] = -1
        for i in range(len(order)):
            place[order[i]] = i
        open_ones = 0
        size[:] = 1
        for d in range(nd):
            own = ns.owner[d]
            kept = own >= 0 and place[own] > 0
            alone = own >= 0 and place[own] < 0 and len(order) > 0
            if kept or alone:
                free[open_ones] = d
                open_ones += 1
        more = fits(ns, order, size, place, extents)
        while more and n <= most:
            if n == room:
                which = np.concatenate((which, which))
                sizes = np.concatenate((sizes, sizes))
                spans = np.concatenate((spans, spans))
                room *= 2
            which[n] = o
            sizes[n] = size
            for i in range(len(order)):
                spans_outside(ns, order, size, place, order[i], extents, spans[n])
            n += 1
            more = False
            k = open_ones - 1
            while k >= 0 and not more:
                d = free[k]
                size[d] += 1
                more = size[d] <= ns.bounds[d] and fits(ns, order, size, place, extents)
                if not more:
                    size[d] = 1
                    k -= 1
    return which[:n], sizes[:n], spans[:n]


@leaf
def add_inner(
    ns: Nest, order: Ints, spans: Ints, spread: Ints, active: Ints, times: Ints, cost: Floats
) -> None:
    """Add what comes into the inner memory, but for the outermost tile.

    Parameters
    ----------
    times : array of (3, dimensions)
        The steps of each dimension, one after the other, and how often the tile of its owner
        changes: in all instances, and one after the other.
    """
    for i in range(1, len(order)):
        t = order[i]
        got = sent = 1.0
        for d in range(times.shape[1]):
            if ns.owner[d] == t:
                got *= times[1, d]
                sent *= times[2, d]
        got *= max(ns.words[t], ns.points[t] / same_words(ns, t, spans, spread, active, False))
        sent *= max(ns.words[t], ns.points[t] / same_words(ns, t, spans, spread, active, True))
        if not ns.unites[t]:
            sent = got
        for r in range(len(cost)):
            cost[r] += ns.sent[r, t] * sent + ns.received[r, t] * got


@leaf
def add_direct(ns: Nest, active: Ints, times: Ints, cost: Floats) -> None:
    """Add what the compute unit reads through the array, with no memory below it.

    A sum of sets has at least |A| + |B| - 1 elements: those are the words that instances along the
    dimensions of a window read in a step.
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
            d, _, o, _ = ns.terms[t, e]
            if o >= 0:
                both = active[d] * active[o] / (active[d] + active[o] - 1)
                united *= min(ns.pairs[t, e], both)
        sent *= max(ns.words[t], ns.points[t] / united)
        if not ns.unites[t]:
            sent = got
        for r in range(len(cost)):
            cost[r] += ns.sent[r, t] * sent + ns.received[r, t] * got


@leaf
def add_outermost(ns: Nest, order: Ints, spread: Ints, cost: Floats) -> None:
    """Add the least that the outermost tile of the inner memory and the outer memory cost."""
    for t in range(len(ns.words)):
        instances = 1.0
        for d in range(len(spread)):
            if ns.owner[d] == t:
                instances *= spread[d]
        for r in range(len(cost)):
            if ns.outside[t]:
                cost[r] += ns.price[r, t] * ns.words[t]
            if len(order) and order[0] == t:
                sent = 1.0 if ns.unites[t] else instances
                cost[r] += (ns.sent[r, t] * sent + ns.received[r, t] * instances) * ns.words[t]


@part
def growing_runs(which: Ints, sizes: Ints) -> Ints:
    """Return where runs of tiles begin that grow from one to the next, and the end of the last."""
    begins = np.empty(len(which) + 1, np.int64)
    n = 0
    for c in range(len(which)):
        if c == 0 or which[c] != which[c - 1] or (sizes[c] < sizes[c - 1]).any():
            begins[n] = c
            n += 1
    begins[n] = len(which)
    return begins[: n + 1]


@kernel
def likely(
    ns: Nest,
    which: Ints,
    sizes: Ints,
    spans: Ints,
    spreads: Ints,
    actives: Ints,
    goal: Floats,
    ceiling: float,
    most: int,
) -> tuple[Ints, Ints, Floats, bool]:
    """Return the spatial choices and inner tiles that may cost less than a ceiling.

    Parameters
    ----------
    which, sizes, spans
        As `inner_tiles` returns them.
    spreads, actives
        As `nest.spatial_choices` returns them.
    most : int
        Pairs that are looked at; where there are more, it ends.

    Returns
    -------
    two arrays of ints
        Rows of `spreads`, and of the tiles.
    array of pairs
        What they cost at least.
    bool
        Whether these are all.
    """
    nr, nd = len(ns.base), len(ns.bounds)
    room = 1 << 10
    choice, tile = np.empty((2, room), np.int64)
    values = np.empty(room)
    n = 0
    times = np.ones((3, nd), np.int64)
    alone = np.ones(nd, np.int64)
    begin, cost = np.empty((2, nr))
    begins = growing_runs(which, sizes)
    # what the largest tile of a run costs at least in any spatial choice, the cheapest ones first
    floor = np.zeros((len(begins) - 1, nr))
    for k in range(len(floor)):
        c = begins[k + 1] - 1
        order = ns.inner_orders[which[c]]
        times[0], times[2] = 1, 1
        for d in range(nd):
            times[1, d] = chunks(ns.bounds[d], sizes[c, d])
        add_inner(ns, order, spans[c], alone, ns.bounds, times, floor[k])
        add_outermost(ns, order, alone, floor[k])
    ranking = np.argsort(floor[:, 0])
    looks = 0
    for s in range(len(spreads)):
        if looks > most:
            return choice[:n], tile[:n], values[:n], False
        steps = 1.0
        for d in range(nd):
            times[0, d] = chunks(ns.bounds[d], spreads[s, d])
            steps *= times[0, d]
        begin[:] = ns.base
        add_direct(ns, actives[s], times, begin)
        for k in ranking:
            cost[:] = begin
            cost[0] += floor[k, 0]
            if value_of(ns, goal, cost, steps) >= ceiling:
                break
            for c in range(begins[k + 1] - 1, begins[k] - 1, -1):
                looks += 1
                possible = True
                for d in range(nd):
                    size = sizes[c, d]
                    possible &= size * (spreads[s, d] - 1) < ns.bounds[d]
                    times[1, d], times[2, d] = chunks(ns.bounds[d], size), chunks(times[0, d], size)
                if not possible:
                    continue
                order = ns.inner_orders[which[c]]
                cost[:] = begin
                add_inner(ns, order, spans[c], spreads[s], actives[s], times, cost)
                add_outermost(ns, order, spreads[s], cost)
                value = value_of(ns, goal, cost, steps)
                if value >= ceiling:
                    break  # smaller tiles cost more
                if n == room:
                    choice, tile = np.concatenate((choice, choice)), np.concatenate((tile, tile))
                    values = np.concatenate((values, values))
                    room *= 2
                choice[n], tile[n], values[n] = s, c, value
                n += 1
    return choice[:n], tile[:n], values[:n], True
