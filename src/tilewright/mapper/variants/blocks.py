"""The search for mappings whose outermost memory moves whole blocks.

A mapping moves at least as many words in blocks as it asks for, and everything else stays the same:
the optimum counted in words, which is proven, is a lower bound. Mappings are looked for near that
one and near the best mappings of MARVEL's off-chip tiles, by the blocks that they move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from collections.abc import Mapping as Dict
from dataclasses import replace
from math import inf
from random import Random
from time import perf_counter

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import InputError, MappingError, NoMappingError
from tilewright.kernels.kernel import interruptible
from tilewright.layout.choose import tiles_of
from tilewright.layout.count import best_layouts, count_blocks, tensor_blocks, wasted_words
from tilewright.layout.dmc import Cost
from tilewright.layout.evaluate import BlockEvaluation, in_blocks
from tilewright.layout.moved import BlockCounts, block_words, laid_out
from tilewright.mapper.heuristics.neighbourhood import items_of, mapping_of
from tilewright.mapper.network.in_turn import InTurn
from tilewright.mapper.network.network import map_network
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.pipelined.pipelined import Climb, plain_mapping
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.search.confirmed import DisagreementError
from tilewright.mapper.variants.tile_mapping import tile_mapping
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import resolve
from tilewright.mapping.validity import check
from tilewright.model.count import count
from tilewright.model.energy import read_cost, write_cost
from tilewright.model.evaluate import assess
from tilewright.workload.axis_order import Layout, given_layouts, orders
from tilewright.workload.layer import Layer, Network

BEST = "best"
LayoutsLike = Dict[str, "str | Layout"] | str | None
Choices = Dict[str, tuple[Layout, ...]]
OUTPUTS = (2.0, 1.0)  # how often the output counts, in off-chip tiles to begin with
CLIMBS = 2  # beginnings that are looked around
TRIES = 1000  # neighbours tried from each of them
CLOSE = 1e-9
BEGIN = 0.3  # seconds that looking for beginnings may take in any case
PROVE = 0.5  # of a time limit, for the optimum counted in words
REASON = "blocks are only looked for near the optimum in words"
SPACE = (
    "The outermost memory moves whole blocks. Lower bound: the optimum counted in words, which "
    "blocks never undercut; mappings were looked for near it and near the best off-chip tiles, "
    "which proves nothing unless they reach it. In words: "
)


def map_blocks(
    network: Network,
    architecture: Architecture,
    objective: str,
    layouts: LayoutsLike,
    *,
    run: Run = UNLIMITED,
) -> NetworkResult:
    """Look for the best mapping of every layer, counted in blocks of the outermost memory.

    Parameters
    ----------
    network, architecture, objective
        What is mapped onto what, and what is minimised for each layer.
    layouts : mapping of str to (str or Layout), "best" or None
        How tensors lie, by name or role; with ``"best"``, in the orders of axes that a mapping
        moves the fewest blocks with; with None, as the workload says. Layers of which neither says
        anything are counted in words.
    run : Run
        As for `network.map_network`, which finds the lower bounds.

    Returns
    -------
    NetworkResult
        With a `BlockEvaluation` of each layer that has layouts. A layer is optimal where its value
        is the lower bound. Ctrl-C ends the search with the best so far.

    Raises
    ------
    InputError
        When a layout cannot be read, the machine has no blocks, or they cannot be counted.
    NoMappingError
        When no mapping can run one of the layers, or none was found within the limits.
    """
    start = perf_counter()
    chosen = {
        likeness(layer): layout_choices(layer, architecture, layouts)
        for layer in network.layers
        if layouts is not None or laid_out(layer, architecture)
    }
    first = replace(run, time_limit=run.share(PROVE))
    in_words = map_network(network, architecture, objective, run=first)
    counted = [result.layer for result in in_words.layers if likeness(result.layer) in chosen]
    words = {likeness(result.layer): result for result in in_words.layers}
    begun: dict[object, BlockSearch] = {}

    def solve(layer: Layer, until: float) -> LayerResult | None:
        kind = likeness(layer)
        if kind not in begun:
            begun[kind] = BlockSearch(words[kind], architecture, chosen[kind])
        begun[kind].run(until)
        found = begun[kind].result(layouts == BEST)
        if found is None and until == inf:
            raise begun[kind].failure
        return found

    work = InTurn(
        solve, in_words.objective, start + run.seconds, run.progress,
        after_interrupt=True, interrupted=in_words.interrupted,
    )  # fmt: skip
    work.run(counted)
    results, missing = work.results(counted)
    known = {id(result.layer): result for result in (*in_words.layers, *results)}
    without = {id(layer) for layer in missing}
    return NetworkResult(
        network=network,
        architecture=architecture,
        objective=in_words.objective,
        layers=tuple(
            known[id(each.layer)] for each in in_words.layers if id(each.layer) not in without
        ),
        seconds=perf_counter() - start,
        interrupted=work.interrupted,
        unmapped=(*in_words.unmapped, *missing),
        stopped=in_words.stopped,
    )


def layout_choices(layer: Layer, architecture: Architecture, given: LayoutsLike) -> Choices:
    """Return the layouts that each tensor of a layer may have.

    Of the best ones these are one for each contiguous axis: the order of the others matters less.
    """
    for tensor in layer.tensors:
        block_words(architecture, tensor)
    if given != BEST:
        found = given_layouts({} if given is None else given, layer)
        return {name: (layout,) for name, layout in found.items()}
    return {
        tensor.name: tuple(
            {o.innermost: o for o in reversed([*orders(tensor, layer.bounds)])}.values()
        )
        for tensor in layer.tensors
    }


class BlockSearch:
    """The search for one layer.

    Parameters
    ----------
    in_words : LayerResult
        The best mapping counted in words, with its proof.
    architecture : Architecture
        The machine.
    choices : mapping of str to tuple of Layout
        See `layout_choices`.
    """

    def __init__(self, in_words: LayerResult, architecture: Architecture, choices: Choices) -> None:
        self.start = perf_counter()
        self.in_words = in_words
        self.layer, self.architecture = in_words.layer, architecture
        self.choices = choices
        self.climb = BlockClimb(self.layer, architecture, in_words.objective, choices)
        if undercut(architecture):
            units = architecture.instances(architecture.compute.name)
            steps = self.layer.operations * architecture.compute.cycles / units
            self.bound = self.climb.objective.value(self.climb.least_energy, steps)
        else:
            self.bound = in_words.proof.lower_bound + self.least_waste()

    def least_waste(self) -> float:
        """Return by how much the energy of every mapping is above that in words, in pJ.

        Other objectives are not raised.
        """
        if parse_objective(self.in_words.objective).powers != (1.0, 0.0):
            return 0.0
        outermost = self.architecture.memories[0]
        total = 0.0
        for tensor in self.layer.tensors:
            choices = self.choices[tensor.name]
            if len(choices) > 1:
                choices = tuple(orders(tensor, self.layer.bounds))
            cost = write_cost if tensor.is_output else read_cost
            total += cost(outermost, tensor) * min(
                wasted_words(self.layer, self.architecture, tensor, own) for own in choices
            )
        return total

    @interruptible()
    def run(self, end: float) -> None:
        """Try the beginnings and climb from the best ones, until one is proven best or time ends.

        Parameters
        ----------
        end : float
            When, on the clock of `perf_counter`.
        """
        until = max(end, self.start + BEGIN) if end > self.start else end

        def done() -> bool:
            return perf_counter() >= until or self.climb.value <= self.bound * (1 + CLOSE)

        begins = [self.in_words.mapping]
        self.climb.cost(begins[0], inf)
        if not done():
            begins += self.beginnings(done)
        until = end
        costs = {mapping: self.climb.cost(mapping, inf) for mapping in begins}
        for i, mapping in enumerate(sorted(costs, key=lambda each: costs[each])[:CLIMBS]):
            self.climb.begin(mapping)
            self.climb.run(TRIES, Random(i), done)

    def beginnings(self, stop: Callable[[], bool]) -> Iterator[Mapping]:
        """Yield the best mappings of off-chip tiles, and the one that needs the least storage."""
        inner = {name: own[0].innermost for name, own in self.choices.items() if len(own) == 1}
        if isinstance(self.architecture.levels[1], Memory):
            for output in OUTPUTS:
                cost = Cost(self.layer, self.architecture, output)
                try:
                    tile = tiles_of(cost).best(inner)
                except NoMappingError:
                    continue
                found = tile_mapping(tile, self.in_words.objective, stop)
                if found is not None:
                    yield found[0]
        yield plain_mapping(self.layer, self.architecture)

    @property
    def failure(self) -> Exception:
        """Why nothing was found."""
        return self.climb.uncounted or NoMappingError(
            f"no mapping of layer '{self.layer.name}' on '{self.architecture.name}' was found for "
            f"'{self.in_words.objective}', counted in blocks"
        )

    def result(self, best: bool) -> LayerResult | None:
        """Return the best mapping, with the best order of all axes where these are free."""
        if self.climb.mapping is None:
            return None
        layer, machine, objective = self.layer, self.architecture, self.in_words.objective
        mapping = self.climb.mapping
        if mapping != self.in_words.mapping:
            mapping = mapping_of(items_of(mapping, layer), layer)
        layouts = {name: own[0] for name, own in self.choices.items()}
        if best:
            layouts = best_layouts(layer, machine, mapping)
        cost = blocks_of(layer, machine, mapping, layouts)
        value = parse_objective(objective).value(cost.energy_pj, cost.cycles)
        words = self.in_words.proof
        if value < self.bound * (1 - CLOSE):
            raise DisagreementError(
                f"internal error: layer '{layer.name}' on '{machine.name}' has a mapping of "
                f"{value!r} {parse_objective(objective).unit} in blocks, below the bound "
                f"{self.bound!r}; please report this with the layer, the architecture and the "
                "layouts"
            )
        bound = min(self.bound, value)
        optimal = words.optimal and value <= bound * (1 + CLOSE)
        proof = replace(
            words,
            optimal=optimal,
            lower_bound=bound,
            value=value,
            gap=(value - bound) / value if value else 0.0,
            reason=REASON if words.optimal and not optimal else "",
            space=SPACE + words.space[0].lower() + words.space[1:],
            seconds=words.seconds + perf_counter() - self.start,
        )
        return LayerResult(layer, mapping, cost, objective, proof)


def undercut(architecture: Architecture) -> bool:
    """Whether blocks may be fewer than words on a machine.

    What several instances take at a time is one block, but as many words where an array neither
    multicasts nor adds up. The lower bound is then the least that all mappings have in common.
    """
    return not all(array.multicast and array.reduction for array in architecture.arrays)


def blocks_of(
    layer: Layer, architecture: Architecture, mapping: Mapping, layouts: Dict[str, Layout]
) -> BlockEvaluation:
    """Return what a valid mapping costs with these layouts."""
    blocks = count_blocks(layer, architecture, mapping, layouts)
    counts = count(layer, architecture, mapping)
    return in_blocks(layer, architecture, mapping, counts, layouts, blocks)


class BlockClimb(Climb):
    """Steps to mappings that cost less in blocks; see `pipelined.Climb`.

    Attributes
    ----------
    choices : mapping of str to tuple of Layout
        The layouts that each tensor may have: the one of the fewest blocks counts.
    uncounted : InputError or None
        Why the blocks of some mapping could not be counted.
    """

    def __init__(
        self, layer: Layer, architecture: Architecture, objective: str, choices: Choices
    ) -> None:
        super().__init__(layer, architecture, objective)
        self.choices = choices
        self.moved: dict[object, tuple[BlockCounts, Layout]] = {}
        self.uncounted: InputError | None = None

    def cost(self, mapping: Mapping, most: float) -> float:
        """Return the objective of a mapping; infinite when it does not fit or costs too much."""
        if mapping in self.known:
            return self.known[mapping]
        try:
            check(mapping, self.layer, self.architecture)
        except MappingError:
            self.known[mapping] = inf
            return inf
        counts = count(self.layer, self.architecture, mapping)
        cost = assess(self.layer, self.architecture, mapping, counts)
        structure = resolve(mapping, self.layer, self.architecture)
        blocks: dict[str, BlockCounts] = {}
        layouts: dict[str, Layout] = {}
        for tensor in self.layer.tensors:
            # tensors whose blocks are not yet known count in words
            if self.objective.value(cost.energy_pj, cost.cycles) > most:
                return inf
            link = structure.links[tensor.name][0]
            key = (tensor.name, link.child, structure.loops[: link.depth], link.run)
            if key not in self.moved:
                try:
                    self.moved[key] = min(
                        (
                            (tensor_blocks(self.layer, self.architecture, structure, tensor, o), o)
                            for o in self.choices[tensor.name]
                        ),
                        key=lambda pair: pair[0].reads + pair[0].writes,
                    )
                except InputError as failure:
                    self.uncounted = failure
                    self.known[mapping] = inf
                    return inf
            blocks[tensor.name], layouts[tensor.name] = self.moved[key]
            cost = in_blocks(self.layer, self.architecture, mapping, counts, layouts, blocks)
        value = self.objective.value(cost.energy_pj, cost.cycles)
        self.known[mapping] = value
        if value < self.value:
            self.value, self.mapping = value, mapping
        return value
