"""What a dive for some good mapping follows: the most promising labels alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel
from tilewright.mapper.label.labels import DEAD, LEAST_CYCLES, LEAST_ENERGY, NEXT, objective_value

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints


@leaf
def leave_best(it: Ints, fl: Floats, head: int, goal: Floats) -> float:
    """Mark all labels of a list as dead but the one of the least bound; return that bound."""
    least = np.inf
    chosen = -1
    i = head
    while i >= 0:
        if it[i, DEAD] == 0:
            value, _ = objective_value(goal, fl[i, LEAST_ENERGY], fl[i, LEAST_CYCLES])
            if value < least:
                least, chosen = value, i
        i = it[i, NEXT]
    i = head
    while i >= 0:
        if i != chosen:
            it[i, DEAD] = 1
        i = it[i, NEXT]
    return least


@leaf_kernel
def leave_best_each(
    it: Ints, fl: Floats, heads: Ints, stage: int, goal: Floats, least: Floats
) -> None:
    """Mark all labels of a stage as dead but one of each shape; fill their bounds."""
    for shape in range(len(heads)):
        least[shape] = leave_best(it, fl, heads[shape, stage], goal)


def narrow(it: Ints, fl: Floats, heads: Ints, full: int, goal: Floats, width: int) -> None:
    """Keep the complete labels of the `width` shapes of the least bounds, for a dive."""
    least = np.empty(len(heads))
    leave_best_each(it, fl, heads, full, goal, least)
    heads[least > np.sort(least)[min(width, len(least)) - 1], full] = -1
