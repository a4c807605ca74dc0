"""The least value that anything has ever found for each case."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from benchmarks.park.case import Case
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.text import mapping_text

FILE = Path(__file__).parent / "known.json"


@dataclass(frozen=True)
class Known:
    """Least values by case, kept in a file.

    Attributes
    ----------
    path : Path
    entries : dict
        By key of the case: its digest, and by tile sizes the value, who found it, and a mapping
        where the mapper did not.
    """

    path: Path
    entries: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, path: Path = FILE) -> Known:
        """Read what is known."""
        return cls(path, json.loads(path.read_text()) if path.exists() else {})

    def best(self, case: Case, tiles: str) -> float:
        """Return the least value of a case; infinite where none is known.

        What divides is among all sizes.
        """
        entry = self.entries.get(case.key, {})
        if entry.get("digest") != case.digest:
            return inf
        spaces = (DIVISORS, ALL) if tiles == ALL else (DIVISORS,)
        return min((entry[space]["value"] for space in spaces if space in entry), default=inf)

    def add(
        self, case: Case, tiles: str, value: float, source: str, mapping: Mapping | None = None
    ) -> None:
        """Keep a value if it is less than what is known, and write the file.

        With a mapping a value can be told again, whoever found it.
        """
        if value >= self.best(case, tiles):
            return
        if self.entries.get(case.key, {}).get("digest") != case.digest:
            self.entries[case.key] = {"digest": case.digest}
        entry = self.entries[case.key][tiles] = {"value": value, "by": source}
        if mapping is not None:
            entry["mapping"] = mapping_text(mapping, case.layer, case.machine)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.entries, indent=1, sort_keys=True) + "\n")
        os.replace(new, self.path)
