"""Which layers of a network may be fused with each other, and which segments are best together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tilewright.errors import InputError
from tilewright.mapping.fused.connections.connected_layers import segment, single_words, traced
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.workload.graph import Block, Graph, Node
from tilewright.workload.layer import Network

MOST_LAYERS, ALL_LAYERS = 6, 8
"""Layers of a segment; and those of a part that may be one segment as a whole."""

Names = frozenset[str]


@dataclass(frozen=True)
class Part:
    """A part of a graph whose layers may be fused: a block, or all that stands outside of blocks.

    Attributes
    ----------
    names : tuple of str
        Full names of the nodes that use a layer, in their order.
    layer_of : mapping of str to str
        The layer that each of them uses.
    repeat : int
        How often all of them occur.
    neighbours : mapping of str to frozenset of str
        Which nodes exchange a tensor with each other.
    after : mapping of str to frozenset of str
        Which nodes need something that a node has made, directly or through others.
    pointwise : frozenset of str
        Nodes that change single words: a tensor passes through them.
    nodes : tuple of Node
        All nodes of the part.
    prefix : str
        What full names begin with: the name of the block and a dot.
    """

    names: tuple[str, ...]
    layer_of: Mapping[str, str]
    repeat: int
    neighbours: Mapping[str, Names]
    after: Mapping[str, Names]
    pointwise: Names
    nodes: tuple[Node, ...] = ()
    prefix: str = ""


def parts_of(graph: Graph) -> Iterator[Part]:
    """Yield the parts of a graph."""
    outside = tuple(node for node in graph.nodes if isinstance(node, Node))
    yield part_of(outside, None)
    for node in graph.nodes:
        if isinstance(node, Block):
            yield part_of(node.nodes, node)


def part_of(nodes: Sequence[Node], block: Block | None) -> Part:
    """Return the layers among some nodes, and how they are connected."""
    prefix = "" if block is None else f"{block.name}."
    makers = {name: node for node in nodes for name in node.outputs}
    layers = [node for node in nodes if node.layer is not None]
    neighbours: dict[str, set[str]] = {prefix + node.name: set() for node in layers}
    for node in layers:
        for view in node.inputs.values():
            maker = makers.get(traced(view, makers)[0] or "")
            if maker is not None and maker.layer is not None and maker is not node:
                neighbours[prefix + node.name].add(prefix + maker.name)
                neighbours[prefix + maker.name].add(prefix + node.name)
    after: dict[str, frozenset[str]] = {}
    users: dict[str, list[Node]] = {node.name: [] for node in nodes}
    for node in nodes:
        for name in set(node.reads()):
            if name in makers:
                users[makers[name].name].append(node)
    for node in reversed(nodes):
        below = {user.name for user in users[node.name]}
        after[node.name] = frozenset(below.union(*(after.get(name, ()) for name in below)))
    return Part(
        names=tuple(neighbours),
        layer_of={prefix + node.name: str(node.layer) for node in layers},
        repeat=1 if block is None else block.repeat,
        neighbours={name: frozenset(own) for name, own in neighbours.items()},
        after={
            prefix + name: frozenset(prefix + other for other in own) for name, own in after.items()
        },
        pointwise=frozenset(prefix + node.name for node in nodes if single_words(node)),
        nodes=tuple(nodes),
        prefix=prefix,
    )


def most_layers(part: Part) -> int:
    """Return how many layers of a part a segment may have."""
    return ALL_LAYERS if len(part.names) <= ALL_LAYERS else MOST_LAYERS


def in_order(part: Part, sets: Iterable[Names]) -> list[Names]:
    """Return sets of layers in the order of their first ones."""
    return sorted(sets, key=lambda own: min(part.names.index(name) for name in own))


def segments_of(part: Part, network: Network) -> Iterator[Segment]:
    """Yield the sets of layers that exchange tensors nobody else reads, with fewer layers first."""
    level: list[Names] = [frozenset((name,)) for name in part.names]
    for _ in range(most_layers(part) - 1):
        grown: dict[Names, None] = {}
        for own in level:
            for name in sorted(own, key=part.names.index):
                for other in sorted(part.neighbours[name] - own, key=part.names.index):
                    grown[own | {other}] = None
        level = list(grown)
        for own in level:
            if is_convex(part, own):
                try:
                    found = segment(network, [name for name in part.names if name in own])
                except InputError:
                    continue
                made = (t for t in found.tensors if t.producer is not None and t.readers)
                if all(tensor.intermediate for tensor in made):
                    yield found


def is_convex(part: Part, own: Names) -> bool:
    """Whether nothing outside of a set of layers needs some of them and is needed by others."""
    outside = frozenset[str]().union(*(part.after[name] for name in own)) - own - part.pointwise
    return not any(part.after[name] & own for name in outside)


def best_packing(gains: Mapping[Names, float], part: Part) -> list[Names]:
    """Return disjoint sets that gain most together, and can run one after the other."""
    useful = sorted(
        (own for own, gain in gains.items() if gain > 0.0),
        key=lambda own: (-gains[own], sorted(own)),
    )
    best = packed(useful, gains, part)
    while not in_turn(best, part):
        # rare: two sets need each other. Leaving out the one that gains less is not the best, but
        # can run
        useful.remove(min(best, key=lambda own: gains[own]))
        best = packed(useful, gains, part)
    return best


def packed(useful: Sequence[Names], gains: Mapping[Names, float], part: Part) -> list[Names]:
    """Return disjoint ones of some sets that gain most together.

    Layer by layer: it stays by itself, or is in one of the sets whose other layers are left. In a
    chain few different layers can be left.
    """
    known: dict[Names, tuple[float, tuple[Names, ...]]] = {}
    order = [name for name in part.names if any(name in own for own in useful)]

    def best_of(left: Names, at: int) -> tuple[float, tuple[Names, ...]]:
        while at < len(order) and order[at] not in left:
            at += 1
        if at == len(order):
            return 0.0, ()
        if left not in known:
            name = order[at]
            found = best_of(left - {name}, at + 1)
            for own in useful:
                if name in own and own <= left:
                    gain, rest = best_of(left - own, at + 1)
                    if gain + gains[own] > found[0]:
                        found = gain + gains[own], (own, *rest)
            known[left] = found
        return known[left]

    return list(best_of(frozenset(order), 0)[1])


def in_turn(chosen: Sequence[Names], part: Part) -> bool:
    """Whether segments, and the layers outside of them, can run one after the other."""
    group = {name: own for own in chosen for name in own}
    follows: dict[object, set[object]] = {}
    for name, own in part.after.items():
        if name in part.pointwise:
            continue  # what it passes on is told of those before and after it
        for other in own - part.pointwise:
            one, two = group.get(name, name), group.get(other, other)
            if one != two:
                follows.setdefault(one, set()).add(two)
    done: set[object] = set()
    active: set[object] = set()

    def runs(one: object) -> bool:
        if one in done:
            return True
        if one in active:
            return False
        active.add(one)
        fine = all(runs(two) for two in follows.get(one, ()))
        active.discard(one)
        done.add(one)
        return fine

    return all(runs(one) for one in list(follows))
