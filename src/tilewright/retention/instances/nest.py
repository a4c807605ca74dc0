"""The loops above a memory as one tensor sees them, and as one instance of the memory does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tilewright.mapping.structure import Link, Loop, Structure
from tilewright.workload.layer import Layer, Tensor

# first iteration and number of iterations of each chunk; none where an instance idles
Pieces = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Nest:
    """The loops above a memory, as one tensor sees them.

    Attributes
    ----------
    bounds : tuple of (str, int)
        Dimensions of the layer with their iterations.
    tensor : Tensor
        What the memory holds.
    loops : tuple of Loop
        Temporal and spatial loops of more than one chunk, outermost first.
    anew : int
        Number of loops, from the outermost one, above the tile of an output in the memory above.
        When that tile changes, all words leave and begin anew. 0 where it never does.
    """

    bounds: tuple[tuple[str, int], ...]
    tensor: Tensor
    loops: tuple[Loop, ...]
    anew: int = 0

    @classmethod
    def of(cls, layer: Layer, structure: Structure, link: Link, anew: bool = False) -> Nest:
        """Return the nest of a link's child."""
        cut = [i for i in range(link.depth) if structure.loops[i].chunks > 1]
        return cls(
            tuple(layer.bounds.items()),
            link.tensor,
            tuple(structure.loops[i] for i in cut),
            sum(i < link.parent_depth for i in cut) if anew else 0,
        )

    @cached_property
    def dimensions(self) -> tuple[str, ...]:
        """Dimensions that are relevant, or that a loop cuts."""
        seen = {loop.dimension for loop in self.loops} | set(self.tensor.dimensions)
        return tuple(d for d, _ in self.bounds if d in seen)

    @cached_property
    def steps(self) -> tuple[int, ...]:
        """Positions of the temporal loops; without irrelevant ones inside all others."""
        temporal = [i for i, loop in enumerate(self.loops) if loop.array is None]
        last = max(filter(self.relevant, temporal), default=-1)
        return tuple(i for i in temporal if i <= last)

    def relevant(self, position: int) -> bool:
        """Whether a loop is on a dimension of the tensor."""
        return self.loops[position].dimension in self.tensor.dimensions

    def chain(self, dimension: str) -> list[int]:
        """Return the positions of the loops on a dimension."""
        return [i for i, loop in enumerate(self.loops) if loop.dimension == dimension]

    def place(self, dimension: str) -> tuple[int, int]:
        """Return a dimension's index expression and coefficient; -1 and 0 when irrelevant."""
        for axis, terms in enumerate(self.tensor.expressions):
            for term in terms:
                if term.dimension == dimension:
                    return axis, term.coefficient
        return -1, 0

    def alone(self, dimension: str) -> bool:
        """Whether no other dimension shares the index expression of a relevant one."""
        bounds = dict(self.bounds)
        axis, _ = self.place(dimension)
        terms = self.tensor.expressions[axis] if axis >= 0 else ()
        return axis >= 0 and all(
            bounds[term.dimension] == 1 or term.dimension == dimension for term in terms
        )


@dataclass(frozen=True)
class Trace:
    """The blocks that one instance of a memory needs, step by step.

    Attributes
    ----------
    nest : Nest
        The loops above the memory.
    pins : tuple of tuple of int
        For each dimension of the nest the chunk of each spatial loop that is the instance's.
    """

    nest: Nest
    pins: tuple[tuple[int, ...], ...]

    def pinned(self, dimension: str) -> tuple[int, ...]:
        """Return the chunk of each spatial loop on a dimension."""
        return self.pins[self.nest.dimensions.index(dimension)]


def pieces(bound: int, loops: Sequence[Loop], pins: Sequence[int]) -> Pieces:
    """Return what an instance has of a dimension at each step of the temporal loops on it.

    Parameters
    ----------
    bound : int
        Iterations of the dimension.
    loops : sequence of Loop
        The loops on it, outermost first.
    pins : sequence of int
        The instance's chunk of each spatial one.
    """
    found = [(0, bound)]
    rest = iter(pins)
    for loop in loops:
        chunks = range(loop.chunks) if loop.array is None else (next(rest),)
        found = [
            (start + i * loop.tile, max(0, min(loop.tile, extent - i * loop.tile)))
            for start, extent in found
            for i in chunks
        ]
    return tuple(found)
