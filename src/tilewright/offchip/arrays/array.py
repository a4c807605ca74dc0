"""Least words between a memory and an array of processing elements, for given blocks.

A block of the memory is worked off in batches. A batch is a box of iterations; each element of the
array takes a box of it, its words wait in the registers of that element, and a word that several
elements take is read once. A tensor stays over the innermost loops over batches as long as none of
them is relevant to it; when another loop advances, and at the beginning of every block, its words
move. Outputs are written then, and read when they go on.

How many words that is depends on the extents of the batch and on the tensors that stay, alone:
`tables` has them for each of the extents that matter (`extents`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tilewright.errors import NoMappingError
from tilewright.offchip.arrays.extents import Boxes, Elements, largest_extents, list_boxes, spreads
from tilewright.offchip.arrays.tables import Inside, Tables, moved_words, read_inside, tree
from tilewright.offchip.nest import Array, Flags, Nest
from tilewright.offchip.spills.moves import block_words


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
    order : tuple of int
        Loops over batches, from outermost to innermost.
    shares : tuple of int
        Registers of each element for each tensor.
    retains : bool
        Whether registers keep words of earlier boxes too.
    """

    words: tuple[int, ...]
    spread: Array
    boxes: Array
    order: tuple[int, ...]
    shares: tuple[int, ...]
    retains: bool


@dataclass(frozen=True, eq=False)
class OnArray:
    """What an array can do with blocks of some sizes.

    Attributes
    ----------
    inside : Inside
        The words that move.
    elements : Elements
    boxes : Boxes
    orders : sequence of tuple of int
        Loops over batches for each way to stay, from outermost to innermost.
    """

    inside: Inside
    elements: Elements
    boxes: Boxes
    orders: Sequence[tuple[int, ...]]


def on_array(nest: Nest, elements: Elements, lists: Sequence[Sequence[int]]) -> OnArray:
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
    trees = []
    for _, each in ways:
        # no tensor moves more often for more batches of these
        free: Flags = np.logical_and(~nest.sliding.any(axis=0), (nest.relevant | each).all(axis=0))
        trees.append(tree(largest_extents(nest, elements, boxes, free)))
    # the smallest extent of each rank
    extents = [np.unique(ranks, return_index=True)[1] + 1 for ranks in boxes.ranks]
    inside = read_inside(nest, lists, extents, [stays for _, stays in ways], trees)
    return OnArray(inside, elements, boxes, [order for order, _ in ways])


def batches_of(array: OnArray, block: Array, leaf: int) -> Batches:
    """Return how blocks are worked off with the extents of a leaf.

    Parameters
    ----------
    array : OnArray
    block : array of int
        Places of the blocks in their lists.
    leaf : int
    """
    elements, boxes = array.elements, array.boxes
    nest = array.inside.nest
    tables: Tables = array.inside.tables
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
        if sum(box_words(nest, box)) <= elements.registers:
            break
    sizes = np.array([array.inside.lists[d][at] for d, at in enumerate(block)])
    spread = np.minimum(spread, sizes)
    box = np.minimum(box, -(-sizes // spread.prod(axis=0)))
    counted = moved_words(leaf, block, tables) - (nest.weights - 1) * nest.words
    words = tuple(round(float(each)) for each in counted)
    shares = tuple(box_words(nest, box))
    return Batches(words, spread, box, array.orders[tables.way[leaf]], shares, False)


def box_words(nest: Nest, box: Array) -> list[int]:
    """Return the words of each tensor in a box."""
    return [int(block_words(t, box, nest.expressions, nest.axes)) for t in range(len(nest.words))]


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
