"""The value of an even mapping, and the least energy of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import inlined, kernel
from tilewright.mapper.pipelined.tile_moves import (
    MOVES,
    SLIDES,
    chunks_above,
    follow,
    idle,
    lined_up,
    moved,
)
from tilewright.mapper.pipelined.word_costs import (
    COLLECT,
    EMPTY,
    HOP,
    OUTER,
    READ,
    UNIT,
    WRITE,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.pipelined.move_tables import MoveTables
    from tilewright.mapper.pipelined.word_costs import KeepCosts

SLACK = 1e-12


@inlined
def value_of(goal: Floats, energy: float, cycles: float, leakage: float) -> float:
    """Return the objective; infinite beyond a limit. `goal` is that of `Objective.goal`."""
    energy += cycles * leakage
    if energy > goal[4] * (1 + SLACK) or cycles > goal[5] * (1 + SLACK):
        return np.inf
    value = 1.0
    for quantity, power in ((energy, goal[0]), (cycles, goal[1])):
        if power == 1.0:
            value *= quantity
        elif power != 0.0:
            value *= quantity**power
    return value


@inlined
def price_of(energy: Floats, t: int, sent: float, own: float, output: bool) -> float:
    """Return pJ of words that move on a link: of what the parent sends, and of all instances."""
    if output:
        return float(sent * energy[t, COLLECT] + own * (energy[t, EMPTY] + energy[t, HOP]))
    return float(sent * energy[t, READ] + own * (energy[t, WRITE] + energy[t, HOP]))


@kernel
def unit_energies(tb: MoveTables, ch: KeepCosts) -> Floats:
    """Return pJ that operations and the words of the compute unit take, by spatial choice."""
    nt, nd = tb.relevant.shape
    operations = 1.0
    for d in range(nd):
        operations *= tb.bounds[d]
    found = np.full(len(tb.elements), ch.operations)
    for choice in range(len(found)):
        for t in range(nt):
            sent = operations
            if ch.crosses[UNIT, t]:
                sent /= tb.elements[choice]
                for a in range(tb.axes.start[t], tb.axes.start[t + 1]):
                    fewest = 1
                    for d in tb.axes.dims[a]:
                        if d >= 0:
                            fewest = max(fewest, tb.factors[choice, d])
                    sent *= fewest
            found[choice] += price_of(ch.energy[UNIT], t, sent, operations, t == nt - 1)
    return found


@kernel
def outer_energies(tb: MoveTables, ch: KeepCosts, shapes: Ints, orders: Ints) -> Floats:
    """Return pJ that the words of the outer memory take at least, tile by tile."""
    nt, nd = tb.relevant.shape
    axes, extents, digits = tb.axes, tb.extents, tb.digits
    found = np.full(len(shapes), np.inf)
    chunks, dims, sizes = np.ones(nd, np.int64), np.zeros(nd, np.int64), np.ones(nd, np.int64)
    around, state, steps = np.ones(nd, np.int64), np.zeros(nd, np.int64), np.zeros(nd)
    zero = 1.0
    for d in range(nd):
        if not tb.reduces[d]:
            zero *= tb.bounds[d]
    for i in range(len(shapes)):
        shape = shapes[i]
        chunks_above(tb.bounds, extents[shape], tb.factors[-1], chunks)
        for q in range(len(orders)):
            if q > 0 and idle(orders[q], chunks, True):
                continue
            n = lined_up(orders[q], chunks, 0, dims, sizes)
            passes = 1.0
            for k in range(n - 1, -1, -1):
                steps[k] = (sizes[k] - 1) * passes
                passes *= sizes[k]
            energy = 0.0
            for t in range(nt):
                if not ch.kept[OUTER, t]:
                    continue
                copy(extents[shape], around)
                slide = follow(
                    tb.relevant[t], tb.slides[t], tb.axis_of[t], tb.coefficient[t], around, dims,
                    sizes, 0, n, state,
                )  # fmt: skip
                full = 1.0
                sliding = 0.0
                for k in range(n):
                    if state[k] == MOVES:
                        full += steps[k]
                    elif state[k] == SLIDES:
                        sliding += steps[k]
                words, _, _ = moved(axes, t, digits[shape], tb.spread[-1], -1)
                words *= full
                if sliding > 0:
                    less, _, _ = moved(axes, t, digits[shape], tb.spread[-1], slide)
                    words += sliding * less
                energy += price_of(ch.energy[OUTER], t, words, words, t == nt - 1)
                if t == nt - 1 and words > zero:
                    energy += (words - zero) * (
                        ch.energy[OUTER, t, READ] + ch.energy[OUTER, t, WRITE]
                    )
            found[i] = min(found[i], energy)
    return found
