"""A layer on a machine as plain arrays for the kernels, whatever is bypassed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import dropwhile, pairwise
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.architecture.constraints.constraint import Constraint
from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.bypass_choices import about_memories
from tilewright.mapper.problem.lattice import Divisors, Lattice, factor_bits
from tilewright.mapping.constraints import array_fault
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

MAX_DIMS_IN_EXPRESSION = 3


@record
class Space(NamedTuple):
    """What every bypass choice of one layer and machine shares (plain arrays for the kernels).

    Attributes
    ----------
    moves, strides, quotient, product, sizes, digits, values, repeats, words
        The tile lattice.
    outermost : array of (moves, 2)
        Elementary loops that stand outside of all others and all store nodes, see
        `loops_outermost`; they are not among `moves`.
    relevant : array of (tensors, dimensions)
    windows : array of tensors
        Position among the tensors that have an index expression with several terms, or -1.
    window_of : array of (windows, dimensions)
        The expression of the tensor in which a dimension slides with others, or -1.
    members, coefs : arrays of (windows, expressions, MAX_DIMS_IN_EXPRESSION)
        Dimensions of that expression, padded with -1, and their coefficients.
    unroll_start : array of arrays + 1
        Where the spatial choices of each array begin in the lists below.
    unroll : array of (choices, dimensions)
        Digit of the spatial factor of each dimension.
    unroll_product : array of choices
    unroll_reuse : array of (choices, tensors)
        Product of the factors of the dimensions irrelevant to the tensor.
    unroll_sharing : array of (choices, tensors)
        Most units that one word of the tensor can serve in a step: the reuse, and what windows
        share, see `most_served`; for three terms, no fewer words than 1 + sum(factor - 1).
    most_sharing : array of (arrays, tensors)
        The most of it among the choices of each array.
    unroll_bits : array of choices
    divisor_bits : array of shapes
        The factors of a spatial choice, and those that divide a shape, see `lattice.factor_bits`.
    operations : float
    mirror : array of shapes
        The shape that costs the same, with some dimensions in the places of others, see `symmetry`;
        itself without such dimensions.
    mirror_choice : array of choices
        The same for spatial choices.
    mirror_dimension : array of dimensions
        Which dimension takes the place of each.
    side : array of dimensions
        1 for the first of two that change places, -1 for the second, 0 for others.
    """

    moves: Ints
    strides: Ints
    quotient: Ints
    product: Ints
    sizes: Ints
    digits: Ints
    values: Ints
    repeats: Floats
    words: Ints
    outermost: Ints
    relevant: Bools
    windows: Ints
    window_of: Ints
    members: Ints
    coefs: Ints
    unroll_start: Ints
    unroll: Ints
    unroll_product: Floats
    unroll_reuse: Floats
    unroll_sharing: Floats
    most_sharing: Floats
    unroll_bits: Ints
    divisor_bits: Ints
    operations: float
    mirror: Ints
    mirror_choice: Ints
    mirror_dimension: Ints
    side: Ints


@dataclass(frozen=True)
class Unrolling:
    """One spatial choice of an array: factors per axis."""

    factors: tuple[tuple[str, str, int], ...]  # (axis, dimension, factor)


def axis_choices(
    layer: Layer, tiles: Divisors, allowed: frozenset[str] | None, size: int
) -> list[dict[str, int]]:
    """Return every way to unroll dimensions along one axis with factors that divide the bounds."""
    choices: list[dict[str, int]] = [{}]
    for i, name in enumerate(tiles.dimensions):
        if allowed is not None and name not in allowed:
            continue
        factors = [int(v) for v in tiles.values[i, : tiles.sizes[i]] if 1 < v <= size]
        choices += [
            {**choice, name: f}
            for choice in choices
            for f in factors
            if prod(choice.values()) * f <= size
        ]
    return choices


def satisfying(
    choices: list[dict[str, int]], statements: list[Constraint], layer: Layer, elements: int
) -> list[dict[str, int]]:
    """Return the choices on an axis, or a whole array, that break none of the statements on it."""
    return [
        choice
        for choice in choices
        if not any(array_fault(s, choice, layer.bounds, elements) for s in statements)
    ]


def array_choices(
    layer: Layer, tiles: Divisors, architecture: Architecture, array: Array
) -> tuple[list[Unrolling], Ints]:
    """Return the spatial choices of an array, without those that differ in the axes alone."""
    architecture = in_letters(architecture, layer)
    statements = [s for s in architecture.statements if s.at == array.name]
    names = tiles.dimensions
    width = range(len(names))
    # digits of the factors, and the axes on which they lie: on as few as possible
    digits = np.zeros((1, len(names)), np.int64)
    factors: list[tuple[tuple[str, str, int], ...]] = [()]
    for axis, size in array.axes.items():
        allowed = architecture.allowed_dimensions(array.name, axis)
        choices = axis_choices(layer, tiles, allowed, size)
        choices = satisfying(choices, [s for s in statements if s.axis == axis], layer, size)
        before, own = np.divmod(np.arange(len(factors) * len(choices)), max(len(choices), 1))
        # the axis that stays idle comes first
        first = np.argsort(np.array([choice != {} for choice in choices])[own], kind="stable")
        before, own = before[first], own[first]
        steps = np.array([[choice.get(d, 1) for d in names] for choice in choices], np.int64)
        steps = digits_of(tiles, steps.reshape(len(choices), len(names)))
        grown = np.empty((len(own), len(names)), np.int64)
        for d in width:
            grown[:, d] = tiles.product[d, digits[before, d], steps[own, d]]
        fine = np.flatnonzero((grown >= 0).all(axis=1))
        chosen = fine[np.sort(np.unique(grown[fine] @ tiles.strides, return_index=True)[1])]
        digits = grown[chosen]
        lying = [tuple((axis, d, f) for d, f in choice.items()) for choice in choices]
        factors = [factors[i] + lying[j] for i, j in zip(before[chosen], own[chosen], strict=True)]
    vectors = np.ones_like(digits)
    for d in width:
        vectors[:, d] = tiles.values[d, digits[:, d]]
    order = np.lexsort((*vectors.T[::-1], -vectors.prod(axis=1)))
    whole = [s for s in statements if s.axis is None]
    if whole:
        together = [dict(zip(names, vector, strict=True)) for vector in vectors.tolist()]
        kept = [bool(satisfying([one], whole, layer, array.elements)) for one in together]
        order = order[np.array(kept, np.bool_)[order]]
    return [Unrolling(factors[i]) for i in order], digits[order]


def digits_of(tiles: Divisors, vectors: Ints) -> Ints:
    """Return the digits of values of every dimension, row by row."""
    digits = np.empty(vectors.shape, np.int64)
    for i, values in enumerate(vectors.T):
        digits[:, i] = np.searchsorted(tiles.values[i, : tiles.sizes[i]], values)
    return digits


def loops_outermost(layer: Layer, architecture: Architecture) -> bool:
    """Whether loops on dimensions relevant to every tensor, and to no window, stand outermost.

    Wherever such a loop stands, it may as well stand further out: tiles only get smaller, and no
    more words move, for the loops that it passes neither change a tile because of it nor does it
    cut the slide of a window. There are two exceptions. Where an output goes through an array to a
    memory that is not its last one, fewer words may cost more, see `dominance.dominates`; and where
    its windows overlap, its cycles are not known before the end. And constraints may hold loops
    where they are.
    """
    output = layer.tensors[-1]
    inside = dropwhile(lambda level: not isinstance(level, Array), architecture.levels)
    keepers = [m for m in inside if isinstance(m, Memory) and m.may_store(output.role)]
    slides = any(len(terms) > 1 for terms in output.expressions)
    return not (len(keepers) > 1 or slides or about_memories(architecture))


def most_served(tiles: Lattice, pair: Ints, coefs: Ints) -> Floats:
    """Return how many instances of a pair of dimensions that slide share a word in a step at most.

    Returns
    -------
    array of (digits, digits)
        For spatial factors of both dimensions. The extents below the array, any that divide what
        the factors leave, set how far instances stand apart.
    """
    values = [tiles.values[d, : tiles.sizes[d]] for d in pair.tolist()]
    m, n, a, b = np.ix_(*values, *values)
    fits = (values[0][-1] % (m * a) == 0) & (values[1][-1] % (n * b) == 0)
    first, second = coefs[0] * a, coefs[1] * b
    common = np.gcd(first, second)
    again = np.maximum(m - second // common, 0) * np.maximum(n - first // common, 0)
    shared: Floats = np.where(fits, m * n / (m * n - again), 0.0).max(axis=(2, 3))
    return shared


Terms = list[tuple[int, int]]
"""The coefficients and dimensions of a sliding index expression."""


def expressions(layer: Layer, position: dict[str, int]) -> tuple[Bools, Ints, list[list[Terms]]]:
    """Return the relevant dimensions of each tensor, its window or -1, and the terms of windows."""
    relevant = np.zeros((len(layer.tensors), len(position)), np.bool_)
    windows = np.full(len(layer.tensors), -1, np.int64)
    rows: list[list[Terms]] = []
    for t, tensor in enumerate(layer.tensors):
        for d in tensor.dimensions:
            if d in position:
                relevant[t, position[d]] = True
        live = [
            [
                (term.coefficient, position[term.dimension])
                for term in terms
                if term.dimension in position
            ]
            for terms in tensor.expressions
        ]
        sliding = [terms for terms in live if len(terms) > 1]
        if sliding:
            windows[t] = len(rows)
            rows.append(sliding)
    return relevant, windows, rows


def window_arrays(rows: list[list[Terms]], nd: int) -> tuple[Ints, Ints, Ints]:
    """Return `window_of`, `members` and `coefs` of a space with these windows."""
    nw = max(1, len(rows))
    ne = max([1, *(len(sliding) for sliding in rows)])
    width = max([MAX_DIMS_IN_EXPRESSION, *(len(terms) for sliding in rows for terms in sliding)])
    window_of = np.full((nw, max(nd, 1)), -1, np.int64)
    members = np.full((nw, ne, width), -1, np.int64)
    coefs = np.ones((nw, ne, width), np.int64)
    for w, sliding in enumerate(rows):
        for e, terms in enumerate(sliding):
            for k, (coefficient, i) in enumerate(terms):
                window_of[w, i] = e
                members[w, e, k] = i
                coefs[w, e, k] = coefficient
    return window_of, members, coefs


def slid_together(
    tiles: Lattice, reuse: Floats, unroll: Ints, factors: Floats, members: Ints, coefs: Ints
) -> Floats:
    """Return how many elements share a word of one window at most, for every spatial choice.

    By `reuse` they do where it does not slide.
    """
    shared = reuse.copy()
    for group, coef in zip(members, coefs, strict=True):
        own = group[group >= 0]
        if len(own) == 2:
            shared *= most_served(tiles, own, coef)[tuple(unroll[:, own].T)]
        else:
            fewest = 1 + (factors[:, own] - 1).sum(axis=1)
            shared *= factors[:, own].prod(axis=1) / fewest
    return shared


def space(
    layer: Layer, tiles: Lattice, architecture: Architecture
) -> tuple[Space, list[Unrolling]]:
    """Return the arrays that every bypass choice shares, and the spatial choices in words."""
    position = {d: i for i, d in enumerate(tiles.dimensions)}
    nt, nd = len(layer.tensors), len(position)
    relevant, windows, rows = expressions(layer, position)
    window_of, members, coefs = window_arrays(rows, nd)
    names: list[Unrolling] = []
    tables = [np.zeros((0, nd), np.int64)]
    start = [0]
    for array in architecture.arrays:
        own, table = array_choices(layer, tiles, architecture, array)
        names += own
        tables.append(table)
        start.append(start[-1] + len(own))
    unroll = np.concatenate(tables)
    factors = np.ones((len(unroll), nd))
    for i in range(nd):
        factors[:, i] = tiles.values[i, unroll[:, i]]
    reuse = np.ones((len(unroll), nt))
    for t in range(nt):
        reuse[:, t] = factors[:, ~relevant[t]].prod(axis=1)
    sharing = reuse.copy()
    for t in np.flatnonzero(windows >= 0).tolist():
        w = windows[t]
        sharing[:, t] = slid_together(tiles, reuse[:, t], unroll, factors, members[w], coefs[w])
    everywhere: Bools = np.logical_and.reduce(np.concatenate((relevant, window_of[:, :nd] < 0)))
    stands = everywhere[tiles.moves[:, 0]] & loops_outermost(layer, architecture)
    most_sharing = np.array([sharing[a:b].max(axis=0, initial=1.0) for a, b in pairwise(start)])
    unroll_bits, divisor_bits = factor_bits(tiles, unroll)
    return (
        Space(
            moves=tiles.moves[~stands],
            strides=tiles.strides,
            quotient=tiles.quotient,
            product=tiles.product,
            sizes=tiles.sizes,
            digits=tiles.digits,
            values=tiles.values,
            repeats=tiles.repeats,
            words=tiles.words,
            outermost=tiles.moves[stands],
            relevant=relevant,
            windows=windows,
            window_of=window_of,
            members=members,
            coefs=coefs,
            unroll_start=np.array(start, np.int64),
            unroll=unroll,
            unroll_product=factors.prod(axis=1),
            unroll_reuse=reuse,
            unroll_sharing=sharing,
            most_sharing=most_sharing.reshape(-1, nt),
            unroll_bits=unroll_bits,
            divisor_bits=divisor_bits,
            operations=float(layer.operations),
            mirror=np.arange(len(tiles.repeats)),
            mirror_choice=np.arange(len(unroll)),
            mirror_dimension=np.arange(nd),
            side=np.zeros(nd, np.int64),
        ),
        names,
    )
