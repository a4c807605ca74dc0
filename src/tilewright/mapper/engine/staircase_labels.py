"""What the best value for every pair of sizes asks of labels: see `incumbent`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.completion import least_ahead, lower_bound
from tilewright.mapper.engine.staircase import (
    SECOND,
    VALUE,
    add_point,
    beaten,
    fitting,
    least_size,
    use,
)
from tilewright.mapper.engine.staircase_completion import can_be_completed
from tilewright.mapper.label.charge import scratch_for
from tilewright.mapper.label.labels import (
    DEAD,
    ENERGY,
    ENTRIES,
    LEAST_CYCLES,
    LEAST_ENERGY,
    OPEN,
    SHAPE,
    STAGE,
    ZERO,
    bits_column,
    entries_column,
    objective_value,
    window_column,
)
from tilewright.mapper.label.store import COUNT
from tilewright.mapper.objective.tolerances import TIE

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.tables.above_array import Outer
    from tilewright.mapper.engine.staircase import Staircase
    from tilewright.mapper.label.charge import Scratch
    from tilewright.mapper.label.store import Labels
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.segments import Segment
    from tilewright.mapper.problem.space import Space


@leaf
def look_at(labels: Labels, incumbent: Staircase) -> None:
    """Leave all labels as they are."""


@leaf
def is_superfluous(it: Ints, fl: Floats, current: int, incumbent: Staircase) -> bool:
    """Whether another label makes this one superfluous."""
    return bool(it[current, DEAD] == 1)


@leaf
def to_beat(lk: Links, part: Segment, floats: Floats, incumbent: Staircase) -> tuple[float, float]:
    """Return the value of the point that a label at the first stage of a segment has to beat."""
    first = least_size(lk, part, floats, 0, 0, incumbent)
    second = least_size(lk, part, floats, 0, 1, incumbent)
    best = fitting(incumbent.points, incumbent.number[0], first, second)
    return incumbent.points[best, VALUE] if best >= 0 else np.inf, np.inf


@leaf
def forget_bits(lk: Links, floats: Floats, begin: int, end: int, incumbent: Staircase) -> None:
    """Forget the bits of all memories but those whose sizes vary."""
    for q in range(begin, end):
        if q - begin != incumbent.varied[0] and q - begin != incumbent.varied[1]:
            floats[q] = 0.0


@leaf
def may_be_bounded(
    sp: Space,
    lk: Links,
    part: Segment,
    row: Ints,
    floats: Floats,
    placed: Ints,
    incumbent: Staircase,
) -> bool:
    """Whether a label may be completed to a point as far as what is below the array tells."""
    forget(sp, row, floats, part.number)
    if part.number == 0 or len(incumbent.below.row) == 0:
        return True
    return bool(can_be_completed(sp, lk, part, row, floats, placed, incumbent))


@leaf
def forget(sp: Space, row: Ints, floats: Floats, seg: int) -> None:
    """Drop the loops of a sliding window that cannot bring back a tile any more.

    The step of such a loop would have to make up for what the loops inside it have moved, which
    grows, while the step shrinks with the tile: labels that differ in such loops alone are equal.
    """
    nt = sp.relevant.shape[0]
    arrays = len(sp.unroll_start) - 1
    for t in range(nt):
        w = sp.windows[t]
        if w < 0:
            continue
        column = window_column(nt, arrays, w)
        e = row[column]
        count = row[column + 2]
        at = entries_column(sp, floats) + ENTRIES * w
        kept = 0
        for q in range(count if e >= 0 else 0):
            code, inside = row[column + 3 + 2 * q], row[column + 4 + 2 * q]
            others = step = 0
            for i in range(sp.members.shape[2]):
                d = sp.members[w, e, i]
                if d < 0:
                    break
                moved = sp.values[d, sp.digits[row[SHAPE], d]]
                for k in range(code // 64, seg):
                    factor = sp.values[d, sp.unroll[row[OPEN + nt + 2 * k + 1], d]]
                    moved += (factor - 1) * sp.values[d, sp.digits[row[OPEN + nt + 2 * k], d]]
                if d == code % 64:
                    step = sp.coefs[w, e, i] * moved
                else:
                    others += sp.coefs[w, e, i] * (sp.values[d, sp.digits[inside, d]] - moved)
            if q < count - 1 and others > step:
                continue
            if kept < q:
                row[column + 3 + 2 * kept], row[column + 4 + 2 * kept] = code, inside
                floats[at + kept] = floats[at + q]
            kept += 1
        if e >= 0:
            row[column + 2] = kept


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
    part: Segment,
    row: Ints,
    floats: Floats,
    scratch: Scratch,
    incumbent: Staircase,
) -> bool:
    """Whether a label can be completed to a point for some sizes.

    With less of the memory that `outer` counts it costs more: it has to beat each point with the
    most that is too little for a better one.
    """
    energy, cycles = floats[LEAST_ENERGY], floats[LEAST_CYCLES]
    value, tie = objective_value(incumbent.goal, energy, cycles)
    first = least_size(lk, part, floats, row[STAGE], 0, incumbent)
    second = least_size(lk, part, floats, row[STAGE], 1, incumbent)
    if value == np.inf:
        return False
    if part.number > 0 or not counts_first(outer, incumbent):
        return not beaten(incumbent, first, second, value, tie)
    points, placed, words = incumbent.points, scratch.placed, scratch.next_words
    most = lk.capacity[outer.memory]
    paid = paid_above(sp, lk, floats, placed, words) + lk.leakage * cycles
    used = floats[bits_column(lk) + outer.memory]
    size = most
    for i in range(incumbent.number[0]):
        if points[i, 1] > second or points[i, 0] > size:
            continue
        if size < most:
            ahead = paid + least_ahead(lk, outer, row, placed, words, size - used)
            value, tie = objective_value(incumbent.goal, max(energy, ahead), cycles)
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


@leaf
def counts_first(outer: Outer, incumbent: Staircase) -> bool:
    """Whether bounds above the first array count the bits of the first memory that varies."""
    return bool(len(outer.row) > 0 and outer.memory == incumbent.varied[0])


@leaf
def take(
    lk: Links, part: Segment, labels: Labels, energy: float, cycles: float, incumbent: Staircase
) -> bool:
    """Take the row after the last label, a whole mapping, as a point if it is one."""
    n = labels.at[COUNT]
    row, floats = labels.it[n], labels.fl[n]
    value, tie = objective_value(incumbent.goal, energy, cycles)
    first = use(lk, part, floats, row[STAGE], 0, incumbent)
    second = use(lk, part, floats, row[STAGE], 1, incumbent)
    if not value < np.inf or beaten(incumbent, first, second, value, tie):
        return False
    count = incumbent.number
    count[0] = add_point(incumbent.points, count[0], first, second, value, tie, n)
    return True


@kernel
def root_values(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    row: Ints,
    floats: Floats,
    values: Floats,
    incumbent: Staircase,
) -> bool:
    """Turn sizes into lower bounds of a bypass choice; return whether it can hold a point.

    The `values` are sizes of the memory that `outer` counts; the label is that of the whole nest.
    """
    return bound_sizes(sp, lk, outer, part, row, floats, values, scratch_for(sp), incumbent)


@leaf
def bound_sizes(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    row: Ints,
    floats: Floats,
    values: Floats,
    scratch: Scratch,
    incumbent: Staircase,
) -> bool:
    """Do so with arrays for use in between."""
    placed, words = scratch.placed, scratch.next_words
    for t in range(len(placed)):
        placed[t] = part.first[t]
    energy, cycles = lower_bound(sp, lk, outer, part, row, floats, placed, words)
    floats[LEAST_ENERGY], floats[LEAST_CYCLES] = energy, cycles
    hopeful = is_hopeful(sp, lk, outer, part, row, floats, scratch, incumbent)
    paid = paid_above(sp, lk, floats, placed, words) + lk.leakage * cycles
    for i in range(len(values)):
        own = energy
        if counts_first(outer, incumbent):
            own = max(own, paid + least_ahead(lk, outer, row, placed, words, values[i]))
        values[i] = objective_value(incumbent.goal, own, cycles)[0]
    return hopeful
