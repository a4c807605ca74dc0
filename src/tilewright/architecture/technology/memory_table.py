"""Memories by size, width, ports and banks, interpolated between computed points."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tilewright.architecture.technology.asked import Storage, StorageCost
from tilewright.architecture.technology.interpolation import log_log
from tilewright.architecture.units import size_text
from tilewright.document import describe
from tilewright.errors import InputError

COLUMNS = ("bytes", "width_bits", "ports", "banks", "read_pj", "write_pj", "area_mm2", "leakage_mw")
QUANTITIES = COLUMNS[4:]
Curve = tuple[tuple[int, float], ...]
# How HWComponents 1.0.40 scales memories that CACTI does not cover: it has at least 64 words of
# at least 32 bits. Energy follows 0.3 + 0.7 of the share of the width, and the power 0.78 of the
# share of the words; area and leakage follow both shares.
FEWEST_WORDS = 64
FIXED_SHARE = 0.3
WORDS_EXPONENT = 0.78


class OutOfTableError(ValueError):
    """A table does not reach as far as was asked."""


@dataclass(frozen=True)
class MemoryTable:
    """Costs of one access, area and leakage of memories of one process.

    Attributes
    ----------
    curves : mapping of int to mapping of str to curve
        By width in bits: energies in pJ per access, area in mm2 and leakage in mW, each by bytes.
    ports, banks : mapping of int to mapping of str to curve
        Factors, by bytes, of memories with more than one port, or more than one bank.
    """

    curves: Mapping[int, Mapping[str, Curve]]
    ports: Mapping[int, Mapping[str, Curve]]
    banks: Mapping[int, Mapping[str, Curve]]

    def cost(self, asked: Storage) -> StorageCost:
        """Return what a memory costs.

        Raises
        ------
        OutOfTableError
            When it is larger or wider than any of the table, or has more ports or banks.
        """
        if asked.size_bits is None:
            raise OutOfTableError("the memory is unbounded; the table has sizes")
        widths = sorted(self.curves)
        words = asked.size_bits / asked.width_bits
        deep, wide = max(words, FEWEST_WORDS), max(asked.width_bits, widths[0])
        share = (words / deep, asked.width_bits / wide)
        if wide > widths[-1]:
            raise OutOfTableError(
                f"{wide} bits at once are {wide / widths[-1]:.3g} times the widest access of the "
                f"table ({widths[-1]} bits)"
            )
        size = deep * wide / 8
        found = {name: self._at(name, size, wide) for name in QUANTITIES}
        for count, factors, what in (
            (asked.ports, self.ports, "ports"), (asked.banks, self.banks, "banks")
        ):  # fmt: skip
            for name, factor in _factors(factors, count, size, what).items():
                found[name] *= factor
        energy = (FIXED_SHARE + (1 - FIXED_SHARE) * share[1]) * share[0] ** WORDS_EXPONENT
        per_word = energy * asked.word_bits / asked.width_bits
        notes: tuple[str, ...] = ()
        if min(share) < 1:
            notes = (
                f"{words:.4g} words of {asked.width_bits} bits, scaled from {deep:.4g} words of "
                f"{wide} bits",
            )
        return StorageCost(
            found["read_pj"] * per_word,
            found["write_pj"] * per_word,
            found["area_mm2"] * share[0] * share[1],
            found["leakage_mw"] * share[0] * share[1],
            notes,
        )

    def _at(self, name: str, size: float, width: int) -> float:
        widths = sorted(self.curves)
        around = [w for w in widths if w <= width][-1:] + [w for w in widths if w >= width][:1]
        values = []
        for each in dict.fromkeys(around):
            curve = self.curves[each][name]
            if size > curve[-1][0]:
                raise OutOfTableError(
                    f"{size_text(round(size * 8))} read {width} bits at a time are "
                    f"{size / curve[-1][0]:.3g} times the largest memory of the table "
                    f"({size_text(curve[-1][0] * 8)})"
                )
            values.append((each, log_log(curve, max(size, curve[0][0]))))
        return log_log(values, width)


def _factors(
    factors: Mapping[int, Mapping[str, Curve]], count: int, size: float, what: str
) -> dict[str, float]:
    if count == 1:
        return {}
    if not factors or count > max(factors):
        most = max(factors, default=1)
        raise OutOfTableError(f"{count} {what} are {count / most:.3g} times those of the table")
    found = {}
    for name in QUANTITIES:
        by_count = [(n, log_log(factors[n][name], size)) for n in sorted(factors)]
        found[name] = log_log([(1, 1.0), *by_count], count)
    return found


def load_memory_table(path: Path) -> MemoryTable:
    """Return the table in a CSV file with the columns `COLUMNS`; lines that begin with # are text.

    Raises
    ------
    InputError
        When it cannot be read or is no such table.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as failure:
        raise InputError(f"cannot be read: {failure}", source=str(path)) from None
    numbered = [(n, line) for n, line in enumerate(lines, 1) if line and not line.startswith("#")]
    rows = csv.reader([line for _, line in numbered])
    header = tuple(next(rows, ()))
    if header != COLUMNS:
        raise InputError(
            f"expected the columns {', '.join(COLUMNS)}, found {', '.join(header) or 'nothing'}",
            source=str(path),
            line=numbered[0][0] if numbered else None,
        )
    points: dict[tuple[int, int, int], dict[int, dict[str, float]]] = {}
    for (line, _), cells in zip(numbered[1:], rows, strict=True):
        size, width, ports, banks, values = _row(cells, path, line)
        of_size = points.setdefault((width, ports, banks), {})
        of_size[size] = dict(zip(QUANTITIES, values, strict=True))
    return _table(points, path)


