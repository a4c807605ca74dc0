"""Tiles of a layer below an array and around it, and lists of what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright.kernels.record import record

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints


@record
class Nested(NamedTuple):
    """Tiles of a layer below an array, and how those above it may be nested around them.

    Attributes
    ----------
    last : int
        Index of the whole nest.
    digits : array of (shapes, dimensions)
    strides : array of dimensions
    product : array of (dimensions, digits, digits)
        See `Lattice`.
    vectors : array of (vectors, dimensions)
        Digits of the spatial factors.
    extents : array of (vectors, axes)
        Elements that they need.
    vector_starts : array of ways + 1
        Where those of each way to spread the layer begin.
    below : array of choices
        Position in `point_starts`, or -1 where a bypass choice has several nodes of a tensor on one
        side of the array.
    point_starts : array of sets + 1
        Where the tiles below begin that go with the same store nodes.
    outer : array of points
        The tensor whose node is the outermost below the array, or -1.
    stays : array of points
        The same where its tile stays while irrelevant loops above the array run, else -1.
    tile : array of (points, dimensions)
        Digits of the outermost tile below.
    times : array of (points, tensors)
        How often each word comes in, all elements together; 0 for `outer`.
    bits : array of (points, memories)
        Rounded up to the next size that a memory of the space has.
    point_tensor, point_memory, point_shape : arrays of (points, nodes)
        The nodes below, from the outermost inward; -1 for no more.
    above : array of (choices, tensors + 1)
        Position in `order_starts`, by the tensor that stays plus 1.
    order_starts : array of sets + 1
        Where the orders of nodes above begin.
    nodes, virtual : arrays of orders
        How many there are; which one of them holds nothing, or -1.
    node_tensor, node_memory, node_bits : arrays of (orders, nodes)
        From the outermost inward.
    begin : array of (orders, dimensions, digits, 2)
        Where the sequences of digits begin and end that nodes may have around a digit.
    sequences : array of (sequences, nodes)
    column : array of (sets, tensors)
        Where words of a tensor are added up in a list: those that cost the same together.
    arriving : array of (tensors, shapes)
        Words that come in with tiles of a shape.
    remaining : array of (tensors, shapes)
        Iterations of irrelevant dimensions around a shape.
    held : array of (tensors, shapes)
        Words of a tile.
    rough : array of (tensors + 1, shapes)
        A smaller shape around which tiles cost no more, by the tensor that stays plus 1; see
        `rough_shapes`.
    sizes : array of (memories, sizes)
        Bits of the memories of the space in rising order; the last one repeats.
    rooms : array
        Memories above the array whose size is limited.
    window : int
        The tensor that slides, if that is known, or -1.
    slides : array of tensors
        Whether each slides at all.
    ends : array of dimensions
        Whether they are relevant to it and stand in no window.
    state, other : arrays of shapes
        What a shape is in the dimensions of its windows, and in those irrelevant to it, as numbers.
    once : array of shapes
        Words of a tile of it, for each iteration of all other dimensions around.
    shared_by : int
        The tensor whose windows the array may share, or -1.
    pairs : array of (expressions, 2)
        Dimensions of its windows.
    served : array of (expressions, digits, digits, digits, digits)
        How many units a word of it serves in a step at most, by the spatial factors of both and the
        digits of the tile below.
    """

    last: int
    digits: Ints
    strides: Ints
    product: Ints
    vectors: Ints
    extents: Floats
    vector_starts: Ints
    below: Ints
    point_starts: Ints
    outer: Ints
    stays: Ints
    tile: Ints
    times: Floats
    bits: Floats
    point_tensor: Ints
    point_memory: Ints
    point_shape: Ints
    above: Ints
    order_starts: Ints
    nodes: Ints
    virtual: Ints
    node_tensor: Ints
    node_memory: Ints
    node_bits: Ints
    begin: Ints
    sequences: Ints
    column: Ints
    arriving: Floats
    remaining: Floats
    held: Ints
    rough: Ints
    sizes: Floats
    rooms: Ints
    window: int
    slides: Bools
    ends: Bools
    state: Ints
    other: Ints
    once: Floats
    shared_by: int
    pairs: Ints
    served: Floats


@record
class Lists(NamedTuple):
    """What tiles above an array cost, listed for a shape below when it is first asked for.

    Attributes
    ----------
    first, end : arrays of (sets, shapes)
        Where the list is among the entries; -1 before it is made.
    filled : array of 1
    entries : array of (entries, tensors + 1 + rooms)
        Words by `Nested.column`, how often the tile below that stays comes in, and bits that a
        memory needs. No entry of a list is better than another one.
    fresh : array of (entries, the same)
        The list in the making.
    partial : array of (dimensions + 1, nodes)
    place : array of (dimensions, 2)
    around : array of dimensions + 1
        For use while a list is made.
    above, below : arrays of (ports + 1, tensors)
        pJ, and cycles at each port, of each word of `Nested.column`, and of all words that come in
        below once.
    outer : array of (ports + 1, tensors)
        The latter once for each element.
    rest : array of ports + 1
        The same of what comes into no tiles.
    direct : array of ports + 1
        The same for each word of the window that reaches a unit, and that is sent for it alone.
    shared : array of 1
        How many units such a word serves at most, irrelevant spatial factors aside.
    base : array of (points, ports + 1)
    own : array of ports + 1
        For use in between.
    pairs : array of (pairs, 3)
        Product, energy (pJ) and cycles of tiles that are near the best.
    least : array of 2
        The least product, and the least energy of all tiles.
    told : array of 1
        How many pairs there are.
    at, best_at : arrays of 3
        The vector, the point and the shape of the least product of `nested_costs`, and of all
        candidates; -1 for none.
    row, best_row : arrays like a row of `entries`
        The entries of these.
    order : array of 1
    chain : array of nodes
        The order of nodes above an array that have such a row, and their shapes, see `walk_chains`.
    """

    first: Ints
    end: Ints
    filled: Ints
    entries: Floats
    fresh: Floats
    partial: Ints
    place: Ints
    around: Ints
    above: Floats
    below: Floats
    outer: Floats
    rest: Floats
    direct: Floats
    shared: Floats
    base: Floats
    own: Floats
    pairs: Floats
    least: Floats
    told: Ints
    at: Ints
    best_at: Ints
    row: Floats
    best_row: Floats
    order: Ints
    chain: Ints
