"""The front of a network is what every choice of a mapping for every run of a layer leaves."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, count, product
from math import isclose
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilewright as tw
from enumeration import Enumeration, merged
from problems import problem
from tilewright.architecture.machine import Architecture
from tilewright.cli import main
from tilewright.errors import NoMappingError
from tilewright.mapper.network.front_of_network import NetworkFront
from tilewright.mapper.network.front_totals import Sums, added, repeated, thinned, undominated
from tilewright.mapper.network.layer_search import check_possible
from tilewright.workload.layer import Network

TELLING = (7, 17, 21, 22, 23)  # with fronts of several points
SEEDS = [*TELLING, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 100))]
POINTS = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=6)


def sums_of(points: list[tuple[float, float]], most: int = 10**6) -> Sums:
    energy, cycles = np.array(points, np.float64).T
    return thinned(undominated(Sums(energy, cycles, np.eye(len(points), dtype=np.int32))), most)


def pairs(sums: Sums) -> list[tuple[float, float]]:
    return list(zip(sums.energy.tolist(), sums.cycles.tolist(), strict=True))


def front_of(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the points that no other one equals or beats in both, by looking at all pairs."""
    kept = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    return sorted(kept, key=lambda p: p[1])


@given(POINTS, POINTS, st.integers(1, 4))
def test_sums_are_all_sums_that_none_beats(
    first: list[tuple[float, float]], second: list[tuple[float, float]], runs: int
) -> None:
    together = [(a[0] + b[0], a[1] + b[1]) for a in first for b in second]
    assert pairs(undominated(sums_of(first))) == front_of(first)
    assert pairs(added(paired(first), paired(second))) == front_of(together)
    several = [
        (sum(p[0] for p in choice), sum(p[1] for p in choice))
        for choice in combinations_with_replacement(first, runs)
    ]
    own = sums_of(first)
    found = repeated(own, runs)
    assert pairs(found) == front_of(several)
    assert (found.picks.sum(axis=1) == runs).all()
    values = np.array(first, np.float64)
    assert (found.picks @ values == np.column_stack([found.energy, found.cycles])).all()


def paired(points: list[tuple[float, float]]) -> Sums:
    """Return the sums of some points with picks of one width."""
    energy, cycles = np.array(points, np.float64).T
    return undominated(Sums(energy, cycles, np.zeros((len(points), 1), np.int32)))


@given(st.lists(POINTS, min_size=2, max_size=4), st.integers(2, 5))
def test_thinned_sums_stand_for_all(fronts: list[list[tuple[float, float]]], most: int) -> None:
    whole, few = paired(fronts[0]), thinned(paired(fronts[0]), most)
    for points in fronts[1:]:
        whole, few = added(whole, paired(points)), added(few, paired(points), most)
    assert len(few) <= most + 1
    assert set(pairs(few)) <= {
        (sum(p[0] for p in choice), sum(p[1] for p in choice)) for choice in product(*fronts)
    }
    for energy, cycles in pairs(whole):
        assert any(
            c <= cycles and e <= energy * (1 + few.tolerance) * (1 + 1e-12) for e, c in pairs(few)
        )


