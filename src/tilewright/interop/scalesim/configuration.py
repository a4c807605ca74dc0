"""Configurations of SCALE-Sim as machines: a systolic array below three buffers.

Energies are no part of a configuration: they are those of CACTI 7 at 45 nm for words of a byte,
which the machine says in its notes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.document import Document, describe, read_text
from tilewright.errors import InputError, nearest

TECHNOLOGY = "cacti7-45nm"
# by dataflow: the tensor that stays in the elements; what rows and columns of the array unroll
DATAFLOWS = {
    "os": ("O", "I&O", "W&O"),
    "ws": ("W", "I&W", "W&O"),
    "is": ("I", "I&W", "I&O"),
}
SECTION = re.compile(r"\[([^\]]*)\]")
PAIR = re.compile(r"([^:=]+)[:=](.*)")
KNOWN = {
    "general": {"run_name"},
    "run_presets": {"interfacebandwidth"},
    "architecture_presets": {
        "arrayheight", "arraywidth", "ifmapsramszkb", "filtersramszkb", "ofmapsramszkb",
        "dataflow", "bandwidth",
    },
}  # fmt: skip
# addresses, and names of files: nothing that a count depends on
HARMLESS = {
    "ifmapoffset", "filteroffset", "ofmapoffset", "topologycsvloc", "memorybanks",
    "randomnumbergeneratorseed",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A key of a configuration: its value and its line."""

    value: str
    line: int


class Configuration:
    """The sections of a configuration; keys in any case, as SCALE-Sim reads them.

    Parameters
    ----------
    text, source : str
        What the file holds, and its name.
    """

    def __init__(self, text: str, source: str) -> None:
        self.source = source
        self.sections: dict[str, dict[str, Entry]] = {}
        here: dict[str, Entry] | None = None
        for i, line in enumerate(text.splitlines(), start=1):
            plain = line.strip()
            if not plain or plain[0] in "#;":
                continue
            if found := SECTION.fullmatch(plain):
                here = self.sections.setdefault(found[1].strip().lower(), {})
            elif here is None or not (pair := PAIR.fullmatch(plain)):
                raise InputError(
                    f"expected [section] or 'key: value', found {describe(plain)}",
                    source=source, line=i,
                )  # fmt: skip
            else:
                key = pair[1].strip().lower()
                if key in here:
                    raise InputError(
                        f"key '{key}' occurs twice (first on line {here[key].line})",
                        source=source, line=i,
                    )  # fmt: skip
                here[key] = Entry(pair[2].strip(), i)

    def entry(self, section: str, key: str) -> Entry:
        """Return a key that has to be there."""
        keys = self.sections.get(section)
        if keys is None:
            others = [name for name in self.sections if name not in KNOWN]
            raise InputError(
                f"has no section [{section}] with the key '{key}'{nearest(section, others)}",
                source=self.source,
            )
        if key.lower() not in keys:
            raise InputError(
                f"missing key '{key}' in [{section}]{nearest(key, keys)}", source=self.source
            )
        return keys[key.lower()]

    def error(self, entry: Entry, key: str, message: str) -> InputError:
        """Return an error that points at a key."""
        return InputError(message, source=self.source, line=entry.line, key=key)

    def size(self, key: str) -> int:
        """Return a whole number of the architecture."""
        entry = self.entry("architecture_presets", key)
        text = entry.value
        if not (text.isascii() and text.isdigit()) or not 0 < int(text[:20]) <= 2**32:
            raise self.error(
                entry, key, f"expected a whole number from 1 to 2^32, found {describe(text)}"
            )
        return int(text)

    def without_meaning(self) -> Iterable[str]:
        """Yield the keys that have no meaning here, but might have one in SCALE-Sim."""
        for section, keys in self.sections.items():
            for key, entry in keys.items():
                off = entry.value.lower() in ("false", "0", "off", "none")
                if key not in KNOWN.get(section, ()) and key not in HARMLESS and not off:
                    yield f"[{section}] {key}: {entry.value[:40]}"


