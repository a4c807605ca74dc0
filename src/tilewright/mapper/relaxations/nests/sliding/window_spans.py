"""How much a sliding tile spans, and how far it slides, while tiles lie inside one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.windows.slides import pair_words

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.relaxations.nests.nest import Nest

# what is known of an expression: the most that the tile spans of both dimensions, how far it may
# slide along them, whether it may come back after each run along one of them, how far both of them
# reach together, and whether it may come back after some runs only
SPAN, RUN, BACK, FAR, RARE = 0, 2, 4, 6, 8
FIELDS = 10
LESS = -2  # a limit: less than all
MOST_DIMENSIONS = 64


@leaf
def chunks(bound: int, tile: int) -> int:
    """Return the least number of chunks of a bound that are no larger than a tile."""
    return (bound + tile - 1) // tile


@called_leaf
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


class Instances(NamedTuple):
    """Instances along each dimension.

    Attributes
    ----------
    spread, active : arrays of dimensions
        That it takes for even chunks, and the most that work at a time.
    """

    spread: Ints
    active: Ints


class Nested(NamedTuple):
    """Tiles in the inner memories, which lie inside one another.

    Attributes
    ----------
    order : array
        Whose tiles they are, the outermost first.
    size : array of dimensions
        Iterations that the tile of the dimension's owner stays through, see `Inner`.
    place : array of tensors
        Where each stands in the order, or -1.
    grown : array of dimensions
        What some tiles span at least; ones where nothing is asked of them.
    extents : array of dimensions
        For use in between.
    """

    order: Ints
    size: Ints
    place: Ints
    grown: Ints
    extents: Ints


@leaf
def extent(ns: Nest, size: Ints, place: Ints, i: int, d: int) -> int:
    """Return the extent of the i-th tile: what the tile inside it stays through.

    That of the outermost tile is free where the dimension's owner is not kept.
    """
    own = ns.owner[d]
    spans = own >= 0 and (place[own] > i or (i == 0 and place[own] < 0))
    return int(size[d]) if spans else 1


@called_leaf
def fits(
    ns: Nest,
    nested: Nested,
    last: int,
) -> bool:
    """Whether the tiles fit the inner memories, those up to the last-th, if any, grown at least."""
    group = 0
    while group < len(ns.inner_room) and fits_one(ns, nested, last, group):
        group += 1
    return group == len(ns.inner_room)


@called_leaf
def fits_one(
    ns: Nest,
    nested: Nested,
    last: int,
    group: int,
) -> bool:
    """Whether the tiles fit that one of several inner memories keeps."""
    order, size, place, grown = nested.order, nested.size, nested.place, nested.grown
    extents = nested.extents
    total = 0.0
    for i in range(len(order)):
        t = order[i]
        if ns.inner_group[t] != group:
            continue
        for d in range(len(size)):
            extents[d] = extent(ns, size, place, i, d)
            if i <= last:
                extents[d] = max(extents[d], grown[d])
        bits = ns.inner_bits[t] * tile_words(ns, t, extents)
        if bits > ns.inner_share[t]:
            return False
        total += bits
    return bool(total <= ns.inner_room[group])


@called_leaf
def most_of(
    ns: Nest,
    nested: Nested,
    last: int,
    d: int,
    most: int,
) -> int:
    """Return how much of a dimension fits at most in the tiles up to the last-th."""
    grown = nested.grown
    before = grown[d]
    low, high = before, max(before, most)
    while low < high:
        grown[d] = (low + high + 1) // 2
        if fits(ns, nested, last):
            low = grown[d]
        else:
            high = grown[d] - 1
    grown[d] = before
    return int(low)


@called_leaf
def most_spanned(
    ns: Nest,
    nested: Nested,
    t: int,
    d: int,
) -> int:
    """Return how much of a dimension a tile spans at most.

    That is what the tile stays through that lies outside or directly inside, and no more than fits:
    the tiles outside span no less.
    """
    size, place = nested.size, nested.place
    own = ns.owner[d]
    most = ns.bounds[d]
    inside = own >= 0 and 0 < place[own] <= place[t] + 1
    if inside or (own >= 0 and place[own] < 0):
        most = size[d]
    return most_of(ns, nested, place[t], d, most)


@called_leaf
def within(
    ns: Nest,
    nested: Nested,
    i: int,
    d: int,
) -> int:
    """Return how far loops on a dimension reach inside the i-th tile: what it spans, or stays."""
    order, size, place = nested.order, nested.size, nested.place
    if ns.owner[d] == order[i]:
        return int(size[d] if i > 0 else ns.bounds[d])
    if i == 0 and ns.owner[d] >= 0 and place[ns.owner[d]] < 0:
        return int(size[d])
    return int(most_of(ns, nested, i, d, ns.bounds[d]))


@called_leaf
def reach(
    ns: Nest,
    nested: Nested,
    t: int,
    d: int,
    run: int,
    other: int,
    beyond: bool,
    narrow: bool,
) -> int:
    """Return how far loops on a dimension reach that no other loop relevant to a tile is inside of.

    Inside of the tile around it they reach as far as that one spans, or stays. Beyond they reach
    if what the tiles around it stay through is all part of the tile.

    Parameters
    ----------
    run, other : int
        Dimensions whose loops may be inside of them, or -1.
    beyond : bool
        Whether they reach beyond the outermost tile.
    narrow : bool
        Whether loops on the other dimension that the outermost tile stays through hinder that.
    """
    order, size, place, grown = nested.order, nested.size, nested.place, nested.grown
    far = int(ns.bounds[d])
    for i in range(place[t] - 1, -1, -1):
        free = True
        for k in range(len(size)):
            inside = k == run or (k == other and (i > 0 or not narrow))
            if ns.owner[k] == order[i] and not inside and ns.bounds[k] > 1:
                if i > 0:
                    grown[k] = size[k]
                else:
                    free = beyond
        if not free or not fits(ns, nested, place[t]):
            for k in range(len(size)):
                grown[k] = 1
            far = within(ns, nested, i, d)
            break
    for k in range(len(size)):
        grown[k] = 1
    return far


@called_leaf
def windows_of(
    ns: Nest,
    nested: Nested,
    kind: int,
    spanned: Ints,
    windows: Ints,
    limits: Ints,
) -> bool:
    """Fill what is known of the windows of tiles, and how long the outermost one stays at most.

    Parameters
    ----------
    kind : int
        0 where loops on windows do not reach beyond the outermost tile, 1 where those do that a
        tile slides along, 2 + e where those around them do, on the other dimension of expression e,
        and bring back the tile. Where the outermost tile spans one iteration of that dimension, it
        stays for as long as the run is, which is limited; or else the tile comes back now and then,
        with loops on the first dimension around those: from 2 + expressions on.
    windows : array of (expressions, FIELDS)
    limits : array of (dimensions + 4)
        Of each dimension, LESS or -1, and the most iterations of all limited ones together. Then
        a dimension x `MOST_DIMENSIONS` + another one, or -1: where an array cuts that one, its
        loops make larger steps, and the limit of the first is as many times that. Last is by how
        much a run along the first is longer than so many tiles.

    Returns
    -------
    bool
        Whether this kind is different from kind 0.
    """
    order, size, place = nested.order, nested.size, nested.place
    t = ns.window
    nd = len(size)
    for d in range(nd + 4):
        limits[d] = -1
    for e in range(len(windows)):
        d, _, o, _ = ns.terms[t, e]
        windows[e, SPAN], windows[e, SPAN + 1] = ns.bounds[max(d, 0)], ns.bounds[max(o, 0)]
        windows[e, RUN], windows[e, RUN + 1] = windows[e, SPAN], windows[e, SPAN + 1]
        windows[e, BACK], windows[e, BACK + 1] = 1, 1
        windows[e, FAR], windows[e, FAR + 1] = windows[e, SPAN], windows[e, SPAN + 1]
        windows[e, RARE], windows[e, RARE + 1] = 0, 0
    if t < 0 or place[t] < 0:
        return kind == 0
    if place[t] == 0:
        # nothing below the array is around it: it may slide, and come back, wherever loops lead
        for e in range(len(windows)):
            for k in range(2):
                d = ns.terms[t, e, 2 * k]
                if d >= 0:
                    windows[e, SPAN + k] = most_spanned(ns, nested, t, d)
                windows[e, RARE + k] = 1
        return kind == 0
    for d in range(nd):
        spanned[d] = 1
        if ns.relevant[t, d]:
            spanned[d] = most_spanned(ns, nested, t, d)
    differs = kind == 0
    ne = len(windows)
    for e in range(ne):
        if ns.terms[t, e, 2] < 0:
            continue
        tight = is_narrow(ns, nested, e)
        slides, back = kind == 1, kind == 1 or kind == 2 + e or kind == 2 + ne + e
        for k in range(2):
            d, o = ns.terms[t, e, 2 * k], ns.terms[t, e, 2 - 2 * k]
            far = reach(ns, nested, t, d, d, -1, slides, False)
            around = reach(ns, nested, t, o, o, d, back, tight)
            windows[e, SPAN + k], windows[e, RUN + k] = spanned[d], far
            windows[e, FAR + k] = reach(ns, nested, t, d, d, o, back, tight)
            windows[e, BACK + k] = far > 1 and around > 1
            if kind == 1 and ns.owner[d] != order[0]:
                near = reach(ns, nested, t, d, d, -1, False, False)
                differs |= far > near
            if kind > 1 and back and ns.owner[d] == order[0]:
                near = reach(ns, nested, t, o, o, d, False, tight)
                differs |= around > near and (kind == 2 + e or tight)
            if kind == 2 + ne + e:
                windows[e, RARE + k] = windows[e, BACK + k] > 0 and ns.owner[d] == order[0]
                windows[e, BACK + k] = 0
    if kind > 0 and differs:
        limit_stays(ns, nested, kind, spanned, limits)
    return differs


@called_leaf
def is_narrow(
    ns: Nest,
    nested: Nested,
    e: int,
) -> bool:
    """Whether the outermost tile stays for one dimension of an expression and spans 1 of the other.

    Then a tile inside of it slides along the first one for as long as the outermost tile stays.
    """
    order = nested.order
    d, o = ns.terms[ns.window, e, 0], ns.terms[ns.window, e, 2]
    if ns.owner[d] == ns.owner[o] or order[0] not in (ns.owner[d], ns.owner[o]):
        return False
    other = o if ns.owner[d] == order[0] else d
    return within(ns, nested, 0, other) == 1


@called_leaf
def limit_stays(
    ns: Nest,
    nested: Nested,
    kind: int,
    spanned: Ints,
    limits: Ints,
) -> None:
    """Fill how long the outermost tile stays at most where loops reach beyond it.

    What it stays through is part of the tile that slides, but for the run after which that comes
    back, see `returns.come_back`, or does so after some, if there are loops around it.
    """
    order, size, place, grown = nested.order, nested.size, nested.place, nested.grown
    t = ns.window
    ne = ns.terms.shape[1]
    e = (kind - 2) % ne
    narrow = 1 < kind < 2 + ne and is_narrow(ns, nested, e)
    slid = -1
    longer, tiles = 0, 1
    first = second = -1
    together = 1
    for d in range(len(size)):
        if ns.owner[d] != order[0] or ns.bounds[d] == 1:
            continue
        if kind > 1 and (d == ns.terms[t, e, 0] or d == ns.terms[t, e, 2]):
            if kind >= 2 + ne:
                limits[d] = LESS
            k = 0 if d == ns.terms[t, e, 0] else 2
            o, a, b = ns.terms[t, e, 2 - k], ns.terms[t, e, 1 + k], ns.terms[t, e, 3 - k]
            if kind < 2 + ne and ns.owner[o] != order[0]:
                slid = d
                longer = b * spanned[o] // a
                if not narrow:
                    # the first tile of the next run meets the last one of this run
                    tiles = 2
                    longer = chunks(b * (2 * within(ns, nested, 0, o) - 1), a) - 1
                limits[len(size) + 1] = d * MOST_DIMENSIONS + o
                limits[len(size) + 2], limits[len(size) + 3] = longer, tiles
                limits[d] = tiles * spanned[d] + longer
            continue
        limits[d] = spanned[d]
        if first < 0:
            first = d
        elif second < 0:
            second = d
        else:
            together *= spanned[d]
    if slid >= 0 and second >= 0:
        together *= limits[slid]
    elif slid >= 0:
        second = slid
    if second >= 0 and first < 0:
        limits[len(size)] = limits[second]
    elif second >= 0:
        most = 1
        for own in range(1, spanned[first] + 1):
            grown[first] = own
            other = most_of(ns, nested, place[t], second, spanned[second])
            grown[second] = other
            if fits(ns, nested, place[t]):
                most = max(most, own * (tiles * other + longer if second == slid else other))
            grown[second] = 1
        grown[first] = 1
        limits[len(size)] = together * most
    elif first >= 0:
        limits[len(size)] = spanned[first]
