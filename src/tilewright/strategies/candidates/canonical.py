"""One way to write mappings that cost the same, whichever way their loops are written.

Between two store or spatial nodes, the order of the loops matters through two things only (see the
reuse rule): which loops run inside the innermost one that is relevant to a tensor, so that its tile
stays, and along which dimensions its window slides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
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
    ends: dict[int, list[End]] = {}
    for tensor in layer.tensors:
        for place, end in ends_of_reuse(tensor, inward):
            ends.setdefault(place, []).append(end)
    cuts = sorted({0, *ends, len(inward)})
    result: list[str] = []
    for start, stop in pairwise(cuts):
        part = sorted(inward[start:stop])
        ending = ends.get(start, [])
        first = next(d for d in part if all(end.may_be_at(d, inward[start]) for end in ending))
        part.remove(first)
        result += [first, *part]
    return tuple(result[::-1])


@dataclass(frozen=True)
class End:
    """A loop that changes a tensor's tile, or with the sliding loops inside it may leave it.

    Attributes
    ----------
    tensor : Tensor
        Whose tile it is.
    inside : frozenset of str or None
        Dimensions of the index expression along which the tile slides inside this loop; None for
        the innermost loop that is relevant to the tensor.
    """

    tensor: Tensor
    inside: frozenset[str] | None

    def may_be_at(self, dimension: str, other: str) -> bool:
        """Whether a loop on `dimension` may take the place of one on `other`."""
        if dimension not in self.tensor.dimensions:
            return False
        if dimension == other:
            return True
        if self.inside is None:
            return not window(self.tensor, dimension) and not window(self.tensor, other)
        return dimension not in self.inside and other not in self.inside


def ends_of_reuse(tensor: Tensor, inward: tuple[str, ...]) -> Iterator[tuple[int, End]]:
    """Yield the places, innermost first, of the loops on which the reuse of a tensor depends.

    That is the innermost one that is relevant to it. When the tile slides along it, a loop on
    another dimension of the same index expression may bring the tile back to where it was (a
    stride of 2 on P and a loop on R, in 2*P + R): then the next relevant loop counts as well.
    """
    inside: frozenset[str] | None = None
    for place, dimension in enumerate(inward):
        if dimension not in tensor.dimensions:
            continue
        yield place, End(tensor, inside)
        if inside is not None and dimension not in inside:
            return
        inside = window(tensor, dimension)
        if not inside:
            return


def window(tensor: Tensor, dimension: str) -> frozenset[str]:
    """Return the dimensions of the index expression along which a tile slides; none if not."""
    for terms in tensor.expressions:
        dimensions = frozenset(term.dimension for term in terms)
        if len(dimensions) > 1 and dimension in dimensions:
            return dimensions
    return frozenset()
