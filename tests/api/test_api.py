"""The Python API: what goes in by name, by file or as objects, and what results say."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event
from time import perf_counter

import pytest

import tilewright as tw
from tilewright.mapper.network import layer_search
from tilewright.mapper.network.network import weights
from tilewright.mapper.network.running import time_shares
from tilewright.mapper.network.running.progress import Progress
from tilewright.mapper.network.running.time_shares import Budget
from tilewright.mapper.search.confirmed import DisagreementError
from tilewright.mapper.search.found import Found
from tilewright.mapper.search.search import Search

LAYER = tw.matmul(name="a", M=8, N=4, K=6)
TWIN = replace(LAYER, name="b", repeat=3)
OTHER = tw.conv2d(name="c", K=4, C=2, P=3, Q=3, R=3, S=3)
NETWORK = tw.Network("net", (LAYER, TWIN, OTHER))
NODES = [{"store": "DRAM"}, {"for": "M", "tile": 2}, {"store": "GLB"}, {"store": "RF"}]
WORKLOAD = "{name: a, op: matmul, M: 8, N: 4, K: 6}\n"


class Recorder(Progress):
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[tuple[str, float, float, bool]] = []

    def started(self, layer: tw.Layer) -> None:
        self.begun.append(layer.name)

    def done(self, layer: tw.Layer, best: float, bound: float, proven: bool) -> None:
        self.ended.append((layer.name, best, bound, proven))


@pytest.fixture(scope="module")
def result() -> tw.NetworkResult:
    return tw.map(NETWORK, "simple", "edp", tiles="divisors")


def search_that(finds: Callable[[Found, Callable[[], bool]], Found]) -> type:
    """A search that tells something else than what it has found."""

    class Told(Search):
        def solve(
            self, stop: Callable[[], bool], progress: Callable[[float, float], None]
        ) -> Found:
            return finds(super().solve(), stop)

    return Told


def test_importing_the_package_imports_nothing_heavy() -> None:
    heavy = "{'numba', 'numpy', 'pandas', 'plotly', 'rich', 'ruamel', 'pydantic'}"
    for module in ("tilewright", "tilewright.cli"):
        code = f"import sys, {module}; print({heavy} & set(sys.modules) - {{'rich'}})"
        shown = subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONPATH": str(Path(tw.__file__).parents[1])},
            capture_output=True,
            check=True,
        )
        assert shown.stdout.split() == [b"set()"], module


def test_every_name_of_the_stub_is_public() -> None:
    stub = ast.parse(Path(tw.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    listed = [
        (alias.asname, node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert len(listed) > 90
    assert dict(listed) == tw.HOMES
    assert set(tw.__all__) == {*dict(listed), "__version__"}


def test_every_public_name_is_there() -> None:
    assert set(tw.__all__) <= set(dir(tw))
    for name in tw.__all__:
        assert getattr(tw, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'mapp'"):
        _ = tw.mapp


def test_names_files_and_objects_mean_the_same(tmp_path: Path) -> None:
    (tmp_path / "layer.yaml").write_text(WORKLOAD)
    (tmp_path / "mapping.json").write_text(json.dumps(NODES))
    machine = tw.load_architecture("simple")
    mapping = tw.load_mapping(tmp_path / "mapping.json", LAYER, machine)
    by_object = tw.evaluate(LAYER, machine, mapping)
    assert tw.evaluate(tmp_path / "layer.yaml", "simple", tmp_path / "mapping.json") == by_object
    assert tw.evaluate(NETWORK, "simple", NODES, layer="a") == by_object
    assert tw.evaluate(LAYER, "simple", {"mapping": NODES}) == by_object


def test_a_mapping_is_read_from_the_loop_nest_that_people_see(tmp_path: Path) -> None:
    from tilewright.mapping import mapping_text

    shown = tw.evaluate(LAYER, "simple", NODES)
    path = tmp_path / "nest.txt"
    path.write_text(mapping_text(shown.mapping, LAYER, shown.architecture))
    assert tw.evaluate(LAYER, "simple", path) == shown


def test_simulation_evaluates_to_the_same() -> None:
    assert tw.simulate(LAYER, "simple", NODES) == tw.evaluate(LAYER, "simple", NODES)


def test_a_layer_has_to_be_named_where_there_are_several() -> None:
    with pytest.raises(tw.InputError, match="has 3 layers; name one of them: a, b, c"):
        tw.evaluate(NETWORK, "simple", NODES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"workload": 3},
            "workload: expected a name, a path, a Layer, a Network, a module or an exported "
            "program, found 3",
        ),
        ({"architecture": None}, "architecture: .* found nothing"),
        ({"objective": "power"}, "objective: .* accepted: energy, latency, edp"),
        ({"objective": "EDP"}, "did you mean 'edp'"),
        ({"time_limit": -1}, "time_limit: expected a number of seconds greater than 0"),
        ({"time_limit": "1"}, "time_limit: .* found '1'"),
        ({"workers": 0}, "workers: expected a whole number of at least 1"),
        ({"layer": "z"}, "no layer 'z'"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused(
    arguments: dict[str, object], message: str
) -> None:
    usual = {"workload": NETWORK, "architecture": "simple"}
    with pytest.raises(tw.InputError, match=message):
        tw.map(**usual | arguments)


def test_the_value_of_a_mapping_is_what_evaluate_gives_it(result: tw.NetworkResult) -> None:
    for found in result.layers:
        again = tw.evaluate(found.layer, "simple", found.mapping)
        assert found.evaluation == again
        assert found.proof.value == found.proof.lower_bound == again.edp_pj_cycles
        assert found.proof.optimal
        assert found.proof.gap == 0
        assert found.proof.mappings_in_space > 1
    assert result.optimal


def test_totals_count_repeats(result: tw.NetworkResult) -> None:
    a, b, c = (found.evaluation for found in result.layers)
    assert result.energy_pj == pytest.approx(a.energy_pj + 3 * b.energy_pj + c.energy_pj)
    assert result.cycles == a.cycles + 3 * b.cycles + c.cycles
    assert result.edp_pj_cycles == result.energy_pj * result.cycles
    assert result.operations == NETWORK.operations
    assert result.utilization == pytest.approx(result.operations / (256 * result.cycles))
    assert result.value == pytest.approx(
        a.edp_pj_cycles + 3 * b.edp_pj_cycles + c.edp_pj_cycles, rel=1e-12
    )


def test_equal_layers_are_searched_once(result: tw.NetworkResult) -> None:
    recorder = Recorder()
    again = tw.map(NETWORK, "simple", "edp", progress=recorder, tiles="divisors")
    assert sorted(recorder.begun) == ["a", "c"]
    assert sorted(name for name, *_ in recorder.ended) == ["a", "c"]
    assert [found.layer for found in again.layers] == [LAYER, TWIN, OTHER]
    assert again.layers[0].mapping == again.layers[1].mapping
    assert again["b"].layer.repeat == 3
    with pytest.raises(KeyError):
        _ = again["z"]


def test_layers_that_differ_in_more_than_the_name_are_searched_apart() -> None:
    wide = replace(LAYER, tensors=tuple(replace(t, bits=32) for t in LAYER.tensors))
    sparse = replace(LAYER, tensors=tuple(replace(t, density=0.5) for t in LAYER.tensors))
    recorder = Recorder()
    layers = tuple(replace(x, name=f"{i}") for i, x in enumerate((LAYER, wide, sparse)))
    tw.map(tw.Network("net", layers), "simple", progress=recorder, tiles="divisors")
    assert sorted(recorder.begun) == ["0", "1", "2"]


def test_the_result_does_not_depend_on_the_number_of_workers(result: tw.NetworkResult) -> None:
    for workers in (1, 3):
        again = tw.map(NETWORK, "simple", "edp", workers=workers, tiles="divisors")
        assert [f.mapping for f in again.layers] == [f.mapping for f in result.layers]
        assert [f.proof.value for f in again.layers] == [f.proof.value for f in result.layers]


def test_a_search_that_stops_early_gives_its_bound_and_gap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def halfway(found: Found, stop: Callable[[], bool]) -> Found:
        return replace(found, bound=found.value * 0.75, finished=False)

    monkeypatch.setattr(layer_search, "Search", search_that(halfway))
    result = tw.map(LAYER, "simple", time_limit=60, tiles="divisors")
    (found,) = result.layers
    assert not found.proof.optimal
    assert not result.optimal
    assert found.proof.gap == pytest.approx(0.25)
    assert found.proof.lower_bound == pytest.approx(0.75 * found.proof.value)
    assert "No mapping of the space can be more than 25.0% better" in result.statement()


def test_layers_without_any_mapping_in_time_are_listed() -> None:
    result = tw.map(NETWORK, "simple", time_limit=1e-9, tiles="divisors")
    assert result.layers == ()
    assert result.unmapped == NETWORK.layers
    assert not result.optimal
    assert result.energy_pj == 0
    assert "There is no mapping yet of a, b, c" in result.text()
    assert result.to_dict()["unmapped"] == ["a", "b", "c"]


def test_a_layer_whose_time_is_over_too_soon_has_some_mapping() -> None:
    machine = tw.load_architecture("simple")

    def searched(hurried: bool) -> Found:
        over = layer_search.search(LAYER, machine, "edp", lambda: True, Progress(), hurried)
        assert not over.found.finished
        return over.found

    assert searched(False).mapping is None
    found = searched(True)
    assert found.mapping is not None
    cost = tw.evaluate(LAYER, machine, found.mapping)
    assert found.value == pytest.approx(cost.energy_pj * cost.cycles)
    assert found.bound <= tw.map(LAYER, machine, "edp", cache=False).layers[0].proof.lower_bound


def test_a_time_limit_that_is_not_reached_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.mapper.search import search as solve

    def unused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(solve, "greedy_mapping", unused)
    assert tw.map(NETWORK, "simple", "edp", time_limit=60, cache=False, tiles="divisors").optimal


def test_a_layer_that_ended_too_soon_has_what_others_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[float] = []
    searches = count()

    def too_soon(found: Found, stop: Callable[[], bool]) -> Found:
        ends.append(found.value)
        if len(ends) == 1:
            return replace(found, bound=found.value * 0.75, finished=False)
        return found

    def shares(_: Budget, *__: float) -> tuple[Callable[[], bool], Callable[[], bool]]:
        first = next(searches) == 0
        return (lambda: first and len(ends) == 1,) * 2

    monkeypatch.setattr(layer_search, "Search", search_that(too_soon))
    monkeypatch.setattr(Budget, "shares", shares)
    watch = Recorder()
    options = {"tiles": "divisors", "workers": 1, "progress": watch}
    assert tw.map(NETWORK, "simple", time_limit=60, cache=False, **options).optimal
    assert len(ends) == 3
    assert ends[2] == ends[0]
    assert [name for name, *_ in watch.ended] == [watch.begun[1], watch.begun[0]]


def test_time_is_shared_among_the_layers_that_wait() -> None:
    def expired(seconds: float, waiting: int, workers: int) -> bool:
        return Budget(perf_counter() + seconds, waiting, workers).take()()

    assert not expired(60, 4, 2)
    assert expired(-1, 4, 2)
    budget = Budget(perf_counter() + 60, 4, 2)
    searches = [budget.take() for _ in range(4)]
    assert not any(stop() for stop in searches)
    budget.halted.set()
    assert all(stop() for stop in searches)


def test_half_of_the_time_is_shared_by_operations() -> None:
    small, large = tw.matmul(M=2, N=2, K=2), tw.matmul(M=4, N=4, K=8)
    shares = weights([small, large, replace(small, repeat=7)], [small, large])
    assert list(shares.values()) == [0.5 + 0.5 * 64 / 96, 0.5 + 0.5 * 128 / 96]
    budget = Budget(perf_counter() + 1000, 2, 1)
    _, first = budget.shares(0.5)
    assert not first()
    assert budget.waiting == 1.5


def test_ctrl_c_ends_the_search_with_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    def until_stopped(found: Found, stop: Callable[[], bool]) -> Found:
        while not stop():
            pass
        return replace(found, bound=0.0, finished=False)

    class Starting(Recorder):
        def __init__(self) -> None:
            super().__init__()
            self.first = Event()
            self.told_to_stop = False

        def started(self, layer: tw.Layer) -> None:
            super().started(layer)
            self.first.set()

        def stopping(self) -> None:
            self.told_to_stop = True

    recorder = Starting()

    def interrupted(*_: object) -> None:
        recorder.first.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(layer_search, "Search", search_that(until_stopped))
    monkeypatch.setattr(time_shares, "wait", interrupted)
    result = tw.map(NETWORK, "simple", workers=1, progress=recorder, tiles="divisors")
    assert recorder.told_to_stop
    assert result.interrupted
    assert not result.optimal
    assert recorder.begun == ["c"]
    (found,) = result.layers
    assert found.layer == OTHER
    assert found.proof.gap == 1
    assert result.unmapped == (LAYER, TWIN)


def test_a_search_that_disagrees_with_the_model_is_an_internal_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(found: Found, stop: Callable[[], bool]) -> Found:
        return replace(found, value=found.value * (1 + 1e-8))

    monkeypatch.setattr(layer_search, "Search", search_that(wrong))
    with pytest.raises(
        DisagreementError, match="internal error: for layer 'a' on 'simple'"
    ) as error:
        tw.map(LAYER, "simple")
    assert error.value.exit_status == 1
    assert isinstance(error.value, RuntimeError)


def test_what_neighbours_forward_is_not_read() -> None:
    machine = tw.load_architecture("shidiannao")
    free = replace(machine.arrays[0], hop_energy=0.0)
    dear = replace(machine.memories[1], read_energy=60.0)
    swapped = {free.name: free, dear.name: dear}
    machine = replace(machine, levels=tuple(swapped.get(x.name, x) for x in machine.levels))
    layer = tw.conv2d(K=2, C=2, P=8, Q=8, R=3, S=3)
    nodes = [
        {"store": "DRAM"},
        {"store": "BUFFERS"},
        {"for": "K", "tile": 1},
        {"for": "C", "tile": 1},
        {"spatial": "P", "tile": 1, "axis": "Y"},
        {"spatial": "Q", "tile": 1, "axis": "X"},
        {"store": "REG", "tensors": ["O"]},
        {"for": "R", "tile": 1},
        {"for": "S", "tile": 1},
        {"store": "REG", "tensors": ["I"]},
    ]
    given = tw.evaluate(layer, machine, nodes).energy_pj
    result = tw.map(layer, machine, tiles="divisors", cache=False)
    (found,) = result.layers
    least = layer.operations * machine.compute.energy
    assert least < found.proof.lower_bound <= given
    assert found.proof.lower_bound <= found.proof.value
    assert found.proof.optimal or "neighbours forward words" in result.statement()
    asked = count()
    stopped = Search(layer, machine, "energy").solve(lambda: next(asked) > 20)
    assert 0.0 < stopped.bound <= found.proof.value


def test_a_layer_that_no_mapping_can_run_names_the_memory() -> None:
    machine = tw.load_architecture("simple")
    tight = replace(machine.memories[2], capacity_bits=40, must_keep=frozenset("IWO"))
    levels = tuple(tight if level.name == "RF" else level for level in machine.levels)
    with pytest.raises(tw.NoMappingError, match="'RF' need 48 bits, 8 more than the 40"):
        tw.map(NETWORK, replace(machine, levels=levels))


def test_results_are_json_a_table_and_text(result: tw.NetworkResult) -> None:
    data = json.loads(result.to_json())
    assert data == json.loads(json.dumps(result.to_dict()))
    assert set(data["layers"][0]["proof"]) == {
        "optimal", "lower_bound", "value", "gap", "space", "mappings_in_space", "seconds", "cached",
        "search_seconds", "tiles", "least_memory", "reason", "irregular", "lower_bound_irregular",
    }  # fmt: skip
    for shown, found in zip(data["layers"], result.layers, strict=True):
        assert shown["objective"] == "edp"
        again = tw.evaluate(found.layer, "simple", shown["mapping"])
        assert again.edp_pj_cycles == shown["edp_pj_cycles"] == shown["proof"]["value"]
    assert data["total"]["energy_pj"] == result.energy_pj
    frame = result.to_frame()
    assert list(frame["layer"]) == ["a", "b", "c"]
    assert (frame["energy_pj"] * frame["repeat"]).sum() == pytest.approx(result.energy_pj)
    assert str(result) == result.text()
    assert len(repr(result)) < 200
    assert "3 of 3 layers proven optimal" in repr(result)
    assert "<table" in result._repr_html_()
    assert "3 of 3 layers proven optimal: no mapping of the space has" in result.statement()
