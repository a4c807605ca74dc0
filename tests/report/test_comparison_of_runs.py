"""Several runs side by side."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    layer = tw.matmul(M=8, N=4, K=6, name="a<b")
    for name in ("simple", "eyeriss"):
        found = tw.map(tw.Network("net<", (layer,)), name, cache=False)
        (tmp_path / f"{name}.json").write_text(found.to_json())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_ratios_are_those_of_the_totals(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "simple.json", "eyeriss.json"]) == 0
    rows = {
        line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines() if line
    }
    simple, eyeriss = (
        json.loads((folder / f"{name}.json").read_text())["total"] for name in ("simple", "eyeriss")
    )
    assert rows["simple"][1] == "1.000"
    assert rows["eyeriss"][1] == f"{eyeriss['energy_pj'] / simple['energy_pj']:.3f}"
    assert rows["eyeriss"][3] == f"{eyeriss['cycles'] / simple['cycles']:.3f}"


def test_the_page_needs_nothing_else_and_escapes_names(folder: Path) -> None:
    assert main(["report", "simple.json", "eyeriss.json", "-o", "both.html"]) == 0
    page = (folder / "both.html").read_text()
    assert "a&lt;b" in page and "a<b" not in page and "net<" not in page
    assert "<script" not in page and "http" not in re.sub("http-equiv", "", page)
    assert page.count('class="bar"') == 2 * 2 * 3


def test_what_is_no_result_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.json").write_text('{"a": 1}')
    assert main(["report", "x.json"]) == 2
    assert "x.json: is not a result file of 'tilewright map --json'" in capsys.readouterr().err
    assert main(["report", "simple.json", "-o", "simple.json"]) == 2
