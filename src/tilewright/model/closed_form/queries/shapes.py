"""One compilation for all layers of a shape: the bounds are filled in afterwards.

What `plan.compile_queries` makes of a mapping structure depends on the bounds of the layer in three
places: the list of bounds, those of each factor's dimensions, and the constant factor of each
query, a product of some bounds. Compiled for bounds that are distinct primes, all three tell
which dimensions they stand for. Bounds of 1 are part of the shape: such dimensions are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tilewright.kernels.types import Ints
from tilewright.model.closed_form.queries.plan import Compiled
from tilewright.workload.layer import Layer, Tensor

PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
MOST_DIMENSIONS = len(PRIMES)


def prototype(layer: Layer) -> Layer:
    """Return the layer that stands for all of its shape.

    Its bounds are distinct primes where they are not 1. A coefficient that stands alone in its
    index expression is 1: it does not change which words are the same.
    """
    primes = iter(PRIMES)
    bounds = {d: 1 if n == 1 else next(primes) for d, n in layer.bounds.items()}
    return Layer("", bounds, tuple(map(_plain, layer.tensors)))


def _plain(tensor: Tensor) -> Tensor:
    expressions = tuple(
        (replace(terms[0], coefficient=1),) if len(terms) == 1 else terms
        for terms in tensor.expressions
    )
    return Tensor(tensor.name, expressions, tensor.role)


@dataclass(frozen=True)
class Shape:
    """A compilation for a prototype, and where its bounds stand.

    Attributes
    ----------
    compiled : Compiled
        For the prototype.
    dims : array
        Dimension of each entry of `dim_bound`.
    scaled : array of (queries, dimensions) of bool
        Dimensions whose bounds are factors of each query's constant factor.
    """

    compiled: Compiled
    dims: Ints
    scaled: np.ndarray[tuple[int, int], np.dtype[np.bool_]]

    @classmethod
    def of(cls, compiled: Compiled) -> Shape:
        """Return a shape from what was compiled for its prototype."""
        program = compiled.program
        bounds = program.bounds
        place = {int(prime): d for d, prime in enumerate(bounds) if prime > 1}
        # a bound of 1 belongs to any dimension of that bound
        one = next((d for d, n in enumerate(bounds) if n == 1), 0)
        dims = np.array([place.get(int(n), one) for n in program.dim_bound], np.int64)
        scale = program.code[program.query]
        scaled = (scale[:, None] % np.where(bounds > 1, bounds, 2**40)) == 0
        return cls(compiled, dims, scaled)

    def fill(self, layer: Layer) -> Compiled:
        """Return the compilation for a layer of this shape."""
        program = self.compiled.program
        bounds = np.array(list(layer.bounds.values()), np.int64)
        code = program.code.copy()
        code[program.query] = np.where(self.scaled, bounds, 1).prod(axis=1)
        filled = program._replace(bounds=bounds, dim_bound=bounds[self.dims], code=code)
        return replace(self.compiled, program=filled)
