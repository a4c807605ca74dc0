"""What is minimised: a product of powers of energy and cycles, a second one, and limits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import inf, isfinite
from typing import TYPE_CHECKING

from tilewright.errors import InputError, nearest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAMES = {"energy": (1.0, 0.0), "latency": (0.0, 1.0), "edp": (1.0, 1.0), "ed2p": (1.0, 2.0)}
FACTORS = {"energy": 0, "latency": 1, "delay": 1, "cycles": 1}
WORDS = {
    (1.0, 0.0): "less energy",
    (0.0, 1.0): "fewer cycles",
    (1.0, 1.0): "a smaller energy-delay product",
}
LEAST = {
    (1.0, 0.0): "least energy",
    (0.0, 1.0): "fewest cycles",
    (1.0, 1.0): "least energy-delay product",
}
MOST_POWER = 8.0
ACCEPTED = (
    "accepted: energy, latency, edp, ed2p, a product such as energy*latency^0.5, a second one "
    "after a comma that decides between equals, and limits such as latency<=1e6 (cycles) or "
    "energy<=2e9 (pJ); for 'map' dmc too, the data-movement cost of off-chip tiles"
)
MOVEMENT = "dmc"


@dataclass(frozen=True)
class Objective:
    """What is minimised.

    Attributes
    ----------
    powers : (float, float)
        Powers of energy and cycles.
    then : (float, float)
        What decides between mappings of equal value.
    most_energy, most_cycles : float
        Limits, in pJ and cycles.
    movement : bool
        Whether MARVEL's data-movement cost comes first, and all else decides between equals.
    """

    powers: tuple[float, float]
    then: tuple[float, float]
    most_energy: float = inf
    most_cycles: float = inf
    movement: bool = False

    @property
    def unit(self) -> str:
        """Unit of the value."""
        if self.movement:
            return "blocks/operation"
        return unit_of(self.powers)

    @property
    def better(self) -> str:
        """What a better mapping would have, in words."""
        if self.movement:
            return "a smaller data-movement cost"
        return self.within(WORDS.get(self.powers, f"a smaller {name_of(self.powers)}"))

    @property
    def least(self) -> str:
        """What the best mapping has, in words."""
        if self.movement:
            return "least data-movement cost"
        return self.within(LEAST.get(self.powers, f"least {name_of(self.powers)}"))

    @property
    def limited(self) -> bool:
        """Whether mappings have to keep to a limit."""
        return isfinite(self.most_energy) or isfinite(self.most_cycles)

    def within(self, text: str) -> str:
        """Return some words with the limits after them."""
        limits = []
        if isfinite(self.most_cycles):
            limits.append(f"{self.most_cycles:.10g} cycles")
        if isfinite(self.most_energy):
            limits.append(f"{self.most_energy:.10g} pJ")
        return f"{text} within {' and '.join(limits)}" if limits else text

    def value(self, energy_pj: float, cycles: float) -> float:
        """Return what is minimised; infinite beyond a limit."""
        if energy_pj > self.most_energy or cycles > self.most_cycles:
            return inf
        return float(energy_pj ** self.powers[0] * cycles ** self.powers[1])

    def values(
        self, energies: NDArray[np.float64], cycles: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return what is minimised, mapping by mapping; infinite beyond a limit."""
        import numpy as np  # takes longer than to look a result up, which needs no arrays

        kept = (energies <= self.most_energy) & (cycles <= self.most_cycles)
        kept &= np.isfinite(energies) & np.isfinite(cycles)
        values = np.full(len(energies), inf)
        values[kept] = energies[kept] ** self.powers[0] * cycles[kept] ** self.powers[1]
        return values

    def goal(self) -> NDArray[np.float64]:
        """Return everything as numbers for the kernels, see `labels.objective_value`."""
        import numpy as np

        return np.array([*self.powers, *self.then, self.most_energy, self.most_cycles])

    def __str__(self) -> str:
        items = [MOVEMENT] if self.movement else []
        items.append(name_of(self.powers))
        if self.then != usual_second(self.powers):
            items.append(name_of(self.then))
        if isfinite(self.most_cycles):
            items.append(f"latency<={self.most_cycles:.17g}")
        if isfinite(self.most_energy):
            items.append(f"energy<={self.most_energy:.17g}")
        return ", ".join(items)


