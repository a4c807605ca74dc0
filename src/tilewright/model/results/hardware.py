"""Area, energy, power and leakage of every component of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.model.energy import PJ_PER_MJ, areas, leakages, without_area

if TYPE_CHECKING:
    import pandas as pd

    from tilewright.model.results.result import Evaluation


@dataclass(frozen=True)
class Component:
    """All instances of one level.

    Attributes
    ----------
    kind : str
        ``"memory"``, ``"array"`` or ``"compute"``.
    instances : int
        How many there are.
    area_mm2 : float or None
        Area of all; None when it is unknown.
    energy_pj : float
        Energy of accesses, hops or operations, over the run, without leakage.
    leakage_mw, leakage_pj : float
        Leakage of all, as a power and over the run.
    power_mw : float
        Energy and leakage over the time of the run.
    """

    kind: str
    instances: int
    area_mm2: float | None
    energy_pj: float
    leakage_mw: float
    leakage_pj: float
    power_mw: float


@dataclass(frozen=True)
class Hardware:
    """A machine by its components, over a run.

    Attributes
    ----------
    components : mapping of level to Component
        In the order of the machine.
    area_mm2 : float
        Area of the components whose area is known.
    without_area : tuple of str
        Levels whose area is unknown, which `area_mm2` lacks.
    power_mw, leakage_mw : float
        Average power over the run, and the part of it that leaks.
    notes : tuple of str
        What energies and areas rest on where they were not published as they are.
    """

    components: Mapping[str, Component]
    area_mm2: float
    without_area: tuple[str, ...]
    power_mw: float
    leakage_mw: float
    notes: tuple[str, ...]

    def area_text(self) -> str:
        """Return the area in words, and what it lacks."""
        if not self.area_mm2:
            return "unknown of every level"
        lacking = f", unknown of {', '.join(self.without_area)}" if self.without_area else ""
        return f"{self.area_mm2:.4g} mm2{lacking}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "area_mm2": self.area_mm2,
            "without_area": list(self.without_area),
            "power_mw": self.power_mw,
            "leakage_mw": self.leakage_mw,
            "components": {name: dict(vars(part)) for name, part in self.components.items()},
            "notes": list(self.notes),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per component."""
        import pandas as pd

        rows = [{"component": name} | dict(vars(part)) for name, part in self.components.items()]
        return pd.DataFrame(rows)


def hardware(architecture: Architecture, evaluations: Iterable[Evaluation]) -> Hardware:
    """Return the components of a machine over a run of layers one after the other.

    Parameters
    ----------
    architecture : Architecture
        The machine.
    evaluations : iterable of Evaluation
        Of its layers; one with a repeat counts as often.
    """
    energies = dict.fromkeys((level.name for level in architecture.levels), 0.0)
    cycles = 0.0
    for found in evaluations:
        parts = {name: memory.energy_pj for name, memory in found.memories.items()}
        parts |= {name: network.energy_pj for name, network in found.networks.items()}
        parts[found.architecture.compute.name] = found.compute.energy_pj
        for name, energy in parts.items():
            # directives may arrange an array as several
            energies[name] = energies.get(name, 0.0) + energy * found.layer.repeat
        cycles += found.cycles * found.layer.repeat
    seconds = cycles / architecture.clock_hz
    leaking, known = leakages(architecture), areas(architecture)
    components = {}
    for level in architecture.levels:
        power = leaking.get(level.name, 0.0)
        leaked = power * seconds * PJ_PER_MJ
        spent = energies.pop(level.name) + leaked
        components[level.name] = Component(
            kind=type(level).__name__.lower(),
            instances=architecture.instances(level.name),
            area_mm2=known[level.name] or None,
            energy_pj=spent - leaked,
            leakage_mw=power,
            leakage_pj=leaked,
            power_mw=spent / seconds / PJ_PER_MJ if seconds else 0.0,
        )
    return Hardware(
        components,
        sum(known.values()),
        tuple(without_area(architecture)),
        sum(part.power_mw for part in components.values())
        + (sum(energies.values()) / seconds / PJ_PER_MJ if seconds else 0.0),
        sum(leaking.values()),
        architecture.notes,
    )
