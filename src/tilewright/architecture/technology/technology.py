"""Published energies and areas of memories, operations and networks, by size and width."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tilewright.architecture.schema import Arithmetic, Kind
from tilewright.architecture.technology.asked import (
    Answer,
    Asked,
    Link,
    LinkCost,
    Operation,
    OperationCost,
    Storage,
    StorageCost,
)
from tilewright.architecture.technology.components import ComponentTable
from tilewright.architecture.technology.interpolation import Points, beyond, log_log
from tilewright.architecture.technology.memory_table import MemoryTable
from tilewright.architecture.units import size_text

# How parts of an operation grow with its width (Timeloop, ISPASS 2019, section VI-C).
EXPONENTS = {"mac": 2.0, "multiply": 2.0, "add": 1.0}
# A bfloat16 has 8 bits of significand, an IEEE half 11.
BFLOAT_SHARE = 8 / 11
UM2_PER_MM2 = 1e6


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
        return log_log(self.points, size, slope)


@dataclass(frozen=True)
class Parts:
    """A quantity of an operation by width in bits: of the whole, or of its parts.

    Attributes
    ----------
    points : mapping of str to points
        Of ``mac``, or of ``add`` and ``multiply``.
    """

    points: Mapping[str, Points]

    def at(self, word_bits: int, share: float = 1.0) -> float:
        """Return the sum of the parts at a width; `share` scales it as if the width were less.

        Between published widths each part is interpolated linearly in the logarithms of both;
        beyond them multipliers grow with the square of the width and adders linearly.
        """
        total = 0.0
        for part, points in self.points.items():
            total += log_log(points, word_bits, EXPONENTS[part]) * share ** EXPONENTS[part]
        return total

    def scaled(self, factor: float) -> Parts:
        """Return the same, each number times a factor."""
        return Parts(
            {
                part: tuple((width, value * factor) for width, value in points)
                for part, points in self.points.items()
            }
        )


@dataclass(frozen=True)
class PerBit:
    """Energy (pJ) and area (um2) per bit of an address generator's adder."""

    energy: float
    area: float = 0.0


