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

import numpy as np

from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import ports
from tilewright.mapper.relaxations.boxes.summed_cost import Cost, loader
from tilewright.mapper.relaxations.boxes.ways_to_count import CrossingCost
from tilewright.mapper.relaxations.stays.at_once import fewest_cycles, limits_of
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import links_of
from tilewright.model.energy import leakage_per_cycle

PACE = 0.5  # of the cycles of the slowest port: what others take may become more


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
        crossing = crossing or least.crossing
        used, position = np.unique(self.limited[some], return_inverse=True)
        fewest = np.array([fewest_cycles(least, self.limits[i]) for i in used.tolist()])
        cycles = np.maximum(least.cycles, fewest[position])
        for load in self.loads:
            cycles = np.maximum(cycles, load.total(least, some, crossing))
        energy = least.work + self.energy.total(least, some, crossing)
        # where tiles do not fit
        cycles = np.where(energy < inf, cycles, inf)
        energy = np.where(least.unrolled.possible, energy, inf)
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
        for cost in self.weighed(least, objective):
            better |= cost.count_alike(least, some, keep, crossing)
        return better

    def weighed(self, least: Least, objective: Objective) -> list[Cost]:
        """Return the costs that the objective looks at: energy, and loads of ports."""
        leaks = leakage_per_cycle(least.architecture) > 0
        energy = objective.powers[0] > 0 or objective.most_energy < inf
        cycles = objective.powers[1] > 0 or objective.most_cycles < inf or (energy and leaks)
        return [self.energy] * energy + self.loads * cycles
