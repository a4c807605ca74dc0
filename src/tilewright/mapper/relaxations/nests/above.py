"""Tiles in the memory above the array: whether they fit, and what comes in of a sliding window."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.relaxations.nests.served import pairs_of, rarely
from tilewright.mapper.relaxations.nests.window_spans import chunks, tile_words, within
from tilewright.mapper.windows.slides import gcd

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


@leaf
def is_held(ns: Nest, place: Ints, carried: int, d: int) -> bool:
    """Whether a tile lies inside that of the carried tensor, and stays no longer than it spans."""
    nt = len(ns.words)
    own = ns.owner[d]
    return bool(own >= 0 and 0 <= place[nt] < place[own] and ns.relevant[carried, d])


@called_leaf
def fits_outer(
    ns: Nest,
    order: Ints,
    place: Ints,
    carried: int,
    size: Ints,
    least: Ints,
    last: int,
    grown: Ints,
    extents: Ints,
) -> bool:
    """Whether the tiles fit the outer memories; they span what those inside them stay through.

    Those up to the last-th, if any, are grown at least.
    """
    for group in range(len(ns.outer_room)):
        if not fits_one(ns, order, place, carried, size, least, last, grown, extents, group):
            return False
    return True


@called_leaf
def fits_one(
    ns: Nest,
    order: Ints,
    place: Ints,
    carried: int,
    size: Ints,
    least: Ints,
    last: int,
    grown: Ints,
    extents: Ints,
    group: int,
) -> bool:
    """Whether the tiles fit that one of several outer memories keeps."""
    nt = len(ns.words)
    total = 0.0
    for i in range(len(order)):
        t = order[i]
        if t < 0 or t == nt or ns.outer_group[t] != group:
            continue
        for d in range(len(least)):
            own = ns.owner[d]
            extents[d] = least[d]
            if i <= last:
                extents[d] = max(least[d], grown[d])
            if own < 0:
                continue
            if place[own] > i:
                extents[d] = max(extents[d], size[0, d])
            if own == carried and place[nt] > i:
                extents[d] = max(extents[d], size[1, d])
        bits = ns.outer_bits[t] * tile_words(ns, t, extents)
        if bits > ns.outer_share[t]:
            return False
        total += bits
    return bool(total <= ns.outer_room[group])


@part
def fill_spans(ns: Nest, order: Ints, size: Ints, active: Ints, spans: Ints) -> None:
    """Fill what the outermost tile in the inner memories spans at most, in all instances."""
    place = np.full(len(ns.words), -1, np.int64)
    for i in range(len(order)):
        place[order[i]] = i
    grown, extents = np.ones(len(size), np.int64), np.empty(len(size), np.int64)
    for d in range(len(size)):
        spans[d] = ns.bounds[d]
        if len(order) > 0 and ns.window >= 0 and ns.relevant[ns.window, d]:
            own = within(ns, order, size, place, 0, d, grown, extents)
            spans[d] = min(spans[d], own * active[d])


@leaf
def longest_stay(bound: int, stay: int) -> int:
    """Return the longest stay that cuts a bound into as many chunks."""
    count = chunks(bound, stay)
    return int((bound - 1) // (count - 1) if count > 1 else bound)


@called_leaf
def holds(
    ns: Nest,
    order: Ints,
    place: Ints,
    carried: int,
    size: Ints,
    least: Ints,
    j: int,
    run: int,
    other: int,
    grown: Ints,
    extents: Ints,
) -> bool:
    """Whether the tile of the window may span all that the j-th one stays through.

    But for two dimensions, if any.
    """
    own = carried if order[j] == len(ns.words) else order[j]
    row = 1 if order[j] == len(ns.words) else 0
    for d in range(len(least)):
        grown[d] = 1
        if ns.owner[d] == own and d not in (run, other):
            grown[d] = size[row, d]
    return fits_outer(ns, order, place, carried, size, least, place[ns.window], grown, extents)


@called_leaf
def spans_at_most(
    ns: Nest,
    order: Ints,
    place: Ints,
    carried: int,
    size: Ints,
    least: Ints,
    j: int,
    d: int,
    grown: Ints,
    extents: Ints,
) -> int:
    """Return how much of a dimension the j-th tile spans at most."""
    for k in range(len(least)):
        grown[k] = 1
    low, high = 1, ns.bounds[d]
    while low < high:
        grown[d] = (low + high + 1) // 2
        if fits_outer(ns, order, place, carried, size, least, j, grown, extents):
            low = grown[d]
        else:
            high = grown[d] - 1
    return int(low)


@called_leaf
def window_serves(
    ns: Nest,
    order: Ints,
    place: Ints,
    carried: int,
    size: Ints,
    least: Ints,
    spans: Ints,
    first: int,
    closer: bool,
    grown: Ints,
    extents: Ints,
) -> float:
    """Return how many iterations of windows give the same word in the outer memory at most.

    It slides along one expression, or comes back; of the others it spans what fits.
    While a tile outside of that of the window stays, all that its loops inside span comes in. The
    window's tile slides on, or comes back, beyond that only if it spans what the other one stays
    through, but for the dimensions along which it does so.

    Parameters
    ----------
    size : array of (2, dimensions)
        How long tiles stay, and the carried one; as few as cut the bounds into so many chunks.
    least : array of dimensions
        What all instances together span at least.
    spans : array of dimensions
        What the carried tile spans at most, see `fill_spans`.
    first : int
        The first tile that is looked at.
    closer : bool
        Whether it is counted that the tile slides along one expression only.
    """
    t, nt = ns.window, len(ns.words)
    served, most = 1.0, 1.0
    for e in range(ns.terms.shape[1]):
        d, a, o, b = ns.terms[t, e]
        if o < 0:
            continue
        g = gcd(a, b)
        a, b = a // g, b // g
        far, wide, back = ns.bounds[d], ns.bounds[o], 1.0
        for j in range(place[t] - 1, first - 1, -1):
            below = order[j] == nt
            own = carried if below else order[j]
            mine, others = ns.owner[d] == own, ns.owner[o] == own
            if mine == others:
                continue
            if not below:
                if holds(ns, order, place, carried, size, least, j, d, o, grown, extents):
                    continue
                for k in range(2):
                    x = d if k == 0 else o
                    if ns.owner[x] == own and is_held(ns, place, carried, x):
                        reach = spans[x]
                    elif ns.owner[x] == own:
                        reach = longest_stay(ns.bounds[x], size[0, x])
                    else:
                        reach = spans_at_most(
                            ns, order, place, carried, size, least, j, x, grown, extents
                        )
                    if k == 0:
                        far = min(far, reach)
                    else:
                        wide = min(wide, reach)
                continue
            # the carried tile stays through x and spans some of y
            x, y, step = (d, o, a) if mine else (o, d, b)
            if holds(ns, order, place, carried, size, least, j, -1, -1, grown, extents):
                continue
            reach = longest_stay(ns.bounds[x], size[1, x])
            if holds(ns, order, place, carried, size, least, j, x, -1, grown, extents):
                if spans[y] >= step:
                    continue
                # with loops around those on the other dimension it comes back after some runs
                if reach < ns.bounds[x]:
                    back = max(back, rarely(spans[y], step, False, 2.0))
                reach = ns.bounds[x]
            if mine:
                far, wide = min(far, reach), min(wide, spans[y])
            else:
                far, wide = min(far, spans[y]), min(wide, reach)
        own_pairs = pairs_of(far, wide, ns.bounds[d], ns.bounds[o], False, False, a, b)
        slid = min(ns.pairs[t, e], own_pairs * back)
        if not closer:
            served *= slid
            continue
        m = spans_at_most(ns, order, place, carried, size, least, place[t], d, grown, extents)
        n = spans_at_most(ns, order, place, carried, size, least, place[t], o, grown, extents)
        stays = min(slid, pairs_of(m, n, ns.bounds[d], ns.bounds[o], False, False, a, b))
        served *= stays
        most = max(most, slid / stays)
    return served * most
