"""Titles, tables and sentences as they are shown on the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from tilewright.text import aligned, room, wrapped

BOLD = "\x1b[1m", "\x1b[0m"


def width() -> int | None:
    """Return how wide the terminal is; None for a pipe, in which nothing is cut off."""
    return room(sys.stdout)


def bold(text: str) -> str:
    """Return a text in bold, where the standard output is a terminal that can show it."""
    out = sys.stdout
    plain = out is None or not out.isatty() or os.name == "nt" or os.environ.get("TERM") == "dumb"
    return text if plain or not text else f"{BOLD[0]}{text}{BOLD[1]}"


def title(text: str) -> str:
    """Return the first line of what a command shows."""
    return "\n".join(map(bold, wrapped(text, width()).splitlines()))


def prose(text: str) -> str:
    """Return sentences, wrapped at words."""
    return wrapped(text, width())


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: Sequence[str],
    drop: Sequence[str] = (),
    *,
    total: bool = False,
) -> str:
    """Return a table between empty lines; columns that are not named in `left` are flush right.

    Parameters
    ----------
    headers, rows : sequences of str
        Names of the columns, and the cells.
    left : sequence of str
        Names of columns of words.
    drop : sequence of str
        Names of columns that a narrow terminal does without, the first one first.
    total : bool
        Whether the last row stands apart from the others.
    """
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    rule = "─" if encoding.lower().startswith("utf") else "-"
    columns = [i for i, name in enumerate(headers) if name in left]
    most = width()
    lines = aligned(
        [headers, *rows], columns,
        width=most and most - 2, drop=drop, gap=3, rule=rule,
    )  # fmt: skip
    ending = [lines.pop()] if lines[-1].startswith("(no room") else []
    if total:
        lines[-1:] = ["", bold(lines[-1])]
    return "\n".join(["", *(f" {line}".rstrip() for line in [*lines, *ending]), ""])


def rendered(*parts: str) -> str:
    """Return titles, tables and sentences one below the other."""
    return "\n".join(parts)
