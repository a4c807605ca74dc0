"""What the tables of a bypass choice leave out is not below the ceiling they were filled for."""

from __future__ import annotations

from copy import copy
from itertools import product
from math import inf, prod

import pytest

from problems import problem
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.kinds import afresh, spatial_sets, unrolled
from tilewright.mapper.labels import objective_value
from tilewright.mapper.lattice import divisors, lattice
from tilewright.mapper.objective import parse_objective
from tilewright.mapper.problem import array_choices
from tilewright.mapper.solve import Search
from tilewright.workload.einsum import einsum


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_tables_below_a_ceiling_know_as_much_as_all_below_it(seed: int, objective: str) -> None:
    search = Search(*problem(seed), objective)
    for plan in list(search.plans())[:3]:
        plan.energy, plan.cycles = search.bound(plan)
        whole = copy(plan)
        search.prepare(whole, inf)
        bound = whole.bound[0]
        if not 0 < bound < inf:
            continue
        for factor in (0.5, 0.99, 1.01, 2.0):
            part = copy(plan)
            search.prepare(part, bound * factor)
            reached = part.bound[0] / bound
            if factor < 1:
                assert reached == pytest.approx(factor)
                assert not part.known
            else:  # fewer shapes and spatial choices count, the bound may rise
                assert 1 - 1e-9 <= reached <= factor * (1 + 1e-9)


def test_spatial_choices_are_all_that_fit_the_axes_each_once() -> None:
    layer = einsum("O[K,P] += I[C,P] * W[K,C]", K=12, C=8, P=3)
    array = Array("PE", {"X": 4, "Y": 6})
    machine = Architecture("small", (Memory("DRAM", 16), array, Compute("MAC")))
    tiles = lattice(layer)
    bounds = [layer.bounds[d] for d in tiles.dimensions]
    along = [
        {v for v in product(*map(divisors, bounds)) if prod(v) <= size}
        for size in array.axes.values()
    ]
    together = {tuple(a * b for a, b in zip(*pair, strict=True)) for pair in product(*along)}
    expected = {v for v in together if all(b % f == 0 for b, f in zip(bounds, v, strict=True))}
    names, digits = array_choices(layer, tiles, machine, array)
    found = [tuple(int(tiles.values[i, digit]) for i, digit in enumerate(row)) for row in digits]
    assert found == sorted(expected, key=lambda v: (-prod(v), v))
    for unrolling, vector in zip(names, found, strict=True):
        for axis, size in array.axes.items():
            assert prod(f for on, _, f in unrolling.factors if on == axis) <= size
        for d, factor in zip(tiles.dimensions, vector, strict=True):
            assert prod(f for _, of, f in unrolling.factors if of == d) == factor


def test_searches_of_some_spatial_choices_forget_what_others_reuse() -> None:
    layer = einsum("O[K,P,Q] += I[C,P+R,Q+S] * W[K,C,R,S]", K=4, C=2, P=6, Q=6, R=3, S=3)
    machine = Architecture(
        "small",
        (
            Memory("DRAM", 16, read_energy=200.0, write_energy=200.0),
            Memory("GLB", 16, 96 * 16, read_energy=6.0, write_energy=6.0),
            Array("PE", {"X": 6, "Y": 4}),
            Memory("RF", 16, 12 * 16, read_energy=1.0, write_energy=1.0),
            Compute("MAC", 1.0),
        ),
    )
    objective = parse_objective("energy")
    used = Search(layer, machine, "energy")
    used.solve()
    allowed = [[one for one in spatial_sets(used) if "P" in one]]
    counts = []
    for search in (used, Search(layer, machine, "energy")):
        part = unrolled(search, allowed)
        assert part is not None
        found = afresh(part, objective, inf).solve()
        counts.append((found.value, found.labels))
    assert counts[0] == counts[1]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_no_mapping_of_a_bypass_choice_undercuts_its_first_bound(seed: int, objective: str) -> None:
    layer, machine = problem(seed)
    search = Search(layer, machine, objective)
    for first in search.first(search.keeps())[:4]:
        bound, _ = objective_value(search.goal, first.energy, first.cycles)
        alone = Search(layer, machine, objective)
        assert bound <= alone.solve(plans=alone.plans([first.keep])).value * (1 + 1e-9)
