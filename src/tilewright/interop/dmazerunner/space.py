"""The space of execution methods: valid tilings, and the heuristics that prune them.

S. Dave et al., ACM TECS 18(5s), 2019, sections 4.2.2, 4.2.3 and 6.3. A tiling gives every dimension
four factors: in DRAM, in the buffer, on the array and in the registers. Shapes of tiles are
positions in the tile lattice, so that a space of billions is a few arrays over thousands of shapes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import InputError
from tilewright.interop.dmazerunner.method import levels_of
from tilewright.interop.dmazerunner.tiles import tile_words
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.lattice import Lattice, lattice
from tilewright.model.energy import element_bits
from tilewright.workload.layer import Layer, Tensor

HEURISTICS = ("1", "2", "3", "4")
# how the paper adds its heuristics up; OPT4 is about orderings and prunes no tilings
PRUNED = {"all": (), "OPT1": ("1",), "OPT1+2": ("1", "2"), "OPT1+2+3": ("1", "2", "3")}


@dataclass(frozen=True)
class Pruning:
    """Heuristics that leave out tilings and orderings.

    Attributes
    ----------
    opt : sequence of str
        ``"1"`` only tilings that use most of the elements, registers and buffer; ``"2"`` no loops
        over filter dimensions in the outermost memory, which would move data that is not
        contiguous; ``"3"`` no spatial reduction; ``"4"`` only orderings with the most reuse of
        some tensor.
    elements, registers, buffer : float
        Shares that heuristic 1 asks for; those of the paper's section 6.3 by default.
    """

    opt: Sequence[str] = HEURISTICS
    elements: float = 0.8
    registers: float = 0.8
    buffer: float = 0.5

    def check_options(self, key: str) -> None:
        """Refuse heuristics that there are not, and shares that are none."""
        for name in self.opt:
            if name not in HEURISTICS:
                raise InputError(
                    f"dmazerunner has no heuristic '{name}'; accepted: {', '.join(HEURISTICS)}",
                    key=key,
                )
        for share in (self.elements, self.registers, self.buffer):
            if not 0 <= share <= 1:
                raise InputError(
                    "elements, registers and buffer of dmazerunner are shares from 0 to 1; "
                    f"found {share:g}",
                    key=key,
                )


@dataclass(frozen=True)
class Space:
    """All tilings of a layer on a machine that fit and that heuristics leave."""

    layer: Layer
    machine: Architecture
    pruning: Pruning = Pruning(())

    @cached_property
    def tiles(self) -> Lattice:
        """The tile shapes."""
        return lattice(self.layer)

    @cached_property
    def shapes(self) -> Ints:
        """Extents of every shape."""
        tiles = self.tiles
        return np.take_along_axis(tiles.values, tiles.digits.T, axis=1).T

    @cached_property
    def extents(self) -> dict[str, Ints]:
        """Extents of every dimension in every shape."""
        ones = np.ones(len(self.shapes), np.int64)
        position = {d: i for i, d in enumerate(self.tiles.dimensions)}
        return {
            d: self.shapes[:, position[d]] if d in position else ones for d in self.layer.dimensions
        }

    @cached_property
    def words(self) -> Ints:
        """Elements of every tensor's tile of every shape."""
        shapes = len(self.shapes)
        return np.array(
            [np.broadcast_to(tile_words(t, self.extents), shapes) for t in self.layer.tensors],
            np.int64,
        )

    @cached_property
    def registers(self) -> Bools:
        """Which shapes are register tiles."""
        share, fits = self.occupied(levels_of(self.machine)[3])
        return fits & (share >= self.pruning.registers) if "1" in self.pruning.opt else fits

    @cached_property
    def buffer(self) -> Bools:
        """Which shapes are tiles of the buffer."""
        share, fits = self.occupied(levels_of(self.machine)[1])
        if "1" in self.pruning.opt:
            fits &= share >= self.pruning.buffer
        if "2" in self.pruning.opt:
            bounds = self.shapes[self.tiles.top]
            fits &= (self.shapes[:, self.filters] == bounds[self.filters]).all(axis=1)
        return fits

    @cached_property
    def spatial(self) -> Ints:
        """Shapes that the array can spread a tile by, those with the most elements first.

        As in the paper only the number of elements counts, not the axes.
        """
        used = self.shapes.prod(axis=1)
        (found,) = np.nonzero(self.spreads(self.shapes))
        return np.asarray(found[np.argsort(-used[found], kind="stable")], np.int64)

    def spreads(self, factors: Ints) -> Bools:
        """Return which rows of spatial factors the array and the heuristics allow."""
        elements = levels_of(self.machine)[2].elements
        used = factors.prod(axis=1)
        fits = used <= elements
        if "1" in self.pruning.opt:
            fits &= used >= self.pruning.elements * elements
        if "3" in self.pruning.opt:
            fits &= (factors[:, self.reduced] == 1).all(axis=1)
        return np.asarray(fits, np.bool_)

    @cached_property
    def reduced(self) -> list[int]:
        """Positions of the dimensions that are summed over."""
        output = self.layer.output.dimensions
        return [i for i, d in enumerate(self.tiles.dimensions) if d not in output]

    @cached_property
    def filters(self) -> list[int]:
        """Positions of the dimensions of a filter: summed over, and in a window with others."""
        windows = {
            term.dimension
            for tensor in self.layer.tensors
            for terms in tensor.expressions
            if len(terms) > 1
            for term in terms
        }
        return [i for i in self.reduced if self.tiles.dimensions[i] in windows]

    def occupied(self, memory: Memory) -> tuple[Floats, Bools]:
        """Return the share of a memory that each shape takes, and which shapes fit.

        In a memory with banks each tensor takes whole ones (section 5); a double buffered one has
        half of its space for a tile.
        """
        bits = {
            tensor.role: words * element_bits(memory, tensor) * memory.buffering
            for tensor, words in zip(self.layer.tensors, self.words, strict=True)
            if memory.may_store(tensor.role)
        }
        total = np.zeros(len(self.shapes))
        fits = np.ones(len(self.shapes), np.bool_)
        for own in bits.values():
            total += own
        if memory.tensor_bits is not None:
            for role, own in bits.items():
                fits &= own <= memory.tensor_bits[role]
            return total / sum(memory.tensor_bits[role] for role in bits), fits
        if memory.capacity_bits is None:
            return np.zeros(len(total)), fits
        if memory.banks is None:
            return total / memory.capacity_bits, total <= memory.capacity_bits
        banks = np.zeros(len(self.shapes), np.int64)
        for own in bits.values():
            banks -= -own * memory.banks // (memory.capacity_bits * memory.buffering)
        return total / memory.capacity_bits, banks <= memory.banks // memory.buffering

    @cached_property
    def count(self) -> int:
        """Number of tilings: for every spatial choice the register tiles, times what is above.

        The buffer tiles above each shape are counted for all shapes at once, by sums over the
        multiples in one dimension after the other.
        """
        sizes = tuple(self.tiles.sizes.tolist())
        above = self.buffer.astype(np.int64).reshape(sizes)
        for axis, values in enumerate(self.divisors):
            multiple = (values[None, :] % values[:, None] == 0).astype(np.int64)
            above = np.moveaxis(np.tensordot(multiple, above, (1, axis)), 0, axis)
        registers = self.registers.reshape(sizes)
        total = 0
        for factors in self.shapes[self.spatial].tolist():
            inner, array = [], []
            for values, factor in zip(self.divisors, factors, strict=True):
                (digits,) = np.nonzero(values[-1] % (values * factor) == 0)
                inner.append(digits)
                array.append(np.searchsorted(values, values[digits] * factor))
            if factors:
                total += int((registers[np.ix_(*inner)] * above[np.ix_(*array)]).sum())
            else:
                total += int(registers * above)
        return total

    @cached_property
    def divisors(self) -> list[Ints]:
        """Divisors of every dimension that loops, ascending."""
        tiles = self.tiles
        return [row[:size] for row, size in zip(tiles.values, tiles.sizes, strict=True)]


def stored(memory: Memory, layer: Layer) -> tuple[Tensor, ...]:
    """Return the tensors that a memory stores: all that it may."""
    return tuple(tensor for tensor in layer.tensors if memory.may_store(tensor.role))
