"""The page on MAESTRO's case studies shows what its script computes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from reproduce.pages import markdown

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproductions" / "maestro.md").read_text(encoding="utf-8")
SLOW = ("models", "classes", "adaptive", "reuse")
TABLES = ("hardware", "bandwidths", "eyeriss", "cases")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("reproduce.maestro")


def shown(script: ModuleType, name: str) -> bool:
    return f"<!-- table: {name} -->\n\n{markdown(script.TABLES[name]())}\n" in PAGE


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_what_the_script_computes(script: ModuleType, name: str) -> None:
    assert shown(script, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_tables_of_whole_networks_are_what_the_script_computes(
    script: ModuleType, name: str
) -> None:
    assert shown(script, name)


def test_every_table_is_tested(script: ModuleType) -> None:
    assert sorted(script.TABLES) == sorted((*SLOW, *TABLES))
