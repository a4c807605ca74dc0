"""Who uses a shared store."""

from __future__ import annotations

from tilewright.mapping.fused.connections.segments import Access, Exchange, Segment
from tilewright.mapping.fused.scopes import Resolved, SharedStore
from tilewright.mapping.fused.tree import REFETCH


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
