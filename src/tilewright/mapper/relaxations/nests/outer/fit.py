"""Tiles in the memory above the array, and whether they fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf, part
from tilewright.mapper.relaxations.nests.sliding.window_spans import (
    Instances,
    Nested,
    chunks,
    tile_words,
    within,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


class OuterTiles(NamedTuple):
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
    spans : array of (2, dimensions)
        What the carried tile spans at most, and at least, see `fill_spans`.
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
    tiles: OuterTiles,
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
    tiles: OuterTiles,
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
        if t < 0 or t == nt:
            continue
        own_memory = ns.outer_group[t] == group
        if not own_memory and ns.copies[t, group] == 0:
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
        words = tile_words(ns, t, extents)
        if own_memory and ns.outer_bits[t] * words > ns.outer_share[t]:
            return False
        total += words * (ns.outer_bits[t] if own_memory else ns.copies[t, group])
    return bool(total <= ns.outer_room[group])


@part
def fill_spans(ns: Nest, order: Ints, size: Ints, instances: Instances, spans: Ints) -> None:
    """Fill what the outermost tile in the inner memories spans at most, and at least.

    They are of all instances together. The least is what the tiles inside it stay through in one of
    them, or all where there is an instance for each iteration.

    Parameters
    ----------
    spans : array of (2, dimensions)
    """
    place = np.full(len(ns.words), -1, np.int64)
    for i in range(len(order)):
        place[order[i]] = i
    grown, extents = np.ones(len(size), np.int64), np.empty(len(size), np.int64)
    nested = Nested(order, size, place, grown, extents)
    for d in range(len(size)):
        own = ns.owner[d]
        spans[0, d] = ns.bounds[d]
        spans[1, d] = size[d] if own >= 0 and place[own] > 0 else 1
        if instances.spread[d] == ns.bounds[d]:
            spans[1, d] = ns.bounds[d]
        if len(order) > 0 and ns.window >= 0 and ns.relevant[ns.window, d]:
            spans[0, d] = min(spans[0, d], within(ns, nested, 0, d) * instances.active[d])


@leaf
def longest_stay(bound: int, stay: int) -> int:
    """Return the longest stay that cuts a bound into as many chunks."""
    count = chunks(bound, stay)
    return int((bound - 1) // (count - 1) if count > 1 else bound)


@leaf
def most_inside(ns: Nest, tiles: OuterTiles, j: int, d: int) -> int:
    """Return what the j-th tile spans of a dimension at most if it fits.

    Inside of the carried tile, that is no more than what this one spans.
    """
    below = tiles.place[len(ns.words)]
    if 0 <= below < j and ns.relevant[tiles.carried, d]:
        return int(min(ns.bounds[d], max(tiles.spans[0, d], tiles.least[d])))
    return int(ns.bounds[d])


@called_leaf
def holds(
    ns: Nest,
    tiles: OuterTiles,
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
        if grown[d] > most_inside(ns, tiles, place[ns.window], d):
            return False
    return fits_outer(ns, tiles, place[ns.window])


@leaf
def spans_least(ns: Nest, tiles: OuterTiles, j: int, d: int) -> int:
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
    tiles: OuterTiles,
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
    tiles: OuterTiles,
    j: int,
    d: int,
) -> int:
    """Return how much of a dimension tiles up to the j-th span at most, and `grown` of others."""
    grown = tiles.grown
    low, high = 1, most_inside(ns, tiles, j, d)
    while low < high:
        grown[d] = (low + high + 1) // 2
        if fits_outer(ns, tiles, j):
            low = grown[d]
        else:
            high = grown[d] - 1
    return int(low)
