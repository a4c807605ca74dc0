"""The closed-form bound of every bypass choice at once, for a number of spatial choices.

A link costs what it has to bring into the memories that it reaches, whichever memories other links
pass. So what comes into one memory has few different costs, and thousands of bypass choices are
sums of these.

Each bypass choice has the way to count what passes memories that was best where it was last looked
for, see `ways_to_count`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import ports
from tilewright.mapper.relaxations.stays.at_once import (
    Limits,
    fewest_cycles,
    limits_of,
    read_directly,
)
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price, links_of
from tilewright.mapper.relaxations.stays.ways_to_count import CrossingCost, IntoMemory, Ways
from tilewright.model.energy import leakage_per_cycle

if TYPE_CHECKING:
    from tilewright.mapper.problem.tensor_costs import Port

PACE = 0.5  # of the cycles of the slowest port: what others take may become more
BETTER = 1 + 1e-6  # times the bound, for another way to count to be worth it


class EveryKeep:
    """Bounds of all bypass choices of a layer on a machine.

    Parameters
    ----------
    least : Least
        The layer and the machine.
    keeps : sequence of bypass choices

    Attributes
    ----------
    keeps : list of bypass choices
    """

    def __init__(self, least: Least, keeps: Sequence[KeepChoice]) -> None:
        self.keeps = list(keeps)
        chains = [sorted(set(own)) for own in zip(*self.keeps, strict=True)]
        position = [{chain: i for i, chain in enumerate(own)} for own in chains]
        which = np.array([[p[c] for p, c in zip(position, k, strict=True)] for k in keeps])
        links = [
            [links_of(t, chain, least.compute) for chain in own] for t, own in enumerate(chains)
        ]
        limits = [
            limits_of(least, [link for t, c in enumerate(row) for link in links[t][c]])
            for row in which.tolist()
        ]
        self.limits = list(dict.fromkeys(limits))
        self.limited = np.array([self.limits.index(own) for own in limits])
        self.energy = Cost(least, links, which, limits, least.prices.energy)
        loads = []
        for port in ports(least.architecture):
            passing = [
                [[least.prices.at_port(link, port[0], port[-1]) for link in own] for own in each]
                for each in links
            ]
            loads.append(Cost(least, passing, which, limits, loader(least, port)))
        self.loads = [load for load in loads if not load.free]

    def values(
        self,
        least: Least,
        objective: Objective,
        some: Ints | None = None,
        crossing: CrossingCost | None = None,
    ) -> Floats:
        """Return the least objective of bypass choices, for each spatial choice.

        Parameters
        ----------
        least : Least
            The layer and the machine, with spatial choices.
        objective : Objective
        some : array of int, optional
            Positions of the bypass choices; by default all.
        crossing : callable, optional
            What is used in place of `Least.crossing`.

        Returns
        -------
        array of (bypass choices, spatial choices)
        """
        some = np.arange(len(self.keeps)) if some is None else some
        if not least.counts_crossing:
            shape = len(some), len(least.cycles)
            costs = np.full(shape[1], least.work), np.asarray(least.cycles, np.float64)
            return np.broadcast_to(objective.values(*costs), shape)
        crossing = crossing or least.crossing
        fewest = np.array([fewest_cycles(least, own) for own in self.limits])
        cycles = np.maximum(least.cycles, fewest[self.limited[some]])
        for load in self.loads:
            cycles = np.maximum(cycles, load.total(least, some, crossing))
        energy = least.work + self.energy.total(least, some, crossing)
        # where tiles do not fit
        cycles = np.where(energy < inf, cycles, inf)
        if leakage := leakage_per_cycle(least.architecture):
            energy = energy + leakage * cycles
        return objective.values(energy.ravel(), cycles.ravel()).reshape(energy.shape)

    def count_plain(
        self,
        least: Least,
        objective: Objective,
        some: Ints,
        crossing: CrossingCost,
        stop: Callable[[], bool],
    ) -> None:
        """Find the best way to count what is sent, for one spatial choice: all tensors alike.

        Parameters
        ----------
        least : Least
            With one spatial choice.
        objective, some, crossing
            As for `values`.
        stop : callable
            Whether to end with the best way so far.
        """
        if least.counts_crossing:
            for cost in self.weighed(least, objective):
                cost.count_plain(least, some, crossing, stop)

    def count_best(
        self,
        least: Least,
        objective: Objective,
        keep: int,
        crossing: CrossingCost,
        stop: Callable[[], bool],
    ) -> None:
        """Find the best way to count what one bypass choice sends, of all ways for each tensor.

        Ports that are far from setting the pace are left as they are.
        """
        if not least.counts_crossing:
            return
        some, weighed = np.array([keep]), self.weighed(least, objective)
        loads = [
            float(cost.total(least, some, crossing)[0, 0]) if cost in self.loads else inf
            for cost in weighed
        ]
        pace = max([float(least.cycles[0]), *(load for load in loads if load < inf)])
        for cost, load in zip(weighed, loads, strict=True):
            if load >= PACE * pace:
                cost.count_best(keep, crossing, stop)

    def count_alike(
        self, least: Least, objective: Objective, some: Ints, keep: int, crossing: CrossingCost
    ) -> Bools:
        """Count bypass choices as another one is, where that is better; return which are."""
        better = np.zeros(len(some), np.bool_)
        if least.counts_crossing:
            for cost in self.weighed(least, objective):
                better |= cost.count_alike(least, some, keep, crossing)
        return better

    def weighed(self, least: Least, objective: Objective) -> list[Cost]:
        """Return the costs that the objective looks at: energy, and loads of ports."""
        leaks = leakage_per_cycle(least.architecture) > 0
        energy = objective.powers[0] > 0 or objective.most_energy < inf
        cycles = objective.powers[1] > 0 or objective.most_cycles < inf or (energy and leaks)
        return [self.energy] * energy + self.loads * cycles


class Cost:
    """What one cost of all bypass choices is the sum of.

    Parameters
    ----------
    least : Least
    links : list of lists of lists of Link
        For each tensor and each chain of memories that keep it.
    which : array of (bypass choices, tensors)
        Which chain each tensor has.
    limits : sequence of Limits
        Of each bypass choice.
    price : callable
        Returns what a link costs.

    Attributes
    ----------
    once : array of bypass choices
        What they cost whatever the spatial choice.
    way : array of (bypass choices, tensors)
        How each tensor counts, see `Ways`.
    """

    def __init__(
        self,
        least: Least,
        links: Sequence[Sequence[Sequence[Link]]],
        which: Ints,
        limits: Sequence[Limits],
        price: Callable[[Link], Price],
    ) -> None:
        self.which = which
        self.once = np.zeros(len(which))
        self.way = np.zeros_like(which)
        self.ways = Ways(least.compute)
        self.direct: list[tuple[list[tuple[tuple[Link, Price], Limits]], Ints]] = []
        for t, chains in enumerate(links):
            priced = [[(link, price(link)) for link in each] for each in chains]
            fixed = [
                sum(p.once for _, p in each) + each[-1][1].received * least.layer.operations
                for each in priced
            ]
            self.once += np.array(fixed)[which[:, t]]
            if any(each[-1][1].on_the_way for each in priced):
                last = [
                    (link, Price(price.sent, passed=price.passed))
                    for link, price in (each[-1] for each in priced)
                ]
                every = [(last[c], limit) for c, limit in zip(which[:, t], limits, strict=True)]
                found = {one: i for i, one in enumerate(dict.fromkeys(every))}
                self.direct.append((list(found), np.array([found[one] for one in every])))
        self.memories = [
            own
            for m in range(1, least.compute)
            if not (own := IntoMemory(least, links, price, m, self.ways)).free
        ]

    @property
    def free(self) -> bool:
        """Whether nothing in it costs anything."""
        return not self.once.any() and not self.direct and not self.memories

    def total(self, least: Least, some: Ints, crossing: CrossingCost) -> Floats:
        """Return the cost of some bypass choices, for each spatial choice."""
        total = self.inward(least, some, crossing, self.way[some])
        total += self.once[some, None]
        for last, which in self.direct:
            read = [read_directly(least, [own], limits) for own, limits in last]
            total += np.array(read)[which[some]]
        return total

    def inward(self, least: Least, some: Ints, crossing: CrossingCost, way: Ints) -> Floats:
        """Return what crosses into memories, with ways to count for each bypass choice."""
        total = np.zeros((len(some), len(least.cycles)))
        for own in self.memories:
            keys, position = own.different(self.which[some], way)
            none = np.zeros(len(least.cycles))
            costs = [crossing(own.m, *key) if key[0] else none for key in keys]
            total += np.array(costs)[position]
        return total

    def count_plain(
        self, least: Least, some: Ints, crossing: CrossingCost, stop: Callable[[], bool]
    ) -> None:
        """Find the best way to count, see `EveryKeep.count_plain`."""
        best = self.way[some]
        most = self.inward(least, some, crossing, best)[:, 0]
        for n in range(self.ways.plain):
            if stop():
                break
            way = np.full_like(best, n)
            total = self.inward(least, some, crossing, way)[:, 0]
            better = total > most * BETTER
            best = np.where(better[:, None], way, best)
            most = np.where(better, total, most)
        self.way[some] = best

    def count_best(self, keep: int, crossing: CrossingCost, stop: Callable[[], bool]) -> None:
        """Find the best way to count, see `EveryKeep.count_best`."""
        chains = self.which[keep].tolist()
        tables = [own.of_keep(chains, crossing) for own in self.memories]

        def total(way: Sequence[int]) -> float:
            return sum(table(way) for table in tables)

        best = self.way[keep].tolist()
        most = total(best)

        def attempt(way: list[int]) -> bool:
            nonlocal best, most
            value = -inf if stop() else total(way)
            if value > most * BETTER:
                best, most = way, value
                return True
            return False

        for n in range(len(self.ways)):
            attempt([n] * len(best))
        apart = [(t, n) for t, chain in enumerate(chains) for n in self.different(chain, t)]
        while any([attempt([*best[:t], n, *best[t + 1 :]]) for t, n in apart]):
            pass
        self.way[keep] = best

    def count_alike(self, least: Least, some: Ints, keep: int, crossing: CrossingCost) -> Bools:
        """Count bypass choices as another one is, see `EveryKeep.count_alike`."""
        way = np.tile(self.way[keep], (len(some), 1))
        now, before = (
            self.inward(least, some, crossing, own)[:, 0] for own in (way, self.way[some])
        )
        better = now > before * BETTER
        self.way[some[better]] = self.way[keep]
        return np.asarray(better)

    def different(self, chain: int, t: int) -> list[int]:
        """Return the ways to count a tensor that differ for a chain of memories."""
        rows = zip(*(own.index[t][chain].tolist() for own in self.memories), strict=True)
        first: dict[tuple[int, ...], int] = {}
        for n, row in enumerate(rows):
            first.setdefault(row, n)
        return list(first.values()) if len(first) > 1 else []


def loader(least: Least, port: Port) -> Callable[[Link], Price]:
    """Return what words of a link cost at a port, in cycles."""
    return lambda link: least.prices.load(link, *port)
