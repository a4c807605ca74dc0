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
    return fits_with(ns, nested, last, (-1, 0, 1))


@called_leaf
def fits_with(ns: Nest, nested: Nested, last: int, wide: tuple[int, int, int]) -> bool:
    """Whether the tiles fit if some span more, see `fits_one`."""
    group = 0
    while group < len(ns.inner_room) and fits_one(ns, nested, last, wide, group):
        group += 1
    return group == len(ns.inner_room)


@called_leaf
def fits_one(
    ns: Nest,
    nested: Nested,
    last: int,
    wide: tuple[int, int, int],
    group: int,
) -> bool:
    """Whether the tiles fit that one of several inner memories keeps.

    Parameters
    ----------
    last : int
        Tiles up to this one are grown at least, if any.
    wide : tuple of three int
        A place up to which tiles span so much of a dimension: place or -1, dimension, extent.
    """
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
        if i <= wide[0]:
            extents[wide[1]] = max(extents[wide[1]], wide[2])
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
    return most_with(ns, nested, last, last, d, most)


@called_leaf
def most_with(ns: Nest, nested: Nested, last: int, i: int, d: int, most: int) -> int:
    """Return how much of a dimension fits at most in the tiles up to the i-th.

    Those up to the last-th are grown at least.
    """
    low, high = nested.grown[d], max(nested.grown[d], most)
    while low < high:
        middle = (low + high + 1) // 2
        if fits_with(ns, nested, last, (i, d, middle)):
            low = middle
        else:
            high = middle - 1
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
    return within_grown(ns, nested, i, i, d)


@called_leaf
def within_grown(ns: Nest, nested: Nested, last: int, i: int, d: int) -> int:
    """Return that where tiles up to the last-th are grown at least."""
    order, size, place = nested.order, nested.size, nested.place
    if ns.owner[d] == order[i]:
        return int(size[d] if i > 0 else ns.bounds[d])
    if i == 0 and ns.owner[d] >= 0 and place[ns.owner[d]] < 0:
        return int(size[d])
    return int(most_with(ns, nested, last, i, d, ns.bounds[d]))


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
    least: bool,
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
    least : bool
        Whether the outermost tile spans no more than it has to.
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
            if least and i == 0 and ns.owner[d] != order[0]:
                far = extent(ns, size, place, 0, d)
            break
    for k in range(len(size)):
        grown[k] = 1
    return far


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
