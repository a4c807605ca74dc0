"""What dMazeRunner's model says about execution methods."""

from __future__ import annotations

import json
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.interop.dmazerunner.method import Loops, Method
from tilewright.mapping.files import mapping_data
from tilewright.mapping.nodes import Mapping
from tilewright.text import aligned
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Dma:
    """How one tile moves between DRAM and the buffer.

    Attributes
    ----------
    bursts, elements : int
        Contiguous pieces, and the elements of each.
    cycles : int
        Cycles of the array's clock for all pieces.
    """

    bursts: int
    elements: int
    cycles: int


@dataclass(frozen=True)
class MethodCost:
    """What one execution method costs by dMazeRunner's model.

    Attributes
    ----------
    layer, architecture, mapping
        What was evaluated.
    method : Method
        The loops of the mapping at the four levels.
    energy : mapping of level to float
        In pJ, not rounded.
    cycles : float
        Cycles of the array's clock.
    exceeds : str
        Why the mapping does not run on the machine, or empty; it is priced all the same.
    elements_used : int
        Elements of the array that compute.
    spm_passes, rf_passes : int
        Passes through the buffer, and through the registers in each of these.
    compute_cycles, spm_pass_cycles : float
        Cycles of one RF pass without stalls, and of one SPM pass.
    reduction_cycles : int
        Cycles of an RF pass in which elements pass partial sums to each other.
    words : mapping of level to mapping of tensor to int
        Elements of a tile in the ``"registers"``, on the ``"array"`` and in the ``"buffer"``.
    reuse : mapping of level to mapping of tensor to int
        Passes in a row with the same tile: SPM passes (``"outer"``), RF passes (``"inner"``).
    continuous : tuple of str
        Tensors whose tile stays in the registers from one SPM pass to the next.
    returned_tiles : int
        Tiles of partial sums that are read back from DRAM.
    dma : mapping of tensor to Dma
        How a tile moves between DRAM and the buffer.
    """

    layer: Layer
    architecture: Architecture
    mapping: Mapping
    method: Method
    energy: Dict[str, float]
    cycles: float
    exceeds: str
    elements_used: int
    spm_passes: int
    rf_passes: int
    compute_cycles: float
    spm_pass_cycles: float
    reduction_cycles: int
    words: Dict[str, Dict[str, int]]
    reuse: Dict[str, Dict[str, int]]
    continuous: tuple[str, ...]
    returned_tiles: int
    dma: Dict[str, Dma]

    @cached_property
    def energy_pj(self) -> float:
        """Energy of all levels in pJ; rounded to a whole number, as dMazeRunner does."""
        levels = [level.name for level in reversed(self.architecture.levels)]
        return float(round(sum(self.energy[name] for name in levels)))

    @property
    def edp_pj_cycles(self) -> float:
        """Energy times cycles."""
        return self.energy_pj * self.cycles

    def __repr__(self) -> str:
        return (
            f"<MethodCost of {self.layer.name} on {self.architecture.name} by dMazeRunner's "
            f"model: {self.energy_pj:.6g} pJ, {self.cycles:.6g} cycles>"
        )

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(index=False, border=0)
        return f"<p>{escape(repr(self)[1:-1])}</p>{table}"

    def text(self, width: int | None = None) -> str:
        """Return a summary in several lines, with a table of the tiles."""
        lines = [
            f"{self.layer.name} on {self.architecture.name}, counted as dMazeRunner does",
            f"  cycles       {self.cycles:,.10g} ({self.spm_passes:,} SPM passes of "
            f"{self.spm_pass_cycles:,.10g}, {self.rf_passes:,} RF passes in each)",
            f"  energy       {self.energy_pj:,.10g} pJ",
            f"  EDP          {self.edp_pj_cycles:.6g} pJ x cycles",
            f"  elements     {self.elements_used}",
            "",
        ]
        rows = [tuple(self.to_frame().columns)]
        rows += [
            tuple(str(cell) for cell in row) for row in self.to_frame().itertuples(index=False)
        ]
        lines += [f"  {line}" for line in aligned(rows, (0,), width=width and width - 2)]
        lines.append("")
        lines += [f"  {name}: {energy:,.10g} pJ" for name, energy in self.energy.items()]
        if self.exceeds:
            lines += ["", f"  Does not run on this machine: {self.exceeds}."]
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per tensor: tiles, reuse and DMA."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "tensor": t.name,
                    **{f"{level}_words": words[t.name] for level, words in self.words.items()},
                    "outer_reuse": self.reuse["outer"][t.name],
                    "inner_reuse": self.reuse["inner"][t.name],
                    "continuous": t.name in self.continuous,
                    "bursts": self.dma[t.name].bursts,
                    "burst_elements": self.dma[t.name].elements,
                    "dma_cycles": self.dma[t.name].cycles,
                }
                for t in self.layer.tensors
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``evaluate --counting dmazerunner --json`` has it."""
        return {
            "layer": self.layer.name,
            "architecture": self.architecture.name,
            "counting": "dmazerunner",
            "operations": self.layer.operations,
            "cycles": self.cycles,
            "energy_pj": self.energy_pj,
            "edp_pj_cycles": self.edp_pj_cycles,
            "energy": dict(self.energy),
            "exceeds": self.exceeds,
            "elements_used": self.elements_used,
            "spm_passes": self.spm_passes,
            "rf_passes": self.rf_passes,
            "compute_cycles": self.compute_cycles,
            "spm_pass_cycles": self.spm_pass_cycles,
            "reduction_cycles": self.reduction_cycles,
            "words": {level: dict(words) for level, words in self.words.items()},
            "reuse": {level: dict(factors) for level, factors in self.reuse.items()},
            "continuous": list(self.continuous),
            "returned_tiles": self.returned_tiles,
            "dma": {
                name: {"bursts": dma.bursts, "elements": dma.elements, "cycles": dma.cycles}
                for name, dma in self.dma.items()
            },
            "loops": {
                "outer": loop_data(self.method.outer),
                "inner": loop_data(self.method.inner),
                "spatial": {d: n for d, n in self.method.spatial.items() if n > 1},
                "registers": {d: n for d, n in self.method.registers.items() if n > 1},
            },
            "mapping": mapping_data(self.mapping, self.layer),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def loop_data(loops: Loops) -> list[dict[str, Any]]:
    """Return loops as plain data, outermost first."""
    return [{"for": d, "trips": count} for d, count in loops]
