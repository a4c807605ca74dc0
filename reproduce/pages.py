"""Tables that scripts put into the pages of the documentation."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Rows = list[Sequence[str]]


def markdown(rows: Rows) -> str:
    """Return a table in Markdown."""
    head, *rest = rows
    lines = [head, ["---"] * len(head), *rest]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def publish(tables: Mapping[str, Callable[[], Rows]], page: Path) -> bool:
    """Print tables, and put them into a page with --write; return whether they were.

    A table follows the comment ``<!-- table: name -->``.
    """
    text = page.read_text(encoding="utf-8")
    for name, rows in tables.items():
        table = markdown(rows())
        print(table, end="\n\n", flush=True)
        text = re.sub(
            rf"(<!-- table: {name} -->\n\n).*?(?=\n\n|\n?\Z)", lambda m, t=table: m[1] + t, text,
            flags=re.DOTALL,
        )  # fmt: skip
    if "--write" in sys.argv:
        page.write_text(text, encoding="utf-8")
    return "--write" in sys.argv
