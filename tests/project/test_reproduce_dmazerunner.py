"""The quick tables of dMazeRunner's reproduction are those of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduce import dmazerunner

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("table", "page"),
    [("examples", "reproductions/dmazerunner.md"), ("counts", "dmazerunner.md")],
)
def test_the_page_has_the_table(table: str, page: str) -> None:
    lines = dmazerunner.TABLES[table]().splitlines()
    shown = "\n".join(line.rstrip() for line in lines)
    assert shown in (DOCS / page).read_text(encoding="utf-8")
