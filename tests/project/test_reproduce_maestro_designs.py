"""The page on MAESTRO's case study II shows what its script computes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproductions" / "maestro-designs.md").read_text(encoding="utf-8")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("reproduce.maestro_designs")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["designs", "bandwidths", "buffers", "supports"])
def test_tables_are_what_the_script_computes(script: ModuleType, name: str) -> None:
    assert f"<!-- table: {name} -->\n\n{script.markdown(script.TABLES[name]())}\n" in PAGE
