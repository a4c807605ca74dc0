"""What has been solved, in memory or in a file that survives whatever happens to the process."""

from __future__ import annotations

import sqlite3
from os import PathLike

from pydantic import TypeAdapter

from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping

MAPPING = TypeAdapter(Mapping)
Answer = tuple[float, float] | None


class Store:
    """Energy, cycles and mappings of layers on machines, under keys for all they depend on.

    Parameters
    ----------
    path : path, optional
        An SQLite file, made when it is not there; in memory without it. Each answer is written at
        once, so that a killed process loses what it was at work on and nothing else.
    """

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        self._answers: dict[str, Answer] = {}
        self._mappings: dict[str, Mapping] = {}
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
                self._file.execute(
                    "create table if not exists mappings (key text primary key, mapping text)"
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

    def keep(self, key: str, mapping: Mapping) -> None:
        """Keep the mapping of an answer."""
        self._mappings[key] = mapping
        if self._file is not None:
            text = MAPPING.dump_json(mapping).decode()
            with self._file:
                self._file.execute("insert or replace into mappings values (?, ?)", (key, text))

    def mapping(self, key: str) -> Mapping | None:
        """Return the mapping of an answer, or None where only its costs are known."""
        if key not in self._mappings and self._file is not None:
            found = self._file.execute("select mapping from mappings where key = ?", (key,))
            for (text,) in found:
                self._mappings[key] = MAPPING.validate_json(text)
        return self._mappings.get(key)

    def close(self) -> None:
        """Close the file; the answers stay readable."""
        if self._file is not None:
            self._file.close()
            self._file = None
