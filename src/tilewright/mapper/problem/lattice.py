"""The tile lattice: every shape that remains below a point of a mapping, as one integer.

A shape gives each dimension one of its divisors; its index is a mixed-radix number whose digits are
the positions in the sorted divisor lists. Making a shape smaller always makes its index smaller.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import isqrt, prod

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.workload.footprint import expression_words
from tilewright.workload.layer import Layer


def divisors(n: int) -> list[int]:
    """Return the divisors of n in ascending order."""
    found = [1]
    for p in prime_factors(n):
        powers, left = [1], n
        while left % p == 0:
            left //= p
            powers.append(powers[-1] * p)
        found = [d * q for d in found for q in powers]
    return sorted(found)


@lru_cache(maxsize=1 << 16)
def divisor_count(n: int) -> int:
    """Return the number of divisors of n."""
    return len(divisors(n))


def divisor_counts(first: int, last: int) -> Ints:
    """Return the number of divisors of each number from `first` to `last`, 1 or more."""
    counts = np.zeros(last - first + 1, np.int64)
    for d in range(1, isqrt(last) + 1):
        # d and its larger partner, for the multiples from d * d on
        begin = max(d * d, -(-first // d) * d)
        counts[begin - first :: d] += 2
        if first <= d * d:
            counts[d * d - first] -= 1
    return counts


@lru_cache(maxsize=1 << 16)
def prime_factors(n: int) -> tuple[int, ...]:
    """Return the distinct primes that divide n."""
    primes = []
    p = 2
    while p * p <= n:
        if n % p == 0:
            primes.append(p)
            while n % p == 0:
                n //= p
        p += 1 + (p > 2)
    return (*primes, n) if n > 1 else tuple(primes)


@dataclass(frozen=True)
class Divisors:
    """Tile sizes of every dimension that divide its bound.

    Attributes
    ----------
    dimensions : tuple of str
        Dimensions with more than one iteration.
    values : array of (dimensions, digits)
        Divisors of each bound, padded with 0.
    sizes, strides : arrays of dimensions
        Number of divisors, and weight of the digit in the index.
    quotient : array of (dimensions, digits, digits)
        Digit of value i divided by value j, or -1 when it does not divide.
    product : array of (dimensions, digits, digits)
        Digit of value i times value j, or -1 when it is not a divisor of the bound.
    moves : array of (moves, 2)
        The elementary loops: a dimension and the digit of a prime factor.
    """

    dimensions: tuple[str, ...]
    values: Ints
    sizes: Ints
    strides: Ints
    quotient: Ints
    product: Ints
    moves: Ints

    @property
    def shapes(self) -> int:
        """Number of shapes, the whole nest among them."""
        return prod(self.sizes.tolist())


@dataclass(frozen=True)
class Lattice(Divisors):
    """Shapes of one layer whose tile sizes divide evenly.

    Attributes
    ----------
    digits : array of (shapes, dimensions)
        Digits of every shape.
    repeats : array of shapes
        How often a shape occurs in the whole nest: product of bound / value.
    words : array of (tensors, shapes)
        Footprint of every tensor over every shape.
    """

    digits: Ints
    repeats: Floats
    words: Ints

    @property
    def top(self) -> int:
        """Index of the whole nest."""
        return len(self.repeats) - 1


def divisors_of(layer: Layer) -> Divisors:
    """Return the tile sizes of a layer, without the shapes that they make together."""
    names = tuple(d for d in layer.dimensions if layer.bounds[d] > 1)
    lists = [divisors(layer.bounds[d]) for d in names]
    width = max((len(v) for v in lists), default=1)
    n = len(names)
    values = np.zeros((n, width), np.int64)
    quotient = np.full((n, width, width), -1, np.int64)
    times = np.full((n, width, width), -1, np.int64)
    moves = []
    for i, (name, own) in enumerate(zip(names, lists, strict=True)):
        values[i, : len(own)] = own
        position = {v: k for k, v in enumerate(own)}
        for a, value in enumerate(own):
            for b, factor in enumerate(own):
                if value % factor == 0:
                    quotient[i, a, b] = position[value // factor]
                if value * factor in position:
                    times[i, a, b] = position[value * factor]
        moves += [(i, position[p]) for p in prime_factors(layer.bounds[name])]
    sizes = np.array([len(v) for v in lists], np.int64)
    strides = np.array([prod(len(v) for v in lists[i + 1 :]) for i in range(n)], np.int64)
    moving = np.array(moves, np.int64).reshape(-1, 2)
    return Divisors(
        dimensions=names,
        values=values,
        sizes=sizes,
        strides=strides,
        quotient=quotient,
        product=times,
        moves=moving,
    )


def lattice(layer: Layer) -> Lattice:
    """Build the tile lattice of a layer."""
    axes = divisors_of(layer)
    names, shapes = axes.dimensions, axes.shapes
    lists = [divisors(layer.bounds[d]) for d in names]
    index = np.arange(shapes)
    digits = np.empty((shapes, len(names)), np.int64)
    repeats = np.ones(shapes)
    for i, name in enumerate(names):
        digits[:, i] = index // axes.strides[i] % axes.sizes[i]
        repeats *= (layer.bounds[name] / axes.values[i, : axes.sizes[i]])[digits[:, i]]
    words = np.ones((len(layer.tensors), shapes), np.int64)
    position_of = {name: i for i, name in enumerate(names)}
    for t, tensor in enumerate(layer.tensors):
        for terms in tensor.expressions:
            live = tuple(term for term in terms if term.dimension in position_of)
            table = np.ones([len(lists[position_of[term.dimension]]) for term in live], np.int64)
            for at in np.ndindex(table.shape):
                extents = {
                    term.dimension: lists[position_of[term.dimension]][k]
                    for term, k in zip(live, at, strict=True)
                }
                table[at] = expression_words(live, extents)
            words[t] *= table[tuple(digits[:, position_of[term.dimension]] for term in live)]
    return Lattice(
        dimensions=axes.dimensions,
        values=axes.values,
        sizes=axes.sizes,
        strides=axes.strides,
        quotient=axes.quotient,
        product=axes.product,
        moves=axes.moves,
        digits=digits,
        repeats=repeats,
        words=words,
    )


def factor_bits(tiles: Lattice, unroll: Ints) -> tuple[Ints, Ints]:
    """Return bits for the factors of each spatial choice, and for those that divide each shape.

    A choice divides no shape that lacks one of its bits. Each factor of each dimension has its own
    bit, unless there are more than 62: then some share one.

    Parameters
    ----------
    unroll : array of (choices, dimensions)
        Digit of the factor of each dimension.
    """
    of_choice = np.zeros(len(unroll), np.int64)
    of_shape = np.zeros(len(tiles.repeats), np.int64)
    before = 0
    for d, size in enumerate(tiles.sizes.tolist()):
        own = np.array([0, *(1 << (before + q) % 62 for q in range(size - 1))], np.int64)
        before += size - 1
        divides = tiles.quotient[d, :size, :size] >= 0
        of_choice |= own[unroll[:, d]]
        of_shape |= np.bitwise_or.reduce(divides * own, axis=1)[tiles.digits[:, d]]
    return of_choice, of_shape
