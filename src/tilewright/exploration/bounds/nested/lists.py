"""Lists of what tiles above an array cost around a shape, made when they are first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.exploration.bounds.nested.slide_words import words_inside
from tilewright.kernels.kernel import called_leaf, leaf

if TYPE_CHECKING:
    from tilewright.exploration.bounds.nested.records import Lists, Nested
    from tilewright.exploration.bounds.nested.slide_words import Slides
    from tilewright.mapper.problem.space import Space


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
                more = (
                    sliding_words(nested, lists, sp, slides, order, node) - nested.arriving[t, tile]
                )
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
        k = 0
        while k < width and fresh[q, k] <= new[k]:
            k += 1
        if k == width:
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
        k = 0
        while k < width and new[k] <= fresh[q, k]:
            k += 1
        if k < width:
            if left < q:
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
def sliding_words(
    nested: Nested, lists: Lists, sp: Space, slides: Slides, order: int, node: int
) -> float:
    """Return the words that come in at the node of a tensor that slides.

    Nodes further out may have been moved past loops, see `tiles`, so their tiles say little of the
    order of loops. But none has moved inward past a loop that is irrelevant to its tensor: one is
    right inside. Where that can only be one that stands in no window, it ends the run in there.
    """
    nd, t = len(nested.strides), nested.window
    tile = lists.partial[nd, node]
    for outer in range(node - 1, -1, -1):
        shape, own = lists.partial[nd, outer], nested.node_tensor[order, outer]
        ends, certain = False, not nested.slides[own]
        for d in range(nd):
            if sp.relevant[own, d]:
                continue
            grown = nested.digits[shape, d] > nested.digits[tile, d]
            if nested.ends[d]:
                ends = ends or grown
            elif sp.relevant[t, d]:
                certain = certain and not grown
            else:
                certain = certain and nested.digits[shape, d] == 0
        if ends and certain:
            inside = words_inside(sp, slides, nested.state[tile], nested.state[shape])
            return float(nested.once[tile] * slides.around[nested.other[tile]] * inside)
    return float(nested.arriving[t, tile])
