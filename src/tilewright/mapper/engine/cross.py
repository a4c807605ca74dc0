"""The compiled search: labels go through an array in every spatial choice."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.completion import least_words
from tilewright.mapper.bounds.crossing.across_array import may_divide
from tilewright.mapper.engine.expand import is_its_own_mirror, keep
from tilewright.mapper.engine.incumbent import forget_bits, to_beat
from tilewright.mapper.label.charge import Scratch, scratch_for
from tilewright.mapper.label.labels import (
    CROSS,
    DEAD,
    ENERGY,
    LEAST_CYCLES,
    LEAST_ENERGY,
    MOVE,
    PARENT,
    SHAPE,
    SPREAD,
    STAGE,
    bits_column,
    copy_label,
    enter_array,
    entries_column,
    objective_value,
    worse,
)
from tilewright.mapper.label.store import (
    BEFORE,
    CHOICE,
    COUNT,
    CURRENT,
    LEFT,
    ROW_AT,
    Labels,
    has_room,
    is_next_list,
    take_next,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.tables.above_array import Outer
    from tilewright.mapper.engine.best import Best
    from tilewright.mapper.engine.staircase import Staircase
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.segments import Segment
    from tilewright.mapper.problem.space import Space


class BeforeArray(NamedTuple):
    """A label in front of an array.

    Attributes
    ----------
    shape : int
    spread : float
        What its spatial product can become at most, but for the factors of the array.
    bound, inside : float
        pJ at least, without leakage; the latter without what is on its way through the array.
    value, tie : float
        What is to be beaten.
    alone : bool
        Whether of two spatial choices that mirror each other one will do.
    """

    shape: int
    spread: float
    bound: float
    inside: float
    value: float
    tie: float
    alone: bool


@leaf
def in_front(
    sp: Space,
    lk: Links,
    part: Segment,
    row: Ints,
    floats: Floats,
    scratch: Scratch,
    incumbent: Best | Staircase,
) -> BeforeArray:
    """Return a label in front of the array above a segment; fill its least words."""
    array = part.number - 1
    inside = floats[ENERGY]
    for t in range(sp.relevant.shape[0]):
        scratch.words[t] = least_words(sp, row, t)
        inside += lk.rest_base[array, t] + lk.rest_slope[array, t] * scratch.words[t]
    value, tie = to_beat(lk, part, floats, incumbent)
    return BeforeArray(
        shape=row[SHAPE],
        spread=floats[SPREAD] * part.spread_left,
        bound=floats[LEAST_ENERGY] - lk.leakage * floats[LEAST_CYCLES],
        inside=inside,
        value=value,
        tie=tie,
        alone=array == 0 and is_its_own_mirror(sp, row[SHAPE]),
    )


@leaf
def next_choice(
    sp: Space,
    lk: Links,
    part: Segment,
    front: BeforeArray,
    choice: int,
    goal: Floats,
    scratch: Scratch,
) -> int:
    """Return the first spatial choice from one on that may lead to something better, or -1."""
    for c in range(choice, sp.unroll_start[part.number]):
        if not may_divide(sp, front.shape, c):
            continue
        # choices come with the largest product first
        fewest = lk.cycles * sp.operations / (front.spread * sp.unroll_product[c])
        value, tie = objective_value(goal, front.bound + lk.leakage * fewest, fewest)
        if worse(value, tie, front.value, front.tie):
            return -1
        if not lk.matters[c] or (front.alone and sp.mirror_choice[c] < c):
            continue
        # what the words on their way cost, before the label is made
        energy = front.inside + lk.leakage * fewest + on_their_way(sp, lk, c, scratch)
        value, tie = objective_value(goal, energy, fewest)
        if worse(value, tie, front.value, front.tie) or shape_inside(sp, front.shape, c) < 0:
            continue
        return c
    return -1


@leaf
def on_their_way(sp: Space, lk: Links, choice: int, scratch: Scratch) -> float:
    """Return the energy at least of what crosses an array in a spatial choice."""
    energy = lk.besides[choice]
    for t in range(sp.relevant.shape[0]):
        delivered = sp.operations
        if scratch.placed[t] < lk.length[t] - 1:
            delivered = sp.unroll_reuse[choice, t] * scratch.words[t]
        energy += lk.rate[choice, t] * delivered
    return float(energy)


@leaf
def shape_inside(sp: Space, shape: int, choice: int) -> int:
    """Return the shape in each instance of a spatial choice, or -1 when it does not divide."""
    inside = shape
    for d in range(sp.relevant.shape[1]):
        factor = sp.unroll[choice, d]
        if factor > 0:
            digit = sp.digits[shape, d]
            smaller = sp.quotient[d, digit, factor]
            if smaller < 0:
                return -1
            inside -= (digit - smaller) * sp.strides[d]
    return inside


@leaf
def go_through(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    labels: Labels,
    scratch: Scratch,
    incumbent: Best | Staircase,
) -> None:
    """File what the present label becomes below the array above a segment, in the present choice.

    `scratch.words` are its least words, `scratch.placed` the first links of the segment.
    """
    it, fl, array = labels.it, labels.fl, part.number - 1
    n, current, choice = labels.at[COUNT], labels.at[CURRENT], labels.at[CHOICE]
    copy_label(it, fl, current, n)
    it[n, STAGE] = 0
    it[n, PARENT] = current
    it[n, MOVE] = CROSS + choice
    enter_array(sp, it[n], fl[n], array, choice, shape_inside(sp, it[n, SHAPE], choice))
    for t in range(sp.relevant.shape[0]):
        if sp.windows[t] >= 0 and lk.arrays[t, scratch.placed[t], 0] == array:
            fl[n, fl.shape[1] - 1 - sp.windows[t]] = scratch.words[t]
    forget_bits(lk, fl[n], bits_column(lk), entries_column(sp, fl[n]), incumbent)
    keep(sp, lk, outer, part, labels, scratch, incumbent)


@kernel
def cross(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    heads: Ints,
    labels: Labels,
    incumbent: Best | Staircase,
) -> None:
    """Send the complete labels of a segment through the array below it, in every spatial choice.

    The `part` is the segment below the array, where they are filed; `heads` of one stage have the
    labels above it. It stops and goes on as `expand.expand` does.
    """
    cross_on(sp, lk, outer, part, heads, labels, scratch_for(sp), incumbent)


@leaf
def cross_on(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    heads: Ints,
    labels: Labels,
    scratch: Scratch,
    incumbent: Best | Staircase,
) -> None:
    """Send labels until there is no room or they pause."""
    at, it, fl = labels.at, labels.it, labels.fl
    begin, end = sp.unroll_start[part.number - 1], sp.unroll_start[part.number]
    for t in range(len(part.first)):
        scratch.placed[t] = part.first[t]
    while True:
        if at[CHOICE] == BEFORE:
            if at[ROW_AT] < 0:
                if not is_next_list(at, heads):
                    return
                continue
            if it[take_next(at, it), DEAD] == 1:
                continue
            at[LEFT] -= end - begin
            at[CHOICE] = begin
        current = at[CURRENT]
        front = in_front(sp, lk, part, it[current], fl[current], scratch, incumbent)
        choice = at[CHOICE]
        while True:
            choice = next_choice(sp, lk, part, front, choice, incumbent.goal, scratch)
            at[CHOICE] = choice  # -1, or BEFORE, behind the last one
            if choice < 0:
                break
            if not has_room(labels):
                return
            go_through(sp, lk, outer, part, labels, scratch, incumbent)
            choice += 1
