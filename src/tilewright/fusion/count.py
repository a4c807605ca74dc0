"""The counts of a fused mapping in closed form: equal to those of `tilewright.reference.fused`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from math import prod

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.fusion.alive import held_words
from tilewright.fusion.families import families
from tilewright.fusion.refetch import refetched_words
from tilewright.fusion.traffic import moved_words
from tilewright.mapping.fused.counts import FusedCounts, Moved, StoreCounts, summed, with_moves
from tilewright.mapping.fused.scopes import Leaf, Resolved, SharedStore
from tilewright.mapping.fused.segments import Access, Exchange, Segment
from tilewright.mapping.fused.tree import REFETCH
from tilewright.mapping.fused.turn_layers import turn_layer, turn_mapping
from tilewright.mapping.nodes import Mapping
from tilewright.model.count import count
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor


def count_fused(resolved: Resolved, architecture: Architecture) -> FusedCounts:
    """Count the words that a fused mapping moves, in closed form.

    Parameters
    ----------
    resolved : Resolved
        The mapping; it is not checked here.
    architecture : Architecture
        What it runs on.

    Notes
    -----
    A layer's turns differ in few ways: in the extents of their boxes, and in whether the output
    already has partial sums. Each kind of turn is counted once, as a layer of its own.
    """
    segment = resolved.segment
    moves: dict[str, list[Moved]] = defaultdict(list)
    stores = []
    for store in resolved.stores:
        held = store_counts(store, resolved)
        stores.append(held)
        for access in users(store, segment):
            here = Moved(access.layer, access.tensor, store.memory, peak=held.peak)
            moves[access.layer].append(here)
        for move in store_moves(store, resolved):
            moves[move.layer].append(move)
    found = {}
    for leaf in resolved.leaves:
        total = summed(turn_counts(leaf, segment, architecture))
        assert total is not None
        found[leaf.layer] = with_moves(total, moves[leaf.layer])
    return FusedCounts(found, tuple(stores))


def users(store: SharedStore, segment: Segment) -> list[Access]:
    """Return who uses a shared store's tensor below it, the producer first."""
    accesses = segment.tensor_of[store.tensor].accesses
    return [access for access in accesses if access.layer in store.below]


def made_below(store: SharedStore, segment: Segment) -> bool:
    """Return whether a shared store's tensor is made below it."""
    producer = segment.tensor_of[store.tensor].producer
    return producer is not None and producer.layer in store.below


def readers_below(store: SharedStore, resolved: Resolved) -> list[Exchange]:
    """Return the ways of a tensor made below a store to its readers below."""
    own = resolved.exchanges_of.get(store.tensor, ())
    return [exchange for exchange in own if exchange.reader.layer in store.below]


def refetches(store: SharedStore, resolved: Resolved) -> bool:
    """Return whether a store reads shared words back from the one above."""
    return store.parent is not None and any(
        tensor == store.tensor and mode == REFETCH for (tensor, _), mode in resolved.modes.items()
    )


# turns


def turn_kinds(leaf: Leaf, segment: Segment) -> Iterator[tuple[int, dict[str, int], bool]]:
    """Yield how often a layer has a turn of some extents, and whether its output is fresh."""
    layer = segment.layer_of[leaf.layer]
    own = families(layer, leaf.loops, segment)
    kinds = []
    for family in own:
        reduced = family.dimension not in layer.output.dimensions
        seen = Counter((end - first, not reduced or first == 0) for _, (first, end) in family.spans)
        kinds.append(seen)
    for chosen in product(*(kind.items() for kind in kinds)):
        extents = dict(layer.bounds)
        for family, ((extent, _), _) in zip(own, chosen, strict=True):
            extents[family.dimension] = extent
        fresh = all(fresh for (_, fresh), _ in chosen)
        yield prod(times for _, times in chosen), extents, fresh


def turn_counts(
    leaf: Leaf, segment: Segment, architecture: Architecture
) -> Iterator[tuple[int, Counts]]:
    """Yield how often a layer has a turn, and what one such turn counts."""
    layer = segment.layer_of[leaf.layer]
    for times, extents, fresh in turn_kinds(leaf, segment):
        mapping = turn_mapping(leaf, extents, architecture)
        yield times, counted(turn_layer(layer, extents), architecture, mapping, fresh)


@lru_cache(maxsize=4096)
def counted(layer: Layer, architecture: Architecture, mapping: Mapping, fresh: bool) -> Counts:
    """Return the counts of one turn; the same ones occur in many mappings."""
    return count(layer, architecture, mapping, fresh=fresh)


# shared stores


def store_counts(store: SharedStore, resolved: Resolved) -> StoreCounts:
    """Return what a shared store holds."""
    segment = resolved.segment
    readers = readers_below(store, resolved) if made_below(store, segment) else []
    if readers:
        peak, carried = held_words(store, readers, segment, keeps=not refetches(store, resolved))
        return StoreCounts(store.memory, store.tensor, peak, carried)
    access = users(store, segment)[0]
    tensor = segment.local(access)
    words = largest_tile(store, segment.layer_of[access.layer], tensor, segment)
    return StoreCounts(store.memory, store.tensor, words, words)


def largest_tile(store: SharedStore, layer: Layer, tensor: Tensor, segment: Segment) -> int:
    """Return the words of a shared store's largest tile, given a layer whose boxes it holds."""
    extents = dict(layer.bounds)
    for family in families(layer, store.loops, segment):
        extents[family.dimension] = max((b - a for _, (a, b) in family.spans), default=0)
    return footprint(tensor, extents) if all(extents.values()) else 0


def store_moves(store: SharedStore, resolved: Resolved) -> Iterable[Moved]:
    """Yield what moves between a shared store and the one above it."""
    segment = resolved.segment
    if store.parent is None:
        return
    access = users(store, segment)[0]
    layer, tensor = segment.layer_of[access.layer], segment.local(access)
    words = moved_words(store, layer, tensor, segment)
    if not made_below(store, segment):
        yield Moved(access.layer, access.tensor, store.parent.memory, reads=words)
        yield Moved(access.layer, access.tensor, store.memory, writes=words)
        return
    if (readers := readers_below(store, resolved)) and refetches(store, resolved):
        reader = readers[0].reader
        found = refetched_words(store, readers, segment)
        yield Moved(reader.layer, reader.tensor, store.parent.memory, reads=found)
        yield Moved(reader.layer, reader.tensor, store.memory, writes=found)
    # what does not enter from zero brings its partial sum from above
    back = words - moved_words(store, layer, tensor, segment, fresh=True)
    yield Moved(layer.name, access.tensor, store.parent.memory, reads=back, writes=words)
    yield Moved(layer.name, access.tensor, store.memory, reads=words, writes=back)
