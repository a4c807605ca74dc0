"""The tensors that layers of a graph exchange, and why some of them go through DRAM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.mapping.fused.connections.connected_layers import single_words, traced
from tilewright.text import percent
from tilewright.workload.graph import Node

OPERATOR, READ_ELSEWHERE, TOO_MANY = "operator between", "read elsewhere", "too many layers"
VIEW, NO_MEMORY, ROOM = "view", "no memory", "room"
COST, NOT_SEARCHED = "cost", "not searched"
ARROW = " > "


@dataclass(frozen=True)
class Edge:
    """A tensor on its way from the layer that makes it to one that needs it.

    Attributes
    ----------
    producer, reader : str
        Full names of the nodes.
    tensor : str
        What the producer makes.
    between : tuple of str
        Operators of the nodes between them that are no layers and change more than single words.
    """

    producer: str
    reader: str
    tensor: str
    between: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class UnfusedEdge:
    """An edge of the graph that stays unfused, and what the search knows of the reason.

    Attributes
    ----------
    edge : Edge
    repeat : int
        How often it occurs.
    reason : str
        ``"operator between"``, ``"read elsewhere"``, ``"too many layers"``, ``"view"``,
        ``"no memory"``, ``"room"``, ``"cost"`` or ``"not searched"``.
    because : str
        That in a few words, the same for all edges of one reason.
    memory : str or None
        Which memory is too small, where that is the reason.
    bits_needed, bits : int or None
        What it would have to hold at least, and its size.
    extra : float or None
        How much more the network costs at least when the layers are fused, where that is the
        reason, in the unit of the objective; of one run.
    share : float or None
        The same as a share of what the layers that would be fused cost by themselves.
    outer_words, outer_pj : int or None, float or None
        What the outermost memory moves of the tensor in one run, with layers by themselves, and
        the energy of that there; None where a layer has no mapping yet.
    smallest_memory, smallest_bits : str or None, int or None
        What the smallest tiles of a segment with both layers take at once, and where; None without
        such a segment.
    """

    edge: Edge
    repeat: int
    reason: str
    because: str
    memory: str | None = None
    bits_needed: int | None = None
    bits: int | None = None
    extra: float | None = None
    share: float | None = None
    outer_words: int | None = None
    outer_pj: float | None = None
    smallest_memory: str | None = None
    smallest_bits: int | None = None

    @property
    def amount(self) -> str:
        """What the reason comes to for this edge; empty where it says all."""
        if self.bits_needed is not None and self.bits is not None:
            return f"{self.bits_needed:,} of {self.bits:,} bits"
        return f"+{percent(self.share)}" if self.share else ""

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        known = {
            "memory": self.memory, "bits_needed": self.bits_needed, "bits": self.bits,
            "extra": self.extra, "share": self.share,
            "outer_words": self.outer_words, "outer_pj": self.outer_pj,
            "smallest_memory": self.smallest_memory, "smallest_bits": self.smallest_bits,
        }  # fmt: skip
        return {
            "tensor": self.edge.tensor,
            "producer": self.edge.producer,
            "reader": self.edge.reader,
            "repeat": self.repeat,
            "reason": self.reason,
            "because": self.because,
            **{key: value for key, value in known.items() if value is not None},
        }


def edges_among(nodes: Sequence[Node], prefix: str) -> Iterator[Edge]:
    """Yield the edges between the layers of a part of a graph.

    Parameters
    ----------
    nodes : sequence of Node
        All nodes of the part, in an order in which they can run.
    prefix : str
        What full names begin with.
    """
    makers = {name: node for node in nodes for name in node.outputs}
    for node in nodes:
        if node.layer is None:
            continue
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        for view in node.inputs.values():
            source = traced(view, makers)[0]
            if source is not None:
                sources(source, (), makers, found, set())
                continue
            seen: set[str] = set()
            for name in view.tensors():
                sources(name, ("concatenation",), makers, found, seen)
        for (producer, tensor), between in found.items():
            if producer != node.name:
                yield Edge(prefix + producer, prefix + node.name, tensor, between)


def sources(
    name: str,
    between: tuple[str, ...],
    makers: Mapping[str, Node],
    found: dict[tuple[str, str], tuple[str, ...]],
    seen: set[str],
) -> None:
    """Find the layers that a tensor comes from, and the operators of the nodes between."""
    todo = [(name, between)]
    while todo:
        name, between = todo.pop()
        node = makers.get(name)
        if node is None or name in seen:
            continue
        seen.add(name)
        if node.layer is not None:
            if not between or (node.name, name) not in found:
                found[node.name, name] = between
            continue
        more = between if single_words(node) else tuple(dict.fromkeys((node.operator, *between)))
        todo += [(read, more) for read in dict.fromkeys(node.reads())]


def others_that_read(nodes: Sequence[Node], tensor: str) -> tuple[str, ...]:
    """Return the operators of nodes that are no layers, and layers that see it joined, in order.

    Operations on single words pass a tensor on.
    """
    makers = {name: node for node in nodes for name in node.outputs}
    found: list[str] = []
    passed = {tensor}
    for node in nodes:
        if not passed & set(node.reads()):
            continue
        if single_words(node) and traced(node.inputs["0"], makers)[0] is not None:
            passed |= set(node.outputs)
        elif node.layer is None:
            found.append(node.operator)
        elif any(
            passed & set(view.tensors()) and traced(view, makers)[0] is None
            for view in node.inputs.values()
        ):
            found.append(node.name)
    return tuple(dict.fromkeys(found))


def reasons_text(edges: Iterable[UnfusedEdge], width: int) -> list[str]:
    """Return a line for each reason, with as many of its edges as there is room for."""
    groups: dict[str, list[UnfusedEdge]] = {}
    edges = list(edges)
    names = (name for e in edges for name in (e.edge.producer, e.edge.reader))
    several = len({name.rpartition(".")[0] for name in names}) > 1
    for edge in edges:
        groups.setdefault(edge.because, []).append(edge)
    lines = []
    for because, own in groups.items():
        line = f"  {because}: "
        for i, unfused in enumerate(own):
            amount = f" ({unfused.amount})" if unfused.amount else ""
            text = f"{ends(unfused.edge, whole=several)}{amount}"
            left = len(own) - i
            more = f", {left - 1} more" if left > 1 else ""
            if i and len(line) + 2 + len(text) + len(more) > width:
                line += f", {left} more"
                break
            line += (", " if i else "") + text
        lines.append(line)
    return lines


def ends(edge: Edge, *, whole: bool) -> str:
    """Return the two ends of an edge; what both names begin with is told once, or not at all."""
    names = edge.producer, edge.reader
    stem, other = (name.rpartition(".")[0] for name in names)
    if stem != other:
        return ARROW.join(names)
    own = ARROW.join(name.rpartition(".")[2] for name in names)
    return f"{stem}: {own}" if stem and whole else own
