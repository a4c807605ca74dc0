"""What is still to come below the array, for every size of a memory there.

The tables of `choice_tables` bound what is below an array in any spatial choice. Where memories are
small that says little: what a tile can be reused below the array and how many elements share it
depend on each other. Here the spatial choice is known. From a shape and a stage inward, the
cheapest way to place the rest costs no less than a step function of the bits that the memory has
left says, as in `above_array`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tilewright.kernels.kernel import kernel, leaf
from tilewright.kernels.record import record
from tilewright.mapper.bounds.tables.above_array import (
    NONE,
    REGION,
    RUN,
    STEPS,
    StepArrays,
)
from tilewright.mapper.bounds.tables.above_array_table import shortened

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.problem.space import Space

Positions = NDArray[np.int32]
"""There are many."""


@record
class Below(NamedTuple):
    """Step functions of every shape and stage below an array, for one spatial choice.

    The stages are those of a bypass choice that stores at least what the one at hand does: a tensor
    that the latter does not store has no node to come.

    Attributes
    ----------
    stage : array of stages
        Stage of the functions that is each stage of the bypass choice at hand.
    row : array of shapes
        Position among those that may stand inside the array in this choice, or -1. Without shapes
        nothing is known.
    begin : array of rows x stages x flags + 1
        Where the functions begin.
    bits, cost : arrays of steps
    kind, tensor, at : arrays of flags
        What slides from here on, as in `above_array.Outer`; nothing slides with the last flag.
    united : array of flags
        1 where what is sent to a slide is paid where it begins, 0 where it ends.
    received, sent : arrays of tensors
        pJ per word that instances receive, and per word that is sent to them.
    copies : array of tensors
        Instances at least that receive each word that is sent.
    union : array of (tensors, rows)
        Words sent per word received by tiles of a shape, at least.
    tail : float
        pJ of what goes to the compute unit.
    stage_next : array of (stages, tensors)
        As in `segments.Segment`.
    memory : int
        The memory whose bits count.
    """

    stage: Ints
    row: Positions
    begin: Positions
    bits: Floats
    cost: Floats
    kind: Ints
    tensor: Ints
    at: Ints
    united: Ints
    received: Floats
    sent: Floats
    copies: Floats
    union: Floats
    tail: float
    stage_next: Ints
    memory: int


@record
class Costs(NamedTuple):
    """What store nodes below an array cost, in pJ; infinite where they cannot stand.

    Attributes
    ----------
    place : array of (tensors, rows)
        A node whose tile moves as a whole.
    least : array of (tensors, rows)
        The same at least, whatever slides.
    begin, end : arrays of (flags, rows)
        What slides, from where it begins on and where the node stands.
    bits : array of tensors
        Bits of a word; a node in another memory than that whose bits count takes none.
    """

    place: Floats
    least: Floats
    begin: Floats
    end: Floats
    bits: Floats


@record
class NodesBelow(NamedTuple):
    """Store nodes of a bypass choice below an array, in a spatial choice.

    Attributes
    ----------
    shapes, row : arrays
        The shapes that may stand there, and the position of every shape among them, or -1.
    costs : Costs
    kind, tensor, at, united, received, sent, copies, union
        As in `Below`.
    """

    shapes: Ints
    row: Positions
    costs: Costs
    kind: Ints
    tensor: Ints
    at: Ints
    united: Ints
    received: Floats
    sent: Floats
    copies: Floats
    union: Floats


class FillingBelow(NamedTuple):
    """The functions while they are filled.

    Attributes
    ----------
    begin : array of rows x stages x flags + 1
        As in `Below`.
    own_begin, own_end : arrays of (stages, flags)
        Those of the shape at hand, whose stages come last first.
    inner : array of moves
        Row of the shape inside each loop, or -1.
    """

    begin: Positions
    own_begin: Ints
    own_end: Ints
    inner: Ints


@leaf
def lower(
    own: StepArrays,
    n: int,
    other: StepArrays,
    span: tuple[int, int],
    more: tuple[float, float],
    limit: float,
) -> int:
    """Lower a step function to another one, shifted; return the number of its steps.

    Parameters
    ----------
    n : int
        Steps of the function.
    span : tuple of int, int
        Where the other one begins and ends.
    more : tuple of float, float
        Bits and pJ by which it is shifted.
    limit : float
        Bits of the steps that are kept.
    """
    bits, cost = own
    at = 0
    for q in range(span[0], span[1]):
        b, c = other.bits[q] + more[0], other.cost[q] + more[1]
        if b > limit:
            break
        while at < n and bits[at] <= b:
            at += 1
        if at > 0 and cost[at - 1] <= c:
            continue
        if at > 0 and bits[at - 1] == b:
            at -= 1
        # in the place of those that are no better from here on
        after = at
        while after < n and cost[after] >= c:
            after += 1
        if after == at:
            for k in range(n, at, -1):
                bits[k], cost[k] = bits[k - 1], cost[k - 1]
            n += 1
        else:
            for k in range(after, n):
                bits[k + at + 1 - after], cost[k + at + 1 - after] = bits[k], cost[k]
            n += at + 1 - after
        bits[at], cost[at] = b, c
    return n if n <= 3 * STEPS else shortened(bits, cost, n)


@kernel
def below_table(
    sp: Space, nodes: NodesBelow, stage_next: Ints, limit: float
) -> tuple[Positions, Floats, Floats]:
    """Fill the step functions of the shapes of some nodes, in ascending order; see `Below`."""
    stages = len(stage_next)
    flags = len(nodes.kind)
    shapes = len(nodes.shapes)
    size = 1 << 14
    steps = StepArrays(np.empty(size), np.empty(size))
    own = StepArrays(np.empty(4 * STEPS), np.empty(4 * STEPS))
    filling = FillingBelow(
        np.zeros(shapes * stages * flags + 1, np.int32),
        np.empty((stages, flags), np.int64),
        np.empty((stages, flags), np.int64),
        np.empty(len(sp.moves), np.int64),
    )
    begin = filling.begin
    used = 0
    for k in range(shapes):
        if used + 2 * stages * flags * STEPS > size:
            steps = StepArrays(
                np.concatenate((steps.bits, np.empty(size))),
                np.concatenate((steps.cost, np.empty(size))),
            )
            size *= 2
        last = used + stages * flags * STEPS
        fill_below(sp, nodes, stage_next, limit, filling, steps, own, (k, last))
        for stage in range(stages):
            for flag in range(flags):
                begin[(k * stages + stage) * flags + flag] = used
                for q in range(filling.own_begin[stage, flag], filling.own_end[stage, flag]):
                    steps.bits[used], steps.cost[used] = steps.bits[q], steps.cost[q]
                    used += 1
        begin[(k + 1) * stages * flags] = used
    return begin, steps.bits[:used].copy(), steps.cost[:used].copy()


@leaf
def fill_below(
    sp: Space,
    nodes: NodesBelow,
    stage_next: Ints,
    limit: float,
    filling: FillingBelow,
    steps: StepArrays,
    own_steps: StepArrays,
    at_hand: tuple[int, int],
) -> None:
    """Fill the step functions of one shape, and where they are.

    Parameters
    ----------
    own_steps : StepArrays
        For use in between.
    at_hand : tuple of int, int
        Row of the shape, and the step from which on there is room.
    """
    k, used = at_hand
    shape = nodes.shapes[k]
    kind, tensor, at, costs = nodes.kind, nodes.tensor, nodes.at, nodes.costs
    begin, inner = filling.begin, filling.inner
    own_begin, own_end = filling.own_begin, filling.own_end
    nt = sp.relevant.shape[0]
    moves = len(sp.moves)
    flags = len(kind)
    stages = len(stage_next)
    for move in range(moves):
        d = sp.moves[move, 0]
        digit = sp.digits[shape, d]
        smaller = sp.quotient[d, digit, sp.moves[move, 1]]
        inner[move] = -1
        if smaller >= 0:
            inner[move] = nodes.row[shape - (digit - smaller) * sp.strides[d]]
    for stage in range(stages - 1, -1, -1):
        for flag in range(flags):
            own = tensor[flag]
            own_begin[stage, flag] = own_end[stage, flag] = used
            if kind[flag] != NONE and stage_next[stage, own] < 0:
                continue
            n = 0
            if stage == stages - 1:
                own_steps.bits[0] = own_steps.cost[0] = 0.0
                n = 1
            # store nodes, then loops, then slides that begin here: one place merges them all
            for option in range(nt + moves + flags - 1 if stage < stages - 1 else 0):
                more_bits = more_cost = 0.0
                to = flag
                if option < nt:
                    t = option
                    after = stage_next[stage, t]
                    if after < 0:
                        continue
                    more_bits = costs.bits[t] * sp.words[t, shape]
                    if kind[flag] == NONE:
                        more_cost = costs.place[t, k]
                    elif t == own:
                        more_cost = costs.end[flag, k]
                        to = flags - 1
                    else:
                        more_cost = costs.least[t, k]
                    if more_cost == np.inf:
                        continue
                    first, end = own_begin[after, to], own_end[after, to]
                elif option < nt + moves:
                    move = option - nt
                    if inner[move] < 0:
                        continue
                    d = sp.moves[move, 0]
                    if (kind[flag] == RUN and d != at[flag]) or (
                        kind[flag] == REGION and sp.window_of[sp.windows[own], d] != at[flag]
                    ):
                        continue
                    at_inner = (inner[move] * stages + stage) * flags + flag
                    first, end = begin[at_inner], begin[at_inner + 1]
                else:
                    if kind[flag] != NONE:
                        break
                    to = option - nt - moves
                    first, end = own_begin[stage, to], own_end[stage, to]
                    more_cost = costs.begin[to, k]
                if first < end:
                    n = lower(own_steps, n, steps, (first, end), (more_bits, more_cost), limit)
            n = shortened(own_steps.bits, own_steps.cost, n)
            own_end[stage, flag] = used + n
            for q in range(n):
                steps.bits[used + q] = own_steps.bits[q]
                steps.cost[used + q] = own_steps.cost[q]
            used += n
