"""The compiled search of a frontier: one walk of the tile lattice for all sizes of two memories.

A label is that of `walk`, but counts the bits that it uses of each memory to the end of the walk.
It is superfluous when at every size that it can still be completed for some point is as good as its
lower bound. Which loop or store node may come next is decided in `engine.expand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.completion import fewest_cycles, lower_energy
from tilewright.mapper.engine.expand import copy_label, loop, place
from tilewright.mapper.label.charge import Scratch, charge, scratch_for
from tilewright.mapper.label.dominance import insert
from tilewright.mapper.label.labels import (
    DEAD,
    ENERGY,
    ENTRIES,
    LEAST_CYCLES,
    LEAST_ENERGY,
    LOADS,
    NEXT,
    OPEN,
    PARENT,
    SHAPE,
    SPREAD,
    STAGE,
    objective_value,
    window_column,
    with_room,
)
from tilewright.mapper.memory_sizes.completion_sizes import can_be_completed
from tilewright.mapper.memory_sizes.label_sizes import is_hopeful, use
from tilewright.mapper.memory_sizes.points import Aim, add_point, beaten, with_place
from tilewright.mapper.memory_sizes.segment_walk import SegmentWalk
from tilewright.mapper.objective.tolerances import TIE

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.space import Space


@leaf
def forget(sp: Space, aim: Aim, row: Ints, floats: Floats, seg: int) -> None:
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
        at = LOADS + aim.resources + aim.memories + ENTRIES * w
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
def file(
    walk: SegmentWalk,
    it: Ints,
    fl: Floats,
    n: int,
    points: Floats,
    count: int,
    placed: Ints,
    words: Floats,
) -> int:
    """File row n unless the points or another label make it superfluous."""
    sp, lk, outer, below, aim, seg = walk.sp, walk.lk, walk.outer, walk.below, walk.aim, walk.seg
    forget(sp, aim, it[n], fl[n], seg)
    if (
        seg > 0
        and len(below.row) > 0
        and not can_be_completed(
            sp, lk, below, aim, it[n], fl[n], points, count, placed,
            max(aim.floor[0], use(aim, fl[n], seg, it[n, STAGE], 0)), aim.floor[1],
        )
    ):  # fmt: skip
        return n
    energy = lower_energy(
        sp, lk, it[n], fl[n], aim.resources, seg, placed, outer, outer.memory, words
    )
    cycles = fewest_cycles(sp, lk, it[n], fl[n], aim.limits, seg, placed, walk.spread_left)
    fl[n, LEAST_CYCLES] = max(cycles, fl[n, LEAST_CYCLES])
    fl[n, LEAST_ENERGY] = max(energy + lk.leakage * cycles, fl[n, LEAST_ENERGY])
    if not is_hopeful(sp, lk, outer, aim, it[n], fl[n], points, count, placed, seg, words):
        return n
    return insert(
        sp, lk, it, fl, n, walk.heads, walk.buckets, aim.resources, aim.memories, aim.goal, placed,
        seg,
    )  # fmt: skip


@kernel
def expand_all(
    walk: SegmentWalk,
    last_segment: bool,
    it: Ints,
    fl: Floats,
    n: int,
    high: int,
    low: int,
    points: Floats,
    count: int,
) -> tuple[Ints, Floats, int, Floats, int]:
    """Walk the shapes of one segment from `high` down to `low`, placing its store nodes."""
    stages = walk.stage_count.shape[0]
    scratch = scratch_for(walk.sp)
    for shape in range(high, low - 1, -1):
        for stage in range(stages):
            i = walk.heads[shape, stage]
            while i >= 0:
                current = i
                i = it[i, NEXT]
                if it[current, DEAD] == 1:
                    continue
                it, fl = with_room(it, fl, n)
                points = with_place(points, count)
                for t in range(len(walk.first)):
                    scratch.placed[t] = walk.first[t] + walk.stage_count[stage, t]
                if last_segment and stage == stages - 1:
                    n, count = complete(walk, it, fl, n, current, points, count, scratch)
                else:
                    n = grow(walk, it, fl, n, current, points, count, scratch)
    return it, fl, n, points, count


@leaf
def grow(
    walk: SegmentWalk,
    it: Ints,
    fl: Floats,
    n: int,
    current: int,
    points: Floats,
    count: int,
    scratch: Scratch,
) -> int:
    """File what a label becomes with one more store node, or one more loop."""
    sp, lk, aim, seg = walk.sp, walk.lk, walk.aim, walk.seg
    nt = sp.relevant.shape[0]
    bits_at = LOADS + aim.resources
    placed = scratch.placed
    for action in range(nt + len(sp.moves)):
        if action < nt:
            t = action
            if not place(
                sp, lk, None, seg, aim.slots, walk.stage_next, it, fl, n, current, t, placed[t],
                bits_at,
            ):  # fmt: skip
                continue
            charge(sp, lk, it[n], fl[n], aim.resources, aim.memories, t, placed[t], seg, scratch)
            placed[t] += 1
        elif not loop(sp, None, seg, it, fl, n, current, action - nt, bits_at + aim.memories):
            continue
        it[n, PARENT] = current
        n = file(walk, it, fl, n, points, count, placed, scratch.words)
        if action < nt:
            placed[action] -= 1
    return n


@leaf
def complete(
    walk: SegmentWalk,
    it: Ints,
    fl: Floats,
    n: int,
    current: int,
    points: Floats,
    count: int,
    scratch: Scratch,
) -> tuple[int, int]:
    """Charge what the compute unit costs a complete label, and file it as a point if it is one."""
    sp, lk, aim, seg = walk.sp, walk.lk, walk.aim, walk.seg
    copy_label(it, fl, current, n)
    for t in range(sp.relevant.shape[0]):
        charge(sp, lk, it[n], fl[n], aim.resources, aim.memories, t, lk.length[t] - 1, seg, scratch)
    cycles = np.ceil(lk.cycles * (sp.operations / fl[n, SPREAD]) * (1 - TIE))
    for r in range(aim.resources):
        cycles = max(cycles, fl[n, LOADS + r])
    fl[n, ENERGY] += lk.leakage * cycles
    value, tie = objective_value(aim.goal, fl[n, ENERGY], cycles)
    stage = it[n, STAGE]
    first, second = use(aim, fl[n], seg, stage, 0), use(aim, fl[n], seg, stage, 1)
    if not value < np.inf or beaten(points, count, first, second, value, tie):
        return n, count
    it[n, PARENT] = current
    return n + 1, add_point(points, count, first, second, value, tie, n)
