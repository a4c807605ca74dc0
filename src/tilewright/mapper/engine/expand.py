"""The compiled search: labels walk the tile lattice from the whole nest inward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.completion import lower_bound
from tilewright.mapper.engine.incumbent import (
    has_place,
    is_hopeful,
    is_superfluous,
    look_at,
    may_be_bounded,
    take,
)
from tilewright.mapper.label.charge import Scratch, charge, scratch_for, whole_cost
from tilewright.mapper.label.dominance import insert
from tilewright.mapper.label.labels import (
    AROUND,
    BLOCK,
    ENERGY,
    LAST,
    LEAST_CYCLES,
    LEAST_ENERGY,
    MOVE,
    OPEN,
    PARENT,
    PLACE,
    SHAPE,
    STAGE,
    bits_column,
    copy_label,
    enter_loop,
)
from tilewright.mapper.label.store import (
    COUNT,
    CURRENT,
    LEFT,
    ROW_AT,
    SHAPE_AT,
    STAGE_AT,
    Labels,
    has_room,
    is_next_list,
    take_next,
)
from tilewright.mapper.problem.constraint_rules import (
    block_after_loop,
    block_after_place,
    can_fill,
    may_hold,
    may_leave,
    may_loop,
    may_pass,
    may_swap,
    stands_above,
)

if TYPE_CHECKING:
    from tilewright.mapper.bounds.tables.above_array import Outer
    from tilewright.mapper.engine.best import Best
    from tilewright.mapper.engine.staircase import Staircase
    from tilewright.mapper.problem.constraint_arrays import Limits
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.segments import Segment
    from tilewright.mapper.problem.space import Space


@kernel
def expand(
    sp: Space,
    lk: Links,
    lm: Limits | None,
    outer: Outer,
    part: Segment,
    labels: Labels,
    incumbent: Best | Staircase,
) -> None:
    """Walk the shapes of one segment inward, placing its store nodes.

    A segment is the part of the chain between two arrays. In the last one a complete label is a
    mapping and may improve the incumbent. The walk stops where there is no room for more, and after
    a shape when no labels are left until it pauses; it goes on from there, see `store.Labels.at`.
    Without constraints `lm` is None: Numba then leaves out what asks for them, see `loop`.
    """
    walk_on(sp, lk, lm, outer, part, labels, scratch_for(sp), incumbent)


@leaf
def walk_on(
    sp: Space,
    lk: Links,
    lm: Limits | None,
    outer: Outer,
    part: Segment,
    labels: Labels,
    scratch: Scratch,
    incumbent: Best | Staircase,
) -> None:
    """Expand labels until the walk stops; the kernel itself would count references to arrays."""
    at = labels.at
    while has_room(labels) and has_place(incumbent):
        if at[ROW_AT] < 0:
            if not is_next_list(at, labels.heads):
                return
            look_at(labels, incumbent)
            continue
        current = take_next(at, labels.it)
        at[LEFT] -= 1
        if is_superfluous(labels.it, labels.fl, current, incumbent):
            continue
        stage = at[STAGE_AT]
        for t in range(len(part.first)):
            scratch.placed[t] = part.first[t] + part.stage_count[stage, t]
        if lm is not None and lm.active and not can_fill(
            sp, lk, lm, part, stage, at[SHAPE_AT], scratch.placed,
            labels.fl[current, bits_column(lk) :],
        ):  # fmt: skip
            continue
        grow(sp, lk, lm, outer, part, labels, scratch, incumbent)


@leaf
def grow(
    sp: Space,
    lk: Links,
    lm: Limits | None,
    outer: Outer,
    part: Segment,
    labels: Labels,
    scratch: Scratch,
    incumbent: Best | Staircase,
) -> None:
    """File what the label whose turn it is becomes with one more store node, or one more loop.

    In the last segment, with all store nodes, it becomes what it is with the compute unit instead:
    one place charges links, for that is much code.
    """
    nt = sp.relevant.shape[0]
    it, fl, placed = labels.it, labels.fl, scratch.placed
    final = part.number == len(sp.unroll_start) - 1
    final = final and labels.at[STAGE_AT] == part.stage_count.shape[0] - 1
    current = labels.at[CURRENT]
    if final:
        copy_label(it, fl, current, labels.at[COUNT])
    for action in range(nt if final else nt + len(sp.moves)):
        n = labels.at[COUNT]
        if action < nt:
            if not final and not place(sp, lk, lm, part, labels, action, placed[action]):
                continue
            charge(sp, lk, it[n], fl[n], action, placed[action], part.number, scratch)
            if final:
                continue
            placed[action] += 1
        elif not loop(sp, lm, part.number, labels, action - nt):
            continue
        it[n, PARENT] = current
        keep(sp, lk, outer, part, labels, scratch, incumbent)
        if action < nt:
            placed[action] -= 1
    # below the last store node the compute unit runs what is left: no loops of a block
    ends = True
    if lm is not None and lm.active:
        ends = it[current, BLOCK] & 1 == 0
    if final and ends:
        complete(sp, lk, part, labels, incumbent)


@leaf
def keep(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    labels: Labels,
    scratch: Scratch,
    incumbent: Best | Staircase,
) -> None:
    """File the row after the last label unless its bound or another label makes it superfluous.

    What bounds a label bounds those that follow from it, too.
    """
    n, placed = labels.at[COUNT], scratch.placed
    row, floats = labels.it[n], labels.fl[n]
    if not may_be_bounded(sp, lk, part, row, floats, placed, incumbent):
        return
    energy, cycles = lower_bound(sp, lk, outer, part, row, floats, placed, scratch.next_words)
    floats[LEAST_ENERGY] = max(energy, floats[LEAST_ENERGY])
    floats[LEAST_CYCLES] = max(cycles, floats[LEAST_CYCLES])
    if is_hopeful(sp, lk, outer, part, row, floats, scratch, incumbent):
        insert(sp, lk, labels, incumbent.goal, placed, part.number)


@leaf
def place(
    sp: Space, lk: Links, lm: Limits | None, part: Segment, labels: Labels, t: int, link: int
) -> bool:
    """Make the next row the present label with the next store node of a tensor, but for its cost.

    Without constraints `lm` is None; Numba then leaves out what asks for them, see `loop`.

    Returns
    -------
    bool
        Whether there may be such a node.
    """
    it, fl, n, current = labels.it, labels.fl, labels.at[COUNT], labels.at[CURRENT]
    shape, stage, last = it[current, SHAPE], it[current, STAGE], it[current, LAST]
    following = part.stage_next[stage, t]
    if following < 0:
        return False
    # a loop irrelevant to the tensor could as well stand inside its node
    irrelevant = last >= 0 and not sp.relevant[t, last]
    if lm is None:
        if irrelevant:
            return False
    elif irrelevant and (not lm.active or may_swap(lm, part.number, t, link, last)):
        return False
    bits = sp.words[t, shape] * lk.bits[t, link]
    column = bits_column(lk) + part.place_memory[lk.memory[t, link]]
    used = fl[current, column] + bits
    if bits > lk.share[t, link] or used > lk.capacity[lk.memory[t, link]]:
        return False
    block = it[current, BLOCK]
    if lm is not None and lm.active:
        if not may_leave(lm, part.number, stage, following, block):
            return False
        memory = lk.memory[t, link]
        if not may_hold(lm, part.number, following, t, link, shape, memory, used):
            return False
    copy_label(it, fl, current, n)
    if lm is not None and lm.active:
        it[n, BLOCK] = block_after_place(lm, part.number, stage, following, block)
    it[n, MOVE] = PLACE + t
    it[n, AROUND] += shape
    it[n, STAGE] = following
    fl[n, column] = used
    return True


@leaf
def loop(sp: Space, lm: Limits | None, seg: int, labels: Labels, move: int) -> bool:
    """Make the next row the present label with one more elementary loop, if there may be that loop.

    Without constraints `lm` is None: Numba knows the answer to `lm is None` from its type, and
    compiles no code for the other one.
    """
    it, fl, n, current = labels.it, labels.fl, labels.at[COUNT], labels.at[CURRENT]
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
    enter_loop(sp, it[n], fl[n], move, inside, seg)
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
def complete(
    sp: Space, lk: Links, part: Segment, labels: Labels, incumbent: Best | Staircase
) -> None:
    """Keep the next row, a whole mapping that follows from the present label, if it is better."""
    n = labels.at[COUNT]
    energy, cycles = whole_cost(sp, lk, labels.fl[n])
    labels.fl[n, ENERGY] = energy
    if take(lk, part, labels, energy, cycles, incumbent):
        labels.it[n, PARENT] = labels.at[CURRENT]
        labels.at[COUNT] = n + 1
