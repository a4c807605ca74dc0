"""All counts of a mapping where memories retain: those of tiles, but for what retention moves."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass
from functools import lru_cache

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import Structure
from tilewright.model.closed_form.traffic import Link, Query, Sum, Traffic
from tilewright.model.closed_form.traffic import Structure as Nodes
from tilewright.model.closed_form.words import G, S
from tilewright.model.count import Plan, all_sums, as_counts, check_size, plan_sums, query_values
from tilewright.retention.instances.lockstep import Touched, groups, received
from tilewright.retention.policy import Held
from tilewright.workload.layer import Layer

Holdings = Dict[tuple[str, str], Held]


@dataclass(frozen=True)
class RetainedQuery(Query):
    """Words that move into a memory that retains.

    Attributes
    ----------
    memory : str
        The memory.
    """

    memory: str


class RetainedTraffic(Traffic):
    """The sums of queries behind the counts, with those of retaining memories told apart."""

    def _retained(self, link: Link, words: Sum) -> Sum:
        memories = {memory.name: memory for memory in self.architecture.memories}
        if link.child not in memories or memories[link.child].retention == "tile":
            return words
        return {
            RetainedQuery(query.kind, query.tensor, query.modes, link.child): times
            for query, times in words.items()
        }

    def _sum(self, tensor: int, link: Link, united: frozenset[int], only: int, held: bool) -> Sum:
        return self._retained(link, super()._sum(tensor, link, united, only, held))

    def _entering_first(self, tensor: int, link: Link, only: int) -> Sum:
        return self._retained(link, super()._entering_first(tensor, link, only))


RetainedPlan = tuple[Plan, tuple[Sum, ...]]


@lru_cache(maxsize=64)
def plan(layer: Layer, architecture: Architecture, nodes: Nodes) -> RetainedPlan:
    """Return the part of all sums that the tiles decide, compiled, and the rest."""
    check_size(layer)
    sums = all_sums(layer, architecture, RetainedTraffic(layer, architecture, nodes))
    kept: list[Sum] = []
    tiles: list[Sum] = []
    for terms in sums:
        kept.append({q: n for q, n in terms.items() if isinstance(q, RetainedQuery)})
        tiles.append({q: n for q, n in terms.items() if q not in kept[-1]})
    return plan_sums(layer, nodes, tiles), tuple(kept)


def count(
    layer: Layer, architecture: Architecture, mapping: Mapping, structure: Structure, held: Holdings
) -> Counts:
    """Count what a mapping moves on a machine with memories that retain.

    Parameters
    ----------
    layer, architecture, mapping
        What is computed, on what, and how; not checked here.
    structure : Structure
        The mapping, resolved.
    held : mapping of (memory, tensor) to Held
        What the memories retain.

    Returns
    -------
    Counts
        Exact integers, in tensor elements.

    Raises
    ------
    InputError
        When instances of a memory have to be followed for too long.
    """
    tiles, kept = plan(layer, architecture, Nodes.of(mapping))
    values = query_values(layer, tiles.compiled, mapping)
    known: dict[Query, int] = {}
    totals = []
    for terms, own in zip(tiles.sums, kept, strict=True):
        total = sum(times * values[query] for query, times in terms)
        for query, times in own.items():
            assert isinstance(query, RetainedQuery)
            if query not in known:
                name = layer.tensors[query.tensor].name
                known[query] = words_of(query, held[query.memory, name], structure)
            total += times * known[query]
        totals.append(total)
    return as_counts(layer, architecture, totals)


def words_of(query: RetainedQuery, hold: Held, structure: Structure) -> int:
    """Return the value of a query about a memory that retains."""
    modes = [
        query.modes[i] for i, loop in enumerate(structure.loops[: hold.depth]) if loop.chunks > 1
    ]
    if G not in query.modes:
        return received(hold.nest, modes, hold.share)
    touched = Touched.of(hold.nest, structure, query.modes)
    if touched == Touched.of(hold.nest, structure, query.modes[: hold.depth]):
        return received(hold.nest, modes, hold.share)
    # a level further in has all arrays above this one above it, too
    assert S not in modes
    ((_, ((trace, _),)),) = groups(hold.nest, modes)
    return touched.among(hold.nest, trace, hold.share)
