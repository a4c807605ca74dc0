"""Compiled search for the tile of least data-movement cost, and counts of the tiles that fit."""

from __future__ import annotations

import numpy as np

from tilewright.layout.dmc import Arrays
from tilewright.model.kernel import kernel, part
from tilewright.model.types import Bools, Ints

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
def blocks(cost: Arrays, allowed: Bools, tile: Ints, fixed: Bools, inner: Ints) -> float:
    """Return the weighted blocks of a tile with the best contiguous axis of each tensor.

    Along axes of which a dimension is not fixed they are not rounded: per operation, that bounds
    what smaller tiles have from below.
    """
    total = 0.0
    for t in range(len(cost.block)):
        begin, end = cost.axis_start[t], cost.axis_start[t + 1]
        least = np.inf
        inner[t] = -1
        for axis in range(begin, end):
            if not allowed[axis]:
                continue
            whole = True
            for i in range(cost.term_start[axis], cost.term_start[axis + 1]):
                whole = whole and fixed[cost.dimension[i]]
            box = axis_box(cost, axis, tile)
            if whole:
                count = float(min(-(-box // cost.block[t]), axis_words(cost, axis, tile)))
            else:
                count = max(1.0, axis_words(cost, axis, tile) / cost.block[t])
            for other in range(begin, end):
                if other != axis:
                    count *= axis_words(cost, other, tile)
            if count < least:
                least = count
                inner[t] = axis - begin
        if begin == end:
            least = 1.0
        total += cost.weight[t] * least
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
def largest(cost: Arrays, tile: Ints, d: int, start: Ints, sizes: Ints) -> int:
    """Return where the largest size of a dimension is that fits; before the first one if none does.

    The dimension is left at size 1.
    """
    low, high = start[d], start[d + 1]
    while low < high:
        middle = (low + high) // 2
        tile[d] = sizes[middle]
        if fits(cost, tile):
            low = middle + 1
        else:
            high = middle
    tile[d] = 1
    return int(low) - 1


@kernel
def search(
    cost: Arrays, allowed: Bools, order: Ints, start: Ints, sizes: Ints, dense: bool
) -> tuple[float, Ints, Ints, int]:
    """Find the tile of least cost.

    Along the last dimension the cost per operation only falls while no axis needs another block:
    where all sizes are allowed, the largest that fits and those at which blocks are full suffice.
    The others are enumerated, largest first, as long as the blocks that they cannot avoid are
    below the best.

    Parameters
    ----------
    cost : Arrays
        The cost of tiles.
    allowed : array of bool, of (axes)
        Which axes may be contiguous.
    order : array of int, of (dimensions)
        The dimensions, the last one as above.
    start, sizes : array of int
        Sizes of dimension d that are allowed: sizes[start[d]:start[d + 1]], ascending.
    dense : bool
        Whether those of the last dimension are all integers, and may be jumped over.

    Returns
    -------
    value : float
        Blocks per operation; infinite when no tile fits.
    tile : array of int
        Its sizes, of the most operations among equals.
    inner : array of int, of (tensors)
        Contiguous axis of each tensor.
    ties : int
        Tiles that were seen with this value.
    """
    n = len(order)
    best = np.inf
    most = 0
    ties = 0
    best_tile = np.ones(n, np.int64)
    best_inner = np.full(len(cost.block), -1, np.int64)
    inner = np.empty(len(cost.block), np.int64)
    tile = np.ones(n, np.int64)
    fixed = np.zeros(n, np.bool_)
    at = np.empty(n, np.int64)
    level = 0
    at[0] = start[order[0] + 1]
    while level >= 0:
        d = order[level]
        if level == n - 1:
            i = largest(cost, tile, d, start, sizes)
            fixed[d] = True
            while i >= start[d]:
                tile[d] = sizes[i]
                operations = 1
                for each in range(n):
                    operations *= tile[each]
                value = blocks(cost, allowed, tile, fixed, inner) / operations
                if value < best or (value == best and operations > most):
                    ties = ties if value == best else 0
                    best, most = value, operations
                    best_tile[:] = tile
                    best_inner[:] = inner
                ties += value == best
                if dense:
                    i = start[d] + next_size(cost, allowed, tile, d) - 1
                else:
                    i -= 1
            fixed[d] = False
            tile[d] = 1
            level -= 1
            continue
        at[level] -= 1
        if at[level] < start[d]:
            fixed[d] = False
            tile[d] = 1
            level -= 1
            continue
        tile[d] = sizes[at[level]]
        fixed[d] = True
        if not fits(cost, tile):
            continue
        # what lies in the gaps of a stride may grow faster than the operations: no bound
        if not cost.gaps:
            operations = 1
            for k in range(level + 1, n):
                # each of the others alone as large as it can be
                at[k] = sizes[max(start[order[k]], largest(cost, tile, order[k], start, sizes))]
            for k in range(n):
                if k > level:
                    tile[order[k]] = at[k]
                operations *= tile[order[k]]
            bound = blocks(cost, allowed, tile, fixed, inner) / operations
            for k in range(level + 1, n):
                tile[order[k]] = 1
            if bound > best * (1 + ROUNDING):
                continue
        level += 1
        at[level] = start[order[level] + 1]
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
            total += largest(cost, tile, d, start, sizes) + 1 - start[d]
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
