"""The counts of a fused mapping in closed form: equal to those of `tilewright.reference.fused`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tilewright.architecture.machine import Architecture
from tilewright.fusion.alive import held_words
from tilewright.fusion.families import families
from tilewright.fusion.pipelines import pipeline_cycles, tiles_at_once
from tilewright.fusion.refetch import refetched_words
from tilewright.fusion.traffic import moved_words
from tilewright.fusion.turn_counts import turn_counts
from tilewright.fusion.uses import made_below, readers_below, refetches, users
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.counts import FusedCounts, Moved, StoreCounts, summed, with_moves
from tilewright.mapping.fused.scopes import Resolved, SharedStore
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
    pipelines = (pipeline_cycles(pipe, resolved, architecture) for pipe in resolved.pipelines)
    return FusedCounts(found, tuple(stores), tuple(pipelines))


def store_counts(store: SharedStore, resolved: Resolved) -> StoreCounts:
    """Return what a shared store holds."""
    segment = resolved.segment
    tiles = tiles_at_once(store, resolved)
    readers = readers_below(store, resolved) if made_below(store, segment) else []
    if readers:
        peak, carried = held_words(store, readers, segment, keeps=not refetches(store, resolved))
        return StoreCounts(store.memory, store.tensor, peak, carried, tiles)
    access = users(store, segment)[0]
    tensor = segment.local(access)
    words = largest_tile(store, segment.layer_of[access.layer], tensor, segment)
    return StoreCounts(store.memory, store.tensor, words, words, tiles)


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
