"""Least words between a memory and an array of processing elements, for given blocks.

A block of the memory is worked off in batches. A batch is a box of iterations; each element of the
array takes a box of it, its words wait in the registers of that element, and a word that several
elements take is read once. A tensor stays over the innermost loops over batches as long as none of
them is relevant to it; when another loop advances, and at the beginning of every block, its words
move. Outputs are written then, and read when they go on.

How many words that is depends on the extents of the batch and on the tensors that stay, alone. So
it is a product of a few numbers that stand in tables, for each of the extents that matter
(`extents`). These are the leaves of a tree: each node has the largest extents of those below it,
and takes no more words than any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tilewright.errors import NoMappingError
from tilewright.model.kernel import kernel, part
from tilewright.offchip.bound import Floats, block_words, index_words
from tilewright.offchip.extents import (
    Boxes,
    Elements,
    batches,
    largest_extents,
    list_boxes,
    spreads,
)
from tilewright.offchip.nest import Array, Flags, Nest

NONE = -1
DEEPEST = 256  # nodes of the tree that wait at most


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
    """

    words: tuple[int, ...]
    spread: Array
    boxes: Array
    stays: Flags
    order: tuple[int, ...]


class Tables(NamedTuple):
    """The factors of the words that move, and a tree of extents for each way to stay.

    Blocks and extents are numbers: the place of a block in its list, the rank of an extent.
    """

    blocks: Floats  # dimensions x blocks: how many blocks there are
    batches: Floats  # dimensions x blocks x ranks: how many batches there are in all of them
    windows: Floats  # words along each axis of two dimensions, by their blocks and ranks
    pairs: Array  # tensors x axes x 6: where those begin, the dimensions, and how many of each
    axes: Array  # axes of two dimensions of each tensor
    whole: Floats  # words of each tensor along its other axes, as often as they are counted
    once: float  # what is not read the first time
    stays: Flags  # ways x tensors x dimensions: loops over which a tensor stays
    repeats: Array  # ways x tensors x loops: dimensions of which batches move a tensor once more
    loops: Array  # ways x tensors: how many
    roots: Array
    ranks: Array  # nodes x dimensions
    way: Array
    below: Array  # first of the two nodes below; NONE below a leaf


