"""Tiles above an array that contain those below it, for layers on machines with one array.

Store nodes above the array stand in some order, those below it in another. Tiles are written in a
form that costs no more than any other, so that few remain:

- A loop relevant to a tensor does not stand right inside its node: outside, the tile is smaller,
  and no more words come in. Unless the tensor slides: a loop outside may end its run. And unless a
  tensor with a window stands inside, and the loop is one of the window's: it may be the run.
- A loop irrelevant to a tensor does not stand right outside its node: inside, the tile is the same
  and stays longer. So the outermost node has all iterations of its irrelevant dimensions.
- Right inside the array the outermost tile stays through irrelevant loops above the array. How far
  they reach is one more node among those above, which holds nothing.

What is above depends on what is below only through the shape of all elements together, the spatial
factors times the outermost tile below.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.exploration.bounds.nested.nodes import Kind, Orders, Points, Sides, kind_of
from tilewright.exploration.bounds.nested.records import Lists, Nested
from tilewright.exploration.bounds.nested.slide_words import Slides, no_slides
from tilewright.exploration.bounds.spread import Spreads
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.lattice import Lattice
from tilewright.mapper.problem.space import Space
from tilewright.workload.layer import Layer

MOST_SHAPES = 1 << 16
MOST_LISTED = 1_000_000  # entries of all lists of a layer
MOST_FRESH = 2_000  # entries of one list
MOST_PAIRS = 24  # of energy and cycles
STEP = 100  # of this many tile sizes, one is in rough shapes


def nested(
    layer: Layer,
    tiles: Lattice,
    machine: Architecture,
    sides: Sequence[Sides | None],
    spread: Spreads,
    sizes: Floats,
    ports: int,
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
    ports : int
        Limits of bandwidth.
    """
    nt, nd = len(layer.tensors), len(tiles.dimensions)
    if len(machine.arrays) != 1 or nd == 0 or tiles.shapes > MOST_SHAPES:
        sides = [None] * len(sides)
    room = np.array(
        [np.inf if m.capacity_bits is None else m.capacity_bits for m in machine.memories]
    )
    kind = kind_of(layer, tiles, machine)
    points = Points(tiles, kind, room, sizes)
    orders = Orders(layer, tiles, machine, kind)
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
        return found, _lists(found, nt, 1, ports), kind.space, no_slides()
    values = np.stack([tiles.values[d][tiles.digits[:, d]] for d in range(nd)], axis=1)
    whole = values[-1]
    remaining = np.array([(whole[~own] / values[:, ~own]).prod(axis=1) for own in kind.relevant])
    vectors = np.stack(
        [
            np.searchsorted(tiles.values[d, : tiles.sizes[d]], spread.vectors[:, d])
            for d in range(nd)
        ],
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
        above=above, arriving=kind.arriving, remaining=remaining, held=tiles.words,
        rough=rough_shapes(tiles, kind.relevant), sizes=sizes,
        rooms=np.array(rooms, np.int64), **orders.arrays(), **_window(tiles, kind),
        **_served(layer, tiles),
    )  # fmt: skip
    return found, _lists(found, nt, int(np.diff(starts).max()), ports), kind.space, kind.slides


def rough_shapes(tiles: Lattice, relevant: Bools) -> Ints:
    """Return smaller shapes around which tiles above an array cost no more than around a shape.

    All tiles around a shape are around each shape that divides it, and what they cost depends on
    nothing else. But the tile below that stays has to have its own words: while loops on their
    dimensions run, it does not stay. So shapes that differ in other dimensions share one list,
    which tells whether their own may have something better.

    Returns
    -------
    array of (tensors + 1, shapes)
        By the tensor that stays plus 1; 0 for none.
    """
    rough = np.zeros_like(tiles.digits)
    for d, size in enumerate(tiles.sizes.tolist()):
        fine = tiles.quotient[d, :size, :size:STEP] >= 0
        last = STEP * (fine.shape[1] - 1 - fine[:, ::-1].argmax(axis=1))
        rough[:, d] = last[tiles.digits[:, d]]
    every = np.zeros((1, relevant.shape[1]), np.bool_)
    found: Ints = np.array(
        [np.where(own, tiles.digits, rough) @ tiles.strides for own in (*every, *relevant)]
    )
    return found


def _lists(found: Nested, nt: int, points: int, ports: int) -> Lists:
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
        above=np.zeros((ports + 1, nt)),
        below=np.zeros((ports + 1, nt)),
        outer=np.zeros((ports + 1, nt)),
        rest=np.zeros(ports + 1),
        direct=np.zeros(ports + 1),
        shared=np.ones(1),
        own=np.zeros(ports + 1),
        base=np.zeros((points, ports + 1)),
        pairs=np.zeros((MOST_PAIRS, 3)),
        least=np.zeros(2),
        told=np.zeros(1, np.int64),
        at=np.full(3, -1, np.int64),
        best_at=np.full(3, -1, np.int64),
        row=np.zeros(width),
        best_row=np.zeros(width),
        order=np.full(1, -1, np.int64),
        chain=np.zeros(nodes, np.int64),
    )


