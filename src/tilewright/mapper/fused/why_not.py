"""Why edges of a graph stay unfused, from what the search of segments knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isinf
from typing import TYPE_CHECKING, NamedTuple

from tilewright.architecture.machine import Memory
from tilewright.errors import InputError
from tilewright.mapper.fused.results.edges import (
    COST,
    NO_MEMORY,
    NOT_SEARCHED,
    OPERATOR,
    READ_ELSEWHERE,
    ROOM,
    TOO_MANY,
    VIEW,
    Edge,
    UnfusedEdge,
    edges_among,
    others_that_read,
)
from tilewright.mapper.fused.space.around import Room
from tilewright.mapper.fused.space.partition import Names, Part, most_layers
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.objective.tolerances import TOLERANCE
from tilewright.mapping.fused.connections.connected_layers import segment

if TYPE_CHECKING:
    from tilewright.mapper.fused.network_search import FusedNetworkSearch


class Blocked(NamedTuple):
    """A reason for which no segment has both ends of an edge, and that in words."""

    reason: str
    because: str


class Lack(NamedTuple):
    """The memory that the smallest tiles of a segment do not fit, with what they take of it."""

    memory: str
    needed: int
    bits: int


def unfused_edges(
    search: FusedNetworkSearch, part: Part, chosen: Sequence[Names]
) -> Iterator[UnfusedEdge]:
    """Yield the edges of a part between layers that are not in one segment, and why."""
    edges = list(edges_among(part.nodes, part.prefix))
    total = search.values(part, frozenset(part.names) & search.mapped(part))
    total -= sum(search.gain(part, own) for own in chosen)
    for edge in edges:
        ends = {edge.producer, edge.reader}
        if any(ends <= own for own in chosen):
            continue
        if edge.between:
            because = f"{', '.join(edge.between)} between"
            yield UnfusedEdge(edge=edge, repeat=part.repeat, reason=OPERATOR, because=because)
            continue
        if not ends <= search.mapped(part):
            because = "a layer has no mapping yet"
            yield UnfusedEdge(edge=edge, repeat=part.repeat, reason=NOT_SEARCHED, because=because)
            continue
        both = [own for own in search.outcomes if ends <= own <= set(part.names)]
        if both:
            yield searched(search, part, edge, both, total)
            continue
        reason, because = blocked(search, part, edge, edges)
        yield UnfusedEdge(edge=edge, repeat=part.repeat, reason=reason, because=because)


def blocked(search: FusedNetworkSearch, part: Part, edge: Edge, edges: list[Edge]) -> Blocked:
    """Return why no segment has both ends of an edge.

    A segment with both has all that reads the tensors between its layers, and all that stands
    between them; so what that leads to is part of all such segments.
    """
    own = {edge.producer, edge.reader}
    operator = {part.prefix + node.name: node.operator for node in part.nodes}
    while True:
        inside = {e.tensor for e in edges if not e.between and {e.producer, e.reader} <= own}
        for tensor in sorted(inside, key=lambda name: (name != edge.tensor, name)):
            what = "it" if tensor == edge.tensor else tensor
            if others := others_that_read(part.nodes, tensor):
                return Blocked(READ_ELSEWHERE, f"{', '.join(others)} reads {what}, too")
        grown = own | {e.reader for e in edges if not e.between and e.tensor in inside}
        outside = frozenset[str]().union(*(part.after[name] for name in own)) - own
        for name in sorted(outside - part.pointwise):
            if not part.after[name] & own:
                continue
            if name not in part.layer_of:
                return Blocked(OPERATOR, f"{operator[name]} between other tensors of the two")
            grown.add(name)
        if len(grown) > most_layers(part):
            return Blocked(TOO_MANY, f"takes a segment of more than {most_layers(part)} layers")
        if grown == own:
            break
        own = grown
    try:
        found = segment(search.network, [name for name in part.names if name in own])
    except InputError:
        return Blocked(VIEW, "its view cannot be shared")
    for made in found.tensors:
        if made.producer is not None and made.readers and made.wanted:
            what = "it" if made.name == edge.tensor else made.name
            where = "the block" if part.prefix else "the layers"
            return Blocked(READ_ELSEWHERE, f"{what} is wanted outside of {where}")
    return Blocked(VIEW, "its view cannot be shared")


def searched(
    search: FusedNetworkSearch, part: Part, edge: Edge, both: list[Names], total: float
) -> UnfusedEdge:
    """Return why none of the segments with both ends of an edge was chosen.

    Parameters
    ----------
    both : list of set of str
        These segments.
    total : float
        What the part costs as it was chosen.
    """
    least, nearest, full = inf, None, None
    homeless: tuple[str, ...] = ()
    for own in both:
        problem = SegmentProblem(search.segments[own], search.architecture)
        if not problem.possible:
            found = (problem.tiles[i] for i in problem.intermediates)
            homeless = homeless or tuple(tile.name for tile in found if not tile.memories)
            continue
        if lack := lacking(search.architecture.memories, search.smallest_rooms(own)):
            if full is None or lack.needed * full.bits < full.needed * lack.bits:
                full = lack
            continue
        rest = frozenset(part.names) - own
        cost = search.outcomes[own].least + search.bound(part, rest)
        if nearest is None or cost < least:
            least, nearest = cost, own
    if nearest is None:
        if full is None:
            what = "it" if edge.tensor in homeless else " and ".join(homeless)
            because = f"no memory above the arrays may hold {what}"
            return UnfusedEdge(edge=edge, repeat=part.repeat, reason=NO_MEMORY, because=because)
        return UnfusedEdge(
            edge=edge,
            repeat=part.repeat,
            reason=ROOM,
            because=f"smallest tiles do not fit {full.memory}",
            memory=full.memory,
            bits_needed=full.needed,
            bits=full.bits,
        )
    if isinf(least):
        because = "a layer cannot work on tiles that are held for it"
        return UnfusedEdge(edge=edge, repeat=part.repeat, reason=ROOM, because=because)
    extra = least - total
    if extra <= TOLERANCE * total and not search.outcomes[nearest].searched:
        because = "the search was stopped"
        return UnfusedEdge(edge=edge, repeat=part.repeat, reason=NOT_SEARCHED, because=because)
    extra = 0.0 if extra <= TOLERANCE * total else extra
    because = "costs more" if search.gain(part, nearest) <= 0 else "other segments save more"
    if extra:
        because += ", at least"
    elif search.gain(part, nearest) <= 0:
        because = "does not cost less"
    else:
        because = "other segments save as much"
    alone = search.values(part, nearest)
    return UnfusedEdge(
        edge=edge,
        repeat=part.repeat,
        reason=COST,
        because=because,
        extra=extra,
        share=extra / alone if alone else 0.0,
    )


def lacking(memories: Sequence[Memory], rooms: Sequence[Room]) -> Lack | None:
    """Return what the smallest tiles of exchanged tensors lack, or None where they fit.

    Of several memories that may hold them, it is for the one that lacks least.
    """
    best: Lack | None = None
    for taken in rooms:
        full = [
            Lack(memory.name, int(bits), memory.capacity_bits)
            for memory, bits in zip(memories, taken, strict=True)
            if memory.capacity_bits is not None and bits > memory.capacity_bits
        ]
        if not full:
            return None
        worst = max(full, key=lambda lack: lack.needed / lack.bits)
        if best is None or worst.needed * best.bits < best.needed * worst.bits:
            best = worst
    return best
