"""Technology tables by name or from files."""

from __future__ import annotations

import math
import os
import re
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tilewright.architecture import units
from tilewright.architecture.schema import Arithmetic, Kind, Positive
from tilewright.architecture.technology.asked import Model
from tilewright.architecture.technology.components import component_names, load_components
from tilewright.architecture.technology.hwcomponents import hwcomponents
from tilewright.architecture.technology.interpolation import Points
from tilewright.architecture.technology.memory_table import MemoryTable, load_memory_table
from tilewright.architecture.technology.technology import (
    EXPONENTS,
    Between,
    EnergyBySize,
    Parts,
    PerBit,
    Technology,
)
from tilewright.document import Document, KeyPath, Strict, load, load_shipped
from tilewright.errors import InputError, nearest

FOLDER = Path(__file__).parents[1] / "technologies"
VARIABLE = "TILEWRIGHT_TECHNOLOGIES"
NODE = re.compile(r"([a-z0-9-]*?)-([0-9]{1,3}(?:\.[0-9]+)?)nm")
PYTHON = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_given: dict[str, Model] = {}


class _MemoryKeys(Strict):
    energy: Positive | None = None
    points: dict[str, Positive] | None = None
    per_doubling: Annotated[float, Field(ge=1)] | None = None
    table: str | None = None
    factors: str | None = None


class _AreaKeys(Strict):
    mac: dict[str, Positive] | None = None
    add: dict[str, Positive] | None = None
    multiply: dict[str, Positive] | None = None


class _OperationKeys(_AreaKeys):
    area: Any = None


class _ScaledKeys(Strict):
    technology: str
    energy: Positive
    area: Positive


class _PerBitKeys(Strict):
    energy: Positive
    area: Positive | None = None


class _TechnologyFile(Strict):
    name: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    unit: str = "pJ"
    access: Any
    memories: dict[Kind, _MemoryKeys] = Field(default_factory=dict)
    operations: dict[Arithmetic, _OperationKeys] = Field(default_factory=dict)
    scaled: _ScaledKeys | None = None
    hop: Positive | None = None
    wire: Positive | None = None
    components: str | None = None
    address_generator: _PerBitKeys | None = None


