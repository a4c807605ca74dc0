"""The table of what is still to come above the first array, filled from small shapes to large."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.above_array import NONE, REGION, RUN, STEPS
from tilewright.mapper.windows.slides import does_repeat

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.above_array import Flags, Nodes
    from tilewright.mapper.problem.space import Space


@kernel
def outer_table(
    sp: Space,
    flags: Flags,
    nodes: Nodes,
    slide_words: Floats,
    goes_on: Floats,
    slid: Floats,
    carried_rate: Floats,
    end: Floats,
    least: Floats,
    spent: Floats,
    most: float,
) -> tuple[Ints, Ints, Ints, Floats, Floats]:
    """Fill the step functions of the shapes and stages that matter, with every flag.

    Parameters
    ----------
    slide_words : array of (slides, shapes)
        Words that a run or region brings in when it begins at a shape.
    goes_on : array of (slides, shapes)
        Words that it brings in at least when it begins at a shape or around it.
    slid : array of (tensors, shapes)
        Words that move at least into a store node at a shape, whatever the loops above; or into a
        tile that stays when the innermost relevant loop ends there.
    carried_rate : array of tensors
        Least pJ per word for a tile below the array that stays; -1 where none does.
    end : array of (shapes, 2 x tensors + 1)
        What is below costs at least, see `tables.inner_table`.
    least, spent, most
        `stages`, `spent` and `most` of a `screening.Screening`.

    Returns
    -------
    arrays
        `row`, `begin`, `length`, `bits` and `cost` of an `Outer`.
    """
    stages = len(nodes.stage_count)
    row_of = np.empty((len(sp.repeats), stages), np.int64)
    rows = rows_that_matter(sp, carried_rate, end, least, most, row_of)
    count = len(flags.kind)
    size = 1 << 16
    all_bits, all_cost = np.empty(size), np.empty(size)
    begin_of = np.zeros((rows, count), np.int64)
    length = np.zeros((rows, count), np.int64)
    filled = np.zeros((rows, 3), np.int64)
    source = np.empty((2, len(sp.relevant) + len(sp.moves)), np.int64)
    leads = np.zeros((4, count), np.int64)
    for flag in range(count):
        leads[0, flag] = bit(flag)
        leads[1, flag] = bit(flags.mirror[flag])
        for to in range(count):
            # a store node ends a slide, and another one may go on
            if flags.ends[to] == flags.ends[flag]:
                leads[2, to] |= bit(flag)
        for to in flags.adds[flag]:
            if to >= 0:
                leads[3, to] |= bit(flag)
    used = shape = 0
    scratch = np.empty((4, 4 * STEPS))
    while shape < len(row_of):
        used, shape = fill_shapes(
            sp, flags, nodes, slide_words, goes_on, slid, carried_rate, end, spent, most, row_of,
            shape, begin_of, length, filled, leads, source, all_bits, all_cost, used, scratch,
        )  # fmt: skip
        if shape < len(row_of):
            size *= 2
            more_bits, more_cost = np.empty(size), np.empty(size)
            for k in range(used):
                more_bits[k], more_cost[k] = all_bits[k], all_cost[k]
            all_bits, all_cost = more_bits, more_cost
    return row_of, begin_of, length, all_bits[:used], all_cost[:used]


@leaf
def rows_that_matter(
    sp: Space, carried_rate: Floats, end: Floats, least: Floats, most: float, row_of: Ints
) -> int:
    """Give a row to every shape and stage that mappings pass that matter; return their number.

    Of two shapes that mirror each other one has a row.
    """
    nt, whole = sp.words.shape[0], sp.words.shape[1] - 1
    rows = 0
    for shape in range(whole + 1):
        other = sp.mirror[shape]
        across = end[shape, nt]
        for t in range(nt):
            if carried_rate[t] >= 0.0:
                across = min(across, end[shape, nt + 1 + t] + carried_rate[t] * sp.words[t, whole])
        for stage in range(len(least)):
            row_of[shape, stage] = -1
            if other < shape:
                row_of[shape, stage] = row_of[other, stage]
            elif least[stage, shape] + across <= most:
                row_of[shape, stage] = rows
                rows += 1
    return rows


@leaf
def bit(flag: int) -> int:
    """Return a number with one bit of 62, which stands for a flag and maybe for others."""
    return 1 << (flag % 62)


@leaf
def sources(
    sp: Space, nodes: Nodes, row_of: Ints, filled: Ints, shape: int, stage: int, source: Ints
) -> int:
    """Fill the rows that a store node or a loop leads to, and whether in the mirror; -1 if none.

    Returns
    -------
    int
        Bits of all flags that may have a function for it.
    """
    nt = len(nodes.need)
    some = 0
    for t in range(nt):
        after = nodes.stage_next[stage, t]
        row = row_of[shape, after] if after >= 0 else -1
        source[0, t] = row
        if row >= 0:
            some |= filled[row, 2]
    for move in range(len(sp.moves)):
        d = sp.moves[move, 0]
        digit = sp.digits[shape, d]
        smaller = sp.quotient[d, digit, sp.moves[move, 1]]
        source[0, nt + move] = -1
        if smaller >= 0:
            inner = shape - (digit - smaller) * sp.strides[d]
            row = row_of[inner, stage]
            turned = int(sp.mirror[inner] < inner)
            source[0, nt + move] = row
            source[1, nt + move] = turned
            if row >= 0:
                some |= filled[row, turned]
    return some


@leaf
def fill_shapes(
    sp: Space,
    flags: Flags,
    nodes: Nodes,
    slide_words: Floats,
    goes_on: Floats,
    slid: Floats,
    carried_rate: Floats,
    end: Floats,
    spent: Floats,
    most: float,
    row_of: Ints,
    begin: int,
    begin_of: Ints,
    length: Ints,
    filled: Ints,
    leads: Ints,
    source: Ints,
    all_bits: Floats,
    all_cost: Floats,
    used: int,
    scratch: Floats,
) -> tuple[int, int]:
    """Fill the step functions of the shapes from `begin` on while there is room.

    Returns
    -------
    tuple of int, int
        The end of the steps, which begins as `used`, and the next shape.
    """
    for shape in range(begin, len(row_of)):
        if sp.mirror[shape] < shape:
            continue
        if used + row_of.shape[1] * length.shape[1] * STEPS > len(all_bits):
            return used, shape
        used = fill_steps(
            sp, flags, nodes, slide_words, goes_on, slid, carried_rate, end, spent, most, row_of,
            shape, begin_of, length, filled, leads, source, all_bits, all_cost, used, scratch,
        )  # fmt: skip
    return used, len(row_of)


@leaf
def fill_steps(
    sp: Space,
    flags: Flags,
    nodes: Nodes,
    slide_words: Floats,
    goes_on: Floats,
    slid: Floats,
    carried_rate: Floats,
    end: Floats,
    spent: Floats,
    most: float,
    row_of: Ints,
    shape: int,
    begin_of: Ints,
    length: Ints,
    filled: Ints,
    leads: Ints,
    source: Ints,
    all_bits: Floats,
    all_cost: Floats,
    used: int,
    scratch: Floats,
) -> int:
    """Fill the step functions of one shape from the step `used` on; return their end.

    `filled` has bits of the flags that may have a function because the rows have: through a loop
    from them or from their mirror images, and through a store node. `leads` has those of each flag,
    and what may begin with it.
    """
    nt = len(nodes.need)
    stages = len(nodes.stage_count)
    moves = len(sp.moves)
    count = len(flags.kind)
    sliding = 0
    for t in range(nt):
        sliding += nodes.need[t] * (sp.windows[t] >= 0)
    many = count if sliding > 1 else 0  # slides that the next of several nodes may be in
    own_bits, new_bits, own_cost, new_cost = scratch[0], scratch[1], scratch[2], scratch[3]
    for stage in range(stages - 1, -1, -1):
        here = row_of[shape, stage]
        if here < 0:
            continue
        left = most - spent[stage, shape]
        some = sources(sp, nodes, row_of, filled, shape, stage, source)
        for flag in range(count):
            kind, own = flags.kind[flag], flags.tensor[flag]
            stays = flags.stays[flag]
            n = 0
            below = stays if stays >= 0 else nt
            if stage == stages - 1 and kind == NONE and end[shape, below] < left:
                own_bits[0], own_cost[0] = 0.0, end[shape, below]
                n = 1
            elif some & bit(flag) == 0:
                continue
            if stays >= 0 and nodes.stage_count[stage, stays] < nodes.need[stays]:
                continue
            if kind != NONE and nodes.stage_next[stage, own] < 0:
                continue
            # store nodes, loops, store nodes inside a slide that goes on, then what begins here:
            # one place merges them all
            for option in range(nt + moves + many + flags.adds.shape[1]):
                more_bits = more_cost = 0.0
                t = option
                to = flag
                on = nt + moves <= option < nt + moves + many
                if on:
                    # the next tile of a tensor may be in a slide that began further out, too
                    to = option - nt - moves
                    if flags.kind[to] == NONE or flags.ends[to] != flags.ends[flag]:
                        continue
                    t = flags.tensor[to] if kind == NONE else own
                if option < nt or on:
                    row = source[0, t]
                    if row < 0 or (on and length[row, to] == 0):
                        continue
                    k = nodes.stage_count[stage, t]
                    more_bits = nodes.bits[t, k] * sp.words[t, shape]
                    if more_bits > nodes.share[t, k]:
                        continue
                    if kind == NONE:
                        more_cost = nodes.rate[t, k] * sp.words[t, shape] * sp.repeats[shape]
                    elif t != own:
                        more_cost = nodes.rate[t, k] * slid[t, shape]
                    elif kind == REGION and not does_repeat(
                        sp, sp.windows[t], flags.at[flag], shape
                    ):
                        continue
                    if on:
                        u = flags.tensor[to]
                        k = nodes.stage_count[nodes.stage_next[stage, t], u]
                        more_cost += nodes.rate[u, k] * goes_on[flags.slide[to], shape]
                    elif kind != NONE and t == own:
                        to = flags.ends[flag]
                elif option < nt + moves:
                    row = source[0, option]
                    d = sp.moves[option - nt, 0]
                    if (
                        row < 0
                        or (stays >= 0 and sp.relevant[stays, d])
                        or (kind == RUN and d != flags.at[flag])
                        or (kind == REGION and sp.window_of[sp.windows[own], d] != flags.at[flag])
                    ):
                        continue
                    to = flag if source[1, option] == 0 else flags.mirror[flag]
                else:
                    to = flags.adds[flag, option - nt - moves - many]
                    if to < 0:
                        break
                    if length[here, to] == 0:
                        continue
                    row = here
                    t = flags.stays[to]
                    if t != stays:
                        more_cost = carried_rate[t] * slid[t, shape]
                    else:
                        t = flags.tensor[to]
                        begun = slide_words[flags.slide[to], shape]
                        more_cost = nodes.rate[t, nodes.stage_count[stage, t]] * begun
                begin, steps = begin_of[row, to], length[row, to]
                n = merge(
                    own_bits, own_cost, n, all_bits, all_cost, begin, begin + steps,
                    more_bits, more_cost, nodes.limit, left, new_bits, new_cost,
                )  # fmt: skip
            if n == 0:
                continue
            n = shortened(own_bits, own_cost, n)
            begin_of[here, flag] = used
            length[here, flag] = n
            for k in range(n):
                all_bits[used + k] = own_bits[k]
                all_cost[used + k] = own_cost[k]
            used += n
            for k in range(3):
                filled[here, k] |= leads[k, flag]
            some |= leads[3, flag]
    return used


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
    most: float,
    new_bits: Floats,
    new_cost: Floats,
) -> int:
    """Merge a shifted step function into another one; return the number of its steps.

    Steps of more bits than the `limit`, or of `most` pJ, are left out.
    """
    i = 0
    j = begin
    n = 0
    lowest = most
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
    for k in range(n):
        bits[k] = new_bits[k]
        cost[k] = new_cost[k]
    return n if n <= 3 * STEPS else shortened(bits, cost, n)


@leaf
def shortened(bits: Floats, cost: Floats, n: int) -> int:
    """Make the two steps that differ least in cost one while there are too many."""
    while n > STEPS:
        least = np.inf
        at = 0
        for k in range(n - 1):
            difference = cost[k] - cost[k + 1]
            if difference < least:
                least, at = difference, k
        cost[at] = cost[at + 1]
        for k in range(at + 1, n - 1):
            bits[k], cost[k] = bits[k + 1], cost[k + 1]
        n -= 1
    return n
