"""The totals of energy and cycles of a network with fused layers: all trade-offs, or within limits.

Whatever the price of a cycle, the best totals at it are a corner of the convex hull of all that can
be reached. So between two corners that are known, the price at which both cost the same either
finds one below the line between them, or proves that there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from math import inf, isfinite
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.errors import NoMappingError
from tilewright.mapper.fused.results.front_result import FusedFront
from tilewright.mapper.fused.results.result import FusedResult, Variant
from tilewright.mapper.fused.trade_offs.half_planes import union
from tilewright.mapper.fused.trade_offs.priced_search import PricedSearch
from tilewright.mapper.fused.trade_offs.totals import PooledTotals, totals_of
from tilewright.mapper.network.network import compiled
from tilewright.mapper.network.running.progress import Progress
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.objective.tolerances import TIE, TOLERANCE
from tilewright.workload.layer import Network

FIRST, REST = 0.35, 0.3  # of a limited time: for the least energy, and of what is left for others
AGAIN = 0.7  # of what is left, where that was too little to map every layer
LEAST = 0.05  # of it: with less time left no other price is tried
MOST_PRICES = 24
CLOSE = 1e-3  # prices at which the bound is closer than this are not tried for a front

Corner = tuple[float, float]
"""Energy in pJ and cycles of a corner of the hull."""


class TradeOffSearch:
    """What is known of the totals of a network, or of all of its variants.

    Parameters
    ----------
    network : Network
        With a graph.
    architecture : Architecture
    run : Run

    Attributes
    ----------
    known : list of PricedSearch
        Of each variant.
    totals : list of PooledTotals or None
        Of each variant, of all that was found so far; None where there is nothing yet.
    interrupted, stopped : bool
        Whether Ctrl-C or the time limit ended a search.
    """

    def __init__(self, network: Network, architecture: Architecture, run: Run) -> None:
        self.network = network
        self.architecture = architecture
        self.run = run
        compiled(run.progress)  # counts for no limit
        self.start = perf_counter()
        self.known = [PricedSearch(own, architecture) for own in network.variants or (network,)]
        self.totals: list[PooledTotals | None] = []
        self.tried: set[float] = set()
        self.interrupted = self.stopped = False
        self.fault: NoMappingError | None = None

    def carry_out(self, goal: Objective) -> None:
        """Search for the totals within some limits, or for all of them if there are none.

        Raises
        ------
        NoMappingError
            When no mapping can run one of the layers, or none was found in time.
        KeyboardInterrupt
            When Ctrl-C ended the search before there was anything.
        """
        try:
            self.explore(goal)
        except KeyboardInterrupt:
            self.interrupted = True
        if not any(self.totals):
            if self.interrupted or self.fault is None:
                raise KeyboardInterrupt
            raise self.fault

    def explore(self, goal: Objective) -> None:
        """Search at one price after the other."""
        if not (self.attempt(0.0, FIRST) or self.attempt(0.0, 1.0)):
            return
        if not (self.attempt(inf, REST) or self.over()):
            self.attempt(inf, AGAIN)
        self.add_fronts()
        while not self.over() and len(self.tried) < MOST_PRICES:
            price = self.next_price(goal)
            if price is None or not self.attempt(price, REST):
                return

    def attempt(self, price: float, share: float) -> bool:
        """Search at a price in a part of the time that is left; return whether that had enough."""
        try:
            self.solve(price, share)
        except NoMappingError as fault:
            self.interrupted |= any(own.interrupted for own in self.known)
            self.stopped |= not self.interrupted
            self.fault = fault
        else:
            return True
        return self.interrupted

    def add_fronts(self) -> None:
        """Take all trade-offs of layers by themselves."""
        for own in self.known:
            if not self.over():
                share = self.left() * REST / len(self.known)
                with self.run.progress.working(self.state):
                    self.interrupted = own.add_fronts(share if isfinite(share) else None)
        self.sum_up()

    def sum_up(self) -> None:
        """Find the totals of all that is known."""
        self.totals = [totals_of(own) if 0.0 in own.found else None for own in self.known]

    def over(self) -> bool:
        """Whether no other price is tried for lack of time."""
        short = self.left() < LEAST * self.run.seconds
        self.stopped |= short
        return short or self.interrupted

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.run.seconds - (perf_counter() - self.start)

    def solve(self, price: float, share: float) -> None:
        """Search all variants at a price, in a part of the time that is left."""
        self.tried.add(price)
        end = perf_counter() + self.left() * share
        for i, own in enumerate(self.known):
            limit = (end - perf_counter()) / (len(self.known) - i) if isfinite(end) else None
            run = replace(self.run, time_limit=limit)
            if price in (0.0, inf):
                found = own.solve(price, run)
            else:
                # results at odd prices are of no use to others, and say little
                run = replace(run, cache=None, progress=Progress())
                with self.run.progress.working(self.state):
                    found = own.solve(price, run)
            self.stopped |= found.stopped
            if found.interrupted:
                self.interrupted = True
                break
        self.sum_up()

    def state(self) -> str:
        """Return in a line how far the work is."""
        points = sum(len(own.sums) for own in self.totals if own)
        return f"trade-offs: {len(self.tried)} searches, {points} totals"

    def corners(self) -> list[Corner]:
        """Return the corners of the hull of all totals, the least energy first."""
        points = sorted(
            {
                (float(energy), float(cycles))
                for own in self.totals
                if own
                for energy, cycles in zip(own.sums.energy, own.sums.cycles, strict=True)
            }
        )
        hull: list[Corner] = []
        for point in points:
            if hull and point[1] >= hull[-1][1]:
                continue  # beaten
            while len(hull) > 1 and not turns(hull[-2], hull[-1], point):
                hull.pop()
            hull.append(point)
        return hull

    def next_price(self, goal: Objective) -> float | None:
        """Return the price at which the bound is furthest below the line between two corners.

        With limits, between the corners around them; other corners only as long as that leaves
        much unknown, since runs of other prices may be mixed.
        """
        price = self.furthest(self.edges(goal), TIE if goal.limited else CLOSE)
        if price is None and goal.limited and self.gap(goal) > CLOSE:
            price = self.furthest(pairwise(self.corners()), CLOSE)
        return price

    def furthest(self, edges: Iterable[tuple[Corner, Corner]], least: float) -> float | None:
        """Return the price of the edge with the largest gap, if that is more than a share."""
        planes = union([own.planes for own in self.known])
        best = None
        for one, two in edges:
            price = (two[0] - one[0]) / (one[1] - two[1])
            value = one[0] + price * one[1]
            gap = 1 - planes.at(price) / value
            if gap > least and price not in self.tried:
                best, least = price, gap
        return best

    def gap(self, goal: Objective) -> float:
        """Return what is unknown of the best totals within limits, as a share."""
        value = min(variant.value for variant, _ in self.within(goal))
        bound = min(variant.lower_bound for variant, _ in self.within(goal))
        return 1 - bound / value if 0.0 < value < inf else 1.0

    def within(self, goal: Objective) -> Iterator[tuple[Variant, int]]:
        """Yield the best of each variant within limits, and which of its totals that is."""
        for known, totals in zip(self.known, self.totals, strict=True):
            row, value = (0, inf) if totals is None else best_of(totals, goal)
            bound = known.planes.least_energy(goal.most_cycles)
            if goal.powers == (0.0, 1.0):
                bound = known.planes.fewest_cycles(goal.most_energy)
            yield Variant(known.network.name, value, min(bound, value)), row

    def edges(self, goal: Objective) -> Iterator[tuple[Corner, Corner]]:
        """Yield corners that follow each other; with limits, those that a limit is between."""
        hull = self.corners()
        for one, two in pairwise(hull):
            inside = one[1] > goal.most_cycles >= two[1] or one[0] <= goal.most_energy < two[0]
            if inside or not goal.limited:
                yield one, two


def turns(one: Corner, two: Corner, three: Corner) -> bool:
    """Whether the second of three points is below the line between the others."""
    first = (two[0] - one[0]) * (one[1] - three[1])
    second = (three[0] - one[0]) * (one[1] - two[1])
    return first < second * (1 - TOLERANCE)


def map_within(
    network: Network, architecture: Architecture, objective: str, *, run: Run = UNLIMITED
) -> FusedResult:
    """Find the mapping of the least energy, or the fewest cycles, whose totals are within limits.

    Parameters
    ----------
    network : Network
        With a graph.
    architecture : Architecture
        What computes it.
    objective : str
        Energy or latency, with limits, which hold for the whole network.
    run : Run
        As for `map_fused`.

    Raises
    ------
    NoMappingError
        When no mapping can run one of the layers, or none that was found is within the limits.
    KeyboardInterrupt
        When Ctrl-C ended the search before there was one.
    """
    goal = parse_objective(objective)
    search = TradeOffSearch(network, architecture, run)
    search.carry_out(goal)
    found = list(search.within(goal))
    variants = [variant for variant, _ in found]
    at = min(range(len(found)), key=lambda i: variants[i].value)
    totals = search.totals[at]
    if totals is None or variants[at].value == inf:
        if search.interrupted:
            raise KeyboardInterrupt
        raise NoMappingError(nothing_within(search, goal))
    result = totals.result(found[at][1], objective, min(own.lower_bound for own in variants))
    return replace(
        result,
        seconds=perf_counter() - search.start,
        interrupted=search.interrupted,
        stopped=search.stopped,
        variants=tuple(variants) if network.variants else (),
    )


def best_of(totals: PooledTotals, goal: Objective) -> tuple[int, float]:
    """Return the totals of the least energy, or the fewest cycles, within limits, if any."""
    sums = totals.sums
    values = goal.values(sums.energy, sums.cycles)
    row = int(values.argmin())
    return row, float(values[row])


def nothing_within(search: TradeOffSearch, goal: Objective) -> str:
    """Return that nothing was found within some limits, and what was."""
    planes = union([own.planes for own in search.known])
    hull = search.corners()
    facts, proven = [], False
    if isfinite(goal.most_cycles):
        facts.append(f"the fewest cycles that were found are {hull[-1][1]:.10g}")
        proven |= planes.least_energy(goal.most_cycles) == inf
    if isfinite(goal.most_energy):
        facts.append(f"the least energy that was found is {hull[0][0]:.10g} pJ")
        proven |= planes.fewest_cycles(goal.most_energy) == inf
    if len(facts) == 2:
        proven |= planes.least_energy(goal.most_cycles) > goal.most_energy
    named = f"network '{search.network.name}' on '{search.architecture.name}'"
    what = "no mapping of" if proven else "no mapping was found of"
    return f"{what} {named} is{goal.within('')} in total: {', '.join(facts)}"


def trade_off_front(
    network: Network, architecture: Architecture, limits: Objective, *, run: Run = UNLIMITED
) -> FusedFront:
    """Find the trade-offs of total energy against total cycles of a network with fused layers.

    Parameters
    ----------
    network : Network
        With a graph.
    architecture : Architecture
        What computes it.
    limits : Objective
        Its limits hold for the totals.
    run : Run
        As for `map_fused`.

    Raises
    ------
    NoMappingError
        When no mapping can run one of the layers, or no totals that were found are within limits.
    """
    search = TradeOffSearch(network, architecture, run)
    search.carry_out(replace(limits, most_energy=inf, most_cycles=inf))
    front = FusedFront.of(
        [own for own in search.totals if own],
        union([own.planes for own in search.known]),
        network=network,
        architecture=architecture,
        limits=limits,
        seconds=perf_counter() - search.start,
        interrupted=search.interrupted,
        stopped=search.stopped,
        exact=all(own.apart_only() for own in search.known),
    )
    if not len(front):
        if search.interrupted:
            raise KeyboardInterrupt
        raise NoMappingError(nothing_within(search, limits))
    return front
