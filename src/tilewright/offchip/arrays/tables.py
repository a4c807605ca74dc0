"""Words between a memory and an array in tables, for every block and every extent of a batch.

How many words move depends on the extents of the batch and on the tensors that stay, alone. So it
is a product of a few numbers that stand in tables, for each of the extents that matter. These are
the leaves of a tree: each node has the largest extents of those below it, and takes no more words
than any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import kernel, part
from tilewright.offchip.arrays.extents import batches
from tilewright.offchip.nest import Array, Flags, Nest
from tilewright.offchip.spills.moves import Floats, index_words

NONE = -1
DEEPEST = 256  # nodes of the tree that wait at most


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
    copy(tables.roots, waiting)
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
    """The words that move inside blocks of some sizes.

    Attributes
    ----------
    nest : Nest
    lists : sequence of sequence of int
        Sizes of blocks of each dimension, ascending, the last one of which is the dimension.
    tables : Tables
    """

    nest: Nest
    lists: Sequence[Sequence[int]]
    tables: Tables


def read_inside(
    nest: Nest,
    lists: Sequence[Sequence[int]],
    extents: Sequence[Array],
    ways: Sequence[Flags],
    trees: Sequence[tuple[Array, Array]],
    reread: bool = True,
) -> Inside:
    """Return the words that move inside blocks, in tables.

    Parameters
    ----------
    nest : Nest
    lists : sequence of sequence of int
        Sizes of blocks of each dimension, ascending, the last one of which is the dimension.
    extents : sequence of array of int
        The extent of a batch of each rank, for each dimension.
    ways : sequence of array of bool, tensors x dimensions
        Loops over which a tensor stays.
    trees : sequence of (array of int, array of int)
        The tree of ranks for each way, as `tree` returns it.
    reread : bool
        Whether an output that moves again is read; else it is written alone.
    """
    weights = nest.weights if reread else np.ones_like(nest.weights)
    shape = len(lists), max(map(len, lists)), max(map(len, extents))
    blocks, counts = np.ones(shape[:2]), np.ones(shape)
    for d, sizes in enumerate(lists):
        bound, own = int(nest.bounds[d]), np.array(sizes)
        blocks[d, : len(own)] = -(-bound // own)
        counts[d, : len(own), : len(extents[d])] = batches(bound, own[:, None], extents[d])
    pairs = np.zeros((len(nest.axes), nest.expressions.shape[1], 6), np.int64)
    axes = np.zeros(len(nest.axes), np.int64)
    whole = weights.astype(float)
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
    stays = np.array(ways)
    moving = ~nest.relevant & (nest.bounds > 1) & ~stays
    sizes_of_trees = [len(ranks) for ranks, _ in trees]
    roots = np.cumsum([0, *sizes_of_trees[:-1]])
    return Inside(
        nest, lists,
        Tables(
            blocks=blocks,
            batches=counts,
            windows=np.concatenate([*windows, np.zeros(1)]),
            pairs=pairs,
            axes=axes,
            whole=whole,
            once=float(((weights - 1) * nest.words).sum()),
            stays=stays,
            repeats=np.argsort(~moving, axis=2, kind="stable"),
            loops=moving.sum(axis=2),
            roots=roots,
            ranks=np.concatenate([ranks for ranks, _ in trees]),
            way=np.repeat(np.arange(len(ways)), sizes_of_trees),
            below=np.concatenate([
                np.where(below == NONE, NONE, below + root)
                for (_, below), root in zip(trees, roots, strict=True)
            ]),
        ),
    )  # fmt: skip


def once_per_block(nest: Nest, lists: Sequence[Sequence[int]], reread: bool = True) -> Inside:
    """Return the words of blocks each of which moves every word once: CNNFlow, Equation 2.

    Nothing that an array can do moves fewer, whatever its registers hold and retain, as long as
    they retain nothing from one block to the next.

    Parameters
    ----------
    nest : Nest
    lists : sequence of sequence of int
        Sizes of blocks of each dimension, ascending, the last one of which is the dimension.
    reread : bool
        Whether an output that an earlier block has begun is read. Equation 2 leaves that out.
    """
    leaf = np.zeros((1, len(lists)), np.int64), np.full(1, NONE)
    extents = [np.array([bound]) for bound in nest.bounds]
    return read_inside(nest, lists, extents, [~nest.relevant], [leaf], reread)


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
