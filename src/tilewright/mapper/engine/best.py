"""The best mapping so far: what it asks of labels, and what a better mapping does to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf
from tilewright.kernels.record import record
from tilewright.mapper.engine.dive import leave_best
from tilewright.mapper.label.labels import (
    DEAD,
    LEAST_CYCLES,
    LEAST_ENERGY,
    objective_value,
    worse,
)
from tilewright.mapper.label.store import COUNT, SHAPE_AT, STAGE_AT

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.tables.above_array import Outer
    from tilewright.mapper.label.charge import Scratch
    from tilewright.mapper.label.store import Labels
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.segments import Segment
    from tilewright.mapper.problem.space import Space


@record
class Best(NamedTuple):
    """The best mapping so far.

    Attributes
    ----------
    goal : array
        As in `labels.objective_value`.
    found : array of 4
        Its objective and its tie-break, or those of a ceiling; its energy (pJ) and its cycles.
    row : array of 1
        Its label, or -1.
    dive : bool
        Whether to follow only the most promising label of each shape and stage.
    """

    goal: Floats
    found: Floats
    row: Ints
    dive: bool

    def roomier(self) -> Best:
        """Return the same: there is one mapping."""
        return self


@leaf
def has_place(incumbent: Best) -> bool:
    """Whether one more mapping can be taken."""
    return True


@leaf
def look_at(labels: Labels, incumbent: Best) -> None:
    """Leave of the labels that have their turn the most promising one, in a dive."""
    if incumbent.dive:
        at = labels.at
        leave_best(labels.it, labels.fl, labels.heads[at[SHAPE_AT], at[STAGE_AT]], incumbent.goal)


@leaf
def is_superfluous(it: Ints, fl: Floats, current: int, incumbent: Best) -> bool:
    """Whether a label is superfluous, or has become so since it was filed."""
    if it[current, DEAD] == 1:
        return True
    energy, cycles = fl[current, LEAST_ENERGY], fl[current, LEAST_CYCLES]
    value, tie = objective_value(incumbent.goal, energy, cycles)
    return bool(worse(value, tie, incumbent.found[0], incumbent.found[1]))


@leaf
def may_be_bounded(
    sp: Space, lk: Links, part: Segment, row: Ints, floats: Floats, placed: Ints, incumbent: Best
) -> bool:
    """Whether a label is worth a lower bound."""
    return True


@leaf
def is_hopeful(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    row: Ints,
    floats: Floats,
    scratch: Scratch,
    incumbent: Best,
) -> bool:
    """Whether a label with lower bounds may lead to something better."""
    value, tie = objective_value(incumbent.goal, floats[LEAST_ENERGY], floats[LEAST_CYCLES])
    return not worse(value, tie, incumbent.found[0], incumbent.found[1])


@leaf
def to_beat(lk: Links, part: Segment, floats: Floats, incumbent: Best) -> tuple[float, float]:
    """Return the value and the tie-break that a label has to beat."""
    return incumbent.found[0], incumbent.found[1]


@leaf
def forget_bits(lk: Links, floats: Floats, begin: int, end: int, incumbent: Best) -> None:
    """Count the bits of the memories below an array from zero."""
    for q in range(begin, end):
        floats[q] = 0.0


@leaf
def take(
    lk: Links, part: Segment, labels: Labels, energy: float, cycles: float, incumbent: Best
) -> bool:
    """Take the row after the last label, a whole mapping, if it is the best so far."""
    value, tie = objective_value(incumbent.goal, energy, cycles)
    best = incumbent.found
    if worse(value, tie, best[0], best[1]):
        return False
    best[0], best[1] = value, tie
    best[2], best[3] = energy, cycles
    incumbent.row[0] = labels.at[COUNT]
    return True


def best_below(goal: Floats, best: Floats, dive: bool) -> Best:
    """Return an incumbent that is to be better than something known."""
    return Best(goal=goal, found=best, row=np.array([-1], np.int64), dive=dive)
