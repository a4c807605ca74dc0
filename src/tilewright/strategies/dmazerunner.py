"""Enumeration as in dMazeRunner: S. Dave et al., ACM TECS 18(5s), 2019, section 4.2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.architecture.machine import Array, Memory
from tilewright.errors import InputError
from tilewright.model.types import Bools, Ints
from tilewright.strategies.even import Nest, Tilings, joined
from tilewright.strategies.orderings import useful_orderings
from tilewright.strategies.steps import Problem, Step, tried

HEURISTICS = ("1", "2", "3", "4")
FEWEST_ROWS, MOST_ROWS = 1 << 10, 1 << 14  # tilings that are evaluated together


@dataclass(frozen=True)
class DMazeRunner:
    """All valid tilings with all loop orderings of unique reuse, in a fixed order.

    A tiling gives every dimension its chunks in the outermost memory, in the buffer, on the array
    and in the registers. All tensors have one tile in a memory, at one depth of the nest.

    Attributes
    ----------
    opt : sequence of str
        Heuristics that prune the space: ``"1"`` only tilings that use most of the elements,
        registers and buffer; ``"2"`` no loops over filter dimensions in the outermost memory, which
        would move data that is not contiguous; ``"3"`` no spatial reduction; ``"4"`` only orderings
        with the most reuse of some tensor. None: the whole space.
    elements, registers, buffer : float
        Shares that heuristic 1 asks for; those of the paper's section 6.3 by default.
    """

    opt: Sequence[str] = HEURISTICS
    elements: float = 0.8
    registers: float = 0.8
    buffer: float = 0.5

    def check(self, problem: Problem) -> None:
        """Refuse a machine without three memories and an array between the inner two."""
        for name in self.opt:
            if name not in HEURISTICS:
                raise InputError(
                    f"dmazerunner has no heuristic '{name}'; accepted: {', '.join(HEURISTICS)}",
                    key="strategy",
                )
        for share in (self.elements, self.registers, self.buffer):
            if not 0 <= share <= 1:
                raise InputError(
                    "elements, registers and buffer of dmazerunner are shares from 0 to 1; "
                    f"found {share:g}",
                    key="strategy",
                )
        machine = problem.architecture
        kinds = [type(level) for level in machine.levels[:-1]]
        if kinds != [Memory, Memory, Array, Memory]:
            chain = " > ".join(level.name for level in machine.levels)
            raise InputError(
                "dmazerunner covers machines of two memories, an array and a third memory above "
                f"the compute unit; '{machine.name}' is {chain}",
                key="strategy",
            )

    def steps(self, problem: Problem, seed: int) -> Iterator[Step]:
        """Yield a step for each pair of orderings and some thousand tilings; no seed matters."""
        self.check(problem)
        nest = Nest(problem.layer, problem.architecture)
        parts: list[Tilings] = []
        waiting, limit = 0, FEWEST_ROWS
        for part in self.tilings(nest):
            yield Step()  # whoever watches the time is asked often
            parts.append(part)
            waiting += len(part.outer)
            if waiting >= limit:
                yield from self.evaluated(problem, nest, joined(parts))
                parts, waiting, limit = [], 0, min(2 * limit, MOST_ROWS)
        if parts:
            yield from self.evaluated(problem, nest, joined(parts))

    def tilings(self, nest: Nest) -> Iterator[Tilings]:
        """Yield the valid tilings, those of one spatial choice and register tile at a time."""
        tiles, shapes = nest.tiles, nest.shapes
        bounds = shapes[tiles.top]
        registers, buffer = (nest.occupied(i) for i in (2, 1))
        registers_fit, buffer_fit = registers <= 1.0, buffer <= 1.0
        if "1" in self.opt:
            registers_fit &= registers >= self.registers
            buffer_fit &= buffer >= self.buffer
        if "2" in self.opt:
            buffer_fit &= (shapes[:, nest.filters] == bounds[nest.filters]).all(axis=1)
        inner, outer = shapes[registers_fit], shapes[buffer_fit]
        for choice, factors in enumerate(nest.spatial_factors):
            used = factors.prod() / nest.array.elements
            if "1" in self.opt and used < self.elements:
                continue
            if "3" in self.opt and (factors[nest.reduced] > 1).any():
                continue
            middle = inner * factors
            for row in middle[(bounds % middle == 0).all(axis=1)]:
                above = outer[(outer % row == 0).all(axis=1)]
                spatial = np.full(len(above), choice)
                yield Tilings(above, np.broadcast_to(row, above.shape), spatial)

    def evaluated(self, problem: Problem, nest: Nest, tilings: Tilings) -> Iterator[Step]:
        """Yield a step for each pair of orderings that makes a difference to some tilings."""
        bounds = nest.shapes[nest.tiles.top]
        outer = self.orderings(nest, bounds // tilings.outer)
        inner = self.orderings(nest, tilings.outer // tilings.inner)
        for i in range(outer.shape[1]):
            for j in range(inner.shape[1]):
                rows = np.flatnonzero(outer[:, i] & inner[:, j])
                if len(rows):
                    yield tried(problem, *nest.mappings(i, j, tilings.take(rows)))

    def orderings(self, nest: Nest, chunks: Ints) -> Bools:
        """Return which of the unique orderings to try for each row of chunks."""
        names = np.array(nest.tiles.dimensions)
        patterns, which = np.unique(chunks > 1, axis=0, return_inverse=True)
        wanted = np.zeros((len(patterns), len(nest.orderings)), np.bool_)
        for k, pattern in enumerate(patterns):
            looping = frozenset(names[pattern].tolist())
            wanted[k, list(useful_orderings(nest.layer, looping, "4" in self.opt))] = True
        return np.asarray(wanted[which.reshape(-1)], np.bool_)
