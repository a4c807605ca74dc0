"""Plain text: tables and sentences as wide as there is room for, and messages."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Sequence
from html import escape
from shutil import get_terminal_size
from textwrap import wrap
from typing import TextIO

from tilewright.errors import ReaderGoneError

READABLE = 100  # longer lines of prose are hard to read
SHORT = {"utilization": "util.", "proven optimum": "optimum"}
LEAST = 14  # a column of words is not made narrower
GAP = 2

Row = Sequence[str]
Cells = tuple[tuple[str, ...], ...]  # the lines of each cell of a row


def aligned(
    rows: Sequence[Row],
    left: Collection[int] = (),
    *,
    width: int | None = None,
    drop: Sequence[str] = (),
    gap: int = GAP,
    rule: str = "",
) -> list[str]:
    """Return rows as lines of equal columns.

    Where there is too little room, units go below the names of columns, then columns are left out,
    then words are wrapped. A number is never cut, and no word.

    Parameters
    ----------
    rows : sequence of sequences of str
        Cells; the first row has the names of the columns, with their units in parentheses.
    left : collection of int
        Columns that are flush left; they are words, which may be wrapped.
    width : int, optional
        Characters that there is room for; by default any number.
    drop : sequence of str
        Names of columns, with their units, that may be left out: the first one first.
    gap : int
        Blanks between columns, where there is room.
    rule : str
        Character of a line below the names of the columns; by default there is none.

    Returns
    -------
    list of str
        Lines without blanks at their ends. The last one says which columns were left out, if any.
    """
    assert len({len(row) for row in rows}) == 1, "every row has a cell for each column"
    table: list[Cells] = [tuple((cell,) for cell in row) for row in rows]
    shown = list(range(len(rows[0])))
    widths = natural(table)
    if width is not None and total(widths, shown, gap) > width:
        gap = GAP
    if width is not None and total(widths, shown, gap) > width:
        for whole in (True, False):  # units in one line, if there is room
            table[0] = tuple(
                stacked(name, max((len(row[i]) for row in rows[1:]), default=0), whole)
                for i, name in enumerate(rows[0])
            )
            widths = natural(table)
            if total(widths, shown, gap) <= width:
                break
        for name in drop:
            if total(widths, shown, gap) > width and name in rows[0]:
                shown.remove(rows[0].index(name))
        words = [i for i in shown if i in left]
        narrowed(table, widths, words, total(widths, shown, gap) - width)
    lines = []
    height = max(len(table[0][i]) for i in shown)
    # names of one line stand where the others end
    table[0] = tuple((*("",) * (height - len(cell)), *cell) for cell in table[0])
    for at, row in enumerate(table):
        height = max(len(row[i]) for i in shown)
        lines += [line(row, shown, widths, left, gap, part) for part in range(height)]
        if at == 0 and rule:
            lines.append(rule * total(widths, shown, gap))
    if missing := [name for i, name in enumerate(rows[0]) if i not in shown]:
        lines += wrapped(f"(no room for: {', '.join(missing)})", width).splitlines()
    return lines


def line(
    row: Sequence[tuple[str, ...]], shown: Sequence[int], widths: Sequence[int],
    left: Collection[int], gap: int, part: int,
) -> str:  # fmt: skip
    """Return one line of a row whose cells may have several."""
    cells = ((i, row[i][part] if part < len(row[i]) else "") for i in shown)
    padded = (c.ljust(widths[i]) if i in left else c.rjust(widths[i]) for i, c in cells)
    return (" " * gap).join(padded).rstrip()


def natural(table: Sequence[Cells]) -> list[int]:
    """Return how wide the columns of a table are."""
    return [max(len(part) for row in table for part in row[i]) for i in range(len(table[0]))]


def total(widths: Sequence[int], shown: Sequence[int], gap: int) -> int:
    """Return how wide a table is."""
    return sum(widths[i] for i in shown) + gap * (len(shown) - 1)


def stacked(name: str, width: int, whole: bool) -> tuple[str, ...]:
    """Return the name of a column in several lines, with its unit on lines of its own."""
    if len(name) <= width or not name:
        return (name,)
    before, bracket, unit = name.partition(" (")
    width = max(width, 5, len(unit) + 1 if whole else 0)
    lines = wrap(SHORT.get(before, before), width, break_long_words=False)
    return (*lines, *(wrap(f"({unit}", width, break_long_words=False) if bracket else ()))


def narrowed(table: list[Cells], widths: list[int], words: Sequence[int], excess: int) -> None:
    """Wrap the cells of columns of words, the widest first, until the table is narrower."""
    while excess > 0 and words:
        widest = max(words, key=lambda i: widths[i])
        if widths[widest] <= LEAST:
            return
        others = [widths[i] for i in words if i != widest]
        least = max(LEAST, min(widths[widest] - 1, max(others, default=LEAST)))
        target = max(widths[widest] - excess, least)
        for at, row in enumerate(table):
            cell = wrap(" ".join(row[widest]), target, break_long_words=False) or [""]
            table[at] = (*row[:widest], tuple(cell), *row[widest + 1 :])
        before = widths[widest]
        widths[widest] = natural(table)[widest]
        excess -= before - widths[widest]
        if widths[widest] > target:
            words = [i for i in words if i != widest]


def wrapped(text: str, width: int | None) -> str:
    """Return prose with lines that are at most so wide, wrapped at blanks."""
    if width is None:
        return text
    width = min(width, READABLE)
    lines = []
    for line_ in text.splitlines():
        indent = " " * (len(line_) - len(line_.lstrip()))
        more = indent + ("  " if indent else "")
        lines += wrap(
            line_, width, subsequent_indent=more, break_long_words=False, break_on_hyphens=False
        ) if len(line_) > width else [line_]  # fmt: skip
    return "\n".join(lines)


def room(stream: TextIO | None) -> int | None:
    """Return how many characters a line of a stream can have; None where that is no terminal.

    The environment variable ``COLUMNS`` says so for files and pipes as well.
    """
    try:
        if stream is not None and (stream.isatty() or os.environ.get("COLUMNS", "").isdigit()):
            return max(get_terminal_size().columns, 40)
    except ValueError:
        pass  # the stream is closed
    return None


def html_table(title: str, headers: Row, rows: Sequence[Row]) -> str:
    """Return a table for notebooks, with a title above it."""
    head = "".join(f"<th>{escape(name)}</th>" for name in headers)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<p>{escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )


def number(value: float) -> str:
    """Return a number with two decimals, or with four digits when that would show too few."""
    return f"{value:,.2f}" if 1 <= value < 1e9 or value == 0 else f"{value:.4g}"


def percent(share: float) -> str:
    """Return a share in percent; what is not zero does not look like it."""
    return f"{share:.1%}" if share == 0 or abs(share) >= 0.0005 else "<0.1%"


def say(message: str) -> None:
    """Write a message to the standard error stream, if there is one that takes it.

    Raises
    ------
    ReaderGoneError
        When nobody reads it any more.
    """
    if sys.stderr is None:
        return
    try:
        print(wrapped(message, room(sys.stderr)), file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError:
        pass  # a full disk takes no messages; what was asked for goes on
