"""A layer as the arrays that the kernels of this package read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import InputError
from tilewright.kernels.record import record
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Term

Array = NDArray[np.int64]
Flags = NDArray[np.bool_]
NONE = -1


@record
class NestArrays(NamedTuple):
    """What kernels read of a nest; see `Nest`."""

    bounds: Array
    expressions: Array
    axes: Array
    relevant: Flags
    sliding: Flags
    words: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Nest:
    """The loops and tensors of a layer, by number.

    Attributes
    ----------
    layer : Layer
    bounds : array of int
        Iterations of each dimension.
    expressions : array of int, tensors x expressions x 4
        Dimension and coefficient of the first term, then of the second; a dimension of -1 for
        none. An index expression ``a*i`` on its own is as good as ``i``.
    axes : array of int
        How many expressions each tensor has.
    relevant, sliding : array of bool, tensors x dimensions
        Whether a dimension occurs in the tensor at all, and in a sum with another one.
    words : array of int
        Size of each tensor.
    weights : array of int
        DRAM words of a spill: 1 for an input, 2 for the output, which is written and read again
        (CNNFlow, Equation 1).
    """

    layer: Layer
    bounds: Array
    expressions: NDArray[np.int64]
    axes: Array
    relevant: Flags
    sliding: Flags
    words: Array
    weights: Array

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions, in the order of the arrays."""
        return self.layer.dimensions

    @cached_property
    def arrays(self) -> NestArrays:
        """What kernels read."""
        return NestArrays(
            bounds=self.bounds,
            expressions=self.expressions,
            axes=self.axes,
            relevant=self.relevant,
            sliding=self.sliding,
            words=self.words,
            weights=self.weights,
        )

    def order(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of dimensions."""
        return [self.dimensions.index(name) for name in names]


def read_nest(layer: Layer) -> Nest:
    """Return the arrays of a layer.

    Raises
    ------
    InputError
        When an index expression has three or more terms.
    """
    number = {name: at for at, name in enumerate(layer.dimensions)}
    shape = len(layer.tensors), len(number)
    widest = max(len(tensor.expressions) for tensor in layer.tensors)
    expressions = np.full((len(layer.tensors), widest, 4), NONE, np.int64)
    relevant, sliding = np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    axes = np.zeros(len(layer.tensors), np.int64)
    for t, tensor in enumerate(layer.tensors):
        for terms in tensor.expressions:
            moving = tuple(term for term in terms if layer.bounds[term.dimension] > 1)
            if len(moving) > 2:
                raise InputError(
                    f"index {'+'.join(map(str, moving))} of tensor '{tensor.name}' has "
                    f"{len(moving)} terms; at most 2 are accepted here",
                    key="workload",
                )
            if moving:
                expressions[t, axes[t]] = _row(moving, number)
                axes[t] += 1
            for term in moving:
                relevant[t, number[term.dimension]] = True
                sliding[t, number[term.dimension]] = len(moving) == 2
    return Nest(
        layer=layer,
        bounds=np.array(list(layer.bounds.values()), np.int64),
        expressions=expressions,
        axes=axes,
        relevant=relevant,
        sliding=sliding,
        words=np.array([footprint(tensor, layer.bounds) for tensor in layer.tensors], np.int64),
        weights=np.array([2 if tensor.is_output else 1 for tensor in layer.tensors], np.int64),
    )


def _row(terms: tuple[Term, ...], number: dict[str, int]) -> list[int]:
    if len(terms) == 1:
        return [number[terms[0].dimension], 1, NONE, 0]
    first, second = terms
    return [
        number[first.dimension], first.coefficient, number[second.dimension], second.coefficient,
    ]  # fmt: skip


def block_sizes(bound: int) -> list[int]:
    """Return the smallest block of each number of blocks (CNNFlow, Lemma 5.3), ascending.

    Examples
    --------
    >>> block_sizes(10)
    [1, 2, 3, 4, 5, 10]
    """
    root = int(bound**0.5) + 1
    small = range(1, min(root, bound) + 1)
    return sorted(
        {*(ceil(bound / ceil(bound / b)) for b in small), *(-(-bound // n) for n in small)}
    )
