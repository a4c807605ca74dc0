"""Least words between a memory and an array of processing elements, for given blocks.

A block of the memory is worked off in batches. A batch is a box of iterations; each element of the
array takes a box of it, its words wait in the registers of that element, and a word that several
elements take is read once. A tensor stays over the innermost loops over batches as long as none of
them is relevant to it; when another loop advances, and at the beginning of every block, its words
move. Outputs are written then, and read when they go on.

How many words that is depends on the extents of the batch and on the tensors that stay alone. More
iterations in a batch never take more words. So the array is filled as far as it goes, and the boxes
of the elements are walked, largest first, with a bound from the registers that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tilewright.model.kernel import kernel, part
from tilewright.offchip.bound import Floats, block_words, index_words
from tilewright.offchip.nest import Array, Flags, Nest


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
class Batches:
    """How blocks are worked off on the array.

    Attributes
    ----------
    words : tuple of int
        Words of each tensor between memory and array, in all blocks.
    spread : array of int, 2 x dimensions
        Elements over which each dimension is spread, on the rows and on the columns.
    boxes : array of int
        Iterations of each dimension that an element takes at a time.
    stays : array of bool, tensors x dimensions
        Innermost loops over which a tensor stays.
    order : tuple of int
        Loops over batches, from outermost to innermost.
    nodes : int
        Choices of boxes that were bounded.
    """

    words: tuple[int, ...]
    spread: Array
    boxes: Array
    stays: Flags
    order: tuple[int, ...]
    nodes: int


@part
def batches(bound: int, block: int, extent: int) -> int:
    """Return how many batches a dimension has in all its blocks."""
    short = bound % block
    return (bound // block) * (-(-block // extent)) + -(-short // extent)


@part
def kinds(bound: int, block: int, extent: int, sizes: Array, times: Array) -> None:
    """Write the extents of batches along a dimension, and how often each occurs."""
    blocks, short = bound // block, bound % block
    sizes[0], times[0] = extent, blocks * (block // extent) + short // extent
    sizes[1], times[1] = block % extent, blocks
    sizes[2], times[2] = short % extent, 1


@part
def axis_words(
    a: int, m: int, b: int, n: int, extents: Array, blocks: Array, bounds: Array, work: Array
) -> int:
    """Return the words along an axis of two dimensions, over all pairs of their batches."""
    kinds(bounds[a], blocks[a], extents[a], work[0], work[1])
    kinds(bounds[b], blocks[b], extents[b], work[2], work[3])
    total = 0
    for i in range(3):
        for j in range(3):
            if work[0, i] > 0 and work[2, j] > 0:
                pairs = work[1, i] * work[3, j]
                total += pairs * index_words(m, work[0, i], n, work[2, j])
    return total


@kernel
def moved_words(
    t: int, extents: Array, stays: Flags, blocks: Array, bounds: Array, expressions: Array,
    axes: Array, relevant: Flags, work: Array,
) -> float:  # fmt: skip
    """Return the words of a tensor that go to the array, when batches have these extents.

    It stays over the loops of some dimensions: their batches in a block are one.
    """
    total = 1.0
    for e in range(axes[t]):
        a, b = expressions[t, e, 0], expressions[t, e, 2]
        if b < 0:
            total *= bounds[a]
        else:
            total *= axis_words(
                a, expressions[t, e, 1], b, expressions[t, e, 3], extents, blocks, bounds, work
            )
    for d in range(len(bounds)):
        if not relevant[t, d]:
            total *= batches(bounds[d], blocks[d], blocks[d] if stays[t, d] else extents[d])
    return total


@part
def all_words(
    extents: Array, stays: Flags, blocks: Array, bounds: Array, expressions: Array, axes: Array,
    relevant: Flags, words: Array, weights: Array, work: Array,
) -> float:  # fmt: skip
    """Return the words of all tensors; outputs are written and, but for the first time, read."""
    total = 0.0
    for t in range(len(axes)):
        moved = moved_words(t, extents, stays, blocks, bounds, expressions, axes, relevant, work)
        total += weights[t] * moved - (weights[t] - 1) * words[t]
    return total


@part
def registers_of(boxes: Array, expressions: Array, axes: Array) -> int:
    """Return the words of all tensors in a box."""
    total = 0
    for t in range(len(axes)):
        total += block_words(t, boxes, expressions, axes)
    return total


@part
def list_boxes(
    spread: Array, alike: Flags, free: Flags, registers: int, blocks: Array, bounds: Array,
    options: Array, count: Array,
) -> None:  # fmt: skip
    """List the boxes of each dimension, the smallest of each number of batches."""
    for d in range(len(bounds)):
        options[d, 0] = 1
        count[d] = 1
        if free[d]:
            continue
        last = batches(bounds[d], blocks[d], min(spread[d], blocks[d]))
        for box in range(2, min(registers, -(-blocks[d] // spread[d])) + 1):
            now = batches(bounds[d], blocks[d], min(spread[d] * box, blocks[d]))
            if now < last or not alike[d]:
                options[d, count[d]] = box
                count[d] += 1
                last = now


@part
def largest(
    d: int, boxes: Array, registers: int, options: Array, count: Array, expressions: Array,
    axes: Array,
) -> int:  # fmt: skip
    """Return the place of the largest box of a dimension that fits beside the others; or -1."""
    low, high = -1, count[d] - 1
    before = boxes[d]
    while low < high:
        middle = (low + high + 1) // 2
        boxes[d] = options[d, middle]
        if registers_of(boxes, expressions, axes) <= registers:
            low = middle
        else:
            high = middle - 1
    boxes[d] = before
    return int(low)


@part
def rest_bound(
    level: int, boxes: Array, spread: Array, stays: Flags, free: Flags, turn: Array,
    registers: int, blocks: Array, bounds: Array, expressions: Array, axes: Array, relevant: Flags,
    sliding: Flags, words: Array, weights: Array, options: Array, count: Array, extents: Array,
    work: Array, moved: Floats,
) -> float:  # fmt: skip
    """Return what no choice goes below that has these boxes of the first dimensions.

    Each of the others takes all registers that are left. But all of them together must leave room
    too: their boxes multiply in each tensor that has them. So the batches multiply to so many at
    least, and two tensors that move once for each batch of different dimensions share that.
    """
    dims, tensors = len(bounds), len(axes)
    for q in range(dims):
        d = turn[q]
        box = boxes[d]
        if q > level:
            box = options[
                d, largest(d, boxes, registers, options, count, expressions, axes)
            ]  # fmt: skip
        extents[d] = min(blocks[d], spread[d] * box)
    total = 0.0
    for t in range(tensors):
        moved[t] = weights[t] * moved_words(
            t, extents, stays, blocks, bounds, expressions, axes, relevant, work
        )
        total += moved[t] - (weights[t] - 1) * words[t]
    used = registers_of(boxes, expressions, axes)
    best = total
    for s in range(tensors):
        own = block_words(s, boxes, expressions, axes)
        room = (registers - used + own) // own
        for t in range(tensors):
            for u in range(t, tensors):
                least = 1.0 / room
                apart = True
                for q in range(level + 1, dims):
                    d = turn[q]
                    by_t = not relevant[t, d] and not stays[t, d]
                    by_u = not relevant[u, d] and not stays[u, d]
                    if free[d] or not relevant[s, d] or sliding[s, d]:
                        continue
                    if by_t and by_u and t != u:
                        apart = False
                    if by_t or by_u:
                        least *= bounds[d] / spread[d] / batches(bounds[d], blocks[d], extents[d])
                least *= 1 - 1e-9
                if not apart or least <= 1:
                    continue
                if t == u:
                    more = moved[t] * (least - 1)
                else:
                    times = min(max(1.0, (moved[u] * least / moved[t]) ** 0.5), least)
                    more = moved[t] * (times - 1) + moved[u] * (least / times - 1)
                best = max(best, total + more)
    return best


@kernel
def walk_boxes(
    best: float, spreads: Array, stays: Flags, alike: Flags, free: Flags, turn: Array,
    registers: int, blocks: Array, bounds: Array, expressions: Array, axes: Array, relevant: Flags,
    sliding: Flags, words: Array, weights: Array, found: Array, flags: Array,
) -> float:  # fmt: skip
    """Return the fewest words below the best so far; their spread and boxes go to `found`.

    Parameters
    ----------
    spreads : array of int, choices x dimensions
        Over how many elements each dimension is spread.
    stays : array of bool, tensors x dimensions
    alike, free : array of bool
        Dimensions of which only the number of batches counts, and of which not even that.
    turn : array of int
        Dimensions in the order in which they are chosen.
    flags : array of int
        Receives the choices that were bounded, and the spread of the best.
    """
    dims = len(bounds)
    work = np.zeros((4, 3), np.int64)
    options = np.ones((dims, registers + 1), np.int64)
    count = np.ones(dims, np.int64)
    boxes = np.ones(dims, np.int64)
    extents = np.ones(dims, np.int64)
    place = np.zeros(dims, np.int64)
    moved = np.zeros(len(axes))
    roots = np.zeros(len(spreads))
    if registers_of(boxes, expressions, axes) > registers:
        return best
    for c in range(len(spreads)):
        list_boxes(spreads[c], alike, free, registers, blocks, bounds, options, count)
        boxes[:] = 1
        roots[c] = rest_bound(
            -1, boxes, spreads[c], stays, free, turn, registers, blocks, bounds, expressions, axes,
            relevant, sliding, words, weights, options, count, extents, work, moved,
        )  # fmt: skip
    for c in np.argsort(roots):
        if roots[c] >= best:
            break
        spread = spreads[c]
        list_boxes(spread, alike, free, registers, blocks, bounds, options, count)
        boxes[:] = 1
        level = 0
        place[0] = largest(turn[0], boxes, registers, options, count, expressions, axes)
        while level >= 0:
            d = turn[level]
            at = place[level]
            if at < 0:
                boxes[d] = 1
                level -= 1
                continue
            # the last dimension takes all that is left
            place[level] = -1 if level == dims - 1 else at - 1
            boxes[d] = options[d, at]
            bound = rest_bound(
                level, boxes, spread, stays, free, turn, registers, blocks, bounds, expressions,
                axes, relevant, sliding, words, weights, options, count, extents, work, moved,
            )  # fmt: skip
            flags[0] += 1
            if bound >= best:
                continue
            if level == dims - 1:
                best = bound
                found[:] = boxes
                flags[1] = c
                continue
            level += 1
            place[level] = largest(turn[level], boxes, registers, options, count, expressions, axes)
    return best


def least_words(
    nest: Nest,
    blocks: Array,
    elements: Elements,
    below: float = np.inf,
    others: Sequence[Batches] = (),
) -> Batches | None:
    """Return the batches with the fewest words between memory and array; None: not below.

    Parameters
    ----------
    nest : Nest
    blocks : array of int
        Iterations of each dimension in a block of the memory; the last one may be short.
    elements : Elements
    below : float
        Only fewer words than these are of interest.
    others : sequence of Batches
        Batches for other blocks, which may be good here.
    """
    best, chosen, nodes = below, None, 0
    for other in others:
        here = batched(nest, blocks, other.spread, other.boxes, other.stays, other.order, 0)
        if sum(here.words) < best:
            best, chosen = float(sum(here.words)), here
    side = max(elements.rows, elements.columns)
    for order, stays in ways_to_stay(nest):
        # no tensor moves more often for more batches of these
        free: Flags = np.logical_and(~nest.sliding.any(axis=0), (nest.relevant | stays).all(axis=0))
        most = np.where(free, 1, np.minimum(blocks, side))
        pairs = spreads(tuple(most.tolist()), elements.rows, elements.columns)
        found, flags = np.ones(len(blocks), np.int64), np.zeros(2, np.int64)
        value = walk_boxes(
            best, pairs.prod(axis=1), stays, ~strided(nest), free,
            np.argsort(-np.where(free, 0, blocks), kind="stable"), elements.registers, blocks,
            nest.bounds, nest.expressions, nest.axes, nest.relevant, nest.sliding, nest.words,
            nest.weights, found, flags,
        )  # fmt: skip
        nodes += int(flags[0])
        if value < best:
            best = value
            chosen = batched(nest, blocks, pairs[flags[1]], found, stays, order, nodes)
    return chosen


def batched(
    nest: Nest, blocks: Array, spread: Array, boxes: Array, stays: Flags, order: tuple[int, ...],
    nodes: int,
) -> Batches:  # fmt: skip
    """Return how batches work off some blocks, and the words that move."""
    spread = np.minimum(spread, blocks)
    boxes = np.minimum(boxes, -(-blocks // spread.prod(axis=0)))
    extents = np.minimum(blocks, boxes * spread.prod(axis=0))
    work = np.zeros((4, 3), np.int64)
    words = []
    for t, (weight, whole) in enumerate(zip(nest.weights, nest.words, strict=True)):
        moved = moved_words(
            t, extents, stays, blocks, nest.bounds, nest.expressions, nest.axes, nest.relevant, work
        )
        words.append(int(weight) * int(moved) - (int(weight) - 1) * int(whole))
    return Batches(tuple(words), spread, boxes, stays, order, nodes)


@lru_cache(maxsize=8)
def ways_to_stay(nest: Nest) -> list[tuple[tuple[int, ...], Flags]]:
    """Return which tensors may stay over which loops, and an order of loops for each such way.

    A tensor stays over the innermost loops, as long as none of them is relevant to it. Ways in
    which no tensor stays over less, and some over more, come in place of others.
    """
    moving = [d for d, bound in enumerate(nest.bounds) if bound > 1]
    ways: dict[bytes, tuple[tuple[int, ...], Flags]] = {}

    def extend(inner: tuple[int, ...], stays: Flags) -> None:
        more = False
        for d in moving:
            over = ~nest.relevant[:, d] & (stays.sum(axis=1) == len(inner))
            if d not in inner and over.any():
                more = True
                wider = stays.copy()
                wider[over, d] = True
                extend((d, *inner), wider)
        if not more:
            outer = tuple(d for d in moving if d not in inner)
            ways.setdefault(stays.tobytes(), (outer + inner, stays))

    extend((), np.zeros(nest.relevant.shape, np.bool_))
    every = list(ways.values())
    return [
        (order, stays)
        for order, stays in every
        if not any((other >= stays).all() and (other > stays).any() for _, other in every)
    ]


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
