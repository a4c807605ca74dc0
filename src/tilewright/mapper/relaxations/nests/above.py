"""Tiles in the memory above the array: whether they fit, and what comes in of a sliding window."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.relaxations.nests.sliding.served import pairs_of, rarely, rarely_in_line
from tilewright.mapper.relaxations.nests.sliding.window_spans import (
    Nested,
    chunks,
    tile_words,
    within,
)
from tilewright.mapper.windows.slides import gcd, pair_words

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


class Tiles(NamedTuple):
    """Tiles in the memory above the array.

    Attributes
    ----------
    order : array
        Whose tiles they are, the outermost first; padded with -1. The number of tensors stands for
        the carried tile: the outermost one below the array.
    place : array of (tensors + 1)
        Where each stands in the order, or -1.
    carried : int
        Whose the carried tile is.
    size : array of (2, dimensions)
        How long tiles stay, and the carried one.
    least : array of dimensions
        What all instances together span at least.
    spans : array of dimensions
        What the carried tile spans at most, see `fill_spans`.
    grown, extents : arrays of dimensions
        For use in between.
    """

    order: Ints
    place: Ints
    carried: int
    size: Ints
    least: Ints
    spans: Ints
    grown: Ints
    extents: Ints


@leaf
def is_held(ns: Nest, place: Ints, carried: int, d: int) -> bool:
    """Whether a tile lies inside that of the carried tensor, and stays no longer than it spans."""
    nt = len(ns.words)
    own = ns.owner[d]
    return bool(own >= 0 and 0 <= place[nt] < place[own] and ns.relevant[carried, d])


@called_leaf
def fits_outer(
    ns: Nest,
    tiles: Tiles,
    last: int,
) -> bool:
    """Whether the tiles fit the outer memories; they span what those inside them stay through.

    Those up to the last-th, if any, are grown at least.
    """
    group = 0
    while group < len(ns.outer_room) and fits_one(ns, tiles, last, group):
        group += 1
    return group == len(ns.outer_room)


@called_leaf
def fits_one(
    ns: Nest,
    tiles: Tiles,
    last: int,
    group: int,
) -> bool:
    """Whether the tiles fit that one of several outer memories keeps."""
    order, place, carried, size = tiles.order, tiles.place, tiles.carried, tiles.size
    least, grown, extents = tiles.least, tiles.grown, tiles.extents
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
    nested = Nested(order, size, place, grown, extents)
    for d in range(len(size)):
        spans[d] = ns.bounds[d]
        if len(order) > 0 and ns.window >= 0 and ns.relevant[ns.window, d]:
            own = within(ns, nested, 0, d)
            spans[d] = min(spans[d], own * active[d])


@leaf
def longest_stay(bound: int, stay: int) -> int:
    """Return the longest stay that cuts a bound into as many chunks."""
    count = chunks(bound, stay)
    return int((bound - 1) // (count - 1) if count > 1 else bound)


@called_leaf
def holds(
    ns: Nest,
    tiles: Tiles,
    j: int,
    run: int,
    other: int,
    whole: bool,
) -> bool:
    """Whether the tile of the window may span all that the j-th one stays through.

    But for two dimensions, if any. With `whole` also what that one spans.
    """
    order, place, carried, size = tiles.order, tiles.place, tiles.carried, tiles.size
    least, grown = tiles.least, tiles.grown
    own = carried if order[j] == len(ns.words) else order[j]
    row = 1 if order[j] == len(ns.words) else 0
    for d in range(len(least)):
        grown[d] = 1
        if d in (run, other) or not ns.relevant[ns.window, d]:
            continue
        if ns.owner[d] == own:
            grown[d] = size[row, d]
        elif whole:
            grown[d] = spans_least(ns, tiles, j, d)
    return fits_outer(ns, tiles, place[ns.window])


@leaf
def spans_least(ns: Nest, tiles: Tiles, j: int, d: int) -> int:
    """Return what the j-th tile spans of a dimension at least: what those inside stay through."""
    place, carried, size, least = tiles.place, tiles.carried, tiles.size, tiles.least
    own, most = ns.owner[d], least[d]
    if own >= 0 and place[own] > j:
        most = max(most, size[0, d])
    if own == carried and place[len(ns.words)] > j:
        most = max(most, size[1, d])
    return int(most)


@called_leaf
def spans_at_most(
    ns: Nest,
    tiles: Tiles,
    j: int,
    d: int,
) -> int:
    """Return how much of a dimension the j-th tile spans at most."""
    least, grown = tiles.least, tiles.grown
    for k in range(len(least)):
        grown[k] = 1
    return int(grows_to(ns, tiles, j, d))


@called_leaf
def grows_to(
    ns: Nest,
    tiles: Tiles,
    j: int,
    d: int,
) -> int:
    """Return how much of a dimension tiles up to the j-th span at most, and `grown` of others."""
    grown = tiles.grown
    low, high = 1, ns.bounds[d]
    while low < high:
        grown[d] = (low + high + 1) // 2
        if fits_outer(ns, tiles, j):
            low = grown[d]
        else:
            high = grown[d] - 1
    return int(low)


@called_leaf
def comes_in(
    ns: Nest,
    tiles: Tiles,
    e: int,
    whole: bool,
) -> int:
    """Return how often the outermost tile comes in if the window's goes on along an expression.

    Or 1 where that may go on in any case. What the outermost tile stays through then is part of the
    tile of the window, but for the dimensions of the expression; with `whole` also what it spans.
    """
    order, place, carried, least = tiles.order, tiles.place, tiles.carried, tiles.least
    spans, grown = tiles.spans, tiles.grown
    t = ns.window
    d, a, o, b = ns.terms[t, e]
    below = order[0] == len(ns.words)
    own = carried if below else order[0]
    mine = ns.owner[d] == own
    if o < 0 or place[t] == 0 or mine == (ns.owner[o] == own):
        return 1
    x, y, step = (d, o, a) if mine else (o, d, b)
    if below:
        if whole or holds(ns, tiles, 0, -1, -1, False):
            return 1
        if spans[y] * gcd(a, b) >= step and holds(ns, tiles, 0, x, -1, False):
            return 1
    elif holds(ns, tiles, 0, d, o, whole):
        return 1
    times = 1
    for k in range(len(least)):
        if ns.owner[k] != own or k in (d, o) or not ns.relevant[t, k]:
            continue
        for i in range(len(least)):
            grown[i] = 1
            if whole and ns.relevant[t, i] and ns.owner[i] != own and i not in (d, o):
                grown[i] = spans_least(ns, tiles, 0, i)
        most = grows_to(ns, tiles, place[t], k)
        times *= chunks(ns.bounds[k], most)
    return int(max(2, times))


@leaf
def kept_share(
    ns: Nest,
    tiles: Tiles,
    j: int,
    e: int,
    times: int,
) -> float:
    """Return the share of words at most that is there when the j-th tile changes.

    The tile of the window is at the end then of some other dimension that the j-th one spans, and
    begins anew. It finds again what a window makes its first tile share with its last one.
    """
    order, place, size = tiles.order, tiles.place, tiles.size
    t = ns.window
    share = 0.0
    for x in range(ns.terms.shape[1]):
        d, a, o, b = ns.terms[t, x]
        if x == e or o < 0:
            continue
        g = gcd(a, b)
        m = spans_least(ns, tiles, j, d)
        n = spans_least(ns, tiles, j, o)
        # what the j-th tile stays through is all part of that of the window
        first, second = ns.owner[d] == order[j], ns.owner[o] == order[j]
        whole = j > 0 or times == 1
        if first:
            m = size[0, d] if whole else 1
        if second:
            n = size[0, o] if whole else 1
        words = pair_words(m, n, a, b, False)
        if not first and spans_least(ns, tiles, place[t], d) < m:
            share = max(share, ((b * (ns.bounds[o] - 1) - a) // g + 1) / words)
        if not second and spans_least(ns, tiles, place[t], o) < n:
            share = max(share, ((a * (ns.bounds[d] - 1) - b) // g + 1) / words)
    return min(1.0, share)


@called_leaf
def window_serves(
    ns: Nest,
    tiles: Tiles,
    times: int,
    closer: bool,
) -> float:
    """Return how many iterations of windows give the same word in the outer memory at most.

    It slides along one expression, or comes back; of the others it spans what fits.
    While a tile outside of that of the window stays, all that its loops inside span comes in. The
    window's tile slides on, or comes back, beyond that only if it spans what the other one stays
    through, but for the dimensions along which it does so.

    Tiles stay as shortly as cuts the bounds into so many chunks.

    Parameters
    ----------
    times : int
        How often the outermost tile comes in.
    closer : bool
        Whether it is counted that the tile slides along one expression only.
    """
    order, place, carried, size = tiles.order, tiles.place, tiles.carried, tiles.size
    spans = tiles.spans
    t, nt = ns.window, len(ns.words)
    served, most = 1.0, 1.0
    for e in range(ns.terms.shape[1]):
        d, a, o, b = ns.terms[t, e]
        if o < 0:
            continue
        g = gcd(a, b)
        a, b = a // g, b // g
        far, wide, back = ns.bounds[d], ns.bounds[o], 1.0
        near, close, share = far, wide, 0.0
        for j in range(place[t] - 1, -1, -1):
            below = order[j] == nt
            own = carried if below else order[j]
            mine, others = ns.owner[d] == own, ns.owner[o] == own
            if mine == others:
                continue
            whole = part = False
            if j == 0:
                part = times >= comes_in(ns, tiles, e, False)
                whole = part and times >= comes_in(ns, tiles, e, True)
            elif not below:
                part = holds(ns, tiles, j, d, o, False)
                whole = part and holds(ns, tiles, j, d, o, True)
            if whole:
                continue
            if not below:
                if part:
                    share = max(share, kept_share(ns, tiles, j, e, times))
                for k in range(2):
                    x = d if k == 0 else o
                    if ns.owner[x] == own and is_held(ns, place, carried, x):
                        reach = spans[x]
                    elif ns.owner[x] == own:
                        reach = longest_stay(ns.bounds[x], size[0, x])
                    else:
                        reach = spans_at_most(ns, tiles, j, x)
                    if k == 0:
                        near = min(near, reach)
                    else:
                        close = min(close, reach)
                    if k == 0 and not part:
                        far = min(far, reach)
                    elif not part:
                        wide = min(wide, reach)
                continue
            # the carried tile stays through x and spans some of y
            x, y, step = (d, o, a) if mine else (o, d, b)
            if holds(ns, tiles, j, -1, -1, False):
                continue
            reach = longest_stay(ns.bounds[x], size[1, x])
            if holds(ns, tiles, j, x, -1, False):
                if spans[y] >= step:
                    continue
                # with loops around those on the other dimension it comes back after some runs
                if reach < ns.bounds[x] and spans[y] == 1:
                    m = spans_at_most(ns, tiles, place[t], x)
                    slow = b if mine else a
                    runs = rarely_in_line(m, ns.bounds[y], step, slow, size[1, x])
                    back = max(back, runs)
                elif reach < ns.bounds[x]:
                    back = max(back, rarely(spans[y], step, False, 2.0))
                reach = ns.bounds[x]
            if mine:
                far, wide = min(far, reach), min(wide, spans[y])
            else:
                far, wide = min(far, spans[y]), min(wide, reach)
        own_pairs = pairs_of(far, wide, ns.bounds[d], ns.bounds[o], False, False, a, b)
        if share < 1.0:
            near, close = min(near, far), min(close, wide)
            inside = pairs_of(near, close, ns.bounds[d], ns.bounds[o], False, False, a, b)
            own_pairs = 1.0 / ((1.0 - share) / inside + share / own_pairs)
        slid = min(ns.pairs[t, e], own_pairs * back)
        if not closer:
            served *= slid
            continue
        m = spans_at_most(ns, tiles, place[t], d)
        n = spans_at_most(ns, tiles, place[t], o)
        stays = min(slid, pairs_of(m, n, ns.bounds[d], ns.bounds[o], False, False, a, b))
        served *= stays
        most = max(most, slid / stays)
    return served * most
