"""Timeloop's architectures as machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.architecture.technology.files import technology_names
from tilewright.document import Document, KeyPath, describe
from tilewright.errors import InputError
from tilewright.interop.timeloop.constraints import read_constraints
from tilewright.interop.timeloop.report import Report
from tilewright.interop.timeloop.tree import Part, read_tree

UNBOUNDED = 2**50
WORD_BITS = 16
MEANT = (
    "depth", "width", "entries", "sizeKB", "size_kb", "block_size", "word_bits", "datawidth",
    "cluster_size", "read_bandwidth", "write_bandwidth", "shared_bandwidth", "multiple_buffering",
    "technology", "meshX", "instances", "name", "vector_access_energy", "energy_per_op",
    "global_cycle_seconds", "min_utilization", "class",
)  # fmt: skip


def is_architecture(document: Document) -> bool:
    """Whether a file has an architecture of Timeloop."""
    data = document.data
    return isinstance(data, dict) and any(
        isinstance(data.get(key), dict)
        and {"nodes", "subtree", "local", "storage"} & set(data[key])
        for key in ("architecture", "arch")
    )


def read_architecture(document: Document, report: Report) -> Architecture:
    """Return the machine of an architecture.

    Parameters
    ----------
    document : Document
        With the key ``architecture``: nodes of version 0.4, or the older trees and lists.
    report : Report
        Takes what is left out.

    Raises
    ------
    InputError
        When it is malformed or no chain of memories and arrays.
    """
    key = "architecture" if "architecture" in document.data else "arch"
    parts = read_tree(document, (key,), report)
    levels: list[dict[str, Any]] = []
    lines: dict[KeyPath, int] = {}
    for part in parts:
        i = len(levels)
        levels.append(level_of(document, part, report, outermost=i == 0))
        line = document.line(part.path)
        if line is not None:
            lines[("levels", i)] = line
    name = machine_name(document.data[key])
    data: dict[str, Any] = {"name": name, "clock": clock(document, key), "levels": levels}
    plain = Document(data, document.source, lines)
    parse_architecture(plain)
    notes = priced(plain, parts)
    machine = parse_architecture(plain)
    constraints = read_constraints(document, parts, machine, report)
    notes += [str(remark) for remark in report.changing]
    return replace(machine, constraints=constraints, notes=(*machine.notes, *notes))


def machine_name(data: dict[str, Any]) -> str:
    """Return the name of an architecture: its own, or that of its outermost container."""
    nodes = data.get("nodes") or data.get("subtree") or [{}]
    first = nodes[0] if isinstance(nodes, list) else nodes
    for item in (data, first):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name.strip():
            return name
    return "timeloop"


def clock(document: Document, key: str) -> str:
    """Return the clock: one over the cycle that variables or the architecture give, or 1 GHz."""
    for path in (("variables",), (key, "variables"), (key, "attributes")):
        data = document.data
        for step in path:
            data = data.get(step) if isinstance(data, dict) else None
        seconds = data.get("global_cycle_seconds") if isinstance(data, dict) else None
        if isinstance(seconds, str):
            try:
                seconds = float(seconds)
            except ValueError:
                seconds = None
        if isinstance(seconds, int | float) and seconds > 0:
            return f"{1 / seconds:.12g} Hz"
    return "1 GHz"


def level_of(document: Document, part: Part, report: Report, *, outermost: bool) -> dict[str, Any]:
    """Return a part as a level of an architecture file."""
    if part.kind == "array":
        return {"array": part.name, "axes": dict(part.attributes)}
    for key in part.attributes:
        place = (*part.path, "attributes", key)
        if key in MEANT:
            report.understand(place)
        elif place in document.lines:
            report.ignore(document, place, "changes no count of words")
    if part.kind == "compute":
        energy = number(document, part, "energy_per_op")
        return {"compute": part.name, "energy": 0.0 if energy is None else energy}
    return memory_of(document, part, report, outermost=outermost)


def memory_of(document: Document, part: Part, report: Report, *, outermost: bool) -> dict[str, Any]:
    """Return a memory as a level of an architecture file."""
    bits = whole(document, part, "word_bits") or whole(document, part, "datawidth") or WORD_BITS
    cluster = whole(document, part, "cluster_size") or 1
    width = whole(document, part, "width")
    block = whole(document, part, "block_size") or max(1, (width or bits) // (bits * cluster))
    level: dict[str, Any] = {"memory": part.name, "word": f"{bits} bits"}
    words = whole(document, part, "entries")
    depth = whole(document, part, "depth")
    kilobytes = number(document, part, "sizeKB") or number(document, part, "size_kb")
    if words is None and depth is not None:
        words = depth * block
    elif words is None and kilobytes is not None:
        words = int(kilobytes * 8192 // bits)
    buffers = number(document, part, "multiple_buffering") or 1.0
    if words is not None and part.component_class.lower() != "dram":
        if buffers not in (1.0, 2.0):
            words = int(words / buffers)
        level["size"] = f"{words * bits} bits"
    elif not outermost:
        level["size"] = f"{UNBOUNDED} bits"
        report.open(document, part.path, f"'{part.name}' has no size: taken as 2^50 bits")
    if buffers == 2.0:
        level["buffering"] = "double"
    rates = {}
    for kind in ("read", "write", "shared"):
        rate = number(document, part, f"{kind}_bandwidth")
        if rate is not None:
            rates[kind] = rate
    if rates:
        level["bandwidth"] = rates
    energy = number(document, part, "vector_access_energy")
    each = 0.0 if energy is None else energy / block
    level["energy"] = {"read": each, "write": each}
    return level


def priced(document: Document, parts: list[Part]) -> list[str]:
    """Give levels without energies those of a table for their technology; return what was done."""
    notes = []
    without = []
    for i, part in enumerate(parts):
        given = {"memory": "vector_access_energy", "compute": "energy_per_op"}.get(part.kind)
        if given is None or given in part.attributes:
            continue
        node = str(part.attributes.get("technology", "")).lower()
        found = None if not node else price(document, i, node)
        if found is None:
            without.append(part.name)
        else:
            notes.append(f"{part.name}: energies of table {found}, not of Timeloop's estimators")
    if without:
        notes.append(f"no energies are known of {', '.join(without)}: taken as 0")
    return notes


def price(document: Document, i: int, node: str) -> str | None:
    """Let the first table of a technology that has a level's energy give it; return its name."""
    level = document.data["levels"][i]
    for name in technology_names():
        if not name.endswith(f"-{node}"):
            continue
        trial = {key: value for key, value in level.items() if key != "energy"}
        trial["technology"] = name
        document.data["levels"][i] = trial
        try:
            parse_architecture(document)
        except InputError:
            document.data["levels"][i] = level
            continue
        return name
    return None


def number(document: Document, part: Part, key: str) -> float | None:
    """Return a number among the attributes of a part; None when it is not there."""
    value = part.attributes.get(key)
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            value = None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < 2**60:
        raise document.error(
            f"expected a number, found {describe(part.attributes[key])}; expressions are not run",
            (*part.path, "attributes", key),
        )
    return float(value)


def whole(document: Document, part: Part, key: str) -> int | None:
    """Return a whole number of at least 1 among the attributes; None when it is not there."""
    value = number(document, part, key)
    if value is None:
        return None
    if not value.is_integer() or value < 1:
        raise document.error(
            f"expected a whole number of at least 1, found {describe(part.attributes[key])}",
            (*part.path, "attributes", key),
        )
    return int(value)
