"""What one cost of all bypass choices is the sum of: what words cost that cross into memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.relaxations.boxes.ways_to_count import CountWays, CrossingCost, IntoMemory
from tilewright.mapper.relaxations.stays.at_once import Limits, read_directly
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price

if TYPE_CHECKING:
    from tilewright.mapper.problem.tensor_costs import Port

BETTER = 1 + 1e-6  # times the bound, for another way to count to be worth it


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
        How each tensor counts, see `CountWays`.
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
        self.ways = CountWays(least.compute)
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
                known = {own: tuple(o for o in own if o.matters(least, t)) for own in set(limits)}
                every = [(last[c], known[o]) for c, o in zip(which[:, t], limits, strict=True)]
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
            used, position = np.unique(which[some], return_inverse=True)
            read = [read_directly(least, [last[i][0]], last[i][1]) for i in used.tolist()]
            total += np.array(read)[position]
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
