"""The front of a design space is that of solving every design, and the bounds of boxes hold."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tilewright import load_architecture
from tilewright import map as best_mapping
from tilewright.cli import main
from tilewright.cli.output.explore import write_parquet
from tilewright.document import parse
from tilewright.errors import InputError, NoMappingError
from tilewright.exploration import Box, Certificate, Space, explore, parse_space
from tilewright.exploration.designs.expression import Quantity, Range, parse_expression
from tilewright.exploration.designs.relaxation import Relaxation
from tilewright.exploration.proof.front import ROUNDING
from tilewright.model.energy import area, leakage_power
from tilewright.workload.layer import Layer, Network
from tilewright.workload.operators import conv1d, matmul

MATMUL = matmul(M=4, N=6, K=4, name="m")
LAYERS = (MATMUL, conv1d(K=2, C=3, P=6, R=3, name="c"), matmul(M=9, N=2, K=2, name="n"))
NETWORK = Network("two", (replace(LAYERS[1], repeat=2), LAYERS[2]))
AXES = ("energy", "latency", "edp", "area", "power", "leakage")

SPACE = """
name: tiny
parameters:
  columns: [2, 4, 3]
  glb: {{from: 32 B, to: 128 B, step: 32 B}}
  rf: [4 B, 8 B, 16 B]
  speed: [1, 2]
machine:
  technology: {technology}
  levels:
    - {{memory: D, word: 16 bits, bandwidth: $speed * 2, energy: 60}}
    - {{memory: B, word: 16 bits, size: $glb, bandwidth: $columns, area: $glb / 1 B * 0.001{leak}}}
    - {{array: PE, axes: {{X: $columns}}}}
    - {{memory: R, word: 16 bits, size: $rf, area: $rf / 1 B * 0.0005}}
    - {{compute: M, area: 0.01, energy: 1}}
