"""Where constraints let the walk place store nodes and loops.

The column BLOCK of a label tells what the loops of the open block have been: bit 0 is set when the
last one may not be the innermost, bit i + 1 when there is one on dimension i and some other has to
stand above it. A label with fewer bits can be completed in every way in which one with more can.

These functions are called only where there are limits: their many arrays would slow every call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.kernels.kernel import leaf

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.constraint_arrays import Limits
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.segments import Segment
    from tilewright.mapper.problem.space import Space


@leaf
def may_swap(lm: Limits, seg: int, t: int, link: int, d: int) -> bool:
    """Whether an irrelevant loop on d right above a store node could as well stand inside it."""
    return not (lm.fixed[seg] or lm.bound_to[t, link, d])


@leaf
def may_pass(lm: Limits, seg: int) -> bool:
    """Whether a loop right below the array above a segment could as well stand above it."""
    return not lm.below[seg]


@leaf
def stands_above(lm: Limits, seg: int, spread: float) -> bool:
    """Whether loops right below the array above a segment have to stand above it, for it is idle.

    Nothing stands between then, and they are of the block that is open there. `spread` is the
    product of the factors of the array.
    """
    return lm.below[seg] and spread == 1.0


@leaf
def may_hold(
    lm: Limits, seg: int, following: int, t: int, link: int, shape: int, memory: int, used: float
) -> bool:
    """Whether a memory may hold a tile of a shape, and so be used by so many bits in the end."""
    if not lm.tile[t, link, shape]:
        return False
    return not lm.whole[seg, following, memory] or used >= lm.least[memory]


@leaf
def may_leave(lm: Limits, seg: int, stage: int, following: int, block: int) -> bool:
    """Whether the open block, should a store node end it, may end."""
    return block & 1 == 0 or lm.block[seg, stage] == lm.block[seg, following]


@leaf
def block_after_place(lm: Limits, seg: int, stage: int, following: int, block: int) -> int:
    """Return the column BLOCK of a label below a store node."""
    if lm.block[seg, stage] == lm.block[seg, following]:
        return block
    return 0


@leaf
def may_loop(lm: Limits, seg: int, stage: int, d: int, block: int) -> bool:
    """Whether a loop on d may stand here."""
    memory = lm.block[seg, stage]
    if memory >= 0 and (block >> 1) & lm.after[memory, d] != 0:
        return False
    return bool(lm.loops[seg, stage])


@leaf
def block_after_loop(lm: Limits, seg: int, stage: int, d: int, block: int) -> int:
    """Return the column BLOCK of a label inside a loop on d."""
    if lm.block[seg, stage] < 0:
        return block
    memory = lm.block[seg, stage]
    seen = int(block >> 1 | (1 << d & lm.listed[memory]))
    return seen << 1 | (0 if lm.ends[memory, d] else 1)


@leaf
def can_fill(
    sp: Space,
    lk: Links,
    lm: Limits,
    part: Segment,
    stage: int,
    shape: int,
    placed: Ints,
    used: Floats,
) -> bool:
    """Whether tiles no larger than a shape can fill each memory as far as they have to.

    `used` begins with the bits that the memories of the segment hold so far.
    """
    slots = part.place_memory
    for m in range(len(lm.least)):
        if lm.least[m] == 0.0 or slots[m] < 0 or lm.whole[part.number, stage, m]:
            continue
        most = used[slots[m]]
        for t in range(len(placed)):
            for link in range(placed[t], lk.length[t] - 1):
                if lk.memory[t, link] == m:
                    most += lk.bits[t, link] * sp.words[t, shape]
        if most < lm.least[m]:
            return False
    return True


@leaf
def as_free(block_a: int, block_b: int) -> bool:
    """Whether the loops so far leave label a every way to go on that they leave label b."""
    return block_a & ~block_b == 0
