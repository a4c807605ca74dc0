"""For which sizes of two memories a label below an array can still be completed to a point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf
from tilewright.mapper.bounds.completion import least_words
from tilewright.mapper.bounds.tables.above_array import NONE, RUN
from tilewright.mapper.engine.staircase import beaten, least_size
from tilewright.mapper.label.labels import (
    ENERGY,
    LAST,
    LEAST_CYCLES,
    LEAST_ENERGY,
    OPEN,
    SHAPE,
    STAGE,
    ZERO,
    bits_column,
    objective_value,
    window_column,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.tables.below_array import Below
    from tilewright.mapper.engine.staircase import Staircase
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.segments import Segment
    from tilewright.mapper.problem.space import Space


@leaf
def can_be_completed(
    sp: Space,
    lk: Links,
    part: Segment,
    row: Ints,
    floats: Floats,
    placed: Ints,
    incumbent: Staircase,
) -> bool:
    """Whether a label below the array can be completed to a point for some sizes.

    Loops above the array may serve the tiles of nodes that stand before all loops below it, and
    slides may go on. Raises the bound of the label.
    """
    below = incumbent.below
    first = least_size(lk, part, floats, row[STAGE], 0, incumbent)
    least_second = incumbent.floor[1]
    nt = sp.relevant.shape[0]
    output = nt - 1
    shape = row[SHAPE]
    arrays = len(sp.unroll_start) - 1
    begun = below.stage[row[STAGE]]
    carried = 0  # nodes that loops above the array serve, before any other loop
    for t in range(nt):
        served = row[OPEN + t] != shape
        if sp.windows[t] >= 0:
            served = served or row[window_column(nt, arrays, sp.windows[t])] >= 0
        if served and row[LAST] < 0 and below.stage_next[begun, t] >= 0:
            carried |= 1 << t
    paid = floats[ENERGY] + below.tail + lk.leakage * floats[LEAST_CYCLES]
    for k in range(placed[output], lk.length[output]):
        paid -= lk.again[output, k] * floats[ZERO]
        if lk.fresh[output, k] == 1:
            break  # from here on every entry begins from zero
    used = floats[bits_column(lk) + below.memory]
    counts = below.memory == incumbent.varied[1]
    least = np.inf
    hopeful = False
    for chosen in range(1 << nt):
        if chosen & ~carried != 0:
            continue
        stage = begun
        cost, bits = paid, used
        for t in range(nt):
            if (chosen >> t) & 1 == 0:
                continue
            cost += next_tile(sp, below, row, floats, t, True)
            if lk.memory[t, placed[t]] == below.memory:
                bits += lk.bits[t, placed[t]] * sp.words[t, shape]
            stage = below.stage_next[stage, t]
        at = (below.row[shape] * len(below.stage_next) + stage) * len(below.kind)
        for flag in range(len(below.kind)):
            own = cost
            if below.kind[flag] != NONE:
                t = below.tensor[flag]
                if below.stage_next[stage, t] < 0:
                    continue
                w = sp.windows[t]
                column = window_column(nt, arrays, w)
                e = below.at[flag]
                if below.kind[flag] == RUN:
                    e = sp.window_of[w, e]
                if row[column] != e or row[column + 2] == 0:
                    continue
                own += next_tile(sp, below, row, floats, t, below.united[flag] == 1)
            for i in range(below.begin[at + flag], below.begin[at + flag + 1]):
                size = bits + below.bits[i]
                if size > lk.capacity[below.memory]:
                    break
                energy = own + below.cost[i]
                least = min(least, energy)
                if not hopeful:
                    value, tie = objective_value(incumbent.goal, energy, floats[LEAST_CYCLES])
                    second = max(least_second, size if counts else 0.0)
                    hopeful = value < np.inf and not beaten(incumbent, first, second, value, tie)
    floats[LEAST_ENERGY] = max(floats[LEAST_ENERGY], least)
    return hopeful


@leaf
def next_tile(sp: Space, below: Below, row: Ints, floats: Floats, t: int, united: bool) -> float:
    """Return what the next tile of a tensor costs at least that moves for loops around the label.

    What is sent to the instances counts where it is `united`.
    """
    words = least_words(sp, row, t)
    w = sp.windows[t]
    sent = 0.0
    slides = False
    if w >= 0:
        sent = floats[len(floats) - 1 - w]
        words = max(words, sent * below.copies[t])
        slides = row[window_column(sp.relevant.shape[0], len(sp.unroll_start) - 1, w)] >= 0
    energy = below.received[t] * words
    if united:
        if not slides:
            sent = max(sent, words * below.union[t, below.row[row[SHAPE]]])
        energy += below.sent[t] * sent
    return float(energy)