@part
def kinds(bound: int, block: int, extent: int, sizes: Array, times: Array) -> None:
    """Write the extents of batches along a dimension, and how often each occurs."""
    blocks, short = bound // block, bound % block
    sizes[0], times[0] = extent, blocks * (block // extent) + short // extent
    sizes[1], times[1] = block % extent, blocks
    sizes[2], times[2] = short % extent, 1


@kernel
def window_words(
    a: int, first: Array, first_extents: Array, b: int, second: Array, second_extents: Array
) -> Floats:
    """Return the words along an axis ``a*i + b*j`` over all pairs of batches.

    Shape: blocks of i x blocks of j x extents of i x extents of j; the last block of each list is
    the whole dimension.
    """
    shape = (len(first), len(second), len(first_extents), len(second_extents))
    total = np.zeros(shape)
    work = np.zeros((4, 3), np.int64)
    for p in range(shape[0]):
        for q in range(shape[1]):
            for r in range(shape[2]):
                extent = min(first_extents[r], first[p])
                kinds(first[-1], first[p], extent, work[0], work[1])
                for s in range(shape[3]):
                    extent = min(second_extents[s], second[q])
                    kinds(second[-1], second[q], extent, work[2], work[3])
                    for i in range(3):
                        for j in range(3):
                            if work[0, i] > 0 and work[2, j] > 0:
                                words = index_words(a, work[0, i], b, work[2, j])
                                total[p, q, r, s] += work[1, i] * work[3, j] * words
    return total


@part
def begin_blocks(block: Array, tables: Tables, fixed: Floats, at: Array) -> None:
    """Write what does not depend on the extents: factors, and where windows of such blocks are."""
    for t in range(len(tables.whole)):
        for e in range(tables.axes[t]):
            a, b = tables.pairs[t, e, 1], tables.pairs[t, e, 2]
            place = block[a] * tables.pairs[t, e, 3] + block[b]
            ranks = tables.pairs[t, e, 4] * tables.pairs[t, e, 5]
            at[t, e] = tables.pairs[t, e, 0] + place * ranks
        for way in range(len(tables.stays)):
            fixed[way, t] = tables.whole[t]
            for d in range(len(block)):
                if tables.stays[way, t, d]:
                    fixed[way, t] *= tables.blocks[d, block[d]]


@part
def moved(
    t: int, node: int, block: Array, tables: Tables, fixed: Floats, at: Array
) -> float:  # fmt: skip
    """Return the words of a tensor that move, as often as they are counted."""
    ranks, way = tables.ranks[node], tables.way[node]
    total = fixed[way, t]
    for e in range(tables.axes[t]):
        a, b = tables.pairs[t, e, 1], tables.pairs[t, e, 2]
        total *= tables.windows[at[t, e] + ranks[a] * tables.pairs[t, e, 5] + ranks[b]]
    for i in range(tables.loops[way, t]):
        d = tables.repeats[way, t, i]
        total *= tables.batches[d, block[d], ranks[d]]
    return float(total)


@kernel
def moved_words(leaf: int, block: Array, tables: Tables) -> Floats:
    """Return the words of each tensor that move, as often as they are counted."""
    fixed = np.zeros(tables.loops.shape)
    at = np.zeros(tables.pairs.shape[:2], np.int64)
    begin_blocks(block, tables, fixed, at)
    words = np.zeros(len(tables.whole))
    for t in range(len(words)):
        words[t] = moved(t, leaf, block, tables, fixed, at)
    return words


@kernel
def fewest(
    block: Array, below: float, likely: int, waiting: Array, tables: Tables
) -> tuple[float, int]:
    """Return the fewest words of all tensors, and the leaf that has them; NONE: not below.

    `block` are the places of the blocks in their lists; `likely` is a leaf that may be good.
    """
    best, chosen = below, NONE
    fixed = np.zeros(tables.loops.shape)
    at = np.zeros(tables.pairs.shape[:2], np.int64)
    begin_blocks(block, tables, fixed, at)
    count = len(tables.roots)
    waiting[:count] = tables.roots
    waiting[count] = likely
    count += 1
    while count > 0:
        count -= 1
        node = waiting[count]
        total = -tables.once
        for t in range(len(tables.whole)):
            total += moved(t, node, block, tables, fixed, at)
        if total >= best:
            continue
        next_nodes = tables.below[node]
        if next_nodes == NONE:
            best, chosen = total, node
        else:
            waiting[count], waiting[count + 1] = next_nodes, next_nodes + 1
            count += 2
    return best, chosen


@dataclass(frozen=True, eq=False)
class Inside:
    """What the array can do with blocks of some sizes.

    Attributes
    ----------
    nest : Nest
    elements : Elements
    lists : sequence of sequence of int
        Sizes of blocks of each dimension, ascending.
    boxes : Boxes
    ways : sequence of (tuple of int, array of bool)
        Orders of loops over batches, and what stays in them.
    tables : Tables
    """

    nest: Nest
    elements: Elements
    lists: Sequence[Sequence[int]]
    boxes: Boxes
    ways: Sequence[tuple[tuple[int, ...], Flags]]
    tables: Tables


def read_inside(nest: Nest, elements: Elements, lists: Sequence[Sequence[int]]) -> Inside:
    """Return what an array can do with blocks.

    Parameters
    ----------
    nest : Nest
    elements : Elements
    lists : sequence of sequence of int
        Sizes of blocks of each dimension, ascending, the last one of which is the dimension.

    Raises
    ------
    NoMappingError
        When the registers do not suffice for one word of each tensor.
    InputError
        When the layer has too many extents for a table.
    """
    if elements.registers < len(nest.words):
        raise NoMappingError(
            f"{elements.registers} registers cannot hold a word of each of {len(nest.words)} "
            f"tensors"
        )
    boxes = list_boxes(nest, elements, lists)
    ways = ways_to_stay(nest)
    # the smallest extent of each rank
    extents = [np.unique(ranks, return_index=True)[1] + 1 for ranks in boxes.ranks]
    shape = len(lists), max(map(len, lists)), max(map(len, extents))
    blocks, counts = np.ones(shape[:2]), np.ones(shape)
    for d, sizes in enumerate(lists):
        bound, own = int(nest.bounds[d]), np.array(sizes)
        blocks[d, : len(own)] = -(-bound // own)
        counts[d, : len(own), : len(extents[d])] = batches(bound, own[:, None], extents[d])
    pairs = np.zeros((len(nest.axes), nest.expressions.shape[1], 6), np.int64)
    axes = np.zeros(len(nest.axes), np.int64)
    whole = nest.weights.astype(float)
    known: dict[tuple[int, ...], int] = {}
    windows: list[Floats] = []
    for t, many in enumerate(nest.axes):
        for row in nest.expressions[t, :many].tolist():
            a, m, b, n = row
            if b < 0:
                whole[t] *= nest.bounds[a]
                continue
            if tuple(row) not in known:
                known[tuple(row)] = sum(map(len, windows))
                words = window_words(
                    m, np.array(lists[a]), extents[a], n, np.array(lists[b]), extents[b]
                )
                windows.append(words.ravel())
            pairs[t, axes[t]] = (
                known[tuple(row)], a, b, len(lists[b]), len(extents[a]), len(extents[b]),
            )  # fmt: skip
            axes[t] += 1
    trees = []
    for _, each in ways:
        # no tensor moves more often for more batches of these
        free: Flags = np.logical_and(~nest.sliding.any(axis=0), (nest.relevant | each).all(axis=0))
        trees.append(tree(largest_extents(nest, elements, boxes, free)))
    stays = np.array([stays for _, stays in ways])
    moving = ~nest.relevant & (nest.bounds > 1) & ~stays
    sizes = [len(ranks) for ranks, _ in trees]
    roots = np.cumsum([0, *sizes[:-1]])
    return Inside(
        nest, elements, lists, boxes, ways,
        Tables(
            blocks, counts, np.concatenate([*windows, np.zeros(1)]), pairs, axes, whole,
            float(((nest.weights - 1) * nest.words).sum()),
            stays, np.argsort(~moving, axis=2, kind="stable"), moving.sum(axis=2), roots,
            np.concatenate([ranks for ranks, _ in trees]), np.repeat(np.arange(len(ways)), sizes),
            np.concatenate([
                np.where(below == NONE, NONE, below + root)
                for (_, below), root in zip(trees, roots, strict=True)
            ]),
        ),
    )  # fmt: skip


def tree(ranks: Array) -> tuple[Array, Array]:
    """Return the ranks of the nodes of a tree with these leaves, and the nodes below each.

    The leaves are halved along the dimension that differs most, again and again.
    """
    depth = int(np.ceil(np.log2(len(ranks))))
    leaves = ranks[np.minimum(np.arange(1 << depth), len(ranks) - 1)]
    nodes, below = [], []
    for level in range(depth):
        halves = leaves.reshape(1 << level, -1, ranks.shape[1])
        nodes.append(halves.max(axis=1))
        first = (2 << level) - 1 + 2 * np.arange(1 << level)
        below.append(first)
        wide = np.log2(halves + 1.0)
        widest = np.argmax(wide.max(axis=1) - wide.min(axis=1), axis=1)
        keys = np.take_along_axis(halves, widest[:, None, None], axis=2)[..., 0]
        order = np.argsort(keys, axis=1, kind="stable")
        leaves = np.take_along_axis(halves, order[..., None], axis=1).reshape(leaves.shape)
    return (
        np.concatenate([*nodes, leaves]),
        np.concatenate([*below, np.full(len(leaves), NONE)]).astype(np.int64),
    )


def batches_of(inside: Inside, block: Array, leaf: int) -> Batches:
    """Return how blocks are worked off with the extents of a leaf.

    Parameters
    ----------
    inside : Inside
    block : array of int
        Places of the blocks in their lists.
    leaf : int
    """
    nest, elements, boxes, tables = inside.nest, inside.elements, inside.boxes, inside.tables
    order, stays = inside.ways[tables.way[leaf]]
    ranks = tables.ranks[leaf]
    most = tuple(np.where(ranks > 0, nest.bounds, 1).clip(max=max(elements.rows, elements.columns)))
    dims = range(len(ranks))
    for spread in spreads(tuple(int(n) for n in most), elements.rows, elements.columns):
        wide = spread.prod(axis=0)
        places = [
            int(np.searchsorted(boxes.rank[d, wide[d], : boxes.count[d, wide[d]]], ranks[d]))
            for d in dims
        ]
        if any(places[d] == boxes.count[d, wide[d]] for d in dims):
            continue
        box = np.array([boxes.box[d, wide[d], places[d]] for d in dims])
        held = sum(block_words(t, box, nest.expressions, nest.axes) for t in range(len(nest.words)))
        if held <= elements.registers:
            break
    sizes = np.array([inside.lists[d][at] for d, at in enumerate(block)])
    spread = np.minimum(spread, sizes)
    box = np.minimum(box, -(-sizes // spread.prod(axis=0)))
    counted = moved_words(leaf, block, tables) - (nest.weights - 1) * nest.words
    words = tuple(round(float(each)) for each in counted)
    return Batches(words, spread, box, stays, order)


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
