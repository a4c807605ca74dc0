"""The mapping that the solution of a program stands for, with whole numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from itertools import product
from math import ceil, exp, floor, prod

from tilewright.mapper.relaxations.joint.extents import Extents
from tilewright.mapper.relaxations.joint.node import BoundNode
from tilewright.mapper.relaxations.nests.tiles_to_mapping import on_axes
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.relevance import in_letters


class TileRounding(Enum):
    """How tiles are rounded.

    Down to a whole number, to a multiple of the elements further in, so that chunks are as long as
    each other, or so that those that an array divides take the fewest steps.
    """

    WHOLE = auto()
    MULTIPLE = auto()
    EVEN = auto()
    FEWEST_STEPS = auto()


NEARLY = 1e-3  # of a number that may be whole but for what the solution leaves open


def mapping_of(extents: Extents, node: BoundNode, chunks: TileRounding) -> Mapping | None:
    """Return a mapping whose stays have the extents of a node, about, or None if there is none.

    It may be too large, or have less reuse than the node, since its tiles are rounded.
    """
    try:
        return Mapping(tuple(Path(extents, node, chunks).nodes()))
    except Idle:
        return None


class Idle(Exception):
    """The elements of an array cannot be placed on its axes."""


class Path:
    """The loops from the whole layer to an operation.

    Parameters
    ----------
    extents : Extents
    node : BoundNode
    chunks : TileRounding
    """

    def __init__(self, extents: Extents, node: BoundNode, chunks: TileRounding) -> None:
        self.extents, self.node, self.chunks = extents, node, chunks
        self.layer, self.machine = extents.least.layer, extents.least.architecture
        self.shape = dict(self.layer.bounds)
        self.arrays = 0  # that lie behind
        self.best: dict[int, int] = {}
        if chunks is TileRounding.FEWEST_STEPS:
            inside = node.inside | extents.inside
            found = (own.best(inside, node.parts, node.point) for own in extents.chunks)
            self.best = dict(own for own in found if own is not None)

    def nodes(self) -> Iterator[Node]:
        """Yield the nodes of the mapping, from outside in."""
        extents = self.extents
        names = tuple(tensor.name for tensor in self.layer.tensors)
        yield Store(self.machine.memories[0].name, names)
        below: list[int] = []  # stays that begin here, of memories below arrays to come
        left = self.outside_in()
        while left or below:
            above = [i for i in left if self.segment(i) == self.arrays]
            if not above and self.arrays < len(extents.arrays):
                yield from self.across()
                for i in [i for i in below if self.segment(i) == self.arrays]:
                    below.remove(i)
                    yield self.store(i)
                continue
            i = left.pop(0)
            yield from self.loops(i)
            if self.segment(i) == self.arrays:
                yield self.store(i)
            else:
                below.append(i)
        while self.arrays < len(extents.arrays):
            yield from self.across()

    def segment(self, i: int) -> int:
        """Return how many arrays are above the memory of a stay."""
        return self.extents.segment[self.extents.stays[i].receiver]

    def store(self, i: int) -> Store:
        """Return the store node of a stay."""
        stay = self.extents.stays[i]
        tensor = self.layer.tensors[stay.tensor].name
        return Store(self.machine.memories[stay.receiver].name, (tensor,))

    def outside_in(self) -> list[int]:
        """Return all stays in the order of their extents, of all instances together."""

        def size(i: int) -> tuple[float, int]:
            above = self.extents.along(range(self.segment(i)), self.extents.dimensions)
            own = self.extents.extents[i].values()
            total = sum(self.node.point[v] for v in (*own, *above))
            return -round(float(total), 3), self.extents.stays[i].receiver

        return sorted(range(len(self.extents.stays)), key=size)

    def loops(self, i: int) -> Iterator[For]:
        """Yield the loops that lead to a stay; along which it slides, they come last."""
        slide = self.node.slides.get(i)
        dimensions = self.extents.dimensions
        if slide is not None:
            dimensions = [*(d for d in dimensions if d != slide.dimension), slide.dimension]
        for d in dimensions:
            own = {self.extents.extents[i][d]: 1.0}
            between = self.extents.along(range(self.arrays, self.segment(i)), (d,))
            number = exp(sum(self.node.point[v] for v in (*own, *between)))
            tile = max(1, floor(number * (1 + NEARLY)))
            tile = min(tile, self.best.get(self.extents.extents[i][d], tile))
            if self.chunks is TileRounding.MULTIPLE:
                inside = prod(self.unrolled(k)[d] for k in self.extents.arrays[self.arrays :])
                tile = max(tile // inside * inside, min(tile, inside))
            yield from self.loop(d, tile)

    def loop(self, d: str, tile: int) -> Iterator[For]:
        """Yield a loop whose chunks are no longer than a number."""
        shape = self.shape[d]
        if tile < shape:
            if self.chunks is TileRounding.EVEN:
                tile = ceil(shape / ceil(shape / tile))
            self.shape[d] = tile
            yield For(d, self.shape[d])

    def unrolled(self, array: int) -> dict[str, int]:
        """Return the elements of an array along each dimension."""
        wanted = dict.fromkeys(self.layer.bounds, 1)
        for k, each in enumerate(self.extents.halves):
            if each.array == array:
                for d, v in self.extents.elements[k].items():
                    wanted[d] *= ceil(exp(self.node.point[v]) * (1 - NEARLY))
        return wanted

    def across(self) -> Iterator[Spatial]:
        """Yield the loops of the next array."""
        array = self.machine.arrays[self.arrays]
        wanted = {d: min(n, self.shape[d]) for d, n in self.unrolled(self.arrays).items()}
        factors = on_axes(array, in_letters(self.machine, self.layer), wanted)
        if factors is None:
            raise Idle
        self.arrays += 1
        for k, axis in enumerate(array.axes):
            for d, factor in factors[k].items():
                further = prod(own.get(d, 1) for own in factors[k + 1 :])
                tile = ceil(self.shape[d] / (factor * further)) * further
                if factor > 1 and tile < self.shape[d]:
                    self.shape[d] = tile
                    yield Spatial(d, tile, axis, array.name)


def mappings_of(nodes: Iterable[tuple[Extents, BoundNode]]) -> Iterator[Mapping]:
    """Yield the different mappings of some nodes."""
    seen = set()
    for (extents, node), chunks in product(nodes, TileRounding):
        mapping = mapping_of(extents, node, chunks)
        if mapping is not None and mapping not in seen:
            seen.add(mapping)
            yield mapping
