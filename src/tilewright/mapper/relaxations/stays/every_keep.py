"""The closed-form bound of every bypass choice at once, for a number of spatial choices.

A link costs what it has to bring into the memories that it reaches, whichever memories other links
pass. So what comes into one memory has few different costs, and thousands of bypass choices are
sums of these.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import ports
from tilewright.mapper.relaxations.stays.least_cost import Least, Link, Price
from tilewright.model.energy import leakage_per_cycle

if TYPE_CHECKING:
    from tilewright.mapper.problem.tensor_costs import Port

    Crossing = Callable[[int, tuple[tuple[Link, Price], ...], Sequence[Link]], Floats]
    Entry = tuple[Link, Price] | None
    Part = tuple[int, Sequence[tuple[tuple[Link, Price], ...]], Sequence[Sequence[Link]], Ints]


class Cut(Enum):
    """Where what is sent over a link counts that passes memories.

    At the first memory that it reaches, at the last before it has crossed an array, or at its end.
    """

    FIRST = auto()
    BEFORE = auto()
    LAST = auto()


@dataclass(frozen=True)
class Sum:
    """What one cost of all bypass choices is the sum of.

    Attributes
    ----------
    once : array of bypass choices
        What they cost whatever the spatial choice.
    direct : list of (links, array of bypass choices)
        For each tensor the different links to the compute unit, and which each choice has.
    ways : list of lists of (memory, what crosses into it, links that end there, array of choices)
        Ways to count what links cost that pass memories. The highest sum counts.
    """

    once: Floats
    direct: Sequence[tuple[Sequence[Sequence[tuple[Link, Price]]], Ints]]
    ways: Sequence[Sequence[Part]]

    @property
    def free(self) -> bool:
        """Whether nothing in it costs anything."""
        return not self.once.any() and not self.direct and not any(self.ways)


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
        self.compute = least.compute
        self.chains = [sorted(set(own)) for own in zip(*self.keeps, strict=True)]
        position = [{chain: i for i, chain in enumerate(own)} for own in self.chains]
        self.which = np.array([[p[c] for p, c in zip(position, k, strict=True)] for k in keeps])
        self.energy = self.summed(least, least.energy)
        loads = [self.summed(least, loader(least, port)) for port in ports(least.architecture)]
        self.loads = [load for load in loads if not load.free]

    def links_of(self, t: int, chain: tuple[int, ...]) -> list[Link]:
        """Return the links of a tensor."""
        inside = (*chain[1:], self.compute)
        return [Link(t, *pair) for pair in zip(chain, inside, strict=True)]

    def summed(self, least: Least, price: Callable[[Link], Price]) -> Sum:
        """Return what a cost is the sum of."""
        once = np.zeros(len(self.keeps))
        direct = []
        for t, own in enumerate(self.chains):
            priced = [[(link, price(link)) for link in self.links_of(t, chain)] for chain in own]
            fixed = [
                sum(p.once for _, p in each) + each[-1][1].received * least.layer.operations
                for each in priced
            ]
            once += np.array(fixed)[self.which[:, t]]
            if any(each[-1][1].sent for each in priced):
                last = [[(each[-1][0], Price(each[-1][1].sent))] for each in priced]
                direct.append((last, self.which[:, t]))
        ways = [
            [
                part
                for m in range(1, self.compute)
                if (part := self.crossing(least, price, m, cut)) is not None
            ]
            for cut in Cut
        ]
        different = {str([part[:2] for part in way]): way for way in ways}
        return Sum(once, direct, list(different.values()))

    def crossing(
        self, least: Least, price: Callable[[Link], Price], m: int, cut: Cut
    ) -> Part | None:
        """Return what crosses into a memory, or None where that costs nothing."""
        entries: list[list[Entry]] = []
        codes = np.empty_like(self.which)
        for t, own in enumerate(self.chains):
            found: list[Entry] = []
            code = []
            for chain in own:
                entry = self.entry(least, price, self.links_of(t, chain), m, cut)
                if entry not in found:
                    found.append(entry)
                code.append(found.index(entry))
            entries.append(found)
            codes[:, t] = np.array(code)[self.which[:, t]]
        rows, inverse = np.unique(codes, axis=0, return_inverse=True)
        crosses, ends = [], []
        for row in rows.tolist():
            here = [e for own, c in zip(entries, row, strict=True) if (e := own[c]) is not None]
            crosses.append(tuple((k, p) for k, p in here if p.sent or p.received))
            ends.append([k for k, _ in here if k.receiver == m])
        if not any(crosses):
            return None
        return m, crosses, ends, inverse.reshape(-1)

    def entry(
        self,
        least: Least,
        price: Callable[[Link], Price],
        links: Sequence[Link],
        m: int,
        where: Cut,
    ) -> Entry:
        """Return the link of a tensor that ends at a memory or passes it, and what it costs there.

        What is sent counts at one of the memories that a link reaches.
        """
        for link in links:
            if not link.sender < m <= link.receiver or link.receiver == self.compute:
                continue
            same = least.segment[link.sender]
            cuts = [
                c for c in range(link.sender + 1, link.receiver + 1) if least.segment[c - 1] == same
            ]
            cut = {Cut.FIRST: cuts[0], Cut.BEFORE: cuts[-1], Cut.LAST: link.receiver}[where]
            cost = price(link)
            sent = cost.sent if m == cut else 0.0
            received = cost.received if m == link.receiver else 0.0
            if sent or link.receiver == m:
                return link, Price(sent, received)
        return None

    def total(self, least: Least, cost: Sum, some: Ints, crossing: Crossing) -> Floats:
        """Return a cost of some bypass choices, for each spatial choice."""
        shape = len(some), len(least.cycles)
        total = np.broadcast_to(cost.once[some, None], shape).copy()
        for last, which in cost.direct:
            total += np.array([least.direct(own) for own in last])[which[some]]
        best = np.zeros(shape)
        for way in cost.ways:
            parts = np.zeros(shape)
            for m, crosses, ends, which in way:
                rows, own = np.unique(which[some], return_inverse=True)
                costs = [
                    crossing(m, crosses[r], ends[r]) if crosses[r] else np.zeros(shape[1])
                    for r in rows.tolist()
                ]
                parts += np.array(costs)[own]
            best = np.maximum(best, parts)
        return total + best

    def values(
        self,
        least: Least,
        objective: Objective,
        some: Ints | None = None,
        crossing: Crossing | None = None,
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
        cycles = np.broadcast_to(least.cycles, (len(some), len(least.cycles)))
        for load in self.loads:
            cycles = np.maximum(cycles, self.total(least, load, some, crossing))
        energy = least.work + self.total(least, self.energy, some, crossing)
        if leakage := leakage_per_cycle(least.architecture):
            energy = energy + leakage * cycles
        return objective.values(energy.ravel(), cycles.ravel()).reshape(energy.shape)


def loader(least: Least, port: Port) -> Callable[[Link], Price]:
    """Return what words of a link cost at a port, in cycles."""
    return lambda link: least.load(link, *port)
