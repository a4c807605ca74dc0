"""MARVEL's data-movement cost: blocks of a tile for each operation in it.

P. Chatarasi et al., "MARVEL", section 3.1: the distinct blocks (DB) of a tile of a tensor are the
blocks along its contiguous axis times the words along the others, as if every row began a block.
The data-movement cost (DMC) adds the tensors up and divides by the operations of the tile. The
formula that gives the numbers of the paper's Table 3 counts the output twice, as it is written and
read back; as it is printed, it counts the input twice and the output never.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, inf
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import InputError
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.layout.moved import block_words
from tilewright.workload.axis_order import axis_extent
from tilewright.workload.layer import Layer, Tensor

UNBOUNDED = 1 << 62
OUTPUT = 2.0  # a partial sum is written and read back
WORDS, BOX = "words", "box"


class Arrays(NamedTuple):
    """The cost of a layer's tiles, for the kernels.

    Attributes
    ----------
    axis_start : array of int, of (tensors + 1)
        First axis of each tensor.
    term_start : array of int, of (axes + 1)
        First term of each axis.
    dimension, coefficient : array of int, of (terms)
        What an index adds up.
    block : array of int, of (tensors)
        Words in a block.
    weight : array of float, of (tensors)
        What a block costs.
    bits : array of int, of (tensors)
        Bits of a word in the memory inside.
    room : array of int, of (tensors + 1)
        Bits that each tensor may take there, and all together.
    gaps : bool
        Whether words between those that are touched count as well.
    """

    axis_start: Ints
    term_start: Ints
    dimension: Ints
    coefficient: Ints
    block: Ints
    weight: Floats
    bits: Ints
    room: Ints
    gaps: bool


@dataclass(frozen=True)
class Cost:
    """What tiles of a layer cost at the outermost memory of a machine.

    Attributes
    ----------
    layer : Layer
        What is computed.
    architecture : Architecture
        The machine: tiles have to fit its second memory.
    output : float
        How often each block of the output counts.
    extents : str
        What a strided window takes of an axis: ``"words"`` that are touched, or the ``"box"`` from
        the first to the last of them.
    """

    layer: Layer
    architecture: Architecture
    output: float = OUTPUT
    extents: str = WORDS

    @property
    def memory(self) -> Memory:
        """The memory that holds the tiles.

        Raises
        ------
        InputError
            When the machine has a single memory.
        """
        if len(self.architecture.memories) < 2:
            raise InputError(
                f"'{self.architecture.name}' has no memory inside "
                f"'{self.architecture.memories[0].name}' that could hold a tile",
                key="architecture",
            )
        return self.architecture.memories[1]

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The tensors that the memory may store; the others pass it by, tile or not."""
        return tuple(t for t in self.layer.tensors if self.memory.may_store(t.role))

    def arrays(self) -> Arrays:
        """Return the cost as arrays; dimensions are numbered as in the layer."""
        memory = self.memory
        numbers = {d: i for i, d in enumerate(self.layer.dimensions)}
        axes = [terms for tensor in self.tensors for terms in tensor.expressions]
        terms = [term for axis in axes for term in axis]
        shares = memory.tensor_bits or {}
        limits = [UNBOUNDED if memory.tensor_bits is None else shares[t.role] for t in self.tensors]
        total = memory.capacity_bits
        return Arrays(
            axis_start=np.cumsum([0, *(len(t.expressions) for t in self.tensors)]),
            term_start=np.cumsum([0, *map(len, axes)]),
            dimension=np.array([numbers[term.dimension] for term in terms], np.int64),
            coefficient=np.array([term.coefficient for term in terms], np.int64),
            block=np.array([block_words(self.architecture, t) for t in self.tensors], np.int64),
            weight=np.array([self.output if t.is_output else 1.0 for t in self.tensors]),
            bits=np.array([t.bits or memory.word_bits for t in self.tensors], np.int64),
            room=np.array([*limits, UNBOUNDED if total is None else total], np.int64)
            // memory.buffering,
            gaps=self.extents == BOX,
        )

    def words(self, tensor: Tensor, axis: int, tile: Mapping[str, int]) -> int:
        """Return the words along an axis that a tile takes."""
        terms = [term for term in tensor.expressions[axis] if tile[term.dimension] > 1]
        box = axis_extent(terms, tile)
        if self.extents == BOX or not terms or len(terms) > 2:
            return box
        if len(terms) == 1:
            return tile[terms[0].dimension]
        (a, m), (b, n) = ((t.coefficient, tile[t.dimension]) for t in terms)
        g = gcd(a, b)
        return m * n - max(0, m - b // g) * max(0, n - a // g)

    def distinct(self, tensor: Tensor, axis: int | None, tile: Mapping[str, int]) -> int:
        """Return the distinct blocks of a tile, of a tensor that is contiguous along an axis."""
        if axis is None:
            return 1
        block = block_words(self.architecture, tensor)
        along = -(-axis_extent(tensor.expressions[axis], tile) // block)
        count = min(along, self.words(tensor, axis, tile))
        for other in range(len(tensor.expressions)):
            if other != axis:
                count *= self.words(tensor, other, tile)
        return count

    def fits(self, tile: Mapping[str, int]) -> bool:
        """Whether the tiles of all tensors fit the memory together, buffering included."""
        memory = self.memory
        total = 0
        for tensor in self.tensors:
            bits = tensor.bits or memory.word_bits
            for axis in range(len(tensor.expressions)):
                bits *= self.words(tensor, axis, tile)
            bits *= memory.buffering
            if memory.tensor_bits is not None and bits > memory.tensor_bits[tensor.role]:
                return False
            total += bits
        return total <= (inf if memory.capacity_bits is None else memory.capacity_bits)

    def value(self, inner: Mapping[str, int | None], tile: Mapping[str, int]) -> float:
        """Return the data-movement cost of a tile, in blocks per operation.

        Parameters
        ----------
        inner : mapping of str to int
            Contiguous axis of each tensor; None for a scalar.
        tile : mapping of str to int
            Iterations of each dimension.
        """
        operations = 1
        for extent in tile.values():
            operations *= extent
        blocks = sum(
            (self.output if t.is_output else 1.0) * self.distinct(t, inner[t.name], tile)
            for t in self.tensors
        )
        return blocks / operations

    def slopes(self, inner: Mapping[str, int | None], tile: Mapping[str, int]) -> dict[str, float]:
        """Return the partial derivatives of the cost without its rounding, by dimension.

        MARVEL, section 3.1: the loop with the most negative one has the most reuse, and stands
        innermost. With D blocks of a tensor per operation, the slope along a dimension of size T is
        D (c/e - 1/T), where the dimension moves the extent e of an axis by c; D(-1/T) without one.
        """
        slopes = dict.fromkeys(self.layer.dimensions, 0.0)
        operations = 1
        for extent in tile.values():
            operations *= extent
        for tensor in self.tensors:
            share = (self.output if tensor.is_output else 1.0) / operations
            if inner[tensor.name] is not None:
                share /= block_words(self.architecture, tensor)
            extents = [axis_extent(terms, tile) for terms in tensor.expressions]
            for extent in extents:
                share *= extent
            moved = {
                term.dimension: term.coefficient / extent
                for terms, extent in zip(tensor.expressions, extents, strict=True)
                for term in terms
            }
            for d in slopes:
                slopes[d] += share * (moved.get(d, 0.0) - 1 / tile[d])
        return slopes

    def order(self, inner: Mapping[str, int | None], tile: Mapping[str, int]) -> tuple[str, ...]:
        """Return the dimensions that the tile cuts, outermost loop first, by their slopes."""
        slopes = self.slopes(inner, tile)
        cut = [d for d in self.layer.dimensions if tile[d] < self.layer.bounds[d]]
        return tuple(sorted(cut, key=lambda d: -slopes[d]))


def allowed_axes(cost: Cost, inner: Mapping[str, int | None] | None) -> Bools:
    """Return which axes may be contiguous: all of more than one word, or those that are given."""
    allowed: list[bool] = []
    for tensor in cost.tensors:
        extents = [axis_extent(terms, cost.layer.bounds) for terms in tensor.expressions]
        if inner is not None and tensor.name in inner:
            allowed += [axis == inner[tensor.name] for axis in range(len(extents))]
        else:
            # where all have one word, the last one stands for all
            some = any(extent > 1 for extent in extents)
            last = len(extents) - 1
            allowed += [extent > 1 if some else axis == last for axis, extent in enumerate(extents)]
    return np.array(allowed, np.bool_)


def inner_choices(tensor: Tensor, bounds: Mapping[str, int]) -> Sequence[int]:
    """Return the axes of more than one word: those that can be contiguous."""
    extents = [axis_extent(terms, bounds) for terms in tensor.expressions]
    return [axis for axis, extent in enumerate(extents) if extent > 1] or [len(extents) - 1]
