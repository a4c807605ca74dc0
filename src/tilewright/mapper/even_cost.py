"""What an even mapping costs under pipelined latency: energy, and the fewest cycles it can take."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.even_chain import (
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
from tilewright.mapper.even_tables import ALL, APART, BURSTS, COLUMNS, SLIDING, WHOLE
from tilewright.mapper.even_tables import OWN as ONE
from tilewright.model.kernel import kernel, part

if TYPE_CHECKING:
    from tilewright.mapper.even_chain import Chain
    from tilewright.mapper.even_tables import Tables
    from tilewright.model.types import Floats, Ints

STAYS, SLIDES, MOVES = range(3)


@part
def moved(
    tb: Tables, t: int, shape: int, choice: int, crosses: bool, slide: int
) -> tuple[float, float, float]:
    """Return words of all instances, of one, and contiguous runs that come with a tile.

    `slide` is the dimension along which it slides, -1 when all of it moves.
    """
    width = tb.values.shape[1]
    sent = own = bursts = 1.0
    parted = False
    for a in range(tb.axis_start[t + 1] - 1, tb.axis_start[t] - 1, -1):
        row = tb.axis_row[a]
        column = -1
        for k in range(tb.axis_dims.shape[1]):
            d = tb.axis_dims[a, k]
            if d < 0:
                break
            code = tb.digits[shape, d] * width
            if crosses:
                code += tb.spread[choice, d]
            row += code * tb.axis_weight[a, k]
            if d == slide:
                column = COLUMNS + SLIDING * k
        words = tb.words[row]
        whole = column < 0 and words[WHOLE] > 0
        column = max(column, 0)
        sent *= words[column + ALL]
        own *= words[column + ONE]
        if parted:
            bursts *= words[column + ALL]
        elif not whole:
            bursts *= words[column + BURSTS]
            parted = True
    return sent, own, bursts


@part
def unit_words(tb: Tables, ch: Chain, t: int, inner: int, choice: int) -> float:
    """Return the words of a tensor that all compute units take in a step."""
    if not ch.crosses[UNIT, t]:
        return 1.0
    shape = inner if ch.array == INNER else 0
    width = tb.values.shape[1]
    words = 1.0
    for a in range(tb.axis_start[t], tb.axis_start[t + 1]):
        row = tb.axis_row[a]
        for k in range(tb.axis_dims.shape[1]):
            d = tb.axis_dims[a, k]
            if d >= 0:
                row += (tb.digits[shape, d] * width + tb.spread[choice, d]) * tb.axis_weight[a, k]
        words *= tb.words[row, APART]
    return words


@part
def adder_levels(ch: Chain, sharing: float) -> float:
    """Return the cycles of adders on which so many elements meet."""
    if sharing <= 1:
        return 0.0
    if ch.adders == TREE:
        return float(np.ceil(np.log2(sharing) - 1e-9))
    return sharing - 1 if ch.adders == HOPS else 0.0


@part
def sharing(tb: Tables, choice: int) -> float:
    """Return how many elements work on the same words of the output."""
    found = 1.0
    for d in range(len(tb.reduces)):
        if tb.reduces[d]:
            found *= tb.values[d, tb.spread[choice, d]]
    return found


@part
def unit_pass(
    tb: Tables, ch: Chain, inner: int, choice: int, busy: Floats
) -> tuple[float, float]:
    """Return cycles and steps of a pass of the compute unit; add to what resources are busy."""
    nt, nd = tb.relevant.shape
    steps = 1.0
    for d in range(nd):
        steps *= tb.values[d, tb.digits[inner, d]]
    if ch.array == UNIT:
        steps /= tb.elements[choice]
    cycles = 0.0
    for t in range(nt):
        words = unit_words(tb, ch, t, inner, choice)
        for r in range(len(busy)):
            busy[r] += steps * words * ch.fill[UNIT, t, SENT, r]
        if ch.startup[UNIT, t] > 0:
            busy[ch.engine] += steps * words * ch.startup[UNIT, t]
        if t < nt - 1:
            continue
        added = tb.elements[choice] - words if ch.crosses[UNIT, t] else 0.0
        for r in range(len(busy)):
            busy[r] += steps * words * ch.drain[UNIT, t, SENT, r]
            busy[r] += steps * added * ch.drain[UNIT, t, ADDED, r]
        if ch.startup[UNIT, t] > 0:
            busy[ch.engine] += steps * words * ch.startup[UNIT, t]
        if ch.crosses[UNIT, t]:
            cycles += adder_levels(ch, sharing(tb, choice))
    most = np.ceil(steps * ch.cycles)
    for r in range(len(busy)):
        most = max(most, busy[r])
    return cycles + most, steps


@part
def chunks_of(
    tb: Tables, ch: Chain, block: int, d: int, outer: int, choice: int, inner: int, alone: int
) -> int:
    """Return the position of a dimension's chunks above the tile of a memory, -1 for none."""
    top = len(tb.digits) - 1
    if block == INNER:
        left = tb.quotient[d, tb.digits[top if alone == INNER else outer, d], tb.digits[inner, d]]
    else:
        left = tb.quotient[d, tb.digits[top, d], tb.digits[outer, d]]
    if left >= 0 and ch.array == block:
        left = tb.quotient[d, left, tb.spread[choice, d]]
    return int(left)


