"""What the links inside an array cost together: a bound that no mapping undercuts."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import pytest

import problems
from tilewright.architecture.machine import Architecture, Array
from tilewright.mapper.bounds.inside_array import worth_solving
from tilewright.mapper.search.search import Search


def deep_problem(seed: int) -> tuple[object, Architecture] | None:
    """Return a random problem with memories below an array that cost something together."""
    random = Random(seed)
    layer, machine = problems.layer(random), problems.machine(random)
    machine = replace(
        machine,
        levels=tuple(
            replace(level, forwarding=False) if isinstance(level, Array) else level
            for level in machine.levels
        ),
    )
    deep = any(worth_solving(machine, k) for k in range(len(machine.arrays)))
    return (layer, machine) if deep else None


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("seed", range(150))
def test_bounds_are_never_above_the_best_mapping_of_a_bypass_choice(
    seed: int, objective: str
) -> None:
    drawn = deep_problem(seed)
    if drawn is None:
        return
    layer, machine = drawn
    bounded = Search(layer, machine, objective)
    plain = Search(layer, machine, objective)
    plain.within = {}
    for keep in bounded.keeps()[:: 1 + len(bounded.keeps()) // 12]:
        plain.begin_anew()
        best = plain.solve(plans=[plain.plan(keep)]).value
        for whole in (True, False):
            plan = bounded.plan(keep, whole)
            for jointly in (False, True):
                plan.known = jointly
                bounded.prepare(plan, inf)
            assert plan.bound[0] <= best * (1 + 1e-9), (keep, whole)


@pytest.mark.parametrize("seed", range(150))
def test_optima_are_the_same_without_them(seed: int) -> None:
    drawn = deep_problem(seed)
    if drawn is None:
        return
    bounded, plain = Search(*drawn, "edp"), Search(*drawn, "edp")
    plain.within = {}
    mine, theirs = bounded.solve(), plain.solve()
    assert mine.finished and theirs.finished
    assert mine.value == pytest.approx(theirs.value, rel=1e-9)
