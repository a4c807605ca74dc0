"""The closed-form bound of every bypass choice at once, for a number of spatial choices.

A link costs what it has to bring into the memories that it reaches, whichever memories other links
pass. So what comes into one memory has few different costs, and thousands of bypass choices are
sums of these.

What a link sends that passes memories may count at any of those that it reaches, or a share of it
at each: every word is counted once. Some ways to count give higher bounds than others. Each bypass
choice has the one that was best where it was last looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import ports
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price
from tilewright.model.energy import leakage_per_cycle

if TYPE_CHECKING:
    from tilewright.mapper.problem.tensor_costs import Port

Priced = tuple[tuple[Link, Price], ...]
Crossing = Callable[[int, Priced, Sequence[Link]], Floats]

# Shares of what is sent that count at one of the memories that a link reaches, whereas the rest
# counts at all others alike. A small share is enough where words are sent once.
MAIN_SHARES = (1.0, 0.96, 0.8)
PACE = 0.5  # of the cycles of the slowest port: what others take may become more
BETTER = 1 + 1e-6  # times the bound, for another way to count to be worth it


class Ways:
    """Ways to count what a link sends: at which memory, with which share, or at all alike.

    Parameters
    ----------
    memories : int

    Attributes
    ----------
    plain : int
        How many of them count all at one memory. They come first.
    """

    def __init__(self, memories: int) -> None:
        self.each = [(m, share) for share in MAIN_SHARES for m in range(1, memories)]
        self.plain = memories - 1

    def __len__(self) -> int:
        return len(self.each) + 1

    def share(self, way: int, m: int, places: Sequence[int]) -> float:
        """Return the share that counts at a memory, of what may count at some places."""
        if way == len(self.each):
            return 1.0 / len(places)
        place, most = self.each[way]
        # the nearest one that the link reaches
        place = min(places, key=lambda own: (abs(own - place), own))
        if len(places) == 1:
            return 1.0
        return most if m == place else (1.0 - most) / (len(places) - 1)


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
        self.energy = Cost(least, links, which, least.prices.energy)
        loads = [
            Cost(
                least,
                [
                    [
                        [least.prices.at_port(link, port[0], port[-1]) for link in own]
                        for own in each
                    ]
                    for each in links
                ],
                which,
                loader(least, port),
            )
            for port in ports(least.architecture)
        ]
        self.loads = [load for load in loads if not load.free]

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
        crossing: Crossing,
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
        crossing: Crossing,
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
        price: Callable[[Link], Price],
    ) -> None:
        self.which = which
        self.once = np.zeros(len(which))
        self.way = np.zeros_like(which)
        self.ways = Ways(least.compute)
        self.direct: list[tuple[list[tuple[Link, Price]], Ints]] = []
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
                found = list(dict.fromkeys(last))
                self.direct.append(
                    (found, np.array([found.index(one) for one in last])[which[:, t]])
                )
        self.memories = [
            own
            for m in range(1, least.compute)
            if not (own := Crossings(least, links, price, m, self.ways)).free
        ]

    @property
    def free(self) -> bool:
        """Whether nothing in it costs anything."""
        return not self.once.any() and not self.direct and not self.memories

    def total(self, least: Least, some: Ints, crossing: Crossing) -> Floats:
        """Return the cost of some bypass choices, for each spatial choice."""
        total = self.inward(least, some, crossing, self.way[some])
        total += self.once[some, None]
        for last, which in self.direct:
            total += np.array([least.direct([own]) for own in last])[which[some]]
        return total

    def inward(self, least: Least, some: Ints, crossing: Crossing, way: Ints) -> Floats:
        """Return what crosses into memories, with ways to count for each bypass choice."""
        total = np.zeros((len(some), len(least.cycles)))
        for own in self.memories:
            keys, position = own.different(self.which[some], way)
            none = np.zeros(len(least.cycles))
            costs = [crossing(own.m, *key) if key[0] else none for key in keys]
            total += np.array(costs)[position]
        return total

    def count_plain(
        self, least: Least, some: Ints, crossing: Crossing, stop: Callable[[], bool]
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

    def count_best(self, keep: int, crossing: Crossing, stop: Callable[[], bool]) -> None:
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

    def different(self, chain: int, t: int) -> list[int]:
        """Return the ways to count a tensor that differ for a chain of memories."""
        rows = zip(*(own.index[t][chain].tolist() for own in self.memories), strict=True)
        first: dict[tuple[int, ...], int] = {}
        for n, row in enumerate(rows):
            first.setdefault(row, n)
        return list(first.values()) if len(first) > 1 else []


class Crossings:
    """What may cross into a memory, by tensor, chain and way to count.

    Parameters
    ----------
    least, links, price
        As for `Cost`.
    m : int
        The memory.
    ways : Ways

    Attributes
    ----------
    entries : list of lists of (link and price, link)
        For each tensor what may cross, and which link ends here, or None.
    index : list of arrays of (chains, ways)
        Which of these it is.
    """

    def __init__(
        self,
        least: Least,
        links: Sequence[Sequence[Sequence[Link]]],
        price: Callable[[Link], Price],
        m: int,
        ways: Ways,
    ) -> None:
        self.m = m
        self.known: dict[int, tuple[Priced, list[Link]]] = {}
        self.entries: list[list[tuple[tuple[Link, Price] | None, Link | None]]] = []
        self.index = []
        for own in links:
            rows = [entries(least, price, each, m, ways) for each in own]
            found = list(dict.fromkeys(one for row in rows for one in row))
            self.entries.append(found)
            self.index.append(np.array([[found.index(one) for one in row] for row in rows]))

    @property
    def free(self) -> bool:
        """Whether nothing that crosses costs anything."""
        return all(priced is None for own in self.entries for priced, _ in own)

    def different(self, which: Ints, way: Ints) -> tuple[list[tuple[Priced, list[Link]]], Ints]:
        """Return what crosses, and which of these it is for each bypass choice."""
        codes = np.zeros(len(which), np.int64)
        for t, index in enumerate(self.index):
            codes = codes * len(self.entries[t]) + index[which[:, t], way[:, t]]
        every, position = np.unique(codes, return_inverse=True)
        return [self.crossing(code) for code in every.tolist()], position

    def of_keep(
        self, chains: Sequence[int], crossing: Crossing
    ) -> Callable[[Sequence[int]], float]:
        """Return what gives the cost of a bypass choice, by the way to count each tensor."""
        rows = [index[chain].tolist() for index, chain in zip(self.index, chains, strict=True)]
        known: dict[int, float] = {}

        def cost(way: Sequence[int]) -> float:
            code = 0
            for row, own, n in zip(rows, self.entries, way, strict=True):
                code = code * len(own) + row[n]
            if code not in known:
                key = self.crossing(code)
                known[code] = float(crossing(self.m, *key)[0]) if key[0] else 0.0
            return known[code]

        return cost

    def crossing(self, code: int) -> tuple[Priced, list[Link]]:
        """Return what crosses, and the links that end here."""
        if code not in self.known:
            left, parts = code, []
            for own in reversed(self.entries):
                left, at = divmod(left, len(own))
                parts.append(own[at])
            parts.reverse()
            priced = tuple(one for one, _ in parts if one is not None)
            self.known[code] = priced, [link for _, link in parts if link is not None]
        return self.known[code]


def links_of(t: int, chain: tuple[int, ...], compute: int) -> list[Link]:
    """Return the links of a tensor."""
    return [Link(t, *pair) for pair in zip(chain, (*chain[1:], compute), strict=True)]


def entries(
    least: Least,
    price: Callable[[Link], Price],
    links: Sequence[Link],
    m: int,
    ways: Ways,
) -> list[tuple[tuple[Link, Price] | None, Link | None]]:
    """Return the link of a tensor that brings words into a memory, and the one that ends there.

    There is one of each for every way to count.
    """
    for link in links:
        if not link.sender < m <= link.receiver or link.receiver == least.compute:
            continue
        ends = link if link.receiver == m else None
        same = least.segment[link.sender]
        places = [
            place
            for place in range(link.sender + 1, link.receiver + 1)
            if place == link.receiver or least.segment[place - 1] == same
        ]
        cost = price(link)
        received, passed = (cost.received, cost.passed) if ends else (0.0, ())
        found: list[tuple[tuple[Link, Price] | None, Link | None]] = []
        for way in range(len(ways)):
            share = ways.share(way, m, places) if m in places else 0.0
            here = Price(cost.sent * share, received, passed=passed)
            found.append(((link, here) if here.on_the_way or here.received else None, ends))
        return found
    return [(None, None)] * len(ways)


def loader(least: Least, port: Port) -> Callable[[Link], Price]:
    """Return what words of a link cost at a port, in cycles."""
    return lambda link: least.prices.load(link, *port)
