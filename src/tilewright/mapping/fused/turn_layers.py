"""A turn of a layer as a layer of its own: the box that it carries out, with its own nodes."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import replace
from itertools import product

from tilewright.architecture.machine import Architecture
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.scopes import Leaf
from tilewright.mapping.fused.turns import spans
from tilewright.mapping.nodes import Mapping, Node, Store
from tilewright.workload.layer import Layer


def turn_layer(layer: Layer, extents: Dict[str, int]) -> Layer:
    """Return a layer with other bounds."""
    return replace(layer, bounds={d: extents[d] for d in layer.bounds}, repeat=1)


def turn_mapping(leaf: Leaf, extents: Dict[str, int], architecture: Architecture) -> Mapping:
    """Return the mapping of one turn: its innermost shared stores, then its own nodes.

    A tile that is larger than what the turn has of a dimension is all that there is.
    """
    position = architecture.position
    heads = sorted(
        ((chain[-1].memory, tensor) for tensor, chain in leaf.chains.items()),
        key=lambda head: position[head[0]],
    )
    nodes: list[Node] = [Store(memory, (tensor,)) for memory, tensor in heads]
    left = dict(extents)
    for node in leaf.mapping_of(extents).nodes:
        if isinstance(node, Store):
            nodes.append(node)
            continue
        left[node.dimension] = min(node.tile, left[node.dimension])
        nodes.append(replace(node, tile=left[node.dimension]))
    return Mapping(tuple(nodes))


def turn_extents(leaf: Leaf, segment: Segment) -> list[dict[str, int]]:
    """Return the different extents of the turns of a layer."""
    layer = segment.layer_of[leaf.layer]
    choices = []
    for dimension, bound in layer.bounds.items():
        loops = [loop for loop in leaf.loops if loop.cuts.dims[leaf.layer] == dimension]
        found = spans(loops, segment, leaf.layer) if loops else [((), (0, bound))]
        choices.append(sorted({end - first for _, (first, end) in found}, reverse=True))
    return [dict(zip(layer.bounds, chosen, strict=True)) for chosen in product(*choices)]


def largest_turn(leaf: Leaf, segment: Segment) -> dict[str, int]:
    """Return the largest extent of each dimension over all turns of a layer."""
    layer = segment.layer_of[leaf.layer]
    extents = dict(layer.bounds)
    for dimension in layer.bounds:
        loops = [loop for loop in leaf.loops if loop.cuts.dims[leaf.layer] == dimension]
        if loops:
            found = spans(loops, segment, leaf.layer)
            extents[dimension] = max((end - first for _, (first, end) in found), default=0)
    return extents
