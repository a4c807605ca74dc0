"""Tiles above an array that contain those below it, for layers on machines with one array.

Store nodes above the array stand in some order, those below it in another. Tiles are written in a
form that costs no more than any other, so that few remain:

- A loop relevant to a tensor does not stand right inside its node: outside, the tile is smaller,
  and no more words come in, unless the tensor slides.
- A loop irrelevant to a tensor does not stand right outside its node: inside, the tile is the same
  and stays longer. So the outermost node has all iterations of its irrelevant dimensions.
- Right inside the array the outermost tile stays through irrelevant loops above the array. How far
  they reach is one more node among those above, which holds nothing.

What is above depends on what is below only through the shape of all elements together, the spatial
factors times the outermost tile below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Array
from tilewright.exploration.bounds.slide_words import Slides, no_slides, slides_of
from tilewright.exploration.bounds.spread import Spreads
from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.lattice import Lattice
from tilewright.mapper.problem.space import Space, space
from tilewright.mapper.windows.slides import slid_words
from tilewright.model.energy import word_ratio
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer

MOST_SHAPES = 1 << 16
MOST_POINTS = 4_000
MOST_LISTED = 400_000  # entries of all lists of a layer
MOST_FRESH = 2_000  # entries of one list


class Store(NamedTuple):
    """A store node: a tensor, the memory it comes from, the one it is in, and bits per word."""

    tensor: int
    source: int
    memory: int
    bits: int


Sides = tuple[tuple[Store, ...], tuple[Store, ...]]
"""Store nodes above and below an array."""


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
    count, virtual : arrays of orders
        Nodes; which one of them holds nothing, or -1.
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
    sizes : array of (memories, sizes)
        Bits of the memories of the space in rising order; the last one repeats.
    rooms : array
        Memories above the array whose size is limited.
    window : int
        The tensor that slides, if that is known, or -1.
    state, other, rest : arrays of shapes
        What a shape is in the dimensions of its windows, in those irrelevant to it, and in the
        others, as numbers.
    once : array of shapes
        Words of a tile of it, for each iteration of the latter around.
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
    count: Ints
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
    sizes: Floats
    rooms: Ints
    window: int
    state: Ints
    other: Ints
    rest: Ints
    once: Floats


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
    above, below : arrays of tensors
        Least pJ of each word of `Nested.column`, and of all words that come in below once.
    outer : array of tensors
        The latter once for each element.
    base : array of points
        For use in between.
    at, best_at : arrays of 3
        The vector, the point and the shape of the least pJ of `nested_energy`, and of the least
        product; -1 for none.
    order : array of 1
    chain : array of nodes
        The order of the cheapest nodes above an array, and their shapes, see `walk_chains`.
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
    base: Floats
    at: Ints
    best_at: Ints
    order: Ints
    chain: Ints


def nested(
    layer: Layer,
    tiles: Lattice,
    machine: Architecture,
    sides: Sequence[Sides | None],
    spread: Spreads,
    sizes: Floats,
) -> tuple[Nested, Lists, Space, Slides]:
    """Return how tiles may be nested; `Nested.below` is -1 where that is too much or not known.

    Parameters
    ----------
    machine : Architecture
        At least as good as every machine of the space.
    sides : sequence
        Store nodes above and below the array of each bypass choice; None where a tensor has several
        on one side.
    sizes : array of (memories, sizes)
        Of all machines, in rising order; the last one repeats.
    """
    nt, nd = len(layer.tensors), len(tiles.dimensions)
    if len(machine.arrays) != 1 or nd == 0 or tiles.shapes > MOST_SHAPES:
        sides = [None] * len(sides)
    room = np.array([np.inf if m.capacity_bits is None else m.capacity_bits for m in machine.memories])
    kind = _kind(layer, tiles, machine)
    points = _Points(tiles, kind, room, sizes)
    orders = _Orders(layer, tiles, machine, kind)
    below = np.full(len(sides), -1, np.int64)
    above = np.full((len(sides), nt + 1), -1, np.int64)
    for c, side in enumerate(sides):
        if side is None:
            continue
        own = points.of(side[1])
        if own is None:
            continue
        below[c] = own
        for t in {*points.rows[own][1].tolist()}:
            above[c, t + 1] = orders.of(side[0], int(t))
    if not points.rows:
        found = _nothing(len(sides), len(room))
        return found, _lists(found, nt, 1), kind.space, no_slides()
    values = np.stack([tiles.values[d][tiles.digits[:, d]] for d in range(nd)], axis=1)
    whole = values[-1]
    remaining = np.array(
        [(whole[~own] / values[:, ~own]).prod(axis=1) for own in kind.relevant]
    )
    vectors = np.stack(
        [np.searchsorted(tiles.values[d, : tiles.sizes[d]], spread.vectors[:, d]) for d in range(nd)],
        axis=1,
    )
    array = machine.levels.index(machine.arrays[0])
    rooms = [
        i for i, memory in enumerate(machine.memories)
        if i and machine.levels.index(memory) < array and memory.capacity_bits is not None
    ]  # fmt: skip
    rows = points.rows
    starts = np.cumsum([0, *(len(row[0]) for row in rows)])
    found = Nested(
        last=tiles.shapes - 1, digits=tiles.digits, strides=tiles.strides, product=tiles.product,
        vectors=vectors, extents=spread.vector_extents, vector_starts=spread.vector_starts,
        below=below, point_starts=starts,
        outer=np.concatenate([row[0] for row in rows]),
        stays=np.concatenate([row[1] for row in rows]),
        tile=np.concatenate([row[2] for row in rows]),
        times=np.concatenate([row[3] for row in rows]),
        bits=np.concatenate([row[4] for row in rows]),
        **_nodes_below([each for row in rows for each in row[5]]),
        above=above, arriving=kind.arriving, remaining=remaining, held=tiles.words, sizes=sizes,
        rooms=np.array(rooms, np.int64), **orders.arrays(), **_window(tiles, kind),
    )  # fmt: skip
    return found, _lists(found, nt, int(np.diff(starts).max())), kind.space, kind.slides


def _lists(found: Nested, nt: int, points: int) -> Lists:
    """Return lists of nothing yet."""
    sets, shapes, nd = len(found.order_starts) - 1, len(found.digits), len(found.strides)
    nodes, width = found.sequences.shape[1], nt + 1 + len(found.rooms)
    return Lists(
        first=np.full((sets, shapes), -1, np.int64),
        end=np.zeros((sets, shapes), np.int64),
        filled=np.zeros(1, np.int64),
        entries=np.zeros((MOST_LISTED if sets else 1, width)),
        fresh=np.zeros((MOST_FRESH, width)),
        partial=np.zeros((nd + 1, nodes), np.int64),
        place=np.zeros((nd, 2), np.int64),
        around=np.zeros(nd + 1, np.int64),
        above=np.zeros(nt),
        below=np.zeros(nt),
        outer=np.zeros(nt),
        base=np.zeros(points),
        at=np.full(3, -1, np.int64),
        best_at=np.full(3, -1, np.int64),
        order=np.full(1, -1, np.int64),
        chain=np.zeros(nodes, np.int64),
    )


def _nodes_below(nodes: Sequence[Sequence[tuple[int, int, int]]]) -> dict[str, Ints]:
    """Return the fields of `Nested` about the nodes of points."""
    found = np.full((3, len(nodes), max(1, *map(len, nodes), 1)), -1, np.int64)
    for p, own in enumerate(nodes):
        for i, node in enumerate(own):
            found[:, p, i] = node
    return dict(zip(("point_tensor", "point_memory", "point_shape"), found, strict=True))


def _window(tiles: Lattice, kind: _Kind) -> dict[str, Any]:
    """Return the fields of `Nested` about the tensor that slides."""
    t, slides, shapes = kind.window, kind.slides, tiles.shapes
    if t < 0:
        none = np.zeros(1, np.int64)
        return {"window": -1, "state": none, "other": none, "rest": none, "once": none * 1.0}
    state = tiles.digits[:, slides.dims] @ slides.strides
    other = tiles.digits[:, slides.others] @ slides.other_strides
    rest = np.arange(shapes) - (tiles.digits[:, slides.dims] @ tiles.strides[slides.dims])
    rest -= tiles.digits[:, slides.others] @ tiles.strides[slides.others]
    repeats = tiles.repeats / (slides.left[state] * slides.around[other])
    return {
        "window": t, "state": state, "other": other, "rest": rest,
        "once": tiles.words[t] * repeats,
    }  # fmt: skip


def _nothing(choices: int, memories: int) -> Nested:
    """Return that it is not known how tiles are nested."""
    one, two = np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
    return Nested(
        last=0, digits=two, strides=one, product=two[None], vectors=two, extents=two * 1.0,
        vector_starts=one, below=np.full(choices, -1, np.int64), point_starts=one, outer=one,
        stays=one, tile=two, times=two * 1.0, bits=two * 1.0,
        point_tensor=two, point_memory=two, point_shape=two, above=two, order_starts=one,
        count=one, virtual=one, node_tensor=two, node_memory=two, node_bits=two,
        begin=two[None, None], sequences=two, column=two, arriving=two * 1.0,
        remaining=two * 1.0, held=two, sizes=np.zeros((memories, 1)), rooms=one[:0],
        window=-1, state=one, other=one, rest=one, once=one * 1.0,
    )  # fmt: skip


class _Kind(NamedTuple):
    """Of each tensor: what is relevant to it, what of that slides, and the words that come in."""

    relevant: Bools
    sliding: Bools
    arriving: Floats
    space: Space
    window: int
    slides: Slides


def _kind(layer: Layer, tiles: Lattice, machine: Architecture) -> _Kind:
    levels = tuple(level for level in machine.levels if not isinstance(level, Array))
    whole, _ = space(layer, tiles, replace(machine, levels=levels, constraints=()))
    nt, nd = len(layer.tensors), len(tiles.dimensions)
    sliding = np.zeros((nt, nd), np.bool_)
    arriving = np.zeros((nt, tiles.shapes))
    window, slides = -1, None
    for t, tensor in enumerate(layer.tensors):
        if whole.windows[t] >= 0:
            sliding[t] = whole.window_of[whole.windows[t], :nd] >= 0
        own = slides_of(whole, t) if slides is None else None
        if own is None:
            slid_words(whole, t, arriving[t])
        else:
            tile, other = (
                tiles.digits[:, dims] @ strides
                for dims, strides in ((own.dims, own.strides), (own.others, own.other_strides))
            )
            repeats = tiles.repeats / (own.left[tile] * own.around[other])
            arriving[t] = tiles.words[t] * repeats * own.after[tile, other, tile, 1]
            window, slides = t, own
        assert arriving[t, -1] == footprint(tensor, layer.bounds)
    return _Kind(whole.relevant, sliding, arriving, whole, window, slides or no_slides())


def _nodes(
    tiles: Lattice, d: int, forced: Sequence[bool], begin: int, *, full: bool
) -> list[tuple[int, ...]]:
    """Return the digits of one dimension that nodes may have around a digit, outermost first.

    Parameters
    ----------
    forced : sequence of bool
        Whether each node has the digit of the one inside it.
    full : bool
        Whether the outermost one has all iterations.
    """
    size = int(tiles.sizes[d])
    found: list[tuple[int, ...]] = [()]
    for i in reversed(range(len(forced))):
        grown = []
        for inner in found:
            at = inner[0] if inner else begin
            for k in [at] if forced[i] else range(size):
                if tiles.quotient[d, k, at] >= 0 and (i or not full or k == size - 1):
                    grown.append((k, *inner))
        found = grown
    return found


_Row = tuple[Ints, Ints, Ints, Floats, Floats, list[list[tuple[int, int, int]]]]
"""Fields of `Nested` about points: `outer` to `bits`, and the nodes."""


class _Points:
    """Tiles below the array, by the store nodes there."""

    def __init__(self, tiles: Lattice, kind: _Kind, room: Floats, sizes: Floats) -> None:
        self._tiles, self._kind, self._room, self._sizes = tiles, kind, room, sizes
        self._known: dict[tuple[Store, ...], int | None] = {}
        self.rows: list[_Row] = []

    def of(self, nodes: tuple[Store, ...]) -> int | None:
        """Return the position of the tiles of some nodes, or None where they are too many."""
        if nodes not in self._known:
            found = self._found(nodes)
            self._known[nodes] = None if found is None else len(self.rows)
            if found is not None:
                self.rows.append(found)
        return self._known[nodes]

    def _found(self, nodes: tuple[Store, ...]) -> _Row | None:
        tiles, kind = self._tiles, self._kind
        nt, nd = kind.relevant.shape
        outer, stays, shapes = [], [], []
        bits, times, chains = [], [], []
        for order in permutations(nodes) if nodes else ():
            own = self._of_order(order)
            if own is None or len(outer) + len(own) > MOST_POINTS:
                return None
            first = order[0].tensor
            for row in own:
                outer.append(first)
                stays.append(-1 if kind.sliding[first].any() else first)
                shapes.append(row[0])
                chains.append(
                    [(n.tensor, n.memory, shape) for n, shape in zip(order, row, strict=True)]
                )
                held, often = np.zeros(len(self._room)), np.zeros(nt)
                for i, node in enumerate(order):
                    held[node.memory] += float(tiles.words[node.tensor, row[i]]) * node.bits
                    if i > 0:
                        often[node.tensor] = self._around(node.tensor, row[i])
                bits.append(held)
                times.append(often)
        if not nodes:
            outer, stays, shapes = [-1], [-1], [0]
            bits, times, chains = [np.zeros(len(self._room))], [np.zeros(nt)], [[]]
        if not outer:
            return None
        rounded = rounded_up(np.array(bits), self._sizes)
        found = (
            np.array(outer, np.int64), np.array(stays, np.int64), tiles.digits[shapes],
            np.array(times), rounded,
        )  # fmt: skip
        kept = self._best(*found)
        a, b, c, d, e = (each[kept] for each in found)
        return a, b, c, d, e, [chains[p] for p in kept]

    def _around(self, t: int, shape: int) -> float:
        tiles = self._tiles
        left = 1.0
        for d in np.flatnonzero(~self._kind.relevant[t]).tolist():
            left *= tiles.values[d, tiles.sizes[d] - 1] / tiles.values[d, tiles.digits[shape, d]]
        return left

    def _of_order(self, order: Sequence[Store]) -> list[tuple[int, ...]] | None:
        """Return the shapes of the nodes of one order that fit, dimension by dimension."""
        tiles, kind = self._tiles, self._kind
        n, nd = len(order), len(tiles.sizes)
        slides = bool(kind.sliding[order[0].tensor].any())
        found = [(0,) * n]
        for d in range(nd):
            own = [bool(kind.relevant[node.tensor, d]) for node in order]
            forced = [
                (own[0] is False or slides if i == 0 else own[i]) or (i + 1 < n and not own[i + 1])
                for i in range(n)
            ]
            steps = _nodes(tiles, d, forced, 0, full=False)
            grown = []
            for row in found:
                for step in steps:
                    shape = tuple(
                        a + k * int(tiles.strides[d]) for a, k in zip(row, step, strict=True)
                    )
                    if self._fits(order, shape):
                        grown.append(shape)
            if len(grown) > MOST_POINTS:
                return None
            found = grown
        return found

    def _fits(self, order: Sequence[Store], shapes: Sequence[int]) -> bool:
        held: dict[int, float] = {}
        for node, shape in zip(order, shapes, strict=True):
            own = float(self._tiles.words[node.tensor, shape]) * node.bits
            held[node.memory] = held.get(node.memory, 0.0) + own
        return all(bits <= self._room[m] for m, bits in held.items())

    def _best(
        self, outer: Ints, stays: Ints, shape: Ints, times: Floats, bits: Floats
    ) -> list[int]:
        """Return the points that no other one with the same outermost tensor is better than.

        Smaller tiles leave more room above. But the tile that stays while loops above the array run
        has to be as large: it is what they need not bring in again.
        """
        order = np.lexsort((bits.sum(axis=1), times.sum(axis=1), shape.sum(axis=1)))
        quotient = self._tiles.quotient
        kept: list[int] = []
        every = np.arange(shape.shape[1])
        for p in order.tolist():
            others = np.array(kept, np.int64)
            worse = (outer[others] == outer[p]) & (stays[others] == stays[p])
            worse &= (times[others] <= times[p]).all(axis=1) & (bits[others] <= bits[p]).all(axis=1)
            divides = quotient[every, shape[p], shape[others]] >= 0
            if stays[p] >= 0:
                divides &= ~self._kind.relevant[stays[p]] | (shape[p] == shape[others])
            worse &= divides.all(axis=1)
            if not worse.any():
                kept.append(p)
        return kept


def rounded_up(bits: Floats, sizes: Floats) -> Floats:
    """Return the least size of each memory that holds so many bits."""
    found = bits.copy()
    for m in range(bits.shape[1]):
        at = np.searchsorted(sizes[m], bits[:, m], side="left")
        found[:, m] = np.append(sizes[m], np.inf)[at]
    return found


class _Orders:
    """Orders of the nodes above the array, by the nodes and the tensor that stays below."""

    def __init__(self, layer: Layer, tiles: Lattice, machine: Architecture, kind: _Kind) -> None:
        self._layer, self._tiles, self._machine, self._kind = layer, tiles, machine, kind
        self._known: dict[tuple[tuple[Store, ...], int], int] = {}
        self._starts = [0]
        self._orders: list[tuple[tuple[Store, ...], int]] = []
        self._columns: list[list[int]] = []

    def of(self, nodes: tuple[Store, ...], stays: int) -> int:
        """Return the position of the orders of some nodes around a tile that stays."""
        if (nodes, stays) not in self._known:
            self._known[nodes, stays] = len(self._known)
            marker = Store(stays, -1, -1, 0)
            every = (*nodes, marker) if stays >= 0 else nodes
            for order in permutations(every):
                at = order.index(marker) if stays >= 0 else -1
                # its own tile above the array is around what stays below it
                if not any(node.tensor == stays for node in order[at + 1 :] if at >= 0):
                    self._orders.append((order, at))
            self._starts.append(len(self._orders))
            self._columns.append(self._column(nodes))
        return self._known[nodes, stays]

    def _column(self, nodes: tuple[Store, ...]) -> list[int]:
        """Return in which column the words of each tensor are added up."""
        tensors = self._layer.tensors
        column = list(range(len(tensors)))
        seen: dict[object, int] = {}
        for node in nodes:
            tensor = tensors[node.tensor]
            ratios = tuple(
                word_ratio(self._machine.memories[m], tensor) for m in (node.source, node.memory)
            )
            key = node.tensor if tensor.is_output else (node.source, node.memory, ratios)
            column[node.tensor] = seen.setdefault(key, node.tensor)
        return column

    def arrays(self) -> dict[str, Ints]:
        """Return the fields of `Nested` about orders."""
        tiles, kind = self._tiles, self._kind
        nd, width = len(tiles.sizes), int(tiles.sizes.max())
        most = max(1, *(len(order) for order, _ in self._orders))
        n = len(self._orders)
        tensor, memory, bits = (np.zeros((n, most), np.int64) for _ in range(3))
        begin = np.zeros((n, nd, width, 2), np.int64)
        rows: list[tuple[int, ...]] = []
        known: dict[object, tuple[int, int]] = {}
        for o, (order, at) in enumerate(self._orders):
            for i, node in enumerate(order):
                tensor[o, i], memory[o, i], bits[o, i] = node.tensor, node.memory, node.bits
            for d in range(nd):
                own = [bool(kind.relevant[node.tensor, d]) for node in order]
                forced = tuple(
                    (own[i] and (i == at or not kind.sliding[node.tensor, d]))
                    or (i + 1 < len(order) and not own[i + 1])
                    or (0 <= at <= i and own[at])
                    for i, node in enumerate(order)
                )
                full = bool(order) and not own[0]
                for digit in range(int(tiles.sizes[d])):
                    key = (tiles.values[d].tobytes(), forced, full, digit)
                    if key not in known:
                        found = _nodes(tiles, d, forced, digit, full=full)
                        known[key] = len(rows), len(rows) + len(found)
                        rows += [(*row, *(0,) * (most - len(row))) for row in found]
                    begin[o, d, digit] = known[key]
        return {
            "order_starts": np.array(self._starts, np.int64),
            "count": np.array([len(order) for order, _ in self._orders], np.int64),
            "virtual": np.array([at for _, at in self._orders], np.int64),
            "node_tensor": tensor, "node_memory": memory, "node_bits": bits,
            "begin": begin, "sequences": np.array(rows, np.int64).reshape(-1, most),
            "column": np.array(self._columns, np.int64),
        }  # fmt: skip
