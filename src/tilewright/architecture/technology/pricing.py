"""Energies, areas and leakage of levels that leave them out, from their technology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Any

from tilewright.architecture.machine import Array, Level
from tilewright.architecture.technology.asked import (
    Link,
    LinkCost,
    Model,
    Operation,
    OperationCost,
    Storage,
    StorageCost,
)
from tilewright.architecture.technology.components import IMPLAUSIBLE
from tilewright.architecture.technology.technology import UM2_PER_MM2, PerBit


@dataclass(frozen=True)
class Wiring:
    """What the network of an array leaves to its technology.

    Attributes
    ----------
    technology : callable
        What is asked.
    word_bits : int
        Width of the network's words.
    hop_energy, area : float or None
        What the file gives; None where the technology is asked.
    """

    technology: Model
    word_bits: int
    hop_energy: float | None
    area: float | None


def storage_cost(
    technology: Model, asked: Storage, parts: Sequence[int], *, addresses: bool
) -> StorageCost | None:
    """Return what a memory costs: an access goes to its largest part, all parts take area and leak.

    Parameters
    ----------
    technology : callable
        What is asked.
    asked : Storage
        The memory, with the size of its largest part.
    parts : sequence of int
        Sizes of all parts in bits; empty when there is but one.
    addresses : bool
        Whether the memory generates its addresses itself.

    Raises
    ------
    OutOfTableError
        When a table does not reach as far.
    """
    cost = technology(asked)
    if not isinstance(cost, StorageCost):
        return None
    others = [technology(replace(asked, size_bits=size)) for size in parts]
    priced = [each for each in others if isinstance(each, StorageCost)]
    if priced:
        known = [each.area for each in priced]
        cost = replace(
            cost,
            area=None if None in known else sum(area for area in known if area is not None),
            leakage=sum(each.leakage for each in priced),
        )
    own = address_cost(technology, asked) if addresses else None
    if own is not None:
        energy = own.energy * asked.word_bits / asked.width_bits
        cost = replace(
            cost,
            read=cost.read + energy,
            write=cost.write + energy,
            area=None if cost.area is None else cost.area + own.area / UM2_PER_MM2,
        )
    return cost


def address_cost(technology: Model, asked: Storage) -> PerBit | None:
    """Return what generating an address costs, or None when the technology does not say."""
    price: Any = getattr(technology, "address_cost", None)
    if price is None or asked.size_bits is None:
        return None
    found: PerBit | None = price(asked.size_bits / asked.width_bits)
    return found


def operation_cost(technology: Model, asked: Operation) -> OperationCost | None:
    """Return what a compute unit costs, or None when the technology does not say."""
    cost = technology(asked)
    return cost if isinstance(cost, OperationCost) else None


def wired(
    levels: Sequence[Level], wiring: Mapping[int, Wiring], notes: list[str]
) -> tuple[Level, ...]:
    """Return the levels with the hop energies and network areas that follow from what is below.

    Parameters
    ----------
    levels : sequence of Level
        From outermost to innermost.
    wiring : mapping of int to Wiring
        By position of an array, what it leaves out.
    notes : list of str
        Takes what the numbers rest on.
    """
    result = list(levels)
    for i in sorted(wiring, reverse=True):
        array, own = result[i], wiring[i]
        assert isinstance(array, Array)
        edge = sqrt(element_area(result, i))
        cost = own.technology(Link(own.word_bits, edge, array.elements, array.bandwidth))
        found = cost if isinstance(cost, LinkCost) else LinkCost(0.0)
        result[i] = replace(
            array,
            hop_energy=found.hop if own.hop_energy is None else own.hop_energy,
            area=(found.area or 0.0) if own.area is None else own.area,
        )
        if own.hop_energy is None:
            notes += [f"{array.name}: {note}" for note in found.notes]
        share = result[i].area / (result[i].area + array.elements * edge**2) if edge else 0.0
        if share > IMPLAUSIBLE:
            notes.append(
                f"{array.name}: its network takes {share:.0%} of the area of the array, which is "
                "implausible"
            )
    return tuple(result)


def element_area(levels: Sequence[Level], position: int) -> float:
    """Return the area in mm2 of what one element of the array at a position holds."""
    total = 0.0
    for i in range(position + 1, len(levels)):
        above = levels[position + 1 : i]
        count = prod(level.elements for level in above if isinstance(level, Array))
        total += count * levels[i].area
    return total