def usual_second(powers: tuple[float, float]) -> tuple[float, float]:
    """Return what decides between equals unless it is said: the other one of energy and cycles."""
    return (0.0, 1.0) if powers[1] == 0 else (1.0, 0.0)


def name_of(powers: tuple[float, float]) -> str:
    """Return a product of powers as it is written."""
    for name, known in NAMES.items():
        if powers == known:
            return name
    return "*".join(
        factor if power == 1 else f"{factor}^{power:.12g}"
        for factor, power in zip(("energy", "latency"), powers, strict=True)
        if power
    )


def unit_of(powers: tuple[float, float]) -> str:
    """Return the unit of a product of powers."""
    return " x ".join(
        unit if power == 1 else f"{unit}^{power:.12g}"
        for unit, power in zip(("pJ", "cycles"), powers, strict=True)
        if power
    )


@lru_cache(maxsize=256)
def parse_objective(text: str) -> Objective:
    """Return the objective that a text names.

    Parameters
    ----------
    text : str
        ``energy``, ``latency``, ``edp`` or ``ed2p``; a product of powers such as
        ``energy*latency^0.5``; after a comma a second one that decides between mappings of equal
        value, and limits: ``energy, latency<=1e6`` is the least energy within a million cycles.
        ``dmc`` is MARVEL's data-movement cost, for `map` alone, with what decides between the
        mappings of a tile after a comma (else energy).

    Raises
    ------
    InputError
        When it is none.
    """
    items = [item.strip() for item in text.split(",")] if isinstance(text, str) else [str(text)]
    movement = items[0] == MOVEMENT
    if movement:
        items = items[1:] or ["energy"]
        if len(items) > 1 or "<" in items[0]:
            raise InputError(
                f"'{MOVEMENT}' takes one product after it, which decides between the mappings of "
                f"a tile, found '{text}'",
                key="objective",
            )
    products: list[tuple[float, float]] = []
    limits = [inf, inf]
    for item in items:
        if "<" in item:
            name, _, number = item.replace("<=", "<", 1).partition("<")
            limits[factor_of(name.strip(), item)] = positive(number, item)
        else:
            products.append(powers_of(item))
    if not products or len(products) > 2:
        raise InputError(
            f"an objective has one product or two of them, found {len(products)} in '{text}'; "
            f"{ACCEPTED}",
            key="objective",
        )
    then = products[1] if len(products) == 2 else usual_second(products[0])
    return Objective(products[0], then, limits[0], limits[1], movement)


def powers_of(item: str) -> tuple[float, float]:
    """Return the powers of energy and cycles in a product."""
    if item in NAMES:
        return NAMES[item]
    powers = [0.0, 0.0]
    for part in re.split(r"\*(?!\*)", item.replace("**", "^")):
        name, caret, power = part.partition("^")
        powers[factor_of(name.strip(), item)] += positive(power, item) if caret else 1.0
    if max(powers) > MOST_POWER:
        raise InputError(
            f"powers are at most {MOST_POWER:g}, found {max(powers):g} in '{item}'", key="objective"
        )
    return powers[0], powers[1]


def factor_of(name: str, item: str) -> int:
    """Return 0 for energy and 1 for cycles."""
    if name not in FACTORS:
        meant = nearest(name, [*NAMES, *FACTORS])
        raise InputError(f"no objective '{item}'; {ACCEPTED}{meant}", key="objective")
    return FACTORS[name]


def positive(text: str, item: str) -> float:
    """Return a number greater than 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not isfinite(number) or number <= 0:
        raise InputError(
            f"expected a number greater than 0 in '{item}', found '{text.strip()}'",
            key="objective",
        )
    return number
