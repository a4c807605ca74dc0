"""The search under pipelined latency: the best even mapping, with proof, and what is near it.

Uneven mappings near the best even one are tried, too. Where one of them is better, or no even
mapping is proven to be the best, a lower bound of all mappings is stated: pipelined latency is at
least throughput latency, and the counts are the same, so the optimum under throughput latency,
which is proven, is one. Mappings are then looked for near those that are best under throughput
latency on machines which forbid what pipelined latency makes expensive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from math import exp, inf, log
from random import Random
from time import perf_counter

from tilewright.architecture.constraints.constraint import Constraint
from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.errors import MappingError, NoMappingError
from tilewright.mapper.canonical.polish import Cost
from tilewright.mapper.canonical.tidy import tidied
from tilewright.mapper.heuristics.greedy import greedy_mapping
from tilewright.mapper.heuristics.neighbourhood import Items, items_of, mapping_of, neighbour
from tilewright.mapper.network.in_turn import InTurn
from tilewright.mapper.network.layer_search import beyond_limits, check_possible
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.pipelined.best_even import CLOSE, EvenFound, EvenSearch
from tilewright.mapper.pipelined.even_count import even_mappings
from tilewright.mapper.pipelined.even_proof import EVENLY, proven
from tilewright.mapper.pipelined.solved_evenly import SolvedEvenly, searched_evenly
from tilewright.mapper.pipelined.word_costs import covered
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.mapper.results.proof import Proof
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.results.searched_space import space_text
from tilewright.mapper.search.found import Found
from tilewright.mapper.search.questions.infeasibility import check_feasible
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import For, Mapping, Node, Store
from tilewright.mapping.validity import check
from tilewright.model.count import count
from tilewright.model.energy import operation_cost, read_cost, write_cost
from tilewright.model.evaluate import assess, evaluate
from tilewright.timing.latency import pipelined_latency
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Network

GREEDY = 8  # mappings to begin with that are made factor by factor
AT_LEAST = 2
CLIMBS = 2  # the best beginnings that are looked around
TRIES = 2500  # neighbours tried from each of them
WARM = 0.15  # how much worse a neighbour may be at first, as a logarithm
LOOK = 400  # neighbours tried of an even mapping that is proven to be the best of those
EVEN = 0.7  # of a time limit, to find that
BEGIN = 0.35  # of a time limit, to find where to begin
PROVE = 0.55  # of a time limit, until the search for the lower bound ends
BOUND = (
    "Lower bound: the optimum under throughput latency, which pipelined latency never undercuts."
)


def never() -> bool:
    """Tell what takes no longer than it may not to stop."""
    return False


def search_pipelined(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    *,
    time_limit: float | None = None,
) -> LayerResult | None:
    """Look for the best mapping of a layer under pipelined latency.

    Parameters
    ----------
    layer, architecture, objective
        What is mapped onto what, and what is minimised, see `objective.parse_objective`.
    time_limit : float, optional
        Seconds.

    Returns
    -------
    LayerResult or None
        The best mapping found, and a lower bound of all; None when none was found. It is optimal
        where its value is the bound.

    Raises
    ------
    NoMappingError
        When no mapping is within the limits of the objective.
    """
    start = perf_counter()
    limit = inf if time_limit is None else time_limit

    def until(share: float) -> Callable[[], bool]:
        return lambda: perf_counter() - start >= share * limit

    def price(mapping: Mapping) -> Cost:
        cost = evaluate(layer, architecture, mapping, latency="pipelined", check=False)
        return cost.energy_pj, float(cost.cycles)

    climb = Climb(layer, architecture, objective)
    even = EvenFound()
    if covered(layer, architecture):
        search = EvenSearch(layer, architecture, objective)
        even = search.solve(until(EVEN))
    if even.mapping is not None:
        climb.begin(even.mapping)
        if even.proven:
            climb.run(LOOK, Random(0), never)
            if climb.value >= even.value * (1 - CLOSE):
                best = tidied(even.mapping, layer, architecture, price, never, even=True)
                return proven(
                    layer, architecture, objective, best, even_mappings(search),
                    perf_counter() - start,
                )  # fmt: skip
    begins = [mapping for mapping in (even.mapping, climb.mapping) if mapping is not None]
    begins += beginnings(layer, architecture, objective, climb, until)
    least = Search(layer, bounding(architecture), objective).solve(until(PROVE))
    finished = least.finished
    if finished and least.mapping is None:
        raise NoMappingError(beyond_limits(layer, architecture, parse_objective(objective)))
    if least.mapping is not None:
        begins.append(least.mapping)
    begins.append(plain_mapping(layer, architecture))
    order = sorted(dict.fromkeys(begins), key=lambda mapping: climb.cost(mapping, inf))[:CLIMBS]
    for i, mapping in enumerate(order):
        share = PROVE + (1 - PROVE) * (i + 1) / len(order)
        climb.begin(mapping)
        climb.run(TRIES, Random(i), until(share))
    if climb.mapping is None:
        return None
    units = architecture.instances(architecture.compute.name)
    steps = layer.operations * architecture.compute.cycles / units
    bound = least.value if finished else min(max(least.bound, 0.0), least.value)
    bound = max(bound, parse_objective(objective).value(climb.least_energy, steps))
    best = mapping_of(items_of(climb.mapping, layer), layer)
    best = tidied(best, layer, architecture, price, until(1.0))
    cost = evaluate(layer, architecture, best, latency="pipelined")
    value = parse_objective(objective).value(cost.energy_pj, cost.cycles)
    bound = min(bound, value)
    proof = Proof(
        optimal=finished and value <= bound * (1 + CLOSE),
        lower_bound=bound,
        value=value,
        gap=(value - bound) / value if value else 0.0,
        space=f"{space_text(architecture)} {BOUND}",
        mappings_in_space=mappings_in_space(layer, architecture),
        seconds=perf_counter() - start,
    )
    return LayerResult(layer, best, cost, objective, proof)


def beginnings(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    climb: Climb,
    until: Callable[[float], Callable[[], bool]],
) -> Iterator[Mapping]:
    """Yield mappings to climb from: greedy ones, and the best ones on stricter machines.

    `until` tells when a share of the time is over.
    """
    for i in range(GREEDY):
        # the first ones take a second, which no time limit saves
        halt = until(BEGIN / 2) if i >= AT_LEAST else never
        if i and halt():
            break
        made = greedy_mapping(layer, architecture, climb.cost, Random(i), halt)
        if made is not None:
            yield made
    machines = list(stricter(layer, architecture))
    for i, machine in enumerate(machines):
        share = BEGIN / 2 + BEGIN / 2 * (i + 1) / len(machines)
        found = attempt(layer, machine, objective, until(share))
        if found.mapping is not None:
            yield found.mapping


def map_pipelined(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    run: Run = UNLIMITED,
) -> NetworkResult:
    """Look for the best mapping of every layer of a network under pipelined latency.

    Parameters
    ----------
    network, architecture, objective
        What is mapped onto what, and what is minimised for each layer.
    run : Run
        How long it may take, who is told of it, and where the best even mappings are looked up
        before a search and kept after it.

    Returns
    -------
    NetworkResult
        Ctrl-C ends the search with the layers that are done.

    Raises
    ------
    NoMappingError
        When no mapping can run one of the layers, or none within the limits of the objective.
    """
    start = perf_counter()
    objective = str(parse_objective(objective))
    for layer in network.layers:
        check_possible(layer, architecture)
        check_feasible(layer, architecture)
    solved = SolvedEvenly(run.cache, architecture, objective)

    def recall(layer: Layer) -> LayerResult | None:
        hit = solved.find(layer)
        return None if hit is None else solved.confirm(layer, hit)

    def solve(layer: Layer, until: float) -> LayerResult | None:
        share = None if until == inf else until - perf_counter()
        found = search_pipelined(layer, architecture, objective, time_limit=share)
        if found is None and share is None:
            raise NoMappingError(
                f"no mapping of layer '{layer.name}' on '{architecture.name}' was found "
                f"for '{objective}' under pipelined latency"
            )
        if found is not None and found.proof.space.startswith(EVENLY):
            solved.keep(layer, searched_evenly(found))
        return found

    work = InTurn(solve, objective, start + run.seconds, run.progress, recall=recall)
    work.run(network.layers)
    if solved.failure:
        run.progress.unkept(solved.failure)
    results, missing = work.results(network.layers)
    return NetworkResult(
        network=network,
        architecture=architecture,
        objective=objective,
        layers=results,
        seconds=perf_counter() - start,
        interrupted=work.interrupted,
        unmapped=missing,
    )


def plain_mapping(layer: Layer, architecture: Architecture) -> Mapping:
    """Return the mapping that needs the least storage."""
    outermost, *inner = architecture.memories
    nodes: list[Node] = [Store(outermost.name, tuple(t.name for t in layer.tensors))]
    nodes += [For(dimension, 1) for dimension in layer.dimensions]
    for memory in inner:
        if kept := tuple(t.name for t in layer.tensors if t.role in memory.must_keep):
            nodes.append(Store(memory.name, kept))
    return Mapping(tuple(nodes))


def attempt(layer: Layer, machine: Architecture, objective: str, stop: Callable[[], bool]) -> Found:
    """Search a stricter machine, which may allow nothing."""
    try:
        return Search(layer, machine, objective).solve(stop)
    except MappingError:
        return Found()


def bounding(architecture: Architecture) -> Architecture:
    """Return a machine whose throughput latency is at most the pipelined latency of another.

    Only the networks that carry operands to and fro bound their words there.
    """

    def level_of(level: Level) -> Level:
        if not isinstance(level, Array) or level.bandwidth is None or level.networks is None:
            return level
        networks = level.networks
        share = (networks.read + networks.write) / networks.count
        return replace(level, bandwidth=level.bandwidth * share)

    return replace(architecture, levels=tuple(level_of(level) for level in architecture.levels))


def stricter(layer: Layer, architecture: Architecture) -> Iterator[Architecture]:
    """Yield machines that forbid what takes long step by step.

    Short bursts (every tensor is kept in the memory that a DMA engine fills), and partial sums
    that elements add up.
    """
    machine = bounding(architecture)
    sums = frozenset(layer.output.dimensions)
    apart = tuple(
        Constraint(array.name, None, sums) for array in machine.arrays if array.adders is not None
    )

    def kept(level: Level, above: Level) -> Level:
        if not isinstance(level, Memory) or not isinstance(above, Memory) or above.dma is None:
            return level
        roles = frozenset(t.role for t in layer.tensors if level.may_store(t.role))
        return replace(level, must_keep=roles)

    levels = machine.levels
    keeping = replace(
        machine,
        levels=(levels[0], *(kept(b, a) for a, b in pairwise(levels))),
    )
    if apart:
        yield replace(keeping, constraints=(*machine.constraints, *apart))
    if keeping.levels != machine.levels:
        yield keeping


class Climb:
    """The best mapping so far, and steps to better ones.

    Attributes
    ----------
    value : float
        Its objective.
    mapping : Mapping or None
    """

    def __init__(self, layer: Layer, architecture: Architecture, objective: str) -> None:
        self.layer = layer
        self.architecture = architecture
        self.objective = parse_objective(objective)
        self.value = inf
        self.mapping: Mapping | None = None
        self.now: tuple[float, Items] = (inf, ())
        self.known: dict[Mapping, float] = {}
        # every word comes from the outermost memory at least once, or goes there
        outermost = architecture.memories[0]
        self.least_energy = layer.operations * operation_cost(architecture, layer)
        for tensor in layer.tensors:
            cost = write_cost if tensor.is_output else read_cost
            self.least_energy += footprint(tensor, layer.bounds) * cost(outermost, tensor)

    def begin(self, mapping: Mapping) -> None:
        """Go on from a mapping."""
        self.now = (self.cost(mapping, inf), items_of(mapping, self.layer))

    def cost(self, mapping: Mapping, most: float) -> float:
        """Return the objective of a mapping; infinite when it does not fit or needs too long."""
        if mapping in self.known:
            return self.known[mapping]
        try:
            check(mapping, self.layer, self.architecture)
        except MappingError:
            self.known[mapping] = inf
            return inf
        pipeline = pipelined_latency(self.layer, self.architecture, mapping)
        if self.objective.value(self.least_energy, pipeline.cycles) > most:
            return inf
        counts = count(self.layer, self.architecture, mapping)
        found = assess(self.layer, self.architecture, mapping, counts, pipeline)
        value = self.objective.value(found.energy_pj, found.cycles)
        self.known[mapping] = value
        if value < self.value:
            self.value, self.mapping = value, mapping
        return value

    def run(self, tries: int, random: Random, stop: Callable[[], bool]) -> None:
        """Try neighbours; worse ones are accepted less and less."""
        for i in range(tries):
            if stop():
                return
            value, items = self.now
            warm = WARM * (1 - i / tries) ** 2
            most = value * exp(-warm * log(1 - random.random())) if warm > 0 else value
            changed = neighbour(items, self.architecture, random)
            if changed == items or changed[0].factor:
                continue
            cost = self.cost(mapping_of(changed, self.layer), most)
            if cost <= most:
                self.now = (cost, changed)
