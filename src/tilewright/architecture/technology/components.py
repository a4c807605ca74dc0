"""Area and power of a machine's parts, from tables of published components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.document import Strict, load_shipped
from tilewright.errors import InputError, nearest

FOLDER = Path(__file__).parents[1] / "components"
IMPLAUSIBLE = 0.5

Positive = Annotated[float, Field(ge=0)]


class Cost(Strict):
    """Area (um2) and power (mW) of one unit of something."""

    area_um2: Positive
    power_mw: Positive


class Wires(Cost):
    """A bus or an arbiter: its unit times a polynomial in the number of connections."""

    offset: float
    linear: float
    quadratic: float = 0.0

    def scale(self, connections: int) -> float:
        """Return the units for so many connections, at least one."""
        size = self.offset + self.linear * connections + self.quadratic * connections**2
        return max(1.0, size)


class ComponentTable(Strict):
    """Published areas and powers of components.

    Attributes
    ----------
    name, source : str
    mac : Cost
        Of one multiply-accumulate unit.
    memory : Cost
        Of one byte.
    bus, arbiter : Wires
        Of the network of one array; the bus also times its words per cycle.
    """

    name: str
    source: str
    mac: Cost
    memory: Cost
    bus: Wires
    arbiter: Wires


@dataclass(frozen=True)
class Parts:
    """Area and power of a machine, by level.

    Attributes
    ----------
    table : str
        Name of the component table.
    area_mm2, power_mw : mapping of level to float
        All instances together.
    warning : str
        Why the numbers are not to be trusted; empty when nothing speaks against them.
    """

    table: str
    area_mm2: Mapping[str, float]
    power_mw: Mapping[str, float]
    warning: str

    @property
    def total_area_mm2(self) -> float:
        """Area of all levels."""
        return sum(self.area_mm2.values())

    @property
    def total_power_mw(self) -> float:
        """Power of all levels."""
        return sum(self.power_mw.values())


def component_names() -> list[str]:
    """Return the names of the component tables that ship, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def load_components(name: str) -> ComponentTable:
    """Return a component table that ships.

    Raises
    ------
    InputError
        When there is none of this name.
    """
    names = component_names()
    if name not in names:
        raise InputError(
            f"no component table '{name}'; accepted: {', '.join(names)}{nearest(name, names)}",
            key="components",
        )
    return load_shipped(FOLDER / f"{name}.yaml").validate(ComponentTable)


def parts(
    table: ComponentTable, architecture: Architecture, memory_bits: Mapping[str, float]
) -> Parts:
    """Return area and power of a machine whose memories are as large as a mapping needs.

    Parameters
    ----------
    table : ComponentTable
        What a unit of every component takes.
    architecture : Architecture
        The machine. An array without a bandwidth has a bus of one word per cycle.
    memory_bits : mapping of memory to float
        Size of one instance, in bits.
    """
    area: dict[str, float] = {}
    power: dict[str, float] = {}
    network = 0.0
    for level in architecture.levels:
        count = architecture.instances(level.name)
        if isinstance(level, Memory):
            size = memory_bits[level.name] / 8
            area[level.name] = count * size * table.memory.area_um2 * 1e-6
            power[level.name] = count * size * table.memory.power_mw
        elif isinstance(level, Compute):
            area[level.name] = count * table.mac.area_um2 * 1e-6
            power[level.name] = count * table.mac.power_mw
        else:
            connections = architecture.instances(level.name)
            elements = level.elements
            rate = level.bandwidth or 1.0
            bus, arbiter = table.bus.scale(elements) * rate, table.arbiter.scale(elements)
            found = bus * table.bus.area_um2 + arbiter * table.arbiter.area_um2
            area[level.name] = connections * found * 1e-6
            network += area[level.name]
            power[level.name] = connections * (
                bus * table.bus.power_mw + arbiter * table.arbiter.power_mw
            )
    share = network / sum(area.values()) if area else 0.0
    warning = (
        f"networks take {share:.0%} of the area in table '{table.name}', which is implausible"
        if share > IMPLAUSIBLE
        else ""
    )
    return Parts(table.name, area, power, warning)
