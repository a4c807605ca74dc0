"""The table of what is still to come at one port above the first array, in cycles.

A memory that is too small asks for words again and again through a port of limited bandwidth. The
tables of energy know that, in pJ. The same tables, filled with cycles per word in place of pJ, tell
how many cycles the port takes at least from every shape and stage on.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.bounds.crossing.crossing_links import children
from tilewright.mapper.bounds.tables.above_array import NO_PORT, Scarce
from tilewright.mapper.bounds.tables.choice_tables import (
    Tables,
    bounded_above,
    inner_table,
    outer_steps,
)
from tilewright.mapper.bounds.tables.screening import Screening, screening_bound
from tilewright.mapper.problem.link_costs import Links
from tilewright.mapper.problem.space import Space

if TYPE_CHECKING:
    from tilewright.mapper.bounds.plan import Plan

MOST_STATES = 1 << 18  # shapes and stages; a table of more takes gigabytes
TRIED = 2  # ports that get tables, of which the one that takes longest stays


def rates_across(sp: Space, lk: Links, r: int) -> tuple[Floats, Floats]:
    """Return the cycles of a port per word that crosses the first array.

    Returns
    -------
    array of (choices, tensors), array of tensors
        Per word that is delivered, for all spatial choices of the array; and the least per word
        that the sender reads. See `tensor_costs.rate_across`.
    """
    nt, own = len(sp.relevant), slice(0, int(sp.unroll_start[1]))
    rate, least = np.zeros((len(sp.unroll), nt)), np.zeros(nt)
    for t in range(nt):
        link = crossing_link(lk, t)
        last = link == lk.length[t] - 1
        each = np.full(own.stop, lk.load[r, t, link, 0])
        united = np.ones(own.stop)
        if lk.unites[0, t]:
            united = sp.unroll_reuse[own, t]
            each /= sp.unroll_sharing[own, t] if last else united
        for k in range(1, int(lk.arrays[t, link, 1]) if last else 1):
            if lk.unites[k, t]:
                # windows may overlap across arrays
                most = sp.unroll_product[sp.unroll_start[k]]
                each /= sp.most_sharing[k, t] if sp.windows[t] < 0 else most
        least[t] = (each * united).min()
        if last:
            # however many share a word, each is sent once
            once = float(lk.load[r, t, link, 0]) * sp.words[t, -1] / sp.operations
            each = np.maximum(each, once)
        rate[own, t] = each
    return rate, least


def crossing_link(lk: Links, t: int) -> int:
    """Return the link of a tensor that crosses the first array."""
    return next(link for link in range(int(lk.length[t])) if lk.arrays[t, link, 1] > 0)


def in_cycles(sp: Space, lk: Links, r: int) -> Links:
    """Return links whose energy is the cycles of a port above the first array.

    What enters from zero is left out: `entered`.
    """
    rate, least = rates_across(sp, lk, r)
    return lk._replace(
        energy=lk.load[r],
        again=np.zeros_like(lk.again),
        rate=rate,
        besides=np.zeros_like(lk.besides),
        least=np.broadcast_to(least, lk.least.shape).copy(),
        rest_slope=np.zeros_like(lk.rest_slope),
        rest_base=np.zeros_like(lk.rest_base),
    )


def entered(sp: Space, lk: Links, r: int) -> float:
    """Return the cycles that a port is spared because words enter from zero."""
    above = (lk.arrays[:, :, 0] == 0) & (np.arange(lk.arrays.shape[1]) < lk.length[:, None])
    return float((lk.held[r] * above * sp.words[:, -1:]).sum())


def port_bounds(tables: Tables, plan: Plan, choices: Ints, jointly: bool, slowest: float) -> Scarce:
    """Return the table of the port above the first array that takes longest, as far as is known.

    Parameters
    ----------
    choices, jointly
        As in `tables.inner_bounds`.
    slowest : float
        Cycles of the mappings that matter.
    """
    sp, part = tables.space, plan.parts[0]
    if len(part.stage_count) * len(sp.repeats) > MOST_STATES:
        return NO_PORT
    first = slice(0, int(sp.unroll_start[1]))
    alone: list[tuple[float, int, Links, Screening]] = []
    for r in np.flatnonzero(plan.lk.load_arrays == 0).tolist():
        lk = in_cycles(sp, plan.lk, r)
        spared = entered(sp, plan.lk, r)
        screening = screening_bound(
            sp, lk, part.stage_count, tables.slides.least, tables.fitting, -spared, slowest
        )
        across = 0.0
        for t in range(len(sp.relevant)):
            straight = crossing_link(lk, t) == lk.length[t] - 1
            words = sp.operations if straight else sp.words[t, -1]
            across += float(lk.rate[first, t].min()) * words
        alone.append((float(screening.stages[0, -1]) + across, r, lk, screening))
    alone.sort(key=lambda each: -each[0])
    best, longest = NO_PORT, 0.0
    for _, r, lk, screening in alone[:TRIED]:
        found = port_table(tables, plan, r, lk, screening, choices, jointly)
        least = of_whole_nest(found) - entered(sp, plan.lk, r)
        if least > longest:
            best, longest = found, least
    return best


def of_whole_nest(scarce: Scarce) -> float:
    """Return what the whole nest costs where nothing is paid yet, with all bits."""
    row = scarce.row[-1, 0]
    if row < 0 or scarce.length[row, -1] == 0:
        return inf
    return float(scarce.cost[scarce.begin[row, -1] + scarce.length[row, -1] - 1])


def port_table(
    tables: Tables,
    plan: Plan,
    r: int,
    lk: Links,
    screening: Screening,
    choices: Ints,
    jointly: bool,
) -> Scarce:
    """Return the table of one port, whose cycles are the energy of some links."""
    sp, part = tables.space, plan.parts[0]
    na, nt = len(sp.unroll_start) - 1, len(sp.relevant)
    table = np.full((na, len(sp.repeats), 2 * nt + 1), np.inf)
    crossing, key, rows = children(sp, lk, tables.of_memory, 0, int(choices[0]), tables.reuse)
    moves = sp.moves if na == 1 else np.concatenate((sp.moves, sp.outermost))
    inner_table(
        sp._replace(moves=moves), crossing, key, rows, table[0], np.zeros(len(sp.unroll), np.bool_),
        tables.inner, jointly, screening.stages[-1], screening.most,
    )  # fmt: skip
    memory = that_asks(lk, r, bounded_above(lk, part))
    found = outer_steps(sp, lk._replace(table=table), part, tables.slides, screening, memory)
    slot = int(part.place_memory[memory]) if memory >= 0 else -1
    return Scarce(
        port=r,
        memory=memory,
        slot=slot,
        row=found.row,
        begin=found.begin,
        length=found.length,
        bits=found.bits,
        cost=found.cost,
        stays=found.stays,
        kind=found.kind,
        tensor=found.tensor,
        least=lk.least[0].copy(),
    )


def that_asks(lk: Links, r: int, bounded: list[int]) -> int:
    """Return the memory whose bits count for a port: inside of it, with the most tensors; or -1."""
    receivers = lk.memory[(lk.load[r, :, :, 0] > 0) & (lk.memory >= 0)]
    inside = [m for m in bounded if m >= receivers.min(initial=len(lk.capacity))]
    return max(inside, key=lambda m: (int((lk.memory == m).sum()), -m), default=-1)
