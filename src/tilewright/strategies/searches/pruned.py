"""Random sampling with pruning: only orders of loops that make a difference, nothing twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from math import inf

import numpy as np

from tilewright.errors import InputError
from tilewright.mapping.nodes import For, Mapping, Node
from tilewright.strategies.candidates.canonical import canonical_order, canonical_orders
from tilewright.strategies.candidates.identity import identities
from tilewright.strategies.candidates.seen import Seen
from tilewright.strategies.candidates.structures import random_structure
from tilewright.strategies.candidates.tilings import random_tiles
from tilewright.strategies.steps import Problem, Step, check_rows, tried
from tilewright.workload.layer import Layer

MOST_ORDERED = 7  # loops in a row whose orders are listed
EXHAUSTED = 500  # structures in a row without a new mapping after which none is expected


@dataclass(frozen=True)
class Pruned:
    """Random structures, evenly among the reuses that the orders of their loops can have.

    Attributes
    ----------
    rows : int
        Tile sizes that are drawn for each structure; mappings that were tried before are left out.
    victory : int or None
        Valid mappings in a row without an improvement after which it ends; None: never.
    """

    rows: int = 1000
    victory: int | None = None

    def check(self, problem: Problem) -> None:
        """Accept every problem."""
        check_rows(self.rows)
        if self.victory is not None and self.victory < 1:
            raise InputError(
                f"victory must be a whole number of at least 1, found {self.victory}",
                key="strategy",
            )

    def steps(self, problem: Problem, seed: int) -> Iterator[Step]:
        """Yield a step for each structure that is drawn, until victory or nothing new is found."""
        layer, architecture = problem.layer, problem.architecture
        ordered = any(array.forwarding for array in architecture.arrays)
        rng = np.random.default_rng(seed)
        seen = Seen()
        best, since, stale = inf, 0, 0
        while stale < EXHAUSTED and (self.victory is None or since < self.victory):
            structure = random_structure(layer, architecture, rng)
            if not ordered:
                structure = reordered(structure, layer, rng)
            tiles = random_tiles(layer, architecture, structure, self.rows, rng)
            new = seen.add(identities(layer, structure, tiles, ordered))
            step = tried(problem, structure, tiles[new])
            yield step
            stale = 0 if step.evaluated else stale + 1
            since = 0 if step.value < best else since + step.valid
            best = min(best, step.value)


def reordered(structure: Mapping, layer: Layer, rng: np.random.Generator) -> Mapping:
    """Return a structure with the order of neighbouring loops drawn anew, evenly among reuses."""
    nodes: list[Node] = []
    for kind, block in groupby(structure.nodes, type):
        if kind is not For:
            nodes += block
            continue
        names = tuple(node.dimension for node in block if isinstance(node, For))
        if len(names) <= MOST_ORDERED and len(set(names)) == len(names):
            orders = canonical_orders(frozenset(names), layer)
            names = orders[rng.integers(len(orders))]
        elif len(set(names)) == len(names):
            names = canonical_order(names, layer)
        nodes += [For(name, 1) for name in names]
    return Mapping(tuple(nodes))