def technology_names() -> list[str]:
    """Return the names of the tables that ship, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def register_technology(name: str, technology: Model) -> None:
    """Make a Python callable known under a name, for files that say ``technology: NAME``.

    Parameters
    ----------
    name : str
        As files write it; it goes before a table that ships under the same name.
    technology : callable
        Called with a `Storage`, an `Operation` or a `Link`; returns a `StorageCost`, an
        `OperationCost` or a `LinkCost`, or None where it has no numbers.
    """
    if not callable(technology):
        raise InputError(f"expected something callable, found {technology!r}", key="technology")
    _given[name] = technology


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
    found = load_model(name, folder)
    if not isinstance(found, Technology):
        raise InputError(f"'{name}' is no single table", key="technology")
    return found


def load_model(name: str, folder: Path | None = None) -> Model:
    """Return a table, what lies between two of them, or a callable that is known by this name.

    Raises
    ------
    InputError
        When there is none, or the name is that of Python code that may not be imported.
    """
    if name in _given:
        return _given[name]
    if name in technology_names():
        return _shipped(name)
    if name.endswith((".yaml", ".yml", ".json")):
        return parse_technology(load((folder or Path()) / name))
    if PYTHON.fullmatch(name):
        return _imported(name)
    match = NODE.fullmatch(name)
    if match and match[1] == "hwcomponents":
        return hwcomponents(name, float(match[2]))
    if match and (family := _family(match[1])):
        return _between(name, float(match[2]), family)
    names = technology_names()
    raise InputError(
        f"unknown technology '{name}'; accepted: {', '.join(names)}, "
        f"or the path of a YAML file{nearest(name, names)}"
    )


def _imported(name: str) -> Model:
    # A file may come from anybody, and importing runs what it names.
    allowed = [part.strip() for part in os.environ.get(VARIABLE, "").split(",")]
    if name not in allowed:
        raise InputError(
            f"technology '{name}' is Python code, which a file cannot have run: allow it with the "
            f"environment variable {VARIABLE}={name}, or call register_technology in Python"
        )
    module, attribute = name.split(":")
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
        if isinstance(found, type):
            found = found()
    except Exception as failure:
        raise InputError(
            f"technology '{name}' cannot be imported: {type(failure).__name__}: {failure}"
        ) from None
    if not callable(found):
        raise InputError(f"technology '{name}' is not callable")
    model: Model = found
    return model


def _family(stem: str) -> dict[float, str]:
    """Return the tables of one family by their nodes in nm, when there are several."""
    found = {}
    for name in technology_names():
        match = NODE.fullmatch(name)
        if match and match[1] == stem:
            found[float(match[2])] = name
    return found if len(found) > 1 else {}


def _between(name: str, node: float, family: dict[float, str]) -> Between:
    low = max((n for n in family if n < node), default=None)
    high = min((n for n in family if n > node), default=None)
    if low is None or high is None:
        end = max(family) if high is None else min(family)
        times = f"{node / end:.3g} times" if node > end else f"1/{end / node:.3g} of"
        raise InputError(
            f"technology '{name}' lies outside the nodes that there are: {node:g} nm is {times} "
            f"{end:g} nm; accepted: {min(family):g} to {max(family):g} nm"
        )
    share = math.log(node / low) / math.log(high / low)
    return Between(name, _shipped(family[low]), _shipped(family[high]), share)


@cache
def _shipped(name: str) -> Technology:
    return parse_technology(load_shipped(FOLDER / f"{name}.yaml"))


def parse_technology(document: Document) -> Technology:
    """Return the technology table that a document describes."""
    keys = document.validate(_TechnologyFile)
    memories: dict[Kind, EnergyBySize] = {}
    tables: dict[Kind, MemoryTable] = {}
    for kind, memory in keys.memories.items():
        path = ("memories", kind)
        if [memory.energy, memory.points, memory.table].count(None) != 2:
            raise document.error("give one of 'energy' or 'points' by size, or 'table'", path)
        if memory.table is not None:
            folder = Path(document.source).parent
            tables[kind] = load_memory_table(folder / memory.table)
            if memory.factors is not None:
                other = load_memory_table(folder / memory.factors)
                tables[kind] = replace(tables[kind], ports=other.ports, banks=other.banks)
        elif memory.energy is not None:
            memories[kind] = EnergyBySize(((1, memory.energy),))
        else:
            points = _points(document, (*path, "points"), memory.points)
            memories[kind] = EnergyBySize(points, memory.per_doubling)
    operations, areas = {}, {}
    if keys.scaled is not None:
        base = load_technology(keys.scaled.technology, Path(document.source).parent)
        operations = {a: p.scaled(keys.scaled.energy) for a, p in base.operations.items()}
        areas = {a: p.scaled(keys.scaled.area) for a, p in base.areas.items()}
    for arithmetic, operation in keys.operations.items():
        where = ("operations", arithmetic)
        operations[arithmetic] = _parts(document, where, operation)
        if operation.area is not None:
            given = document.validate(_AreaKeys, (*where, "area"))
            areas[arithmetic] = _parts(document, (*where, "area"), given)
    if keys.components is not None and keys.components not in component_names():
        accepted = component_names()
        raise document.error(
            f"no component table '{keys.components}'; accepted: {', '.join(accepted)}"
            f"{nearest(keys.components, accepted)}",
            ("components",),
        )
    generator = keys.address_generator
    return Technology(
        name=keys.name,
        source=keys.source,
        unit=keys.unit,
        access_bits=_bits(document, ("access",), keys.access),
        memories=memories,
        operations=operations,
        hop=keys.hop,
        tables=tables,
        areas=areas,
        wire=keys.wire,
        components=None if keys.components is None else load_components(keys.components),
        address_generator=None
        if generator is None
        else PerBit(generator.energy, generator.area or 0.0),
    )


def _parts(document: Document, where: KeyPath, given: _AreaKeys) -> Parts:
    if given.mac is not None:
        return Parts({"mac": _points(document, (*where, "mac"), given.mac)})
    parts = {
        part: _points(document, (*where, part), getattr(given, part))
        for part in EXPONENTS
        if part != "mac"
    }
    if len({tuple(width for width, _ in points) for points in parts.values()}) > 1:
        raise document.error("'add' and 'multiply' need the same widths", where)
    return Parts(parts)


def _points(document: Document, path: KeyPath, given: dict[str, float] | None) -> Points:
    if not given:
        raise document.error(f"missing key '{path[-1]}', energies by size", path[:-1])
    return tuple(sorted((_bits(document, (*path, s), s), energy) for s, energy in given.items()))


def _bits(document: Document, path: KeyPath, value: object) -> int:
    try:
        return units.bits(value)
    except ValueError as failure:
        raise document.error(str(failure), path) from None
