"""Segments whose dimensions have more divisors, and their trees on the true bounds.

A tile size that does not divide a bound mostly divides a slightly larger one. So the best tree of a
segment with rounder bounds is cut down: the chunks at the end become shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tilewright.mapper.search.all_sizes.rounder_layers import rounder
from tilewright.mapping.fused import Branch, Fuse, FusedMapping, Segment, Turn
from tilewright.mapping.fused.connections.names import named_dimensions
from tilewright.mapping.fused.scopes import resolve_fused
from tilewright.mapping.fused.tree import TreeNode
from tilewright.mapping.fused.turn_layers import largest_turn
from tilewright.mapping.nodes import For, Node, Spatial, Store

MOST_DIVISORS = 48  # of a dimension

Change = Callable[[For | Spatial, str | None], For | Spatial | None]
"""What becomes of a loop of a layer, or of one that layers share."""


def rounder_segment(segment: Segment) -> Segment | None:
    """Return a segment with rounder bounds; None where its own are as round.

    Dimensions along which layers exchange words become larger together. Where several layers that
    read a tensor do not agree, none of these does.
    """
    bounds = {(layer.name, d): n for layer in segment.layers for d, n in layer.bounds.items()}
    order = {layer.name: i for i, layer in enumerate(segment.layers)}
    # what is read is settled before what is made for it
    ties = sorted(
        ((e.producer.layer, tie, e.reader.layer) for e in segment.exchanges for tie in e.ties),
        key=lambda own: -order[own[0]],
    )
    made = {(maker, tie.made) for maker, tie, _ in ties}
    tied = made | {(reader, tie.read) for _, tie, reader in ties}
    for rounded in (bounds.keys(), bounds.keys() - tied):
        found = {
            at: rounder(n, MOST_DIVISORS) if at in rounded else n
            for at, n in bounds.items()
            if at not in made
        }
        for maker, tie, reader in ties:
            more = tie.step * (found[reader, tie.read] - bounds[reader, tie.read])
            own = bounds[maker, tie.made] + more // tie.made_step
            if more % tie.made_step or found.setdefault((maker, tie.made), own) != own:
                break
        else:
            break
    if found == bounds:
        return None
    return replace(
        segment,
        layers=tuple(
            replace(layer, bounds={d: found[layer.name, d] for d in layer.bounds})
            for layer in segment.layers
        ),
    )


def cut_down(tree: FusedMapping, segment: Segment) -> FusedMapping:
    """Return a tree of a segment with rounder bounds for the true ones.

    All turns of a layer have the nodes of the most frequent one.
    """

    def of_all(loop: For | Spatial, layer: str | None) -> For | Spatial | None:
        if layer is not None:
            return loop
        places = named_dimensions(loop.dimension, segment)
        bound = max(segment.layer_of[at.layer].bounds[at.tensor] for at in places)
        return loop if loop.tile < bound else None

    shared = replace(tree, nodes=rewritten(tree.nodes, of_all, turns=False))
    leaves = resolve_fused(shared, segment).leaves
    extents = {leaf.layer: largest_turn(leaf, segment) for leaf in leaves}

    def of_layer(loop: For | Spatial, layer: str | None) -> For | Spatial:
        if layer is None:
            return loop
        return replace(loop, tile=min(loop.tile, extents[layer][loop.dimension]))

    return replace(shared, nodes=rewritten(shared.nodes, of_layer))


def rewritten(
    nodes: Sequence[TreeNode], change: Change, layer: str | None = None, *, turns: bool = True
) -> tuple[TreeNode, ...]:
    """Return nodes of a tree with other loops; without `turns`, none of single turns."""
    found: list[TreeNode] = []
    for node in nodes:
        if isinstance(node, Fuse):
            branches = (branch_of(branch, change, turns) for branch in node.branches)
            found.append(replace(node, branches=tuple(branches)))
        elif isinstance(node, Store):
            found.append(node)
        elif (own := change(node, layer)) is not None:
            found.append(own)
    return tuple(found)


def branch_of(branch: Branch, change: Change, turns: bool) -> Branch:
    """Return a branch with other loops."""
    own = branch.turns if turns else ()
    return replace(
        branch,
        nodes=rewritten(branch.nodes, change, branch.layer, turns=turns),
        turns=tuple(Turn(t.bounds, loops_of(t.nodes, change, branch.layer)) for t in own),
    )


def loops_of(nodes: Sequence[Node], change: Change, layer: str | None) -> tuple[Node, ...]:
    """Return the nodes of a layer with other loops."""
    found = ((n if isinstance(n, Store) else change(n, layer)) for n in nodes)
    return tuple(node for node in found if node is not None)


def tiles_of(tree: FusedMapping) -> list[int]:
    """Return the tile sizes of all loops of a tree, in order."""
    found: list[int] = []

    def seen(loop: For | Spatial, _: str | None) -> For | Spatial:
        found.append(loop.tile)
        return loop

    rewritten(tree.nodes, seen)
    return found


def with_tiles(tree: FusedMapping, tiles: Sequence[int]) -> FusedMapping:
    """Return a tree with other tile sizes, in the order of `tiles_of`."""
    left = iter(tiles)
    return replace(
        tree, nodes=rewritten(tree.nodes, lambda loop, _: replace(loop, tile=next(left)))
    )
