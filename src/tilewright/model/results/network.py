"""What a whole network costs, each layer with a mapping of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.model.results.energy_figure import energy_figure
from tilewright.model.results.hardware import Hardware, hardware
from tilewright.model.results.result import Evaluation, utilization
from tilewright.text import aligned, number
from tilewright.workload.by_layer import ByLayer
from tilewright.workload.layer import Network

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, repr=False)
class NetworkEvaluation(ByLayer[Evaluation]):
    """Costs of the layers of a network, run one after the other.

    Attributes
    ----------
    network : Network
        What is computed.
    architecture : Architecture
        The machine that was given; mappings in directives arrange its elements as clusters.
    layers : tuple of Evaluation
        For one run of each layer, in the order of the network.
    """

    network: Network
    architecture: Architecture
    layers: tuple[Evaluation, ...]

    @cached_property
    def operations(self) -> int:
        """Operations of all layers, repeats counted."""
        return self.network.operations

    @cached_property
    def cycles(self) -> float:
        """Cycles of all layers, repeats counted."""
        return sum(found.cycles * found.layer.repeat for found in self.layers)

    @cached_property
    def energy_pj(self) -> float:
        """Energy of all layers in pJ, repeats counted."""
        return sum(found.energy_pj * found.layer.repeat for found in self.layers)

    @cached_property
    def utilization(self) -> float:
        """Operations / what all compute units could carry out in all cycles."""
        return utilization(self.architecture, self.operations, self.cycles)

    @property
    def hardware(self) -> Hardware:
        """Area, energy, power and leakage of each component, over all layers."""
        return hardware(self.architecture, self.layers)

    def __repr__(self) -> str:
        return (
            f"<NetworkEvaluation of {self.network.name} on {self.architecture.name}: "
            f"{self.energy_pj:.6g} pJ, {self.cycles:.6g} cycles>"
        )

    def rows(self) -> list[tuple[str, ...]]:
        """Return a table: a line of headings, one for each layer, one for all."""
        rows: list[tuple[str, ...]] = [
            ("layer", "repeat", "energy (uJ)", "cycles", "utilization", "bound by")
        ]
        rows += [
            (
                found.layer.name,
                str(found.layer.repeat),
                number(found.energy_pj * 1e-6),
                f"{found.cycles:,.10g}",
                f"{found.utilization:.1%}",
                found.bound,
            )
            for found in self.layers
        ]
        repeats = sum(found.layer.repeat for found in self.layers)
        total = (
            "total", str(repeats), number(self.energy_pj * 1e-6), f"{self.cycles:,.10g}",
            f"{self.utilization:.1%}", "",
        )  # fmt: skip
        return [*rows, total]

    def text(self, width: int | None = None) -> str:
        """Return a table of the layers and their totals; energy and cycles are for one run."""
        lines = aligned(self.rows(), (0, 5), width=width and width - 2, drop=("bound by",))
        title = f"{self.network.name} on {self.architecture.name}"
        return "\n".join([title, *(f"  {line}" for line in lines)])

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(index=False, border=0)
        return f"<p>{escape(repr(self)[1:-1])}</p>{table}"

    def plot(self) -> go.Figure:
        """Return a plot of the energy of each layer by level of the machine, repeats counted."""
        return energy_figure(self.layers, f"{self.network.name} on {self.architecture.name}")

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per layer."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "layer": found.layer.name,
                    "repeat": found.layer.repeat,
                    "operations": found.operations,
                    "energy_pj": found.energy_pj,
                    "cycles": found.cycles,
                    "utilization": found.utilization,
                    "power_mw": found.power_mw,
                    "leakage_pj": found.leakage_pj,
                    "area_mm2": found.area_mm2,
                    "bound": found.bound,
                }
                for found in self.layers
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "network": self.network.name,
            "architecture": self.architecture.name,
            "layers": [f.to_dict() | {"repeat": f.layer.repeat} for f in self.layers],
            "total": {
                "operations": self.operations,
                "cycles": self.cycles,
                "energy_pj": self.energy_pj,
                "utilization": self.utilization,
            },
            "hardware": self.hardware.to_dict(),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)
