"""Under constraints the search finds what trying every mapping that satisfies them finds."""

from __future__ import annotations

from itertools import count
from math import inf, isclose

import pytest

from constrained import ConstrainedEnumeration, constrained_problem
from tilewright.architecture.machine import Architecture
from tilewright.mapper.solve import Found, Search
from tilewright.mapping.validity import check
from tilewright.model import evaluate
from tilewright.workload.layer import Layer

OBJECTIVES = ("energy", "latency", "edp")
FEW, MANY = range(50), range(50, 600)
PATIENCE = 50_000


def search(layer: Layer, machine: Architecture, objective: str) -> Found:
    asked = count()
    found = Search(layer, machine, objective).solve(lambda: next(asked) > PATIENCE)
    assert found.finished
    return found


def same(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=1e-9) or a == b == inf


def compare(layer: Layer, machine: Architecture) -> bool:
    """Compare all objectives; return whether there is any mapping."""
    every = ConstrainedEnumeration(layer, machine)
    for objective in OBJECTIVES:
        found = search(layer, machine, objective)
        best = every.best[objective]
        assert same(found.value, best.value), f"{objective}: {found.mapping}, but best is {best}"
        if found.mapping is None:
            continue
        check(found.mapping, layer, machine)
        cost = evaluate(layer, machine, found.mapping)
        value = {"energy": cost.energy_pj, "latency": cost.cycles, "edp": cost.edp_pj_cycles}
        assert same(found.value, value[objective])
        if objective == "energy":
            assert same(cost.cycles, best.cycles), f"{found.mapping} ties with {best}"
        if objective == "latency":
            assert same(cost.energy_pj, best.energy_pj), f"{found.mapping} ties with {best}"
    return every.best["energy"].mapping is not None


@pytest.mark.parametrize("seed", FEW)
def test_constrained_search_equals_enumeration(seed: int) -> None:
    compare(*constrained_problem(seed, most=20_000))


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_constrained_search_equals_enumeration_on_many_problems(seed: int) -> None:
    compare(*constrained_problem(seed))