@part
def nest(
    tb: Tables, ch: Chain, outer: int, choice: int, inner: int, seq_outer: Ints, seq_inner: Ints,
    alone: int, dims: Ints, chunks: Floats,
) -> tuple[int, int]:  # fmt: skip
    """List the loops of more than one chunk, innermost first: those of the inner memory, and all.

    Returns how many there are, or -1 where the tiles do not divide each other.
    """
    nd = len(tb.reduces)
    n = own = 0
    for block in (INNER, OUTER):
        if (block == OUTER and alone == INNER) or (block == INNER and alone == OUTER):
            continue
        for k in range(nd):
            d = seq_inner[k] if block == INNER else seq_outer[k]
            left = chunks_of(tb, ch, block, d, outer, choice, inner, alone)
            if left < 0:
                return -1, -1
            if left > 0:
                dims[n] = d
                chunks[n] = tb.values[d, left]
                n += 1
        if block == INNER:
            own = n
    return own, n


@part
def follow(
    tb: Tables, ch: Chain, t: int, shape: int, choice: int, first: int, n: int, dims: Ints,
    chunks: Floats, inside: bool, state: Ints,
) -> int:  # fmt: skip
    """Note what a tensor's tile does when each loop goes on; return along what it slides.

    A tile that has moved along one axis alone may come to where it was before when another loop on
    that axis goes on: it stays.
    """
    nd = len(tb.reduces)
    around = np.ones(nd)  # iterations of each dimension inside a loop
    for d in range(nd):
        around[d] = tb.values[d, tb.digits[shape, d]]
        if inside and ch.array == INNER:
            around[d] *= tb.values[d, tb.spread[choice, d]]
    axis = slide = -1
    back = 0.0  # how far the loops inside go back
    running = alone = False
    for i in range(first, n):
        d = dims[i]
        step = tb.coefficient[t, d] * around[d]
        state[i] = STAYS
        if tb.relevant[t, d]:
            if axis < 0:
                axis = tb.axis_of[t, d]
                running = alone = tb.slides[t, d]
                slide = d if running else -1
            running = running and d == slide
            alone = alone and tb.axis_of[t, d] == axis
            if running:
                state[i] = SLIDES
            elif not alone or step != back:
                state[i] = MOVES
            back += step * (chunks[i] - 1)
        elif axis >= 0:
            state[i] = MOVES
        around[d] *= chunks[i]
    return slide


