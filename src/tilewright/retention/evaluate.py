"""Evaluate and simulate mappings on machines whose memories may retain optimally."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dict
from dataclasses import replace

from tilewright import model
from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts, TensorCounts
from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import Link, Structure, resolve
from tilewright.mapping.validity import check as check_mapping
from tilewright.mapping.validity import element_bits
from tilewright.model.result import Evaluation
from tilewright.retention.belady import missing
from tilewright.retention.policy import Held, held, retaining
from tilewright.simulate import Moved, Simulation, check_size
from tilewright.simulate import simulate as simulate_tiles
from tilewright.timing.stages import Layouts
from tilewright.workload.layer import Layer

Holdings = Dict[tuple[str, str], Held]


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
    layer, architecture, mapping
        What is computed, on what, and how.
    check : bool
        Whether to check first that the mapping is valid and fits.
    latency, layouts
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
        return model.evaluate(
            layer, architecture, mapping, check=check, latency=latency, layouts=layouts
        )
    check_latency(architecture, latency)
    if check:
        check_mapping(mapping, layer, architecture)
    holdings = held(layer, architecture, resolve(mapping, layer, architecture))
    counts = retained(model.count(layer, architecture, mapping), layer, holdings)
    return shown(model.assess(layer, architecture, mapping, counts), holdings)


def simulate(
    layer: Layer, architecture: Architecture, mapping: Mapping, *, check: bool = True
) -> Evaluation:
    """Return what a mapping costs, counted by carrying it out; see `evaluate`.

    The layer may have 2 million operations at most; an InputError tells when it has more.
    """
    if not retaining(architecture):
        counts = simulate_tiles(layer, architecture, mapping, check=check)
        return model.assess(layer, architecture, mapping, counts)
    check_size(layer)
    if check:
        check_mapping(mapping, layer, architecture)
    structure = resolve(mapping, layer, architecture)
    holdings = held(layer, architecture, structure)
    counts = RetainingSimulation(layer, architecture, structure, holdings).counts()
    return shown(model.assess(layer, architecture, mapping, counts), holdings)


def retained(counts: Counts, layer: Layer, holdings: Holdings) -> Counts:
    """Return the counts of a mapping with what its memories retain.

    Parameters
    ----------
    counts : Counts
        The counts when nothing stays beside the tiles.
    layer : Layer
        What is computed.
    holdings : mapping of (memory, tensor) to Held
        What stays.

    Notes
    -----
    Only what moves between a retaining memory and its parent differs. Both have one instance, the
    busiest one.
    """
    memories = {memory: dict(tensors) for memory, tensors in counts.memories.items()}
    busiest = {memory: dict(tensors) for memory, tensors in counts.busiest.items()}
    for hold in holdings.values():
        above, own = memories[hold.parent][hold.tensor], memories[hold.memory][hold.tensor]
        if hold.tensor == layer.output.name:
            fewer = above.writes - hold.fills
            above = _less(above, fewer, fewer)
            own = _less(own, fewer, fewer)
        else:
            fewer = own.writes - hold.fills
            above = _less(above, fewer, 0)
            own = _less(own, 0, fewer)
        for kept in (memories, busiest):
            kept[hold.parent][hold.tensor] = above
            kept[hold.memory][hold.tensor] = own
    return replace(counts, memories=memories, busiest=busiest)


def _less(counts: TensorCounts, reads: int, writes: int) -> TensorCounts:
    return replace(counts, reads=counts.reads - reads, writes=counts.writes - writes)


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
        tiles = [self.tiles(link.tensor, active) for _, active in self.steps(cuts, alone)]
        mine = self.touched(alone) if alone and link.tensor.is_output else None
        for words in missing([block for ((_, block),) in tiles], hold.share):
            moved = words if mine is None else words & mine
            yield [((), moved)], []