def _row(cells: list[str], path: Path, line: int) -> tuple[int, int, int, int, tuple[float, ...]]:
    try:
        size, width, ports, banks = (int(cell) for cell in cells[:4])
        values = tuple(float(cell) for cell in cells[4:])
        finite = max(values) < float("inf")
        if len(values) != len(QUANTITIES) or not finite or min(*values, size, width) <= 0:
            raise ValueError
        if min(ports, banks) < 1:
            raise ValueError
    except ValueError:
        raise InputError(
            f"expected {len(COLUMNS)} positive numbers, found {describe(','.join(cells))}",
            source=str(path), line=line,
        ) from None  # fmt: skip
    return size, width, ports, banks, values


def _table(
    points: Mapping[tuple[int, int, int], Mapping[int, Mapping[str, float]]], path: Path
) -> MemoryTable:
    single = {width: p for (width, ports, banks), p in points.items() if ports == banks == 1}
    plain = {width: _curves(of_size) for width, of_size in single.items()}
    if not plain:
        raise InputError("has no memory with one port and one bank", source=str(path))
    extra: dict[str, dict[int, Mapping[str, Curve]]] = {"ports": {}, "banks": {}}
    for (width, ports, banks), of_size in points.items():
        if ports == banks == 1:
            continue
        base = single.get(width, {})
        if min(ports, banks) > 1 or not of_size.keys() <= base.keys():
            raise InputError(
                f"{width} bits, {ports} ports, {banks} banks: either ports or banks differ from 1, "
                "and every size is also there with one of both",
                source=str(path),
            )
        relative = {
            size: {name: value / base[size][name] for name, value in values.items()}
            for size, values in of_size.items()
        }
        extra["ports" if ports > 1 else "banks"][max(ports, banks)] = _curves(relative)
    return MemoryTable(plain, extra["ports"], extra["banks"])


def _curves(points: Mapping[int, Mapping[str, float]]) -> dict[str, Curve]:
    return {
        name: tuple((size, points[size][name]) for size in sorted(points)) for name in QUANTITIES
    }
