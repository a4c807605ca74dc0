"""Statistics of an evaluation: reuse, buffers, bandwidths, utilisation, intensity, area."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewright.architecture.technology.components import Parts, load_components, parts
from tilewright.mapping.structure import resolve
from tilewright.model.demand import Bandwidth, Flow, peak_words
from tilewright.model.energy import element_bits
from tilewright.model.results.reuse import Reuse, reuse_factors
from tilewright.text import wrapped

if TYPE_CHECKING:
    from tilewright.model.results.result import Evaluation

COMPONENTS = "maestro-28nm"


@dataclass(frozen=True)
class Buffer:
    """What one instance of a memory must hold.

    Attributes
    ----------
    held : mapping of tensor to int
        Elements of the tile that the mapping keeps there.
    staged : mapping of tensor to int
        Elements that the levels inside hold in one step, together: what must be there for it.
    bits : int
        What is required, both steps of a double buffer included: the tiles held; at the outermost
        memory, which holds everything, what is staged.
    """

    held: Mapping[str, int]
    staged: Mapping[str, int]
    bits: int


@dataclass(frozen=True)
class Statistics:
    """What MAESTRO reports of a mapping, by the definitions of this package.

    Attributes
    ----------
    cycles : float
        Run time.
    seconds : float
        The same at the machine's clock.
    throughput : float
        Operations per cycle.
    energy_pj : mapping of level to mapping of tensor to float
        By memory and network; the compute unit and leakage have one entry, under their own name.
    energy_per_operation_pj : mapping of level to float
        The same, all tensors together, per operation.
    accesses : mapping of memory to mapping of tensor to (reads, writes)
        Elements, all instances together.
    buffers : mapping of memory to Buffer
        What one instance must hold.
    reuse : tuple of Reuse
        Every kind at every level, by tensor and from the outside inward.
    bandwidth : mapping of array to Bandwidth
        Words per cycle for which nothing waits.
    utilization : float
        Operations / what all compute units could carry out in the cycles of the run: stalls
        included.
    spatial_utilization, peak_spatial_utilization : float
        Share of the compute units that work, on average over the compute steps, and ever.
    intensity : mapping of memory to float
        Operations per element read or written there, all instances together.
    """

    cycles: float
    seconds: float
    throughput: float
    energy_pj: Mapping[str, Mapping[str, float]]
    energy_per_operation_pj: Mapping[str, float]
    accesses: Mapping[str, Mapping[str, tuple[int, int]]]
    buffers: Mapping[str, Buffer]
    reuse: tuple[Reuse, ...]
    bandwidth: Mapping[str, Bandwidth]
    utilization: float
    spatial_utilization: float
    peak_spatial_utilization: float
    intensity: Mapping[str, float]
    evaluation: Evaluation

    def parts(self, table: str = COMPONENTS) -> Parts:
        """Return area and power, with memories as large as the mapping needs.

        Parameters
        ----------
        table : str
            Name of a component table, see `tilewright.architecture.technology.components`.
        """
        bits = {name: buffer.bits for name, buffer in self.buffers.items()}
        return parts(load_components(table), self.evaluation.architecture, bits)

    def factor(self, level: str, tensor: str) -> float:
        """Return the reuse of a tensor at an array or a memory; 1 where it has none."""
        found = (r.factor for r in self.reuse if (r.level, r.tensor) == (level, tensor))
        return next(found, 1.0)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; area in mm2, power in mW."""
        area = self.parts()
        return {
            "cycles": self.cycles,
            "seconds": self.seconds,
            "throughput": self.throughput,
            "energy_pj": {level: dict(tensors) for level, tensors in self.energy_pj.items()},
            "energy_per_operation_pj": dict(self.energy_per_operation_pj),
            "accesses": {
                level: {t: {"reads": r, "writes": w} for t, (r, w) in tensors.items()}
                for level, tensors in self.accesses.items()
            },
            "buffers": {
                name: {"held": dict(b.held), "staged": dict(b.staged), "required_bits": b.bits}
                for name, b in self.buffers.items()
            },
            "reuse": [dict(vars(reuse)) for reuse in self.reuse],
            "bandwidth": {name: dict(vars(found)) for name, found in self.bandwidth.items()},
            "utilization": self.utilization,
            "spatial_utilization": {
                "average": self.spatial_utilization,
                "peak": self.peak_spatial_utilization,
            },
            "intensity": dict(self.intensity),
            "components": {
                "table": area.table,
                "area_mm2": dict(area.area_mm2),
                "power_mw": dict(area.power_mw),
                "total_area_mm2": area.total_area_mm2,
                "total_power_mw": area.total_power_mw,
                "warning": area.warning,
            },
        }

    def text(self, width: int | None = None) -> str:
        """Return the statistics in lines for people."""
        e = self.evaluation
        lines = [
            "statistics",
            f"  throughput   {self.throughput:.4g} operations/cycle, {self.seconds:.4g} s",
            f"  utilization  {self.utilization:.1%}; while computing "
            f"{self.spatial_utilization:.1%} of the units work on average, "
            f"{self.peak_spatial_utilization:.1%} ever",
        ]
        for name, found in self.bandwidth.items():
            given = "unlimited" if found.given is None else f"{found.given:.4g} given"
            lines.append(
                f"  {name}: {found.peak:.4g} words/cycle at most, {found.average:.4g} on average "
                f"for no stall, {given}"
            )
        for name, buffer in self.buffers.items():
            kept = ", ".join(f"{t} {n:,}" for t, n in buffer.staged.items())
            lines.append(
                f"  {name}: needs {buffer.bits / 8:,.6g} bytes ({kept} in one step), "
                f"{self.intensity[name]:.4g} operations/element"
            )
        for tensor in e.layer.tensors:
            shown = [
                f"{r.factor:.4g} {r.kind} at {r.level}"
                for r in self.reuse
                if r.tensor == tensor.name
            ]
            lines.append(f"  {tensor.name}: {', '.join(shown)}")
        shares = ", ".join(f"{n} {v:.4g}" for n, v in self.energy_per_operation_pj.items() if v)
        lines.append(f"  pJ/operation: {shares}")
        area = self.parts()
        lines.append(
            f"  area {area.total_area_mm2:.4g} mm2, power {area.total_power_mw:.4g} mW "
            f"({area.table}{'; ' + area.warning if area.warning else ''})"
        )
        return wrapped("\n".join(lines), width)


