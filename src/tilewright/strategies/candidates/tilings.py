"""Random tile sizes for the loops of a structure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Ints
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapping.nodes import For, Mapping, Spatial
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Cuts:
    """Ways to cut an extent in turn by some loops, each into a number of even chunks.

    Attributes
    ----------
    bound : int
        The largest extent; others are its divisors, by their position in `divisors`.
    loops : int
        How many loops cut it.
    fewest : int
        Chunks that each loop makes at least: 1 or 2.
    """

    bound: int
    loops: int
    fewest: int

    @cached_property
    def divisors(self) -> Ints:
        """Divisors of the bound, ascending."""
        return np.array(divisors(self.bound), np.int64)

    @cached_property
    def factors(self) -> tuple[Ints, Ints]:
        """For every extent its factors from `fewest` on, padded with 0, and what they leave."""
        lists = [
            [f for f in self.divisors[: i + 1].tolist() if extent % f == 0 and f >= self.fewest]
            for i, extent in enumerate(self.divisors.tolist())
        ]
        width = max(1, *(len(own) for own in lists))
        factors = np.zeros((len(lists), width), np.int64)
        rest = np.zeros((len(lists), width), np.int64)
        for i, own in enumerate(lists):
            factors[i, : len(own)] = own
            rest[i, : len(own)] = np.searchsorted(self.divisors, self.divisors[i] // np.array(own))
        return factors, rest

    @cached_property
    def ways(self) -> tuple[Ints, ...]:
        """For the loops left to cut: running sums over the factors of the ways to go on."""
        factors, rest = self.factors
        total = np.ones(len(factors), np.int64)
        sums = []
        for _ in range(self.loops):
            running = np.cumsum(np.where(factors > 0, total[rest], 0), axis=1)
            sums.append(running)
            total = running[:, -1]
        return tuple(reversed(sums))

    def draw(self, extents: Ints, rng: np.random.Generator) -> Ints:
        """Draw evenly among the ways to cut each of some extents.

        Parameters
        ----------
        extents : array of int
            Positions among the divisors.

        Returns
        -------
        array of (extents, loops)
            Chunks of each loop; some of them 0 where there is no way.
        """
        chunks = np.zeros((len(extents), self.loops), np.int64)
        factors, rest = self.factors
        at = extents
        rank: Ints | None = None
        for i, sums in enumerate(self.ways):
            below = sums[at]
            if rank is None:
                rank = (rng.random(len(at)) * below[:, -1]).astype(np.int64)
            choice = (below <= rank[:, None]).sum(axis=1)
            choice = np.minimum(choice, factors.shape[1] - 1)
            before = np.take_along_axis(below, np.maximum(choice - 1, 0)[:, None], 1)[:, 0]
            rank = rank - np.where(choice > 0, before, 0)
            chunks[:, i] = factors[at, choice]
            at = rest[at, choice]
        return chunks


@lru_cache(maxsize=1024)
def cuts(bound: int, loops: int, fewest: int) -> Cuts:
    """Return the `Cuts` of a dimension, whose tables are the same for many structures."""
    return Cuts(bound, loops, fewest)


def random_tiles(
    layer: Layer,
    architecture: Architecture,
    structure: Mapping,
    rows: int,
    rng: np.random.Generator,
    fewest: int = 1,
) -> Ints:
    """Draw tile sizes that divide evenly and fit the axes of the arrays.

    Spatial loops come first, in random order, each drawn evenly among the factors that are left:
    factors that others have taken would leave the array idle. The temporal loops of a dimension
    are drawn evenly among all ways to cut what is left.

    Parameters
    ----------
    layer, architecture, structure
        What is mapped, on what, and the nodes.
    rows : int
        How many to draw.
    rng : numpy Generator
        Where random numbers come from.
    fewest : int
        Chunks that every loop makes at least, 1 or 2; rows for which there are none are left out.

    Returns
    -------
    array of (at most rows, loops)
        Tile size of each loop, outermost first.
    """
    loops = [node for node in structure.nodes if isinstance(node, For | Spatial)]
    chunks = np.ones((rows, len(loops)), np.int64)
    room = {
        (array.name, axis): np.full(rows, size)
        for array in architecture.arrays
        for axis, size in array.axes.items()
    }
    at = {d: np.full(rows, len(divisors(layer.bounds[d])) - 1) for d in layer.dimensions}
    for i in rng.permutation(len(loops)).tolist():
        loop = loops[i]
        if not isinstance(loop, Spatial):
            continue
        factors, rest = cuts(layer.bounds[loop.dimension], 1, fewest).factors
        able, place = factors[at[loop.dimension]], (loop.array, loop.axis)
        fitting = ((able > 0) & (able <= room[place][:, None])).sum(axis=1)
        choice = (rng.random(rows) * fitting).astype(np.int64)
        chunks[:, i] = np.where(fitting > 0, able[np.arange(rows), choice], 0)
        room[place] = room[place] // np.maximum(chunks[:, i], 1)
        at[loop.dimension] = rest[at[loop.dimension], choice]
    for d in layer.dimensions:
        own = [i for i, loop in enumerate(loops) if isinstance(loop, For) and loop.dimension == d]
        if own:
            chunks[:, own] = cuts(layer.bounds[d], len(own), fewest).draw(at[d], rng)
    chunks = chunks[(chunks > 0).all(axis=1)]
    tiles = np.empty_like(chunks)
    extents = {d: np.full(len(chunks), bound) for d, bound in layer.bounds.items()}
    for i, loop in enumerate(loops):
        extents[loop.dimension] = extents[loop.dimension] // chunks[:, i]
        tiles[:, i] = extents[loop.dimension]
    return tiles
