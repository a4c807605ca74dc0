"""What a layer costs at least where tiles above an array contain those below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.exploration.bounds.nested.slide_words import words_along
from tilewright.kernels.kernel import called_leaf, leaf

if TYPE_CHECKING:
    from tilewright.exploration.bounds.nested.slide_words import Slides
    from tilewright.exploration.bounds.nested.tiles import Lists, Nested
    from tilewright.exploration.bounds.word_costs import Costs
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
    certain = candidate[4] + costs.leakage * candidate[2]
    least[1] = np.inf
    lists.told[0] = 0
    lists.at[0] = previous = -1
    for v in range(nested.vector_starts[way], nested.vector_starts[way + 1]):
        fits = True
        for axis in range(len(costs.extents)):
            fits = fits and nested.extents[v, axis] <= costs.extents[axis]
        if not fits:
            continue
        same = previous >= 0
        for d in range(len(nested.strides)):
            same = same and nested.vectors[v, d] == nested.vectors[previous, d]
        if same:
            continue
        previous = v
        for p in range(begin, end):
            energy = lists.base[p - begin, 0] + certain
            if useless(least, energy, candidate[2], wanted):
                continue
            shape = 0
            for d in range(len(nested.strides)):
                digit = nested.product[d, nested.vectors[v, d], nested.tile[p, d]]
                if digit < 0:
                    shape = -1
                    break
                shape += digit * nested.strides[d]
            if shape < 0:
                continue
            further = less_shared(nested, v, p, lists.shared[0])
            if useless(least, energy + further * lists.direct[0], candidate[2], wanted):
                continue
            which = nested.above[choice, nested.stays[p] + 1]
            listed = min(shape, sp.mirror[shape])  # the mirror image costs the same
            if lists.first[which, listed] < 0:
                fill_list(nested, lists, sp, slides, which, listed)
            for r in range(len(lists.own)):
                lists.own[r] = lists.base[p - begin, r] + further * lists.direct[r]
            row = best_of_list(
                nested, lists, costs, which, listed, nested.stays[p], candidate[2], wanted
            )
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
def useless(least: Floats, energy: float, cycles: float, wanted: bool) -> bool:
    """Whether tiles that cost at least so much are neither near the best nor of less energy.

    What is left out counts for the least energy.
    """
    if energy * cycles < least[0] * NEAR:
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
    nt, best = lists.above.shape[1], -1
    entries, base, least = lists.entries, lists.own, lists.least
    for q in range(lists.first[which, shape], lists.end[which, shape]):
        fits = True
        for r in range(len(nested.rooms)):
            fits = fits and entries[q, nt + 1 + r] <= costs.capacity[nested.rooms[r]]
        if not fits:
            continue
        energy = with_tiles(lists, base[0], 0, q, stays)
        if useless(least, energy + costs.leakage * busiest, busiest, wanted):
            continue
        cycles = busiest
        for r in range(1, len(base)):
            cycles = max(cycles, with_tiles(lists, base[r], r, q, stays))
        energy += costs.leakage * cycles
        least[1] = min(least[1], energy)
        product = energy * cycles
        if product < least[0] * NEAR:
            with_pair(lists, product, energy, cycles)
        if product < least[0]:
            least[0] = product
            best = q
    return best


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


@leaf
def fill_list(
    nested: Nested, lists: Lists, sp: Space, slides: Slides, which: int, shape: int
) -> None:
    """List what tiles above the array cost around a shape, for all orders of their nodes."""
    found = walk_chains(nested, lists, sp, slides, which, shape, False)
    if lists.filled[0] + found > len(lists.entries):
        lists.first[:] = -1  # begins anew
        lists.filled[0] = 0
    begin = lists.filled[0]
    lists.first[which, shape] = begin
    lists.end[which, shape] = begin + found
    lists.filled[0] = begin + found
    for q in range(found):
        for k in range(lists.fresh.shape[1]):
            lists.entries[begin + q, k] = lists.fresh[q, k]


@called_leaf
def walk_chains(
    nested: Nested,
    lists: Lists,
    sp: Space,
    slides: Slides,
    which: int,
    shape: int,
    again: bool,
) -> int:
    """Walk over all nodes above the array around a shape; return how many entries are listed.

    The second time, `again`, nodes that have the entries of `Lists.best_row` are kept in
    `Lists.chain` instead.
    """
    found = 0
    nd = len(nested.strides)
    lists.around[nd] = 0
    for d in range(nd - 1, -1, -1):
        lists.around[d] = lists.around[d + 1] + nested.digits[shape, d] * nested.strides[d]
    for order in range(nested.order_starts[which], nested.order_starts[which + 1]):
        n = nested.nodes[order]
        for i in range(n):
            lists.partial[0, i] = 0
        depth = 0
        entered(nested, lists, order, 0, shape)
        while depth >= 0:
            row = lists.place[depth, 0]
            if row >= lists.place[depth, 1]:
                depth -= 1
                continue
            lists.place[depth, 0] += 1
            for i in range(n):
                lists.partial[depth + 1, i] = (
                    lists.partial[depth, i] + nested.sequences[row, i] * nested.strides[depth]
                )
            if not has_room(nested, lists, order, depth + 1):
                continue
            if depth < nd - 1:
                depth += 1
                entered(nested, lists, order, depth, shape)
                continue
            node = fill_entry(nested, lists, which, order)
            # most are worse whatever their windows bring in
            if not is_wanted(lists, found, again):
                continue
            if node >= 0:
                t, tile = nested.window, lists.partial[nd, node]
                more = sliding_words(nested, lists, sp, slides, node) - nested.arriving[t, tile]
                lists.fresh[len(lists.fresh) - 1, nested.column[which, t]] += more
                if not is_wanted(lists, found, again):
                    continue
            if not again:
                found = with_entry(lists, found)
                continue
            lists.order[0] = order
            for i in range(n):
                lists.chain[i] = lists.partial[nd, i]
            return 0
    return found


@leaf
def is_wanted(lists: Lists, found: int, again: bool) -> bool:
    """Whether no entry is better than the last row, or, `again`, whether it is as good as known."""
    fresh, width = lists.fresh, lists.fresh.shape[1]
    new = fresh[len(fresh) - 1]
    if again:
        same = True
        for k in range(width):
            same = same and new[k] <= lists.best_row[k]
        return same
    for q in range(found):
        worse = True
        for k in range(width):
            worse = worse and fresh[q, k] <= new[k]
        if worse:
            # what is better than this one is likely to be better than the next ones
            for k in range(width):
                fresh[q, k], fresh[0, k] = fresh[0, k], fresh[q, k]
            return False
    return True


@leaf
def entered(nested: Nested, lists: Lists, order: int, depth: int, shape: int) -> None:
    """Begin with the first digits of a dimension that nodes may have around a shape."""
    for k in range(2):
        lists.place[depth, k] = nested.begin[order, depth, nested.digits[shape, depth], k]


@leaf
def has_room(nested: Nested, lists: Lists, order: int, depth: int) -> bool:
    """Whether the tiles of nodes fit the largest memories, with all other dimensions least."""
    for r in range(len(nested.rooms)):
        m = nested.rooms[r]
        held = 0.0
        for i in range(nested.nodes[order]):
            if i != nested.virtual[order] and nested.node_memory[order, i] == m:
                tile = lists.partial[depth, i] + lists.around[depth]
                held += nested.held[nested.node_tensor[order, i], tile] * nested.node_bits[order, i]
        if held > nested.sizes[m, nested.sizes.shape[1] - 1]:
            return False
    return True


@leaf
def fill_entry(nested: Nested, lists: Lists, which: int, order: int) -> int:
    """Fill the last row of `Lists.fresh` with what some tiles cost.

    Return the node of the tensor that slides, whose words are the least of all orders, or -1.
    """
    nt, nd = lists.above.shape[1], len(nested.strides)
    new = lists.fresh[len(lists.fresh) - 1]
    new[:] = 0.0
    sliding = -1
    for i in range(nested.nodes[order]):
        t, tile = nested.node_tensor[order, i], lists.partial[nd, i]
        if i == nested.virtual[order]:
            new[nt] = nested.remaining[t, tile]
            continue
        if t == nested.window:
            sliding = i
        new[nested.column[which, t]] += nested.arriving[t, tile]
        for r in range(len(nested.rooms)):
            if nested.rooms[r] == nested.node_memory[order, i]:
                new[nt + 1 + r] += nested.held[t, tile] * nested.node_bits[order, i]
    for r in range(len(nested.rooms)):
        m, k = nested.rooms[r], 0
        while nested.sizes[m, k] < new[nt + 1 + r]:
            k += 1
        new[nt + 1 + r] = nested.sizes[m, k]
    return sliding


@leaf
def with_entry(lists: Lists, found: int) -> int:
    """Add the last row to the list in the making; return how long it is."""
    fresh = lists.fresh
    width = fresh.shape[1]
    new = fresh[len(fresh) - 1]
    left = 0
    for q in range(found):
        worse = True
        for k in range(width):
            worse = worse and new[k] <= fresh[q, k]
        if not worse:
            for k in range(width):
                fresh[left, k] = fresh[q, k]
            left += 1
    if left == len(fresh) - 1:
        # too many: one entry that no other is better than stands for all
        for q in range(1, left):
            for k in range(width):
                fresh[0, k] = min(fresh[0, k], fresh[q, k])
        left = 1
    for k in range(width):
        fresh[left, k] = new[k]
    return left + 1


@leaf
def sliding_words(nested: Nested, lists: Lists, sp: Space, slides: Slides, node: int) -> float:
    """Return the words that come in at the node of a tensor that slides."""
    nd, t, path = len(nested.strides), nested.window, slides.path
    tile = last = lists.partial[nd, node]
    count = 0
    for outer in range(node, -1, -1):
        shape = lists.partial[nd, outer]
        if (count == 0 or shape != last) and count < len(path):
            path[count, 0], path[count, 1] = nested.state[shape], nested.other[shape]
            path[count, 2] = nested.rest[shape]
            count += 1
            last = shape
    if count == 1:
        return float(nested.arriving[t, tile])
    return float(nested.once[tile] * words_along(sp, slides, count))
