"""Models of the package HWComponents, where it is installed, as technologies."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tilewright.architecture.technology.asked import (
    Answer,
    Asked,
    Link,
    Operation,
    OperationCost,
    Storage,
    StorageCost,
)
from tilewright.architecture.technology.memory_table import OutOfTableError
from tilewright.errors import InputError

PICO = 1e12
MILLI = 1e3
MM2_PER_M2 = 1e6
# partial sums are twice as wide as operands
SUM_WIDTHS = 2


@dataclass(frozen=True)
class HWComponents:
    """What the best-matching installed models say at one node.

    Memories are its ``SRAM``, operations its ``IntMAC``; it has no model of a hop.

    Attributes
    ----------
    name : str
        As files name it, ``hwcomponents-22nm``.
    node_nm : float
        The node.
    package : module
        ``hwcomponents``.
    """

    name: str
    node_nm: float
    package: Any

    def __call__(self, asked: Asked) -> Answer:
        """Return what a component costs, or None where there is no model."""
        if isinstance(asked, Link):
            return None
        # not times 1e-9: that would make 9.000000000000001e-08 of 90 nm
        own: dict[str, Any] = {"tech_node": float(f"{self.node_nm}e-9")}
        if isinstance(asked, Operation):
            if asked.arithmetic != "integer":
                return None
            own |= {
                "multiplier_width": asked.word_bits,
                "adder_width": SUM_WIDTHS * asked.word_bits,
            }
            model = self._model("IntMAC", own)
            return OperationCost(
                model.compute().energy * PICO, model.area * MM2_PER_M2, model.leak_power * MILLI
            )
        if asked.kind == "dram" or asked.size_bits is None:
            return None
        return self._storage(asked, own)

    def _storage(self, asked: Storage, own: dict[str, Any]) -> StorageCost:
        model = self._model(
            "SRAM",
            own | {
                "width": asked.width_bits, "size": asked.size_bits, "n_rw_ports": asked.ports,
                "n_banks": asked.banks,
            },
        )  # fmt: skip
        share = asked.word_bits / asked.width_bits * PICO
        read, write = model.read().energy * share, model.write().energy * share
        return StorageCost(read, write, model.area * MM2_PER_M2, model.leak_power * MILLI)

    def _model(self, component: str, attributes: dict[str, Any]) -> Any:
        try:
            return self.package.get_model(component, attributes)
        except Exception as failure:
            # whatever a model raises, it has no numbers for this component
            lines = str(failure).strip().splitlines() or [type(failure).__name__]
            raise OutOfTableError(f"HWComponents has no {component}: {lines[0]}") from None


def hwcomponents(name: str, node_nm: float) -> HWComponents:
    """Return HWComponents at a node.

    Raises
    ------
    InputError
        When it is not installed.
    """
    try:
        return HWComponents(name, node_nm, import_module("hwcomponents"))
    except ImportError:
        raise InputError(
            f"technology '{name}' needs the package HWComponents: "
            "pip install 'tilewright[hwcomponents]' (Python 3.12 or later)"
        ) from None
