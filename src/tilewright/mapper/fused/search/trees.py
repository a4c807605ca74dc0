"""The tree that a candidate stands for, and where its exchanged tensors live."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.architecture.machine import Architecture
from tilewright.fusion.families import families
from tilewright.mapper.fused.results.segment_result import ExchangedTile
from tilewright.mapper.fused.search.candidate import Candidate, Turns
from tilewright.mapper.fused.search.groups import group_below
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapping.fused import Branch, Fuse, FusedMapping, Halo, Segment, Turn
from tilewright.mapping.fused.scopes import resolve_fused
from tilewright.mapping.fused.tree import TreeNode
from tilewright.mapping.nodes import For, Node, Store
from tilewright.workload.footprint import expression_words, footprint


def tree_of(problem: SegmentProblem, best: Candidate) -> FusedMapping:
    """Return a candidate whose branches are all solved as a fused mapping."""
    stored = [tile.name for tile in problem.tiles if not tile.intermediate]
    halos: tuple[Halo, ...] = ()
    if best.windowed is not None:
        halos = best.windowed.windowing.halos
        stored += best.windowed.windowing.refetched
    outermost = Store(problem.architecture.memories[0].name, tuple(stored))
    return FusedMapping((outermost, *shared_nodes(problem, best)), halos)


def shared_nodes(problem: SegmentProblem, best: Candidate) -> tuple[TreeNode, ...]:
    """Return the nodes of a candidate below what holds all tensors from outside."""
    memories = [memory.name for memory in problem.architecture.memories]
    nodes: list[TreeNode] = []
    shape = list(problem.bounds)
    for held in best.holding.held:
        for d, size in held.loops:
            shape[d] = size
            nodes.append(loop(problem, d, size))
        last = nodes[-1] if nodes else None
        name = problem.tiles[held.tile].name
        if isinstance(last, Store) and last.memory == memories[held.memory]:
            nodes[-1] = Store(last.memory, (*last.tensors, name))
        else:
            nodes.append(Store(memories[held.memory], (name,)))
    for d, size in enumerate(best.shape):
        if size < shape[d]:
            nodes.append(loop(problem, d, size))
    if best.windowed is not None:
        nodes += problem.windows.loop_nodes(best.windowed.windowing, best.windowed.order)
    for memory in sorted(set(best.places.values())):
        own = tuple(problem.tiles[t].name for t, m in best.places.items() if m == memory)
        nodes.append(Store(memories[memory], own))
    branches = []
    for unit, turns_of in zip(best.units, best.turns, strict=True):
        point = turns_of[0].point
        if point is not None and point.group is not None:
            inside = group_below(problem, best, unit)
            branches.append(Branch(None, shared_nodes(inside, point.group)))
            continue
        layer = problem.layers[unit[0]]
        main = nodes_of(turns_of[0])
        others = [(turns, nodes_of(turns)) for turns in turns_of[1:]]
        branches.append(
            Branch(
                layer.name,
                main,
                tuple(Turn(turns.extents, found) for turns, found in others if found != main),
            )
        )
    return (*nodes, Fuse(tuple(branches)))


def nodes_of(turns: Turns) -> tuple[Node, ...]:
    """Return the nodes of a layer in some of its turns."""
    assert turns.point is not None and turns.point.mapping is not None
    return turns.point.mapping.nodes[1:]


def loop(problem: SegmentProblem, d: int, size: int) -> For:
    """Return a shared loop: by its name, where all layers call it alike and step together."""
    shared = problem.shared[d]
    made = {exchange.producer.layer for exchange in problem.segment.exchanges}
    last = next(i for i, layer in enumerate(problem.layers) if layer.name not in made)
    name = shared.names[last]
    if len(set(shared.names)) > 1:
        name = f"{problem.layers[last].name}.{name}"
    return For(name, size * shared.scale[last])


def exchanged(
    segment: Segment, tree: FusedMapping, architecture: Architecture
) -> Iterator[ExchangedTile]:
    """Yield where exchanged tensors live, and their largest tiles."""
    outermost = architecture.memories[0].name
    inside = {tensor.name: tensor.producer for tensor in segment.intermediates}
    for store in resolve_fused(tree, segment).stores:
        maker = inside.get(store.tensor)
        if maker is None or store.memory == outermost:
            continue
        del inside[store.tensor]
        layer = segment.layer_of[maker.layer]
        extents = dict(layer.bounds)
        for family in families(layer, store.loops, segment):
            extents[family.dimension] = max((b - a for _, (a, b) in family.spans), default=0)
        words = (expression_words(terms, extents) for terms in layer.output.expressions)
        whole = footprint(layer.output, layer.bounds)
        yield ExchangedTile(store.tensor, store.memory, tuple(words), whole)
