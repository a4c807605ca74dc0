"""The table of what is still to come above the first array, filled from small shapes to large."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.tables.above_array import (
    NONE,
    REGION,
    RUN,
    STEPS,
    StepArrays,
)
from tilewright.mapper.windows.slides import does_repeat

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.tables.above_array import Flags, Given, NodesAbove
    from tilewright.mapper.problem.space import Space


class FillingAbove(NamedTuple):
    """The functions while they are filled.

    Attributes
    ----------
    row, begin, length
        As in `Outer`.
    filled : array of (rows, 3)
        Bits of the flags that may have a function because a row has: through a loop from it, from
        its mirror image, and through a store node.
    leads : array of (4, flags)
        Bits of those that each flag leads to so, and of those that may begin with it.
    source : array of (2, tensors + moves)
        For use in between, see `sources`.
    """

    row: Ints
    begin: Ints
    length: Ints
    filled: Ints
    leads: Ints
    source: Ints


@kernel
def outer_table(
    sp: Space, flags: Flags, nodes: NodesAbove, given: Given
) -> tuple[Ints, Ints, Ints, Floats, Floats]:
    """Fill the step functions of the shapes and stages that matter, with every flag.

    Returns
    -------
    arrays
        `row`, `begin`, `length`, `bits` and `cost` of an `Outer`.
    """
    stages = len(nodes.stage_count)
    row_of = np.empty((len(sp.repeats), stages), np.int64)
    rows = rows_that_matter(sp, given, row_of)
    count = len(flags.kind)
    size = 1 << 16
    steps = StepArrays(np.empty(size), np.empty(size))
    filling = FillingAbove(
        row_of,
        np.zeros((rows, count), np.int64),
        np.zeros((rows, count), np.int64),
        np.zeros((rows, 3), np.int64),
        np.zeros((4, count), np.int64),
        np.empty((2, len(sp.relevant) + len(sp.moves)), np.int64),
    )
    fill_leads(flags, filling.leads)
    used = shape = 0
    own = StepArrays(np.empty(4 * STEPS), np.empty(4 * STEPS))
    new = StepArrays(np.empty(4 * STEPS), np.empty(4 * STEPS))
    while shape < len(row_of):
        used, shape = fill_shapes(
            sp, flags, nodes, given, filling, steps, (own, new), (used, shape)
        )
        if shape < len(row_of):
            size *= 2
            larger = StepArrays(np.empty(size), np.empty(size))
            for k in range(used):
                larger.bits[k], larger.cost[k] = steps.bits[k], steps.cost[k]
            steps = larger
    return row_of, filling.begin, filling.length, steps.bits[:used], steps.cost[:used]


@leaf
def fill_leads(flags: Flags, leads: Ints) -> None:
    """Fill the bits of the flags that each flag leads to, see `FillingAbove`."""
    count = len(flags.kind)
    for flag in range(count):
        leads[0, flag] = bit(flag)
        leads[1, flag] = bit(flags.mirror[flag])
        for to in range(count):
            # a store node ends a slide, and another one may go on
            if flags.ends[to] == flags.ends[flag]:
                leads[2, to] |= bit(flag)
        for k in range(flags.adds.shape[1]):
            to = flags.adds[flag, k]
            if to >= 0:
                leads[3, to] |= bit(flag)


@leaf
def rows_that_matter(sp: Space, given: Given, row_of: Ints) -> int:
    """Give a row to every shape and stage that mappings pass that matter; return their number.

    Of two shapes that mirror each other one has a row.
    """
    end, carried, least = given.end, given.carried, given.stages
    nt, whole = sp.words.shape[0], sp.words.shape[1] - 1
    rows = 0
    for shape in range(whole + 1):
        other = sp.mirror[shape]
        across = end[shape, nt]
        for t in range(nt):
            if carried[t] >= 0.0:
                across = min(across, end[shape, nt + 1 + t] + carried[t] * sp.words[t, whole])
        for stage in range(len(least)):
            row_of[shape, stage] = -1
            if other < shape:
                row_of[shape, stage] = row_of[other, stage]
            elif least[stage, shape] + across <= given.most:
                row_of[shape, stage] = rows
                rows += 1
    return rows


@leaf
def bit(flag: int) -> int:
    """Return a number with one bit of 62, which stands for a flag and maybe for others."""
    return 1 << (flag % 62)


@leaf
def sources(sp: Space, nodes: NodesAbove, filling: FillingAbove, shape: int, stage: int) -> int:
    """Fill the rows that a store node or a loop leads to, and whether in the mirror; -1 if none.

    Returns
    -------
    int
        Bits of all flags that may have a function for it.
    """
    nt = len(nodes.need)
    row_of, filled, source = filling.row, filling.filled, filling.source
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
    nodes: NodesAbove,
    given: Given,
    filling: FillingAbove,
    steps: StepArrays,
    between: tuple[StepArrays, StepArrays],
    begin: tuple[int, int],
) -> tuple[int, int]:
    """Fill the step functions of shapes while there is room.

    Parameters
    ----------
    between : tuple of StepArrays, Steps
        For use in between.
    begin : tuple of int, int
        The end of the steps so far, and the first shape.

    Returns
    -------
    tuple of int, int
        The end of the steps, and the next shape.
    """
    used = begin[0]
    row_of, length = filling.row, filling.length
    for shape in range(begin[1], len(row_of)):
        if sp.mirror[shape] < shape:
            continue
        if used + row_of.shape[1] * length.shape[1] * STEPS > len(steps.bits):
            return used, shape
        used = fill_steps(sp, flags, nodes, given, filling, steps, between, (used, shape))
    return used, len(row_of)


@leaf
def fill_steps(
    sp: Space,
    flags: Flags,
    nodes: NodesAbove,
    given: Given,
    filling: FillingAbove,
    steps: StepArrays,
    between: tuple[StepArrays, StepArrays],
    begin: tuple[int, int],
) -> int:
    """Fill the step functions of one shape, see `fill_shapes`; return the end of the steps."""
    used, shape = begin
    row_of, begin_of, length = filling.row, filling.begin, filling.length
    filled, leads, source = filling.filled, filling.leads, filling.source
    own_steps, new_steps = between
    end = given.end
    nt = len(nodes.need)
    stages = len(nodes.stage_count)
    moves = len(sp.moves)
    count = len(flags.kind)
    sliding = 0
    for t in range(nt):
        sliding += nodes.need[t] * (sp.windows[t] >= 0)
    many = count if sliding > 1 else 0  # slides that the next of several nodes may be in
    for stage in range(stages - 1, -1, -1):
        here = row_of[shape, stage]
        if here < 0:
            continue
        left = given.most - given.spent[stage, shape]
        some = sources(sp, nodes, filling, shape, stage)
        for flag in range(count):
            kind, own = flags.kind[flag], flags.tensor[flag]
            stays = flags.stays[flag]
            n = 0
            below = stays if stays >= 0 else nt
            if stage == stages - 1 and kind == NONE and end[shape, below] < left:
                own_steps.bits[0], own_steps.cost[0] = 0.0, end[shape, below]
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
                        more_cost = nodes.rate[t, k] * given.slid[t, shape]
                    elif kind == REGION and not does_repeat(
                        sp, sp.windows[t], flags.at[flag], shape
                    ):
                        continue
                    if on:
                        u = flags.tensor[to]
                        k = nodes.stage_count[nodes.stage_next[stage, t], u]
                        more_cost += nodes.rate[u, k] * given.around[flags.slide[to], shape]
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
                        more_cost = given.carried[t] * given.slid[t, shape]
                    else:
                        t = flags.tensor[to]
                        begun = given.begun[flags.slide[to], shape]
                        more_cost = nodes.rate[t, nodes.stage_count[stage, t]] * begun
                first = begin_of[row, to]
                n = merge(
                    own_steps, n, steps, (first, first + length[row, to]),
                    (more_bits, more_cost), (nodes.limit, left), new_steps,
                )  # fmt: skip
            if n == 0:
                continue
            n = shortened(own_steps.bits, own_steps.cost, n)
            begin_of[here, flag] = used
            length[here, flag] = n
            for k in range(n):
                steps.bits[used + k] = own_steps.bits[k]
                steps.cost[used + k] = own_steps.cost[k]
            used += n
            for k in range(3):
                filled[here, k] |= leads[k, flag]
            some |= leads[3, flag]
    return used


@leaf
def merge(
    own: StepArrays,
    count: int,
    other: StepArrays,
    span: tuple[int, int],
    more: tuple[float, float],
    most: tuple[float, float],
    new: StepArrays,
) -> int:
    """Merge another step function, shifted, into one; return the number of its steps.

    Parameters
    ----------
    count : int
        Steps of the function.
    span : tuple of int, int
        Where the other one begins and ends.
    more, most : tuple of float, float
        Bits and pJ: by which the other one is shifted, and of the steps that are kept.
    new : StepArrays
        For use in between.
    """
    i = 0
    j, end = span
    n = 0
    lowest = most[1]
    while i < count or j < end:
        if j < end and other.bits[j] + more[0] > most[0]:
            j = end
            continue
        if j >= end or (i < count and own.bits[i] <= other.bits[j] + more[0]):
            b, c = own.bits[i], own.cost[i]
            i += 1
        else:
            b, c = other.bits[j] + more[0], other.cost[j] + more[1]
            j += 1
        if c < lowest:
            lowest = c
            if n > 0 and new.bits[n - 1] == b:
                n -= 1
            new.bits[n] = b
            new.cost[n] = c
            n += 1
    for k in range(n):
        own.bits[k] = new.bits[k]
        own.cost[k] = new.cost[k]
    return n if n <= 3 * STEPS else shortened(own.bits, own.cost, n)


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
