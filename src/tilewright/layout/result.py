"""What `best_layout` returns: tiles, layouts and loop orders of a network's layers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.layout.choose import Choice
from tilewright.layout.uniform import Uniform, total_blocks
from tilewright.mapping.files import mapping_data
from tilewright.text import aligned
from tilewright.workload.axis_order import axis_name
from tilewright.workload.layer import Network

if TYPE_CHECKING:
    import pandas as pd

HEADERS = ("layer", "tile", "loops", "contiguous", "blocks/operation", "estimate", "exact")


@dataclass(frozen=True, repr=False)
class LayoutResult:
    """Off-chip tiles of least data-movement cost, by layer.

    Attributes
    ----------
    network : Network
        What is computed.
    architecture : Architecture
        On what.
    choices : tuple of Choice
        The best tile, layouts and loop order of each layer.
    uniform : Uniform or None
        The best layout that all layers share, where it was asked for.
    space : str
        Which tiles were searched, in words.
    seconds : float
        Time of the search.
    """

    network: Network
    architecture: Architecture
    choices: tuple[Choice, ...]
    uniform: Uniform | None
    space: str
    seconds: float

    def __getitem__(self, layer: str) -> Choice:
        """Return the choice for the layer with this name."""
        for choice in self.choices:
            if choice.cost.layer.name == layer:
                return choice
        raise KeyError(layer)

    @cached_property
    def blocks(self) -> float:
        """Blocks of all layers by the estimate, repeats counted."""
        return total_blocks(self.choices)

    @property
    def penalty(self) -> float | None:
        """How many blocks more the uniform layout moves, as a share; None without one."""
        return None if self.uniform is None else self.uniform.blocks / self.blocks - 1

    def __repr__(self) -> str:
        return (
            f"<LayoutResult of {self.network.name} on {self.architecture.name}: "
            f"{self.blocks:,.0f} blocks>"
        )

    def __str__(self) -> str:
        return self.text()

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of a table, one row per layer."""
        return [
            (
                choice.cost.layer.name,
                tile_text(choice),
                " ".join(choice.order) or "-",
                axes_text(choice),
                f"{choice.value:.4g}",
                f"{choice.value * choice.cost.layer.operations:,.0f}",
                f"{choice.total_blocks:,}",
            )
            for choice in self.choices
        ]

    def text(self, width: int | None = None) -> str:
        """Return a table with a row per layer, and the uniform layout."""
        lines = [f"{self.network.name} on {self.architecture.name}, least data-movement cost", ""]
        lines += aligned([HEADERS, *self.rows()], range(4), width=width, drop=("estimate",))
        lines += ["", f"{self.space} {self.seconds:.2g} s."]
        if self.uniform is not None:
            axes = ", ".join(f"{role} {axis}" for role, axis in self.uniform.axes.items())
            lines.append(
                f"One layout for all layers: contiguous are {axes}; it moves "
                f"{self.penalty:.1%} more blocks than the best layout of each layer."
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per layer."""
        import pandas as pd

        return pd.DataFrame([self._data(choice) for choice in self.choices])

    def _data(self, choice: Choice) -> dict[str, Any]:
        return {
            "layer": choice.cost.layer.name,
            "repeat": choice.cost.layer.repeat,
            "tile": choice.tile,
            "order": list(choice.order),
            "layouts": {t.name: choice.layouts[t.name].text(t) for t in choice.cost.layer.tensors},
            "blocks_per_operation": choice.value,
            "distinct_blocks_per_tile": choice.distinct,
            "tiles": choice.tiles,
            "blocks": {
                name: {"reads": b.reads, "writes": b.writes, "words_per_block": b.words}
                for name, b in choice.blocks.items()
            },
            "mapping": mapping_data(choice.mapping, choice.cost.layer),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``tilewright layout --json`` writes it."""
        return {
            "network": self.network.name,
            "architecture": self.architecture.name,
            "space": self.space,
            "seconds": self.seconds,
            "layers": [self._data(choice) for choice in self.choices],
            "uniform": None
            if self.uniform is None
            else {"contiguous": self.uniform.axes, "penalty": self.penalty},
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def tile_text(choice: Choice) -> str:
    """Return the sizes of a tile, dimensions of one iteration left out."""
    bounds = choice.cost.layer.bounds
    sizes = (f"{d} {n}" for d, n in choice.tile.items() if bounds[d] > 1)
    return " ".join(sizes)


def axes_text(choice: Choice) -> str:
    """Return the contiguous axis of each tensor."""
    names = []
    for tensor in choice.cost.tensors:
        axis = choice.inner[tensor.name]
        if axis is not None:
            names.append(f"{tensor.name} {axis_name(tensor.expressions[axis])}")
    return ", ".join(names)