@cache
def tiny(seed: int) -> tuple[Network, Architecture]:
    """Return three layers, two of them alike, and a machine that runs them."""
    for start in count(1000 * seed):
        first, machine = problem(start, fewest=20, most=600)
        second, _ = problem(start + 1, fewest=20, most=600)
        layers = (
            replace(first, name="a", repeat=2), replace(second, name="b"), replace(first, name="c"),
        )  # fmt: skip
        slides = any(len(e) > 1 for layer in layers for e in layer.output.expressions)
        try:
            for layer in layers:
                check_possible(layer, machine)
        except NoMappingError:
            continue
        if not slides:
            return Network("tiny", layers), machine
    raise AssertionError


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_front_equals_enumeration_of_all_mappings_of_all_runs(seed: int) -> None:
    network, machine = tiny(seed)
    runs = [Enumeration(x, machine).front for x in network.layers for _ in range(x.repeat)]
    every = np.zeros((1, 2))
    for front in runs:
        both = (every[:, None, :] + front[None, :, :]).reshape(-1, 2)
        every = merged(np.zeros((0, 2)), both[:, 0], both[:, 1])
    found = tw.pareto(network, machine)
    assert isinstance(found, NetworkFront)
    assert found.optimal
    assert found.tolerance == 0
    assert len(found) == len(every)
    assert np.allclose(found.to_frame()[["energy_pj", "cycles"]].to_numpy(), every, rtol=1e-9)
    for point in found:
        assert [r.layer.name for r in point.layers] == sorted(r.layer.name for r in point.layers)
        assert sum(r.layer.repeat for r in point.layers) == len(runs)
        costs = [(r, tw.evaluate(r.layer, machine, r.mapping)) for r in point.layers]
        energy = sum(cost.energy_pj * r.layer.repeat for r, cost in costs)
        assert isclose(energy, point.energy_pj, rel_tol=1e-9)
        cycles = sum(cost.cycles * r.layer.repeat for r, cost in costs)
        assert isclose(cycles, point.cycles, rel_tol=1e-9)
    least = found[found.least()].edp_pj_cycles
    assert isclose(least, (every[:, 0] * every[:, 1]).min(), rel_tol=1e-9)
    assert least <= tw.map(network, machine, "edp", cache=False).edp_pj_cycles * (1 + 1e-9)


@cache
def small_front() -> NetworkFront:
    random = Random(3)
    layers = tuple(
        tw.matmul(name=f"layer{i}", M=random.choice([4, 8]), N=4, K=8, repeat=i + 1)
        for i in range(3)
    )
    found = tw.pareto(Network("net", layers), "simple")
    assert isinstance(found, NetworkFront)
    return found


def test_ends_of_the_front_are_the_optima_of_the_network() -> None:
    found = small_front()
    network = found.network
    least = tw.map(network, "simple", "energy", cache=False)
    fewest = tw.map(network, "simple", "latency", cache=False)
    assert isclose(found[0].energy_pj, least.energy_pj, rel_tol=1e-9)
    assert isclose(found[len(found) - 1].cycles, fewest.cycles, rel_tol=1e-9)


def test_limits_hold_for_totals() -> None:
    found = small_front()
    middle = found[len(found) // 2]
    part = tw.pareto(found.network, "simple", f"energy, latency<={middle.cycles!r}")
    assert [p.cycles for p in part] == [p.cycles for p in found if p.cycles <= middle.cycles]
    with pytest.raises(NoMappingError, match="fewest cycles are"):
        tw.pareto(found.network, "simple", "energy, latency<=1")


def test_front_is_a_table_and_json() -> None:
    found = small_front()
    assert "Proven" in found.text()
    assert len(found.rows()) == len(found) == len(found.to_frame())
    data = json.loads(found.to_json())
    assert len(data["points"]) == len(found)
    assert [len(part) for part in data["points"][0]["picks"]] == [len(f) for f in found.fronts]
    assert found._repr_html_()
    few = replace(found, sums=replace(found.sums, tolerance=1e-3))
    assert "less energy, as a share" in few.text()
    assert "Not proven" in replace(found, optimal=False).text()


def test_command_line_shows_the_front_of_a_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "net.yaml"
    file.write_text(
        "name: net\nlayers:\n"
        "  - {name: fc, op: fully_connected, N: 1, K: 8, C: 8}\n"
        "  - {name: fc2, op: fully_connected, N: 1, K: 4, C: 8, repeat: 2}\n"
    )
    out = tmp_path / "out.json"
    assert main(["map", str(file), "simple", "--pareto", "--json", str(out)]) == 0
    assert "net on simple, total energy against cycles" in capsys.readouterr().out
    assert json.loads(out.read_text())["optimal"]
