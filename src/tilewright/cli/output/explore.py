"""What the command `explore` tells while it runs, and does with its result."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter

from tilewright.cli.output.files import STANDARD_OUTPUT, write_file, write_out
from tilewright.cli.output.rendering import width
from tilewright.exploration import Certificate, Exploration

INTERVAL = 2.0


class ProgressLine:
    """Tells every two seconds how far an exploration is, when somebody is there to see it.

    Parameters
    ----------
    say : callable
        Takes a line.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say if sys.stderr.isatty() else None
        self._start = self._told = perf_counter()

    def __call__(self, certificate: Certificate, front: int) -> None:
        """Tell what is decided, if it is time."""
        now = perf_counter()
        if self._say is None or now - self._told < INTERVAL:
            return
        self._told = now
        decided = certificate.designs - certificate.open
        self._say(
            f"{decided:,} of {certificate.designs:,} designs decided "
            f"({decided / (now - self._start):,.0f} a second), {certificate.solved:,} solved, "
            f"{front} on the front"
        )


def put_exploration(found: Exploration, json: str | None, csv: str | None) -> None:
    """Write an exploration as JSON and CSV, and show it as a table."""
    if csv is not None:
        write_file(csv, found.to_frame().to_csv(index=False))
    if json == STANDARD_OUTPUT:
        write_out(found.to_json())
        return
    if json is not None:
        write_file(json, found.to_json() + "\n")
    write_out(found.text(width()))
