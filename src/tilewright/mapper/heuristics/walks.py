"""Whole walks through the tile lattice, priced and annealed in compiled code.

A walk is an order of tokens: a temporal loop for every prime factor of every bound, a store node
for every tensor and memory, and the arrays. A factor may be unrolled on an array instead, and a
tensor may bypass a memory: then its token is passed over. So every mapping of the space whose tile
sizes divide is a walk, and what a walk costs is what the labels of the search are charged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import called_leaf, kernel, leaf
from tilewright.kernels.record import record
from tilewright.mapper.heuristics.demands import missed
from tilewright.mapper.heuristics.walk_changes import BROKEN, UNCHANGED, alter, draw
from tilewright.mapper.label.charge import Scratch, charge, scratch_for, whole_cost
from tilewright.mapper.label.labels import SHAPE, enter_array, enter_loop, objective_value
from tilewright.mapper.objective.tolerances import TIE

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.heuristics.demands import Demands
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space

OVERFLOW = 4.0  # what a memory that is too small costs, or a demand, per factor of e by which it is
WORSE = 1e30


@record
class Tokens(NamedTuple):
    """What walks of a layer on a machine are made of (plain arrays for the kernels).

    Tokens are numbered: the prime factors, then the store nodes, then the arrays.

    Attributes
    ----------
    dimension, move : arrays of factors
        Dimension of a factor, and its elementary loop.
    digit : array of factors
        Digit of its value.
    tensor, memory : arrays of nodes
        What a store node stores, and where.
    segment : array of nodes
        Arrays above the memory.
    slot : array of nodes
        What bypass choices call the node: its bit in the set of memories of the tensor.
    chain : array of (tensors, sets)
        Which of the chains of a tensor stores it in a set of memories, or -1.
    strides : array of tensors
        What one chain more adds to the number of a bypass choice.
    together : array
        Numbers of the bypass choices, ascending; empty where any chains of the tensors make one.
    choice : array of (arrays, shapes)
        Spatial choice of an array whose factors are a shape, or -1.
    """

    dimension: Ints
    move: Ints
    digit: Ints
    tensor: Ints
    memory: Ints
    segment: Ints
    slot: Ints
    chain: Ints
    strides: Ints
    together: Ints
    choice: Ints


@record
class Chains(NamedTuple):
    """The arrays of `link_costs.Links` for every chain of memories of every tensor.

    Each has the tensors first, then the chains.
    """

    length: Ints
    arrays: Ints
    energy: Floats
    again: Floats
    fresh: Ints
    bits: Floats
    share: Floats
    load: Floats
    held: Floats


@record
class Tour(NamedTuple):
    """A walk, which kernels change.

    Attributes
    ----------
    order : array of tokens
        In which they come.
    unrolled : array of factors
        Array on which each is unrolled, or -1.
    stored : array of tensors
        Set of the memories that store each, as bits.
    """

    order: Ints
    unrolled: Ints
    stored: Ints


@record
class Start(NamedTuple):
    """Where walks begin, and what they are compared by.

    Attributes
    ----------
    row, floats : arrays
        The label of the whole nest.
    goal : array
        As in `labels.objective_value`.
    """

    row: Ints
    floats: Floats
    goal: Floats


@record
class Schedule(NamedTuple):
    """How long a walk is annealed.

    Attributes
    ----------
    steps : int
    hot, cold : float
        Temperatures of the logarithm of the value at the beginning and in the end.
    """

    steps: int
    hot: float
    cold: float


@called_leaf
def take_chain(lk: Links, every: Chains, t: int, c: int) -> None:
    """Let a tensor be stored in another chain of memories."""
    lk.length[t] = every.length[t, c]
    for link in range(every.again.shape[2]):
        lk.again[t, link] = every.again[t, c, link]
        lk.fresh[t, link] = every.fresh[t, c, link]
        lk.bits[t, link] = every.bits[t, c, link]
        lk.share[t, link] = every.share[t, c, link]
        lk.arrays[t, link, 0] = every.arrays[t, c, link, 0]
        lk.arrays[t, link, 1] = every.arrays[t, c, link, 1]
        for j in range(every.energy.shape[3]):
            lk.energy[t, link, j] = every.energy[t, c, link, j]
        for r in range(every.load.shape[2]):
            lk.held[r, t, link] = every.held[t, c, r, link]
            for j in range(every.energy.shape[3]):
                lk.load[r, t, link, j] = every.load[t, c, r, link, j]


@called_leaf
def charge_once(
    sp: Space,
    lk: Links,
    row: Ints,
    floats: Floats,
    t: int,
    link: int,
    seg: int,
    scratch: Scratch,
) -> None:
    """`charge`, which is long, once in the code for both of its places."""
    charge(sp, lk, row, floats, t, link, seg, scratch)


@leaf
def price(
    sp: Space,
    lk: Links,
    tokens: Tokens,
    tour: Tour,
    row: Ints,
    floats: Floats,
    used: Floats,
    scratch: Scratch,
) -> float:
    """Return the logarithm of the factors by which memories are too small, -1 if it is no walk.

    The label `row`, `floats` begins as that of the whole nest and ends as that of the mapping.
    """
    factors, nodes = len(tokens.dimension), len(tokens.tensor)
    order, unrolled, stored = tour.order, tour.unrolled, tour.stored
    overflow = 0.0
    seg = 0
    for m in range(len(used)):
        used[m] = 0.0
    for t in range(len(scratch.placed)):
        scratch.placed[t] = 0
    for token in order:
        if token < factors:
            if unrolled[token] >= 0:
                continue
            d = tokens.dimension[token]
            digit = sp.digits[row[SHAPE], d]
            smaller = sp.quotient[d, digit, tokens.digit[token]]
            inside = row[SHAPE] - (digit - smaller) * sp.strides[d]
            enter_loop(sp, row, floats, tokens.move[token], inside, seg)
        elif token < factors + nodes:
            node = token - factors
            t = tokens.tensor[node]
            if (stored[t] >> tokens.slot[node]) & 1 == 0:
                continue
            link = scratch.placed[t]
            bits = sp.words[t, row[SHAPE]] * lk.bits[t, link]
            used[tokens.memory[node]] += bits
            if bits > lk.share[t, link]:
                overflow += np.log(bits / max(lk.share[t, link], 1e-9))
            charge_once(sp, lk, row, floats, t, link, seg, scratch)
            scratch.placed[t] += 1
        else:
            array = token - factors - nodes
            factor = 0
            below = row[SHAPE]
            for i in range(factors):
                if unrolled[i] == array:
                    d = tokens.dimension[i]
                    digit = (factor // sp.strides[d]) % sp.sizes[d]
                    factor += (sp.product[d, digit, tokens.digit[i]] - digit) * sp.strides[d]
                    digit = sp.digits[below, d]
                    below -= (digit - sp.quotient[d, digit, tokens.digit[i]]) * sp.strides[d]
            choice = tokens.choice[array, factor]
            if choice < 0:
                return -1.0
            enter_array(sp, row, floats, array, choice, below)
            seg += 1
    for t in range(len(scratch.placed)):
        charge_once(sp, lk, row, floats, t, scratch.placed[t], seg, scratch)
    for m in range(len(used)):
        if used[m] > lk.capacity[m]:
            overflow += np.log(used[m] / max(lk.capacity[m], 1e-9))
    return overflow


@kernel
def anneal(
    sp: Space,
    lk: Links,
    every: Chains,
    tokens: Tokens,
    dm: Demands,
    start: Start,
    tour: Tour,
    state: Ints,
    schedule: Schedule,
) -> tuple[float, float]:
    """Change a walk at random for some steps, as simulated annealing does; leave the best.

    Parameters
    ----------
    state : array of 1
        What random numbers follow from.

    Returns
    -------
    tuple of float, float
        Value and tie-break of the best walk that fits; infinite without one.
    """
    order, unrolled, stored = tour.order, tour.unrolled, tour.stored
    steps, hot, cold = schedule.steps, schedule.hot, schedule.cold
    scratch = scratch_for(sp)
    row, floats = start.row.copy(), start.floats.copy()
    used = np.zeros(len(lk.capacity))
    digits, waiting = np.empty(len(sp.sizes), np.int64), np.empty(len(used), np.int64)
    old_order, old_unrolled, old_stored = order.copy(), unrolled.copy(), stored.copy()
    best_order, best_unrolled, best_stored = order.copy(), unrolled.copy(), stored.copy()
    best, best_tie = np.inf, np.inf
    current = WORSE
    for t in range(len(stored)):
        take_chain(lk, every, t, tokens.chain[t, stored[t]])
    cooling = (cold / hot) ** (1.0 / max(steps, 1))
    temperature = hot
    for step in range(steps + 1):
        changed = -1
        if step > 0:
            changed = alter(sp, tokens, tour, state)
            temperature *= cooling
            if changed == BROKEN:
                copy(old_unrolled, unrolled)
            if changed <= UNCHANGED:
                continue
            if changed >= 0:
                take_chain(lk, every, changed, tokens.chain[changed, stored[changed]])
        for k in range(len(row)):
            row[k] = start.row[k]
        for k in range(len(floats)):
            floats[k] = start.floats[k]
        overflow = price(sp, lk, tokens, tour, row, floats, used, scratch)
        if dm.active and overflow >= 0.0:
            overflow += missed(sp, tokens, dm, order, unrolled, stored, used, digits, waiting)
        cost = WORSE
        if overflow >= 0.0:
            energy, cycles = whole_cost(sp, lk, floats)
            value, tie = objective_value(start.goal, energy, cycles)
            if value < np.inf:
                cost = np.log(max(value, 1e-300)) + OVERFLOW * overflow
            if overflow == 0.0 and (
                value < best * (1 - TIE) or (value < best * (1 + TIE) and tie < best_tie)
            ):
                best, best_tie = value, tie
                copy(order, best_order)
                copy(unrolled, best_unrolled)
                copy(stored, best_stored)
        accept = cost <= current
        if not accept and cost < WORSE:
            chance = (draw(state, 1 << 30) + 0.5) / (1 << 30)
            accept = chance < np.exp((current - cost) / temperature)
        if accept or step == 0:
            current = cost
            copy(order, old_order)
            copy(unrolled, old_unrolled)
            copy(stored, old_stored)
        else:
            copy(old_order, order)
            copy(old_unrolled, unrolled)
            copy(old_stored, stored)
            if changed >= 0:
                take_chain(lk, every, changed, tokens.chain[changed, stored[changed]])
    if best < np.inf:
        copy(best_order, order)
        copy(best_unrolled, unrolled)
        copy(best_stored, stored)
    return best, best_tie
