"""How the work of a layer spreads over the elements of arrays of any size up to the largest."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.lattice import Lattice
from tilewright.mapper.problem.space import axis_choices, most_served
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

MOST_PAIRS = 4_000_000
MOST_SPREADS = 200_000


class Spreads(NamedTuple):
    """Ways to spread a layer over all arrays, those that cost alike but once.

    The ways that use most elements come first.

    Attributes
    ----------
    extents : array of (options, axes)
        Elements that each needs along every axis of every array.
    options : array of ways + 1
        Where those of each way begin: one of them has to fit.
    used : array of (ways, arrays)
        Elements at work.
    reuse : array of (ways, arrays, tensors)
        How many of them take the same words of a tensor.
    sharing : array of (ways, arrays, tensors)
        How many units one word serves in a step at most.
    vectors : array of (vectors, dimensions)
        Where there is one array: the factors of every dimension, those of the same way together.
    vector_extents : array of (vectors, axes)
        Elements that each needs along every axis.
    vector_starts : array of ways + 1
        Where the vectors of each way begin.
    """

    extents: Floats
    options: Ints
    used: Floats
    reuse: Floats
    sharing: Floats
    vectors: Ints
    vector_extents: Floats
    vector_starts: Ints


class TooManyError(Exception):
    """A layer can be spread in more ways than are worth looking at."""


def spreads(layer: Layer, tiles: Lattice, machine: Architecture, relevant: Bools) -> Spreads:
    """Return the ways to spread a layer over the arrays of a machine.

    Parameters
    ----------
    machine : Architecture
        With the largest arrays of a space. Of its constraints, those count that say which
        dimensions may lie on an axis.
    relevant : array of (tensors, dimensions)

    Raises
    ------
    TooManyError
    """
    machine = in_letters(machine, layer)
    nt, nd = relevant.shape
    bounds = np.array([layer.bounds[d] for d in tiles.dimensions], np.int64)
    # rows of: extents of axes, then factors of each dimension so far, then columns of each array
    extents = np.ones((1, 0))
    whole = np.ones((1, nd), np.int64)
    columns = np.ones((1, 0))
    every = whole[:0], extents[:0], columns[:0]
    for array in machine.arrays:
        factors = np.ones((1, nd), np.int64)
        lengths = np.ones((1, 0))
        for axis, size in array.axes.items():
            allowed = machine.allowed_dimensions(array.name, axis)
            own = _factors(layer, tiles, allowed, size)
            if len(own) * len(factors) > MOST_PAIRS:
                raise TooManyError
            grown = (factors[:, None] * own[None]).reshape(-1, nd)
            lengths = np.column_stack(
                [np.repeat(lengths, len(own), axis=0), np.tile(own.prod(axis=1), len(factors))]
            )
            fits = ((bounds % grown) == 0).all(axis=1)
            factors, lengths = grown[fits], lengths[fits]
            kept = _least(factors.astype(np.float64), lengths)
            factors, lengths = factors[kept], lengths[kept]
        if len(whole) * len(factors) > MOST_PAIRS:
            raise TooManyError
        before = np.repeat(np.arange(len(whole)), len(factors))
        now = np.tile(np.arange(len(factors)), len(whole))
        grown = whole[before] * factors[now]
        fits = ((bounds % grown) == 0).all(axis=1)
        before, now = before[fits], now[fits]
        whole = grown[fits]
        own_columns = _columns(layer, tiles, factors, relevant)
        extents = np.column_stack([extents[before], lengths[now]])
        columns = np.column_stack([columns[before], own_columns[now]])
        if len(machine.arrays) == 1:
            # what else depends on single dimensions is kept apart
            every = whole, extents, columns
            kept = _least(columns, extents)
            whole, extents, columns = whole[kept], extents[kept], columns[kept]
    if len(columns) > MOST_SPREADS:
        raise TooManyError
    kept = _least(columns, extents)
    alike, way = np.unique(columns[kept], axis=0, return_inverse=True)
    per_array = alike.reshape(len(alike), len(machine.arrays), 1 + 2 * nt)
    used = per_array[:, :, 0]
    order = np.argsort(-used.prod(axis=1), kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    place = rank[way.ravel()]
    by_way = np.argsort(place, kind="stable")
    vectors, vector_extents = every[:2]
    vector_starts = np.zeros(len(order) + 1, np.int64)
    if len(vectors):
        own = rank[np.unique(every[2], axis=0, return_inverse=True)[1].ravel()]
        by_vector = np.lexsort((*vectors.T, own))
        vectors, vector_extents = vectors[by_vector], vector_extents[by_vector]
        vector_starts = np.searchsorted(own[by_vector], np.arange(len(order) + 1))
    return Spreads(
        extents=np.ascontiguousarray(extents[kept][by_way]),
        options=np.searchsorted(place[by_way], np.arange(len(order) + 1)),
        used=np.ascontiguousarray(used[order]),
        reuse=np.ascontiguousarray(per_array[order, :, 1 : 1 + nt]),
        sharing=np.ascontiguousarray(per_array[order, :, 1 + nt :]),
        vectors=np.ascontiguousarray(vectors),
        vector_extents=np.ascontiguousarray(vector_extents),
        vector_starts=vector_starts,
    )


def _factors(layer: Layer, tiles: Lattice, allowed: frozenset[str] | None, size: int) -> Ints:
    choices = axis_choices(layer, tiles, allowed, size)
    return np.array(
        [[choice.get(d, 1) for d in tiles.dimensions] for choice in choices], np.int64
    ).reshape(len(choices), len(tiles.dimensions))


def _columns(layer: Layer, tiles: Lattice, factors: Ints, relevant: Bools) -> Floats:
    """Return elements used, and reuse and sharing of each tensor, of ways to use one array."""
    used = factors.prod(axis=1).astype(np.float64)
    reuse = np.column_stack([factors[:, ~own].prod(axis=1) for own in relevant]).astype(np.float64)
    sharing = reuse.copy()
    position = {d: i for i, d in enumerate(tiles.dimensions)}
    for t, tensor in enumerate(layer.tensors):
        for terms in tensor.expressions:
            live = [term for term in terms if term.dimension in position]
            own = np.array([position[term.dimension] for term in live], np.int64)
            if len(own) == 2:
                coefs = np.array([term.coefficient for term in live], np.int64)
                served = most_served(tiles, own, coefs)
                digits = [
                    np.searchsorted(tiles.values[d, : tiles.sizes[d]], factors[:, d]) for d in own
                ]
                sharing[:, t] *= served[digits[0], digits[1]]
            elif len(own) > 2:
                fewest = 1 + (factors[:, own] - 1).sum(axis=1)
                sharing[:, t] *= factors[:, own].prod(axis=1) / fewest
    return np.column_stack([used, reuse, sharing])


def _least(columns: Floats, extents: Floats) -> Ints:
    """Return the rows that no other one with the same columns needs less than along all axes."""
    _, same = np.unique(columns, axis=0, return_inverse=True)
    order = np.lexsort((*extents.T[::-1], same.ravel()))
    starts = np.flatnonzero(np.diff(same.ravel()[order], prepend=-1))
    kept: list[int] = []
    for begin, end in pairwise([*starts.tolist(), len(order)]):
        front: list[tuple[float, ...]] = []
        for i in order[begin:end].tolist():
            own = tuple(extents[i].tolist())
            if not any(all(a <= b for a, b in zip(one, own, strict=True)) for one in front):
                front.append(own)
                kept.append(i)
    return np.array(sorted(kept), np.int64)
