"""Published energies of memories, operations and networks, by size and width."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tilewright.architecture import units
from tilewright.architecture.schema import Arithmetic, Kind, Positive
from tilewright.document import Document, Strict, load
from tilewright.errors import InputError, nearest

FOLDER = Path(__file__).parent / "technologies"
Points = tuple[tuple[int, float], ...]

# A multiplier's energy grows with the square of its width (Timeloop, ISPASS 2019, section VI-C).
MAC_WIDTH_EXPONENT = 2.0


@dataclass(frozen=True)
class EnergyBySize:
    """Energy of one access to a memory of one kind.

    Attributes
    ----------
    points : tuple of (int, float)
        Published sizes in bits with their energies, in increasing order of size.
    per_doubling : float or None
        Factor per doubling of the size by which the publication continues beyond its points;
        None when it says nothing: then the energy of the nearest published size is used.
    """

    points: Points
    per_doubling: float | None = None

    def at(self, size_bits: int | None) -> float:
        """Return the energy at a size; the largest published size when it is unbounded."""
        size = self.points[-1][0] if size_bits is None else size_bits
        slope = 0.0 if self.per_doubling is None else math.log2(self.per_doubling)
        return _log_log(self.points, size, slope)


@dataclass(frozen=True)
class Technology:
    """A table of published energies.

    Attributes
    ----------
    name : str
        Name of the table.
    source : str
        Where its numbers were published.
    unit : str
        ``"pJ"``, or what the numbers are relative to.
    access_bits : int
        Width of the access, and of the hop, for which the energies are given.
    memories : mapping of kind to EnergyBySize
        Of ``dram``, ``sram`` and ``registers``, those that were published.
    mac : mapping of arithmetic to tuple of (int, float)
        Energy of a multiply-accumulate by width in bits, for ``integer`` and ``float``.
    hop : float or None
        Energy of moving one access over one hop of an array's network.
    """

    name: str
    source: str
    unit: str
    access_bits: int
    memories: Mapping[Kind, EnergyBySize]
    mac: Mapping[Arithmetic, Points]
    hop: float | None = None

    def memory_energy(self, kind: Kind, size_bits: int | None, word_bits: int) -> float | None:
        """Return the energy of reading or writing one word.

        Parameters
        ----------
        kind : str
            ``"dram"``, ``"sram"`` or ``"registers"``.
        size_bits : int or None
            Size of one instance of the memory; None when unbounded.
        word_bits : int
            Width of its words; the energy is proportional to it.

        Returns
        -------
        float or None
            pJ (or the table's unit) per word; None when nothing was published for the kind.

        Notes
        -----
        Between published sizes the energy is interpolated linearly in the logarithms of both.
        Beyond them it continues by the published factor per doubling, or stays constant; it never
        exceeds the table's energy of ``dram``, as a memory that costs more would not be built.
        """
        if kind not in self.memories:
            return None
        energy = self.memories[kind].at(size_bits)
        if "dram" in self.memories:
            energy = min(energy, self.memories["dram"].at(None))
        return energy * (word_bits / self.access_bits)

    def mac_energy(self, word_bits: int, arithmetic: Arithmetic = "integer") -> float | None:
        """Return the energy of one multiply-accumulate on operands of `word_bits`.

        Between published widths it is interpolated linearly in the logarithms of both; beyond
        them it grows with the square of the width. None when nothing was published.
        """
        points = self.mac.get(arithmetic)
        return _log_log(points, word_bits, MAC_WIDTH_EXPONENT) if points else None

    def hop_energy(self, word_bits: int) -> float:
        """Return the energy of moving a word by one hop; 0 when none was published."""
        return 0.0 if self.hop is None else self.hop * (word_bits / self.access_bits)


def _log_log(points: Points, x: int, slope: float) -> float:
    for size, energy in points:
        if size == x:
            return energy
    first, last = points[0], points[-1]
    if x < first[0] or x > last[0]:
        end = first if x < first[0] else last
        return float(end[1] * (x / end[0]) ** slope)
    (x0, y0), (x1, y1) = next((p, q) for p, q in pairwise(points) if p[0] < x < q[0])
    share = math.log(x / x0) / math.log(x1 / x0)
    return float(y0 * (y1 / y0) ** share)


class _MemoryKeys(Strict):
    energy: Positive | None = None
    points: dict[str, Positive] | None = None
    per_doubling: Annotated[float, Field(ge=1)] | None = None


class _OperationKeys(Strict):
    mac: dict[str, Positive] | None = None
    add: dict[str, Positive] | None = None
    multiply: dict[str, Positive] | None = None


class _TechnologyFile(Strict):
    name: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    unit: str = "pJ"
    access: Any
    memories: dict[Kind, _MemoryKeys] = Field(default_factory=dict)
    operations: dict[Arithmetic, _OperationKeys] = Field(default_factory=dict)
    hop: Positive | None = None


def technology_names() -> list[str]:
    """Return the names of the tables that ship, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_technology(name: str, folder: Path | None = None) -> Technology:
    """Return a technology table.

    Parameters
    ----------
    name : str
        Name of a table that ships, or path of a YAML file, relative to `folder`.
    folder : Path, optional
        Folder of the file that names the table.

    Raises
    ------
    InputError
        When there is no such table or it is malformed.
    """
    if name in technology_names():
        return _shipped(name)
    if not name.endswith((".yaml", ".yml", ".json")):
        names = technology_names()
        raise InputError(
            f"unknown technology '{name}'; accepted: {', '.join(names)}, "
            f"or the path of a YAML file{nearest(name, names)}"
        )
    return parse_technology(load((folder or Path()) / name))


@cache
def _shipped(name: str) -> Technology:
    return parse_technology(load(FOLDER / f"{name}.yaml"))


def parse_technology(document: Document) -> Technology:
    """Return the technology table that a document describes."""
    keys = document.validate(_TechnologyFile)
    memories = {}
    for kind, memory in keys.memories.items():
        path = ("memories", kind)
        if (memory.energy is None) == (memory.points is None):
            raise document.error("give either 'energy' or 'points' by size", path)
        if memory.energy is not None:
            memories[kind] = EnergyBySize(((1, memory.energy),))
        else:
            points = _points(document, (*path, "points"), memory.points)
            memories[kind] = EnergyBySize(points, memory.per_doubling)
    mac = {}
    for arithmetic, operation in keys.operations.items():
        where = ("operations", arithmetic)
        if operation.mac is not None:
            mac[arithmetic] = _points(document, (*where, "mac"), operation.mac)
            continue
        add = dict(_points(document, (*where, "add"), operation.add))
        multiply = dict(_points(document, (*where, "multiply"), operation.multiply))
        if set(add) != set(multiply):
            raise document.error("'add' and 'multiply' need the same widths", where)
        mac[arithmetic] = tuple((width, add[width] + multiply[width]) for width in add)
    access = _bits(document, ("access",), keys.access)
    return Technology(keys.name, keys.source, keys.unit, access, memories, mac, keys.hop)


def _points(document: Document, path: tuple[str, ...], given: dict[str, float] | None) -> Points:
    if not given:
        raise document.error(f"missing key '{path[-1]}', energies by size", path[:-1])
    return tuple(sorted((_bits(document, (*path, s), s), energy) for s, energy in given.items()))


def _bits(document: Document, path: tuple[str, ...], value: object) -> int:
    try:
        return units.bits(value)
    except ValueError as failure:
        raise document.error(str(failure), path) from None
