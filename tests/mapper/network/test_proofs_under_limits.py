"""What a limit of time leaves proven: of the space that was asked for, and never too much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import pytest

import tilewright as tw
from tilewright.mapper.network import layer_search
from tilewright.mapper.network import network as network_module
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.running import time_shares
from tilewright.mapper.network.running.progress import Lines
from tilewright.mapper.network.solved_layers import Searched, SolvedLayers
from tilewright.mapper.results.proof import UNTRIED
from tilewright.mapper.search.found import Found, better

# tile sizes that divide are far from the best
LAYERS = (tw.matmul(M=13, N=7, K=11, name="a"), tw.matmul(M=29, N=9, K=14, name="b"))
NETWORK = tw.Network("odd", LAYERS)


class Clock:
    """A clock on which every look takes one second."""

    def __init__(self) -> None:
        self.looks: Iterator[int] = count()

    def __call__(self) -> float:
        return float(next(self.looks))


def mapped(limit: float | None, tiles: str, objective: str) -> tw.NetworkResult:
    return tw.map(
        NETWORK, "simple", objective, time_limit=limit, tiles=tiles, workers=1, cache=False
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("tiles", ["divisors", "all"])
def test_nothing_is_called_proven_that_a_longer_search_betters(
    tiles: str, objective: str, monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    best = {each.layer.name: each.proof for each in mapped(None, tiles, objective).layers}
    seen = set()
    limits = [*range(1, 40, 2), *range(40, 400, 40), *range(400, 4000, 600)]
    for limit in limits if whole else limits[::3]:
        clock = Clock()
        for module in (network_module, layer_search, time_shares):
            monkeypatch.setattr(module, "perf_counter", clock)
        found = mapped(limit, tiles, objective)
        for each in found.layers:
            name, proof = each.layer.name, each.proof
            assert proof.tiles == tiles
            assert proof.lower_bound <= best[name].value * (1 + 1e-9), (limit, name)
            if proof.optimal:
                assert proof.value <= best[name].value * (1 + 1e-9), (limit, name)
                assert proof.reason == ""
            seen.add((proof.optimal, proof.reason))
        if not found.optimal:
            assert found.stopped
            assert "stopped at the time limit" in found.statement()
            assert "no mapping of the space has" not in found.statement()
    assert (True, "") in seen
    if tiles == "all":
        # the limits are such that some fall between the two searches
        assert (False, UNTRIED) in seen


@pytest.mark.long
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_the_proof_of_divisors_is_none_of_all_tile_sizes(objective: str) -> None:
    machine = tw.load_architecture("simple")
    solved = SolvedLayers(None, machine, objective, {"tiles": "all"}, "all")
    for layer in LAYERS:
        even = tw.map(layer, machine, objective, tiles="divisors", cache=False).layers[0]
        free = tw.map(layer, machine, objective, tiles="all", cache=False).layers[0]
        assert even.proof.optimal
        assert free.proof.value <= even.proof.value
        found = Found(even.mapping, even.proof.value, even.proof.value, finished=True)
        proof = solved.confirm(layer, Searched(found, 1.0, 0.0)).proof
        assert (proof.optimal, proof.tiles, proof.reason) == (False, "all", UNTRIED)
        assert 0 < proof.lower_bound <= free.proof.value
        assert proof.gap == 1 - proof.lower_bound / proof.value


def test_what_no_other_sizes_were_tried_of_is_not_kept(tmp_path: Path) -> None:
    machine, layer = tw.load_architecture("simple"), LAYERS[0]
    solved = SolvedLayers(Cache(tmp_path), machine, "edp", {"tiles": "all"}, "all")
    even = tw.map(layer, machine, "edp", tiles="divisors", cache=False).layers[0]
    found = Found(even.mapping, even.proof.value, even.proof.value, finished=True)
    solved.keep(layer, Searched(found, 1.0, 0.0))
    assert solved.find(layer) is None


def test_totals_are_of_the_layers_that_have_a_mapping() -> None:
    whole = mapped(None, "divisors", "edp")
    layers = (*LAYERS, tw.matmul(M=3, N=3, K=3, name="c", repeat=50))
    part = replace(whole, network=tw.Network("odd", layers), unmapped=layers[2:], stopped=True)
    *_, total = part.rows()
    assert total[:2] == ("total of 2 of 3 layers", "2")
    data = part.to_dict()["total"]
    assert (data["layers"], data["repeat"]) == (2, 2)
    assert data["energy_pj"] == sum(each.evaluation.energy_pj for each in whole.layers)
    assert data["value"] == sum(each.proof.value for each in whole.layers)
    assert "There is no mapping yet of c." in part.statement()


def test_what_other_layers_leave_of_the_time_goes_to_those_that_were_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual, given = layer_search.improved, []

    def improved(layer: tw.Layer, *rest: Any) -> Any:
        *others, stop = rest
        begin = perf_counter()
        while layer.name == "m7" and len(given) == 0 and not stop():
            sleep(0.01)
        if layer.name == "m7":
            given.append(perf_counter() - begin)
        return usual(layer, *others, stop)

    monkeypatch.setattr(layer_search, "improved", improved)
    layers = tuple(tw.matmul(M=m, N=3, K=5, name=f"m{m}") for m in range(3, 11))
    told: list[str] = []
    found = tw.map(
        tw.Network("net", layers), "simple", "edp", time_limit=4.0, workers=1, cache=False,
        progress=Lines(told.append),
    )  # fmt: skip
    assert len(given) == 2 and given[0] > 0.1
    assert found.optimal and not found.stopped
    assert sum("m7: " in line and "proven optimal" in line for line in told) == 1


def test_of_two_searches_the_better_mapping_and_the_higher_bound_count() -> None:
    first, second = tw.Mapping(()), tw.Mapping(())
    short = Found(first, value=100.0, bound=90.0)
    longer = Found(second, value=98.0, bound=80.0)
    both = better(short, longer)
    assert (both.mapping is second, both.value, both.bound, both.finished) == (True, 98, 90, False)
    settled = better(replace(short, bound=98.0), longer)
    assert settled.finished and settled.bound == settled.value == 98.0


def test_the_total_is_not_called_proven_where_it_is_not_what_is_minimised() -> None:
    for objective, last in (("energy", "yes"), ("latency", "yes"), ("edp", "")):
        found = mapped(None, "divisors", objective)
        *_, total = found.rows()
        assert total[-1] == last
        summed = sum(each.proof.value * each.layer.repeat for each in found.layers)
        said = f"The sum over all layers is minimised: {summed:.4e} pJ x cycles."
        assert (said in found.statement()) == (objective == "edp")
