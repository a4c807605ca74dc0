"""What has been solved, in memory or in a file that survives whatever happens to the process."""

from __future__ import annotations

import sqlite3
from os import PathLike

from tilewright.errors import InputError

Answer = tuple[float, float] | None


class Store:
    """Energy and cycles of layers on machines, under keys that stand for all they depend on.

    Parameters
    ----------
    path : path, optional
        An SQLite file, made when it is not there; in memory without it. Each answer is written at
        once, so that a killed process loses what it was at work on and nothing else.
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self._answers: dict[str, Answer] = {}
        self._file: sqlite3.Connection | None = None
        if path is None:
            return
        try:
            self._file = sqlite3.connect(path, timeout=60)
            with self._file:
                self._file.execute(
                    "create table if not exists answers "
                    "(key text primary key, energy_pj real, cycles real)"
                )
            for key, energy, cycles in self._file.execute("select * from answers"):
                self._answers[key] = None if energy is None else (energy, cycles)
        except sqlite3.Error as failure:
            raise InputError(
                f"cannot be used as a store: {failure}; a file that is not there, or one that "
                "'explore' made, is accepted",
                source=str(path),
            ) from None

    def __len__(self) -> int:
        return len(self._answers)

    def __contains__(self, key: str) -> bool:
        return key in self._answers

    def __getitem__(self, key: str) -> Answer:
        """Return energy in pJ and cycles, or None where there is no mapping."""
        return self._answers[key]

    def __setitem__(self, key: str, answer: Answer) -> None:
        """Keep an answer."""
        self._answers[key] = answer
        if self._file is not None:
            with self._file:
                self._file.execute(
                    "insert or replace into answers values (?, ?, ?)",
                    (key, *(answer or (None,) * 2)),
                )

    def close(self) -> None:
        """Close the file; the answers stay readable."""
        if self._file is not None:
            self._file.close()
            self._file = None
