"""Figures and tables for papers: complete, the same bytes for the same result, right numbers."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import tilewright as tw
from tilewright.cli import main
from tilewright.report import figures, paper, write_figures
from tilewright.report.quantities import TIMES

NETWORK = """
name: a_net
layers:
  - {name: first_1, op: matmul, M: 8, N: 4, K: 4, repeat: 3}
  - {name: "50% & more", op: conv1d, K: 4, C: 4, P: 6, R: 3}
"""
FILES = {
    *(f"{name}.{suffix}" for name in ("energy-levels", "energy-tensors", "latency", "roofline")
      for suffix in ("svg", "pdf")),
    "layers.tex", "layers.csv", "energy.csv",
}  # fmt: skip

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tw.NetworkResult:
    file = tmp_path_factory.mktemp("net") / "net.yaml"
    file.write_text(NETWORK)
    return tw.map(str(file), "simple", tiles="divisors", cache=False)


@pytest.fixture(scope="module")
def files(result: tw.NetworkResult) -> dict[str, bytes]:
    return paper.paper_files(result)


@pytest.mark.long
def test_figures_are_complete_and_reproducible(
    result: tw.NetworkResult, files: dict[str, bytes], tmp_path: Path
) -> None:
    paths = write_figures(result, tmp_path / "new" / "folder")
    assert {path.name for path in paths} == FILES
    assert files == {path.name: path.read_bytes() for path in paths}
    for path in paths:
        if path.suffix == ".svg":
            ElementTree.parse(path)
        elif path.suffix == ".pdf":
            content = path.read_bytes()
            assert content.startswith(b"%PDF")
            assert b"/FontFile2" in content  # fonts are embedded


def test_bars_have_the_energy_of_all_runs(result: tw.NetworkResult) -> None:
    colours = paper.PAGE | paper.light(result.architecture)
    drawing = paper.bars(figures.energy_levels(result), colours, "energy", "J")
    (axes,) = drawing.axes
    widths = [bar.get_width() for group in axes.containers for bar in group]
    assert sum(widths) == pytest.approx(result.energy_pj * 1e-12)
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches if round(bar.get_y()) == 0]
    first = result.layers[0]
    assert max(ends) == pytest.approx(3 * first.evaluation.energy_pj * 1e-12)
    assert axes.get_xlabel() == "energy of all runs"
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        f"first_1 {TIMES}3", "50% & more",
    ]  # fmt: skip
    cycles = paper.bars(figures.latency(result), colours, "cycles", "")
    assert cycles.axes[1].get_xlabel() == "utilization (%)"


def test_tables_have_the_numbers_of_the_result(
    result: tw.NetworkResult, files: dict[str, bytes]
) -> None:
    text = files["layers.tex"].decode()
    assert r"first\_1 & 3 & 128 &" in text
    assert r"50\% \& more" in text
    assert text.count(r"\\") == 4
    rows = list(csv.DictReader(io.StringIO(files["energy.csv"].decode())))
    for row, found in zip(rows, result.layers, strict=True):
        levels = [float(value) for key, value in row.items() if key.startswith("level ")]
        assert sum(levels) == pytest.approx(found.evaluation.energy_pj)
    assert [row["layer"] for row in rows] == ["first_1", "50% & more"]


def test_the_command_writes_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, folder = tmp_path / "net.yaml", tmp_path / "figures"
    file.write_text(NETWORK)
    words = ["map", str(file), "simple", "--tiles", "divisors", "--figures", str(folder)]
    assert main(words) == 0
    assert {path.name for path in folder.iterdir()} == FILES
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(paper, "find_spec", lambda name: None)
    capsys.readouterr()
    assert main(words) == 2
    assert "pip install 'tilewright[figures]'" in capsys.readouterr().err
