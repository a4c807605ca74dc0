"""One way to write mappings that cost the same, whichever way their loops are written.

Between two store or spatial nodes, the order of the loops matters through two things only (see the
reuse rule): which loops run inside the innermost one that is relevant to a tensor, so that its tile
stays, and along which dimension its window slides.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby, pairwise, permutations

from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import Mapping, Node, Store
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


@lru_cache(maxsize=1024)
def canonical_orders(names: frozenset[str], layer: Layer) -> tuple[tuple[str, ...], ...]:
    """Return one order for each reuse that consecutive loops on some dimensions can have."""
    return tuple(sorted({canonical_order(order, layer) for order in permutations(sorted(names))}))


@lru_cache(maxsize=1 << 16)
def canonical_order(names: tuple[str, ...], layer: Layer) -> tuple[str, ...]:
    """Return one order of loops for all orders with the same reuse.

    Parameters
    ----------
    names : tuple of str
        Dimensions of consecutive temporal loops, outermost first, each once.
    layer : Layer
        Whose tensors are reused. Neighbours that forward words make every order its own.
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
    return tuple(result[::-1])


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
