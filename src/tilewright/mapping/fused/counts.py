"""What is counted of a fused mapping, and how the counts of turns add up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tilewright.counts import Counts, NetworkCounts, TensorCounts


@dataclass(frozen=True)
class StoreCounts:
    """What a shared store holds.

    Attributes
    ----------
    memory, tensor : str
        Where, and what.
    peak : int
        Words of its largest tile, with the words that stay for later tiles.
    carried : int
        Most words that stay from one tile to the next while no layer uses them.
    tiles : int
        How many tiles it has at once: several where a pipeline works on several of them.
    """

    memory: str
    tensor: str
    peak: int
    carried: int
    tiles: int = 1


@dataclass(frozen=True)
class PipelineCycles:
    """The time of layers that run at the same time, in slots as long as the slowest of them takes.

    Attributes
    ----------
    layers : tuple of str
        In the order of their branches.
    slots : int
        How many slots there are.
    cycles : float
        Of all slots.
    filling : float
        Of these, the cycles of slots in which the pipeline fills or drains: not all stages work.
    pace : mapping of str to float
        By layer or shared level the cycles of slots for which it sets the pace.
    """

    layers: tuple[str, ...]
    slots: int
    cycles: float
    filling: float
    pace: Mapping[str, float]


@dataclass(frozen=True)
class FusedCounts:
    """Everything that is counted of a segment.

    Attributes
    ----------
    layers : mapping of str to Counts
        By layer, in the order in which they run; the tensors under the layer's own names. What
        moves between two shared stores belongs to the first layer below that reads it, or to the
        one that makes it.
    stores : tuple of StoreCounts
        The shared stores, outer ones first.
    pipelines : tuple of PipelineCycles
        Layers that run at the same time.
    """

    layers: Mapping[str, Counts]
    stores: tuple[StoreCounts, ...]
    pipelines: tuple[PipelineCycles, ...] = ()


@dataclass(frozen=True)
class Moved:
    """Words that move to or from a shared store, of one layer's tensor."""

    layer: str
    tensor: str
    memory: str
    reads: int = 0
    writes: int = 0
    peak: int = 0


def summed(parts: Iterable[tuple[int, Counts]]) -> Counts | None:
    """Return counts that add up, each so many times; the largest of peaks and instances.

    None for no parts.
    """
    total: Counts | None = None
    for times, counts in parts:
        total = _scaled(counts, times) if total is None else _added(total, counts, times)
    return total


def with_moves(counts: Counts, moves: Iterable[Moved]) -> Counts:
    """Return counts with what moves to and from shared stores, memories of a single instance."""
    found = {name: dict(tensors) for name, tensors in counts.memories.items()}
    busiest = {name: dict(tensors) for name, tensors in counts.busiest.items()}
    for move in moves:
        more = TensorCounts(move.reads, move.writes, move.peak)
        for book in (found, busiest):
            own = book[move.memory]
            own[move.tensor] = _both(own[move.tensor], more, 1)
    return Counts(
        operations=counts.operations,
        steps=counts.steps,
        memories=found,
        networks=counts.networks,
        busiest=busiest,
        busiest_networks=counts.busiest_networks,
        instances=counts.instances,
    )


def _scaled(c: Counts, times: int) -> Counts:
    if times == 1:
        return c
    nothing = TensorCounts()
    none = NetworkCounts()
    return Counts(
        operations=c.operations * times,
        steps=c.steps * times,
        memories={
            m: {t: _both(nothing, x, times) for t, x in own.items()}
            for m, own in c.memories.items()
        },
        networks={
            a: {t: _net(none, x, times) for t, x in own.items()} for a, own in c.networks.items()
        },
        busiest={
            m: {t: _both(nothing, x, times) for t, x in own.items()} for m, own in c.busiest.items()
        },
        busiest_networks={
            a: {t: _net(none, x, times) for t, x in own.items()}
            for a, own in c.busiest_networks.items()
        },
        instances=c.instances,
    )


def _added(total: Counts, c: Counts, times: int) -> Counts:
    return Counts(
        operations=total.operations + c.operations * times,
        steps=total.steps + c.steps * times,
        memories=_tensors(total.memories, c.memories, times),
        networks=_networks(total.networks, c.networks, times),
        busiest=_tensors(total.busiest, c.busiest, times),
        busiest_networks=_networks(total.busiest_networks, c.busiest_networks, times),
        instances={level: max(n, c.instances[level]) for level, n in total.instances.items()},
    )


Memories = Mapping[str, Mapping[str, TensorCounts]]
Networks = Mapping[str, Mapping[str, NetworkCounts]]


def _tensors(total: Memories, more: Memories, times: int) -> Memories:
    return {
        name: {t: _both(x, more[name][t], times) for t, x in own.items()}
        for name, own in total.items()
    }


def _networks(total: Networks, more: Networks, times: int) -> Networks:
    return {
        name: {t: _net(x, more[name][t], times) for t, x in own.items()}
        for name, own in total.items()
    }


def _both(one: TensorCounts, more: TensorCounts, times: int) -> TensorCounts:
    return TensorCounts(
        one.reads + more.reads * times,
        one.writes + more.writes * times,
        max(one.peak, more.peak),
    )


def _net(one: NetworkCounts, more: NetworkCounts, times: int) -> NetworkCounts:
    return NetworkCounts(one.words + more.words * times, one.hops + more.hops * times)
