"""What the command `explore` tells while it runs, and does with its result."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from time import perf_counter

from tilewright.architecture.writing import dump_architecture
from tilewright.cli.output.files import STANDARD_OUTPUT, write_file, write_out
from tilewright.cli.output.rendering import width
from tilewright.errors import InputError
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


def put_exploration(found: Exploration, files: Files) -> None:
    """Write an exploration into the files that were asked for, and show it as a table."""
    if files.csv is not None:
        write_file(files.csv, found.to_frame().to_csv(index=False))
    if files.parquet is not None:
        write_parquet(found, files.parquet)
    if files.report is not None:
        from tilewright.report.exploration import exploration_html

        write_file(files.report, exploration_html(found))
    if files.machine is not None and found.front:
        write_file(files.machine, dump_architecture(found.architecture(files.point(found))))
    if files.json == STANDARD_OUTPUT:
        write_out(found.to_json())
        return
    if files.json is not None:
        write_file(files.json, found.to_json() + "\n")
    write_out(found.text(width()))


@dataclass(frozen=True)
class Files:
    """Where an exploration is written to; None for nowhere.

    Attributes
    ----------
    json, csv, parquet, report, machine : str or None
    design : int or None
        Number of the design whose machine is written; None for the first of the front.
    """

    json: str | None = None
    csv: str | None = None
    parquet: str | None = None
    report: str | None = None
    machine: str | None = None
    design: int | None = None

    def point(self, found: Exploration) -> int:
        """Return the place on the front of the design whose machine is written.

        Raises
        ------
        InputError
            When it is not on the front.
        """
        numbers = [point.index for point in found.front]
        if self.design is None:
            return 0
        if self.design not in numbers:
            raise InputError(
                f"design {self.design} is not on the front; accepted: "
                f"{', '.join(map(str, numbers))}",
                key="design",
            )
        return numbers.index(self.design)


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
