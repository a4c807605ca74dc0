"""The best mapping of a network whose layers may be fused.

Every layer is mapped by itself first. Then each set of layers that exchange tensors which nobody
else reads is searched for a fused mapping that is better than what its layers cost otherwise; last,
those that gain most together are chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, isfinite
from time import perf_counter

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.fusion.evaluation import evaluate as evaluate_fused
from tilewright.mapper.fused.edge_details import detailed_edges
from tilewright.mapper.fused.results.edges import UnfusedEdge
from tilewright.mapper.fused.results.result import FusedResult, Unfused
from tilewright.mapper.fused.results.segment_result import SegmentResult
from tilewright.mapper.fused.search.branch_bounds import BranchBounds
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.outcome import Outcome, exchanged
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.search.trees import tree_of
from tilewright.mapper.fused.space.partition import (
    Names,
    Part,
    best_packing,
    most_layers,
    packed,
    parts_of,
    segments_of,
)
from tilewright.mapper.fused.space.segment_problem import SegmentProblem, alike
from tilewright.mapper.network.network import map_network
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TIE, TOLERANCE
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapper.search.confirmed import DisagreementError
from tilewright.mapping.fused import Segment
from tilewright.workload.layer import Network

SHARE = 0.5  # of a limited time, for layers by themselves; what they cost at least bounds segments
SEARCH = 0.95  # of it, until the last search ends
ROUGHLY = 0.02, 0.005  # by how much segments may be worse than the best at first


def map_fused(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    run: Run = UNLIMITED,
    tiles: str = DIVISORS,
) -> FusedResult:
    """Find the best mapping of a network with a graph, layers by themselves or fused.

    Parameters
    ----------
    network : Network
        With a graph.
    architecture : Architecture
        What computes it.
    objective : str
        What to minimise: energy, summed over segments and layers.
    run : Run
        How long everything may take; the rest as for `map_network`, of layers by themselves.
    tiles : str
        Tile sizes of layers by themselves. Those of fused layers divide.

    Raises
    ------
    NoMappingError
        When no mapping can run one of the layers.
    """
    start = perf_counter()
    last = start + run.seconds * SEARCH
    first = replace(run, time_limit=run.share(SHARE))
    alone = map_network(network, architecture, objective, run=first, tiles=tiles)
    searching = NetworkSearch(network, architecture, alone.objective, alone.layers)
    searching.interrupted = alone.interrupted
    assert network.graph is not None
    parts = list(parts_of(network.graph))
    searching.list_segments(parts)
    # trees that are found in little time leave out most searches of the last round
    many = len(architecture.arrays) > 1
    for tolerance in (*ROUGHLY, 0.0) if many or run.time_limit is not None else (0.0,):
        searching.chunks.tolerance = tolerance
        if many:
            searching.search_hoped(parts, last)
        else:
            searching.search(last)
    chosen = [(part, searching.chosen(part)) for part in parts]
    stopped = alone.stopped or perf_counter() >= last
    return searching.result(chosen, alone, seconds=perf_counter() - start, stopped=stopped)


class NetworkSearch:
    """The search of all segments of a network."""

    def __init__(
        self,
        network: Network,
        architecture: Architecture,
        objective: str,
        layers: tuple[LayerResult, ...],
    ) -> None:
        self.network = network
        self.architecture = architecture
        self.objective = objective
        self.alone = {result.layer.name: result for result in layers}
        self.chunks = Chunks(architecture, parse_objective(objective))
        self.segments: dict[Names, Segment] = {}
        self.outcomes: dict[Names, Outcome] = {}
        self.alike: dict[object, list[tuple[Part, Names]]] = {}
        self.group: dict[Names, list[tuple[Part, Names]]] = {}
        self.interrupted = False

    def list_segments(self, parts: Sequence[Part]) -> None:
        """List the segments of all parts of the graph, and bound them."""
        for part in parts:
            for segment in segments_of(part, self.network):
                names = frozenset(layer.name for layer in segment.layers)
                if any(part.layer_of[name] not in self.alone for name in names):
                    continue  # of a layer there is no mapping yet
                own = self.alike.setdefault(alike(segment), [])
                own.append((part, names))
                self.group[names] = own
                self.segments[names] = segment
                first = own[0][1]
                self.outcomes[names] = self.outcomes.get(first) or self.unsearched(segment)

    def search(self, last: float) -> None:
        """Search all segments, those of a part with fewer layers first.

        In a limited time each has its share, by what is not known of it yet; what is left of that
        goes to those that come later.

        Parameters
        ----------
        last : float
            When the time is over, as a time of the clock.
        """
        todo = [own for own in self.alike.values() if not self.outcomes[own[0][1]].searched]
        unknown = [sum(self.unknown(*each) for each in own) for own in todo]
        if isfinite(last) and self.chunks.tolerance == 0.0:
            order = sorted(range(len(todo)), key=lambda n: -unknown[n])
            todo, unknown = [todo[n] for n in order], [unknown[n] for n in order]
        for n, own in enumerate(todo):
            now = perf_counter()
            if self.interrupted or now >= last:
                return
            share = unknown[n] / sum(unknown[n:]) if unknown[n] > 0.0 else 0.0
            self.search_one(own, now + (last - now) * share if isfinite(last) else inf)

    def search_hoped(self, parts: Sequence[Part], last: float) -> None:
        """Search the segments that the bound rests on, that of which least is known first.

        This is for machines where a search takes long: larger segments are searched before smaller
        ones, whose values would leave out most of them.

        Those that would save most together, were their bounds attained, are all that has to be
        known: when nothing is left to know of them, no other choice of segments is better. In a
        limited time each has its share, by what is not known of it yet. With a tolerance, each is
        searched once.

        Parameters
        ----------
        last : float
            When the time is over, as a time of the clock.
        """
        tried: set[Names] = set()
        stopped = False
        while not self.interrupted and perf_counter() < last:
            left: dict[Names, float] = {}
            for part in parts:
                for names in self.hoped(part):
                    first = self.group[names][0][1]
                    if not self.outcomes[first].searched:
                        left[first] = left.get(first, 0.0) + self.unknown(part, names)
            untried = left.keys() - tried
            if not untried and (self.chunks.tolerance > 0.0 or not stopped):
                break  # none is left, or what is left ran out of memory
            if not untried:
                tried, stopped = set(), False
                continue
            names = max(sorted(untried, key=sorted), key=lambda own: left[own])
            tried.add(names)
            end = last
            if isfinite(last) and (every := sum(left[own] for own in untried)):
                now = perf_counter()
                end = now + (last - now) * left[names] / every
            self.search_one(self.group[names], end)
            stopped = stopped or perf_counter() >= end

    def search_one(self, own: list[tuple[Part, Names]], end: float) -> None:
        """Search segments that are alike, until some time of the clock."""
        part, names = own[0]
        try:
            found = self.segment(
                self.segments[names], self.otherwise(part, names),
                lambda: perf_counter() >= end, self.outcomes[names],
            )  # fmt: skip
        except KeyboardInterrupt:
            self.interrupted = True
            return
        self.outcomes.update({each: found for _, each in own})

    def unknown(self, part: Part, names: Names) -> float:
        """Return by how much a fused mapping of some layers may be better than what is known."""
        known = min(self.otherwise(part, names), self.outcomes[names].value)
        return max(known - self.outcomes[names].bound, 0.0) * part.repeat

    def segment(
        self, segment: Segment, most: float, stop: Callable[[], bool], earlier: Outcome
    ) -> Outcome:
        """Search one segment for a fused mapping below some value, and one that is known."""
        start = perf_counter()
        problem = SegmentProblem(segment, self.architecture)
        if not problem.possible:
            return Outcome(None, inf, inf)
        before = self.chunks.searches
        floor = earlier.bound
        search = SegmentSearch(problem, self.chunks, floor)
        if search.bounds.additive and len(self.architecture.arrays) > 1:
            # this leaves out more, but says less of what it leaves out than searches do, which
            # take long with several arrays
            search.apart = self.least_alone(segment) - search.bounds.saved_at_most()
        known = earlier.best if earlier.value < most else None
        best = search.solve(min(most, earlier.value), stop)
        candidate = best.candidate or known
        # where there is nothing better, smaller segments say what is possible
        nothing = candidate is None and best.bound >= most * (1 - TIE)
        bound = inf if nothing else max(best.bound, min(floor, best.value))
        ended = best.bound >= best.value * (1 - TIE)
        return Outcome(
            best=candidate,
            value=inf if candidate is None else best.value,
            bound=bound,
            least=search.least if ended else max(best.bound, min(floor, best.value)),
            searched=ended,
            candidates=earlier.candidates + search.candidates,
            searches=earlier.searches + self.chunks.searches - before,
            seconds=earlier.seconds + perf_counter() - start,
        )

    def unsearched(self, segment: Segment) -> Outcome:
        """Return what is known of a segment before it is searched."""
        problem = SegmentProblem(segment, self.architecture)
        if not problem.possible:
            return Outcome(None, inf, inf)
        bounds = BranchBounds(problem, self.chunks, (), np.zeros(0, np.int64))
        floor = self.floor(segment, bounds)
        return Outcome(None, inf, floor, floor, searched=False)

    def floor(self, segment: Segment, bounds: BranchBounds) -> float:
        """Return what no fused mapping of a segment undercuts, without any search."""
        return bounds.least_of_layers(self.least_alone(segment))

    def least_alone(self, segment: Segment) -> float:
        """Return what the layers of a segment cost at least by themselves."""
        return sum(self.alone[name].proof.lower_bound for name in segment.sources)

    def values(self, part: Part, names: Names) -> float:
        """Return what layers cost by themselves."""
        return sum(self.alone[part.layer_of[name]].proof.value for name in names)

    def gain(self, part: Part, names: Names) -> float:
        """Return what fusing some layers saves."""
        return self.values(part, names) - self.outcomes[names].value

    def otherwise(self, part: Part, names: Names) -> float:
        """Return what some layers cost when not all of them are fused with each other."""
        inside = {own: self.gain(part, own) for own in self.outcomes if own < names}
        return self.values(part, names) - sum(inside[own] for own in best_packing(inside, part))

    def chosen(self, part: Part) -> list[Names]:
        """Return the segments of a part that save most together."""
        own = set(part.names)
        gains = {names: self.gain(part, names) for names in self.outcomes if names <= own}
        return best_packing(gains, part)

    def mapped(self, part: Part) -> Names:
        """Return the names of layers that have a mapping by themselves."""
        return frozenset(name for name, layer in part.layer_of.items() if layer in self.alone)

    def bound(self, part: Part, among: Names | None = None) -> float:
        """Return what a part costs at least, or some of its layers when no others join them."""
        least, gains = self.most_gained(part, among)
        return least - sum(gains[names] for names in self.hoped(part, among))

    def hoped(self, part: Part, among: Names | None = None) -> list[Names]:
        """Return the segments that would save most together, were their bounds attained."""
        _, gains = self.most_gained(part, among)
        useful = sorted((names for names, gain in gains.items() if gain > 0.0), key=sorted)
        return packed(useful, gains, part)

    def most_gained(self, part: Part, among: Names | None) -> tuple[float, dict[Names, float]]:
        """Return what layers cost at least by themselves, and what each segment saves at most."""
        own = self.mapped(part) if among is None else self.mapped(part) & among
        least = {name: self.alone[part.layer_of[name]].proof.lower_bound for name in own}
        return sum(least.values()), {
            names: sum(least[name] for name in names) - outcome.bound
            for names, outcome in self.outcomes.items()
            if names <= own
        }

    def result(
        self,
        chosen: list[tuple[Part, list[Names]]],
        alone: NetworkResult,
        *,
        seconds: float,
        stopped: bool,
    ) -> FusedResult:
        """Return what was chosen, as the model values it."""
        segments = []
        unfused: Counter[str] = Counter()
        edges: list[UnfusedEdge] = []
        bound = 0.0
        for part, sets in chosen:
            bound += self.bound(part) * part.repeat
            edges += detailed_edges(self, part, sets)
            fused = frozenset[str]().union(*sets)
            for name in part.names:
                if name not in fused:
                    unfused[part.layer_of[name]] += part.repeat
            for names in sorted(sets, key=lambda own: min(part.names.index(n) for n in own)):
                own = (part.layer_of[layer.name] for layer in self.segments[names].layers)
                before = tuple(self.alone[layer] for layer in own)
                segments.append(self.confirmed(names, before))
        layers = tuple(
            Unfused(self.alone[name], count)
            for name, count in unfused.items()
            if name in self.alone
        )
        return FusedResult(
            network=self.network,
            architecture=self.architecture,
            objective=self.objective,
            layers=alone.layers,
            seconds=seconds,
            interrupted=self.interrupted,
            unmapped=alone.unmapped,
            stopped=stopped,
            segments=tuple(segments),
            unfused=layers,
            unfused_edges=tuple(edges),
            bound=bound,
            most_layers=min(most_layers(part) for part, _ in chosen),
        )

    def confirmed(self, names: Names, before: tuple[LayerResult, ...]) -> SegmentResult:
        """Return a segment's result; the model gives its mapping the value that was found.

        Raises
        ------
        DisagreementError
            When the model gives it another value.
        """
        segment, outcome = self.segments[names], self.outcomes[names]
        assert outcome.best is not None
        problem = SegmentProblem(segment, self.architecture)
        mapping = tree_of(problem, outcome.best)
        evaluation = evaluate_fused(segment, self.architecture, mapping)
        goal = parse_objective(self.objective)
        exact = sum(goal.value(one.energy_pj, one.cycles) for one in evaluation.layers.values())
        if abs(exact - outcome.value) > TOLERANCE * max(abs(exact), outcome.value):
            unit = goal.unit
            raise DisagreementError(
                f"internal error: for the segment {', '.join(sorted(names))} on "
                f"'{self.architecture.name}' the search gives its mapping {outcome.value!r} {unit},"
                f" the model {exact!r}; please report this with the network and the architecture"
            )
        close = outcome.bound >= outcome.value * (1 - TIE)
        return SegmentResult(
            segment=segment,
            mapping=mapping,
            evaluation=evaluation,
            alone=before,
            exchanged=tuple(exchanged(problem, outcome.best)),
            value=exact,
            lower_bound=exact if close else min(outcome.bound, exact),
            seconds=outcome.seconds,
        )