def _nodes_below(nodes: Sequence[Sequence[tuple[int, int, int]]]) -> dict[str, Any]:
    """Return the fields of `Nested` about the nodes of points."""
    found = np.full((3, len(nodes), max(1, *map(len, nodes), 1)), -1, np.int64)
    for p, own in enumerate(nodes):
        for i, node in enumerate(own):
            found[:, p, i] = node
    return dict(zip(("point_tensor", "point_memory", "point_shape"), found, strict=True))


def _window(tiles: Lattice, kind: Kind) -> dict[str, Any]:
    """Return the fields of `Nested` about the tensor that slides."""
    t, slides = kind.window, kind.slides
    sliding = kind.sliding.any(axis=1)
    if t < 0:
        none = np.zeros(1, np.int64)
        return {
            "window": -1, "slides": sliding, "ends": np.zeros(1, np.bool_), "state": none,
            "other": none, "once": none * 1.0,
        }  # fmt: skip
    state = tiles.digits[:, slides.dims] @ slides.strides
    other = tiles.digits[:, slides.others] @ slides.other_strides
    repeats = tiles.repeats / (slides.left[state] * slides.around[other])
    return {
        "window": t, "slides": sliding, "ends": kind.relevant[t] & ~kind.sliding[t],
        "state": state, "other": other, "once": tiles.words[t] * repeats,
    }  # fmt: skip


def _served(layer: Layer, tiles: Lattice) -> dict[str, Any]:
    """Return the fields of `Nested` about words of windows that the array shares.

    Loops between the array and the tile below may set its elements further apart.
    """
    position = {d: i for i, d in enumerate(tiles.dimensions)}
    width = tiles.values.shape[1]
    for t, tensor in enumerate(layer.inputs):
        live = [[e for e in terms if e.dimension in position] for terms in tensor.expressions]
        sliding = [terms for terms in live if len(terms) > 1]
        if not sliding or any(len(terms) > 2 for terms in sliding):
            continue
        pairs = [[position[term.dimension] for term in terms] for terms in sliding]
        found = np.zeros((len(pairs), *(width,) * 4))
        for e, (pair, terms) in enumerate(zip(pairs, sliding, strict=True)):
            own = served(tiles, pair, [term.coefficient for term in terms])
            # the most of all tiles that a tile divides
            quotient = [tiles.quotient[d, : tiles.sizes[d], : tiles.sizes[d]] >= 0 for d in pair]
            for a, b in np.ndindex(own.shape[2:]):
                inside = own[:, :, quotient[0][:, a]][:, :, :, quotient[1][:, b]]
                found[e, : own.shape[0], : own.shape[1], a, b] = inside.max(axis=(2, 3))
        return {"shared_by": t, "pairs": np.array(pairs, np.int64), "served": found}
    return {
        "shared_by": -1, "pairs": np.zeros((0, 2), np.int64), "served": np.zeros((1,) * 5),
    }  # fmt: skip


def served(tiles: Lattice, pair: Sequence[int], coefs: Sequence[int]) -> Floats:
    """Return how many units a word serves in a step, 0 where they do not fit.

    Returns
    -------
    array of (digits, digits, digits, digits)
        By the spatial factors of both dimensions, and the extents below the array.
    """
    values = [tiles.values[d, : tiles.sizes[d]] for d in pair]
    m, n, a, b = np.ix_(*values, *values)
    fits = (values[0][-1] % (m * a) == 0) & (values[1][-1] % (n * b) == 0)
    first, second = coefs[0] * a, coefs[1] * b
    common = np.gcd(first, second)
    again = np.maximum(m - second // common, 0) * np.maximum(n - first // common, 0)
    found: Floats = np.where(fits, m * n / (m * n - again), 0.0)
    return found


def _nothing(choices: int, memories: int) -> Nested:
    """Return that it is not known how tiles are nested."""
    one, two = np.zeros(1, np.int64), np.zeros((1, 1), np.int64)
    number, numbers = np.zeros(1), np.zeros((1, 1))
    return Nested(
        last=0, digits=two, strides=one, product=two[None], vectors=two, extents=numbers,
        vector_starts=one, below=np.full(choices, -1, np.int64), point_starts=one, outer=one,
        stays=one, tile=two, times=numbers, bits=numbers,
        point_tensor=two, point_memory=two, point_shape=two, above=two, order_starts=one,
        nodes=one, virtual=one, node_tensor=two, node_memory=two, node_bits=two,
        begin=two[None, None], sequences=two, column=two, arriving=numbers,
        remaining=numbers, held=two, rough=two, sizes=np.zeros((memories, 1)), rooms=one[:0],
        window=-1, slides=one > 0, ends=one > 0, state=one, other=one, once=number,
        shared_by=-1, pairs=two[:0], served=np.zeros((1,) * 5),
    )  # fmt: skip
