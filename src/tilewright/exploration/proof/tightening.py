"""Searches on the idealised machine of a box, whose optima raise the bounds of all boxes in it.

With higher energies, every mapping costs at least the optimum of the idealised machine and what its
words cost more, see `least_costs.least_costs`. So bounds of a box and its parts are near the optima
however far the bound without a search is below them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.exploration.bounds.quick import QuickBounds, Solved
from tilewright.exploration.bounds.totals import Corners
from tilewright.exploration.designs.numbers import Row
from tilewright.exploration.metrics import MAPPED
from tilewright.exploration.proof.problem import Problem
from tilewright.exploration.proof.solver import Solver
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
        # bounds of cycles are close, and the least energy holds whatever arrays and bandwidths are
        self.asked_for = "energy" if problem.objective == "edp" else problem.objective
        self._weights = np.array([layer.repeat for layer in problem.runs])
        # searches of the others add little to bounds
        self._bounded = np.array(quick.bounded) & ~np.array(quick.close)
        # by how much optima were above their bounds, and how often that was asked: of layers of
        # which nothing was known, and of those known on a better machine
        self._asked = np.full((2, len(problem.runs)), BEFORE)
        self._above = self._asked * FIRST_GAPS * ~np.array(quick.close)

    def learn(self, layer: int, floor: float, value: float, solved: Known) -> None:
        """Take over how far a bound is raised by a search."""
        known = int(solved[layer] is not None)
        if floor > 0.0:
            self._above[known, layer] += value / floor - 1.0
        self._asked[known, layer] += 1

    def expected(self, floors: Floats, solved: Known) -> Floats:
        """Return bounds as high as optima were on average."""
        found = floors.copy()
        found[:, self._own] *= 1.0 + self._gaps(solved) * self._bounded
        return found

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
        order = []
        for i in self.promising(floors, solved):
            known = solved[i]
            again = known is not None and known.row.alike(row)
            if self._bounded[i] and gaps[i] > WORTH and not again:
                order.append(i)
        for n, i in enumerate(order):
            if n % self._solver.workers == 0:
                some = [problem.runs[j] for j in order[n : n + self._solver.workers]]
                self._solver.ahead(some, machine, self.asked_for)
            answer = self._solver.layer(problem.runs[i], machine, self.asked_for)
            if answer is None:
                floors[i] = np.inf
                break
            least = self._least(answer)
            found[i] = Solved(row, least)
            before = float(floors[i, own])
            floors[i] = np.maximum(floors[i], least * (1.0, 1 / row.clock_hz, 1 / row.clock_hz))
            floors[i, 2] = max(floors[i, 2], floors[i, 0] * floors[i, 1])
            self.learn(i, before, float(floors[i, own]), solved)
            if corners is not None:
                corners.raise_to(i, floors[i])
            if closes(floors, corners):
                break
        return tuple(found)

    def optima(
        self, row: Row, floors: Floats, answers: Mapping[int, tuple[float, float]], solved: Known
    ) -> Known:
        """Return what optima of a design tell of those that differ from it in bandwidths alone.

        Parameters
        ----------
        row : Row
            The numbers of the design, which is at least as good as the others.
        floors : array of (layers, 3)
            Least energy (pJ), time (s) and product of each layer on it.
        answers : mapping of int to (float, float)
            Energy (pJ) and cycles of each layer.
        solved : tuple of Solved or None
        """
        found = list(solved)
        for i, (energy, cycles) in answers.items():
            if not self._bounded[i]:
                continue
            least = np.array([floors[i, 0], 0.0, 0.0])
            value = (energy, cycles, energy * cycles)[self._own] * (1 - CLOSE)
            least[self._own] = max(least[self._own], value)
            found[i] = Solved(row, least)
        return tuple(found)

    def _least(self, answer: tuple[float, float]) -> Floats:
        """Return what all mappings have at least where an optimum has this energy and cycles."""
        own = MAPPED.index(self.asked_for)
        least = np.zeros(3)
        least[own] = (answer[0], answer[1], answer[0] * answer[1])[own] * (1 - CLOSE)
        return least

    def _gaps(self, solved: Known) -> Floats:
        known = np.array([int(each is not None) for each in solved])
        every = np.arange(len(known))
        gaps: Floats = self._above[known, every] / self._asked[known, every]
        return gaps
