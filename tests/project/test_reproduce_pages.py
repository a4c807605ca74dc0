"""Tables of reproductions are put where the page has a mark."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from reproduce.pages import publish

BEFORE = """# Page

<!-- table: a -->

| old |
| --- |

Between.

<!-- table: b -->

| old |
| --- |
"""


def test_tables_replace_those_behind_their_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.md"
    page.write_text(BEFORE)
    tables = {name: lambda name=name: [("x", name), ("1", "2")] for name in "ab"}
    monkeypatch.setattr(sys, "argv", ["script"])
    assert not publish(tables, page)
    assert page.read_text() == BEFORE
    monkeypatch.setattr(sys, "argv", ["script", "--write"])
    assert publish(tables, page)
    text = page.read_text()
    for name in "ab":
        assert (
            f"<!-- table: {name} -->\n\n| x | {name} |\n| --- | --- |\n| 1 | 2 |\n" in f"{text}\n"
        )
    assert "Between." in text and "old" not in text
