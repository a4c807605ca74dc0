"""Layers with very many tile sizes keep to a time limit and to memory, and get a mapping."""

from __future__ import annotations

import pytest

import tilewright as tw
from tilewright.architecture.constraints.files import parse_text
from tilewright.mapper.search import vast_layers as vast
from tilewright.mapper.search.questions import feasibility
from tilewright.mapper.search.questions.infeasibility import check_feasible
from tilewright.mapper.search.search import Search
from tilewright.mapper.search.vast_layers import found_greedily, is_vast
from tilewright.mapping import under
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate

VAST = tw.matmul(M=55440, N=55440, K=55440)  # 120 divisors each


@pytest.mark.long
def test_a_vast_layer_gets_a_mapping_that_uses_the_array() -> None:
    machine = tw.load_architecture("simple")
    assert is_vast(VAST)
    found = found_greedily(VAST, machine, "edp", lambda: False)
    assert found.mapping is not None
    cost = evaluate(VAST, machine, found.mapping)
    assert cost.edp_pj_cycles == pytest.approx(found.value)
    assert 0.0 < found.bound < found.value < 10 * found.bound
    assert cost.utilization > 0.5
    assert not found.finished


@pytest.mark.long
def test_a_vast_layer_is_mapped_without_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    def tables(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(Search, "__init__", tables)
    for tiles in ("divisors", "all"):
        result = tw.map(VAST, "simple", "edp", tiles=tiles, time_limit=2, cache=False)
        assert result.layers[0].proof.gap < 0.95
        assert tiles == "all" or not result.optimal


def test_the_bound_is_below_the_optimum(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    machine = tw.load_architecture("simple")
    monkeypatch.setattr(vast, "MOST_SHAPES", 10)
    monkeypatch.setattr(vast, "STARTS", 2)
    layer = tw.conv1d(K=4, C=2, P=6, R=3)
    assert is_vast(layer)
    for objective in ("energy", "latency", "edp") if whole else ("edp",):
        best = Search(layer, machine, objective).solve()
        found = found_greedily(layer, machine, objective, lambda: False)
        assert found.bound <= best.value <= found.value


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "given", ["GLB.even=true", "PE.min_utilization=0.5", "GLB.tile.N=..1001", "DRAM.order=M,N"]
)
def test_a_vast_layer_is_mapped_under_constraints_without_tables(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tables(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(feasibility, "Search", tables)
    machine = under(tw.load_architecture("simple"), parse_text(given))
    check_feasible(VAST, machine)
    found = found_greedily(VAST, machine, "edp", lambda: False)
    assert found.mapping is not None
    check(found.mapping, VAST, machine)
