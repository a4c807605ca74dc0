"""The blocks of one tensor that a memory needs one after the other, as a nest of loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from tilewright.kernels.types import Ints
from tilewright.mapping.structure import Loop
from tilewright.workload.footprint import expression_words
from tilewright.workload.layer import Layer, Tensor, Term

Words = frozenset[tuple[int, ...]]


@dataclass(frozen=True)
class Access:
    """How the temporal loops above a memory walk over one tensor.

    At each step of the loops the memory needs the words of the tensor over the box below them:
    the block of that step.

    Attributes
    ----------
    bounds : tuple of int
        Iterations of each dimension.
    axes : tuple of int
        For each dimension the index expression of the tensor in which it appears; -1 for a
        dimension that is irrelevant to the tensor.
    coefficients : tuple of int
        Its coefficient there; 0 for an irrelevant dimension.
    loops : tuple of (int, int)
        Dimension and tile of each temporal loop above the memory, outermost first. Any order;
        a dimension may be cut several times.
    pins : tuple of int
        For each loop whose other chunks belong to other instances of the memory, the one chunk that
        there is; -1 for a temporal loop. Empty when all are temporal. Where the chunk is empty
        there is no step.
    anew : int
        Number of loops, from the outermost one, with which all words begin anew when the chunk of a
        relevant temporal one among them is another than before.
    """

    bounds: tuple[int, ...]
    axes: tuple[int, ...]
    coefficients: tuple[int, ...]
    loops: tuple[tuple[int, int], ...]
    pins: tuple[int, ...] = ()
    anew: int = 0

    @classmethod
    def of(cls, layer: Layer, tensor: Tensor, loops: Sequence[Loop]) -> Access:
        """Return the access of a tensor below some temporal loops of a mapping."""
        number = {dimension: d for d, dimension in enumerate(layer.dimensions)}
        axes = [-1] * len(number)
        coefficients = [0] * len(number)
        for axis, terms in enumerate(tensor.expressions):
            for term in terms:
                axes[number[term.dimension]] = axis
                coefficients[number[term.dimension]] = term.coefficient
        return cls(
            tuple(layer.bounds.values()),
            tuple(axes),
            tuple(coefficients),
            tuple((number[loop.dimension], loop.tile) for loop in loops),
        ).shortened()

    def shortened(self) -> Access:
        """Return the access without loops of one chunk and without innermost irrelevant loops.

        Neither changes the sequence of blocks: consecutive equal blocks are one.
        """
        extents = list(self.bounds)
        loops = []
        anew = 0
        for i, ((dimension, tile), pin) in enumerate(self.pinned):
            if tile < extents[dimension]:
                loops.append(((dimension, tile), pin))
                anew += i < self.anew
            extents[dimension] = min(tile, extents[dimension] - max(pin, 0) * tile)
        while loops and self.axes[loops[-1][0][0]] < 0 and loops[-1][1] < 0:
            loops.pop()
        pins = tuple(pin for _, pin in loops) if self.pins else ()
        return Access(
            self.bounds, self.axes, self.coefficients, tuple(loop for loop, _ in loops), pins,
            min(anew, len(loops)),
        )  # fmt: skip

    @property
    def pinned(self) -> Iterator[tuple[tuple[int, int], int]]:
        """The loops, each with its pin."""
        return zip(self.loops, self.pins or [-1] * len(self.loops), strict=True)

    @cached_property
    def words(self) -> int:
        """Words of the tensor that are ever touched, where no loop is pinned."""
        return self._footprint(self.bounds)

    @cached_property
    def block_words(self) -> int:
        """Words of the largest block."""
        return self._footprint(self.tiles)

    @cached_property
    def tiles(self) -> tuple[int, ...]:
        """Largest extent of each dimension below the loops."""
        extents = list(self.bounds)
        for (dimension, tile), pin in self.pinned:
            extents[dimension] = min(tile, extents[dimension] - max(pin, 0) * tile)
        return tuple(extents)

    def _footprint(self, extents: Sequence[int]) -> int:
        words = 1
        for axis in range(max(self.axes, default=-1) + 1):
            mine = [d for d, at in enumerate(self.axes) if at == axis]
            terms = tuple(Term(self.coefficients[d], str(d)) for d in mine)
            words *= expression_words(terms, {str(d): extents[d] for d in mine})
        return words

    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
        """Return bounds, axes, coefficients, and the loops' dimensions, tiles and pins."""
        dimensions = [dimension for dimension, _ in self.loops]
        tiles = [tile for _, tile in self.loops]
        pins = [pin for _, pin in self.pinned]
        columns = (self.bounds, self.axes, self.coefficients, dimensions, tiles, pins)
        bounds, axes, factors, dims, sizes, own = (np.array(each, np.int64) for each in columns)
        return bounds, axes, factors, dims, sizes, own

    def blocks(self) -> Iterator[Words]:
        """Yield the block of every step, as a set of words."""
        whole = tuple(range(bound) for bound in self.bounds)
        yield from self._blocks(self.loops, whole)

    def _blocks(self, loops: Sequence[tuple[int, int]], box: tuple[range, ...]) -> Iterator[Words]:
        if not loops:
            yield self._touched(box)
            return
        dimension, tile = loops[0]
        found = box[dimension]
        for start in range(0, len(found), tile):
            chunk = found[start : start + tile]
            yield from self._blocks(loops[1:], (*box[:dimension], chunk, *box[dimension + 1 :]))

    def _touched(self, box: tuple[range, ...]) -> Words:
        axes = []
        for axis in range(max(self.axes, default=-1) + 1):
            mine = [d for d, at in enumerate(self.axes) if at == axis]
            points = product(*(box[d] for d in mine))
            axes.append(
                {
                    sum(self.coefficients[d] * i for d, i in zip(mine, p, strict=True))
                    for p in points
                }
            )
        return frozenset(product(*axes))
