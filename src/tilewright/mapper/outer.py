"""What is still to come above the first array: exact but for sliding windows, for every capacity.

From a shape and a stage (which tensors have store nodes already) inward, the cheapest way to place
the rest and to go through the array costs no less than the table says. An entry is a step function
of the bits that the memory has left: (bits needed, pJ) in ascending order of the bits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.mapper.slides import does_repeat
from tilewright.model.kernel import kernel, leaf

if TYPE_CHECKING:
    from tilewright.mapper.lattice import Floats, Ints
    from tilewright.mapper.problem import Space

RUN, REGION, NONE = 1, 2, 3
STEPS = 16  # of a function; where there are more, two become one that bounds both


class Outer(NamedTuple):
    """Step functions of every state, one after the other.

    Attributes
    ----------
    row : array of (shapes, stages)
        Row of the arrays below, or -1 where no mapping that matters passes. Without shapes nothing
        is known.
    begin, length : arrays of (rows, flags)
        Where the function is.
    bits, cost : arrays of steps
    stays : array of flags
        What is paid already at this point: the tile of a tensor below the array, which stays from
        here on, or -1.
    kind, tensor, at : arrays of flags
        And the next tile of a sliding tensor, which from here on moves along one dimension (RUN)
        or within one expression (REGION, `at`), or NONE. Nothing is paid with the last flag.
    memory : int
        The memory whose bits count.
    """

    row: Ints
    begin: Ints
    length: Ints
    bits: Floats
    cost: Floats
    stays: Ints
    kind: Ints
    tensor: Ints
    at: Ints
    memory: int


@leaf
def at_least(outer: Outer, flag: int, row: int, left: float) -> float:
    """Return what a state costs at least with some bits left."""
    best = np.inf
    begin = outer.begin[row, flag]
    for i in range(begin, begin + outer.length[row, flag]):
        if outer.bits[i] > left:
            break
        best = outer.cost[i]
    return best


@leaf
def merge(
    bits: Floats,
    cost: Floats,
    count: int,
    from_bits: Floats,
    from_cost: Floats,
    begin: int,
    end: int,
    more_bits: float,
    more_cost: float,
    limit: float,
    new_bits: Floats,
    new_cost: Floats,
) -> int:
    """Merge a shifted step function into another one; return the number of its steps."""
    i = 0
    j = begin
    n = 0
    lowest = np.inf
    while i < count or j < end:
        if j < end and from_bits[j] + more_bits > limit:
            j = end
            continue
        if j >= end or (i < count and bits[i] <= from_bits[j] + more_bits):
            b, c = bits[i], cost[i]
            i += 1
        else:
            b, c = from_bits[j] + more_bits, from_cost[j] + more_cost
            j += 1
        if c < lowest:
            lowest = c
            if n > 0 and new_bits[n - 1] == b:
                n -= 1
            new_bits[n] = b
            new_cost[n] = c
            n += 1
    while n > STEPS:
        # the two steps that differ least in cost become one
        least = np.inf
        at = 0
        for k in range(n - 1):
            difference = new_cost[k] - new_cost[k + 1]
            if difference < least:
                least, at = difference, k
        new_cost[at] = new_cost[at + 1]
        for k in range(at + 1, n - 1):
            new_bits[k] = new_bits[k + 1]
            new_cost[k] = new_cost[k + 1]
        n -= 1
    for k in range(n):
        bits[k] = new_bits[k]
        cost[k] = new_cost[k]
    return n


@kernel
def outer_table(
    sp: Space,
    flag_stays: Ints,
    flag_kind: Ints,
    flag_tensor: Ints,
    flag_at: Ints,
    adds: Ints,
    ends: Ints,
    mirror: Ints,
    stage_count: Ints,
    stage_next: Ints,
    need: Ints,
    rate: Floats,
    bits: Floats,
    share: Floats,
    run_words: Floats,
    slid: Floats,
    carried_rate: Floats,
    carried_words: Floats,
    end: Floats,
    limit: float,
    row_of: Ints,
    some: Ints,
) -> tuple[Ints, Ints, Floats, Floats]:
    """Fill the step functions of some shapes and stages, with every flag.

    Parameters
    ----------
    flag_stays, flag_kind, flag_tensor, flag_at : arrays of flags
        As in `Outer`.
    adds : array of (flags, flags with one part more)
        Flags that come first in order, padded with -1.
    ends : array of flags
        The same flag without a slide.
    mirror : array of flags
        The same for a shape's mirror image.
    stage_count, stage_next
        As in `tables.Segment`.
    need : array of tensors
        Store nodes of each tensor above the array.
    rate, bits, share : arrays of (tensors, nodes)
        pJ per word that moves in, bits per word of the tile, and bits that the tile may take, for
        each of them.
    run_words : array of (flags, shapes)
        Words that a run or region brings in when it begins at a shape.
    slid : array of (tensors, shapes)
        Words that move at least into a store node at a shape, whatever the loops above.
    carried_rate : array of tensors
        Least pJ per word for a tile below the array that stays.
    carried_words : array of (tensors, shapes)
        Words that move at least when the innermost relevant loop ends at a shape.
    end : array of (shapes, tensors + 1)
        What is below costs at least without a tensor, and with all.
    limit : float
        Bits of the memory.
    row_of : array of (shapes, stages)
        As `row` of an `Outer`.
    some : array of shapes
        Those that have a row, in ascending order.
    """
    stages = len(stage_count)
    flags = len(flag_kind)
    size = 1 << 16
    all_bits, all_cost = np.empty(size), np.empty(size)
    rows = row_of.max() + 1
    begin_of = np.zeros((rows, flags), np.int64)
    length = np.zeros((rows, flags), np.int64)
    used = 0
    scratch = np.empty((4, 4 * STEPS))
    for shape in some:
        if used + stages * flags * STEPS > size:
            all_bits = np.concatenate((all_bits, np.empty(size)))
            all_cost = np.concatenate((all_cost, np.empty(size)))
            size *= 2
        used = fill_steps(
            sp, flag_stays, flag_kind, flag_tensor, flag_at, adds, ends, mirror, stage_count,
            stage_next, need, rate, bits, share, run_words, slid, carried_rate, carried_words, end,
            limit, row_of, shape, begin_of, length, all_bits, all_cost, used, scratch,
        )  # fmt: skip
    return begin_of, length, all_bits[:used], all_cost[:used]


@leaf
def fill_steps(
    sp: Space,
    flag_stays: Ints,
    flag_kind: Ints,
    flag_tensor: Ints,
    flag_at: Ints,
    adds: Ints,
    ends: Ints,
    mirror: Ints,
    stage_count: Ints,
    stage_next: Ints,
    need: Ints,
    rate: Floats,
    bits: Floats,
    share: Floats,
    run_words: Floats,
    slid: Floats,
    carried_rate: Floats,
    carried_words: Floats,
    end: Floats,
    limit: float,
    row_of: Ints,
    shape: int,
    begin_of: Ints,
    length: Ints,
    all_bits: Floats,
    all_cost: Floats,
    used: int,
    scratch: Floats,
) -> int:
    """Fill the step functions of one shape from the step `used` on; return their end."""
    nt = len(need)
    stages = len(stage_count)
    moves = len(sp.moves)
    own_bits, new_bits, own_cost, new_cost = scratch[0], scratch[1], scratch[2], scratch[3]
    for stage in range(stages - 1, -1, -1):
        here = row_of[shape, stage]
        if here < 0:
            continue
        for flag in range(len(flag_kind)):
            kind, own = flag_kind[flag], flag_tensor[flag]
            stays = flag_stays[flag]
            if stays >= 0 and stage_count[stage, stays] < need[stays]:
                continue
            if kind != NONE and stage_next[stage, own] < 0:
                continue
            n = 0
            below = stays if stays >= 0 else nt
            if stage == stages - 1 and end[shape, below] < np.inf:
                own_bits[0], own_cost[0] = 0.0, end[shape, below]
                n = 1
            # store nodes, then loops, then what begins here: one place merges them all
            for option in range(nt + moves + adds.shape[1]):
                more_bits = more_cost = 0.0
                if option < nt:
                    t = option
                    after = stage_next[stage, t]
                    if after < 0 or row_of[shape, after] < 0:
                        continue
                    to = flag
                    k = stage_count[stage, t]
                    more_bits = bits[t, k] * sp.words[t, shape]
                    if more_bits > share[t, k]:
                        continue
                    if kind == NONE:
                        more_cost = rate[t, k] * sp.words[t, shape] * sp.repeats[shape]
                    elif t != own:
                        more_cost = rate[t, k] * slid[t, shape]
                    else:
                        to = ends[flag]
                        if kind == REGION and not does_repeat(
                            sp, sp.windows[t], flag_at[flag], shape
                        ):
                            continue
                    row = row_of[shape, after]
                elif option < nt + moves:
                    d = sp.moves[option - nt, 0]
                    if (
                        (stays >= 0 and sp.relevant[stays, d])
                        or (kind == RUN and d != flag_at[flag])
                        or (kind == REGION and sp.window_of[sp.windows[own], d] != flag_at[flag])
                    ):
                        continue
                    digit = sp.digits[shape, d]
                    smaller = sp.quotient[d, digit, sp.moves[option - nt, 1]]
                    if smaller < 0:
                        continue
                    inner = shape - (digit - smaller) * sp.strides[d]
                    row = row_of[inner, stage]
                    if row < 0:
                        continue
                    to = flag if inner <= sp.mirror[inner] else mirror[flag]
                else:
                    to = adds[flag, option - nt - moves]
                    if to < 0:
                        break
                    if length[here, to] == 0:
                        continue
                    row = here
                    t = flag_stays[to]
                    if t != stays:
                        more_cost = carried_rate[t] * carried_words[t, shape]
                    else:
                        t = flag_tensor[to]
                        more_cost = rate[t, stage_count[stage, t]] * run_words[to, shape]
                begin, steps = begin_of[row, to], length[row, to]
                n = merge(
                    own_bits, own_cost, n, all_bits, all_cost, begin, begin + steps,
                    more_bits, more_cost, limit, new_bits, new_cost,
                )  # fmt: skip
            begin_of[here, flag] = used
            length[here, flag] = n
            for k in range(n):
                all_bits[used + k] = own_bits[k]
                all_cost[used + k] = own_cost[k]
            used += n
    return used
