"""The search finds the energy optima that an exact program of another kind proved."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tilewright.architecture import Architecture, Memory, parse_architecture
from tilewright.document import Document
from tilewright.mapper.search.search import Search
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate
from tilewright.workload import Layer, einsum

OPTIMA = json.loads((Path(__file__).parents[2] / "data" / "optima.json").read_text())
Case = dict[str, Any]


def title(case: Case) -> str:
    return f"{case['name']}-{case['variant']}-{case['objective']}"


@cache
def simple() -> Architecture:
    return parse_architecture(Document(OPTIMA["architecture"], "optima.json"))


def problem(case: Case) -> tuple[Layer, Architecture]:
    """Return the layer of a case, and the machine with what it must keep."""
    machine = simple()
    kept = {name: frozenset(roles) for name, roles in case["must_keep"].items()}
    levels = tuple(
        replace(level, must_keep=kept.get(level.name, frozenset()))
        if isinstance(level, Memory)
        else level
        for level in machine.levels
    )
    layer = einsum(case["layer"]["einsum"], name=case["name"], **case["layer"]["bounds"])
    return layer, replace(machine, levels=levels)


@pytest.mark.parametrize("case", OPTIMA["cases"], ids=title)
def test_search_finds_the_proven_optimum(case: Case) -> None:
    layer, machine = problem(case)
    found = Search(layer, machine, case["objective"]).solve()
    assert found.finished
    assert found.mapping is not None
    check(found.mapping, layer, machine)
    cost = evaluate(layer, machine, found.mapping)
    assert cost.energy_pj == case["energy_pj"]
    if case["objective"] == "edp":
        assert found.value == cost.edp_pj_cycles == case["edp_pj_cycles"]
    else:
        assert found.value == cost.energy_pj
