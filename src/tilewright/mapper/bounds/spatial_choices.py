"""What mappings cost at least in each combination of spatial choices of all arrays.

A word that all elements of one array share is a word that those of another one cannot share too,
for the factors of all arrays together divide the bounds. Bounds that let every tensor have the most
sharing at every array are far too low where there are several. So choices are put into classes by
the product of their factors on dimensions relevant to the same tensors, and every combination of
classes is priced, energy and cycles together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.bounds.combinations import (
    MOST,
    Combinations,
    combined,
    tells_apart,
    words_at_cuts,
)
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.bounds.small_memories import with_small_memories
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import Stored, chains_of, ports
from tilewright.mapper.problem.space import Space
from tilewright.mapper.problem.tensor_costs import Chain
from tilewright.model.energy import leakage_per_cycle
from tilewright.workload.layer import Layer


class TensorCosts(NamedTuple):
    """What one tensor costs at least that is stored in some memories.

    Attributes
    ----------
    energy : array of combinations
        pJ of all its links.
    cycles : array of (ports, combinations)
    more : array of (arrays, combinations)
        pJ of the link that crosses an array, and of those further in, beyond what `Links.rate`,
        `Links.rest_base` and `Links.rest_slope` say of them.
    """

    energy: Floats
    cycles: Floats
    more: Floats


def weighted(rates: Floats, moved: list[Floats]) -> Floats:
    """Return the sum over the cuts of a link of a rate times its words."""
    total: Floats = rates[0] * moved[0]
    for rate, each in zip(rates[1:], moved[1:], strict=True):
        total += rate * each
    return total


def tensor_costs(
    chain: Chain, t: int, sp: Space, cs: Combinations, above: list[int]
) -> TensorCosts:
    """Return what a tensor costs at least in a chain of memories, for every combination.

    Parameters
    ----------
    above : list of int
        How many arrays stand above each bandwidth-limited port.
    """
    output, last = t == len(sp.relevant) - 1, chain.length - 1
    words = float(sp.words[t, -1])
    na = cs.product.shape[1]
    energy, cuts = [], []
    cycles = np.zeros((len(above), len(cs.product)))
    again = 0.0  # what entries from zero may save at the compute unit is paid there
    for link in range(last + 1):
        lo, hi = chain.arrays[link].tolist()
        moved = words_at_cuts(chain, link, t, sp, cs)
        rates = chain.energy[link, : hi - lo + 1].copy()
        if output and link == last - 1 and chain.arrays[last, 0] > 0:
            rates[-1] -= chain.again[last]
        cost = weighted(rates, moved)
        if output and lo == 0:
            # no array has made partial sums: only first entries are from zero
            cost += chain.again[link] * (moved[0] - words)
        elif output and link == last:
            again = chain.again[last] * moved[0]
        energy.append(cost)
        cuts.append(moved)
        for r, arrays in enumerate(above):
            rates = chain.load[r, link, : hi - lo + 1]
            if rates.any():
                load = weighted(rates, moved)
                spread = cs.product[:, :arrays].prod(axis=1)
                zero = words * (spread if sp.windows[t] >= 0 else cs.reuse[:, :arrays, t].prod(1))
                zero = moved[0] if chain.fresh[:link].any() else np.minimum(zero, moved[0])
                cycles[r] += np.maximum(0.0, load - chain.held[r, link] * zero) / spread
    more = np.zeros((na, len(cs.product)))
    for k in range(na):
        link = next(i for i in range(last + 1) if i == last or chain.arrays[i, 1] > k)
        passing = cuts[link][-1] if link == last else cuts[link][k + 1 - chain.arrays[link, 0]]
        begin, end = sp.unroll_start[k : k + 2]
        rates = np.full(cs.kind_of[begin:end].max() + 1, np.inf)
        np.minimum.at(rates, cs.kind_of[begin:end], chain.rate[begin:end])
        received = words * cs.reuse[:, :k, t].prod(axis=1)
        known = rates[cs.kind[:, k]] * passing + chain.rest_base[k] + chain.rest_slope[k] * received
        ahead = np.sum(energy[link:], axis=0)
        # below, the label knows how many entries are from zero
        ahead = ahead + (again if link < last else 0.0)
        more[k] = np.maximum(0.0, ahead - known)
    return TensorCosts(np.sum(energy, axis=0) + again, cycles, more)


def values(goal: Floats, energy: Floats, cycles: Floats) -> Floats:
    """Return the objective of every combination; infinite beyond a limit."""
    found = np.ones(len(energy))
    for each, power in ((energy, goal[0]), (cycles, goal[1])):
        if power != 0.0:
            # a power takes ten times as long
            found *= each if power == 1.0 else each**power
    found[(energy > goal[4] * (1 + TIE)) | (cycles > goal[5] * (1 + TIE))] = np.inf
    return found


@dataclass
class SpatialBounds:
    """Bounds of the bypass choices of a layer on a machine from combinations of spatial choices.

    Attributes
    ----------
    layer, architecture, space
    energy : float
        pJ of the operations.
    chains : dict
        What is known of single tensors; it grows.
    all : Combinations
    costs : dict
        What tensors cost in each of them; it grows.
    beyond : float
        What mappings in all other combinations cost at least.
    reduced : bool
        Whether those are left out that are worse than some mapping.
    """

    layer: Layer
    architecture: Architecture
    space: Space
    energy: float
    chains: dict[Stored, Chain]
    all: Combinations
    costs: dict[Stored, TensorCosts] = field(default_factory=dict)
    beyond: float = np.inf
    reduced: bool = False

    def of(self, stored: Stored) -> TensorCosts:
        """Return what one tensor costs in some memories."""
        if stored not in self.costs:
            self.costs[stored] = self.priced(stored)
        return self.costs[stored]

    def priced(self, stored: Stored) -> TensorCosts:
        """Return the same without keeping it."""
        above = [port[4] for port in ports(self.architecture)]
        (chain,) = chains_of(self.layer, self.architecture, [stored], self.space, self.chains)
        return tensor_costs(chain, stored[0], self.space, self.all, above)

    def least(self, keep: KeepChoice) -> tuple[Floats, Floats]:
        """Return the energy (pJ) and cycles of a bypass choice at least, in every combination."""
        costs = [self.of(stored) for stored in enumerate(keep)]
        return self.added([each.energy for each in costs], [each.cycles for each in costs])

    def added(self, energies: list[Floats], loads: list[Floats]) -> tuple[Floats, Floats]:
        """Return the energy (pJ) and cycles at least of tensors with these energies and loads."""
        cycles = self.compute_cycles()
        for port in sum(loads[1:], loads[0]):
            cycles = np.maximum(cycles, port)
        energy = self.energy + leakage_per_cycle(self.architecture) * cycles
        return sum(energies, energy), cycles

    def reduce(self, keeps: Sequence[KeepChoice], goal: Floats, value: float) -> None:
        """Leave out the combinations that are worse than a value in every bypass choice.

        Of what is left dimensions of windows are told apart, where that was too much before.
        """
        self.leave_out(keeps, goal, value)
        if tells_apart(self.space) and not self.all.apart:
            finer = combined(self.space, True, MOST, self.all)
            if finer is not None:
                self.all = finer
                self.leave_out(keeps, goal, value)
        self.reduced = True

    def leave_out(self, keeps: Sequence[KeepChoice], goal: Floats, value: float) -> None:
        """Leave out the combinations that are worse than a value in every bypass choice."""
        energies, loads = [], []
        for t, stored in enumerate(zip(*keeps, strict=True)):
            first, *others = [(t, chain) for chain in sorted(set(stored))]
            least = self.priced(first)
            energy, cycles = least.energy, least.cycles
            for each in others:
                other = self.priced(each)
                energy = np.minimum(energy, other.energy)
                cycles = np.minimum(cycles, other.cycles)
            energies.append(energy)
            loads.append(cycles)
        found = values(goal, *self.added(energies, loads))
        # the best one stays, so that there is one
        some = found <= max(value, float(found.min())) * (1 + TIE)
        self.all = self.all.some(some)
        self.costs = {}
        self.beyond = min(self.beyond, float(found[~some].min(initial=np.inf)))

    def values_of(self, plan: Plan, goal: Floats) -> Floats:
        """Return the objective in every combination; infinite in those that a plan is not about."""
        found = values(goal, *self.least(plan.keep))
        if plan.part is not None:
            outside = np.ones(len(found), np.bool_)
            outside[plan.part] = False
            found[outside] = np.inf
        return found

    def value_of(self, keep: KeepChoice, goal: Floats) -> float:
        """Return the objective of a bypass choice at least."""
        return min(float(values(goal, *self.least(keep)).min()), self.beyond)

    def weigh(self, plan: Plan, goal: Floats) -> None:
        """Raise the bounds of a bypass choice to those of its best combinations."""
        own = slice(None) if plan.part is None else plan.part
        energy, cycles = (each[own] for each in self.least(plan.keep))
        plan.energy = max(plan.energy, float(energy.min()))
        plan.cycles = max(plan.cycles, float(cycles.min()))
        least = float(values(goal, energy, cycles).min())
        plan.bound = max(plan.bound, (min(least, self.beyond), 0.0))
        plan.combined = True

    def may_tighten(self) -> bool:
        """Whether combinations are few enough, and tell what elements share of windows."""
        windows = bool((self.space.windows >= 0).any())
        return self.reduced and (self.all.apart or not windows)

    def tighten(self, plan: Plan, goal: Floats, limit: float) -> None:
        """Raise the bound of a bypass choice by what small memories cost in each combination.

        Combinations that are then worse than a value are left out of it.
        """
        plain = self.values_of(plan, goal)
        some = np.flatnonzero(plain <= limit * (1 + TIE))
        if len(some) == 0:
            return  # the bound is above the value
        energy, cycles = with_small_memories(
            self.layer, self.architecture, plan.keep, self.all.some(some),
            self.compute_cycles()[some],
        )  # fmt: skip
        own_energy, own_cycles = (each[some] for each in self.least(plan.keep))
        energy, cycles = np.maximum(energy, own_energy), np.maximum(cycles, own_cycles)
        found = values(goal, energy, cycles)
        least = float(found.min())
        left_out = float(plain[plain > limit * (1 + TIE)].min(initial=np.inf))
        plan.bound = max(plan.bound, (min(least, left_out, self.beyond), 0.0))
        # the best one stays, so that there is one
        plan.part = some[found <= max(limit, least) * (1 + TIE)]

    def compute_cycles(self) -> Floats:
        """Return the cycles of the operations alone, in every combination."""
        compute = float(self.architecture.compute.cycles) * self.space.operations
        cycles: Floats = compute / self.all.product.prod(axis=1)
        return cycles

    def restrict(self, plan: Plan, goal: Floats, limit: float) -> None:
        """Tell the links of a bypass choice what combinations up to a value cost besides.

        Spatial choices that are in none of them do not matter.
        """
        found = self.values_of(plan, goal)
        some = found <= max(limit, float(found.min())) * (1 + TIE)
        costs = [self.of(stored) for stored in enumerate(plan.keep)]
        more = np.sum([each.more[:, some] for each in costs], axis=0)
        cycles = self.least(plan.keep)[1][some]
        besides, cycles_of = np.empty((2, len(self.space.unroll)))
        for k, (begin, end) in enumerate(pairwise(self.space.unroll_start)):
            own = self.all.kind_of[begin:end]
            for found_of, each in ((besides, more[k]), (cycles_of, cycles)):
                least = np.full(own.max() + 1, np.inf)
                np.minimum.at(least, self.all.kind[some, k], each)
                found_of[begin:end] = least[own]
        matters = np.isfinite(besides)
        plan.lk = plan.lk._replace(
            besides=besides, cycles_of=np.where(matters, cycles_of, 0.0),
            fewest_cycles=float(cycles.min()), matters=plan.lk.matters & matters,
        )  # fmt: skip
        plan.combined_below = limit

    def parts(self, plan: Plan, goal: Floats, limit: float) -> list[Ints]:
        """Return the combinations up to a value by the class of one array, that of most classes.

        With fewer spatial choices each part has higher bounds.
        """
        some = np.flatnonzero(self.values_of(plan, goal) <= limit * (1 + TIE))
        kinds = [np.unique(each) for each in self.all.kind[some].T]
        k = max(range(len(kinds)), key=lambda k: (len(kinds[k]), k))
        return [some[self.all.kind[some, k] == each] for each in kinds[k]]
