"""The compiled search: labels walk the tile lattice from the whole nest inward."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.bounds import lower_bound
from tilewright.mapper.charge import Scratch, charge, scratch_for
from tilewright.mapper.heed import (
    block_after_loop,
    block_after_place,
    can_fill,
    may_loop,
    may_pass,
    may_place,
    may_swap,
)
from tilewright.mapper.labels import (
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
    TIE,
    enter_loop,
    insert,
    objective_value,
    with_room,
    worse,
)
from tilewright.model.kernel import kernel, leaf

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.limits import Limits
    from tilewright.mapper.links import Links
    from tilewright.mapper.outer import Outer
    from tilewright.mapper.problem import Space

PAUSE = 1 << 13  # labels after which a kernel returns, so that a search can be stopped


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


@kernel
def narrow(it: Ints, fl: Floats, heads: Ints, full: int, goal: Floats, width: int) -> None:
    """Keep the complete labels of the `width` shapes of the least bounds, for a dive."""
    shapes = len(heads)
    least = np.full(shapes, np.inf)
    for shape in range(shapes):
        least[shape] = leave_best(it, fl, heads[shape, full], goal)
    limit = np.sort(least)[min(width, shapes) - 1]
    for shape in range(shapes):
        if least[shape] > limit:
            heads[shape, full] = -1


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
                if last_segment and stage == stages - 1:
                    n = complete(
                        sp, lk, it, fl, n, current, resources, memories, goal, best, best_row,
                        seg, scratch,
                    )  # fmt: skip
                else:
                    n = grow(
                        sp, lk, lm, outer, seg, place_memory, stage_next, spread_left, it, fl, n,
                        current, heads, buckets, resources, memories, goal, best, scratch,
                    )  # fmt: skip
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
    heads: Ints,
    buckets: Ints,
    resources: int,
    memories: int,
    goal: Floats,
    best: Floats,
    scratch: Scratch,
) -> int:
    """File what a label becomes with one more store node, or one more loop."""
    nt = sp.relevant.shape[0]
    loads = LOADS + resources + memories
    shape, stage, last = it[current, SHAPE], it[current, STAGE], it[current, LAST]
    placed = scratch.placed
    for action in range(nt + len(sp.moves)):
        if action < nt:
            # a loop irrelevant to the tensor could as well stand inside its node
            t = action
            following = stage_next[stage, t]
            if following < 0:
                continue
            link = placed[t]
            irrelevant = last >= 0 and not sp.relevant[t, last]
            if irrelevant and (not lm.active or may_swap(lm, seg, t, link, last)):
                continue
            bits = sp.words[t, shape] * lk.bits[t, link]
            m = place_memory[lk.memory[t, link]]
            used = fl[current, LOADS + resources + m] + bits
            if bits > lk.share[t, link] or used > lk.capacity[lk.memory[t, link]]:
                continue
            block = it[current, BLOCK]
            if lm.active and not may_place(
                lm, seg, stage, following, t, link, shape, lk.memory[t, link], used, block
            ):
                continue
            copy_label(it, fl, current, n)
            if lm.active:
                it[n, BLOCK] = block_after_place(lm, seg, stage, following, block)
            it[n, MOVE] = PLACE + t
            it[n, STAGE] = following
            fl[n, LOADS + resources + m] = used
            charge(sp, lk, it[n], fl[n], resources, memories, t, link, seg, scratch)
            placed[t] += 1
        else:
            move = action - nt
            d = sp.moves[move, 0]
            if lm.active and not may_loop(lm, seg, stage, d, it[current, BLOCK]):
                continue
            if seg == 0 and sp.side[d] < 0 and is_its_own_mirror(sp, shape):
                continue
            if seg > 0 and last < 0 and stage == 0:
                # directly below an array only loops that it keeps from moving above it
                choice = it[current, OPEN + nt + 2 * seg - 1]
                free = sp.unroll[choice, d] == 0
                for w in range(sp.window_of.shape[0]):
                    free = free and sp.window_of[w, d] < 0
                spread = sp.unroll_product[choice]
                if free and (not lm.active or may_pass(lm, seg, spread)):
                    continue
            digit = sp.digits[shape, d]
            smaller = sp.quotient[d, digit, sp.moves[move, 1]]
            if smaller < 0:
                continue
            copy_label(it, fl, current, n)
            if lm.active:
                it[n, BLOCK] = block_after_loop(lm, seg, stage, d, it[n, BLOCK])
            inside = shape - (digit - smaller) * sp.strides[d]
            enter_loop(sp, it[n], fl[n], loads, move, inside, seg)
        it[n, PARENT] = current
        n = keep(
            sp, lk, outer, it, fl, n, heads, buckets, resources, memories, goal, best, placed, seg,
            spread_left, place_memory[outer.memory], scratch.words,
        )  # fmt: skip
        if action < nt:
            placed[action] -= 1
    return n


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
    memories: int,
    goal: Floats,
    best: Floats,
    best_row: Ints,
    seg: int,
    scratch: Scratch,
) -> int:
    """Charge what the compute unit costs a complete label, and keep it if it is the best so far."""
    nt = sp.relevant.shape[0]
    copy_label(it, fl, current, n)
    for t in range(nt):
        charge(sp, lk, it[n], fl[n], resources, memories, t, lk.length[t] - 1, seg, scratch)
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
