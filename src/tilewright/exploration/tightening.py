"""Searches on the idealised machine of a box, whose optima raise the bounds of all boxes in it.

With higher energies, every mapping costs at least the optimum of the idealised machine and what its
words cost more, see `least_costs.least_costs`. So bounds of a box and its parts are near the optima
however far the bound without a search is below them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.exploration.metrics import MAPPED
from tilewright.exploration.numbers import Row
from tilewright.exploration.problem import Problem
from tilewright.exploration.quick import QuickBounds, Solved
from tilewright.exploration.solver import Solver
from tilewright.exploration.totals import Corners, Runs
from tilewright.kernels.types import Floats

# How far optima are above their bounds as long as little is known, and as how many that counts
FIRST_GAPS = ((0.1,), (0.02,))
BEFORE = 0.5
CLOSE = 1e-9
WORTH = 0.003  # a gap that is expected to be smaller is not worth a search

Known = tuple[Solved | None, ...]
"""What is known of each layer on a machine that is at least as good as all of a box."""


class Tightening:
    """Which layers are searched on idealised machines, and what that has told so far.

    Parameters
    ----------
    problem : Problem
    quick : QuickBounds
    solver : Solver
    """

    def __init__(self, problem: Problem, quick: QuickBounds, solver: Solver) -> None:
        self._problem, self._solver = problem, solver
        self._own = MAPPED.index(problem.objective)
        self._weights = np.array([layer.repeat for layer in problem.runs])
        self._bounded = quick.bounded
        # by how much optima were above their bounds, and how often that was asked: of layers of
        # which nothing was known, and of those known on a better machine
        self._asked = np.full((2, len(problem.runs)), BEFORE)
        self._above = self._asked * FIRST_GAPS

    def learn(self, layer: int, floors: Floats, value: float, solved: Known) -> None:
        """Take over how far an optimum is above its bound."""
        known = int(solved[layer] is not None)
        if floors[layer, self._own] > 0.0:
            self._above[known, layer] += value / floors[layer, self._own] - 1.0
        self._asked[known, layer] += 1

    def expected(self, floors: Floats, solved: Known) -> Floats:
        """Return bounds as high as optima were on average."""
        found = floors.copy()
        found[:, self._own] *= 1.0 + self._gaps(solved)
        return found

    def gain(self, runs: Runs, floors: Floats, solved: Known) -> float:
        """Return the factor by which searches raise a bound, if optima are as high as usual."""
        own = self._problem.objective
        return runs.least(self.expected(floors, solved))[own] / runs.least(floors)[own]

    def promising(self, floors: Floats, solved: Known) -> list[int]:
        """Return the layers, those first whose optima are likely to raise the bound most."""
        power = 0.5 if self._problem.objective == "edp" else 1.0
        gain = self._weights * floors[:, self._own] ** power * self._gaps(solved)
        return [int(i) for i in np.argsort(-gain, kind="stable")]

    def solved(
        self,
        machine: Architecture,
        row: Row,
        floors: Floats,
        corners: Corners | None,
        solved: Known,
        closes: Callable[[Floats, Corners | None], bool],
    ) -> Known:
        """Search layers on the idealised machine of a box, and raise their bounds.

        Parameters
        ----------
        machine : Architecture
            With the numbers of `row`.
        floors : array of (layers, 3)
        corners : Corners or None
            What is known without the searches.
        solved : tuple of Solved or None
        closes : callable
            Whether bounds of layers close the box; asked after each search.

        Returns
        -------
        tuple of Solved or None
        """
        found = list(solved)
        problem, own = self._problem, self._own
        gaps = self._gaps(solved)
        order = [i for i in self.promising(floors, solved) if self._bounded[i] and gaps[i] > WORTH]
        for n, i in enumerate(order):
            if n % self._solver.workers == 0:
                some = [problem.runs[j] for j in order[n : n + self._solver.workers]]
                self._solver.ahead(some, machine, problem.objective)
            answer = self._solver.layer(problem.runs[i], machine, problem.objective)
            if answer is None:
                floors[i] = np.inf
                break
            energy, time = answer[0], answer[1] / row.clock_hz
            exact = (energy, time, energy * time)[own]
            self.learn(i, floors, exact, solved)
            floors[i, own] = max(floors[i, own], exact * (1 - CLOSE))
            if corners is not None:
                corners.raise_to(i, own, floors[i, own])
            least = np.zeros(3)
            least[own] = (energy, answer[1], energy * answer[1])[own] * (1 - CLOSE)
            found[i] = Solved(row, least)
            if closes(floors, corners):
                break
        return tuple(found)

    def _gaps(self, solved: Known) -> Floats:
        known = np.array([int(each is not None) for each in solved])
        every = np.arange(len(known))
        gaps: Floats = self._above[known, every] / self._asked[known, every]
        return gaps
