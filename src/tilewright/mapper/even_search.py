"""Kernels that look for even mappings below a ceiling: inner tiles first, then outer ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.even_chain import (
    COLLECT,
    EMPTY,
    HOP,
    INNER,
    OUTER,
    OWN,
    READ,
    SENT,
    UNIT,
    WRITE,
)
from tilewright.mapper.even_cost import chunks_of, even_cost, least_moved, moved, unit_pass
from tilewright.model.kernel import kernel, part

if TYPE_CHECKING:
    from tilewright.mapper.even_chain import Chain
    from tilewright.mapper.even_tables import Tables
    from tilewright.model.types import Floats, Ints

SLACK = 1e-12


@part
def value_of(goal: Floats, energy: float, cycles: float, leakage: float) -> float:
    """Return the objective; infinite beyond a limit. `goal` is that of `Objective.goal`."""
    energy += cycles * leakage
    if energy > goal[4] * (1 + SLACK) or cycles > goal[5] * (1 + SLACK):
        return np.inf
    return float(energy ** goal[0] * cycles ** goal[1])


@part
def roughly(
    tb: Tables, ch: Chain, choice: int, inner: int, steps: Floats, energy: float, goal: Floats
) -> float:
    """Return a lower bound of what mappings with this tile of the inner memory cost.

    Whatever loop stands innermost, tiles that it is relevant to move every time. `steps` are the
    chunks of each dimension above the tile, `energy` is spent anyway.
    """
    nt, nd = tb.relevant.shape
    nr = ch.fill.shape[3]
    busy = np.zeros(nr)
    cycles, _ = unit_pass(tb, ch, inner, choice, busy)
    passes = 1.0
    for d in range(nd):
        passes *= steps[d]
    least = np.zeros(nt)  # cycles of an exchange
    price = np.zeros(nt)  # pJ
    often = np.ones(nt)  # exchanges, at least
    for t in range(nt):
        if not ch.kept[INNER, t]:
            continue
        crosses = ch.crosses[INNER, t]
        sent, own, bursts = least_moved(tb, ch, t, inner, choice)
        for d in range(nd):
            if tb.relevant[t, d]:
                often[t] *= steps[d]
        way = ch.fill if t < nt - 1 else ch.drain
        for r in range(nr):
            spent = sent * way[INNER, t, SENT, r] + own * way[INNER, t, OWN, r]
            if r == ch.engine:
                spent += bursts * ch.startup[INNER, t]
            least[t] = max(least[t], spent)
        if ch.above[INNER, t]:
            sent *= tb.elements[choice]
        if ch.above[INNER, t] or crosses:
            own *= tb.elements[choice]
        cost = ch.energy[INNER, t]
        if t < nt - 1:
            price[t] = sent * cost[READ] + own * (cost[WRITE] + cost[HOP])
        else:
            price[t] = sent * cost[COLLECT] + own * (cost[EMPTY] + cost[HOP])
    best = np.inf
    for d in range(nd):
        if steps[d] == 1 and passes > 1:
            continue
        spent = energy
        waits = 0.0
        for t in range(nt):
            if tb.relevant[t, d]:
                waits = max(waits, least[t])
                spent += passes * price[t]
            else:
                spent += often[t] * price[t]
        step = max(cycles, waits) if ch.double[INNER] else cycles + waits
        best = min(best, value_of(goal, spent, (passes - 1) * step + cycles, ch.leakage))
    return best if nd > 0 else 0.0


@kernel
def unit_energy(tb: Tables, ch: Chain, choice: int) -> float:
    """Return pJ that the words of the compute unit take at least."""
    nt, nd = tb.relevant.shape
    operations = 1.0
    top = len(tb.digits) - 1
    for d in range(nd):
        operations *= tb.values[d, tb.digits[top, d]]
    energy = ch.operations
    for t in range(nt):
        sent = operations
        if ch.crosses[UNIT, t]:
            sent /= tb.elements[choice]
            for a in range(tb.axis_start[t], tb.axis_start[t + 1]):
                fewest = 1
                for k in range(tb.axis_dims.shape[1]):
                    d = tb.axis_dims[a, k]
                    if d >= 0:
                        fewest = max(fewest, tb.values[d, tb.spread[choice, d]])
                sent *= fewest
        energy += operations * ch.energy[UNIT, t, HOP]
        energy += sent * ch.energy[UNIT, t, READ if t < nt - 1 else COLLECT]
    return energy


@kernel
def inner_choices(
    tb: Tables, ch: Chain, shapes: Ints, seqs: Ints, outside: float, goal: Floats, ceiling: float,
    fewest: bool,
) -> tuple[Floats, Ints]:  # fmt: skip
    """Return spatial choices and tiles of the inner memory that may lead below a ceiling.

    Parameters
    ----------
    shapes
        Tiles that fit.
    seqs
        Orders of loops.
    outside
        pJ that the words of the outer memory take at least.
    fewest
        Whether to return the best tile of each spatial choice alone.

    Returns
    -------
    tuple
        Lower bounds, and (spatial choice, tile).
    """
    nd = len(tb.reduces)
    top = len(tb.digits) - 1
    bounds = np.zeros(1024)
    found = np.zeros((1024, 2), np.int64)
    n = 0
    steps = np.ones(nd)
    operations = 1.0
    for d in range(nd):
        operations *= tb.values[d, tb.digits[top, d]]
    for choice in range(len(tb.spread)):
        energy = outside + unit_energy(tb, ch, choice)
        if value_of(goal, energy, operations * ch.cycles / tb.elements[choice], ch.leakage) >= ceiling:
            continue
        most = ceiling
        mine = -1
        for inner in shapes:
            fits = True
            for d in range(nd):
                left = chunks_of(tb, ch, INNER, d, top, choice, inner, INNER)
                if left >= 0 and ch.array == UNIT:
                    if tb.quotient[d, tb.digits[inner, d], tb.spread[choice, d]] < 0:
                        left = -1
                if left < 0:
                    fits = False
                    break
                steps[d] = tb.values[d, left]
            if not fits or roughly(tb, ch, choice, inner, steps, energy, goal) >= most:
                continue
            least = np.inf
            for q in range(len(seqs)):
                if q > 0 and seqs[q, nd] and steps[seqs[q, 0]] == 1:
                    continue
                spent, cycles = even_cost(tb, ch, top, choice, inner, seqs[0], seqs[q], INNER)
                spent += outside + ch.operations
                least = min(least, value_of(goal, spent, cycles, ch.leakage))
            if least >= most:
                continue
            if fewest:
                most, mine = least, inner
                continue
            if n == len(bounds):
                bounds = np.concatenate((bounds, np.zeros(n)))
                found = np.concatenate((found, np.zeros((n, 2), np.int64)))
            bounds[n] = least
            found[n, 0], found[n, 1] = choice, inner
            n += 1
        if fewest and mine >= 0:
            if n == len(bounds):
                bounds = np.concatenate((bounds, np.zeros(n)))
                found = np.concatenate((found, np.zeros((n, 2), np.int64)))
            bounds[n] = most
            found[n, 0], found[n, 1] = choice, mine
            n += 1
    return bounds[:n], found[:n]


@kernel
def outer_energies(tb: Tables, ch: Chain, shapes: Ints, seqs: Ints) -> Floats:
    """Return pJ that the words of the outer memory take at least, tile by tile."""
    found = np.zeros(len(shapes))
    for i in range(len(shapes)):
        least = np.inf
        for q in range(len(seqs)):
            energy, _ = even_cost(tb, ch, shapes[i], 0, 0, seqs[q], seqs[0], OUTER)
            least = min(least, energy)
        found[i] = least
    return found


@kernel
def whole_mappings(
    tb: Tables, ch: Chain, bounds: Floats, pairs: Ints, outer_shapes: Ints, outside: Floats,
    seqs: Ints, goal: Floats, ceiling: float, fixed: bool, most: int,
) -> tuple[Floats, Ints]:  # fmt: skip
    """Return mappings whose lower bound is below a ceiling: choice, tiles, orders.

    Parameters
    ----------
    bounds, pairs
        What `inner_choices` found, the least bound first.
    outer_shapes, outside
        Tiles of the outer memory that fit, with the energy of its words, the least first.
    fixed
        Whether the ceiling stays; otherwise every bound lowers it, and only the last is returned.
    most
        Mappings at most.

    Returns
    -------
    tuple
        Lower bounds, and (outer tile, spatial choice, inner tile, outer order, inner order).
    """
    nd = len(tb.reduces)
    values = np.zeros(64)
    found = np.zeros((64, 5), np.int64)
    n = 0
    for i in range(len(bounds)):
        if bounds[i] >= ceiling:
            break
        choice, inner = pairs[i, 0], pairs[i, 1]
        # what is spent inside at least, whatever the tile of the outer memory
        energies, times = np.full(len(seqs), np.inf), np.full(len(seqs), np.inf)
        for q in range(len(seqs)):
            energies[q], times[q] = even_cost(
                tb, ch, len(tb.digits) - 1, choice, inner, seqs[0], seqs[q], INNER
            )
        least_energy, least_time = energies.min() + ch.operations, times.min()
        for k in range(len(outer_shapes)):
            if value_of(goal, least_energy + outside[k], least_time, ch.leakage) >= ceiling:
                break
            outer = outer_shapes[k]
            fits = True
            for d in range(nd):
                if (
                    chunks_of(tb, ch, INNER, d, outer, choice, inner, UNIT) < 0
                    or chunks_of(tb, ch, OUTER, d, outer, choice, inner, UNIT) < 0
                ):
                    fits = False
                    break
            if not fits:
                continue
            for q in range(len(seqs)):
                if q > 0 and seqs[q, nd] and (
                    chunks_of(tb, ch, INNER, seqs[q, 0], outer, choice, inner, UNIT) == 0
                ):
                    continue
                for p in range(len(seqs)):
                    if p > 0 and seqs[p, nd] and (
                        chunks_of(tb, ch, OUTER, seqs[p, 0], outer, choice, inner, UNIT) == 0
                    ):
                        continue
                    energy, cycles = even_cost(
                        tb, ch, outer, choice, inner, seqs[p], seqs[q], UNIT
                    )
                    value = value_of(goal, energy + ch.operations, cycles, ch.leakage)
                    if value >= ceiling:
                        continue
                    if not fixed:
                        ceiling = value
                        n = 0
                    elif n == most:
                        return values[:n], found[:n]
                    elif n == len(values):
                        values = np.concatenate((values, np.zeros(n)))
                        found = np.concatenate((found, np.zeros((n, 5), np.int64)))
                    values[n] = value
                    found[n, 0], found[n, 1], found[n, 2] = outer, choice, inner
                    found[n, 3], found[n, 4] = p, q
                    n += 1
    return values[:n], found[:n]
