"""What a layer costs at least where tiles above an array contain those below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.exploration.bounds.nested.lists import fill_list
from tilewright.kernels.kernel import called_leaf, leaf

if TYPE_CHECKING:
    from tilewright.exploration.bounds.nested.records import Lists, Nested
    from tilewright.exploration.bounds.nested.slide_words import Slides
    from tilewright.exploration.bounds.words import Costs
    from tilewright.kernels.types import Floats
    from tilewright.mapper.problem.space import Space


NEAR = 1.01
"""Up to this many times the least product, tiles above an array contain those below it."""


@called_leaf
def nested_costs(
    nested: Nested,
    lists: Lists,
    sp: Space,
    slides: Slides,
    costs: Costs,
    choice: int,
    way: int,
    candidate: Floats,
    wanted: bool,
) -> None:
    """Find what one bypass choice and one way to spread cost, tile by tile.

    `Lists.least` holds a product that is known, and becomes the least; and the least energy of all
    tiles. Pairs are energies and cycles of all tiles whose product is below `NEAR` times the least.
    Unless the energy is `wanted`, it is rough.

    Parameters
    ----------
    candidate : array of 5
        See `Scratch.candidates`; energies and cycles here are no lower.
    """
    own, least = nested.below[choice], lists.least
    begin, end = nested.point_starts[own], nested.point_starts[own + 1]
    price_points(nested, lists, costs, begin, end)
    least[1] = np.inf
    lists.told[0] = 0
    lists.at[0] = previous = -1
    first, last = nested.vector_starts[way], nested.vector_starts[way + 1]
    # what was best on the last machine is likely to be good here: then less has to be looked at
    best, at = lists.best_at[0], lists.best_at[1]
    known = first <= best < last and begin <= at < end
    for k in range(first - known, last):
        v, p_begin, p_end = k, begin, end
        if k < first:
            v, p_begin, p_end = best, at, at + 1
        same = previous >= 0
        for d in range(len(nested.strides)):
            same = same and nested.vectors[v, d] == nested.vectors[previous, d]
        if same or not fits_array(nested, costs, v):
            continue
        if k >= first:
            previous = v
        for p in range(p_begin, p_end):
            with_point(nested, lists, sp, slides, costs, choice, v, p, candidate, wanted)


@leaf
def fits_array(nested: Nested, costs: Costs, v: int) -> bool:
    """Whether the array is large enough for spatial factors."""
    fits = True
    for axis in range(len(costs.extents)):
        fits = fits and nested.extents[v, axis] <= costs.extents[axis]
    return fits


@leaf
def with_point(
    nested: Nested,
    lists: Lists,
    sp: Space,
    slides: Slides,
    costs: Costs,
    choice: int,
    v: int,
    p: int,
    candidate: Floats,
    wanted: bool,
) -> None:
    """Count some tiles below the array, spread in some way, with all tiles above it."""
    least, busiest = lists.least, candidate[2]
    begin = nested.point_starts[nested.below[choice]]
    energy = lists.base[p - begin, 0] + candidate[4] + costs.leakage * busiest
    if useless(least, energy * busiest, energy, wanted):
        return
    shape = 0
    for d in range(len(nested.strides)):
        digit = nested.product[d, nested.vectors[v, d], nested.tile[p, d]]
        if digit < 0:
            return
        shape += digit * nested.strides[d]
    further = less_shared(nested, v, p, lists.shared[0])
    energy += further * lists.direct[0]
    if useless(least, energy * busiest, energy, wanted):
        return
    for r in range(len(lists.own)):
        lists.own[r] = lists.base[p - begin, r] + further * lists.direct[r]
    stays = nested.stays[p]
    which = nested.above[choice, stays + 1]
    listed = listed_at(nested, lists, sp, slides, which, nested.rough[stays + 1, shape])
    product, energy = least_of_list(nested, lists, costs, which, listed, stays, busiest)
    if useless(least, product, energy, wanted):
        return
    if product < least[0] or (wanted and energy < least[1]):
        listed = listed_at(nested, lists, sp, slides, which, shape)
    row = best_of_list(nested, lists, costs, which, listed, stays, busiest, wanted)
    if row >= 0:
        lists.at[0], lists.at[1], lists.at[2] = v, p, shape
        for k in range(len(lists.row)):
            lists.row[k] = lists.entries[row, k]


@leaf
def price_points(nested: Nested, lists: Lists, costs: Costs, begin: int, end: int) -> None:
    """Fill what tiles below the array cost, and all that does not depend on those above."""
    nt = lists.below.shape[1]
    for p in range(begin, end):
        base = lists.base[p - begin]
        for r in range(len(base)):
            base[r] = lists.rest[r]
            for t in range(nt):
                base[r] += lists.below[r, t] * nested.times[p, t]
            # the outermost tile comes in once for each element at least
            if nested.outer[p] >= 0:
                base[r] += lists.outer[r, nested.outer[p]]
        for m in range(len(costs.capacity)):
            if nested.bits[p, m] > costs.capacity[m]:
                base[0] = np.inf


@leaf
def useless(least: Floats, product: float, energy: float, wanted: bool) -> bool:
    """Whether tiles that cost at least so much are neither near the best nor of less energy.

    What is left out counts for the least energy.
    """
    if product < least[0] * NEAR:
        return False
    if not wanted:
        least[1] = min(least[1], energy)
        return True
    return bool(energy >= least[1])


@leaf
def less_shared(nested: Nested, v: int, p: int, shared: float) -> float:
    """Return the sent words per word received that tiles below the array add to the fewest.

    Parameters
    ----------
    shared : float
        How many units a word of the window serves at most, irrelevant factors aside.
    """
    own = 1.0
    for e in range(len(nested.pairs)):
        i, j = nested.pairs[e, 0], nested.pairs[e, 1]
        own *= nested.served[
            e, nested.vectors[v, i], nested.vectors[v, j], nested.tile[p, i], nested.tile[p, j]
        ]
    return 1.0 / own - 1.0 / shared if own > 0.0 else 0.0


@called_leaf
def listed_at(
    nested: Nested, lists: Lists, sp: Space, slides: Slides, which: int, shape: int
) -> int:
    """Return the shape whose list is that of a shape; make the list unless it is known."""
    listed = min(shape, sp.mirror[shape])  # the mirror image costs the same
    if lists.first[which, listed] < 0:
        fill_list(nested, lists, sp, slides, which, listed)
    return int(listed)


@leaf
def least_of_list(
    nested: Nested, lists: Lists, costs: Costs, which: int, shape: int, stays: int, busiest: float
) -> tuple[float, float]:
    """Return the least product and the least energy with tiles above the array around a shape."""
    product = least = np.inf
    for q in range(lists.first[which, shape], lists.end[which, shape]):
        if has_room(nested, lists, costs, q):
            energy, cycles = of_entry(lists, costs, q, stays, busiest)
            product, least = min(product, energy * cycles), min(least, energy)
    return product, least


@leaf
def best_of_list(
    nested: Nested,
    lists: Lists,
    costs: Costs,
    which: int,
    shape: int,
    stays: int,
    busiest: float,
    wanted: bool,
) -> int:
    """Count the tiles above the array around a shape; return which lower the product, or -1."""
    best, least = -1, lists.least
    for q in range(lists.first[which, shape], lists.end[which, shape]):
        if not has_room(nested, lists, costs, q):
            continue
        energy = with_tiles(lists, lists.own[0], 0, q, stays) + costs.leakage * busiest
        if useless(least, energy * busiest, energy, wanted):
            continue
        energy, cycles = of_entry(lists, costs, q, stays, busiest)
        least[1] = min(least[1], energy)
        product = energy * cycles
        if product < least[0] * NEAR:
            with_pair(lists, product, energy, cycles)
        if product < least[0]:
            least[0] = product
            best = q
    return best


@leaf
def has_room(nested: Nested, lists: Lists, costs: Costs, q: int) -> bool:
    """Whether the tiles of an entry fit."""
    first = lists.above.shape[1] + 1
    fits = True
    for r in range(len(nested.rooms)):
        fits = fits and lists.entries[q, first + r] <= costs.capacity[nested.rooms[r]]
    return fits


@leaf
def of_entry(lists: Lists, costs: Costs, q: int, stays: int, busiest: float) -> tuple[float, float]:
    """Return pJ and cycles with the tiles of an entry."""
    cycles = busiest
    for r in range(1, len(lists.own)):
        cycles = max(cycles, with_tiles(lists, lists.own[r], r, q, stays))
    return with_tiles(lists, lists.own[0], 0, q, stays) + costs.leakage * cycles, cycles


@leaf
def with_tiles(lists: Lists, base: float, r: int, q: int, stays: int) -> float:
    """Return pJ or the cycles of a port with the tiles of an entry."""
    nt = lists.above.shape[1]
    total = base
    if stays >= 0:
        total += lists.outer[r, stays] * (lists.entries[q, nt] - 1.0)
    for t in range(nt):
        total += lists.above[r, t] * lists.entries[q, t]
    return total


@leaf
def with_pair(lists: Lists, product: float, energy: float, cycles: float) -> None:
    """Add a pair that no other one is below."""
    pairs, count = lists.pairs, lists.told[0]
    for i in range(count):
        # one that stands for several may have a larger product
        if pairs[i, 0] <= product and pairs[i, 1] <= energy and pairs[i, 2] <= cycles:
            return
    left = 0
    for i in range(count):
        if pairs[i, 0] < lists.least[0] * NEAR and (pairs[i, 1] < energy or pairs[i, 2] < cycles):
            for k in range(3):
                pairs[left, k] = pairs[i, k]
            left += 1
    if left == len(pairs):
        # too many: one that none is below stands for all
        for i in range(1, left):
            for k in range(3):
                pairs[0, k] = min(pairs[0, k], pairs[i, k])
        left = 1
    pairs[left, 0], pairs[left, 1], pairs[left, 2] = product, energy, cycles
    lists.told[0] = left + 1
