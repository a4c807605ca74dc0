"""What is known of a network whose layers may be fused: its segments, and which to choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapper.fused.search.apart import Apart, fewest_steps, layers_apart
from tilewright.mapper.fused.search.branch_bounds import BranchBounds
from tilewright.mapper.fused.search.candidate import Candidate
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.known import KnownChunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.segment_task import Outcome, Task
from tilewright.mapper.fused.space.around import Room
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
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.results.result import LayerResult
from tilewright.mapping.fused import Segment
from tilewright.model.energy import leakage_per_cycle
from tilewright.workload.layer import Network


class FusedNetworkSearch:
    """What is known of a network whose layers may be fused, and of all its segments.

    Attributes
    ----------
    alone : dict
        Results of layers by themselves.
    segments, outcomes : dict
        By the names of their layers.
    alike : dict
        Segments of which one fused mapping is the best of all.
    group : dict
        Those that are alike, by the names of the layers of each.
    parts : list of Part
    apart : dict
        What layers of segments cost at least in any tree, by the `key` of each.
    """

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
        self.goal = parse_objective(objective)
        self.chunks = Chunks(architecture, self.goal)
        self.segments: dict[Names, Segment] = {}
        self.outcomes: dict[Names, Outcome] = {}
        self.alike: dict[object, list[tuple[Part, Names]]] = {}
        self.group: dict[Names, list[tuple[Part, Names]]] = {}
        self.parts: list[Part] = []
        self.apart: dict[object, float] = {}
        self._rooms: dict[Names, list[Room]] = {}

    def smallest_rooms(self, names: Names) -> list[Room]:
        """Return the bits of each memory that the smallest tiles in a segment take, in each way.

        None where there is no memory for some of them.
        """
        first = self.group[names][0][1]
        if first not in self._rooms:
            problem = SegmentProblem(self.segments[first], self.architecture)
            self._rooms[first] = (
                SegmentSearch(problem, self.chunks).smallest_rooms() if problem.possible else []
            )
        return self._rooms[first]

    def list_segments(self) -> None:
        """List the segments of all parts of the graph, and bound them."""
        assert self.network.graph is not None
        self.parts = list(parts_of(self.network.graph))
        for part in self.parts:
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

    def know(self, names: Names, bound: float, best: Candidate | None, value: float) -> None:
        """Take over of a segment what other searches say: a bound, and a tree with its value."""
        most = self.most(names)
        if value >= most:
            best, value = None, inf
        least = max(bound, self.outcomes[names].bound)
        ended = least >= min(value, most) * (1 - TIE)
        bound = inf if ended and best is None else min(least, value)
        self.learn(names, Outcome(best, value, bound, least, searched=ended))

    def unknown(self, names: Names) -> float:
        """Return by how much the layers of segments that are alike may cost less than is known."""
        return sum(
            max(self.known(part, own) - self.outcomes[own].bound, 0.0) * part.repeat
            for part, own in self.group[names]
        )

    def known(self, part: Part, names: Names) -> float:
        """Return what some layers cost at most."""
        return min(self.otherwise(part, names), self.outcomes[names].value)

    def most(self, names: Names) -> float:
        """Return what the layers of a segment cost at most."""
        part, first = self.group[names][0]
        return self.known(part, first)

    def kinds(self) -> list[Names]:
        """Return a segment of each kind whose search has not ended."""
        return [names for names in self.every_kind() if not self.outcomes[names].searched]

    def every_kind(self) -> list[Names]:
        """Return a segment of each kind."""
        return [own[0][1] for own in self.alike.values()]

    def task(self, names: Names, tolerance: float, known: KnownChunks) -> Task:
        """Return what there is to search of a segment."""
        part, first = self.group[names][0]
        segment = self.segments[first]
        return Task(
            segment=segment,
            architecture=self.architecture,
            objective=self.objective,
            tolerance=tolerance,
            most=self.otherwise(part, first),
            alone=self.least_alone(segment),
            earlier=self.outcomes[first],
            known=known,
        )

    def learn(self, names: Names, outcome: Outcome) -> None:
        """Take what the search of a segment has found."""
        self.outcomes.update({each: outcome for _, each in self.group[names]})

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

    def ways_apart(self, names: Names, *, shared: bool = True) -> list[list[Apart]]:
        """Return the layers of a segment that are bounded by themselves; none where that fails.

        If `shared`, none where no two layers read one tensor, either: then the proven costs of
        layers say nearly as much of energy, and these bounds would take the time of searches.
        """
        problem = SegmentProblem(self.segments[names], self.architecture)
        bounds = BranchBounds(problem, self.chunks, (), np.zeros(0, np.int64))
        possible = problem.possible and not problem.windows.loops
        if bounds.additive:
            possible = possible and (not shared or bool(bounds.shared))
        else:
            possible = possible and self.goal.powers[0] > 0.0
        return list(layers_apart(problem, each=not bounds.additive)) if possible else []

    def questions(self, segments: Iterable[Names]) -> list[Apart]:
        """Return the layers of some segments that are not yet bounded by themselves."""
        found = {
            way.key: way
            for names in segments
            for ways in self.ways_apart(names)
            for way in ways
            if way.key not in self.apart
        }
        return list(found.values())

    def bound_apart(self, answers: Mapping[object, float]) -> None:
        """Raise the bounds of segments whose layers are bounded by themselves."""
        self.apart.update(answers)
        for names in self.kinds():
            every = self.ways_apart(names)
            if every and all(way.key in self.apart for ways in every for way in ways):
                least = sum(self.least_apart(ways, self.apart) for ways in every)
                known = self.outcomes[names]
                bound = max(known.bound, min(least, known.value))
                self.learn(names, replace(known, bound=bound, least=max(known.least, bound)))

    def least_apart(self, ways: Sequence[Apart], energies: Mapping[object, float]) -> float:
        """Return what a layer costs at least in any tree, given its energy on all its terms."""
        energy = min(energies.get(way.key, -inf) for way in ways)
        leakage = leakage_per_cycle(self.architecture)
        if self.goal.powers == (1.0, 0.0) and not leakage:
            return energy
        cycles = fewest_steps(ways[0].layer, self.architecture)
        return self.goal.value(max(energy, 0.0) + leakage * cycles, cycles)

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

    def bound_of_all(self) -> float:
        """Return what the network costs at least, all runs counted."""
        return sum(self.bound(part) * part.repeat for part in self.parts)

    def most_layers(self) -> int:
        """Return how many layers a segment may have in every part."""
        return min(most_layers(part) for part in self.parts)

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
