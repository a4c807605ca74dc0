"""Random sampling with pruning: mappings in their canonical form, none of them repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping
from tilewright.model.traffic import with_tiles
from tilewright.model.types import Ints
from tilewright.strategies.canonical import canonical
from tilewright.strategies.steps import Problem, Step, tried
from tilewright.strategies.structures import random_structure
from tilewright.strategies.tilings import random_tiles

Hashes = NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Pruned:
    """Random structures in canonical form, without idle loops, each with new tile sizes only.

    Attributes
    ----------
    rows : int
        Tile sizes that are drawn for each structure.
    victory : int or None
        Valid mappings in a row without an improvement after which it ends; None: never.
    """

    rows: int = 300
    victory: int | None = None

    def check(self, problem: Problem) -> None:
        """Accept every problem."""
        if self.victory is not None and self.victory < 1:
            raise InputError(
                f"victory must be a whole number of at least 1, found {self.victory}",
                key="strategy",
            )

    def steps(self, problem: Problem, seed: int) -> Iterator[Step]:
        """Yield a step for each structure that is drawn, until victory."""
        layer, architecture = problem.layer, problem.architecture
        rng = np.random.default_rng(seed)
        seen: dict[Mapping, Hashes] = {}
        best, since = inf, 0
        while self.victory is None or since < self.victory:
            # which loops there are follows from a mapping of all loops, idle ones left out
            drawn = random_structure(layer, architecture, rng)
            tiles = random_tiles(layer, architecture, drawn, 1, rng)
            structure = canonical(with_tiles(drawn, tiles[0].tolist()), layer, architecture)
            tiles = random_tiles(layer, architecture, structure, self.rows, rng, fewest=2)
            hashes, first = np.unique(hashed(tiles), return_index=True)
            before = seen.get(structure, np.empty(0, np.uint64))
            new = ~np.isin(hashes, before, assume_unique=True)
            seen[structure] = np.concatenate([before, hashes[new]])
            step = tried(problem, structure, tiles[first[new]])
            yield step
            since = 0 if step.value < best else since + step.valid
            best = min(best, step.value)


def hashed(tiles: Ints) -> Hashes:
    """Return a number for each row of tile sizes; different rows have different ones, in practice.

    Two of a billion rows would be taken for one another with a probability of 3 %, and then one of
    them is left out: nothing is counted wrong.
    """
    hashes = np.zeros(len(tiles), np.uint64)
    for column in tiles.T.astype(np.uint64):
        hashes = (hashes ^ (hashes >> np.uint64(29)) ^ column) * GOLDEN
    return hashes
