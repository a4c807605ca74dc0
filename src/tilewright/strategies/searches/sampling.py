"""Random sampling, as a random mapper does it: no memory of what was tried."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tilewright.strategies.candidates.structures import random_structure
from tilewright.strategies.candidates.tilings import random_tiles
from tilewright.strategies.steps import Problem, Step, check_rows, tried


@dataclass(frozen=True)
class Random:
    """Random structures, each with random tile sizes.

    Attributes
    ----------
    rows : int
        Tile sizes that are drawn for each structure, which share what is prepared for it.
    """

    rows: int = 1000

    def check(self, problem: Problem) -> None:
        """Accept every problem."""
        check_rows(self.rows)

    def steps(self, problem: Problem, seed: int) -> Iterator[Step]:
        """Yield a step for each structure, without end."""
        layer, architecture = problem.layer, problem.architecture
        rng = np.random.default_rng(seed)
        while True:
            structure = random_structure(layer, architecture, rng)
            tiles = random_tiles(layer, architecture, structure, self.rows, rng)
            yield tried(problem, structure, tiles)
