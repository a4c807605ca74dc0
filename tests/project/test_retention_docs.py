"""What docs/retention.md shows is what the package computes."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "retention.md").read_text(encoding="utf-8")


def test_figures_and_table_are_made_by_the_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    script = runpy.run_path(str(ROOT / "docs" / "retention.py"))
    for name, draw in (("retention-rounds", "rounds"), ("retention-curve", "curve")):
        shown = (ROOT / "docs" / "assets" / f"{name}.svg").read_text(encoding="utf-8")
        assert shown == script[draw]().svg(), f"run docs/retention.py: {name}.svg"
    assert script["table"](PAGE) in PAGE


def test_the_shares_in_python_are_those_of_the_output() -> None:
    words = re.search(r"shares in words: I ([\d,]+), W ([\d,]+), O ([\d,]+)\n", PAGE)
    assert words is not None
    i, w, o = (int(text.replace(",", "")) for text in words.groups())
    assert f"shares  # {{'I': {i}, 'W': {w}, 'O': {o}}}" in PAGE
