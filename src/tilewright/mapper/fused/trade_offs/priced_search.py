"""Searches of one network at several prices of a cycle, each with what earlier ones have found."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from math import inf, isfinite

from tilewright.architecture.machine import Architecture
from tilewright.errors import NoMappingError
from tilewright.fusion.evaluation import evaluate as evaluate_fused
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.search.candidate import Candidate
from tilewright.mapper.fused.search.trees import tree_of
from tilewright.mapper.fused.space.partition import Names
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.fused.trade_offs.half_planes import HalfPlanes
from tilewright.mapper.fused.trade_offs.priced_time import with_priced_time
from tilewright.mapper.fused.whole_search import SearchedNetwork, search_fused
from tilewright.mapper.network.front_of_network import map_network_front
from tilewright.mapper.network.running.run import Run
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.result import LayerResult
from tilewright.mapping.fused import FusedMapping
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Network

FREE = parse_objective("energy")  # without limits


@dataclass(frozen=True)
class Tree:
    """A tree of a segment, and what it costs on the machine itself.

    Attributes
    ----------
    candidate : Candidate
    energy, cycles : float
        Sums over its layers.
    """

    candidate: Candidate
    energy: float
    cycles: float


@dataclass
class PricedSearch:
    """What is known of a network on a machine, at all prices of a cycle so far.

    Attributes
    ----------
    network, architecture
        What is searched on what.
    planes : HalfPlanes
        Of the whole network.
    of_segments : dict of Names to HalfPlanes
    trees : dict of Names to list of Tree
        What was found for each segment, at any price.
    layers : dict of str to list of LayerResult
        What was found for each layer by itself, on the machine itself.
    of_layers : dict of str to HalfPlanes
    found : dict of float to SearchedNetwork
        The search at each price.
    last : SearchedNetwork or None
        The last search, also if it had no mapping of some layers.
    complete : bool
        Whether `layers` has all trade-offs of each.
    """

    network: Network
    architecture: Architecture
    planes: HalfPlanes = field(default_factory=HalfPlanes)
    of_segments: dict[Names, HalfPlanes] = field(default_factory=dict)
    trees: dict[Names, list[Tree]] = field(default_factory=dict)
    layers: dict[str, list[LayerResult]] = field(default_factory=dict)
    of_layers: dict[str, HalfPlanes] = field(default_factory=dict)
    found: dict[float, SearchedNetwork] = field(default_factory=dict)
    last: SearchedNetwork | None = None
    complete: bool = False

    @property
    def first(self) -> FusedNetworkSearch:
        """The search for the least energy."""
        return self.found[0.0].search

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the last search."""
        return self.last is not None and self.last.interrupted

    def at(self, price: float) -> SearchedNetwork:
        """Return the search at a price, or for the least energy if there was no time for it."""
        return self.found.get(price, self.found[0.0])

    def solve(self, price: float, run: Run) -> SearchedNetwork:
        """Search for the least energy plus cycles at a price; the least cycles if it is infinite.

        Raises
        ------
        NoMappingError
            When no mapping can run one of the layers, or none was found in time.
        """
        objective = "latency" if price == inf else "energy"
        machine = self.architecture if price == inf else with_priced_time(self.architecture, price)
        know = partial(self.know, price)
        found = search_fused(self.network, machine, objective, run=run, before=know)
        self.last = found
        if found.alone.unmapped:
            name = found.alone.unmapped[0].name
            raise NoMappingError(
                f"the search was stopped before it had any mapping of layer '{name}'"
            )
        self.found[price] = found
        self.planes.add(price, found.search.bound_of_all())
        self.learn(price, found.search)
        return found

    def add_fronts(self, seconds: float | None) -> bool:
        """Take all trade-offs of layers by themselves; return whether Ctrl-C ended that."""
        try:
            found = map_network_front(self.network, self.architecture, FREE, time_limit=seconds)
        except NoMappingError:  # no time
            return False
        for layer in self.network.layers:
            if layer.name in self.layers:
                front, _ = found.starts[likeness(layer)]
                self.layers[layer.name] += [
                    self.on_the_machine(replace(point, layer=layer)) for point in front.points
                ]
        self.complete = found.optimal
        return found.interrupted

    def know(self, price: float, search: FusedNetworkSearch) -> None:
        """Tell a search at a price what earlier ones have found."""
        for name, result in search.alone.items():
            if name in self.of_layers:
                bound = max(self.of_layers[name].at(price), result.proof.lower_bound)
                proof = result.proof.of(result.proof.value, bound)
                search.alone[name] = replace(result, proof=proof)
        for names in search.kinds():
            if names in self.of_segments:
                best, value = self.best(names, price)
                search.know(names, self.of_segments[names].at(price), best, value)

    def apart_only(self) -> bool:
        """Whether all trade-offs are known: those of layers by themselves, and none can be fused.

        Totals of many runs are thinned, see `front_totals.thinned`.
        """
        bounds = (planes.at(0.0) for planes in self.of_segments.values())
        return self.complete and all(bound == inf for bound in bounds)

    def best(self, names: Names, price: float) -> tuple[Candidate | None, float]:
        """Return the best tree of a segment so far at a price, and what it costs there."""
        known = self.trees.get(names, [])
        if not known:
            return None, inf
        tree = min(known, key=lambda own: priced(own.energy, own.cycles, price))
        return tree.candidate, priced(tree.energy, tree.cycles, price)

    def learn(self, price: float, search: FusedNetworkSearch) -> None:
        """Take over what a search at some price has found."""
        for name, result in search.alone.items():
            self.of_layers.setdefault(name, HalfPlanes()).add(price, result.proof.lower_bound)
            known = self.layers.setdefault(name, [])
            if all(own.mapping != result.mapping for own in known):
                known.append(self.on_the_machine(result))
        for names in search.every_kind():
            outcome = search.outcomes[names]
            least = outcome.bound if isfinite(outcome.bound) else outcome.least
            self.of_segments.setdefault(names, HalfPlanes()).add(price, least)
            known_trees = self.trees.setdefault(names, [])
            if outcome.best is None or any(t.candidate is outcome.best for t in known_trees):
                continue
            segment = search.segments[names]
            tree = self.tree_of(search, names, outcome.best)
            cost = evaluate_fused(segment, self.architecture, tree)
            layers = cost.layers.values()
            energy, cycles = sum(la.energy_pj for la in layers), sum(la.cycles for la in layers)
            known_trees.append(Tree(outcome.best, energy, cycles))

    def tree_of(self, search: FusedNetworkSearch, names: Names, best: Candidate) -> FusedMapping:
        """Return a candidate of a segment, or of one that is alike, as its tree."""
        return tree_of(SegmentProblem(search.segments[names], self.architecture), best)

    def on_the_machine(self, result: LayerResult) -> LayerResult:
        """Return a mapping that was found at some price, with what it costs without one."""
        cost = evaluate(result.layer, self.architecture, result.mapping)
        return replace(result, evaluation=cost)

    def valued(self, result: LayerResult, price: float) -> LayerResult:
        """Return the same as a result of the search at a price, with a proof of that."""
        alone = self.at(price).search.alone[result.layer.name]
        value = priced(result.evaluation.energy_pj, result.evaluation.cycles, price)
        proof = alone.proof.of(value, self.of_layers[result.layer.name].at(price))
        return replace(result, objective=alone.objective, proof=proof)


def priced(energy: float, cycles: float, price: float) -> float:
    """Return energy plus cycles at a price, or the cycles alone if it is infinite."""
    return cycles if price == inf else energy + price * cycles
