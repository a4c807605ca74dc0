"""What a value is worth is the best of all designs that have it, found by solving all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.exploration.test_explore import MATMUL, NETWORK, every_design, small_space

from tilewright import evaluate
from tilewright.errors import InputError
from tilewright.exploration import explore


@pytest.mark.long
@pytest.mark.parametrize("limits", ["", "area: 0.08 mm2"])
def test_each_value_has_the_best_of_all_designs_with_it(limits: str) -> None:
    space = small_space(limits)
    found = explore(MATMUL, space, axes=["energy", "area"], worth="latency")
    solved = every_design(space, MATMUL, "energy")
    limit = space.limits.get("area", float("inf"))
    assert found.worth is not None and found.worth[0] == "latency"
    for each in found.worth[1]:
        own = [
            values["latency"]
            for index, values in solved.items()
            if space.values(index)[each.parameter] == each.value and values["area"] <= limit
        ]
        assert each.proven
        if each.point is None:
            assert not own
        else:
            assert each.point.metrics["latency"] == pytest.approx(min(own))
            assert space.values(each.point.index) == each.point.parameters
            assert each.point.parameters[each.parameter] == each.value
    assert "Least latency with each value" in found.text()
    assert json.loads(found.to_json())["worth"]["axis"] == "latency"


def test_mappings_of_the_front_cost_what_it_says(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    space = small_space("")
    for searches in (True, False):
        found = explore(NETWORK, space, axes=["energy", "area"], store=store)
        assert bool(found.certificate.searches) is searches
        for place, point in enumerate(found.front):
            machine, own = found.architecture(place), found.mappings(place)
            energy = sum(
                layer.repeat * evaluate(layer, machine, own[layer.name]).energy_pj
                for layer in NETWORK.layers
            )
            assert energy == pytest.approx(point.metrics["energy"])


def test_a_strategy_values_nothing() -> None:
    with pytest.raises(InputError, match="means nothing with a strategy"):
        explore(MATMUL, small_space(""), strategy="random", worth="energy")