@dataclass(frozen=True)
class Technology:
    """A table of published energies and areas.

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
    operations : mapping of arithmetic to Parts
        Energy by width in bits, for ``integer`` and ``float``.
    hop : float or None
        Energy of moving one access over one hop of an array's network.
    tables : mapping of kind to MemoryTable
        Memories whose energy, area and leakage depend on size, width, ports and banks.
    areas : mapping of arithmetic to Parts
        Area by width, in um2.
    wire : float or None
        Energy of moving one bit by one mm, in pJ.
    components : ComponentTable or None
        Areas of units, bytes, buses and arbiters.
    address_generator : PerBit or None
        For every bit of the logarithm of the number of words.
    """

    name: str
    source: str
    unit: str
    access_bits: int
    memories: Mapping[Kind, EnergyBySize]
    operations: Mapping[Arithmetic, Parts]
    hop: float | None = None
    tables: Mapping[Kind, MemoryTable] = field(default_factory=dict)
    areas: Mapping[Arithmetic, Parts] = field(default_factory=dict)
    wire: float | None = None
    components: ComponentTable | None = None
    address_generator: PerBit | None = None

    def __call__(self, asked: Asked) -> Answer:
        """Return what a component costs, or None where the table has no numbers."""
        if isinstance(asked, Storage):
            return self.storage(asked)
        return self.operation(asked) if isinstance(asked, Operation) else self.link(asked)

    def storage(self, asked: Storage) -> StorageCost | None:
        """Return what a memory costs, or None when nothing was published for its kind.

        Raises
        ------
        OutOfTableError
            When a table of memories does not reach as far.
        """
        if asked.kind in self.tables:
            return self.tables[asked.kind].cost(asked)
        energy = self.memory_energy(asked.kind, asked.size_bits, asked.word_bits)
        if energy is None:
            return None
        area = None
        if self.components is not None and asked.size_bits is not None and asked.kind != "dram":
            area = self.components.memory.area_um2 * asked.size_bits / 8 / UM2_PER_MM2
        return StorageCost(energy, energy, area, notes=self._beyond_sizes(asked))

    def _beyond_sizes(self, asked: Storage) -> tuple[str, ...]:
        points = self.memories[asked.kind].points
        if asked.size_bits is None or len(points) == 1:
            return ()
        times = beyond(points, asked.size_bits)
        if times == 1:
            return ()
        how = "its energy" if self.memories[asked.kind].per_doubling is None else "continued"
        return (_outside(times, size_text(points[-1 if times > 1 else 0][0]), how),)

    def operation(self, asked: Operation) -> OperationCost | None:
        """Return what a compute unit costs, or None when nothing was published for its format."""
        energy = self.mac_energy(asked.word_bits, asked.arithmetic)
        if energy is None:
            return None
        listed, share = self._listed(asked.arithmetic)
        area, notes = None, []
        if listed in self.areas:
            area = self.areas[listed].at(asked.word_bits, share) / UM2_PER_MM2
        elif self.components is not None:
            area = self.components.mac.area_um2 / UM2_PER_MM2
        points = next(iter(self.operations[listed].points.values()))
        times = beyond(points, asked.word_bits)
        if times != 1:
            widest = f"{points[-1 if times > 1 else 0][0]} bits"
            notes.append(_outside(times, widest, "multiplier squared, adder linear"))
        if share != 1:
            notes.append("bfloat from float, by the bits of the significands (8 and 11)")
        return OperationCost(energy, area, notes=tuple(notes))

    def link(self, asked: Link) -> LinkCost | None:
        """Return what the network of an array costs, or None when nothing was published."""
        area: float | None = None
        notes: tuple[str, ...] = ()
        if self.components is not None:
            bus, arbiter = self.components.bus, self.components.arbiter
            um2 = bus.scale(asked.elements) * (asked.bandwidth or 1.0) * bus.area_um2
            um2 += arbiter.scale(asked.elements) * arbiter.area_um2
            area = um2 / UM2_PER_MM2
        if self.hop is not None:
            return LinkCost(self.hop_energy(asked.word_bits), area)
        if self.wire is not None:
            if not asked.length_mm:
                notes = ("wires of no length: no area is known of what an element holds",)
            return LinkCost(self.wire * asked.word_bits * asked.length_mm, area, notes)
        return None if area is None else LinkCost(0.0, area)

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

        See `Parts.at` for widths that were not published. None when nothing was published.
        """
        listed, share = self._listed(arithmetic)
        if listed not in self.operations:
            return None
        return self.operations[listed].at(word_bits, share)

    def _listed(self, arithmetic: Arithmetic) -> tuple[Arithmetic, float]:
        return ("float", BFLOAT_SHARE) if arithmetic == "bfloat" else (arithmetic, 1.0)

    def hop_energy(self, word_bits: int) -> float:
        """Return the energy of moving a word by one hop; 0 when none was published."""
        return 0.0 if self.hop is None else self.hop * (word_bits / self.access_bits)

    def address_cost(self, words: float) -> PerBit | None:
        """Return pJ per access and um2 of generating the addresses of so many words."""
        if self.address_generator is None:
            return None
        bits = max(1, math.ceil(math.log2(max(words, 1))))
        own = self.address_generator
        return PerBit(own.energy * bits, own.area * bits)


@dataclass(frozen=True)
class Between:
    """A technology between two nodes: every number is interpolated in the logarithms of both.

    Attributes
    ----------
    name : str
        Name of the table.
    low, high : Technology
        Of the nearest nodes that there are.
    share : float
        0 at `low`, 1 at `high`.
    """

    name: str
    low: Technology
    high: Technology
    share: float

    def __call__(self, asked: Asked) -> Answer:
        """Return what a component costs, or None where the tables have no numbers."""
        low, high = self.low(asked), self.high(asked)
        if low is None or high is None:
            return None
        own: dict[str, Any] = {
            name: self._between(getattr(low, name), getattr(high, name))
            for name in ("read", "write", "energy", "hop", "area", "leakage")
            if hasattr(low, name)
        }
        return replace(low, **own)

    def _between(self, low: float | None, high: float | None) -> float | None:
        if low is None or high is None:
            return None
        return low ** (1 - self.share) * high**self.share if low > 0 and high > 0 else 0.0

    def address_cost(self, words: float) -> PerBit | None:
        """Return pJ per access and um2 of generating the addresses of so many words."""
        low, high = self.low.address_cost(words), self.high.address_cost(words)
        if low is None or high is None:
            return None
        area, energy = self._between(low.area, high.area), self._between(low.energy, high.energy)
        return PerBit(energy or 0.0, area or 0.0)


def _outside(times: float, end: str, how: str) -> str:
    where = f"{times:.3g} times the largest" if times > 1 else f"1/{1 / times:.3g} of the smallest"
    return f"{where} that was published ({end}): {how}"
