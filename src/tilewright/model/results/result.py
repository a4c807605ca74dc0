"""What `evaluate` returns."""

from __future__ import annotations

import json
from collections.abc import Mapping as Dict
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.mapping.nodes import Mapping
from tilewright.model.results.level_results import ComputeResult, MemoryResult, NetworkResult
from tilewright.text import aligned, wrapped
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    import pandas as pd

    from tilewright.model.results.hardware import Hardware
    from tilewright.model.results.statistics import Statistics
    from tilewright.timing.result import Pipeline

ACCESSES = (
    "memory", "tensor", "reads (words)", "writes (words)", "tile (words)", "reuse",
    "energy (pJ)",
)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Costs and statistics of one mapping of one layer on one machine.

    Attributes
    ----------
    layer, architecture, mapping
        What was evaluated.
    counts : Counts
        The exact counts behind everything else.
    operations : int
        Operations of the layer.
    cycles : float
        The largest bound over compute, memories and networks, not rounded; a whole number (int)
        when compute sets it.
    energy_pj : float
        Accesses, networks, operations and leakage.
    edp_pj_cycles : float
        Energy times cycles.
    bound : str
        Name of the level whose cycles are the latency; under pipelined latency, of the one that
        takes most of them.
    memories, networks : mapping of level to result
        In the order of the machine.
    compute : ComputeResult
        The compute units.
    leakage_pj : float
        Leakage of all instances over the run.
    intensity : float
        Operations per element read from or written to the outermost memory.
    intensity_per_byte : float
        Operations per byte of the same traffic.
    roofline : float
        Attainable operations per cycle: the machine's peak, or what the outermost memory's
        bandwidth feeds at this intensity when that is less.
    area_mm2 : float
        Area of the machine.
    pipeline : Pipeline or None
        Where the cycles go under pipelined latency; None under throughput latency.
    """

    layer: Layer
    architecture: Architecture
    mapping: Mapping
    counts: Counts
    operations: int
    cycles: float
    energy_pj: float
    edp_pj_cycles: float
    bound: str
    memories: Dict[str, MemoryResult]
    networks: Dict[str, NetworkResult]
    compute: ComputeResult
    leakage_pj: float
    intensity: float
    intensity_per_byte: float
    roofline: float
    area_mm2: float
    pipeline: Pipeline | None = None

    @cached_property
    def utilization(self) -> float:
        """Operations / what all compute units could carry out in the cycles of the run."""
        return utilization(self.architecture, self.operations, self.cycles)

    @cached_property
    def spatial_utilization(self) -> float:
        """Share of the compute units that work, on average over the compute steps; no stalls."""
        return self.operations / (self.compute.steps * self.compute.instances)

    @cached_property
    def operations_per_cycle(self) -> float:
        """Operations per cycle over the whole run."""
        return self.operations / self.cycles

    @cached_property
    def seconds(self) -> float:
        """Time of one run of the layer, in s."""
        return self.cycles / self.architecture.clock_hz

    @cached_property
    def energy_per_operation(self) -> float:
        """Energy per operation, in pJ."""
        return self.energy_pj / self.operations

    @cached_property
    def power_mw(self) -> float:
        """Average power over the run, in mW."""
        return self.energy_pj / self.seconds * 1e-9

    @cached_property
    def hardware(self) -> Hardware:
        """Area, energy, power and leakage of each component, over one run of the layer."""
        from tilewright.model.results.hardware import hardware

        return hardware(self.architecture, [replace(self, layer=replace(self.layer, repeat=1))])

    @cached_property
    def statistics(self) -> Statistics:
        """Reuse factors, buffer and bandwidth requirements, and what else MAESTRO reports."""
        from tilewright.model.results.statistics import statistics

        return statistics(self)

    def __repr__(self) -> str:
        return (
            f"<Evaluation of {self.layer.name} on {self.architecture.name}: "
            f"{self.energy_pj:.6g} pJ, {self.cycles:.6g} cycles, "
            f"utilization {self.utilization:.1%}, bound by {self.bound}>"
        )

    def text(self, width: int | None = None) -> str:
        """Return a summary in several lines, with a table of the accesses."""
        lines = [
            f"{self.layer.name} on {self.architecture.name}",
            f"  operations   {self.operations:,}",
            f"  cycles       {self.cycles:,.10g} (bound by {self.bound})",
            f"  energy       {self.energy_pj:,.6g} pJ "
            f"({self.energy_per_operation:.4g} pJ/operation)",
            f"  EDP          {self.edp_pj_cycles:.6g} pJ x cycles",
            f"  utilization  {self.utilization:.1%} "
            f"({self.spatial_utilization:.1%} while computing; "
            f"{self.compute.instances_used} of {self.compute.instances} units used)",
            f"  intensity    {self.intensity:.4g} operations/word at "
            f"{self.architecture.memories[0].name}, roofline {self.roofline:.4g} operations/cycle",
            f"  power        {self.power_mw:.4g} mW on average",
            f"  area         {self.hardware.area_text()}",
            "",
        ]
        rows = [ACCESSES]
        for name, memory in self.memories.items():
            for tensor, result in memory.tensors.items():
                if result.peak:
                    rows.append(
                        (
                            name,
                            tensor,
                            f"{result.reads:,}",
                            f"{result.writes:,}",
                            f"{result.peak:,}",
                            "" if result.reuse is None else f"{result.reuse:.4g}",
                            f"{result.energy_pj:.4g}",
                        )
                    )
        table = aligned(rows, (0, 1), width=width and width - 2, drop=("reuse",))
        lines += [f"  {line}" for line in table]
        lines[3:3] = self._cycle_lines()
        for name, memory in self.memories.items():
            if memory.shares is not None:
                held = ", ".join(f"{tensor} {words:,}" for tensor, words in memory.shares.items())
                lines.append(f"  {name} retains optimally, shares in words: {held or 'none'}")
        for label, energy in self._other_energies():
            lines.append(f"  {label}: {energy:.4g} pJ")
        lines += [f"  note: {note}" for note in self.architecture.notes]
        return wrapped("\n".join(lines), width)

    def _cycle_lines(self) -> list[str]:
        """Return where the cycles go, if they were found step by step."""
        if self.pipeline is None:
            return []
        parts = [("computing", self.pipeline.computing), ("operands", self.pipeline.operands)]
        parts += [(f"waiting for {name}", c) for name, c in self.pipeline.exposed.items()]
        shown = ", ".join(f"{name} {cycles:,.10g}" for name, cycles in parts if cycles)
        return [f"  pipelined    {shown}"]

    def _other_energies(self) -> list[tuple[str, float]]:
        energies = [(name, network.energy_pj) for name, network in self.networks.items()]
        energies.append((self.architecture.compute.name, self.compute.energy_pj))
        energies.append(("leakage", self.leakage_pj))
        return [(label, energy) for label, energy in energies if energy]

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(index=False, border=0)
        return f"<p>{escape(repr(self)[1:-1])}</p>{table}"

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per memory and tensor."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "memory": name,
                    "tensor": tensor,
                    "reads": result.reads,
                    "writes": result.writes,
                    "peak_words": result.peak,
                    "reuse": result.reuse,
                    "energy_pj": result.energy_pj,
                    "energy_share": result.energy_pj / self.energy_pj if self.energy_pj else 0.0,
                }
                for name, memory in self.memories.items()
                for tensor, result in memory.tensors.items()
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``tilewright evaluate --json`` writes it."""
        return {
            "layer": self.layer.name,
            "architecture": self.architecture.name,
            "operations": self.operations,
            "cycles": self.cycles,
            **({} if self.pipeline is None else {"pipeline": self.pipeline.to_dict()}),
            "energy_pj": self.energy_pj,
            "edp_pj_cycles": self.edp_pj_cycles,
            "utilization": self.utilization,
            "spatial_utilization": self.spatial_utilization,
            "bound": self.bound,
            "seconds": self.seconds,
            "power_mw": self.power_mw,
            "energy_per_operation_pj": self.energy_per_operation,
            "operations_per_cycle": self.operations_per_cycle,
            "intensity": self.intensity,
            "intensity_per_byte": self.intensity_per_byte,
            "roofline": self.roofline,
            "leakage_pj": self.leakage_pj,
            "area_mm2": self.area_mm2,
            "hardware": self.hardware.to_dict(),
            "memories": {
                name: {
                    "instances": memory.instances,
                    "instances_used": memory.instances_used,
                    "peak_words": {t: result.peak for t, result in memory.tensors.items()},
                    "cycles": memory.cycles,
                    "energy_pj": memory.energy_pj,
                    "energy_share": memory.energy_share,
                    "bandwidth_demand": memory.bandwidth_demand,
                    "occupied_bits": memory.occupied_bits,
                    "capacity_share": memory.capacity_share,
                    **({} if memory.shares is None else {"shares_words": dict(memory.shares)}),
                    "tensors": {
                        tensor: {
                            "reads": result.reads,
                            "writes": result.writes,
                            "energy_pj": result.energy_pj,
                            "reuse": result.reuse,
                        }
                        for tensor, result in memory.tensors.items()
                    },
                }
                for name, memory in self.memories.items()
            },
            "networks": {
                name: {
                    "words": dict(network.words),
                    "hops": dict(network.hops),
                    "cycles": network.cycles,
                    "energy_pj": network.energy_pj,
                    "elements": network.elements,
                    "elements_used": network.elements_used,
                }
                for name, network in self.networks.items()
            },
            "compute": {
                "steps": self.compute.steps,
                "instances": self.compute.instances,
                "instances_used": self.compute.instances_used,
                "cycles": self.compute.cycles,
                "energy_pj": self.compute.energy_pj,
            },
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def utilization(architecture: Architecture, operations: float, cycles: float) -> float:
    """Return operations / what all compute units of a machine could carry out in some cycles."""
    units = architecture.instances(architecture.compute.name)
    return operations * (architecture.compute.cycles or 1.0) / (cycles * units)