@part
def returns(tb: Tables, ch: Chain, t: int, inner: int, choice: int) -> bool:
    """Whether a tile of the inner memory may come to where it was before.

    That takes loops on two dimensions of an axis, of which the one goes as far as the other ones
    inside go back: a*x = (n-1)*b*y for steps a*x and b*y and n chunks inside.
    """
    top = len(tb.digits) - 1
    for a in range(tb.axis_start[t], tb.axis_start[t + 1]):
        cut = 0
        for k in range(tb.axis_dims.shape[1]):
            d = tb.axis_dims[a, k]
            if d >= 0 and chunks_of(tb, ch, INNER, d, top, choice, inner, INNER) > 0:
                cut += 1
        if cut < 2:
            continue
        if cut > 2:
            return True
        for k in range(tb.axis_dims.shape[1]):
            for m in range(tb.axis_dims.shape[1]):
                d, e = tb.axis_dims[a, k], tb.axis_dims[a, m]
                if k == m or d < 0 or e < 0:
                    continue
                go = tb.coefficient[t, d] * tb.values[d, tb.digits[inner, d]]
                back = tb.coefficient[t, e] * tb.values[e, tb.digits[inner, e]]
                if ch.array == INNER:
                    go *= tb.values[d, tb.spread[choice, d]]
                    back *= tb.values[e, tb.spread[choice, e]]
                left = chunks_of(tb, ch, INNER, e, top, choice, inner, INNER)
                if left > 0 and go % back == 0 and tb.values[e, left] % (go // back + 1) == 0:
                    return True
    return False


@part
def least_moved(
    tb: Tables, ch: Chain, t: int, inner: int, choice: int
) -> tuple[float, float, float]:
    """Return the least that `moved` is for a tile of the inner memory, however it moves.

    Halved where every other step may bring nothing, see `returns`.
    """
    top = len(tb.digits) - 1
    crosses = ch.crosses[INNER, t]
    sent, own, bursts = moved(tb, t, inner, choice, crosses, -1)
    slid = False
    for d in range(len(tb.reduces)):
        if tb.slides[t, d] and chunks_of(tb, ch, INNER, d, top, choice, inner, INNER) > 0:
            less, less_own, _ = moved(tb, t, inner, choice, crosses, d)
            sent, own, bursts = min(sent, less), min(own, less_own), 1.0
            slid = True
    if slid and returns(tb, ch, t, inner, choice):
        return sent / 2, own / 2, bursts / 2
    return sent, own, bursts


@part
def exchange(
    ch: Chain, at: int, loop: int, partial: bool, state: Ints, fill: Floats, drain: Floats,
    adders: float, fills: bool, drains: bool, busy: Floats,
) -> float:  # fmt: skip
    """Return the cycles of an exchange when a loop goes on; put what resources are busy."""
    nt = ch.kept.shape[1]
    busy[:] = 0.0
    cycles = 0.0
    for t in range(nt):
        if not ch.kept[at, t]:
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


@kernel
def even_cost(
    tb: Tables, ch: Chain, outer: int, choice: int, inner: int, seq_outer: Ints, seq_inner: Ints,
    alone: int,
) -> tuple[float, float]:  # fmt: skip
    """Return the energy of an even mapping, leakage aside, and a lower bound of its cycles.

    Parameters
    ----------
    outer, choice, inner
        Tiles of the two memories as shapes, and the spatial choice.
    seq_outer, seq_inner
        Orders of the loops above each of them, innermost first.
    alone : int
        `UNIT` for everything; `OUTER` for the energy of words that the outer memory takes;
        `INNER` for everything but those, with the least of partial sums.

    Notes
    -----
    Steps that cost the same count together: `steps` in all, of which the first visits of the
    output's tiles need no partial sums. Where the outer memory is double buffered, the time inside
    its tile, W, differs a little between first visits and others, and so does the exchange: the
    bound takes the largest W and the smallest exchange for what sticks out. Otherwise it is exact.
    """
    nt, nd = tb.relevant.shape
    nr = ch.fill.shape[3]
    dims = np.zeros(2 * nd, np.int64)
    chunks = np.ones(2 * nd)
    own, n = nest(tb, ch, outer, choice, inner, seq_outer, seq_inner, alone, dims, chunks)
    if n < 0:
        return np.inf, np.inf
    # by loop: how often it goes on, in all and before the output's words have partial sums
    steps, first = np.zeros(n), np.zeros(n)
    outside = visits = 1.0
    tiles = 1.0  # of the outer memory
    for i in range(n - 1, -1, -1):
        steps[i] = (chunks[i] - 1) * outside
        first[i] = 0.0 if tb.reduces[dims[i]] else (chunks[i] - 1) * visits
        outside *= chunks[i]
        if not tb.reduces[dims[i]]:
            visits *= chunks[i]
        if i == own:
            tiles = outside
    state = np.zeros((2, nt, max(n, 1)), np.int64)
    fill, drain = np.zeros((2, nt, 3, nr)), np.zeros((2, nr))
    adders = np.zeros(2)
    elements = tb.elements[choice]
    energy = 0.0
    zero = 1.0  # partial sums from zero of the parent
    for d in range(nd):
        if not tb.reduces[d]:
            zero *= tb.values[d, tb.digits[len(tb.digits) - 1, d]]
    for at in range(2):
        if (alone == OUTER and at == INNER) or (alone == INNER and at == OUTER):
            continue
        start = own if at == OUTER else 0
        shape = outer if at == OUTER else inner
        for t in range(nt):
            if not ch.kept[at, t]:
                continue
            slide = follow(
                tb, ch, t, shape, choice, start, n, dims, chunks, at == INNER, state[at, t]
            )  # fmt: skip
            full = 1.0
            sliding = 0.0
            for i in range(start, n):
                if state[at, t, i] == MOVES:
                    full += steps[i]
                elif state[at, t, i] == SLIDES:
                    sliding += steps[i]
            crosses = ch.crosses[at, t]
            sent, one, bursts = moved(tb, t, shape, choice, crosses, -1)
            less, less_one, fewer = sent, one, bursts
            if sliding > 0:
                less, less_one, fewer = moved(tb, t, shape, choice, crosses, slide)
            if alone == INNER and slide >= 0 and returns(tb, ch, t, inner, choice):
                sent, one, bursts = least_moved(tb, ch, t, inner, choice)
                less, less_one, fewer = sent, one, bursts
            sent_all, one_all = full * sent, full * one
            for r in range(nr):
                fill[at, t, MOVES, r] = sent * ch.fill[at, t, SENT, r] + one * ch.fill[at, t, OWN, r]
            if ch.startup[at, t] > 0:
                fill[at, t, MOVES, ch.engine] += bursts * ch.startup[at, t]
            if sliding > 0:
                sent_all += sliding * less
                one_all += sliding * less_one
                for r in range(nr):
                    fill[at, t, SLIDES, r] = (
                        less * ch.fill[at, t, SENT, r] + less_one * ch.fill[at, t, OWN, r]
                    )
                if ch.startup[at, t] > 0:
                    fill[at, t, SLIDES, ch.engine] += fewer * ch.startup[at, t]
            if ch.above[at, t]:
                sent_all *= elements
            if ch.above[at, t] or crosses:
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
                adders[at] = adder_levels(ch, sharing(tb, choice)) + added * ch.adding[at]
    if alone == OUTER:
        return energy, 0.0
    unit = np.zeros(nr)
    cycles, passed = unit_pass(tb, ch, inner, choice, unit)
    passes = outside
    for t in range(nt):
        words = unit_words(tb, ch, t, inner, choice)
        sent_all = passes * passed * words
        one_all = passes * passed
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
            times = steps[i] - first[i] if partial else first[i]
            spent = exchange(
                ch, INNER, i, partial, state[INNER], fill[INNER], drain[INNER], adders[INNER],
                True, True, busy,
            )  # fmt: skip
            step = cycles + spent
            if ch.double[INNER]:
                step = max(cycles, spent)
                for r in range(nr):
                    step = max(step, unit[r] + busy[r])
            total += times * step
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
                ch, INNER, i, partial, state[INNER], fill[INNER], drain[INNER], adders[INNER],
                True, True, busy,
            )  # fmt: skip
            total += times * spent
            if alone == INNER:
                continue
            spent = exchange(
                ch, OUTER, i, partial, state[OUTER], fill[OUTER], drain[OUTER], adders[OUTER],
                True, True, busy,
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
                ch, at, -1, False, state[at], fill[at], drain[at], adders[at], fills, not fills,
                busy,
            )  # fmt: skip
    return energy, total
