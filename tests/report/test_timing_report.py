"""Pipelined latency on the command line and in the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli import main
from tilewright.mapper.pipelined import pipelined
from tilewright.mapping.files import dump_mappings
from tilewright.report import html
from tilewright.report.sections.timeline import timeline, timeline_plot

LAYER = tw.matmul(name="m", M=4, N=4, K=4)
WORKLOAD = "name: net\nlayers:\n  - {name: m, op: matmul, M: 4, N: 4, K: 4}\n"


@pytest.fixture(scope="module")
def result() -> tw.NetworkResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipelined, "TRIES", 100)
        return tw.map(LAYER, "dmazerunner-256", "latency", latency="pipelined")


def test_the_timeline_shows_what_computes_moves_and_waits(result: tw.NetworkResult) -> None:
    evaluation = result.layers[0].evaluation
    plot = timeline(evaluation)
    names = [trace["name"] for trace in plot.data]
    assert any(name.startswith("MAC: operations") for name in names)
    assert any("first tiles come" in name for name in names)
    assert any("everything inside waits" in name for name in names)
    ends = [b + x for trace in plot.data for b, x in zip(trace["base"], trace["x"], strict=True)]
    assert max(ends) <= evaluation.cycles * (1 + 1e-12)
    assert len(timeline_plot(evaluation).data) == len(plot.data)


def test_the_report_has_a_timeline_only_under_pipelined_latency(result: tw.NetworkResult) -> None:
    page = html(result)
    assert 'id="plot-timeline-0"' in page
    assert "timeline" not in html(tw.map(LAYER, "dmazerunner-256", "latency")).split("<script")[0]


def test_evaluate_writes_cycles_and_timeline(
    tmp_path: Path, result: tw.NetworkResult, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.yaml").write_text(WORKLOAD)
    mapping = dump_mappings([(LAYER, result.layers[0].mapping)], "dmazerunner-256", "net")
    (tmp_path / "mapping.yaml").write_text(mapping)
    page = tmp_path / "first.html"
    words = (
        "evaluate",
        str(tmp_path / "net.yaml"),
        "dmazerunner-256",
        str(tmp_path / "mapping.yaml"),
    )
    assert main([*words, "--latency", "pipelined", "--timeline", str(page), "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["cycles"] == result.layers[0].evaluation.cycles
    assert data["pipeline"]["computing"] > 0
    assert "Plotly.newPlot" in page.read_text()
    page.unlink()
    assert main([*words, "--timeline", str(page)]) == 2
    assert "--latency pipelined" in capsys.readouterr().err
    assert not page.exists()
    assert main([*words, "--latency", "pipelned"]) == 2
    assert "did you mean 'pipelined'?" in capsys.readouterr().err
