"""Strategies without proof: what they find, and what they say of it."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pytest

from tilewright.cli import main
from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.exploration import Exploration, Space, explore, parse_space
from tilewright.exploration.proof.front import as_good, hypervolume
from tilewright.exploration.proposers import shuffled
from tilewright.exploration.trial import Moment, thinned
from tilewright.workload.operators import matmul

LAYER = matmul(M=4, N=6, K=4, name="m")
OPTUNA = ("nsga2", "tpe")
TEXT = """
name: tiny
parameters:
  columns: [2, 4, 3]
  glb: {from: 32 B, to: 128 B, step: 32 B}
  rf: [4 B, 8 B]
  node: ["32", "45"]
machine:
  technology: "cacti7-${node}nm"
  levels:
    - {memory: D, word: 16 bits, bandwidth: 4, energy: 60}
    - {memory: B, word: 16 bits, size: $glb, area: $glb / 1 B * 0.001, energy: 2}
    - {array: PE, axes: {X: $columns}}
    - {memory: R, word: 16 bits, size: $rf, area: $rf / 1 B * 0.0005, energy: 1}
    - {compute: M, area: 0.01, energy: 1}
limits: {LIMITS}
"""


def space(limits: str = "") -> Space:
    return parse_space(parse(TEXT.replace("LIMITS", limits), "space.yaml"))


def values(found: Exploration) -> list[tuple[float, ...]]:
    return [tuple(p.metrics[axis] for axis in found.axes) for p in found.front]


@pytest.fixture(scope="module")
def proven() -> Exploration:
    return explore(LAYER, space("area: 0.13 mm2"), axes=["edp", "area"], objective="edp")


def tried(strategy: str, proven: Exploration, **more: object) -> Exploration:
    return explore(
        LAYER, proven.space, axes=proven.axes, objective="edp", strategy=strategy,
        against=proven, **more,
    )  # type: ignore[arg-type]  # fmt: skip


def test_random_order_ends_with_every_design_and_the_proven_front(proven: Exploration) -> None:
    found = tried("random", proven, designs=1000, seed=3)
    assert len(found) == len(proven) > 1
    for one, other in zip(values(found), values(proven), strict=True):
        assert one == pytest.approx(other, rel=1e-9)
    assert found.optimal and found.statement().startswith("Proven")
    c = found.certificate
    assert c.solved + c.excluded_by_limit + c.without_mapping == c.designs == 48
    assert c.excluded_by_limit > 0
    assert found.trial is not None
    assert found.trial.designs == 48 and found.trial.reached == found.trial.proven == len(proven)
    assert found.trial.moments[-1].value == pytest.approx(1.0)


@pytest.mark.long
@pytest.mark.parametrize("strategy", ["random", *OPTUNA])
def test_a_few_designs_prove_nothing_and_are_the_same_for_a_seed(
    strategy: str, proven: Exploration
) -> None:
    if strategy in OPTUNA:
        pytest.importorskip("optuna")
    one, again, other = (tried(strategy, proven, designs=8, seed=seed) for seed in (1, 1, 2))
    assert not one.optimal and "Not proven" in one.statement()
    trial = one.trial
    assert trial is not None and trial.designs == 8 and not trial.stuck
    c = one.certificate
    assert c.open == 40 and c.solved + c.excluded_by_limit + c.without_mapping == 8
    for point in values(one):
        assert any(as_good(best, [v * (1 + 1e-9) for v in point]) for best in values(proven))
    shares = [moment.value for moment in trial.moments]
    assert shares == sorted(shares) and shares[0] >= 0 and shares[-1] <= 1 + 1e-9
    assert again.front == one.front
    assert again.trial is not None and other.trial is not None
    assert [m[1:] for m in again.trial.moments] == [m[1:] for m in trial.moments]
    assert [m[1:] for m in other.trial.moments] != [m[1:] for m in trial.moments]


@pytest.mark.long
@pytest.mark.parametrize("strategy", OPTUNA)
def test_samplers_learn_and_end_when_they_settle(strategy: str) -> None:
    pytest.importorskip("optuna")
    drawn = parse_space(parse(TEXT.replace("LIMITS", "").replace(', "45"', ""), "space.yaml"))
    best = explore(LAYER, drawn, axes=["edp"], objective="edp")
    found = explore(LAYER, drawn, axes=["edp"], objective="edp", strategy=strategy,
                    designs=24, against=best)  # fmt: skip
    trial = found.trial
    assert trial is not None and (trial.stuck or trial.designs == 24)
    assert trial.reached == 1
    assert trial.moments[-1].value == pytest.approx(best.front[0].metrics["edp"])
    told = [moment.value for moment in trial.moments]
    assert told == sorted(told, reverse=True)


def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.exploration.proposers.find_spec", lambda name: None)
    for strategy in OPTUNA:
        with pytest.raises(InputError, match=r"pip install 'tilewright\[explore\]'"):
            explore(LAYER, space(), strategy=strategy)
    assert explore(LAYER, space(), strategy="random", designs=1).trial is not None


def test_hypervolumes_are_those_of_unit_cubes() -> None:
    random = Random(2)
    for _ in range(60):
        size = random.randint(1, 4)
        corner = tuple(float(random.randint(1, 5)) for _ in range(size))
        points = [
            tuple(float(random.randint(0, 5)) for _ in corner) for _ in range(random.randint(0, 6))
        ]
        cubes = sum(
            any(as_good(point, cube) for point in points)
            for cube in product(*(range(int(end)) for end in corner))
        )
        assert hypervolume(points, corner) == cubes


def test_every_number_comes_once_in_random_order() -> None:
    for seed in range(20):
        assert sorted(shuffled(30, Random(seed))) == list(range(30))
    firsts = [next(shuffled(4, Random(seed))) for seed in range(400)]
    assert all(70 < firsts.count(n) < 130 for n in range(4))
    assert next(shuffled(10**12, Random(0))) < 10**12


def test_long_histories_become_short_tables() -> None:
    moments = [Moment(float(i), i, float(i)) for i in range(100)]
    short = thinned(moments)
    assert len(short) == 12 and short[0] == moments[0] and short[-1] == moments[-1]


def test_only_the_proven_front_of_the_same_question_is_compared(
    proven: Exploration, tmp_path: Path
) -> None:
    file = tmp_path / "found.json"
    file.write_text(proven.to_json())
    ask = {"axes": ["edp", "area"], "objective": "edp", "strategy": "random", "against": file}
    whole = proven.space
    assert explore(LAYER, whole, **ask, designs=3).trial is not None  # type: ignore[arg-type]
    for change, message in (
        ({"axes": ["area", "edp"]}, "its axes"),
        ({"objective": "energy"}, "its objective is edp, expected energy"),
        ({"against": replace(proven, space=replace(whole, name="other"))}, "its space is other"),
        ({"against": explore(LAYER, whole, axes=["edp", "area"], objective="edp",
                             time_limit=1e-9)}, "not proven"),
        ({"against": tmp_path / "none.json"}, "cannot be read"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            explore(LAYER, whole, **ask | change)  # type: ignore[arg-type]
    smaller = matmul(M=2, N=2, K=2, name="s")
    with pytest.raises(InputError, match="no design of this front is as good"):
        explore(smaller, whole, **ask)  # type: ignore[arg-type]
    for text in ("[]", "{", '{"space": "tiny"}'):
        file.write_text(text)
        with pytest.raises(InputError, match="no result of an exploration"):
            explore(LAYER, whole, **ask)  # type: ignore[arg-type]


def test_the_command_tells_the_front_against_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text(TEXT.replace("LIMITS", ""))
    Path("net.yaml").write_text("{name: n, layers: [{name: m, op: matmul, M: 4, N: 6, K: 4}]}")
    words = ["explore", "net.yaml", "space.yaml", "--axes", "energy,area"]
    assert main([*words, "--json", "found.json"]) == 0
    capsys.readouterr()
    more = ["--strategy", "random", "--designs", "9", "--seed", "4", "--against", "found.json"]
    assert main([*words, *more, "--json", "tried.json", "--report", "tried.html"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Not proven: strategy 'random' (seed 4) tried 9 designs" in shown
    assert "seconds designs hypervolume" in shown
    data = json.loads(Path("tried.json").read_text())
    assert not data["optimal"] and data["trial"]["designs"] == 9
    last = data["trial"]["history"][-1]
    assert 0 < last["hypervolume"] <= 1 + 1e-9 and 0 < last["designs"] <= 9
    assert f"For {data['trial']['proven_designs_reached']:,} of" in shown
    assert "Not proven" in Path("tried.html").read_text()
    assert main([*words, *more, "--json", "found.json"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--strategy", "nsga"], "did you mean 'nsga2'"),
        (["--designs", "4"], "designs: means nothing without a strategy"),
        (["--seed", "4"], "seed: means nothing without a strategy"),
        (["--against", "f.json"], "against: means nothing without a strategy"),
        (["--strategy", "random", "--designs", "0"], "expected a whole number of at least 1"),
        (["--strategy", "random", "--seed", "-1"], "expected a whole number of at least 0"),
        (["--strategy", "random", "--seed", "x"], "expected a whole number, found 'x'"),
        (["--strategy", "random", "--against", "f.json"], "f.json: cannot be read"),
    ],
)
def test_options_that_mean_nothing_are_one_message(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("space.yaml").write_text(TEXT.replace("LIMITS", "") + "workloads: {alexnet: 1}\n")
    assert main(["explore", "space.yaml", *words]) == 2
    assert message in capsys.readouterr().err
