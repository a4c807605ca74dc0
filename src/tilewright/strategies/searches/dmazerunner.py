"""Enumeration as in dMazeRunner: S. Dave et al., ACM TECS 18(5s), 2019, section 4.2."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.errors import InputError
from tilewright.interop.dmazerunner.method import levels_of
from tilewright.interop.dmazerunner.orderings import useful_orderings
from tilewright.interop.dmazerunner.space import Pruning, Space
from tilewright.kernels.types import Bools, Ints
from tilewright.strategies.candidates.even import Nest, Tilings, joined
from tilewright.strategies.steps import Problem, Step, tried

FEWEST_ROWS, MOST_ROWS = 1 << 10, 1 << 14  # tilings that are evaluated together


@dataclass(frozen=True)
class DMazeRunner(Pruning):
    """All valid tilings with all loop orderings of unique reuse, in a fixed order.

    A tiling gives every dimension its chunks in the outermost memory, in the buffer, on the array
    and in the registers. All tensors have one tile in a memory, at one depth of the nest. The
    options are the heuristics and their shares.
    """

    def check(self, problem: Problem) -> None:
        """Refuse a machine without three memories and an array between the inner two."""
        self.check_options("strategy")
        try:
            levels_of(problem.architecture)
        except InputError as failure:
            raise InputError(failure.message, key="strategy") from None

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
        space = Space(nest.layer, nest.architecture, self)
        shapes = space.shapes
        bounds = shapes[nest.tiles.top]
        inner, outer = shapes[space.registers], shapes[space.buffer]
        for choice in np.flatnonzero(space.spreads(nest.spatial_factors)).tolist():
            middle = inner * nest.spatial_factors[choice]
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
