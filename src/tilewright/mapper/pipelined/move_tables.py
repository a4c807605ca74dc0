"""What moves when a tile changes, for every tile and spatial choice, as tables for the kernels."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.lattice import lattice
from tilewright.mapper.problem.space import Unrolling, space
from tilewright.timing.sets import runs, values
from tilewright.workload.layer import Layer

MOST_ROWS = 200_000
ALL, BURSTS, OWN, WHOLE, APART = range(5)  # columns, then three for each dimension that slides
COLUMNS = 5
SLIDING = 3


class Axes(NamedTuple):
    """The index expressions of all tensors, as they lie in memory (plain arrays for the kernels).

    Attributes
    ----------
    start : array of tensors + 1
        Where those of each tensor begin.
    dims, weight : arrays of (axes, members)
        Dimensions of each, padded with -1, and the weight of their codes in its rows: the position
        of a tile's extent among the divisors of the bound, times `width`, and that of a factor.
    row : array of axes
        Where its rows begin.
    words : array of (rows, columns)
        For an extent of the tile and a spatial factor of each dimension: words of all instances
        together, contiguous runs of them, words of one instance, whether that is the whole axis,
        words of the first iterations of all instances; then for each dimension along which the
        tile may slide the first three of what is missing.
    width : int
    """

    start: Ints
    dims: Ints
    weight: Ints
    row: Ints
    words: Floats
    width: int


class MoveTables(NamedTuple):
    """Tiles of one layer, and the words that come with them (plain arrays for the kernels).

    Attributes
    ----------
    bounds : array of dimensions
        Iterations of each dimension that has several.
    extents, digits : arrays of (shapes, dimensions)
        Extents of a tile, and their positions among the divisors of the bounds.
    product : array of (dimensions, digits, digits)
        Position of a product of two divisors.
    factors, spread : arrays of (choices, dimensions)
        Spatial factors, and their positions; the last row is that of a link without an array.
    elements : array of choices
        The product of the factors.
    relevant, slides : arrays of (tensors, dimensions)
        Whether a tensor's tiles depend on a dimension, and whether they may overlap along it.
    axis_of, coefficient : arrays of (tensors, dimensions)
        The axis that a dimension belongs to, or -1, and its coefficient there.
    reduces : array of dimensions
        Whether the output lacks a dimension.
    axes : Axes
    """

    bounds: Ints
    extents: Ints
    digits: Ints
    product: Ints
    factors: Ints
    spread: Ints
    elements: Floats
    relevant: Bools
    slides: Bools
    axis_of: Ints
    coefficient: Ints
    reduces: Bools
    axes: Axes


def tables(
    layer: Layer, architecture: Architecture
) -> tuple[MoveTables, list[Unrolling], Floats] | None:
    """Return the tables of a layer on a machine of at most one array.

    Returns
    -------
    tuple or None
        The tables, the spatial choices in words, and the words of each tensor's tile of each
        shape; None when the tables would be too large.
    """
    tiles = lattice(layer)
    sp, unrollings = space(layer, tiles, architecture)
    position = {d: i for i, d in enumerate(tiles.dimensions)}
    width = tiles.values.shape[1]
    starts, rows = [0], list[int]()
    dims, weights = list[list[int]](), list[list[int]]()
    columns = 1
    blocks: list[Floats] = []
    slides = np.zeros_like(sp.relevant)
    axis_of = np.full(sp.relevant.shape, -1, np.int64)
    coefficient = np.zeros(sp.relevant.shape, np.int64)
    for t, tensor in enumerate(layer.tensors):
        for terms in tensor.expressions:
            live = [term for term in terms if term.dimension in position]
            if not live:
                continue
            if (width * width) ** len(live) > MOST_ROWS:
                return None
            own = [position[term.dimension] for term in live]
            if len(own) > 1:
                slides[t, own] = True
                columns = max(columns, len(own))
            size = 1 + sum(term.coefficient * (layer.bounds[term.dimension] - 1) for term in terms)
            lists = [tiles.values[i, : tiles.sizes[i]].tolist() for i in own]
            coefficients = tuple(term.coefficient for term in live)
            axis_of[t, own] = len(dims)
            coefficient[t, own] = coefficients
            rows.append(sum(map(len, blocks)))
            blocks.append(axis_words(coefficients, lists, size, width))
            dims.append(own)
            weights.append([(width * width) ** k for k in range(len(own))])
        starts.append(len(dims))
    words = np.zeros((max(1, sum(map(len, blocks))), COLUMNS + SLIDING * columns))
    for row, block in zip(rows, blocks, strict=True):
        words[row : row + len(block), : block.shape[1]] = block
    padded = np.full((max(1, len(dims)), columns), -1, np.int64)
    weight = np.zeros_like(padded)
    for a, (own, scale) in enumerate(zip(dims, weights, strict=True)):
        padded[a, : len(own)] = own
        weight[a, : len(own)] = scale
    alone = np.zeros((1, len(position)), np.int64)
    spread = np.concatenate([sp.unroll, alone]) if architecture.arrays else alone
    every = np.arange(len(position))
    axes = Axes(
        np.array(starts, np.int64), padded, weight, np.array(rows or [0], np.int64), words, width
    )
    found = MoveTables(
        bounds=np.array([layer.bounds[d] for d in position], np.int64),
        extents=np.ascontiguousarray(tiles.values[every, tiles.digits]),
        digits=tiles.digits,
        product=tiles.product,
        factors=np.ascontiguousarray(tiles.values[every, spread]),
        spread=spread,
        elements=sp.unroll_product if architecture.arrays else np.ones(1),
        relevant=sp.relevant,
        slides=slides,
        axis_of=axis_of,
        coefficient=coefficient,
        reduces=~sp.relevant[-1],
        axes=axes,
    )
    return found, unrollings, tiles.words.astype(np.float64)


def axis_words(
    coefficients: tuple[int, ...], lists: list[list[int]], size: int, width: int
) -> Floats:
    """Return the rows of one axis: its dimensions have these coefficients and divisors.

    Instances work on neighbouring parts; a tile slides by what all of them hold together.
    """
    several = len(lists)
    columns = COLUMNS + (SLIDING * several if several > 1 else 0)
    found = np.zeros(((width * width) ** several, columns))
    pairs = [
        [
            (i * width + j, extent, factor)
            for i, extent in enumerate(own)
            for j, factor in enumerate(own)
            if own[-1] % (extent * factor) == 0
        ]
        for own in lists
    ]
    for chosen in product(*pairs):
        row = found[sum((width * width) ** k * code for k, (code, *_) in enumerate(chosen))]
        extents = [extent for _, extent, _ in chosen]
        factors = [factor for *_, factor in chosen]
        whole = [extent * factor for extent, factor in zip(extents, factors, strict=True)]
        origin = [0] * several
        union = values(coefficients, origin, whole)
        one = values(coefficients, origin, extents)
        apart = {
            sum(c * i for c, i in zip(coefficients, at, strict=True))
            for at in product(*(range(0, w, e) for w, e in zip(whole, extents, strict=True)))
        }
        count = union.bit_count()
        row[:COLUMNS] = count, len(list(runs(union))), one.bit_count(), count == size, len(apart)
        if several == 1:
            continue
        for k in range(several):
            shift = coefficients[k] * whole[k]
            missing = 0
            alone = one << shift & ~one
            for place in apart:
                missing |= alone << place
            column = COLUMNS + SLIDING * k
            row[column : column + SLIDING] = (
                missing.bit_count(), len(list(runs(missing))), alone.bit_count()
            )  # fmt: skip
    return found


def sequences(relevant: Bools, axis_of: Ints, slides: Bools) -> list[list[int]]:
    """Return orders of loops, innermost first, of which one is best whatever the sizes.

    What counts in the order of the loops between two store nodes is how long each tensor's tile
    stays, and along what it slides. Once loops stand innermost, others that are relevant to none
    of the tensors whose tiles stay cost nothing there, so they come next. Then one loop ends the
    stay of some tensors; which of several does not matter unless their tiles overlap along it.
    Those may come to where they were before when the next loop on the same axis goes on. When no
    tile stays, the order of what is left does not matter.

    Returns
    -------
    list of list of int
        Dimensions; then 1 where the order is another's if its first loop has one chunk, and 1
        where it is better than others only if tiles come to where they were before.
    """
    nt, nd = relevant.shape
    found: list[list[int]] = []

    def grow(
        order: list[int], staying: tuple[int, ...], moving: list[int], marks: list[int]
    ) -> None:
        # tiles of `moving` have moved along one axis only
        for t in moving:
            for d in np.flatnonzero((axis_of[t] == axis_of[t, order[-1]]) & slides[t]).tolist():
                if d not in order:
                    stay = tuple(u for u in staying if not relevant[u, d])
                    grow([*order, d], stay, [t], [marks[0], 1])
        if order:
            order = order + [
                d for d in range(nd) if d not in order and not relevant[list(staying), d].any()
            ]
        left = [d for d in range(nd) if d not in order]
        if not left or not staying:
            if [*order, *left, marks[0], 0] not in found:
                found.append([*order, *left, *marks])
            return
        alike: dict[tuple[tuple[int, ...], int], list[int]] = {}
        for d in left:
            ends = [t for t in staying if relevant[t, d]]
            kind = tuple(t for t in staying if not relevant[t, d])
            alike.setdefault((kind, d if slides[ends, d].any() else -1), []).append(d)
        for (kind, d), dims in alike.items():
            ends = [t for t in staying if t not in kind and d >= 0 and slides[t, d]]
            grow(order + dims, kind, ends, marks if order else [int(len(dims) == 1), 0])

    grow([], tuple(range(nt)), [], [1, 0])
    return sorted(found, key=lambda order: order[-1])
