"""What every mapping costs at least, whatever its tile sizes: a bound for each bypass choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf, prod

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices
from tilewright.mapper.problem.link_costs import ports, segment_of
from tilewright.mapper.problem.widest_choices import widest_choices
from tilewright.mapper.relaxations.stays.at_once import (
    Limits,
    fewest_cycles,
    limits_of,
    read_directly,
)
from tilewright.mapper.relaxations.stays.crossing import Crossing
from tilewright.mapper.relaxations.stays.elements import Pace, Pays, by_element, mixes
from tilewright.mapper.relaxations.stays.kept import Kept
from tilewright.mapper.relaxations.stays.links import Link, Price, Prices, links_of
from tilewright.mapper.relaxations.stays.orders import Orders
from tilewright.mapper.relaxations.stays.rooms import Rooms
from tilewright.mapper.relaxations.stays.stay import Stay
from tilewright.mapper.relaxations.stays.unrolled import Unrolled
from tilewright.mapper.windows.pairs import Windows
from tilewright.model.energy import (
    leakage_per_cycle,
    operation_cost,
)
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer

CLOSE = 1e-12


class Least:
    """Lower bounds of the cost of a layer on a machine.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what.
    choices : array of (choices, arrays, dimensions), optional
        Instances along each dimension of the spatial choices; by default `widest_choices`.
    sources : sequence of int, optional
        Positions of the memories that tensors come from; by default the outermost one.
    most : sequence of callable, optional
        For each array the most elements along some dimensions together, for every choice. By
        default the product of the numbers along each.
    windows : sequence of Windows, optional
        Those of the tensors, where they are known.
    fewest : sequence of sequences of (array, array), optional
        For each array and its axes, `alone` and `chunks` of `Choices`, of (dimensions, choices).
    working : array of (choices, arrays, dimensions), optional
        How many times the iterations of one element all along a dimension have at most. By default
        as many as there are elements.
    steps : (array of (dimensions, choices), array), optional
        Steps that each dimension takes, at least and at most, see `Steps`.

    Attributes
    ----------
    choices : array of (choices, arrays, dimensions)
        As above.
    spread : array of (arrays, dimensions, choices)
        Instances along each dimension at work, in the mean: of `working`.
    unrolled : Unrolled
        Instances along dimensions together.
    """

    def __init__(
        self,
        layer: Layer,
        architecture: Architecture,
        choices: Ints | None = None,
        sources: Sequence[int] = (),
        most: Sequence[Callable[[frozenset[str]], Floats]] = (),
        windows: Sequence[Windows] = (),
        fewest: Sequence[Sequence[tuple[Floats, Floats]]] = (),
        working: Floats | None = None,
        steps: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.layer = layer
        self.most = most
        self.sources = tuple(sources) or (0,) * len(layer.tensors)
        self.architecture = architecture
        self.compute = len(architecture.memories)
        self.segment = [*segment_of(architecture), len(architecture.arrays)]
        bounds = layer.bounds
        choices = widest_choices(layer, architecture) if choices is None else choices
        self.choices = choices
        elements = np.moveaxis(choices.astype(np.float64), 0, -1)
        self.spread = elements if working is None else np.moveaxis(working, 0, -1)
        extents = np.array(list(bounds.values()), np.float64)
        self.unrolled = Unrolled(layer, architecture, elements, self.spread, most, steps)
        # of the element that has most work
        self.extents = np.ceil(extents[:, None] / self.spread.prod(axis=0))
        self.extents = np.maximum(self.extents, self.unrolled.fewest)
        every = np.prod(self.extents, axis=0)
        if most:
            elements = np.prod([own(frozenset(bounds)) for own in most], axis=0)
            every = np.maximum(every, layer.operations / elements)
        self.cycles = np.ceil(architecture.compute.cycles * every * (1 - CLOSE))
        self.words = [float(footprint(t, bounds)) for t in layer.tensors]
        self.relevant = [frozenset(t.dimensions) for t in layer.tensors]
        self.irrelevant = [frozenset(bounds) - own for own in self.relevant]
        counts = {d: sum(d in own for own in self.irrelevant) for d in bounds}
        self.single = frozenset(d for d, count in counts.items() if count == 1)
        repeats = [float(prod(bounds[d] for d in own)) for own in self.irrelevant]
        self.windows = list(windows) or [Windows(tensor, bounds) for tensor in layer.tensors]
        slides = bool(self.windows[-1])
        self.prices = Prices(layer.tensors, self.words, architecture, self.sources, slides)
        # operations of a word at most
        self.longest = [
            repeat * windows.most for repeat, windows in zip(repeats, self.windows, strict=True)
        ]
        self.work = layer.operations * operation_cost(architecture, layer)
        self.known: Kept[Floats] = Kept(bytes_of)
        self.rooms = Rooms(layer, architecture, self.windows, fewest, self.unrolled)
        self.crossings: Kept[Crossing | None] = Kept(bytes_of)
        self.orders: dict[object, Orders] = {}

    def at(
        self,
        choices: Ints,
        most: Sequence[Callable[[frozenset[str]], Floats]] = (),
        fewest: Sequence[Sequence[tuple[Floats, Floats]]] = (),
        working: Floats | None = None,
        steps: tuple[Floats, Floats] | None = None,
    ) -> Least:
        """Return the same for other spatial choices."""
        least = Least(
            self.layer,
            self.architecture,
            choices,
            self.sources,
            most,
            self.windows,
            fewest,
            working,
            steps,
        )
        least.orders = self.orders
        return least

    def all_costs(self) -> Iterator[tuple[KeepChoice, Floats, Floats]]:
        """Yield every bypass choice and its `cost`."""
        for keep in keep_choices(self.layer, self.architecture):
            yield keep, *self.cost(keep)

    def cost(
        self, keep: KeepChoice, pays: Pays | None = None, objective: Objective | None = None
    ) -> tuple[Floats, Floats]:
        """Return energy (pJ) and cycles that no mapping of a bypass choice undercuts.

        Parameters
        ----------
        pays : Pays, optional
            To look at each element of an array by itself. Without it, what elements with less
            work than others reuse beyond them is left out: then the bound is of regular mappings.
        objective : Objective, optional
            What is minimised, for a higher bound with `pays`. Where energy counts for no more than
            cycles, r times as many cycles may need less energy, but no less than 1 / r of it.

        Returns
        -------
        two arrays of choices
        """
        cycles = self.time(keep, pays)
        energy = self.energy(keep, pays, self.slower(cycles, objective))
        if leakage := leakage_per_cycle(self.architecture):
            energy = energy + leakage * cycles
        return energy, cycles

    def time(self, keep: KeepChoice, pays: Pays | None = None) -> Floats:
        """Return cycles that no mapping of a bypass choice undercuts."""
        links = self.links(keep)
        limits = limits_of(self, links)
        cycles: Floats = np.maximum(self.cycles, fewest_cycles(self, limits))
        for port in ports(self.architecture):
            own = [self.prices.at_port(link, port[0], port[-1]) for link in links]
            prices = [self.prices.load(link, *port) for link in own]
            cycles = np.maximum(cycles, self.least(own, prices, limits, pays))
        return cycles

    def energy(
        self,
        keep: KeepChoice,
        pays: Pays | None = None,
        slower: tuple[Floats, bool] | None = None,
    ) -> Floats:
        """Return energy (pJ) without leakage that no mapping of a bypass choice undercuts."""
        links = self.links(keep)
        prices = [self.prices.energy(link) for link in links]
        return self.work + self.least(links, prices, limits_of(self, links), pays, slower)

    def links(self, keep: KeepChoice) -> list[Link]:
        """Return the links of a bypass choice."""
        return [link for t, chain in enumerate(keep) for link in links_of(t, chain, self.compute)]

    def slower(self, cycles: Floats, objective: Objective | None) -> tuple[Floats, bool] | None:
        """Return `slower` and `limited` of a `Pace`."""
        if objective is None:
            return None
        energy, delay = objective.powers
        if 0 < energy <= delay and objective.most_energy == inf:
            return np.minimum(cycles, objective.most_cycles) / self.cycles, False
        if objective.most_cycles < inf:
            return np.maximum(objective.most_cycles / self.cycles, 1.0), True
        return None

    def least(
        self,
        links: Sequence[Link],
        prices: Sequence[Price],
        limits: Limits = (),
        pays: Pays | None = None,
        slower: tuple[Floats, bool] | None = None,
    ) -> Floats:
        """Return what the words of all links cost at least, for every spatial choice.

        What a link that passes memories sends is part of what crosses into each of them; it counts
        where that gives the highest bound.

        Parameters
        ----------
        limits : Limits
            Of the bypass choice.
        slower : (array of choices, bool), optional
            Of the `Pace`.
        """
        total = np.full(len(self.cycles), sum(price.once for price in prices))
        ways: list[list[int]] = []
        passing: dict[int, list[tuple[Link, Price]]] = {}
        for link, price in zip(links, prices, strict=True):
            if link.receiver == self.compute:
                total += price.received * self.layer.operations
                if price.on_the_way:
                    own = link, Price(price.sent, passed=price.passed)
                    passing.setdefault(link.sender + 1, []).append(own)
            elif price.sent:
                cuts = range(link.sender + 1, link.receiver + 1)
                same = self.segment[link.sender]
                ways.append([m for m in cuts if self.segment[m - 1] == same])
            else:
                ways.append([link.receiver])
        direct = {m: read_directly(self, own, limits) for m, own in passing.items()}
        certain = self.work + total + sum(direct.values())
        pace = None if slower is None else Pace(slower[0], certain, slower[1])
        best = np.zeros(len(total))
        inward = [(k, p) for k, p in zip(links, prices, strict=True) if k.receiver < self.compute]
        for chosen in product(*ways):
            parts = sum(direct.values()) + np.zeros(len(total))
            for m in range(1, self.compute):
                brought = tuple(
                    (link, Price(price.sent * (cut == m), received, passed=passed))
                    for (link, price), cut in zip(inward, chosen, strict=True)
                    for received, passed in [
                        (price.received, price.passed) if link.receiver == m else (0.0, ())
                    ]
                    if (price.sent and cut == m) or received or passed
                )
                if brought and pays is None:
                    parts += self.crossing(m, brought, links)
                elif brought and pays is not None:
                    inside = by_element(self, m, brought, links, pays, pace)
                    every = (*brought, *passing.get(m, ()))
                    if len(every) > len(brought) and mixes(self, every):
                        less = None if pace is None else replace(pace, floor=certain - direct[m])
                        together = by_element(self, m, every, links, pays, less)
                        inside = np.maximum(inside, together - direct[m])
                    parts += inside
            best = np.maximum(best, parts)
        return total + best

    def crossing(
        self, m: int, priced: tuple[tuple[Link, Price], ...], links: Sequence[Link]
    ) -> Floats:
        """Return what links cost at least that cross inward to memory m."""
        ends = tuple(links)
        key = m, priced, ends
        if key not in self.known:
            own = tuple(link for link, _ in priced)
            place = m, own, ends
            if place not in self.crossings:
                self.crossings[place] = self.meeting(*place)
            crossing = self.crossings[place]
            if crossing is None:
                self.known[key] = np.full(len(self.cycles), inf)
            else:
                least = crossing.least(
                    [(p.sent, self.passing(m, link, p), p.received) for link, p in priced]
                )
                self.known[key] = np.where(self.rooms.fits(ends), least, inf)
        return self.known[key]

    def passing(self, m: int, link: Link, price: Price) -> Floats | float:
        """Return what a word costs that is sent and comes through arrays on its way to memory m.

        Elements of the arrays crossed receive a word that is sent once for all of them.
        """
        total: Floats | float = price.sent
        outside, irrelevant = self.segment[m - 1], self.irrelevant[link.tensor]
        crossed = min(outside, self.segment[link.sender]), outside
        for k, own in price.passed:
            shared = self.unrolled.instances(link.tensor, irrelevant, crossed)
            inside = self.unrolled.instances(link.tensor, irrelevant, (min(outside, k), outside))
            total = total + own * shared / inside
        return total

    def meeting(self, m: int, own: tuple[Link, ...], links: tuple[Link, ...]) -> Crossing | None:
        """Return what links bring that cross inward to memory m, if there is room for them."""
        room = tuple(self.rooms.words(link, links) for link in own)
        if min(room) == 0:
            return None
        stays = [self.stay(m, link, links) for link in own]
        ends = tuple((link.tensor, link.receiver) for link in own), room
        if ends not in self.orders:
            self.orders[ends] = Orders(stays, self.layer.bounds)
        return Crossing(stays, self.orders[ends])

    def stay(self, m: int, link: Link, links: tuple[Link, ...]) -> Stay:
        """Return the words of a link that cross inward to memory m, at a price of 1 each."""
        t = link.tensor
        outside, inside = max(self.segment[m - 1], link.first), self.segment[link.receiver]
        operations = np.full(len(self.cycles), float(self.layer.operations))
        # further in fewer instances may be at work than there are
        crossed = outside, self.segment[m]
        # arrays between the sender and here share what is sent as well
        outer = min(outside, max(self.segment[link.sender], link.first)), outside
        # all elements together have no more iterations of a window that give a word
        sent = operations / self.unrolled.instances(t, self.irrelevant[t], outer)
        # of dimensions irrelevant to others as well, narrower choices may receive less
        own = self.unrolled.instances(t, self.irrelevant[t] & self.single, crossed)
        windows = frozenset[str]().union(*self.windows[t].dimensions)
        arrays = [k for k in range(outer[0], crossed[1]) if self.unrolled.shares(t, k)]
        arrays += range(crossed[1], inside)
        across, elements = np.ones(len(self.cycles)), []
        for terms in self.windows[t].terms:
            along = [
                self.unrolled.all_along(frozenset((term.dimension,)), arrays) for term in terms
            ]
            across = across * np.min(along, axis=0)
            if len(terms) == 2:
                elements.append((along[0], along[1]))
        unites = self.unites(link, outside)
        return Stay(
            sent=sent if unites else 0.0 * sent,
            received=operations * own if unites else (operations + sent) * own,
            relevant=self.relevant[t],
            irrelevant=self.irrelevant[t],
            windows=self.windows[t],
            pairs=self.windows[t].most,
            longest=float(self.layer.operations) / self.words[t],
            room=self.rooms.words(link, links),
            spread={},
            instances=self.unrolled.instances(t, self.irrelevant[t], crossed),
            most=partial(self.unrolled.along, crossed, inside),
            again=0.0 * sent if unites else sent * own,
            sharing=self.unrolled.all_along(windows, arrays),
            across=across,
            place=self.rooms.shared_place(link),
            bits=self.rooms.bits(link),
            # a loop on an irrelevant dimension is in no sliding run: all that it meets moves anew
            whole=sent / self.words[t] if unites else None,
            held=self.rooms.held(link.receiver) if self.rooms.fewest else None,
            left=self.rooms.left_words(link, links) if self.rooms.fewest else None,
            tensor=t,
            elements=elements if len(elements) == len(self.windows[t].terms) else (),
            inside=inside,
            between=self.unrolled.between,
        )

    def unites(self, link: Link, outside: int) -> bool:
        """Whether some array that a link crosses, or none at all, brings a word to several."""
        crossed = range(outside, self.segment[link.receiver])
        return not crossed or any(self.unrolled.shares(link.tensor, k) for k in crossed)


def bytes_of(value: Floats | Crossing | None) -> int:
    """Return the bytes of an array, or of the arrays of a crossing."""
    return 0 if value is None else value.nbytes
