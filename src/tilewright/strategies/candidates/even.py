"""Nests in which every memory holds one tile of all tensors, at one depth: even mappings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tilewright.architecture.machine import Architecture, Array
from tilewright.interop.dmazerunner.orderings import covering_orderings
from tilewright.interop.dmazerunner.space import stored
from tilewright.kernels.types import Ints
from tilewright.mapper.problem.lattice import Lattice, lattice
from tilewright.mapper.problem.space import Unrolling, array_choices
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Tilings:
    """Some tilings.

    Attributes
    ----------
    outer, inner : arrays of (tilings, dimensions)
        Extents below the loops of the outermost memory, and below those of the buffer.
    spatial : array of int
        Positions of the spatial choices, each of which cuts `inner`.
    """

    outer: Ints
    inner: Ints
    spatial: Ints

    def take(self, rows: Ints) -> Tilings:
        """Return some of them."""
        return Tilings(self.outer[rows], self.inner[rows], self.spatial[rows])


def joined(parts: Sequence[Tilings]) -> Tilings:
    """Return tilings of several parts as one."""
    return Tilings(
        np.concatenate([part.outer for part in parts]),
        np.concatenate([part.inner for part in parts]),
        np.concatenate([part.spatial for part in parts]),
    )


@dataclass(frozen=True)
class Nest:
    """The loops of a layer on a machine of two memories, an array and a third memory."""

    layer: Layer
    architecture: Architecture

    @cached_property
    def tiles(self) -> Lattice:
        """The tile shapes."""
        return lattice(self.layer)

    @cached_property
    def shapes(self) -> Ints:
        """Extents of every shape."""
        tiles = self.tiles
        return np.take_along_axis(tiles.values, tiles.digits.T, axis=1).T

    @cached_property
    def orderings(self) -> tuple[tuple[str, ...], ...]:
        """Orders of the loops of one memory."""
        return covering_orderings(self.layer)

    @property
    def array(self) -> Array:
        """The array."""
        return self.architecture.arrays[0]

    @cached_property
    def choices(self) -> tuple[list[Unrolling], Ints]:
        """The spatial choices, those with the most elements first, and digits of their factors."""
        return array_choices(self.layer, self.tiles, self.architecture, self.array)

    @cached_property
    def spatial_factors(self) -> Ints:
        """Elements over which each choice spreads each dimension."""
        return np.take_along_axis(self.tiles.values, self.choices[1].T, axis=1).T

    @cached_property
    def spatial_loops(self) -> list[tuple[str, str]]:
        """(axis, dimension) of every spatial loop that some choice has."""
        used = {(axis, d) for choice in self.choices[0] for axis, d, _ in choice.factors}
        return sorted(used)

    @cached_property
    def spatial_chunks(self) -> Ints:
        """Chunks of each of the spatial loops, for every choice."""
        choices = self.choices[0]
        chunks = np.ones((len(choices), len(self.spatial_loops)), np.int64)
        for i, choice in enumerate(choices):
            for axis, d, factor in choice.factors:
                chunks[i, self.spatial_loops.index((axis, d))] = factor
        return chunks

    def mappings(self, outer: int, inner: int, tilings: Tilings) -> tuple[Mapping, Ints]:
        """Return the nodes for two orderings, and the tile sizes of each tiling."""
        position = {d: i for i, d in enumerate(self.tiles.dimensions)}
        stores = [
            Store(memory.name, tuple(tensor.name for tensor in stored(memory, self.layer)))
            for memory in self.architecture.memories
        ]
        orders = self.orderings[outer], self.orderings[inner]
        nodes: list[Node] = [stores[0], *(For(d, 1) for d in orders[0])]
        nodes += [stores[1], *(For(d, 1) for d in orders[1])]
        nodes += [Spatial(d, 1, axis, self.array.name) for axis, d in self.spatial_loops]
        nodes.append(stores[2])
        extents = tilings.inner.copy()
        chunks = self.spatial_chunks[tilings.spatial]
        spatial = np.empty_like(chunks)
        for i, (_, d) in enumerate(self.spatial_loops):
            extents[:, position[d]] //= chunks[:, i]
            spatial[:, i] = extents[:, position[d]]
        return Mapping(tuple(nodes)), np.concatenate(
            [
                tilings.outer[:, [position[d] for d in orders[0]]],
                tilings.inner[:, [position[d] for d in orders[1]]],
                spatial,
            ],
            axis=1,
        )
