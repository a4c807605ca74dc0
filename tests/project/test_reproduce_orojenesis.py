"""The page on bounds of data movement shows what its script computes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproductions" / "orojenesis.md").read_text(encoding="utf-8")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("reproduce.orojenesis")


@pytest.mark.slow
def test_the_table_is_what_the_script_computes(script: ModuleType) -> None:
    assert f"<!-- table: movement -->\n\n{script.markdown(script.movement())}\n" in PAGE


def test_a_small_product_moves_each_word_once_when_all_fits(script: ModuleType) -> None:
    rows = script.movement(extent=64, sizes=(1,))
    assert rows[1][2] == "1.00x"
