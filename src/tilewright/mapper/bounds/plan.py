"""Bypass choices: their stages, and what is known of each before and between its searches."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import inf, prod

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.bounds.tables.above_array import NOTHING, Outer
from tilewright.mapper.label import labels
from tilewright.mapper.objective.tolerances import TIE, TOLERANCE
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.constraint_arrays import Limits
from tilewright.mapper.problem.link_costs import NOTHING_KNOWN, Links
from tilewright.mapper.problem.segments import Segment
from tilewright.mapper.problem.space import Space
from tilewright.mapper.relaxations.stays.least_cost import Least

CLOSE = 1 + 1e-9
MOST_SLACK = 1e9
ROUGHLY = 1.05  # how far above its first bound a bypass choice gets its first tables


@dataclass
class Plan:
    """One bypass choice, and what is known of it."""

    keep: KeepChoice
    lk: Links
    parts: list[Segment]
    limits: Limits
    bound: tuple[float, float] = (0.0, 0.0)
    outer: Outer = NOTHING
    energy: float = 0.0  # pJ at least, whatever the spatial choices
    cycles: float = 0.0  # at least
    choices: Ints | None = None  # spatial choices of each array that the tables consider
    most: float = -inf  # pJ of the mappings that they consider
    slowest: float = -inf  # cycles of those that the table of a port considers
    emptied: bool = False  # whether they were given up, see `empty_tables`
    part: Ints | None = None  # combinations of spatial choices that it is about; None for all
    combined: bool = False  # whether combinations of spatial choices have bounded it
    combined_below: float = -inf  # value up to which the links know of them
    weighed: bool = False  # whether the bound is at least that of all tile sizes
    known: bool = False  # whether the bound is that of tables
    jointly: bool = False  # whether they bound the tiles of a memory jointly
    slack: float = ROUGHLY
    ceiling: float = 0.0  # value of the mappings that the tables consider
    begun: bool = False  # whether it has been looked at for a first mapping
    labels: int = 0  # of its last search, if that did not end it
    stuck: bool = False  # whether a search a little above its bound takes too much memory

    @property
    def table_bytes(self) -> int:
        """Bytes of its tables."""
        if self.emptied or self.choices is None or self.limits.active:
            return 0
        parts = (self.lk.table, *self.lk.ahead, *self.outer, *self.outer.scarce)
        return sum(each.nbytes for each in parts if isinstance(each, np.ndarray))

    def empty_tables(self) -> None:
        """Give up its tables; before they are asked again, they are filled as they were."""
        if self.choices is None or self.limits.active:
            return  # there are none
        empty = np.empty((len(self.lk.table), 0, 0))
        self.lk = self.lk._replace(table=empty, ahead=NOTHING_KNOWN)
        self.outer, self.emptied = NOTHING, True


def weigh(plan: Plan, goal: Floats, least: Least) -> None:
    """Raise the bound of a bypass choice to that of every regular mapping of all tile sizes."""
    energy, cycles = least.cost(plan.keep)
    values = energy ** goal[0] * cycles ** goal[1]
    values[(energy > goal[4] * CLOSE) | (cycles > goal[5] * CLOSE)] = inf
    plan.bound = max(plan.bound, (float(values.min()) / CLOSE, 0.0))
    plan.weighed = True


def most_energy(plan: Plan, goal: Floats, ceiling: tuple[float, float]) -> float:
    """Return the pJ of the mappings of a bypass choice that matter below a ceiling."""
    first, second = plan.cycles ** float(goal[1]), plan.cycles ** float(goal[3])
    most = float(goal[4])
    if goal[0] > 0:
        most = min(most, (ceiling[0] / first) ** (1 / goal[0])) if first > 0 else most
    elif first >= ceiling[0] * (1 - TIE) and goal[2] > 0 and second > 0:
        # cycles cannot be fewer: only ties matter
        most = min(most, (ceiling[1] / second) ** (1 / goal[2]))
    return most * (1 + TOLERANCE) - plan.lk.leakage * plan.cycles


def most_cycles(plan: Plan, goal: Floats, ceiling: float) -> float:
    """Return the cycles of the mappings of a bypass choice that matter below a ceiling."""
    most = float(goal[5])
    first = plan.energy ** float(goal[0])
    if goal[1] > 0 and first > 0:
        most = min(most, (ceiling / first) ** (1 / goal[1]))
    return most * (1 + TOLERANCE)


def choices_below(plan: Plan, goal: Floats, sp: Space, ceiling: float) -> Ints:
    """Return how many spatial choices of each array can lead to a value up to a ceiling.

    They come with the largest product first; with fewer instances at work a mapping takes more
    cycles, and no less energy than any.
    """
    start, product = sp.unroll_start, sp.unroll_product
    most = [float(product[start[k]]) for k in range(len(start) - 1)]
    # a mapping of the same value may still win the tie
    highest = ceiling * (1 + TIE)

    def least(spread: float) -> float:
        cycles = plan.lk.cycles * sp.operations / spread
        return float(labels.objective_value(goal, plan.energy, cycles)[0])

    counts = []
    for k, (own, end) in enumerate(pairwise(start)):
        spread = product[own:end] * (prod(most) / most[k])
        counts.append(max(1, bisect_right(spread, highest, key=least)))
    return np.array(counts, np.int64)
