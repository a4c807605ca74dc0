"""Comparisons and mapspaces: what users see of the strategies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli import main
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.mapping import parse_mapping
from tilewright.strategies.comparison import compare_strategies
from tilewright.strategies.run import Run, Sample
from tilewright.strategies.searches.sampling import Random
from tilewright.strategies.steps import Problem, Step

LAYER = tw.conv1d(K=4, C=4, P=8, R=3)


@pytest.fixture(scope="module")
def compared() -> tw.Comparison:
    return tw.compare(LAYER, "simple", strategies=("random", "pruned"), seconds=0.3)


@pytest.fixture(scope="module")
def space() -> tw.MapSpace:
    return tw.mapspace(LAYER, "simple", samples=2000)


def test_improvements_fall_and_end_above_the_optimum(compared: tw.Comparison) -> None:
    frame = compared.to_frame()
    assert list(frame.columns) == ["strategy", "seconds", "evaluated", "value", "ratio"]
    assert set(frame.strategy) == {"random", "pruned"}
    for _, run in frame.groupby("strategy"):
        assert run.value.is_monotonic_decreasing
        assert run.seconds.is_monotonic_increasing
        assert run.evaluated.is_monotonic_increasing
        # the first step is taken whatever its time
        assert (run.seconds.iloc[1:] <= 0.3).all()
    assert (frame.ratio >= 1 - 1e-9).all()


def test_the_best_mapping_is_worth_what_is_said(compared: tw.Comparison) -> None:
    machine = tw.load_architecture("simple")
    for data, run in zip(compared.to_dict()["strategies"], compared.runs, strict=True):
        mapping = parse_mapping(data["mapping"], LAYER, machine)
        assert run.best is not None
        assert tw.evaluate(LAYER, machine, mapping).edp_pj_cycles == pytest.approx(run.best.value)


def test_without_a_proof_there_is_no_ratio() -> None:
    plain = tw.compare(LAYER, "simple", strategies=("random",), seconds=0.1, optimum=False)
    assert plain.optimum is None
    assert plain.to_frame().ratio.isna().all()
    assert plain.rows()[0][-1] == "-"
    assert "proven" not in plain.plot().layout.yaxis.title.text


def test_values_are_shown_as_they_were_in_time() -> None:
    nothing = tw.Mapping(())
    samples = [Sample(0.5, 10, 8.0, nothing), Sample(3.0, 60, 4.0, nothing)]
    machine = tw.load_architecture("simple")
    run = Run("by hand", samples, 20.0, 400, 100)
    shown = tw.Comparison(LAYER, machine, "edp", 20.0, 0, (run,))
    assert shown.headers[4:] == ("after 1 s", "ratio", "after 10 s", "ratio", "best", "ratio")
    assert shown.rows() == [("by hand", "400", "25.0%", "20", "8", "-", "4", "-", "4", "-")]
    assert run.after(0.4) is None
    stopped = replace(shown, runs=(Run("by hand", samples, 5.0, 400, 100),))
    assert stopped.rows()[0][4:] == ("8", "-", "-", "-", "4", "-")


class Pressed:
    """Draws one step, then Ctrl-C is pressed."""

    def check(self, problem: Problem) -> None:
        pass

    def steps(self, problem: Problem, seed: int) -> Iterator[Step]:
        for step in Random(rows=50).steps(problem, seed):
            yield step
            if step.valid:
                raise KeyboardInterrupt


def test_an_interrupted_comparison_keeps_what_was_found() -> None:
    problem = Problem(LAYER, tw.load_architecture("simple"), "edp")
    ways = {"pressed": Pressed(), "never begun": Random()}
    stopped = compare_strategies(problem, ways, seconds=5.0)
    assert stopped.interrupted
    assert [run.strategy for run in stopped.runs] == ["pressed"]
    assert stopped["pressed"].best is not None
    assert "Interrupted." in stopped.text()


def test_figures_show_every_strategy_and_the_optimum(compared: tw.Comparison) -> None:
    figure = compared.plot()
    assert [trace.name for trace in figure.data] == ["random", "pruned", "proven optimum"]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert min(min(trace.y) for trace in figure.data) >= 1 - 1e-9
    assert "<table" in compared._repr_html_()


def test_a_mapspace_counts_and_never_falls_below_the_optima(space: tw.MapSpace) -> None:
    machine = tw.load_architecture("simple")
    assert space.mappings == mappings_in_space(LAYER, machine)
    assert space.samples == 2000
    assert len(space.cycles) == len(space.energy_per_operation) == space.valid > 0
    for quantity in space.quantities():
        assert quantity.optimum is not None
        assert quantity.values.min() >= quantity.optimum * (1 - 1e-9)
        counts, edges = quantity.histogram(20)
        assert counts.sum() == space.valid
        assert len(edges) == 21
        assert quantity.within(np.inf) == 1.0
    assert len(space.plot().data) == 2
    assert list(space.to_frame().quantity) == ["energy per operation", "latency"]


def test_a_mapspace_is_the_same_for_a_seed(space: tw.MapSpace) -> None:
    again = tw.mapspace(LAYER, "simple", samples=2000, optimum=False)
    np.testing.assert_array_equal(again.cycles, space.cycles)
    other = tw.mapspace(LAYER, "simple", samples=2000, seed=1, optimum=False)
    assert other.cycles.sum() != space.cycles.sum()


def test_commands_write_table_data_and_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.yaml").write_text("{name: a, op: matmul, M: 8, N: 4, K: 6}\n")
    out = ["--json", "out.json", "--report", "out.html"]
    words = ["--seconds", "0.2", "--strategy", "random:rows=100", "--strategy", "pruned"]
    assert main(["compare", "net.yaml", "simple", *words, *out]) == 0
    shown, told = capsys.readouterr()
    assert "random:rows=100" in shown
    assert "Proven optimum" in shown
    assert "pruned: 0.2 CPU seconds" in told
    data = json.loads((tmp_path / "out.json").read_text())
    assert [run["strategy"] for run in data["strategies"]] == ["random:rows=100", "pruned"]
    page = (tmp_path / "out.html").read_text()
    assert "Plotly.newPlot" in page
    assert 'src="http' not in page

    assert main(["mapspace", "net.yaml", "simple", "--samples", "500", *out]) == 0
    shown, _ = capsys.readouterr()
    assert "energy per operation (pJ)" in shown
    data = json.loads((tmp_path / "out.json").read_text())
    assert data["samples"] == 500
    assert main(["mapspace", "net.yaml", "simple", "--samples", "500", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out) == data
