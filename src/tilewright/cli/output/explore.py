"""What the command `explore` tells while it runs, and does with its result."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter
from typing import TYPE_CHECKING

from tilewright.architecture.writing import dump_architecture
from tilewright.cli.output.files import STANDARD_OUTPUT, write_file, write_out
from tilewright.cli.output.rendering import width
from tilewright.errors import InputError
from tilewright.exploration import Certificate, Exploration

if TYPE_CHECKING:
    from tilewright.cli.commands.explore import Files

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


def put_exploration(found: Exploration, files: Files, design: int | None) -> None:
    """Write an exploration into the files that were asked for, and show it as a table.

    A file for a machine gets that of the design with a number, or of the first of the front.
    """
    if files.csv is not None:
        write_file(files.csv, found.to_frame().to_csv(index=False))
    if files.parquet is not None:
        write_parquet(found, files.parquet)
    if files.report is not None:
        from tilewright.report.exploration import exploration_html

        write_file(files.report, exploration_html(found))
    if files.machine is not None and found.front:
        place = place_on_front(found, design)
        write_file(files.machine, dump_architecture(found.architecture(place)))
    if files.json == STANDARD_OUTPUT:
        write_out(found.to_json())
        return
    if files.json is not None:
        write_file(files.json, found.to_json() + "\n")
    write_out(found.text(width()))


def place_on_front(found: Exploration, design: int | None) -> int:
    """Return the place on the front of a design, by its number; None for the first.

    Raises
    ------
    InputError
        When it is not on the front.
    """
    numbers = [point.index for point in found.front]
    if design is None:
        return 0
    if design not in numbers:
        raise InputError(
            f"design {design} is not on the front; accepted: {', '.join(map(str, numbers))}",
            key="design",
        )
    return numbers.index(design)


def check_parquet(path: str | None) -> None:
    """Refuse to begin when a Parquet file is wanted that cannot be written."""
    if path is not None and find_spec("pyarrow") is None:
        raise InputError(
            "Parquet files need the package pyarrow: pip install 'tilewright[parquet]'",
            key="--parquet",
        )


def write_parquet(found: Exploration, path: str) -> None:
    """Write the front as a Parquet file."""
    try:
        found.to_frame().to_parquet(path, index=False)
    except OSError as failure:
        raise InputError(f"cannot be written: {failure.strerror}", source=path) from None
