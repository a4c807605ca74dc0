"""How many iterations of a sliding window a word serves while tiles lie inside one another."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.slides import pair_words
from tilewright.model.kernel import called_leaf, leaf

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.nest import Nest

# what is known of an expression: the most that the tile spans of both dimensions, how far it may
# slide along them, along which it may come back, and how far both of them reach together
SPAN, RUN, FIRST, SECOND, FAR = 0, 2, 4, 5, 6
FIELDS = 8


@leaf
def chunks(bound: int, tile: int) -> int:
    """Return the least number of chunks of a bound that are no larger than a tile."""
    return (bound + tile - 1) // tile


@leaf
def copy(own: Floats | Ints, to: Floats | Ints) -> None:
    """Copy what fits: an assignment of arrays takes a tenth of a second to compile."""
    for i in range(min(len(own), len(to))):
        to[i] = own[i]


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
def extent(ns: Nest, size: Ints, place: Ints, i: int, d: int) -> int:
    """Return the extent of the i-th tile: what the tile inside it stays through.

    That of the outermost tile is free where the dimension's owner is not kept.
    """
    own = ns.owner[d]
    spans = own >= 0 and (place[own] > i or (i == 0 and place[own] < 0))
    return int(size[d]) if spans else 1


@leaf
def fits(
    ns: Nest,
    order: Ints,
    size: Ints,
    place: Ints,
    last: int,
    grown: Ints,
    extents: Ints,
) -> bool:
    """Whether the tiles fit the inner memory, those up to the last-th, if any, grown at least."""
    total = 0.0
    for i in range(len(order)):
        t = order[i]
        for d in range(len(size)):
            extents[d] = extent(ns, size, place, i, d)
            if i <= last:
                extents[d] = max(extents[d], grown[d])
        bits = ns.inner_bits[t] * tile_words(ns, t, extents)
        if bits > ns.inner_share[t]:
            return False
        total += bits
    return total <= ns.inner_room


@called_leaf
def most_of(
    ns: Nest,
    order: Ints,
    size: Ints,
    place: Ints,
    last: int,
    d: int,
    most: int,
    grown: Ints,
    extents: Ints,
) -> int:
    """Return how much of a dimension fits at most in the tiles up to the last-th."""
    low, high = 1, most
    while low < high:
        grown[d] = (low + high + 1) // 2
        if fits(ns, order, size, place, last, grown, extents):
            low = grown[d]
        else:
            high = grown[d] - 1
    grown[d] = 1
    return low


@leaf
def most_spanned(
    ns: Nest, order: Ints, size: Ints, place: Ints, t: int, d: int, grown: Ints, extents: Ints
) -> int:
    """Return how much of a dimension a tile spans at most.

    That is what the tile stays through that lies outside or directly inside, and no more than fits:
    the tiles outside span no less.
    """
    own = ns.owner[d]
    most = ns.bounds[d]
    inside = own >= 0 and 0 < place[own] <= place[t] + 1
    if inside or (own >= 0 and place[own] < 0):
        most = size[d]
    return most_of(ns, order, size, place, place[t], d, most, grown, extents)


@leaf
def reach(
    ns: Nest,
    order: Ints,
    size: Ints,
    place: Ints,
    t: int,
    d: int,
    run: int,
    other: int,
    beyond: bool,
    spanned: Ints,
    grown: Ints,
    extents: Ints,
) -> int:
    """Return how far loops on a dimension reach that no other loop relevant to a tile is inside of.

    Inside of the tile around it they reach as far as that one spans, or stays. Beyond they reach
    if what that one stays through is part of the tile.

    Parameters
    ----------
    run, other : int
        Dimensions whose loops may be inside of them, or -1.
    beyond : bool
        Whether they reach beyond the outermost tile.
    spanned : array of dimensions
        What the tile spans at most.
    """
    for i in range(place[t] - 1, -1, -1):
        own = order[i]
        if ns.owner[d] == own:
            most = size[d] if i > 0 else ns.bounds[d]
        elif i == 0 and ns.owner[d] >= 0 and place[ns.owner[d]] < 0:
            most = size[d]
        else:
            most = most_of(ns, order, size, place, i, d, ns.bounds[d], grown, extents)
        free = True
        for k in range(len(size)):
            if ns.owner[k] == own and k not in (run, other) and ns.bounds[k] > 1:
                free &= spanned[k] >= size[k] if i > 0 else beyond
        if not free:
            return int(most)
    return int(ns.bounds[d])


@leaf
def windows_of(
    ns: Nest,
    order: Ints,
    size: Ints,
    place: Ints,
    kind: int,
    spanned: Ints,
    grown: Ints,
    extents: Ints,
    windows: Ints,
    limits: Ints,
) -> bool:
    """Fill what is known of the windows of tiles, and how long the outermost one stays at most.

    Parameters
    ----------
    kind : int
        0 where loops on windows do not reach beyond the outermost tile, 1 where those do that a
        tile slides along, else those around them on the other dimension of expression kind - 2.
    grown : array of dimensions
        For use in between: ones.
    windows : array of (expressions, FIELDS)
    limits : array of (dimensions + 1)
        Of each dimension, or -1, and the most iterations of all limited ones together.

    Returns
    -------
    bool
        Whether this kind is different from kind 0.
    """
    t = ns.window
    nd = len(size)
    for d in range(nd + 1):
        limits[d] = -1
    for e in range(len(windows)):
        d, _, o, _ = ns.terms[t, e]
        windows[e, SPAN], windows[e, SPAN + 1] = ns.bounds[max(d, 0)], ns.bounds[max(o, 0)]
        windows[e, RUN], windows[e, RUN + 1] = windows[e, SPAN], windows[e, SPAN + 1]
        windows[e, FIRST], windows[e, SECOND] = 1, 1
        windows[e, FAR], windows[e, FAR + 1] = windows[e, SPAN], windows[e, SPAN + 1]
    if t < 0 or place[t] <= 0:
        return kind == 0
    for d in range(nd):
        spanned[d] = 1
        if ns.relevant[t, d]:
            spanned[d] = most_spanned(ns, order, size, place, t, d, grown, extents)
    differs = kind == 0
    for e in range(len(windows)):
        if ns.terms[t, e, 2] < 0:
            continue
        for k in range(2):
            d, o = ns.terms[t, e, 2 * k], ns.terms[t, e, 2 - 2 * k]
            slides, back = kind == 1, kind == 1 or kind == 2 + e
            far = reach(ns, order, size, place, t, d, d, -1, slides, spanned, grown, extents)
            around = reach(ns, order, size, place, t, o, d, -1, back, spanned, grown, extents)
            windows[e, SPAN + k], windows[e, RUN + k] = spanned[d], far
            windows[e, FAR + k] = reach(
                ns, order, size, place, t, d, d, o, back, spanned, grown, extents
            )
            windows[e, FIRST + k] = far > 1 and around > 1
            if kind == 1 and ns.owner[d] != order[0]:
                near = reach(ns, order, size, place, t, d, d, -1, False, spanned, grown, extents)
                differs |= far > near
            if kind == 2 + e and ns.owner[d] == order[0]:
                near = reach(ns, order, size, place, t, o, d, -1, False, spanned, grown, extents)
                differs |= around > near
    if kind > 0 and differs:
        limit_stays(ns, order, size, place, kind, spanned, grown, extents, limits)
    return differs


@leaf
def limit_stays(
    ns: Nest,
    order: Ints,
    size: Ints,
    place: Ints,
    kind: int,
    spanned: Ints,
    grown: Ints,
    extents: Ints,
    limits: Ints,
) -> None:
    """Fill how long the outermost tile stays at most where loops reach beyond it.

    What it stays through is part of the tile that slides.
    """
    t = ns.window
    first = second = -1
    together = 1
    for d in range(len(size)):
        own = kind > 1 and (d == ns.terms[t, kind - 2, 0] or d == ns.terms[t, kind - 2, 2])
        if ns.owner[d] != order[0] or own or ns.bounds[d] == 1:
            continue
        limits[d] = spanned[d]
        if first < 0:
            first = d
        elif second < 0:
            second = d
        else:
            together *= spanned[d]
    if second >= 0:
        most = 1
        for own in range(1, spanned[first] + 1):
            grown[first] = own
            other = most_of(
                ns, order, size, place, place[t], second, spanned[second], grown, extents
            )
            grown[second] = other
            if fits(ns, order, size, place, place[t], grown, extents):
                most = max(most, own * other)
            grown[second] = 1
        grown[first] = 1
        limits[len(size)] = together * most
    elif first >= 0:
        limits[len(size)] = spanned[first]


@leaf
def same_words(
    ns: Nest, t: int, windows: Ints, spread: Ints, active: Ints, together: bool
) -> float:
    """Return how many iterations of a tensor's windows give the same word at most while it stays.

    The tile may slide along one expression; the other expressions stay as they are.

    Parameters
    ----------
    windows : array of (expressions, FIELDS)
        See `windows_of`.
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
            most_pairs = ns.pairs[t, e]
            if t != ns.window:
                served *= most_pairs
                continue
            m, n = windows[e, SPAN], windows[e, SPAN + 1]
            far, wide = windows[e, RUN], windows[e, RUN + 1]
            whole, other = ns.bounds[d], ns.bounds[o]
            # where there is an instance for each iteration, it has no loops
            loops = spread[d] < whole and spread[o] < other
            along = loops and windows[e, FIRST] > 0
            across = loops and windows[e, SECOND] > 0
            if together and (active[d] > 1 or active[o] > 1):
                m, n = min(whole, m * active[d]), min(other, n * active[o])
                far, wide = min(whole, far * active[d]), min(other, wide * active[o])
                first, second = windows[e, FAR] * active[d], windows[e, FAR + 1] * active[o]
                first, second = min(whole, first), min(other, second)
                most_pairs = min(most_pairs, sum_of_sets(first, second, whole, other, a, b))
                own = sum_of_sets(m, n, whole, other, a, b)
                if e == slid:
                    own = max(own, sum_of_sets(far, n, whole, other, a, b))
                    own = max(own, sum_of_sets(m, wide, whole, other, a, b))
                    if along or across:
                        own = most_pairs
            else:
                if spread[d] == whole:
                    m = far = whole = 1
                if spread[o] == other:
                    n = wide = other = 1
                first, second = min(whole, windows[e, FAR]), min(other, windows[e, FAR + 1])
                words = pair_words(first, second, a, b, False)
                most_pairs = min(most_pairs, first * second / words)
                own = m * n / pair_words(m, n, a, b, False)
                if e == slid:
                    own = max(own, slid_along(m, n, far, a, b), slid_along(n, m, wide, b, a))
                    if along:
                        own = max(own, come_back(m, n, whole, other, a, b))
                    if across:
                        own = max(own, come_back(n, m, other, whole, b, a))
            served *= min(most_pairs, own)
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
def slid_along(m: int, n: int, run: int, a: int, b: int) -> float:
    """Return the pairs for a word at most where a tile of m x n slides along the first term.

    It shares words with the tile before.
    """
    g = gcd(a, b)
    kept = max(0, n - a // g) * min(1.0, max(0, 2 * m - b // g) / m)
    return run * n / (n + (run - 1) * (n - kept))


@leaf
def come_back(m: int, n: int, run: int, around: int, a: int, b: int) -> float:
    """Return the pairs for a word at most where a tile slides along the first term and comes back.

    The tile is the same when the loop on the other term has moved it by as much as the run, see
    `slides.back_and_forth`. Where a term makes steps, the values of the other one need the same
    remainders.

    Parameters
    ----------
    run, around : int
        Bounds of both dimensions.
    """
    if a == 1 and b == 1:
        return float(m + n)
    g = gcd(a, b)
    if b == g and around < 2 * (a // g):
        return 1.0
    if a == g and run < 2 * (b // g):
        return run / (b // g)
    return np.inf
