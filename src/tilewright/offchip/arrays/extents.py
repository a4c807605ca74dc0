"""Which extents a batch can have on an array: those that no other batch has more of.

A batch is spread over the elements of the array, and each element takes a box of it whose words
fit its registers. The words that move depend on the extents of the batch alone, and they are never
more for larger ones. So the extents that matter are few: some ten thousand, whatever the blocks.

Extents are *ranked*: two extents of a dimension that cut every block of the search into as many
batches have the same rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import InputError
from tilewright.kernels.kernel import kernel, part
from tilewright.offchip.nest import Array, Flags, Nest

Ranks = NDArray[np.int16]
MOST_CELLS = 1 << 28


@dataclass(frozen=True)
class Elements:
    """An array of processing elements.

    Attributes
    ----------
    rows, columns : int
    registers : int
        Words that each element holds, of all tensors together.
    """

    rows: int
    columns: int
    registers: int

    def __str__(self) -> str:
        return f"{self.rows} x {self.columns} elements of {self.registers} registers"


@dataclass(frozen=True, eq=False)
class Boxes:
    """The boxes of elements to choose from.

    Attributes
    ----------
    ranks : tuple of array of int
        Rank of each extent of each dimension; that of one iteration is 0.
    count : array of int, dimensions x elements
        How many boxes there are when a dimension is spread over so many elements.
    box, rank : array of int, dimensions x elements x count
        Iterations of a box, ascending, and the rank of the extent of the batch.
    """

    ranks: tuple[Array, ...]
    count: Array
    box: Array
    rank: Array


def batches(bound: int, block: Array, extent: Array) -> Array:
    """Return how many batches a dimension has in all its blocks."""
    short = bound % block
    whole: Array = (bound // block) * -(-block // extent) - (-short // extent)
    return whole


def ranked(bound: int, blocks: Sequence[int], alike: bool) -> Array:
    """Return the rank of each extent; all differ unless only the number of batches counts."""
    extents = np.arange(1, bound + 1)
    if not alike:
        return extents - 1
    counts = np.array([batches(bound, np.array(block), extents) for block in blocks])
    new = (np.diff(counts, axis=1) != 0).any(axis=0)
    return np.concatenate([[0], np.cumsum(new)])


def list_boxes(nest: Nest, elements: Elements, blocks: Sequence[Sequence[int]]) -> Boxes:
    """Return the smallest box of each rank."""
    alike = ~strided(nest)
    side = max(elements.rows, elements.columns)
    ranks = tuple(
        ranked(int(bound), blocks[d], bool(alike[d])) for d, bound in enumerate(nest.bounds)
    )
    lists: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for d, bound in enumerate(nest.bounds):
        for spread in range(1, side + 1):
            boxes = np.arange(1, min(elements.registers, -(-int(bound) // spread)) + 1)
            own = ranks[d][np.minimum(bound, boxes * spread) - 1]
            first = np.unique(own, return_index=True)[1]
            lists[d, spread] = [(int(boxes[at]), int(own[at])) for at in first]
    longest = max(map(len, lists.values()))
    shape = len(nest.bounds), side + 1, longest
    count, box, rank = np.zeros(shape[:2], np.int64), np.ones(shape, np.int64), np.zeros(shape)
    for (d, spread), each in lists.items():
        count[d, spread] = len(each)
        box[d, spread, : len(each)], rank[d, spread, : len(each)] = zip(*each, strict=True)
    return Boxes(ranks, count, box, rank.astype(np.int64))


@part
def registers_of(boxes: Array, expressions: Array, axes: Array) -> int:
    """Return the words of all tensors in a box; coefficients of a pair have no common divisor."""
    total = 0
    for t in range(len(axes)):
        words = 1
        for e in range(axes[t]):
            m = boxes[expressions[t, e, 0]]
            second = expressions[t, e, 2]
            if second >= 0:
                n = boxes[second]
                skipped = max(0, m - expressions[t, e, 3]) * max(0, n - expressions[t, e, 1])
                words *= m * n - skipped
            else:
                words *= m
        total += words
    return total


@part
def most(
    d: int, slides: bool, boxes: Array, registers: int, expressions: Array, axes: Array
) -> int:
    """Return the most iterations of a dimension that fit the registers beside the others."""
    boxes[d] = 1
    one = registers_of(boxes, expressions, axes)
    boxes[d] = 2
    two = registers_of(boxes, expressions, axes)
    low = 1 + (registers - one) // (two - one) if two > one else registers
    if slides and low > 1:
        # each iteration more takes no more words than the one before
        high = registers
        while low < high:
            middle = (low + high + 1) // 2
            boxes[d] = middle
            if registers_of(boxes, expressions, axes) <= registers:
                low = middle
            else:
                high = middle - 1
    boxes[d] = 1
    return int(low)


@kernel
def fill(
    spreads: Array, dims: Array, slides: bool, registers: int, last_ranks: Array, count: Array,
    box: Array, rank: Array, strides: Array, expressions: Array, axes: Array, table: Ranks,
) -> None:  # fmt: skip
    """Raise a table of the highest rank of the last dimension, by the ranks of the others.

    For each spread all boxes of the other dimensions are gone through that fit the registers; the
    last dimension takes what is left of them.
    """
    boxes = np.ones(len(count), np.int64)
    at = np.zeros(len(dims), np.int64)
    last = dims[len(dims) - 1]
    others = len(dims) - 1
    for spread in spreads:
        at[:] = 0
        boxes[:] = 1
        while True:
            q = others - 1
            if registers_of(boxes, expressions, axes) <= registers:
                extent = spread[last] * most(last, slides, boxes, registers, expressions, axes)
                cell = 0
                for p in range(others):
                    d = dims[p]
                    cell += strides[p] * rank[d, spread[d], at[p]]
                highest = last_ranks[min(extent, len(last_ranks)) - 1]
                table[cell] = max(table[cell], highest)
            else:
                # nor do larger boxes of the dimension that was raised last
                while q >= 0 and at[q] == 0:
                    q -= 1
                if q < 0:
                    break
                at[q] = 0
                boxes[dims[q]] = 1
                q -= 1
            while q >= 0:
                d = dims[q]
                if at[q] + 1 < count[d, spread[d]]:
                    at[q] += 1
                    boxes[d] = box[d, spread[d], at[q]]
                    break
                at[q] = 0
                boxes[d] = 1
                q -= 1
            if q < 0:
                break


@kernel
def largest(table: Ranks, sizes: Array, strides: Array) -> Array:
    """Return the cells of a table of highest ranks that no cell with higher ranks makes up for."""
    above = table.copy()
    for p in range(len(sizes)):
        for cell in range(len(table) - 1, -1, -1):
            if cell // strides[p] % sizes[p] + 1 < sizes[p]:
                above[cell] = max(above[cell], above[cell + strides[p]])
    kept = 0
    for writing in range(2):
        found = np.zeros(kept, np.int64)
        kept = 0
        for cell in range(len(table)):
            keep = table[cell] >= 0
            for p in range(len(sizes)):
                if not keep:
                    break
                if cell // strides[p] % sizes[p] + 1 < sizes[p]:
                    keep = above[cell + strides[p]] < table[cell]
            if keep:
                if writing == 1:
                    found[kept] = cell
                kept += 1
    return found


def largest_extents(nest: Nest, elements: Elements, boxes: Boxes, free: Flags) -> Array:
    """Return the ranks of the extents of batches that no other batch has more of.

    Dimensions that are `free`, of which no tensor moves more often for more batches, are left at
    one iteration. When no box at all fits there is no row.

    Raises
    ------
    InputError
        When the layer has too many extents for a table.
    """
    side = max(elements.rows, elements.columns)
    top = np.array([int(each[-1]) for each in boxes.ranks])
    slides: Flags = np.array(nest.sliding.any(axis=0))
    dims = sorted(
        (d for d in range(len(top)) if top[d] > 0 and not free[d]),
        key=lambda d: (not slides[d], top[d]),
    )
    dims = dims or [0]
    sizes = top[dims[:-1]] + 1
    strides = np.cumprod(np.concatenate([[1], sizes]))
    if strides[-1] > MOST_CELLS:
        raise InputError(
            f"layer '{nest.layer.name}' has {strides[-1]:,} extents of batches; at most "
            f"{MOST_CELLS:,} are accepted",
            key="weight",
        )
    widest = np.where(free, 1, np.minimum(nest.bounds, side))
    table = np.full(int(strides[-1]), -1, np.int16)
    every = np.unique(
        spreads(tuple(widest.tolist()), elements.rows, elements.columns).prod(axis=1), axis=0
    )
    fill(
        every, np.array(dims), bool(slides[dims[-1]]), elements.registers, boxes.ranks[dims[-1]],
        boxes.count, boxes.box, boxes.rank, strides, reduced(nest.expressions), nest.axes, table,
    )  # fmt: skip
    cells = largest(table, sizes, strides)
    found = np.zeros((len(cells), len(top)), np.int64)
    for p, d in enumerate(dims[:-1]):
        found[:, d] = cells // strides[p] % sizes[p]
    found[:, dims[-1]] = table[cells]
    return found


def reduced(expressions: Array) -> Array:
    """Return the expressions without common divisors of the two coefficients."""
    divisor = np.ones_like(expressions)
    divisor[..., 1::2] = np.gcd(expressions[..., 1:2], expressions[..., 3:4]).clip(min=1)
    divided: Array = expressions // divisor
    return divided


@lru_cache(maxsize=256)
def spreads(most: tuple[int, ...], rows: int, columns: int) -> Array:
    """Return how dimensions are spread over rows and columns: choices x 2 x dimensions.

    Each dimension is on one side of the array. Where one more element could be used, the choice
    is left out.
    """
    tall, wide = (np.array(spread_vectors(most, side), np.int64) for side in (rows, columns))
    r, c = np.nonzero(((tall > 1).astype(int) @ (wide > 1).astype(int).T) == 0)
    tall, wide = tall[r], wide[c]
    grows = np.zeros(len(tall), np.bool_)
    for side, other, length in ((tall, wide, rows), (wide, tall, columns)):
        used = side.prod(axis=1)
        for d, limit in enumerate(most):
            taller = used // side[:, d] * (side[:, d] + 1)
            grows |= (other[:, d] == 1) & (side[:, d] < limit) & (taller <= length)
    both = np.stack([tall[~grows], wide[~grows]], axis=1)
    _, first = np.unique(both.prod(axis=1), axis=0, return_index=True)
    return both[np.sort(first)]


def spread_vectors(most: tuple[int, ...], length: int) -> list[tuple[int, ...]]:
    """Return all ways to spread dimensions over so many elements in a line."""
    if not most:
        return [()]
    return [
        (n, *rest)
        for n in range(1, min(most[0], length) + 1)
        for rest in spread_vectors(most[1:], length // n)
    ]


def strided(nest: Nest) -> Flags:
    """Return the dimensions that share an axis with another one, on which there may be gaps."""
    found = np.zeros(len(nest.bounds), np.bool_)
    for t, axes in enumerate(nest.axes):
        for a, m, b, n in nest.expressions[t, :axes]:
            if b >= 0 and m * n > 1:
                found[[a, b]] = True
    return found
