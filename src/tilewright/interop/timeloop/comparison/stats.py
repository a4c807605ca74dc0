"""Statistics that Timeloop writes: ``timeloop-model.stats.txt`` and the like."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewright.errors import InputError

LEVEL = re.compile(r"=== (?P<name>\S+) ===")
TENSOR = re.compile(r"    (?P<name>[A-Za-z_]\w*):")
VALUE = re.compile(r"\s+(?P<key>[^:]+?)\s*: (?P<value>[-+.\deE]+)\s*")
SUMMARY = re.compile(r"(?P<key>Cycles|Utilization): (?P<value>[-+.\deE]+)%?")
# statistics with sparsity have several counts of each kind: the first is that of dense data
KEYS = {
    "reads": ("Algorithmic scalar reads (per-instance)", "Scalar reads (per-instance)"),
    "fills": ("Algorithmic scalar fills (per-instance)", "Scalar fills (per-instance)"),
    "updates": ("Algorithmic scalar updates (per-instance)", "Scalar updates (per-instance)"),
}
INSTANCES = "Utilized instances (max)"


@dataclass(frozen=True)
class Accesses:
    """Words of a tensor at a level, all instances together.

    Attributes
    ----------
    reads : float
        Words read: sent inward, or for the next update.
    fills : float
        Words that arrive from outside.
    updates : float
        Words, partial sums or results, that arrive from inside.
    """

    reads: float
    fills: float
    updates: float


@dataclass(frozen=True)
class Stats:
    """What Timeloop counted.

    Attributes
    ----------
    levels : mapping of level to mapping of tensor to Accesses
        Storage levels.
    cycles : float or None
        Cycles of the run.
    utilization : float or None
        Share of the arithmetic units' cycles that are used, 0 to 1.
    sparse : bool
        Whether cycles leave out operations on zeros; accesses are those of dense data.
    """

    levels: dict[str, dict[str, Accesses]]
    cycles: float | None
    utilization: float | None
    sparse: bool = False


def read_stats(text: str, source: str) -> Stats:
    """Return the statistics in a text.

    Raises
    ------
    InputError
        When there are none.
    """
    levels: dict[str, dict[str, Accesses]] = {}
    summary: dict[str, float] = {}
    level = tensor = ""
    values: dict[str, float] = {}

    def close() -> None:
        found = accesses(values)
        if level and tensor and found is not None:
            levels.setdefault(level, {})[tensor] = found
        values.clear()

    for line in text.splitlines():
        if match := LEVEL.fullmatch(line.strip()):
            close()
            level, tensor = match["name"], ""
        elif match := TENSOR.fullmatch(line):
            close()
            tensor = match["name"]
        elif match := SUMMARY.fullmatch(line):
            close()
            level = ""
            summary[match["key"]] = number(match["value"], source)
        elif tensor and (match := VALUE.fullmatch(line)):
            values.setdefault(match["key"], number(match["value"], source))
    close()
    if not levels:
        raise InputError("has no statistics of Timeloop's storage levels", source=source)
    utilization = summary.get("Utilization")
    share = None if utilization is None else utilization / 100
    return Stats(levels, summary.get("Cycles"), share, "Algorithmic scalar reads" in text)


def accesses(values: dict[str, float]) -> Accesses | None:
    """Return the accesses that the lines about a tensor give; None when there are none."""
    found = {}
    for name, keys in KEYS.items():
        given = next((values[key] for key in keys if key in values), None)
        if given is None:
            return None
        found[name] = given * values.get(INSTANCES, 1.0)
    return Accesses(**found)


def number(text: str, source: str) -> float:
    """Return a number of a file."""
    try:
        return float(text)
    except ValueError:
        raise InputError(f"expected a number, found '{text}'", source=source) from None
