"""Kernels that look for even mappings below a ceiling: inner tiles first, then outer ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import inlined, kernel
from tilewright.mapper.pipelined.even_cost import even_cost
from tilewright.mapper.pipelined.even_energies import value_of
from tilewright.mapper.pipelined.tile_moves import (
    apart,
    chunks_above,
    come_back,
    idle,
    least_moved,
)
from tilewright.mapper.pipelined.word_costs import (
    INNER,
    UNIT,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints
    from tilewright.mapper.pipelined.move_tables import MoveTables
    from tilewright.mapper.pipelined.word_costs import KeepCosts


@inlined
def product_of(chosen: Bools, chunks: Ints) -> float:
    """Return the product of the chunks of some dimensions."""
    product = 1.0
    for d in range(len(chunks)):
        if chosen[d]:
            product *= chunks[d]
    return product


@inlined
def leads(pattern: Bools, relevant: Bools, chunks: Ints) -> bool:
    """Whether a loop that is relevant to these tensors alone has several chunks."""
    for d in range(len(chunks)):
        if chunks[d] > 1:
            same = True
            for t in range(len(pattern)):
                same = same and relevant[t, d] == pattern[t]
            if same:
                return True
    return False


class Rates(NamedTuple):
    """What bypass choices with the same innermost memory cost at least (plain arrays).

    Attributes
    ----------
    mask : array of choices
        Which tensors the inner memory keeps, as bits.
    price : array of (bypass choices, tensors, 2)
        pJ per word that the parent sends, and that an instance receives.
    wait : array of (bypass choices, tensors, 4)
        Cycles per word sent, per word received, per word and per run at the DMA engine.
    unit : array of (bypass choices, tensors, 2)
        Cycles per step for operands, and per word that all compute units take together.
    energy : array of (bypass choices, spatial choices)
        pJ that are spent anyway.
    double : bool
        Whether the inner memory is double buffered.
    spread : bool
        Whether the array stands above it.
    """

    mask: Ints
    price: Floats
    wait: Floats
    unit: Floats
    energy: Floats
    double: bool
    spread: bool


@kernel
def survey(
    tb: MoveTables, rates: Rates, cycles_per_step: float, leakage: float, choices: Ints,
    shapes: Ints, fits: Ints, patterns: Bools, goal: Floats, ceiling: float, fewest: bool,
) -> tuple[Floats, Ints]:  # fmt: skip
    """Return bypass and spatial choices with tiles that may lead below a ceiling.

    Whatever loop stands innermost above the inner memory, tiles that it is relevant to move every
    time, by no less than they slide.

    Parameters
    ----------
    choices
        Spatial choices.
    shapes, fits
        Tiles of the inner memory, and the sets of tensors for which each has room, as bits.
    patterns
        Which tensors a dimension is relevant to: all there are.
    fewest
        Whether to return the best tile of each spatial and bypass choice alone.

    Returns
    -------
    tuple
        Lower bounds, and (bypass choice, spatial choice, tile).
    """
    nt, nd = tb.relevant.shape
    nk = len(rates.mask)
    axes, relevant, slides, coefficient = tb.axes, tb.relevant, tb.slides, tb.coefficient
    extents, digits, factors, spreads = tb.extents, tb.digits, tb.factors, tb.spread
    whole, mask, price, wait = tb.bounds, rates.mask, rates.price, rates.wait
    unit, double, spread = rates.unit, rates.double, rates.spread
    bounds = np.zeros(1024)
    found = np.zeros((1024, 3), np.int64)
    n = 0
    chunks = np.ones(nd, np.int64)
    sent, own, bursts = np.zeros(nt), np.zeros(nt), np.zeros(nt)
    often, words, per_tile, waits = np.zeros(nt), np.zeros(nt), np.zeros(nt), np.zeros(nt)
    led = np.zeros(len(patterns), np.bool_)
    active = np.zeros(nk, np.int64)
    most, mine = np.zeros(nk), np.zeros(nk, np.int64)
    operations = 1.0
    for d in range(nd):
        operations *= whole[d]
    for choice in choices:
        elements = tb.elements[choice]
        fastest = operations * cycles_per_step / elements
        na = 0
        for k in range(nk):
            if value_of(goal, rates.energy[k, choice], fastest, leakage) < ceiling:
                active[na] = k
                na += 1
            most[k] = ceiling
            mine[k] = -1
        if na == 0:
            continue
        over = choice if spread else -1
        for i in range(len(shapes)):
            inner = shapes[i]
            if not chunks_above(whole, extents[inner], factors[over], chunks):
                continue
            steps = 1.0
            whole_steps = True
            for d in range(nd):
                steps *= extents[inner, d]
                if not spread and extents[inner, d] % factors[choice, d]:
                    whole_steps = False
            if not whole_steps:
                continue
            if not spread:
                steps /= elements
            passes = 1.0
            for d in range(nd):
                passes *= chunks[d]
            for t in range(nt):
                sent[t], own[t], bursts[t] = least_moved(
                    axes, t, slides[t], coefficient[t], extents[inner], digits[inner],
                    factors[over], spreads[over], chunks,
                )  # fmt: skip
                if spread:
                    own[t] *= elements
                often[t] = product_of(relevant[t], chunks)
                words[t] = apart(axes, t, digits[inner if spread else 0], spreads[choice])
            for g in range(len(patterns)):
                led[g] = passes == 1 or leads(patterns[g], relevant, chunks)
            for a in range(na):
                k = active[a]
                if not fits[i] >> mask[k] & 1:
                    continue
                unit_pass_cycles = np.ceil(steps * cycles_per_step)
                for t in range(nt):
                    taken = unit[k, t, 0] + words[t] * unit[k, t, 1]
                    unit_pass_cycles = max(unit_pass_cycles, steps * taken)
                    each = own[t] / elements if spread else own[t]
                    per_tile[t] = sent[t] * price[k, t, 0] + own[t] * price[k, t, 1]
                    waits[t] = max(
                        sent[t] * wait[k, t, 0],
                        each * wait[k, t, 1],
                        sent[t] * wait[k, t, 2] + bursts[t] * wait[k, t, 3],
                    )
                least = np.inf
                for g in range(len(patterns)):
                    if not led[g]:
                        continue
                    energy = rates.energy[k, choice]
                    longest = 0.0
                    for t in range(nt):
                        if patterns[g, t]:
                            longest = max(longest, waits[t])
                            energy += passes * per_tile[t]
                        else:
                            energy += often[t] * per_tile[t]
                    step = unit_pass_cycles + longest
                    if double:
                        step = max(unit_pass_cycles, longest)
                    time = (passes - 1) * step + unit_pass_cycles
                    least = min(least, value_of(goal, energy, time, leakage))
                if least >= most[k]:
                    continue
                if fewest:
                    most[k] = least
                    mine[k] = inner
                    continue
                if n == len(bounds):
                    bounds = np.concatenate((bounds, np.zeros(n)))
                    found = np.concatenate((found, np.zeros((n, 3), np.int64)))
                bounds[n] = least
                found[n, 0], found[n, 1], found[n, 2] = k, choice, inner
                n += 1
        for k in range(nk):
            if mine[k] >= 0:
                if n == len(bounds):
                    bounds = np.concatenate((bounds, np.zeros(n)))
                    found = np.concatenate((found, np.zeros((n, 3), np.int64)))
                bounds[n] = most[k]
                found[n, 0], found[n, 1], found[n, 2] = k, choice, mine[k]
                n += 1
    return bounds[:n], found[:n]


@kernel
def whole_mappings(
    tb: MoveTables, ch: KeepCosts, bounds: Floats, pairs: Ints, outer_shapes: Ints,
    multiples: Bools, outside: Floats, orders: Ints, goal: Floats, ceiling: float,
    fixed: bool, most: int,
) -> tuple[Floats, Ints]:  # fmt: skip
    """Return mappings whose lower bound is below a ceiling.

    Parameters
    ----------
    bounds, pairs
        What `survey` found for the bypass choice: (spatial choice, tile), the least bound first.
    outer_shapes, multiples, outside
        Tiles of the outer memory that fit; by dimension and divisor, of which of them the extent is
        a multiple; and the energy of its words, the least first.
    fixed
        Whether the ceiling stays; otherwise every bound lowers it, and only the last is returned.
    most
        Mappings at most.

    Returns
    -------
    tuple
        Lower bounds, and (outer tile, spatial choice, inner tile, outer order, inner order).
    """
    nd = len(tb.bounds)
    top = len(tb.extents) - 1
    values = np.zeros(64)
    found = np.zeros((64, 5), np.int64)
    n = 0
    hidden = np.ones(nd, np.int64)
    above, beyond = np.ones(nd, np.int64), np.ones(nd, np.int64)
    fits = np.ones(len(outer_shapes), np.bool_)
    for i in range(len(bounds)):
        if bounds[i] >= ceiling:
            break
        choice, inner = pairs[i, 0], pairs[i, 1]
        over = choice if ch.array == INNER else -1
        factors, spread = tb.factors[over], tb.spread[over]
        chunks_above(tb.bounds, tb.extents[inner], factors, hidden)
        back = come_back(tb.axes, tb.slides, tb.coefficient, tb.extents[inner], factors, hidden)
        # what is spent inside at least, whatever the tile of the outer memory
        least_energy = least_time = least = np.inf
        for q in range(len(orders)):
            if q > 0 and idle(orders[q], hidden, back):
                continue
            energy, time = even_cost(tb, ch, top, choice, inner, orders[0], orders[q], INNER)
            energy += ch.operations
            least_energy, least_time = min(least_energy, energy), min(least_time, time)
            least = min(least, value_of(goal, energy + outside[0], time, ch.leakage))
        if least >= ceiling:
            continue
        # those of the least energy, and of these the multiples of what is inside
        last = len(outer_shapes)
        low = 0
        while low < last:
            middle = (low + last) // 2
            if value_of(goal, least_energy + outside[middle], least_time, ch.leakage) < ceiling:
                low = middle + 1
            else:
                last = middle
        fits[:last] = True
        for d in range(nd):
            row = multiples[d, tb.product[d, tb.digits[inner, d], spread[d]]]
            for k in range(last):
                fits[k] &= row[k]
        for k in range(last):
            if not fits[k]:
                continue
            if value_of(goal, least_energy + outside[k], least_time, ch.leakage) >= ceiling:
                break
            outer = outer_shapes[k]
            extents = tb.extents[outer]
            chunks_above(extents, tb.extents[inner], factors, above)
            chunks_above(tb.bounds, extents, tb.factors[-1], beyond)
            both = back or come_back(
                tb.axes, tb.slides, tb.coefficient, extents, tb.factors[-1], beyond
            )
            for q in range(len(orders)):
                if q > 0 and idle(orders[q], above, both):
                    continue
                for p in range(len(orders)):
                    if p > 0 and idle(orders[p], beyond, both):
                        continue
                    energy, cycles = even_cost(
                        tb, ch, outer, choice, inner, orders[p], orders[q], UNIT
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
