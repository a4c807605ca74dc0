"""The compiled search: labels walk the tile lattice from the whole nest inward."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.completion import lower_bound
from tilewright.mapper.engine.dive import leave_best
from tilewright.mapper.label.charge import Scratch, charge, scratch_for
from tilewright.mapper.label.dominance import insert
from tilewright.mapper.label.labels import (
    AROUND,
    BLOCK,
    DEAD,
    ENERGY,
    LAST,
    LEAST_CYCLES,
    LEAST_ENERGY,
    LOADS,
    MOVE,
    NEXT,
    OPEN,
    PARENT,
    PLACE,
    SHAPE,
    SPREAD,
    STAGE,
    enter_loop,
    objective_value,
    with_room,
    worse,
)
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.constraint_rules import (
    block_after_loop,
    block_after_place,
    can_fill,
    may_loop,
    may_pass,
    may_place,
    may_swap,
    stands_above,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.above_array import Outer
    from tilewright.mapper.problem.constraint_arrays import Limits
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space

PAUSE = 1 << 13  # labels after which a kernel returns, so that a search can be stopped


@leaf
def keep(
    sp: Space,
    lk: Links,
    outer: Outer,
    it: Ints,
    fl: Floats,
    n: int,
    heads: Ints,
    buckets: Ints,
    resources: int,
    memories: int,
    goal: Floats,
    best: Floats,
    placed: Ints,
    seg: int,
    spread_left: float,
    slot: int,
    next_words: Floats,
) -> int:
    """File row n unless its bound or another label makes it superfluous; return the labels' number.

    What bounds a label bounds those that follow from it, too.
    """
    energy, cycles = lower_bound(
        sp, lk, it[n], fl[n], resources, seg, placed, spread_left, outer, slot, next_words
    )
    fl[n, LEAST_ENERGY] = max(energy, fl[n, LEAST_ENERGY])
    fl[n, LEAST_CYCLES] = max(cycles, fl[n, LEAST_CYCLES])
    value, tie = objective_value(goal, fl[n, LEAST_ENERGY], fl[n, LEAST_CYCLES])
    if worse(value, tie, best[0], best[1]):
        return n
    return insert(sp, lk, it, fl, n, heads, buckets, resources, memories, goal, placed, seg)


@kernel
def expand(
    sp: Space,
    lk: Links,
    lm: Limits,
    outer: Outer,
    seg: int,
    last_segment: bool,
    place_memory: Ints,
    stage_count: Ints,
    stage_next: Ints,
    first: Ints,
    spread_left: float,
    it: Ints,
    fl: Floats,
    n: int,
    heads: Ints,
    buckets: Ints,
    high: int,
    resources: int,
    memories: int,
    goal: Floats,
    best: Floats,
    best_row: Ints,
    dive: bool,
) -> tuple[Ints, Floats, int, int]:
    """Walk the shapes of one segment from `high` down, placing its store nodes.

    A segment is the part of the chain between two arrays. `best` holds the best objective so far
    and its tie-break; in the last segment a complete label is a mapping and may improve it. A dive
    follows only the most promising label of each shape and stage. After some work it pauses.

    Returns
    -------
    two arrays, int, int
        The labels and their number; and the next shape, -1 at the end.
    """
    stages = stage_count.shape[0]
    scratch = scratch_for(sp)
    left = PAUSE
    shape = next_shape(heads, high)
    while shape >= 0:
        if left < 0:
            return it, fl, n, shape
        for stage in range(stages):
            if dive:
                leave_best(it, fl, heads[shape, stage], goal)
            i = heads[shape, stage]
            while i >= 0:
                current = i
                i = it[i, NEXT]
                left -= 1
                if is_hopeless(it, fl, current, goal, best):
                    continue
                it, fl = with_room(it, fl, n)
                for t in range(len(first)):
                    scratch.placed[t] = first[t] + stage_count[stage, t]
                if lm.active and not can_fill(
                    sp, lk, lm, seg, stage, shape, scratch.placed, place_memory,
                    fl[current, LOADS + resources : LOADS + resources + memories],
                ):  # fmt: skip
                    continue
                final = last_segment and stage == stages - 1
                n = grow(
                    sp, lk, lm, outer, seg, place_memory, stage_next, spread_left, it, fl, n,
                    current, final, heads, buckets, resources, memories, goal, best, scratch,
                )  # fmt: skip
                # below the last store node the compute unit runs what is left: no loops of a block
                if final and (not lm.active or it[current, BLOCK] & 1 == 0):
                    n = complete(sp, lk, it, fl, n, current, resources, goal, best, best_row)
        shape = next_shape(heads, shape - 1)
    return it, fl, n, -1


@leaf
def next_shape(heads: Ints, shape: int) -> int:
    """Return the first shape from one down that has labels, or -1.

    In a kernel that makes arrays to look at one would take ten times as long.
    """
    while shape >= 0:
        for stage in range(heads.shape[1]):
            if heads[shape, stage] >= 0:
                return shape
        shape -= 1
    return shape


@leaf
def is_hopeless(it: Ints, fl: Floats, current: int, goal: Floats, best: Floats) -> bool:
    """Whether a label is superfluous, or has become so since it was filed."""
    if it[current, DEAD] == 1:
        return True
    value, tie = objective_value(goal, fl[current, LEAST_ENERGY], fl[current, LEAST_CYCLES])
    return bool(worse(value, tie, best[0], best[1]))


@leaf
def grow(
    sp: Space,
    lk: Links,
    lm: Limits,
    outer: Outer,
    seg: int,
    place_memory: Ints,
    stage_next: Ints,
    spread_left: float,
    it: Ints,
    fl: Floats,
    n: int,
    current: int,
    final: bool,
    heads: Ints,
    buckets: Ints,
    resources: int,
    memories: int,
    goal: Floats,
    best: Floats,
    scratch: Scratch,
) -> int:
    """File what a label becomes with one more store node, or one more loop.

    With all store nodes, the label is `final`: row n becomes what it is with the compute unit.
    """
    nt = sp.relevant.shape[0]
    placed = scratch.placed
    if final:
        copy_label(it, fl, current, n)
    for action in range(nt if final else nt + len(sp.moves)):
        if action < nt:
            t = action
            if not final and not place(
                sp, lk, lm, seg, place_memory, stage_next, it, fl, n, current, t, placed[t],
                LOADS + resources,
            ):  # fmt: skip
                continue
            charge(sp, lk, it[n], fl[n], resources, memories, t, placed[t], seg, scratch)
            if final:
                continue
            placed[t] += 1
        elif not loop(sp, lm, seg, it, fl, n, current, action - nt, LOADS + resources + memories):
            continue
        it[n, PARENT] = current
        n = keep(
            sp, lk, outer, it, fl, n, heads, buckets, resources, memories, goal, best, placed, seg,
            spread_left, place_memory[outer.memory], scratch.words,
        )  # fmt: skip
        if action < nt:
            placed[action] -= 1
    return n


@leaf
def place(
    sp: Space,
    lk: Links,
    lm: Limits | None,
    seg: int,
    place_memory: Ints,
    stage_next: Ints,
    it: Ints,
    fl: Floats,
    n: int,
    current: int,
    t: int,
    link: int,
    bits_at: int,
) -> bool:
    """Make row n what a label becomes with the next store node of a tensor, but for its cost.

    Without constraints `lm` is None; Numba then leaves out what asks for them, see `loop`.

    Returns
    -------
    bool
        Whether there may be such a node.
    """
    shape, stage, last = it[current, SHAPE], it[current, STAGE], it[current, LAST]
    following = stage_next[stage, t]
    if following < 0:
        return False
    # a loop irrelevant to the tensor could as well stand inside its node
    irrelevant = last >= 0 and not sp.relevant[t, last]
    if lm is None:
        if irrelevant:
            return False
    elif irrelevant and (not lm.active or may_swap(lm, seg, t, link, last)):
        return False
    bits = sp.words[t, shape] * lk.bits[t, link]
    m = place_memory[lk.memory[t, link]]
    used = fl[current, bits_at + m] + bits
    if bits > lk.share[t, link] or used > lk.capacity[lk.memory[t, link]]:
        return False
    block = it[current, BLOCK]
    if (
        lm is not None
        and lm.active
        and not may_place(
            lm, seg, stage, following, t, link, shape, lk.memory[t, link], used, block
        )
    ):
        return False
    copy_label(it, fl, current, n)
    if lm is not None and lm.active:
        it[n, BLOCK] = block_after_place(lm, seg, stage, following, block)
    it[n, MOVE] = PLACE + t
    it[n, AROUND] += shape
    it[n, STAGE] = following
    fl[n, bits_at + m] = used
    return True


@leaf
def loop(
    sp: Space,
    lm: Limits | None,
    seg: int,
    it: Ints,
    fl: Floats,
    n: int,
    current: int,
    move: int,
    loads: int,
) -> bool:
    """Make row n what a label becomes with one more elementary loop, if there may be that loop.

    `loads` is where the entries of slides begin. Without constraints `lm` is None: Numba knows the
    answer to `lm is None` from its type, and compiles no code for the other one.
    """
    shape, stage = it[current, SHAPE], it[current, STAGE]
    d = sp.moves[move, 0]
    if lm is not None and lm.active and not may_loop(lm, seg, stage, d, it[current, BLOCK]):
        return False
    if seg == 0 and sp.side[d] < 0 and is_its_own_mirror(sp, shape):
        return False
    if seg > 0 and it[current, LAST] < 0 and stage == 0:
        # directly below an array only loops that it keeps from moving above it
        choice = it[current, OPEN + len(sp.relevant) + 2 * seg - 1]
        free = sp.unroll[choice, d] == 0
        for w in range(sp.window_of.shape[0]):
            free = free and sp.window_of[w, d] < 0
        if lm is None:
            if free:
                return False
        elif (free and (not lm.active or may_pass(lm, seg))) or (
            lm.active and stands_above(lm, seg, sp.unroll_product[choice])
        ):
            return False
    digit = sp.digits[shape, d]
    smaller = sp.quotient[d, digit, sp.moves[move, 1]]
    if smaller < 0:
        return False
    copy_label(it, fl, current, n)
    if lm is not None and lm.active:
        it[n, BLOCK] = block_after_loop(lm, seg, stage, d, it[n, BLOCK])
    inside = shape - (digit - smaller) * sp.strides[d]
    enter_loop(sp, it[n], fl[n], loads, move, inside, seg)
    return True


@leaf
def is_its_own_mirror(sp: Space, shape: int) -> bool:
    """Whether no loop has yet told dimensions apart that may change places.

    Then one of two mappings may be left out that mirror each other.
    """
    for d in range(len(sp.side)):
        if sp.side[d] != 0 and sp.digits[shape, d] < sp.sizes[d] - 1:
            return False
    return True


@leaf
def copy_label(it: Ints, fl: Floats, source: int, target: int) -> None:
    """Copy a row of both tables; array assignments would compile far more."""
    for k in range(it.shape[1]):
        it[target, k] = it[source, k]
    for k in range(fl.shape[1]):
        fl[target, k] = fl[source, k]


@leaf
def complete(
    sp: Space,
    lk: Links,
    it: Ints,
    fl: Floats,
    n: int,
    current: int,
    resources: int,
    goal: Floats,
    best: Floats,
    best_row: Ints,
) -> int:
    """Keep row n, a whole mapping that follows from a label, if it is the best so far."""
    cycles = np.ceil(lk.cycles * (sp.operations / fl[n, SPREAD]) * (1 - TIE))
    for r in range(resources):
        cycles = max(cycles, fl[n, LOADS + r])
    fl[n, ENERGY] += lk.leakage * cycles
    value, tie = objective_value(goal, fl[n, ENERGY], cycles)
    if worse(value, tie, best[0], best[1]):
        return n
    best[0], best[1] = value, tie
    best[2], best[3] = fl[n, ENERGY], cycles
    it[n, PARENT] = current
    best_row[0] = n
    return n + 1
