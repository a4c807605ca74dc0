"""Mappings as vectors of real numbers, for optimisers that know nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf, log

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapper.problem.space_size import memories_between_arrays
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer

KEPT = 0.25  # a place below it means that the memory is bypassed


@dataclass(frozen=True)
class Encoding:
    """What each number of a vector means.

    Every memory but the outermost has three groups. *Order*: a number per dimension, its loops
    stand in ascending order. *Place*: a number per tensor, squeezed into (0, 1), which tells how
    deep among the loops its store node stands, or below `KEPT` that there is none. *Share*: a
    number per dimension. Every array axis has shares as well, and the compute unit. The shares of
    one dimension, softmax of their numbers, tell how its bound is divided on a logarithmic scale.
    """

    layer: Layer
    architecture: Architecture

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Dimensions with more than one iteration."""
        return tuple(d for d in self.layer.dimensions if self.layer.bounds[d] > 1)

    @cached_property
    def axes(self) -> tuple[tuple[str, str], ...]:
        """(array, axis) of the machine."""
        arrays = self.architecture.arrays
        return tuple((array.name, axis) for array in arrays for axis in array.axes)

    @property
    def length(self) -> int:
        """Numbers of a vector."""
        inner = len(self.architecture.memories) - 1
        orders = inner * len(self.names)
        places = inner * len(self.layer.tensors)
        return orders + places + (inner + len(self.axes) + 1) * len(self.names)

    def decode(self, vector: Floats) -> Mapping:
        """Return the mapping that a vector stands for; it may exceed a capacity.

        Parameters
        ----------
        vector : array of float, of `length`
        """
        inner = len(self.architecture.memories) - 1
        d, t = len(self.names), len(self.layer.tensors)
        orders, places, shares = np.split(vector, [inner * d, inner * (d + t)])
        order = np.argsort(orders.reshape(inner, d), axis=1, kind="stable")
        place = 1 / (1 + np.exp(-places.reshape(inner, t)))
        spatial, temporal = self.chunks(shares.reshape(-1, d))
        nodes: list[Node] = list(self.nodes(order, place, spatial, temporal))
        return Mapping(tuple(nodes))

    def chunks(self, shares: Floats) -> tuple[list[dict[str, int]], list[dict[str, int]]]:
        """Return the chunks of each dimension on every axis and in every memory."""
        weights = np.exp(shares - shares.max(axis=0, initial=0.0))
        weights /= weights.sum(axis=0)
        left = {d: self.layer.bounds[d] for d in self.names}
        machine = in_letters(self.architecture, self.layer)
        axes = len(self.axes)
        spatial, temporal = [], []
        for row, (name, axis) in zip(weights[:axes], self.axes, strict=True):
            array = next(array for array in self.architecture.arrays if array.name == name)
            allowed = machine.allowed_dimensions(name, axis)
            room = array.axes[axis]
            own = {}
            # whoever wants most of the axis takes it first
            for i in np.argsort(-row, kind="stable").tolist():
                d = self.names[i]
                if allowed is None or d in allowed:
                    own[d] = closest(left[d], self.layer.bounds[d] ** row[i], room)
                    room //= own[d]
                    left[d] //= own[d]
            spatial.append(own)
        for row in weights[axes:-1]:
            own = {
                d: closest(left[d], self.layer.bounds[d] ** share, inf)
                for d, share in zip(self.names, row.tolist(), strict=True)
            }
            left = {d: left[d] // own[d] for d in self.names}
            temporal.append(own)
        return spatial, temporal

    def nodes(
        self,
        order: np.ndarray[tuple[int, int], np.dtype[np.intp]],
        place: Floats,
        spatial: list[dict[str, int]],
        temporal: list[dict[str, int]],
    ) -> Iterator[Node]:
        """Yield the nodes, outermost first."""
        extents = dict(self.layer.bounds)

        def cut(d: str, chunks: int) -> int:
            extents[d] //= chunks
            return extents[d]

        yield Store(self.architecture.memories[0].name, tuple(t.name for t in self.layer.tensors))
        first = 0
        for above, memories in enumerate(memories_between_arrays(self.architecture)):
            if above:
                name = self.architecture.arrays[above - 1].name
                for (array, axis), own in zip(self.axes, spatial, strict=True):
                    if array == name:
                        yield from (Spatial(d, cut(d, n), axis, name) for d, n in own.items())
            last = first + len(memories)
            loops = [(m, self.names[i]) for m in range(first, last) for i in order[m].tolist()]
            depths: list[tuple[int, str, str]] = []
            for i, tensor in enumerate(self.layer.tensors):
                lowest = 0
                for m, memory in enumerate(memories, start=first):
                    at = (place[m, i] - KEPT) / (1 - KEPT)
                    must = tensor.role in memory.must_keep
                    if must or (at >= 0 and memory.may_store(tensor.role)):
                        # outer memories first: deeper ones go at least as deep
                        lowest = max(lowest, round(max(at, 0.0) * len(loops)))
                        depths.append((lowest, memory.name, tensor.name))
            for depth in range(len(loops) + 1):
                here = [(memory, tensor) for at, memory, tensor in depths if at == depth]
                yield from (Store(memory, (tensor,)) for memory, tensor in here)
                for m, d in loops[depth : depth + 1]:
                    yield For(d, cut(d, temporal[m][d]))
            first = last


def closest(extent: int, wanted: float, most: float) -> int:
    """Return the divisor of an extent, at most so large, whose logarithm is closest."""
    return min((f for f in divisors(extent) if f <= most), key=lambda f: abs(log(f) - log(wanted)))
