"""Plain text: tables, and messages."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tilewright.errors import ReaderGoneError


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines, the first column flush left and the others flush right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


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
        print(message, file=sys.stderr, flush=True)
    except BrokenPipeError:
        raise ReaderGoneError from None
    except OSError:
        pass  # a full disk takes no messages; what was asked for goes on
