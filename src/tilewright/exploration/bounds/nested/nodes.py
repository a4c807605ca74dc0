"""Store nodes above and below an array, their tiles, and the orders in which they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Array
from tilewright.exploration.bounds.nested.slide_words import Slides, no_slides, slides_of
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.lattice import Lattice
from tilewright.mapper.problem.space import Space, space
from tilewright.mapper.problem.symmetry import mirrored
from tilewright.mapper.windows.slides import slid_words
from tilewright.model.energy import word_ratio
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer

MOST_POINTS = 4_000


class Store(NamedTuple):
    """A store node: a tensor, the memory it comes from, the one it is in, and bits per word."""

    tensor: int
    source: int
    memory: int
    bits: int


Sides = tuple[tuple[Store, ...], tuple[Store, ...]]
"""Store nodes above and below an array."""


class Kind(NamedTuple):
    """Of each tensor: what is relevant to it, what of that slides, and the words that come in."""

    relevant: Bools
    sliding: Bools
    arriving: Floats
    space: Space
    window: int
    slides: Slides


def kind_of(layer: Layer, tiles: Lattice, machine: Architecture) -> Kind:
    """Return what bounds need to know of the tensors of a layer."""
    levels = tuple(level for level in machine.levels if not isinstance(level, Array))
    whole = mirrored(space(layer, tiles, replace(machine, levels=levels, constraints=()))[0])
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
    return Kind(whole.relevant, sliding, arriving, whole, window, slides or no_slides())


def digits_around(
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


def has_use(digits: Sequence[int], relevant: Sequence[bool], within: Sequence[bool]) -> bool:
    """Whether no tile holds more of a dimension than those inside of it for nothing.

    A loop that stands in no window, right inside the node of a tensor that slides, keeps the run
    from being ended further out: only where it would be inside a node that has no use for it.

    Parameters
    ----------
    digits : sequence of int
        Of each node, outermost first, and of the shape inside of them.
    relevant, within : sequence of bool
        Whether the dimension is relevant to the tensor of each node; and it slides, along others.
    """
    return all(
        digits[i] == digits[i + 1]
        or any(digits[j] == digits[i] and not relevant[j] for j in range(i))
        for i in range(len(within))
        if within[i]
    )


Row = tuple[Ints, Ints, Ints, Floats, Floats, list[list[tuple[int, int, int]]]]
"""Fields of `Nested` about points: `outer` to `bits`, and the nodes."""


class Points:
    """Tiles below the array, by the store nodes there."""

    def __init__(self, tiles: Lattice, kind: Kind, room: Floats, sizes: Floats) -> None:
        self._tiles, self._kind, self._room, self._sizes = tiles, kind, room, sizes
        self._known: dict[tuple[Store, ...], int | None] = {}
        self.rows: list[Row] = []

    def of(self, nodes: tuple[Store, ...]) -> int | None:
        """Return the position of the tiles of some nodes, or None where they are too many."""
        if nodes not in self._known:
            found = self._found(nodes)
            self._known[nodes] = None if found is None else len(self.rows)
            if found is not None:
                self.rows.append(found)
        return self._known[nodes]

    def _found(self, nodes: tuple[Store, ...]) -> Row | None:
        tiles, kind = self._tiles, self._kind
        nt = len(kind.relevant)
        outer: list[int] = []
        stays: list[int] = []
        shapes: list[int] = []
        bits: list[Floats] = []
        times: list[Floats] = []
        chains: list[list[tuple[int, int, int]]] = []
        for order in permutations(nodes) if nodes else ():
            own = self._of_order(order)
            if own is None or len(outer) + len(own) > MOST_POINTS:
                return None
            t = order[0].tensor
            for row in own:
                outer.append(t)
                stays.append(-1 if kind.sliding[t].any() else t)
                shapes.append(row[0])
                chains.append(
                    [(n.tensor, n.memory, shape) for n, shape in zip(order, row, strict=True)]
                )
                room, around = np.zeros(len(self._room)), np.zeros(nt)
                for i, node in enumerate(order):
                    room[node.memory] += float(tiles.words[node.tensor, row[i]]) * node.bits
                    if i > 0:
                        around[node.tensor] = self._around(node.tensor, row[i])
                bits.append(room)
                times.append(around)
        if not nodes:
            outer, stays, shapes = [-1], [-1], [0]
            bits, times, chains = [np.zeros(len(self._room))], [np.zeros(nt)], [[]]
        if not outer:
            return None
        first, staying = np.array(outer, np.int64), np.array(stays, np.int64)
        tile: Ints = tiles.digits[shapes]
        often, held = np.array(times), rounded_up(np.array(bits), self._sizes)
        kept = self._best(first, staying, tile, often, held)
        return (
            first[kept], staying[kept], tile[kept], often[kept], held[kept],
            [chains[p] for p in kept],
        )  # fmt: skip

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
            steps = digits_around(tiles, d, forced, 0, full=False)
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


class Orders:
    """Orders of the nodes above the array, by the nodes and the tensor that stays below."""

    def __init__(self, layer: Layer, tiles: Lattice, machine: Architecture, kind: Kind) -> None:
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

    def arrays(self) -> dict[str, Any]:
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
                run = [
                    any(n.tensor == kind.window and kind.sliding[n.tensor, d] for n in order[i:])
                    for i in range(len(order))
                ]
                forced = tuple(
                    (own[i] and (i == at or not (run[i] or kind.sliding[node.tensor].any())))
                    or (i + 1 < len(order) and not own[i + 1])
                    or (0 <= at <= i and own[at])
                    for i, node in enumerate(order)
                )
                full = bool(order) and not own[0]
                within = tuple(
                    own[i] and kind.sliding[n.tensor].any() and not kind.sliding[n.tensor, d]
                    for i, n in enumerate(order)
                )
                for digit in range(int(tiles.sizes[d])):
                    key = (tiles.values[d].tobytes(), forced, full, digit, within, tuple(own))
                    if key not in known:
                        found = [
                            row
                            for row in digits_around(tiles, d, forced, digit, full=full)
                            if has_use((*row, digit), own, within)
                        ]
                        known[key] = len(rows), len(rows) + len(found)
                        rows += [(*row, *(0,) * (most - len(row))) for row in found]
                    begin[o, d, digit] = known[key]
        return {
            "order_starts": np.array(self._starts, np.int64),
            "nodes": np.array([len(order) for order, _ in self._orders], np.int64),
            "virtual": np.array([at for _, at in self._orders], np.int64),
            "node_tensor": tensor, "node_memory": memory, "node_bits": bits,
            "begin": begin, "sequences": np.array(rows, np.int64).reshape(-1, most),
            "column": np.array(self._columns, np.int64),
        }  # fmt: skip
