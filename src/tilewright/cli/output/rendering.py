"""Tables as they are shown on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from io import StringIO
from shutil import get_terminal_size

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

UNLIMITED_WIDTH = 400


class Plain(StringIO):
    """Text for the standard output: where that is not in Unicode, lines are of minus signs."""

    encoding = property(lambda self: getattr(sys.stdout, "encoding", None) or "utf-8")


def rendered(*parts: RenderableType) -> str:
    """Return what rich makes of some parts: in colour and as wide as the terminal, if it is one."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    text = Plain()
    console = Console(
        file=text,
        force_terminal=terminal,
        # a pipe has no width: nothing is cut off
        width=get_terminal_size().columns if terminal else UNLIMITED_WIDTH,
        highlight=False,
        markup=False,
    )
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str]) -> Table:
    """Return a table; columns that are not named in `left` are flush right."""
    result = Table(box=SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        result.add_column(header, justify="left" if header in left else "right", overflow="fold")
    for row in rows:
        # plain text: names may look like markup
        result.add_row(*(Text(cell) for cell in row))
    return result
