"""One way to write mappings that cost the same, whichever way their loops are written.

Between two store or spatial nodes, the order of the loops matters through two things only (see the
reuse rule): which loops run inside the innermost one that is relevant to a tensor, so that its tile
stays, and along which dimension its window slides.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, pairwise

from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer, Tensor


def without_idle_loops(mapping: Mapping, layer: Layer, architecture: Architecture) -> Mapping:
    """Return a mapping without loops of one chunk, with one store node per memory and depth."""
    extents = dict(layer.bounds)
    nodes: list[Node] = []
    for node in mapping.nodes:
        if isinstance(node, Store):
            nodes.append(node)
            continue
        if extents[node.dimension] != node.tile:
            nodes.append(node)
        extents[node.dimension] = node.tile
    order = {tensor.name: i for i, tensor in enumerate(layer.tensors)}
    result: list[Node] = []
    for stores, block in groupby(nodes, lambda node: isinstance(node, Store)):
        if not stores:
            result += block
            continue
        held: dict[str, list[str]] = {}
        for node in block:
            assert isinstance(node, Store)
            held.setdefault(node.memory, []).extend(node.tensors)
        result += [
            Store(memory, tuple(sorted(held[memory], key=lambda name: order[name])))
            for memory in sorted(held, key=lambda name: architecture.position[name])
        ]
    return Mapping(tuple(result))


def canonical(mapping: Mapping, layer: Layer, architecture: Architecture) -> Mapping:
    """Return the structure that stands for all those that cost the same for the same tile sizes.

    Parameters
    ----------
    mapping : Mapping
        Its loops; those of one chunk are left out. Tile sizes are 1 in the result.
    layer, architecture
        What is mapped, and on what. Where neighbours forward words, every order is its own.
    """
    forwarding = any(array.forwarding for array in architecture.arrays)
    nodes: list[Node] = []
    for kind, block in groupby(without_idle_loops(mapping, layer, architecture).nodes, type):
        if kind is Store:
            nodes += block
            continue
        loops = [replace(node, tile=1) for node in block if isinstance(node, For | Spatial)]
        if kind is Spatial:
            nodes += sorted(loops, key=str)
            continue
        names = [loop.dimension for loop in loops]
        # the sliding run of a repeated dimension may depend on what stands between its loops
        if not forwarding and len(set(names)) == len(names):
            names = canonical_order(names, layer)
        # two loops on one dimension in a row are one
        nodes += [For(name, 1) for name, _ in groupby(names)]
    return Mapping(tuple(nodes))


def canonical_order(names: list[str], layer: Layer) -> list[str]:
    """Return one order of loops for all orders with the same reuse.

    Parameters
    ----------
    names : list of str
        Dimensions of consecutive temporal loops, outermost first, each once.
    """
    inward = names[::-1]
    # where each tensor's reuse ends: at the innermost loop that is relevant to it
    ends: dict[int, list[Tensor]] = {}
    for tensor in layer.tensors:
        place = next((i for i, d in enumerate(inward) if d in tensor.dimensions), None)
        if place is not None:
            ends.setdefault(place, []).append(tensor)
    cuts = sorted({0, *ends, len(inward)})
    result: list[str] = []
    for start, stop in pairwise(cuts):
        part = sorted(inward[start:stop])
        ending = ends.get(start, [])
        first = next(d for d in part if all(alike(t, d, inward[start]) for t in ending))
        part.remove(first)
        result += [first, *part]
    return result[::-1]


def alike(tensor: Tensor, dimension: str, other: str) -> bool:
    """Whether the reuse of a tensor, which ends at a loop on one dimension, may at the other."""
    relevant = dimension in tensor.dimensions
    return relevant and slide(tensor, dimension) == slide(tensor, other)


def slide(tensor: Tensor, dimension: str) -> str | None:
    """Return the dimension when a tensor's tile slides along it: others share its expression."""
    for terms in tensor.expressions:
        if len(terms) > 1 and any(term.dimension == dimension for term in terms):
            return dimension
    return None
