"""A mapping resolved against its layer and machine: loops with extents, links with their tiles."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from tilewright.architecture.machine import Architecture, Array
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor


@dataclass(frozen=True)
class Loop:
    """A temporal or spatial loop.

    Attributes
    ----------
    dimension : str
        Dimension that it cuts.
    extent : int
        Largest number of iterations that it finds there.
    tile : int
        Iterations in each chunk; the last chunk may be shorter.
    array : str or None
        Array over whose elements the chunks are spread; None for a temporal loop.
    """

    dimension: str
    extent: int
    tile: int
    array: str | None = None

    @property
    def chunks(self) -> int:
        """Number of chunks where the extent is largest."""
        return -(-self.extent // self.tile)


@dataclass(frozen=True)
class Link:
    """Two consecutive stores of a tensor, or its innermost store and the compute unit.

    Attributes
    ----------
    tensor : Tensor
        What moves over the link.
    parent, child : str
        Memory A and, inside it, memory B or the compute unit.
    parent_depth, depth : int
        Number of loops above the parent's store node and above the child's.
    arrays : tuple of Array
        Arrays of the machine between the two, outermost first.
    run : frozenset of int
        Positions of the loops that form the sliding run of the child's tile.
    """

    tensor: Tensor
    parent: str
    child: str
    parent_depth: int
    depth: int
    arrays: tuple[Array, ...]
    run: frozenset[int]


@dataclass(frozen=True)
class Structure:
    """A mapping's loops, with what is left to the compute unit, and each tensor's way through them.

    Attributes
    ----------
    bounds : mapping of str to int
        Iterations of each dimension of the layer.
    loops : tuple of Loop
        The loops of the mapping and, below them, one temporal loop of tile 1 per dimension:
        what the mapping leaves to the compute unit. Outermost first.
    named : int
        How many of the loops stand in the mapping.
    links : mapping of str to tuple of Link
        By tensor: from the outermost memory to the compute unit.
    """

    bounds: Dict[str, int]
    loops: tuple[Loop, ...]
    named: int
    links: Dict[str, tuple[Link, ...]]

    @cached_property
    def depths(self) -> dict[tuple[str, str], int]:
        """Number of loops above each store node, by (memory, tensor)."""
        return {
            (link.parent, tensor): link.parent_depth
            for tensor, chain in self.links.items()
            for link in chain
        }

    def extents(self, depth: int) -> dict[str, int]:
        """Return the largest extent of each dimension below the outermost `depth` loops."""
        return dict(self.bounds) | {loop.dimension: loop.tile for loop in self.loops[:depth]}

    def tile_words(self, memory: str, tensor: Tensor) -> int:
        """Return the words of a tensor's largest tile in a memory; 0 where it is bypassed."""
        depth = self.depths.get((memory, tensor.name))
        return 0 if depth is None else footprint(tensor, self.extents(depth))


def resolve(mapping: Mapping, layer: Layer, architecture: Architecture) -> Structure:
    """Resolve a mapping that `validity.check` accepts.

    Parameters
    ----------
    mapping : Mapping
        Its nodes, outermost first.
    layer : Layer
        What is computed.
    architecture : Architecture
        What computes it.

    Returns
    -------
    Structure
    """
    loops = resolve_loops(mapping.nodes, layer)
    named = len(loops) - len(layer.dimensions)
    links = {}
    for tensor in layer.tensors:
        stores = [*store_depths(mapping.nodes, tensor), (architecture.compute.name, len(loops))]
        links[tensor.name] = tuple(
            Link(
                tensor=tensor,
                parent=parent,
                child=child,
                parent_depth=parent_depth,
                depth=depth,
                arrays=arrays_between(architecture, parent, child),
                run=sliding_run(loops[:depth], tensor),
            )
            for (parent, parent_depth), (child, depth) in pairwise(stores)
        )
    return Structure(layer.bounds, loops, named, links)


def resolve_loops(nodes: Sequence[Node], layer: Layer) -> tuple[Loop, ...]:
    """Return the loops of a mapping, with their extents, and those left to the compute unit."""
    extents = dict(layer.bounds)
    loops = []
    for node in nodes:
        if isinstance(node, For | Spatial):
            array = node.array if isinstance(node, Spatial) else None
            loops.append(Loop(node.dimension, extents[node.dimension], node.tile, array))
            extents[node.dimension] = node.tile
    return (*loops, *(Loop(dimension, extent, 1) for dimension, extent in extents.items()))


def store_depths(nodes: Sequence[Node], tensor: Tensor) -> list[tuple[str, int]]:
    """Return the memories that store a tensor, outermost first, with the number of loops above."""
    stores = []
    depth = 0
    for node in nodes:
        if not isinstance(node, Store):
            depth += 1
        elif tensor.name in node.tensors:
            stores.append((node.memory, depth))
    return stores


def arrays_between(architecture: Architecture, parent: str, child: str) -> tuple[Array, ...]:
    """Return the arrays between two levels, outermost first."""
    position = architecture.position
    levels = architecture.levels[position[parent] : position[child]]
    return tuple(level for level in levels if isinstance(level, Array))


def sliding_run(loops: Sequence[Loop], tensor: Tensor) -> frozenset[int]:
    """Return the positions of the loops along which a tensor's tile below `loops` slides.

    From the innermost temporal loop that is relevant to the tensor and has more than one chunk
    outward: all temporal loops on its dimension, up to a temporal loop on another relevant
    dimension with more than one chunk.
    """
    run: set[int] = set()
    slides: str | None = None
    for position in reversed(range(len(loops))):
        loop = loops[position]
        if loop.array is not None or loop.dimension not in tensor.dimensions or loop.chunks == 1:
            continue
        if slides not in (None, loop.dimension):
            break
        slides = loop.dimension
        run.add(position)
    return frozenset(run)
