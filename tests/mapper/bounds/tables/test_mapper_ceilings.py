"""What the tables of a bypass choice leave out is not below the ceiling they were filled for."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from itertools import product
from math import inf, prod

import numpy as np
import pytest

from problems import problem
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.bounds.completion import least_of_roots
from tilewright.mapper.bounds.root import least_alone
from tilewright.mapper.bounds.tables.above_array import NOTHING
from tilewright.mapper.bounds.tables.choice_tables import outer_bounds
from tilewright.mapper.bounds.tables.screening import screening_bound
from tilewright.mapper.label.labels import objective_value
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.lattice import divisors, lattice
from tilewright.mapper.problem.link_costs import ports
from tilewright.mapper.problem.space import array_choices
from tilewright.mapper.search.questions.restricted import afresh, spatial_sets, unrolled
from tilewright.mapper.search.search import Search
from tilewright.workload.einsum import einsum


@pytest.mark.sampled(14)
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


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(30))
def test_steps_that_the_way_to_an_array_leaves_out_cost_too_much(seed: int) -> None:
    search = Search(*problem(seed), "energy")
    tables, sp = search.tables, search.space
    for plan in list(search.plans())[:3]:
        plan.energy, plan.cycles = search.bound(plan)
        search.prepare(plan, inf)
        if not 0 < plan.bound[0] < inf:
            continue
        screening = screening_bound(
            sp, plan.lk, plan.parts[0].stage_count, tables.slides.least, tables.fitting,
            tables.energy, 1.1 * plan.bound[0],
        )  # fmt: skip
        nothing = replace(screening, spent=np.full_like(screening.spent, -inf))
        some, every = (
            outer_bounds(sp, plan.lk, plan.parts[0], tables.slides, each)
            for each in (screening, nothing)
        )
        assert (some.row == every.row).all()
        for shape, stage in np.argwhere(every.row >= 0).tolist():
            row, left = every.row[shape, stage], screening.most - screening.spent[stage, shape]
            kept, steps = (
                [
                    (outer.bits[i], outer.cost[i])
                    for begin in [outer.begin[row, -1]]
                    for i in range(begin, begin + outer.length[row, -1])
                ]
                for outer in (some, every)
            )
            assert kept == [step for step in steps if step[1] < left]


@pytest.mark.parametrize("seed", range(12))
def test_first_bounds_are_those_of_the_whole_nest_without_tables(seed: int) -> None:
    search = Search(*problem(seed), "edp")
    sp, na = search.space, search.na
    it, fl = search.roots(np.array([search.tiles.top]))
    above = [port[4] for port in ports(search.architecture)]
    for plan in search.plans():
        alone = [
            least_alone(search.chains[stored], t, sp, above)
            for t, stored in enumerate(enumerate(plan.keep))
        ]
        energy = search.operations_energy() + sum(costs[0] for costs in alone)
        loads = np.sum(alone, axis=0)[1:]
        least = plan.lk.cycles * sp.operations / search.spread_left[0]
        cycles = max([least, *loads])
        # an empty table bounds what crosses an array by nothing
        assert na == 0 or not plan.lk.table.any()
        expected = least_of_roots(
            sp, plan.lk, NOTHING, search.part(plan, 0), it, fl,
            np.empty(len(search.layer.tensors)),
        )  # fmt: skip
        assert (energy + plan.lk.leakage * cycles, cycles) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(8))
def test_first_bounds_are_not_above_the_best_mapping_of_a_bypass_choice(seed: int) -> None:
    search = Search(*problem(seed), "energy")
    keeps = search.keeps()[:6]
    for first in search.first(keeps):
        part = afresh(search, parse_objective("energy"), inf)
        best = part.solve(plans=part.plans([first.keep])).value
        assert first.energy <= best * (1 + 1e-9)


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


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_no_mapping_of_a_bypass_choice_undercuts_its_first_bound(seed: int, objective: str) -> None:
    layer, machine = problem(seed)
    search = Search(layer, machine, objective)
    for first in search.first(search.keeps())[:4]:
        bound, _ = objective_value(search.goal, first.energy, first.cycles)
        alone = Search(layer, machine, objective)
        assert bound <= alone.solve(plans=alone.plans([first.keep])).value * (1 + 1e-9)
