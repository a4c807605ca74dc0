"""The compiled search: labels go through an array in every spatial choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.across_array import may_divide
from tilewright.mapper.bounds.completion import least_words
from tilewright.mapper.engine.expand import PAUSE, copy_label, is_its_own_mirror, keep, next_shape
from tilewright.mapper.label.charge import Scratch, scratch_for
from tilewright.mapper.label.labels import (
    CROSS,
    DEAD,
    ENERGY,
    LEAST_CYCLES,
    LEAST_ENERGY,
    LOADS,
    MOVE,
    NEXT,
    PARENT,
    SHAPE,
    SPREAD,
    STAGE,
    enter_array,
    objective_value,
    with_room,
    worse,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.above_array import Outer
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space

CHOICES = 64  # that take as long as a label of the walk, about


@kernel
def cross(
    sp: Space,
    lk: Links,
    outer: Outer,
    array: int,
    it: Ints,
    fl: Floats,
    n: int,
    heads: Ints,
    full: int,
    heads_below: Ints,
    buckets: Ints,
    high: int,
    first_below: Ints,
    spread_left: float,
    resources: int,
    memories: int,
    goal: Floats,
    best: Floats,
) -> tuple[Ints, Floats, int, int]:
    """Send the complete labels of a segment through the array below it, in every spatial choice.

    It begins with those of shape `high`, pauses and returns as `expand.expand` does.
    """
    scratch = scratch_for(sp)
    left = CHOICES * PAUSE
    for t in range(len(first_below)):
        scratch.placed[t] = first_below[t]
    end = sp.unroll_start[array + 1]
    shape = next_shape(heads, high)
    while shape >= 0:
        if left < 0:
            return it, fl, n, shape
        i = heads[shape, full]
        while i >= 0:
            choice = sp.unroll_start[array] if it[i, DEAD] == 0 else end
            left -= end - choice
            while choice < end:
                it, fl = with_room(it, fl, n)
                n, choice = send(
                    sp, lk, outer, array, it, fl, n, i, choice, heads_below, buckets, spread_left,
                    resources, memories, goal, best, scratch,
                )  # fmt: skip
            i = it[i, NEXT]
        shape = next_shape(heads, shape - 1)
    return it, fl, n, -1


@leaf
def send(
    sp: Space,
    lk: Links,
    outer: Outer,
    array: int,
    it: Ints,
    fl: Floats,
    n: int,
    i: int,
    begin: int,
    heads_below: Ints,
    buckets: Ints,
    spread_left: float,
    resources: int,
    memories: int,
    goal: Floats,
    best: Floats,
    scratch: Scratch,
) -> tuple[int, int]:
    """Send label i through an array in the spatial choices from `begin` on.

    Returns
    -------
    tuple of int, int
        The number of labels, and the next choice: the tables may have no room for it.
    """
    nt = sp.relevant.shape[0]
    bits_at = LOADS + resources
    end = sp.unroll_start[array + 1]
    shape = it[i, SHAPE]
    cycles = fl[i, LEAST_CYCLES]
    bound = fl[i, LEAST_ENERGY] - lk.leakage * cycles
    inside = fl[i, ENERGY]
    alone = array == 0 and is_its_own_mirror(sp, shape)
    for t in range(nt):
        scratch.words[t] = least_words(sp, it[i], t)
        inside += lk.rest_base[array, t] + lk.rest_slope[array, t] * scratch.words[t]
    for choice in range(begin, end):
        if n == len(it):
            return n, choice
        if not may_divide(sp, shape, choice):
            continue
        # choices come with the largest product first
        spread = fl[i, SPREAD] * sp.unroll_product[choice] * spread_left
        fewest = lk.cycles * sp.operations / spread
        value, tie = objective_value(goal, bound + lk.leakage * fewest, fewest)
        if worse(value, tie, best[0], best[1]):
            return n, end
        if not lk.matters[choice] or (alone and sp.mirror_choice[choice] < choice):
            continue
        # what the words on their way cost, before the label is made
        energy = inside + lk.leakage * fewest + on_their_way(sp, lk, choice, scratch)
        value, tie = objective_value(goal, energy, fewest)
        if worse(value, tie, best[0], best[1]):
            continue
        below = shape_inside(sp, shape, choice)
        if below < 0:
            continue
        pass_array(sp, lk, array, it, fl, n, i, choice, below, bits_at + memories, scratch)
        for m in range(memories):
            fl[n, bits_at + m] = 0.0
        n = keep(
            sp, lk, outer, it, fl, n, heads_below, buckets, resources, memories, goal, best,
            scratch.placed, array + 1, spread_left, 0, scratch.next_words,
        )  # fmt: skip
    return n, end


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
def pass_array(
    sp: Space,
    lk: Links,
    array: int,
    it: Ints,
    fl: Floats,
    n: int,
    i: int,
    choice: int,
    below: int,
    entries: int,
    scratch: Scratch,
) -> None:
    """Make row n what label i becomes below an array.

    `entries` is where those of slides begin; `scratch.words` are the least words of the label.
    """
    copy_label(it, fl, i, n)
    it[n, STAGE] = 0
    it[n, PARENT] = i
    it[n, MOVE] = CROSS + choice
    enter_array(sp, it[n], fl[n], entries, array, choice, below)
    for t in range(sp.relevant.shape[0]):
        if sp.windows[t] >= 0 and lk.arrays[t, scratch.placed[t], 0] == array:
            fl[n, fl.shape[1] - 1 - sp.windows[t]] = scratch.words[t]
