"""What a layer costs at least where tiles above an array contain those below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.exploration.bounds.nested.slide_words import nearest_words
from tilewright.kernels.kernel import called_leaf, leaf

if TYPE_CHECKING:
    from tilewright.exploration.bounds.nested.slide_words import Slides
    from tilewright.exploration.bounds.nested.tiles import Lists, Nested
    from tilewright.kernels.types import Floats
    from tilewright.mapper.problem.space import Space


@called_leaf
def nested_energy(
    nested: Nested,
    lists: Lists,
    sp: Space,
    slides: Slides,
    capacity: Floats,
    extents: Floats,
    choice: int,
    way: int,
    rest: float,
    least_above: float,
    enough: float,
) -> float:
    """Return the least pJ of one bypass choice and one way to spread, or `enough` for no less.

    Prices of what comes in above and below the array are in `lists`.

    Parameters
    ----------
    rest : float
        What everything else costs.
    least_above : float
        No tiles above the array cost less.
    """
    own = nested.below[choice]
    begin, end = nested.point_starts[own], nested.point_starts[own + 1]
    nt = len(lists.below)
    for p in range(begin, end):
        base = rest
        for m in range(len(capacity)):
            if nested.bits[p, m] > capacity[m]:
                base = np.inf
        for t in range(nt):
            if nested.times[p, t] > 0.0:
                base += lists.below[t] * nested.times[p, t]
        # the outermost tile comes in once for each element at least
        if nested.outer[p] >= 0:
            base += lists.outer[nested.outer[p]]
        lists.base[p - begin] = base
    least = enough
    lists.at[0] = previous = -1
    for v in range(nested.vector_starts[way], nested.vector_starts[way + 1]):
        fits = True
        for axis in range(len(extents)):
            fits = fits and nested.extents[v, axis] <= extents[axis]
        if not fits:
            continue
        same = previous >= 0
        for d in range(len(nested.strides)):
            same = same and nested.vectors[v, d] == nested.vectors[previous, d]
        if same:
            continue
        previous = v
        for p in range(begin, end):
            base = lists.base[p - begin]
            if base + least_above >= least:
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
            t = nested.stays[p]
            which = nested.above[choice, t + 1]
            staying = 0.0
            if t >= 0:
                staying = lists.outer[t]
                base -= staying
            if lists.first[which, shape] < 0:
                fill_list(nested, lists, sp, slides, which, shape)
            total = base + least_of_list(nested, lists, capacity, which, shape, staying)
            if total < least:
                least = total
                lists.at[0], lists.at[1], lists.at[2] = v, p, shape
    return least


@leaf
def least_of_list(
    nested: Nested, lists: Lists, capacity: Floats, which: int, shape: int, staying: float
) -> float:
    """Return the least pJ of tiles above the array around a shape."""
    nt = len(lists.above)
    least = np.inf
    entries = lists.entries
    for q in range(lists.first[which, shape], lists.end[which, shape]):
        fits = True
        for r in range(len(nested.rooms)):
            fits = fits and entries[q, nt + 1 + r] <= capacity[nested.rooms[r]]
        if fits:
            total = staying * entries[q, nt]
            for t in range(nt):
                total += lists.above[t] * entries[q, t]
            least = min(least, total)
    return least


@leaf
def fill_list(
    nested: Nested, lists: Lists, sp: Space, slides: Slides, which: int, shape: int
) -> None:
    """List what tiles above the array cost around a shape, for all orders of their nodes."""
    found = walk_chains(nested, lists, sp, slides, lists.above, which, shape, 0.0, False)
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
    capacity: Floats,
    which: int,
    shape: int,
    staying: float,
    priced: bool,
) -> int:
    """Walk over all nodes above the array around a shape; return how many entries are listed.

    If they are `priced`, the cheapest that fit `capacity` are kept in `Lists.chain` instead.
    """
    found = 0
    least = np.inf
    nd, nt = len(nested.strides), len(lists.above)
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
            fill_entry(nested, lists, sp, slides, which, order)
            if not priced:
                found = with_entry(lists, found)
                continue
            new = lists.fresh[len(lists.fresh) - 1]
            total = staying * new[nt]
            for t in range(nt):
                total += lists.above[t] * new[t]
            for r in range(len(nested.rooms)):
                if new[nt + 1 + r] > capacity[nested.rooms[r]]:
                    total = np.inf
            if total < least:
                least = total
                lists.order[0] = order
                for i in range(n):
                    lists.chain[i] = lists.partial[nd, i]
    return found


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
def fill_entry(
    nested: Nested, lists: Lists, sp: Space, slides: Slides, which: int, order: int
) -> None:
    """Fill the last row of `Lists.fresh` with what some tiles cost."""
    nt, nd = len(lists.above), len(nested.strides)
    new = lists.fresh[len(lists.fresh) - 1]
    new[:] = 0.0
    for i in range(nested.nodes[order]):
        t, tile = nested.node_tensor[order, i], lists.partial[nd, i]
        if i == nested.virtual[order]:
            new[nt] = nested.remaining[t, tile]
            continue
        if t == nested.window:
            new[nested.column[which, t]] += sliding_words(nested, lists, sp, slides, i)
        else:
            new[nested.column[which, t]] += nested.arriving[t, tile]
        for r in range(len(nested.rooms)):
            if nested.rooms[r] == nested.node_memory[order, i]:
                new[nt + 1 + r] += nested.held[t, tile] * nested.node_bits[order, i]
    for r in range(len(nested.rooms)):
        m, k = nested.rooms[r], 0
        while nested.sizes[m, k] < new[nt + 1 + r]:
            k += 1
        new[nt + 1 + r] = nested.sizes[m, k]


@leaf
def with_entry(lists: Lists, found: int) -> int:
    """Add the last row to the list in the making; return how long it is."""
    fresh = lists.fresh
    width = fresh.shape[1]
    new = fresh[len(fresh) - 1]
    for q in range(found):
        worse = True
        for k in range(width):
            worse = worse and fresh[q, k] <= new[k]
        if worse:
            # what is better than this one is likely to be better than the next ones
            for k in range(width):
                fresh[q, k], fresh[0, k] = fresh[0, k], fresh[q, k]
            return found
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
    nd, t = len(nested.strides), nested.window
    tile = lists.partial[nd, node]
    outer = node - 1
    while outer >= 0 and lists.partial[nd, outer] == tile:
        outer -= 1
    if outer < 0:
        return float(nested.arriving[t, tile])
    near = lists.partial[nd, outer]
    return float(
        nested.once[tile]
        * nearest_words(
            sp, slides, nested.state[tile], nested.other[tile], nested.state[near],
            nested.other[near], nested.rest[tile] != nested.rest[near],
        )
    )  # fmt: skip