def statistics(evaluation: Evaluation) -> Statistics:
    """Return the statistics of an evaluation."""
    e = evaluation
    machine, layer, counts = e.architecture, e.layer, e.counts
    structure = resolve(e.mapping, layer, machine)
    energy: dict[str, dict[str, float]] = {}
    accesses: dict[str, dict[str, tuple[int, int]]] = {}
    intensity: dict[str, float] = {}
    for name, memory in e.memories.items():
        energy[name] = {t: found.energy_pj for t, found in memory.tensors.items()}
        accesses[name] = {t: (found.reads, found.writes) for t, found in memory.tensors.items()}
        moved = sum(reads + writes for reads, writes in accesses[name].values())
        intensity[name] = e.operations / moved if moved else float("inf")
    for array in machine.arrays:
        hops = e.networks[array.name].hops
        energy[array.name] = {t: words * array.hop_energy for t, words in hops.items()}
    energy[machine.compute.name] = {machine.compute.name: e.compute.energy_pj}
    if e.leakage_pj:
        energy["leakage"] = {"leakage": e.leakage_pj}
    compute_cycles = max(1, e.compute.cycles)
    per_operation = machine.compute.cycles or 1.0
    flows = [Flow(structure, link) for t in layer.tensors for link in structure.links[t.name]]
    bandwidth = {}
    for array in machine.arrays:
        crossing = [flow for flow in flows if array.name in flow.arrays]
        carried = sum(found.words for found in counts.busiest_networks[array.name].values())
        peak = peak_words(crossing, array, machine) / per_operation
        bandwidth[array.name] = Bandwidth(peak, carried / compute_cycles, array.bandwidth)
    return Statistics(
        cycles=e.cycles,
        seconds=e.seconds,
        throughput=e.operations_per_cycle,
        energy_pj=energy,
        energy_per_operation_pj={
            name: sum(found.values()) / e.operations for name, found in energy.items()
        },
        accesses=accesses,
        buffers=_buffers(e, flows),
        reuse=tuple(
            reuse
            for tensor in layer.tensors
            for reuse in reuse_factors(tensor, structure.links[tensor.name], counts, machine)
        ),
        bandwidth=bandwidth,
        utilization=e.utilization,
        spatial_utilization=e.spatial_utilization,
        peak_spatial_utilization=e.compute.instances_used / e.compute.instances,
        intensity=intensity,
        evaluation=e,
    )


def _buffers(e: Evaluation, flows: list[Flow]) -> dict[str, Buffer]:
    """Return what every memory must hold."""
    sent = {(flow.link.parent, flow.link.tensor.name): flow for flow in flows}
    found = {}
    for i, memory in enumerate(e.architecture.memories):
        held = {t: part.peak for t, part in e.memories[memory.name].tensors.items()}
        staged = {}
        bits = 0
        for tensor in e.layer.tensors:
            flow = sent.get((memory.name, tensor.name))
            staged[tensor.name] = 0 if flow is None else flow.staged()
            if flow is None:
                continue
            kept = 2 * staged[tensor.name] if i == 0 else held[tensor.name] * memory.buffering
            bits += kept * element_bits(memory, tensor)
        found[memory.name] = Buffer(held, staged, bits)
    return found
