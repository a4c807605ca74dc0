"""Compiled search for the tile of least data-movement cost, and counts of the tiles that fit."""

from __future__ import annotations

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Bools, Ints
from tilewright.layout.dmc import Arrays

ROUNDING = 1e-12


@part
def gcd(a: int, b: int) -> int:
    """Return the greatest common divisor."""
    while b:
        a, b = b, a % b
    return a


@part
def axis_box(cost: Arrays, axis: int, tile: Ints) -> int:
    """Return the words from the first to the last that a tile touches along an axis."""
    box = 1
    for i in range(cost.term_start[axis], cost.term_start[axis + 1]):
        box += cost.coefficient[i] * (tile[cost.dimension[i]] - 1)
    return box


@part
def axis_words(cost: Arrays, axis: int, tile: Ints) -> int:
    """Return the words along an axis that a tile takes."""
    one = -1
    two = -1
    terms = 0
    for i in range(cost.term_start[axis], cost.term_start[axis + 1]):
        if tile[cost.dimension[i]] > 1:
            terms += 1
            one, two = i, one
    if terms == 0:
        return 1
    if terms > 2 or cost.gaps:
        return axis_box(cost, axis, tile)
    m = int(tile[cost.dimension[one]])
    if terms == 1:
        return m
    n = int(tile[cost.dimension[two]])
    g = gcd(cost.coefficient[one], cost.coefficient[two])
    a, b = int(cost.coefficient[one] // g), int(cost.coefficient[two] // g)
    return m * n - max(0, m - b) * max(0, n - a)


@part
def fits(cost: Arrays, tile: Ints) -> bool:
    """Whether the tiles of all tensors fit the memory together."""
    total = 0
    last = len(cost.block)
    for t in range(last):
        bits = cost.bits[t]
        for axis in range(cost.axis_start[t], cost.axis_start[t + 1]):
            words = axis_words(cost, axis, tile)
            if bits > cost.room[last] // words:
                return False
            bits *= words
        if bits > cost.room[t]:
            return False
        total += bits
        if total > cost.room[last]:
            return False
    return True


@part
def tensor_words(cost: Arrays, t: int, tile: Ints) -> float:
    """Return the words of a tensor that a tile takes."""
    words = 1.0
    for axis in range(cost.axis_start[t], cost.axis_start[t + 1]):
        words *= axis_words(cost, axis, tile)
    return words


@part
def blocks(cost: Arrays, allowed: Bools, t: int, tile: Ints, low: Ints, inner: Ints) -> float:
    """Return the blocks of a tensor in a tile, with the best contiguous axis.

    Along axes of which a dimension may be smaller, down to `low`, they are not rounded: per
    operation, that bounds what smaller tiles have from below.
    """
    begin, end = cost.axis_start[t], cost.axis_start[t + 1]
    inner[t] = -1
    if begin == end:
        return 1.0
    least = np.inf
    for axis in range(begin, end):
        if not allowed[axis]:
            continue
        whole = True
        for i in range(cost.term_start[axis], cost.term_start[axis + 1]):
            d = cost.dimension[i]
            whole = whole and low[d] == tile[d]
        box, words = axis_box(cost, axis, low), axis_words(cost, axis, low)
        count = float(min(-(-box // cost.block[t]), words))
        if not whole:
            count = max(count, axis_words(cost, axis, tile) / cost.block[t])
        for other in range(begin, end):
            if other != axis:
                count *= axis_words(cost, other, tile)
        if count < least:
            least = count
            inner[t] = axis - begin
    return least


@part
def relevant(cost: Arrays, t: int, d: int) -> bool:
    """Whether a dimension indexes a tensor."""
    first, last = cost.term_start[cost.axis_start[t]], cost.term_start[cost.axis_start[t + 1]]
    found = False
    for i in range(first, last):
        found = found or cost.dimension[i] == d
    return found


@part
def most_passes(cost: Arrays, t: int, low: Ints, high: Ints, tile: Ints) -> float:
    """Return how often tiles of some sizes pass over the words of a tensor at most.

    That is the product of their sizes along dimensions that do not index the tensor. Each is at
    most what `high` has; together they are bounded by the tensors that all of them index: for each
    unit of the product these take at least the words for each unit where the sizes are largest.
    """
    each_alone = 1.0
    for d in range(len(high)):
        if not relevant(cost, t, d):
            each_alone *= high[d]
    most = each_alone
    last = len(cost.block)
    left = float(cost.room[last])
    taken = 0.0
    for u in range(last):
        every = True
        for d in range(len(high)):
            if not relevant(cost, t, d) and not relevant(cost, u, d):
                every = every and low[d] == high[d]
        for d in range(len(high)):
            passed = every and not relevant(cost, t, d)
            tile[d] = high[d] if passed else low[d]
        bits = cost.bits[u] * tensor_words(cost, u, tile)
        if every:
            taken += bits / each_alone
            most = min(most, cost.room[u] * each_alone / bits)
        else:
            left -= bits
    if taken > 0.0:
        most = min(most, left / taken)
    return max(1.0, most)


@part
def bound(cost: Arrays, allowed: Bools, low: Ints, high: Ints, inner: Ints, tile: Ints) -> float:
    """Return the least blocks per operation of tiles of sizes from `low` to `high`.

    Blocks of a tensor per operation fall with every size.
    """
    total = 0.0
    for t in range(len(cost.block)):
        operations = most_passes(cost, t, low, high, tile)
        for d in range(len(high)):
            if relevant(cost, t, d):
                operations *= high[d]
        total += cost.weight[t] * blocks(cost, allowed, t, high, low, inner) / operations
    return total


@part
def next_size(cost: Arrays, allowed: Bools, tile: Ints, d: int) -> int:
    """Return the largest smaller size of a dimension with fewer blocks along some axis, or 0."""
    following = 0
    size = tile[d]
    for t in range(len(cost.block)):
        for axis in range(cost.axis_start[t], cost.axis_start[t + 1]):
            if not allowed[axis]:
                continue
            for i in range(cost.term_start[axis], cost.term_start[axis + 1]):
                if cost.dimension[i] == d:
                    box = axis_box(cost, axis, tile)
                    count = -(-box // cost.block[t])
                    step = cost.coefficient[i]
                    over = box - (count - 1) * cost.block[t]
                    following = max(following, size - -(-over // step))
    return following


@part
def largest(cost: Arrays, tile: Ints, d: int, sizes: Ints, low: int, high: int) -> int:
    """Return where the largest size of a dimension is that fits; `low - 1` if none does.

    Parameters
    ----------
    tile : array of int
        Sizes of the others; that of the dimension stays what it is.
    sizes : array of int
        Sizes, those of the dimension from `low` to `high` ascending.
    """
    own = tile[d]
    after = high + 1
    while low < after:
        middle = (low + after) // 2
        tile[d] = sizes[middle]
        if fits(cost, tile):
            low = middle + 1
        else:
            after = middle
    tile[d] = own
    return low - 1


@part
def widest(sizes: Ints, first: Ints, last: Ints) -> tuple[int, int]:
    """Return the dimension whose sizes differ most, and in how many the sizes differ at all."""
    chosen = 0
    most = 0.0
    free = 0
    for d in range(len(first)):
        if last[d] > first[d]:
            free += 1
            ratio = sizes[last[d]] / sizes[first[d]]
            if ratio > most:
                chosen, most = d, ratio
    return chosen, free


@part
def wider(tile: Ints, other: Ints, order: Ints) -> bool:
    """Whether the first size in which two tiles differ is larger in the first of them."""
    for d in order:
        if tile[d] != other[d]:
            return bool(tile[d] > other[d])
    return False


@kernel
def search(
    cost: Arrays,
    allowed: Bools,
    order: Ints,
    start: Ints,
    sizes: Ints,
    dense: bool,
    bounded: bool,
) -> tuple[float, Ints, Ints, int]:
    """Find the tile of least cost.

    Boxes of tile sizes are halved, the larger sizes first, as long as the blocks that none of
    their tiles can avoid are below the best. In a box with one free dimension, the cost per
    operation only falls while no axis needs another block: where all sizes are allowed, the
    largest that fits and those at which blocks are full suffice.

    Parameters
    ----------
    cost : Arrays
        The cost of tiles.
    allowed : array of bool, of (axes)
        Which axes may be contiguous.
    order : array of int
        The dimensions in the order in which their sizes decide between equal tiles.
    start, sizes : array of int
        Sizes of dimension d that are allowed: sizes[start[d]:start[d + 1]], ascending.
    dense : bool
        Whether they are all integers, and may be jumped over.
    bounded : bool
        Whether blocks per operation only fall with every size.

    Returns
    -------
    value : float
        Blocks per operation; infinite when no tile fits.
    tile : array of int
        Its sizes: of the most operations among equals, then those that are larger.
    inner : array of int, of (tensors)
        Contiguous axis of each tensor.
    ties : int
        Tiles that were seen with this value.
    """
    n = len(start) - 1
    best = np.inf
    most = 0
    ties = 0
    best_tile = np.ones(n, np.int64)
    best_inner = np.full(len(cost.block), -1, np.int64)
    inner = np.empty(len(cost.block), np.int64)
    low, high, tile = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    # a box is halved at most as often as its dimensions have bits, and leaves one half behind
    stack = np.empty((64 * n + 2, 2, n), np.int64)
    for d in range(n):
        stack[0, 0, d], stack[0, 1, d] = start[d], start[d + 1] - 1
    depth = 1
    while depth > 0:
        depth -= 1
        first, last = stack[depth, 0], stack[depth, 1]
        for d in range(n):
            tile[d] = sizes[first[d]]
        if not fits(cost, tile):
            continue
        for d in range(n):
            last[d] = largest(cost, tile, d, sizes, first[d], last[d])
            low[d], high[d] = tile[d], sizes[last[d]]
        cut, free = widest(sizes, first, last)
        if free > 1:
            if bounded:
                least = bound(cost, allowed, low, high, inner, tile)
                if least > best * (1 + ROUNDING):
                    continue
            inside = sizes[first[cut] : last[cut]]
            mean = np.sqrt(low[cut] * float(high[cut]))
            middle = first[cut] + max(0, np.searchsorted(inside, mean, "right") - 1)
            copy(first, stack[depth + 1, 0])
            copy(last, stack[depth + 1, 1])
            stack[depth + 1, 0, cut] = middle + 1
            last[cut] = middle
            depth += 2
            continue
        i = last[cut]
        while i >= first[cut]:
            tile[cut] = sizes[i]
            operations = 1
            value = 0.0
            for d in range(n):
                operations *= tile[d]
            for t in range(len(cost.block)):
                value += cost.weight[t] * blocks(cost, allowed, t, tile, tile, inner)
            value /= operations
            better = operations > most or (operations == most and wider(tile, best_tile, order))
            if value < best or (value == best and better):
                ties = ties if value == best else 0
                best, most = value, operations
                copy(tile, best_tile)
                copy(inner, best_inner)
            ties += value == best
            if dense:
                i = start[cut] + next_size(cost, allowed, tile, cut) - 1
            else:
                i -= 1
    return best, best_tile, best_inner, ties


@kernel
def count_tiles(cost: Arrays, order: Ints, start: Ints, sizes: Ints) -> int:
    """Return how many tiles fit the memory: one by one but for the last dimension."""
    n = len(order)
    tile = np.ones(n, np.int64)
    at = np.empty(n, np.int64)
    total = 0
    level = 0
    at[0] = start[order[0]] - 1
    while level >= 0:
        d = order[level]
        if level == n - 1:
            total += largest(cost, tile, d, sizes, start[d], start[d + 1] - 1) + 1 - start[d]
            level -= 1
            continue
        at[level] += 1
        if at[level] < start[d + 1]:
            tile[d] = sizes[at[level]]
            if fits(cost, tile):
                level += 1
                at[level] = start[order[level]] - 1
                continue
        # larger sizes do not fit either
        tile[d] = 1
        level -= 1
    return total
