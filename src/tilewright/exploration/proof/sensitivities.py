"""How much the numbers of a machine change what is minimised."""

from __future__ import annotations

from math import log

import numpy as np

from tilewright.exploration.bounds.quick import QuickBounds
from tilewright.exploration.bounds.totals import Runs
from tilewright.exploration.designs.cutting import worse_rows
from tilewright.exploration.designs.numbers import Row
from tilewright.exploration.designs.space import Box
from tilewright.exploration.proof.problem import Problem
from tilewright.kernels.types import Floats

FACTOR = 2.0  # by which a number is worse
MOST = 1.0  # a change counts as, also where nothing fits any more


def sensitivities(problem: Problem, quick: QuickBounds, runs: Runs) -> Floats:
    """Return how much the axes change with each number of the design in the middle of the space.

    Returns
    -------
    array
        Differences of logarithms in the order of `cutting.logarithms`; ones where the design is
        no machine.
    """
    places = [len(parameter.values) // 2 for parameter in problem.space.parameters]
    row = quick.numbers.of(Box(tuple((i, i + 1) for i in places)))
    if row is None:
        return np.ones(1)

    def value(row: Row) -> float:
        least = runs.least(*quick.floors(row, lambda _: False))
        found = [least[axis] for axis in problem.axes if least.get(axis, 0.0) > 0.0]
        return sum(map(log, found))

    own = value(row)
    if not np.isfinite(own):
        return np.ones(1)
    changes = [min(max(value(each) - own, 0.0), MOST) for each in worse_rows(row, FACTOR)]
    changes[-1] += log(FACTOR) * any(axis in problem.axes for axis in ("leakage", "power"))
    return np.array([*changes, log(FACTOR) * ("area" in problem.axes)])