limits: {{{limits}}}
"""


def space(technology: str = "interstellar-28nm", leak: str = "", limits: str = "") -> Space:
    text = SPACE.format(technology=technology, leak=leak, limits=limits)
    return parse_space(parse(text, "space.yaml"))


def small_space(limits: str) -> Space:
    """Return the space with two values of each parameter."""
    whole = space(limits=limits)
    return replace(
        whole, parameters=tuple(replace(p, values=p.values[:2]) for p in whole.parameters)
    )


def random_space(random: Random) -> Space:
    """Return a space of some dozen designs with other parameters, technologies and limits."""
    leak = random.choice(["", ", leakage: 0.5", ", leakage: $columns * 0.1"])
    limits = random.choice(["", "area: 0.15 mm2", "power: 40 mW", "glb + 4 * rf: <= 96 B"])
    whole = space(random.choice(["interstellar-28nm", "cacti7-45nm", "cacti7-28nm"]), leak, limits)
    kept = tuple(
        replace(p, values=tuple(random.sample(p.values, random.randint(1, min(3, len(p.values))))))
        for p in whole.parameters
    )
    return replace(whole, parameters=kept)


def single(space: Space, index: int) -> Box:
    return Box(tuple((i, i + 1) for i in space.indices(index)))


def every_design(
    space: Space, layer: Layer | Network, objective: str
) -> dict[int, dict[str, float]]:
    """Return the metrics of every design within the limits, each solved on its own."""
    found = {}
    for index in range(len(space)):
        if space.excluded(single(space, index)):
            continue
        machine = space.design(index)
        try:
            result = best_mapping(layer, machine, objective, tiles="divisors", cache=False)
        except NoMappingError:
            continue
        energy, time = result.energy_pj, result.cycles / machine.clock_hz
        metrics = {
            "energy": energy, "latency": time, "edp": energy * time, "area": area(machine),
            "power": energy / time * 1e-9, "leakage": leakage_power(machine),
        }  # fmt: skip
        if all(metrics[name] <= most for name, most in space.limits.items()):
            found[index] = metrics
    return found


def front_of(designs: dict[int, dict[str, float]], axes: tuple[str, ...]) -> set[tuple[float, ...]]:
    """Return the values that no others are better than, rounded."""
    values = {tuple(metrics[axis] for axis in axes) for metrics in designs.values()}
    return {
        tuple(float(f"{v:.9g}") for v in one)
        for one in values
        if not any(
            other != one and all(a <= b * (1 + ROUNDING) for a, b in zip(other, one, strict=True))
            and any(a < b * (1 - ROUNDING) for a, b in zip(other, one, strict=True))
            for other in values
        )
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(s, marks=pytest.mark.slow) for s in range(12, 36))]
)
def test_the_front_is_that_of_solving_every_design(seed: int) -> None:
    random = Random(seed)
    drawn, layer = random_space(random), random.choice((*LAYERS, NETWORK))
    axes = tuple(random.sample(AXES, random.randint(1, 3)))
    objective = random.choice(["energy", "latency", "edp"])
    found = explore(layer, drawn, axes=axes, objective=objective)
    told = {tuple(float(f"{p.metrics[axis]:.9g}") for axis in axes) for p in found.front}
    designs = every_design(drawn, layer, objective)
    assert told == front_of(designs, axes)
    c = found.certificate
    assert found.optimal and c.designs == len(drawn)
    decided = c.solved + c.excluded_by_limit + c.excluded_by_bound + c.without_mapping
    assert decided + c.no_machine == c.designs


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(12))
def test_the_relaxed_machine_of_a_box_is_never_above_any_of_its_designs(seed: int) -> None:
    random = Random(1000 + seed)
    drawn, layer = random_space(random), random.choice(LAYERS)
    box = drawn.whole
    while box.designs > 12:
        widths = [end - begin for begin, end in box.ranges]
        box = random.choice(box.halves(widths.index(max(widths))))
    relaxed = Relaxation(drawn).of(box)
    assert relaxed is not None
    for objective in ("energy", "latency", "edp"):
        try:
            bound = best_mapping(layer, relaxed.machine, objective, tiles="divisors", cache=False)
        except NoMappingError:
            bound = None
        for indices in box.designs_in():
            machine = drawn.machine_of(indices)
            assert relaxed.area_mm2 <= area(machine) * (1 + ROUNDING)
            assert relaxed.leakage_mw <= leakage_power(machine) * (1 + ROUNDING)
            try:
                best = best_mapping(layer, machine, objective, tiles="divisors", cache=False)
            except NoMappingError:
                continue
            assert bound is not None
            least, value = bound.layers[0].proof.value, best.layers[0].proof.value
            assert least <= value * (1 + ROUNDING)


def test_boxes_exclude_what_they_need_not_solve() -> None:
    found = explore(MATMUL, space(), axes=["energy", "area"])
    c = found.certificate
    assert 0 < c.solved < c.designs == 72
    assert c.excluded_by_bound > 0


@pytest.mark.long
def test_weights_and_maxima_of_workloads_count() -> None:
    whole = space()
    small = replace(
        whole, parameters=tuple(replace(p, values=p.values[:2]) for p in whole.parameters)
    )
    one, other = (every_design(small, layer, "energy") for layer in LAYERS[:2])
    best = explore(list(LAYERS[:2]), small, axes=["energy"]).front[0]
    least = min(one[i]["energy"] + other[i]["energy"] for i in one.keys() & other.keys())
    assert best.metrics["energy"] == pytest.approx(least)
    worst = explore(list(LAYERS[:2]), small, axes=["energy"], maximum=True).front[0]
    least = min(max(one[i]["energy"], other[i]["energy"]) for i in one.keys() & other.keys())
    assert worst.metrics["energy"] == pytest.approx(least)


def test_repeated_layers_count_as_often() -> None:
    network = Network("n", (replace(MATMUL, repeat=3),))
    once, thrice = (explore(w, small_space(""), axes=["energy"]) for w in (MATMUL, network))
    assert thrice.front[0].metrics["energy"] == pytest.approx(3 * once.front[0].metrics["energy"])


def test_a_stopped_run_that_is_resumed_ends_with_the_same_front(tmp_path: Path) -> None:
    store, drawn = tmp_path / "run.db", small_space("")
    whole = explore(MATMUL, drawn, axes=["edp", "area"], objective="edp")

    def stop(certificate: Certificate, front: int) -> None:
        if certificate.solved == 2:
            raise OSError("killed")

    with pytest.raises(OSError, match="killed"):
        explore(MATMUL, drawn, axes=["edp", "area"], objective="edp", store=store, progress=stop)
    with sqlite3.connect(store) as file:
        assert file.execute("select count(*) from answers").fetchone()[0] > 0
    resumed = explore(MATMUL, drawn, axes=["edp", "area"], objective="edp", store=store)
    assert resumed.front == whole.front
    again = explore(MATMUL, drawn, axes=["edp", "area"], objective="edp", store=store)
    assert again.front == whole.front
    assert again.certificate.searches == 0


@pytest.mark.long
def test_any_number_of_workers_finds_the_same_front() -> None:
    network = Network("two", (replace(LAYERS[1], repeat=2), LAYERS[2]))
    small = space()
    kept = tuple(replace(p, values=p.values[:2]) for p in small.parameters)
    one, two = (
        explore(network, replace(small, parameters=kept), axes=["edp", "area"], objective="edp",
                workers=workers)
        for workers in (1, 2)
    )  # fmt: skip
    assert two.optimal and one.front == two.front


def test_a_run_out_of_time_says_what_is_open() -> None:
    found = explore(MATMUL, space(), time_limit=1e-9)
    assert not found.optimal
    assert found.certificate.open == 72
    assert "Not proven" in found.statement()
    assert found.to_dict()["optimal"] is False


def test_another_file_is_no_store(tmp_path: Path) -> None:
    (tmp_path / "run.db").write_text("text " * 100)
    with pytest.raises(InputError, match="cannot be used as a store"):
        explore(MATMUL, space(), store=tmp_path / "run.db")


def test_designs_are_numbered_and_read_as_machines() -> None:
    whole = space()
    assert len(whole) == 3 * 4 * 3 * 2
    assert all(whole.index(whole.indices(i)) == i for i in range(len(whole)))
    assert len(list(whole.whole.designs_in())) == len(whole)
    assert whole.values(29) == {"columns": "4", "glb": "32 B", "rf": "16 B", "speed": "2"}
    machine = whole.design(29)
    assert machine.arrays[0].axes == {"X": 4}
    assert machine.memories[1].capacity_bits == 32 * 8
    assert machine.memories[0].shared_bandwidth == 4
    with pytest.raises(IndexError):
        whole.design(72)


def test_parquet_is_refused_before_the_search_where_it_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tilewright.cli.output.explore.find_spec", lambda name: None)
    assert main(["explore", "space.yaml", "--parquet", str(tmp_path / "front.parquet")]) == 2
    assert "pip install 'tilewright[parquet]'" in capsys.readouterr().err


def test_the_front_is_written_as_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    kept = tuple(replace(p, values=p.values[:1]) for p in space().parameters)
    found = explore(MATMUL, replace(space(), parameters=kept))
    write_parquet(found, str(tmp_path / "front.parquet"))
    assert pd.read_parquet(tmp_path / "front.parquet").equals(found.to_frame())


def test_text_parameters_name_technologies() -> None:
    text = (
        "{name: s, parameters: {node: [32, 45], size: [1 KiB, 2 KiB]}, machine: {technology: "
        "'cacti7-${node}nm', levels: [{memory: D, word: 16 bits}, {memory: B, word: 16 bits, "
        "size: $size}, {compute: M}]}}"
    )
    found = parse_space(parse(text, "s.yaml"))
    energies = [machine.compute.energy for machine in found]
    assert energies[0] == energies[1] < energies[2] == energies[3]
    relaxed = Relaxation(found).of(found.whole)
    assert relaxed is not None and relaxed.machine.compute.energy == energies[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$a * 2 + 1", Quantity(7)),
        ("b + 168 * c", Quantity(8 * (1024 + 168 * 2), 1)),
        ("b / 1 KiB", Quantity(1)),
        ("max(a, ceil(a / 2)) - min(1, a)", Quantity(2)),
        ("2 ** a // 3", Quantity(2)),
        ("-a + log2(8)", Quantity(0)),
    ],
)
def test_expressions_have_the_values_of_arithmetic(text: str, value: Quantity) -> None:
    values = {"a": Quantity(3), "b": Quantity(8192, 1), "c": Quantity(16, 1)}
    assert parse_expression(text, values).value(values) == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os')", "no expression"),
        ("a.real", "no expression"),
        ("a if a else a", "no expression"),
        ("[a]", "no expression"),
        ("(lambda: a)()", "no expression"),
        ("aa", "did you mean 'a'"),
        ("a + b", "cannot be added"),
        ("a / 0", "has no value"),
        ("9 ** 9 ** 9", "exponent"),
        ("1 / (a - a)", "has no value"),
    ],
)
def test_expressions_are_arithmetic_and_nothing_else(text: str, message: str) -> None:
    values = {"a": Quantity(3), "b": Quantity(8192, 1)}
    with pytest.raises(ValueError, match=message):
        parse_expression(text, values).value(values)


def test_ranges_hold_every_value() -> None:
    random = Random(1)
    texts = ("a * b - c", "a / (b + 9) + c * c", "max(a, c) * -b", "2 ** a - floor(b / 2)")
    for text in texts:
        for _ in range(200):
            ends = {n: sorted(random.randint(0, 8) for _ in "xx") for n in "abc"}
            tree = parse_expression(text, ends)
            found = tree.range({n: Range(low, high) for n, (low, high) in ends.items()})
            inside = {n: Quantity(random.randint(low, high)) for n, (low, high) in ends.items()}
            assert found.low <= tree.value(inside).value <= found.high


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("columns: [2, 4, 3]", "columns: []"), r"parameters\.columns"),
        (("step: 32 B", "step: 2"), "sizes for sizes"),
        (("size: $glb", "size: $gbl"), r"machine|levels\[1\]\.size: no parameter 'gbl'"),
        (("limits: {", "limits: {aera: 1 mm2"), "did you mean 'area'"),
        (("limits: {", "limits: {area: 1 m"), "number with a unit"),
        (("speed: [1, 2]", "speed: [1, 1 B]"), "different numbers, sizes, or texts"),
    ],
)
def test_a_malformed_space_is_an_error_that_says_where(
    change: tuple[str, str], message: str
) -> None:
    text = SPACE.format(technology="interstellar-28nm", leak="", limits="").replace(*change)
    with pytest.raises(InputError, match=message) as failure:
        parse_space(parse(text, "space.yaml")).design(0)
    assert str(failure.value).startswith("space.yaml:")


def test_the_command_writes_the_front_as_json_csv_and_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = SPACE.format(technology="interstellar-28nm", leak="", limits="")
    small = text.replace("step: 32 B", "step: 96 B").replace("[2, 4, 3]", "[2, 4]")
    Path("space.yaml").write_text(f"{small}workloads: {{net.yaml: 2}}\n")
    Path("net.yaml").write_text("{name: n, layers: [{name: m, op: matmul, M: 4, N: 6, K: 4}]}")
    words = ["explore", "space.yaml", "--axes", "edp,area", "--objective", "edp"]
    more = ["--report", "out.html", "--machine", "best.yaml", "--store", "run.db"]
    assert main([*words, "--json", "out.json", "--csv", "out.csv", *more]) == 0
    shown = capsys.readouterr().out
    assert "Proven: no design of the space is better" in shown
    data = json.loads(Path("out.json").read_text())
    assert data["optimal"] and data["certificate"]["designs"] == 24
    rows = Path("out.csv").read_text().splitlines()
    assert len(rows) == 1 + len(data["front"])
    assert rows[0].startswith("index,columns,glb,rf,speed,energy_pJ,latency_s,edp_pJ_s,area_mm2")
    page = Path("out.html").read_text()
    assert all(f"design {row['index']}:" in page for row in data["front"])
    assert ("What each value is worth" in page and "Parcoords" in page) or "parcoords" in page
    first = data["front"][0]["parameters"]
    best = load_architecture("best.yaml")
    assert best.arrays[0].axes == {"X": int(first["columns"])}
    frame = pytest.importorskip("pandas").read_csv("out.csv")
    assert frame["index"].tolist() == [row["index"] for row in data["front"]]
    assert main(["explore", "net.yaml", "space.yaml", "--store", "run.db", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["axes"] == ["energy", "area"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["resnet50"], "expected a design space"),
        (["space.yaml", "--axes", "enrgy"], "did you mean 'energy'"),
        (["space.yaml", "--objective", "area"], "expected one of energy, latency, edp"),
        (["space.yaml"], "no workload: name one"),
        (["space.yaml", "--workers", "0"], "expected a whole number of at least 1"),
        (["space.yaml", "--workers", "two"], "expected a whole number, found 'two'"),
        (["none.yaml"], "none.yaml: cannot be read"),
    ],
)
def test_what_cannot_be_explored_is_one_message(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    text = SPACE.format(technology="interstellar-28nm", leak="", limits="")
    Path("space.yaml").write_text(text)
    assert main(["explore", *words]) == 2
    assert message in capsys.readouterr().err
