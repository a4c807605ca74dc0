"""What a technology is asked about a component, and what it answers.

A technology is anything that can be called with a `Storage`, an `Operation` or a `Link` and returns
the matching cost, or None where it has no numbers: the tables that ship, a table of one's own, or
a Python function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from tilewright.architecture.schema import Arithmetic, Kind


@dataclass(frozen=True)
class Storage:
    """One instance of a memory.

    Attributes
    ----------
    kind : str
        ``"dram"``, ``"sram"`` or ``"registers"``.
    size_bits : int or None
        Its size; None when unbounded.
    word_bits : int
        Width of its words, for which energies are wanted.
    width_bits : int
        Bits that one access reads or writes.
    ports, banks : int
        Ports that read and write, and banks that the size is divided into.
    """

    kind: Kind
    size_bits: int | None
    word_bits: int
    width_bits: int
    ports: int = 1
    banks: int = 1


@dataclass(frozen=True)
class Operation:
    """One compute unit.

    Attributes
    ----------
    word_bits : int
        Width of the operands.
    arithmetic : str
        ``"integer"``, ``"float"`` or ``"bfloat"``.
    """

    word_bits: int
    arithmetic: Arithmetic = "integer"


@dataclass(frozen=True)
class Link:
    """The network of one instance of an array.

    Attributes
    ----------
    word_bits : int
        Width of its words.
    length_mm : float
        How far one hop goes: the edge of one element as a square; 0 when no area is known.
    elements : int
        Elements that it connects.
    bandwidth : float or None
        Words per cycle that enter or leave; None when unlimited.
    """

    word_bits: int
    length_mm: float
    elements: int
    bandwidth: float | None = None


@dataclass(frozen=True)
class StorageCost:
    """What a memory costs.

    Attributes
    ----------
    read, write : float
        pJ per word.
    area : float or None
        mm2 of the instance; None when nothing was published.
    leakage : float
        mW of the instance.
    notes : tuple of str
        What the numbers rest on where they are not published as they are.
    """

    read: float
    write: float
    area: float | None = None
    leakage: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class OperationCost:
    """What a compute unit costs: pJ per operation, mm2 (None when unknown) and mW of one unit."""

    energy: float
    area: float | None = None
    leakage: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkCost:
    """What an array's network costs: pJ per word and hop, and mm2 (None when unknown)."""

    hop: float
    area: float | None = None
    notes: tuple[str, ...] = ()


Asked: TypeAlias = Storage | Operation | Link
Answer: TypeAlias = StorageCost | OperationCost | LinkCost | None
Model: TypeAlias = Callable[[Asked], Answer]
