"""For which sizes of two memories a label of a frontier can still be completed to a point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel
from tilewright.mapper.bounds.completion import least_ahead, lower_bound
from tilewright.mapper.label.labels import (
    ENERGY,
    LEAST_CYCLES,
    LEAST_ENERGY,
    LOADS,
    STAGE,
    ZERO,
    objective_value,
)
from tilewright.mapper.memory_sizes.points import SECOND, VALUE, Aim, beaten
from tilewright.mapper.objective.tolerances import TIE

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.above_array import Outer
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space


@leaf
def use(aim: Aim, floats: Floats, seg: int, stage: int, which: int) -> float:
    """Return the bits of a varied memory that every completion of a label uses."""
    m = aim.varied[which]
    if m < 0:
        return 0.0
    return float(floats[LOADS + aim.resources + m] + aim.need[seg, stage, which])


@leaf
def least_size(aim: Aim, floats: Floats, seg: int, stage: int, which: int) -> float:
    """Return the least size of a varied memory that a label matters for."""
    return float(max(aim.floor[which], use(aim, floats, seg, stage, which)))


@leaf
def paid_above(sp: Space, lk: Links, floats: Floats, placed: Ints, words: Floats) -> float:
    """Return what `completion.lower_bound` adds to its `least_ahead` above the first array."""
    nt = sp.relevant.shape[0]
    arrays = len(sp.unroll_start) - 1
    paid = floats[ENERGY]
    for t in range(nt):
        last = lk.length[t] - 1
        end = lk.first[1, t] if arrays > 0 else last
        if arrays > 0:
            paid += lk.rest_base[0, t] + lk.rest_slope[0, t] * words[t]
        else:
            paid += lk.energy[t, last, 0] * sp.operations
        if t == nt - 1:
            for k in range(placed[t], end):
                paid -= lk.again[t, k] * floats[ZERO]
            if arrays == 0:
                reads = sp.operations - floats[ZERO]
                if placed[t] == last:
                    reads = max(0.0, reads)
                paid += lk.again[t, last] * reads
    return float(paid)


@leaf
def is_hopeful(
    sp: Space,
    lk: Links,
    outer: Outer,
    aim: Aim,
    row: Ints,
    floats: Floats,
    points: Floats,
    count: int,
    placed: Ints,
    seg: int,
    words: Floats,
) -> bool:
    """Whether a label can be completed to a point for some sizes.

    With less of the memory that `outer` counts it costs more: it has to beat each point with the
    most that is too little for a better one.
    """
    energy, cycles = floats[LEAST_ENERGY], floats[LEAST_CYCLES]
    value, tie = objective_value(aim.goal, energy, cycles)
    first = least_size(aim, floats, seg, row[STAGE], 0)
    second = least_size(aim, floats, seg, row[STAGE], 1)
    if value == np.inf:
        return False
    if seg > 0 or len(outer.row) == 0 or outer.memory != aim.varied[0]:
        return not beaten(points, count, first, second, value, tie)
    most = lk.capacity[outer.memory]
    paid = paid_above(sp, lk, floats, placed, words) + lk.leakage * cycles
    used = floats[LOADS + aim.resources + outer.memory]
    size = most
    for i in range(count):
        if points[i, 1] > second or points[i, 0] > size:
            continue
        if size < most:
            ahead = paid + least_ahead(lk, outer, row, placed, words, size - used)
            value, tie = objective_value(aim.goal, max(energy, ahead), cycles)
        best = points[i, VALUE]
        if value < best * (1 - TIE):
            return True
        if (
            value <= best * (1 + TIE)
            and points[i, 0] >= first
            and points[i, 1] == second
            and tie < points[i, SECOND] * (1 - TIE)
        ):
            return True
        if points[i, 0] <= first:
            return False
        size = points[i, 0] - 1
    ahead = paid + least_ahead(lk, outer, row, placed, words, size - used)
    return bool(ahead < np.inf)


@leaf_kernel
def root_values(
    sp: Space,
    lk: Links,
    outer: Outer,
    aim: Aim,
    row: Ints,
    floats: Floats,
    spread_left: float,
    words: Floats,
    points: Floats,
    count: int,
    values: Floats,
) -> bool:
    """Turn sizes into lower bounds of a bypass choice; return whether it can hold a point.

    The `values` are sizes of the memory that `outer` counts; `words` are for use in between.
    """
    placed = lk.first[0]
    energy, cycles = lower_bound(
        sp, lk, row, floats, aim.resources, 0, placed, spread_left, outer, outer.memory, words
    )
    floats[LEAST_ENERGY], floats[LEAST_CYCLES] = energy, cycles
    hopeful = is_hopeful(sp, lk, outer, aim, row, floats, points, count, placed, 0, words)
    known = len(outer.row) > 0 and outer.memory == aim.varied[0]
    paid = paid_above(sp, lk, floats, placed, words) + lk.leakage * cycles
    for i in range(len(values)):
        own = energy
        if known:
            own = max(own, paid + least_ahead(lk, outer, row, placed, words, values[i]))
        values[i] = objective_value(aim.goal, own, cycles)[0]
    return hopeful
