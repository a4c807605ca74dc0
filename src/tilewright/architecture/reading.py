"""Architecture files, checked and turned into machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.architecture import units
from tilewright.architecture.checks import check_machine
from tilewright.architecture.constraints.files import read_constraint
from tilewright.architecture.levels import (
    Surroundings,
    named_technology,
    read_array,
    read_compute,
    read_memory,
)
from tilewright.architecture.machine import Architecture, Array, Level
from tilewright.architecture.schema import LEVELS, ArchitectureFile, Kind
from tilewright.architecture.technology.pricing import Wiring, wired
from tilewright.document import Document, KeyPath, describe
from tilewright.errors import nearest


@dataclass(frozen=True)
class Parts:
    """The parts of a machine before its wires have a length.

    Attributes
    ----------
    keys : ArchitectureFile
        Everything but the levels.
    clock_hz : float
    levels : tuple of Level
        From outermost to innermost.
    wiring : mapping of int to Wiring
        By position of an array, what it leaves to its technology.
    notes : tuple of str
        What the numbers rest on.
    """

    keys: ArchitectureFile
    clock_hz: float
    levels: tuple[Level, ...]
    wiring: Mapping[int, Wiring]
    notes: tuple[str, ...]


def parse_architecture(document: Document) -> Architecture:
    """Return the machine that a document describes.

    Parameters
    ----------
    document : Document
        Data in the format of architecture files.

    Raises
    ------
    InputError
        For the first thing that is wrong, with its line and key.
    """
    parts = parse_parts(document)
    keys, notes = parts.keys, list(parts.notes)
    constraints = tuple(
        read_constraint(document, ("constraints", i)) for i in range(len(keys.constraints))
    )
    chain = wired(parts.levels, parts.wiring, notes)
    machine = Architecture(
        name=keys.name,
        levels=chain,
        clock_hz=parts.clock_hz,
        constraints=constraints,
        source=keys.source,
        latency=keys.latency,
        notes=tuple(notes),
    )
    check_machine(machine, document)
    return machine


def parse_parts(document: Document) -> Parts:
    """Return the levels that a document describes, each on its own.

    Raises
    ------
    InputError
        For the first thing that is wrong with one of them.
    """
    if isinstance(document.data, dict) and "levels" not in document.data:
        for key in ("layers", "einsum", "op"):
            if key in document.data:
                raise document.error(
                    "describes a workload, not a machine; commands take the workload first, then "
                    "the machine",
                    (key,),
                )
    keys = document.validate(ArchitectureFile)
    try:
        clock_hz = units.hertz(keys.clock)
    except ValueError as failure:
        raise document.error(str(failure), ("clock",)) from None
    technology = named_technology(document, (), keys.technology)
    levels: list[Level] = []
    wiring: dict[int, Wiring] = {}
    notes: list[str] = []
    word_bits: int | None = None
    for i, data in enumerate(keys.levels):
        path = ("levels", i)
        word = _level_kind(document, path, data)
        below_array = any(isinstance(level, Array) for level in levels)
        kind: Kind = "dram" if i == 0 else "registers" if below_array else "sram"
        around = Surroundings(
            document=document,
            path=path,
            clock_hz=clock_hz,
            technology=technology,
            word_bits=word_bits,
            kind=kind,
            notes=notes,
        )
        level: Level
        if word == "memory":
            level = read_memory(around)
            word_bits = level.word_bits
        elif word == "array":
            level, open_wires = read_array(around)
            if open_wires is not None:
                wiring[i] = open_wires
        else:
            level = read_compute(around)
        levels.append(level)
    return Parts(keys, clock_hz, tuple(levels), wiring, tuple(notes))


def _level_kind(document: Document, path: KeyPath, data: object) -> str:
    if not isinstance(data, dict):
        raise document.error(f"expected the keys of a level, found {describe(data)}", path)
    given = [word for word in LEVELS if word in data]
    if len(given) == 1:
        return given[0]
    if given:
        raise document.error(f"one level cannot be both '{given[0]}' and '{given[1]}'", path)
    guess = next((hint for key in data if (hint := nearest(key, LEVELS))), "")
    raise document.error(f"a level needs one of the keys memory, array, compute{guess}", path)
