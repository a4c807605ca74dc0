"""What a layer costs at least in every style, in closed form and for all styles at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices, narrowed
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapper.relaxations.stays.elements import Pays
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.workload.layer import Layer

CLOSE = 1e-9

Axes = tuple[str, ...]
"""The dimension that each axis of each array may unroll, or nothing."""


@dataclass(frozen=True)
class StyleBounds:
    """Lower bounds of the objective of a layer.

    Attributes
    ----------
    keeps : tuple of KeepChoice
        All bypass choices.
    axes : sequence of Axes
        What the styles unroll.
    values : array of (bypass choices, axes)
        No mapping of the bypass choice that unrolls nothing else has a lower objective.
    energy, cycles : arrays of axes
        No mapping that unrolls nothing else has less of them, in pJ and cycles.
    """

    keeps: tuple[KeepChoice, ...]
    axes: Sequence[Axes]
    values: Floats
    energy: Floats
    cycles: Floats


def style_bounds(
    layer: Layer,
    architecture: Architecture,
    axes: Sequence[Axes],
    objective: Objective,
    tiles: str = DIVISORS,
) -> StyleBounds:
    """Return what a layer costs at least in some styles, see `Least`.

    A style has one spatial choice that is at least as wide as all others: on each axis as many
    instances as its dimension can have.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what. No constraint is about the tiles or loops of a memory, and no
        array forwards words.
    axes : sequence of Axes
        What the styles unroll.
    objective : Objective
        What is minimised.
    tiles : str
        ``"divisors"`` or ``"all"``: the sizes of the tiles that are bounded.
    """
    machine = narrowed(architecture, layer)
    widest = np.array([instances(layer, machine, each, tiles) for each in axes], np.int64)
    least = Least(layer, machine, widest)
    keeps = tuple(keep_choices(layer, machine))
    # where sizes divide, all elements work alike
    apart = Pays.EITHER if tiles == ALL else None
    # allowing for rounding
    costs = np.array([least.cost(keep, apart) for keep in keeps]) * (1 - CLOSE)
    energy, cycles = costs[:, 0], costs[:, 1]
    values = [objective.values(*pair) for pair in zip(energy, cycles, strict=True)]
    return StyleBounds(keeps, axes, np.array(values), energy.min(axis=0), cycles.min(axis=0))


def instances(layer: Layer, architecture: Architecture, axes: Axes, tiles: str) -> Ints:
    """Return the most instances along each dimension of each array, (arrays, dimensions)."""
    result = np.ones((len(architecture.arrays), len(layer.bounds)), np.int64)
    own = iter(axes)
    for k, array in enumerate(architecture.arrays):
        sizes: dict[str, list[int]] = {}
        for size in array.axes.values():
            sizes.setdefault(next(own), []).append(size)
        for i, (dimension, bound) in enumerate(layer.bounds.items()):
            fitting = sizes.get(dimension, [])
            result[k, i] = (
                min(bound, prod(fitting)) if tiles == ALL else widest_divisor(bound, fitting)
            )
    return result


def widest_divisor(bound: int, sizes: Sequence[int]) -> int:
    """Return the most instances on axes of these sizes whose numbers together divide a bound."""
    reached = {1}
    for size in sizes:
        reached = {n * f for n in reached for f in divisors(bound // n) if f <= size}
    return max(reached)
