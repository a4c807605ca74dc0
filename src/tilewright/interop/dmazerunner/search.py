"""The best execution method of a space, proven by bounds."""

from __future__ import annotations

from math import inf, isclose

import numpy as np

from tilewright.errors import InputError, nearest
from tilewright.interop.dmazerunner.best_method import best_method
from tilewright.interop.dmazerunner.bounds import array_bounds, tile_bounds
from tilewright.interop.dmazerunner.counting import check_covered, count_method
from tilewright.interop.dmazerunner.method import Loops, Method, mapping_of
from tilewright.interop.dmazerunner.method_cost import CYCLES, EDP, ENERGY
from tilewright.interop.dmazerunner.orderings import Ordering, covering_orderings
from tilewright.interop.dmazerunner.result import MethodCost
from tilewright.interop.dmazerunner.space import Space
from tilewright.interop.dmazerunner.tables import tables
from tilewright.kernels.types import Floats, Ints

GOALS = {"edp": EDP, "cycles": CYCLES, "energy": ENERGY}


def goal_of(name: str) -> int:
    """Return the number that the kernels have for what is minimised."""
    if name not in GOALS:
        accepted = ", ".join(GOALS)
        raise InputError(
            f"cannot minimise '{name}'; accepted: {accepted}{nearest(name, GOALS)}", key="best"
        )
    return GOALS[name]


def best_of(space: Space, goal: str = "edp") -> MethodCost | None:
    """Return the best execution method of a space by dMazeRunner's model; None when it is empty.

    The tiles of the array are looked at in the order of a lower bound, until this exceeds the best
    value found: nothing that is left can be better. Between equals the other one of energy and
    cycles decides (the energy, for the energy-delay product).

    Parameters
    ----------
    space : Space
        Its tilings; orderings are those of unique reuse.
    goal : str
        ``"edp"``, ``"cycles"`` or ``"energy"``.
    """
    number = goal_of(goal)
    check_covered(space.layer, space.machine)
    t = tables(space)
    outer_energy, outer_cycles = tile_bounds(t)
    least_energy, least_cycles = (least_above(space, own) for own in (outer_energy, outer_cycles))
    bounds = array_bounds(t, number, least_energy, least_cycles)
    order = np.argsort(bounds, kind="stable")
    order = order[: int(np.isfinite(bounds).sum())]
    energy, cycles, found, _ = best_method(
        t, number, order, bounds, outer_energy, outer_cycles, least_energy, least_cycles
    )
    if energy == inf:
        return None
    mapping = mapping_of(method_at(space, found), space.layer, space.machine)
    cost = count_method(space.layer, space.machine, mapping)
    # the kernel adds up in another order; beyond rounding, a difference is an error
    assert isclose(cost.energy_pj, energy, rel_tol=1e-12, abs_tol=1), (cost.energy_pj, energy)
    assert isclose(cost.cycles, cycles, rel_tol=1e-12, abs_tol=1), (cost.cycles, cycles)
    return cost


def least_above(space: Space, costs: Floats) -> Floats:
    """Return for each shape the least cost of the shapes that it divides."""
    least = costs.reshape(tuple(space.tiles.sizes.tolist()))
    for axis, values in enumerate(space.divisors):
        rows = np.moveaxis(least, axis, 0)
        rows = np.stack([rows[values % value == 0].min(axis=0) for value in values])
        least = np.moveaxis(rows, 0, axis)
    return np.ascontiguousarray(least).reshape(-1)


def method_at(space: Space, found: Ints) -> Method:
    """Return the execution method with these tiles and orderings."""
    registers, spatial, buffer = space.shapes[found[:3]]
    orderings = covering_orderings(space.layer)
    names = space.tiles.dimensions
    bounds = space.shapes[space.tiles.top]

    def loops(ordering: Ordering, counts: Ints) -> Loops:
        trips = dict(zip(names, counts.tolist(), strict=True))
        return tuple((d, trips[d]) for d in ordering if trips[d] > 1)

    def every(counts: Ints) -> dict[str, int]:
        return dict.fromkeys(space.layer.dimensions, 1) | dict(
            zip(names, counts.tolist(), strict=True)
        )

    return Method(
        loops(orderings[found[4]], bounds // buffer),
        loops(orderings[found[3]], buffer // (registers * spatial)),
        every(spatial),
        every(registers),
    )