def load_configuration(path: str | Path) -> Architecture:
    """Return the machine of a configuration.

    DRAM, three double-buffered memories (one with a part for each tensor), an array that multicasts
    and adds up, and a register in each element for the tensor that the dataflow keeps there.
    ``os`` unrolls pixels of the output along rows, ``ws`` and ``is`` what is summed; columns unroll
    filters, or pixels for ``is``.

    Raises
    ------
    InputError
        With the line of the first thing that is wrong.
    """
    source = str(path)
    given = Configuration(read_text(path), source)
    flow_entry = given.entry("architecture_presets", "Dataflow")
    flow = flow_entry.value.lower()
    if flow not in DATAFLOWS:
        names = ", ".join(DATAFLOWS)
        raise given.error(
            flow_entry, "Dataflow",
            f"no dataflow '{flow_entry.value}'; accepted: {names}{nearest(flow, DATAFLOWS)}",
        )  # fmt: skip
    stays, rows, columns = DATAFLOWS[flow]
    height, width = given.size("ArrayHeight"), given.size("ArrayWidth")
    buffers = {
        "I": given.size("IfmapSramSzkB"), "W": given.size("FilterSramSzkB"),
        "O": given.size("OfmapSramSzkB"),
    }  # fmt: skip
    outside: dict[str, Any] = {"memory": "DRAM", "word": "8 bits"}
    words = bandwidth(given)
    if words is not None:
        # an interface of its own for each of the three buffers
        outside["bandwidth"] = {"read": 2 * words, "write": words}
    name = given.sections.get("general", {}).get("run_name", Entry(Path(path).stem, 0)).value
    data = {
        "name": name or Path(path).stem,
        "technology": TECHNOLOGY,
        "source": f"SCALE-Sim configuration {source}",
        "levels": [
            outside,
            {
                "memory": "SRAM",
                "size": {tensor: f"{size} KiB" for tensor, size in buffers.items()},
                "word": "8 bits",
                "buffering": "double",
            },
            {
                "array": "PE",
                "axes": {"rows": height, "columns": width},
                "network": {"multicast": True, "reduction": True},
            },
            {
                "memory": "REG",
                "size": "1 words",
                "word": "8 bits",
                "keep": [stays],
                "must_keep": [stays],
            },
            {"compute": "MAC", "word": "8 bits"},
        ],
        "constraints": [
            {"at": "PE", "axis": "rows", "dims": [rows]},
            {"at": "PE", "axis": "columns", "dims": [columns]},
        ],
    }
    machine = parse_architecture(Document(data, source))
    notes = [f"energies of {TECHNOLOGY}, words of 8 bits: a configuration of SCALE-Sim has none"]
    ignored = list(given.without_meaning())
    if ignored:
        notes.append(f"no meaning here: {'; '.join(ignored[:20])}")
    return replace(machine, notes=(*machine.notes, *notes))


def bandwidth(given: Configuration) -> float | None:
    """Return words per cycle of an interface to DRAM, all banks together; None for no limit."""
    mode = given.entry("run_presets", "InterfaceBandwidth")
    if mode.value.upper() == "CALC":
        return None
    if mode.value.upper() != "USER":
        raise given.error(
            mode, "InterfaceBandwidth", f"expected USER or CALC, found {describe(mode.value)}"
        )
    entry = given.entry("architecture_presets", "Bandwidth")
    total = 0.0
    for part in entry.value.split(","):
        try:
            words = float(part)
        except ValueError:
            words = 0.0
        if not isfinite(words) or not 0 < words <= 1e12:
            raise given.error(
                entry, "Bandwidth",
                f"expected words per cycle of each bank, such as 10 or 10,10; "
                f"found {describe(entry.value)}",
            )  # fmt: skip
        total += words
    return total
