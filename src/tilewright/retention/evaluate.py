"""Evaluate and simulate mappings on machines whose memories may retain optimally."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import Link, Structure, resolve
from tilewright.mapping.validity import check as check_mapping
from tilewright.mapping.validity import element_bits
from tilewright.model.evaluate import assess
from tilewright.model.evaluate import evaluate as evaluate_tiles
from tilewright.model.results.result import Evaluation
from tilewright.reference.belady import missing
from tilewright.reference.simulate import Instance, Moved, Simulation, Step, Word, Words, check_size
from tilewright.reference.simulate import simulate as simulate_tiles
from tilewright.retention.counts import Holdings, count
from tilewright.retention.policy import held, retaining
from tilewright.timing.stages import Layouts
from tilewright.workload.layer import Layer


def refuse_retention(architecture: Architecture, what: str, key: str) -> None:
    """Refuse what is counted tile by tile where a memory retains more than tiles."""
    for memory in retaining(architecture):
        raise InputError(
            f"memory '{memory.name}' of '{architecture.name}' has optimal retention: {what} there",
            key=key,
        )


def check_latency(architecture: Architecture, latency: str) -> None:
    """Refuse pipelined latency where a memory retains optimally: its steps are not defined."""
    if latency != "throughput":
        refuse_retention(architecture, f"{latency} latency is not defined", "latency")


def evaluate(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    *,
    check: bool = True,
    latency: str = "throughput",
    layouts: Layouts | None = None,
) -> Evaluation:
    """Return what a mapping of a layer on a machine costs.

    Parameters
    ----------
    layer, architecture, mapping, check, latency, layouts
        As for `model.evaluate`; only throughput latency where a memory retains optimally.

    Returns
    -------
    Evaluation
        Energy in pJ, cycles, and exact counts in tensor elements; the shares of memories with
        optimal retention in words.

    Raises
    ------
    MappingError
        When the mapping is malformed or does not fit the machine.
    InputError
        When the loops above a memory with optimal retention have too many steps.
    """
    if not retaining(architecture):
        return evaluate_tiles(
            layer, architecture, mapping, check=check, latency=latency, layouts=layouts
        )
    check_latency(architecture, latency)
    if check:
        check_mapping(mapping, layer, architecture)
    structure = resolve(mapping, layer, architecture)
    holdings = held(layer, architecture, structure)
    counts = count(layer, architecture, mapping, structure, holdings)
    return shown(assess(layer, architecture, mapping, counts), holdings)


def simulate(
    layer: Layer, architecture: Architecture, mapping: Mapping, *, check: bool = True
) -> Evaluation:
    """Return what a mapping costs, counted by carrying it out; see `evaluate`.

    The layer may have 2 million operations at most; an InputError tells when it has more.
    """
    if not retaining(architecture):
        counts = simulate_tiles(layer, architecture, mapping, check=check)
        return assess(layer, architecture, mapping, counts)
    check_size(layer)
    if check:
        check_mapping(mapping, layer, architecture)
    structure = resolve(mapping, layer, architecture)
    holdings = held(layer, architecture, structure)
    counts = RetainingSimulation(layer, architecture, structure, holdings).counts()
    return shown(assess(layer, architecture, mapping, counts), holdings)


def shown(evaluation: Evaluation, holdings: Holdings) -> Evaluation:
    """Return an evaluation with the shares of the retaining memories, and what they occupy."""
    memories = dict(evaluation.memories)
    for memory in retaining(evaluation.architecture):
        shares = {h.tensor: h.share for h in holdings.values() if h.memory == memory.name}
        occupied = sum(
            shares[t.name] * element_bits(t, memory)
            for t in evaluation.layer.tensors
            if t.name in shares
        )
        capacity = memory.total_bits
        memories[memory.name] = replace(
            memories[memory.name],
            shares=shares,
            occupied_bits=occupied,
            capacity_share=occupied / capacity if capacity else None,
        )
    return replace(evaluation, memories=memories)


class RetainingSimulation(Simulation):
    """A mapping that is carried out, word by word, where some memories retain optimally."""

    def __init__(
        self, layer: Layer, architecture: Architecture, structure: Structure, holdings: Holdings
    ) -> None:
        super().__init__(layer, architecture, structure)
        self.holdings = holdings

    def moves(
        self, link: Link, cuts: Sequence[int], alone: frozenset[str]
    ) -> Iterator[tuple[Moved, Moved]]:
        """Yield at each step what enters the child's instances, and what they held before."""
        hold = self.holdings.get((link.child, link.tensor.name))
        if hold is None:
            yield from super().moves(link, cuts, alone)
            return
        mine = self.touched(alone) if alone and link.tensor.is_output else None
        needed: dict[Instance, list[frozenset[tuple[Word, int]]]] = defaultdict(list)
        turns: list[list[Instance]] = []
        for tiles in self.numbered(link, cuts, alone):
            turns.append([instance for instance, _ in tiles])
            for instance, block in tiles:
                needed[instance].append(block)
        moved = {instance: missing(blocks, hold.share) for instance, blocks in needed.items()}
        for turn in turns:
            at = [(instance, plain(next(moved[instance]))) for instance in turn]
            yield [(i, words if mine is None else words & mine) for i, words in at], []

    def numbered(
        self, link: Link, cuts: Sequence[int], alone: frozenset[str]
    ) -> Iterator[list[tuple[Instance, frozenset[tuple[Word, int]]]]]:
        """Yield the blocks of a child at each step, each word with a number behind it.

        It is how often the word has entered the memory above, if that has returned it in between:
        a partial sum is another one then.
        """
        entered: Counter[tuple[Instance, Word]] = Counter()
        outer = [i for i in cuts if i < link.parent_depth]
        width = len(self.spatial(outer))
        arrivals = self.arrivals(link, outer, alone)
        before: Step | None = None
        for step, active in self.steps(cuts, alone):
            now = step[: len(outer) - width]
            if now != before:
                entered.update((at, word) for at, words in arrivals.get(now, ()) for word in words)
                before = now
            yield [
                (instance, frozenset((word, entered[instance[:width], word]) for word in tile))
                for instance, tile in self.tiles(link.tensor, active)
            ]

    def arrivals(
        self, link: Link, outer: Sequence[int], alone: frozenset[str]
    ) -> dict[Step, Moved]:
        """Return the partial sums that enter a link's parent at each step."""
        chain = self.structure.links[link.tensor.name]
        if not link.tensor.is_output or link == chain[0]:
            return {}
        # whole tiles, not what the first elements further in touch of them
        alone &= set(self.spatial(outer))
        above = self.moves(chain[chain.index(link) - 1], outer, alone)
        steps = self.steps(outer, alone)
        return {step: moved for (step, _), (moved, _) in zip(steps, above, strict=True)}


def plain(words: Iterable[tuple[Word, int]]) -> Words:
    """Return words without their numbers."""
    return frozenset(word for word, _ in words)
