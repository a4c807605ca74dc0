"""What edges that stay unfused move now, and what the smallest tiles would take on chip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tilewright.mapper.fused.results.edges import UnfusedEdge
from tilewright.mapper.fused.space.partition import Names, Part
from tilewright.mapper.fused.why_not import unfused_edges
from tilewright.mapping.fused.connections.connected_layers import traced
from tilewright.model.energy import read_cost, write_cost

if TYPE_CHECKING:
    from tilewright.mapper.fused.network_search import FusedNetworkSearch


def detailed_edges(
    search: FusedNetworkSearch, part: Part, chosen: Sequence[Names]
) -> Iterator[UnfusedEdge]:
    """Yield the edges of a part that stay unfused, why, and what they move and would take."""
    for unfused in unfused_edges(search, part, chosen):
        edge = unfused.edge
        ends = {edge.producer, edge.reader}
        words, energy = None, None
        if ends <= search.mapped(part):
            words, energy = moved(search, part, unfused)
        both = [own for own in search.outcomes if ends <= own <= set(part.names)]
        memory, bits = smallest_tiles(search, both)
        yield replace(
            unfused, outer_words=words, outer_pj=energy, smallest_memory=memory, smallest_bits=bits
        )


def moved(search: FusedNetworkSearch, part: Part, unfused: UnfusedEdge) -> tuple[int, float]:
    """Return what the outermost memory moves of an edge's tensor, with layers by themselves.

    What its producer sends and fetches, and what its reader fetches: words, and their pJ there.
    """
    outermost = search.architecture.memories[0]
    edge = unfused.edge
    nodes = {part.prefix + node.name: node for node in part.nodes}
    makers = {name: node for node in part.nodes for name in node.outputs}
    read = [
        key
        for key, view in nodes[edge.reader].inputs.items()
        if traced(view, makers)[0] == edge.tensor or edge.tensor in view.tensors()
    ]
    producer = search.alone[part.layer_of[edge.producer]]
    reader = search.alone[part.layer_of[edge.reader]]
    uses = [(producer, producer.layer.tensors[-1].name), *((reader, name) for name in read)]
    words, energy = 0, 0.0
    for result, name in uses:
        tensor = next(own for own in result.layer.tensors if own.name == name)
        count = result.evaluation.counts.memories[outermost.name][name]
        words += count.reads + count.writes
        energy += count.reads * read_cost(outermost, tensor)
        energy += count.writes * write_cost(outermost, tensor)
    return words, energy


def smallest_tiles(search: FusedNetworkSearch, both: list[Names]) -> tuple[str | None, int | None]:
    """Return the memory that the smallest tiles of exchanged tensors take most of, and the bits.

    Of the segments, and of the memories that may hold the tiles, those that take least.
    """
    memories = search.architecture.memories
    best: tuple[int, str] | None = None
    for own in both:
        for taken in search.smallest_rooms(own):
            m = max(range(len(taken)), key=taken.__getitem__)
            entry = int(taken[m]), memories[m].name
            best = entry if best is None else min(best, entry)
    return (None, None) if best is None else (best[1], best[0])
