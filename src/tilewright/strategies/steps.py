"""What every strategy is, and yields: steps of mappings that were tried, and the best of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Protocol

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.nodes import Mapping
from tilewright.model.batch import evaluate_batch
from tilewright.model.closed_form.traffic import with_tiles
from tilewright.strategies.candidates.canonical import without_idle_loops
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Problem:
    """A layer, the machine that shall run it, and what to minimise."""

    layer: Layer
    architecture: Architecture
    objective: str


@dataclass(frozen=True)
class Step:
    """Mappings that were tried together.

    Attributes
    ----------
    evaluated, valid : int
        Mappings tried, and how many of them fit the machine.
    value : float
        Objective of the best of them in pJ, cycles, or pJ x cycles; infinite when none was valid.
    mapping : Mapping or None
        The best of them.
    """

    evaluated: int = 0
    valid: int = 0
    value: float = inf
    mapping: Mapping | None = None


class Strategy(Protocol):
    """A way to look for good mappings; its options are its attributes."""

    def check(self, problem: Problem) -> None:
        """Refuse a problem that it does not cover.

        Raises
        ------
        InputError
            With what it covers.
        """

    def steps(self, problem: Problem, seed: int) -> Iterator[Step]:
        """Yield steps of at most some tenths of a second, the same ones for the same seed.

        It ends when there is nothing left to try, or goes on for ever.
        """


def value(objective: str, energy: Floats, cycles: Floats) -> Floats:
    """Return what an objective minimises, in its unit; infinite beyond its limits.

    Parameters
    ----------
    objective : str
        See `objective.parse_objective`.
    energy, cycles : arrays of float
        In pJ and cycles.
    """
    wanted = parse_objective(objective)
    product = energy ** wanted.powers[0] * cycles ** wanted.powers[1]
    kept = (energy <= wanted.most_energy) & (cycles <= wanted.most_cycles)
    return np.where(kept, product, np.inf)


def check_rows(rows: int) -> None:
    """Refuse a number of tile sizes that cannot be drawn."""
    if rows < 1:
        raise InputError(f"rows must be a whole number of at least 1, found {rows}", key="strategy")


def tried(problem: Problem, structure: Mapping, tiles: Ints) -> Step:
    """Evaluate mappings that differ in their tile sizes.

    Parameters
    ----------
    problem : Problem
        What is mapped onto what.
    structure : Mapping
        The nodes that they have in common.
    tiles : array of int, of (mappings, loops)
        Tile size of each loop node, outermost first.
    """
    if not len(tiles):
        return Step()
    batch = evaluate_batch(problem.layer, problem.architecture, structure, tiles)
    valid = int(batch.valid.sum())
    if not valid:
        return Step(len(tiles))
    values = value(problem.objective, batch.energy_pj, batch.cycles)
    best = int(np.argmin(np.where(batch.valid, values, inf)))
    mapping = with_tiles(structure, tiles[best].tolist())
    shortest = without_idle_loops(mapping, problem.layer, problem.architecture)
    return Step(len(tiles), valid, float(values[best]), shortest)
