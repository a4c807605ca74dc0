"""The page on DeFiNES' schedules shows what its script computes."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproductions" / "defines.md").read_text(encoding="utf-8")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("reproduce.defines")


def cell(name: str, columns: int, at: int) -> str:
    """Return a cell of a table of the page."""
    table = PAGE.split(f"<!-- table: {name} -->\n\n")[1].split("\n\n")[0]
    row = re.search(rf"^\| {columns} \| (.*) \|$", table, re.MULTILINE)
    assert row is not None
    return row[1].split(" | ")[at]


@pytest.mark.parametrize(
    ("name", "mode", "columns", "rows"),
    [("recompute", "fully recompute", 4, 4), ("h-cached", "H-cached V-recompute", 16, 4),
     ("cached", "fully cached", 240, 4), ("cached", "fully cached", 960, 540)],
)  # fmt: skip
def test_schedules_take_the_energy_that_the_page_shows(
    script: ModuleType, name: str, mode: str, columns: int, rows: int
) -> None:
    schedule, found = script.placed(script.schedule_of(0, 8, columns, rows, mode))
    assert cell(name, columns, script.TILES_Y.index(rows)) == f"{found.energy_pj / 1e9:.2f}"
    # the tree is valid, and operations grow only where something is made again
    assert schedule.evaluated().operations == found.operations
    assert (found.repeated_operations > 0) == (mode != "fully cached")


def test_there_are_as_many_schedules_as_in_the_paper(script: ModuleType) -> None:
    assert len(script.MODES) * len(script.TILES_X) * len(script.TILES_Y) == 108


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recompute", "h-cached", "cached", "comparison"])
def test_the_tables_are_what_the_script_computes(script: ModuleType, name: str) -> None:
    assert f"<!-- table: {name} -->\n\n{script.markdown(script.TABLES[name]())}\n" in PAGE
