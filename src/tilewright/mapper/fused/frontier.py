"""The least cost of a network for every size of one memory, layers by themselves or fused.

The best choice for some size is also the best for all smaller ones that its tiles fit. So the next
search is for one bit less than they take, until a layer has no mapping left. Layers by themselves
have their whole step function from one sweep; a segment is searched anew only where its best tree
no longer fits, or where its layers cost more than what no tree undercuts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.fusion.evaluation import evaluate as evaluate_fused
from tilewright.mapper.fused.results.frontier_result import FusedFrontier, FusedPoint, SegmentPoint
from tilewright.mapper.fused.search.candidate import Candidate
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.search.trees import tree_of
from tilewright.mapper.fused.space.partition import (
    Names,
    Part,
    best_packing,
    in_order,
    packed,
    parts_of,
    segments_of,
)
from tilewright.mapper.fused.space.segment_problem import SegmentProblem, alike
from tilewright.mapper.memory_sizes.frontier import (
    check_memories,
    counting,
    least_cost,
    sized,
)
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TIE, TOLERANCE
from tilewright.mapper.problem.link_costs import segment_of
from tilewright.mapper.results.frontier import Frontier, Point
from tilewright.mapper.search.confirmed import DisagreementError
from tilewright.workload.layer import Network


def fused_frontier(
    network: Network,
    architecture: Architecture,
    over: str,
    objective: str = "energy",
    *,
    traffic: str | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda searches: None,
) -> FusedFrontier:
    """Return the least cost of a network for every size of one memory.

    Parameters
    ----------
    network : Network
        With a graph.
    architecture : Architecture
        What computes it. Energies per access stay what they are.
    over : str
        A memory above the arrays; its own size does not matter.
    objective : str
        What is minimised, summed over layers and segments, see `objective.parse_objective`.
    traffic : str, optional
        A memory: its reads and writes, in elements, are minimised instead.
    stop : callable
        Asked every now and then whether to end.
    progress : callable
        Told the number of searches so far.

    Raises
    ------
    InputError
        When the memory does not exist, has no size, or is inside an array.
    NoMappingError
        When no mapping can run one of the layers, however large the memory is.
    """
    start = perf_counter()
    check_memories(architecture, (over,), traffic)
    names = [memory.name for memory in architecture.memories]
    if segment_of(architecture)[names.index(over)]:
        raise InputError(
            f"memory '{over}' is inside an array: fused layers share those above all arrays",
            key="over",
        )
    wanted = str(parse_objective(objective if traffic is None else "energy"))
    run = _Descent(network, architecture, over, wanted, traffic, stop, progress)
    interrupted = False
    try:
        run.descend()
    except KeyboardInterrupt:
        interrupted = True
    return FusedFrontier(
        network=network,
        architecture=architecture,
        over=over,
        objective=wanted,
        traffic=traffic,
        points=tuple(reversed(run.points)),
        optimal=run.finished and not interrupted,
        searches=run.searches,
        seconds=perf_counter() - start,
        interrupted=interrupted,
    )


@dataclass
class _Known:
    """The best tree of a segment for the sizes from `used` up to that of the last search.

    Attributes
    ----------
    tree : Candidate or None
        None where no tree is better than the layers otherwise.
    value, least : float
        Of the tree; and what no tree of that size or a smaller one undercuts.
    used : int
        Bits that it takes.
    """

    tree: Candidate | None
    value: float
    least: float
    used: int

    def holds(self, bits: float, otherwise: float) -> bool:
        """Whether nothing better than layers that cost so much otherwise can exist."""
        if self.tree is not None:
            return self.used <= bits
        return self.least >= otherwise * (1 - TIE)


class _Descent:
    """Goes from the largest size that matters down to the smallest one."""

    def __init__(
        self,
        network: Network,
        architecture: Architecture,
        over: str,
        objective: str,
        traffic: str | None,
        stop: Callable[[], bool],
        progress: Callable[[int], None],
    ) -> None:
        assert network.graph is not None
        self.network = network
        self.given = architecture
        self.over = over
        self.objective = objective
        self.traffic = traffic
        self.stop = stop
        self.progress = progress
        self.searches = 0
        self.finished = True
        self.place = [memory.name for memory in architecture.memories].index(over)
        counted = architecture if traffic is None else counting(architecture, traffic)
        self.machine = sized(counted, (over,), (inf,))
        self.chunks = Chunks(self.machine, parse_objective(objective))
        self.parts = list(parts_of(network.graph))
        self.segments = {
            frozenset(layer.name for layer in own.layers): own
            for part in self.parts
            for own in segments_of(part, network)
        }
        self.problems = {
            names: SegmentProblem(own, self.machine) for names, own in self.segments.items()
        }
        self.alike = {names: alike(own) for names, own in self.segments.items()}
        self.known: dict[object, _Known] = {}
        self.alone: dict[str, Frontier] = {}
        self.points: list[FusedPoint] = []

    def descend(self) -> None:
        """Find the points."""
        used = {part.layer_of[name] for part in self.parts for name in part.names}
        for layer in self.network.layers:
            if layer.name not in used:
                continue
            found = least_cost(
                layer, self.given, (self.over,), self.objective if not self.traffic else "energy",
                traffic=self.traffic, stop=self.stop,
            )  # fmt: skip
            self.alone[layer.name] = found
            self.searches += found.searches
            self.progress(self.searches)
            self.finished = self.finished and found.optimal
        bits = inf
        while bits >= 0 and not self.stop():
            if any(own.at(**{self.over: bits}) is None for own in self.alone.values()):
                return
            point = self.point(bits)
            if point is None:
                break
            if self.points and point.value <= self.points[-1].value * (1 + TIE):
                self.points.pop()  # as good, and smaller
            self.points.append(point)
            bits = point.bits - 1
        self.finished = self.finished and bits < 0

    def point(self, bits: float) -> FusedPoint | None:
        """Return the best choice for some size; None when the search was stopped."""
        self.chunks.capacity = tuple(
            float(bits) if i == self.place else room for i, room in enumerate(self.chunks.capacity)
        )
        taken = 0
        value = alone_value = 0.0
        segments: list[SegmentPoint] = []
        layers: Counter[str] = Counter()
        for part in self.parts:
            costs = {name: self.alone_at(part, name, bits).value for name in part.names}
            gains: dict[Names, float] = {}
            for names in self.segments:
                if not names <= costs.keys():
                    continue
                own = sum(costs[name] for name in names)
                inside = {other: gain for other, gain in gains.items() if other < names}
                saved = sum(gains[other] for other in best_packing(inside, part))
                found = self.tree(names, bits, own - saved)
                if found is None:
                    return None
                if found.tree is not None and found.value < own - saved:
                    gains[names] = own - found.value
            chosen = best_packing(gains, part)
            best = packed(list(gains), gains, part)
            if sum(gains[n] for n in chosen) < sum(gains[n] for n in best):
                self.finished = False  # the best sets need each other
            alone_value += sum(costs.values()) * part.repeat
            value += (sum(costs.values()) - sum(gains[n] for n in chosen)) * part.repeat
            fused = frozenset[str]().union(*chosen)
            for name in part.names:
                if name not in fused:
                    taken = max(taken, self.alone_at(part, name, bits).bits[0])
                    layers[part.layer_of[name]] += part.repeat
            for names in in_order(part, chosen):
                tree = self.known[self.alike[names]]
                taken = max(taken, tree.used)
                segments.append(self.segment_point(names, tree))
        alone = tuple(
            (self.alone[name].at(**{self.over: bits}), times) for name, times in layers.items()
        )
        return FusedPoint(
            bits=taken,
            value=value,
            alone=alone_value,
            segments=tuple(segments),
            layers=tuple((found, times) for found, times in alone if found is not None),
        )

    def alone_at(self, part: Part, name: str, bits: float) -> Point:
        """Return the best mapping of a layer by itself for some size."""
        found = self.alone[part.layer_of[name]].at(**{self.over: bits})
        assert found is not None
        return found

    def tree(self, names: Names, bits: float, otherwise: float) -> _Known | None:
        """Return the best tree of a segment below what its layers cost otherwise."""
        key = self.alike[names]
        problem = self.problems[names]
        if not problem.possible:
            return _Known(None, inf, inf, 0)
        known = self.known.get(key)
        if known is not None and known.holds(bits, otherwise):
            return known
        if self.stop():
            return None
        before = self.chunks.searches
        search = SegmentSearch(problem, self.chunks)
        best = search.solve(otherwise, self.stop)
        self.searches += self.chunks.searches - before
        self.progress(self.searches)
        if best.bound < best.value * (1 - TIE):
            return None  # stopped
        if best.candidate is None:
            self.known[key] = _Known(None, inf, max(otherwise, search.least), 0)
            return self.known[key]
        mapping = tree_of(problem, best.candidate)
        cost = evaluate_fused(self.segments[names], self.machine, mapping)
        goal = parse_objective(self.objective)
        exact = sum(goal.value(one.energy_pj, one.cycles) for one in cost.layers.values())
        if abs(exact - best.value) > TOLERANCE * max(abs(exact), best.value):
            raise DisagreementError(
                f"internal error: for the segment {', '.join(sorted(names))} the search gives its "
                f"mapping {best.value!r}, the model {exact!r}; please report this with the network "
                "and the architecture"
            )
        self.known[key] = _Known(best.candidate, exact, exact, cost.rooms[self.over].bits)
        return self.known[key]

    def segment_point(self, names: Names, known: _Known) -> SegmentPoint:
        """Return a segment of a point, evaluated on the machine itself."""
        assert known.tree is not None
        segment = self.segments[names]
        mapping = tree_of(self.problems[names], known.tree)
        machine = sized(self.given, (self.over,), (known.used,))
        return SegmentPoint(segment, mapping, evaluate_fused(segment, machine, mapping))
