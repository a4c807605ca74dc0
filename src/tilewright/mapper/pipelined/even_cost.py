"""What an even mapping costs under pipelined latency: energy, and the fewest cycles it can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import inlined, part
from tilewright.mapper.pipelined.tile_moves import (
    MOVES,
    SLIDES,
    STAYS,
    apart,
    chunks_above,
    follow,
    least_moved,
    lined_up,
    moved,
    returns,
)
from tilewright.mapper.pipelined.word_costs import (
    ADDED,
    COLLECT,
    EMPTY,
    HOP,
    HOPS,
    INNER,
    OUTER,
    OWN,
    READ,
    SENT,
    TREE,
    UNIT,
    WRITE,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints
    from tilewright.mapper.pipelined.move_tables import MoveTables
    from tilewright.mapper.pipelined.word_costs import KeepCosts


@inlined
def adder_levels(adders: int, reduces: Bools, factors: Ints) -> float:
    """Return the cycles of adders where elements work on the same words of the output."""
    meeting = 1
    for d in range(len(reduces)):
        if reduces[d]:
            meeting *= factors[d]
    if meeting > 1 and adders == TREE:
        return float(np.ceil(np.log2(meeting) - 1e-9))
    return meeting - 1.0 if adders == HOPS else 0.0


@inlined
def unit_words(tb: MoveTables, ch: KeepCosts, t: int, inner: int, choice: int) -> float:
    """Return the words of a tensor that all compute units take in a step."""
    if not ch.crosses[UNIT, t]:
        return 1.0
    shape = inner if ch.array == INNER else 0
    return apart(tb.axes, t, tb.digits[shape], tb.spread[choice])


@inlined
def unit_pass(
    tb: MoveTables, ch: KeepCosts, inner: int, choice: int, busy: Floats
) -> tuple[float, float]:
    """Return cycles and steps of a pass of the compute unit; put what resources are busy."""
    nt = len(tb.relevant)
    steps = 1.0
    for extent in tb.extents[inner]:
        steps *= extent
    if ch.array == UNIT:
        steps /= tb.elements[choice]
    busy[:] = 0.0
    cycles = 0.0
    most = np.ceil(steps * ch.cycles)
    if not ch.streams:
        return most, steps
    for t in range(nt):
        words = steps * unit_words(tb, ch, t, inner, choice)
        output = t == nt - 1
        for r in range(len(busy)):
            busy[r] += words * ch.fill[UNIT, t, SENT, r]
            if output:
                busy[r] += words * ch.drain[UNIT, t, SENT, r]
        if ch.startup[UNIT, t] > 0:
            busy[ch.engine] += words * ch.startup[UNIT, t] * (2 if output else 1)
        if output and ch.crosses[UNIT, t]:
            for r in range(len(busy)):
                busy[r] += (steps * tb.elements[choice] - words) * ch.drain[UNIT, t, ADDED, r]
            cycles += adder_levels(ch.adders, tb.reduces, tb.factors[choice])
    for r in range(len(busy)):
        most = max(most, busy[r])
    return cycles + most, steps


@inlined
def exchange(
    kept: Bools, loop: int, partial: bool, state: Ints, fill: Floats, drain: Floats,
    adders: float, fills: bool, drains: bool, busy: Floats,
) -> float:  # fmt: skip
    """Return the cycles of an exchange when a loop goes on; put what resources are busy."""
    nt = len(kept)
    busy[:] = 0.0
    cycles = 0.0
    for t in range(nt):
        if not kept[t]:
            continue
        does = MOVES if loop < 0 else state[t, loop]
        if does == STAYS:
            continue
        output = t == nt - 1
        if fills and (not output or partial):
            for r in range(len(busy)):
                busy[r] += fill[t, does, r]
        if drains and output:
            for r in range(len(busy)):
                busy[r] += drain[r]
            cycles += adders
    most = 0.0
    for r in range(len(busy)):
        most = max(most, busy[r])
    return cycles + most


@part
def even_cost(
    tb: MoveTables, ch: KeepCosts, outer: int, choice: int, inner: int, order_outer: Ints,
    order_inner: Ints, alone: int,
) -> tuple[float, float]:  # fmt: skip
    """Return the energy of an even mapping, leakage aside, and a lower bound of its cycles.

    Parameters
    ----------
    outer, choice, inner
        Tiles of the two memories as shapes, and the spatial choice.
    order_outer, order_inner
        Orders of the loops above each of them, innermost first.
    alone : int
        `UNIT` for everything; `INNER` for a lower bound of what there is without the words of the
        outer memory, whatever the loops: `outer` is the whole nest then.

    Notes
    -----
    Steps that cost the same count together: `steps` in all, of which in `first` the output's words
    have no partial sums. Where the outer memory is double buffered, the time inside its tile, W,
    differs a little between first visits and others, and so does the exchange: the bound takes
    the largest W and the smallest exchange for what sticks out. Otherwise it is exact.
    """
    nt, nd = tb.relevant.shape
    nr = ch.fill.shape[3]
    dims, chunks = np.zeros(2 * nd, np.int64), np.ones(2 * nd, np.int64)
    above = np.ones(nd, np.int64)
    spread = choice if ch.array == INNER else -1
    if not chunks_above(tb.extents[outer], tb.extents[inner], tb.factors[spread], above):
        return np.inf, np.inf
    hidden = above.copy()
    own = lined_up(order_inner, above, 0, dims, chunks)
    if not chunks_above(tb.bounds, tb.extents[outer], tb.factors[-1], above):
        return np.inf, np.inf
    n = lined_up(order_outer, above, own, dims, chunks)
    # by loop: how often it goes on, in all and before the output's words have partial sums
    steps, first = np.zeros(n), np.zeros(n)
    passes = visits = tiles = 1.0  # `tiles` of the outer memory
    for i in range(n - 1, -1, -1):
        d = dims[i]
        steps[i] = (chunks[i] - 1) * passes
        passes *= chunks[i]
        if not tb.reduces[d]:
            first[i] = (chunks[i] - 1) * visits
            visits *= chunks[i]
        if i == own:
            tiles = passes
    state = np.zeros((2, nt, max(n, 1)), np.int64)
    fill, drain = np.zeros((2, nt, 3, nr)), np.zeros((2, nr))
    adders = np.zeros(2)
    around = np.ones(nd, np.int64)
    elements = tb.elements[choice]
    energy = 0.0
    zero = 1.0  # words that enter the parent without partial sums
    for d in range(nd):
        if not tb.reduces[d]:
            zero *= tb.bounds[d]
    for at in range(2):
        if alone == INNER and at == OUTER:
            continue
        start = own if at == OUTER else 0
        shape = outer if at == OUTER else inner
        for t in range(nt):
            if not ch.kept[at, t]:
                continue
            crosses = ch.crosses[at, t]
            passed = choice if crosses else -1
            digits, factors = tb.digits[shape], tb.spread[passed]
            for d in range(nd):
                around[d] = tb.extents[shape, d]
                if at == INNER and ch.array == INNER:
                    around[d] *= tb.factors[choice, d]
            slide = follow(
                tb.relevant[t], tb.slides[t], tb.axis_of[t], tb.coefficient[t], around, dims,
                chunks, start, n, state[at, t],
            )  # fmt: skip
            full = 1.0
            sliding = 0.0
            for i in range(start, n):
                if state[at, t, i] == MOVES:
                    full += steps[i]
                elif state[at, t, i] == SLIDES:
                    sliding += steps[i]
            sent, one, bursts = moved(tb.axes, t, digits, factors, -1)
            less, less_one, fewer = sent, one, bursts
            if sliding > 0:
                less, less_one, fewer = moved(tb.axes, t, digits, factors, slide)
                if alone == INNER and returns(
                    tb.axes.start, tb.axes.dims, t, tb.coefficient[t], tb.extents[shape],
                    tb.factors[passed], hidden,
                ):  # fmt: skip
                    less, less_one, fewer = least_moved(
                        tb.axes, t, tb.slides[t], tb.coefficient[t], tb.extents[shape], digits,
                        tb.factors[passed], factors, hidden,
                    )  # fmt: skip
                    sent, one, bursts = less, less_one, fewer
            sent_all = full * sent + sliding * less
            one_all = full * one + sliding * less_one
            for r in range(nr):
                per, per_one = ch.fill[at, t, SENT, r], ch.fill[at, t, OWN, r]
                fill[at, t, MOVES, r] = sent * per + one * per_one
                fill[at, t, SLIDES, r] = less * per + less_one * per_one
            if ch.startup[at, t] > 0:
                fill[at, t, MOVES, ch.engine] += bursts * ch.startup[at, t]
                fill[at, t, SLIDES, ch.engine] += fewer * ch.startup[at, t]
            if crosses:
                one_all *= elements
            price = ch.energy[at, t]
            if t < nt - 1:
                energy += sent_all * price[READ] + one_all * (price[WRITE] + price[HOP])
                continue
            again = max(0.0, sent_all - zero)
            energy += sent_all * price[COLLECT] + one_all * (price[EMPTY] + price[HOP])
            energy += again * (price[READ] + price[WRITE] + price[HOP])
            zero = one_all - again
            added = elements * one - sent if crosses else 0.0
            for r in range(nr):
                drain[at, r] = (
                    sent * ch.drain[at, t, SENT, r]
                    + one * ch.drain[at, t, OWN, r]
                    + added * ch.drain[at, t, ADDED, r]
                )
            if ch.startup[at, t] > 0:
                drain[at, ch.engine] += bursts * ch.startup[at, t]
            if crosses:
                adders[at] = added * ch.adding[at] + adder_levels(
                    ch.adders, tb.reduces, tb.factors[choice]
                )
    unit = np.zeros(nr)
    cycles, per_pass = unit_pass(tb, ch, inner, choice, unit)
    for t in range(nt):
        sent_all = passes * per_pass * unit_words(tb, ch, t, inner, choice)
        one_all = passes * per_pass
        if ch.above[UNIT, t]:
            sent_all *= elements
        if ch.above[UNIT, t] or ch.crosses[UNIT, t]:
            one_all *= elements
        price = ch.energy[UNIT, t]
        energy += one_all * price[HOP]
        if t < nt - 1:
            energy += sent_all * price[READ]
        else:
            energy += sent_all * price[COLLECT] + max(0.0, sent_all - zero) * price[READ]
    # time: inside the tiles of the outer memory first
    busy = np.zeros(nr)
    inside = unit.copy()  # what resources are busy with inside one of its tiles, at least
    longest = cycles  # what that takes, at most
    total = tiles * cycles
    for i in range(own):
        within = steps[i] / tiles
        for partial in (False, True):
            spent = exchange(
                ch.kept[INNER], i, partial, state[INNER], fill[INNER], drain[INNER],
                adders[INNER], True, True, busy,
            )  # fmt: skip
            step = cycles + spent
            if ch.double[INNER]:
                step = max(cycles, spent)
                for r in range(nr):
                    step = max(step, unit[r] + busy[r])
            total += (steps[i] - first[i] if partial else first[i]) * step
            if partial:
                longest += within * step
            else:
                for r in range(nr):
                    inside[r] += within * (unit[r] + busy[r])
    for i in range(own, n):
        for partial in (False, True):
            times = steps[i] - first[i] if partial else first[i]
            if times <= 0:
                continue
            spent = exchange(
                ch.kept[INNER], i, partial, state[INNER], fill[INNER], drain[INNER],
                adders[INNER], True, True, busy,
            )  # fmt: skip
            total += times * spent
            spent = exchange(
                ch.kept[OUTER], i, partial, state[OUTER], fill[OUTER], drain[OUTER],
                adders[OUTER], True, True, busy,
            )  # fmt: skip
            if ch.double[OUTER]:
                over = spent - longest
                for r in range(nr):
                    over = max(over, inside[r] + busy[r] - longest)
                spent = max(0.0, over)
            total += times * spent
    for at in range(2):
        if alone == INNER and at == OUTER:
            continue
        for fills in (True, False):
            total += exchange(
                ch.kept[at], -1, False, state[at], fill[at], drain[at], adders[at], fills,
                not fills, busy,
            )  # fmt: skip
    return energy, total
