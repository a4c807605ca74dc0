"""Evaluate a mapping: counts, energy, cycles and the statistics that follow from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.counts import Counts
from tilewright.kernels.kernel import interruptible
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import check as check_mapping
from tilewright.model import energy
from tilewright.model import latency as throughput
from tilewright.model.results.level_results import (
    ComputeResult,
    MemoryResult,
    NetworkResult,
    TensorResult,
)
from tilewright.model.results.result import Evaluation
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.timing.result import Pipeline
    from tilewright.timing.stages import Layouts


@interruptible()
def evaluate(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    *,
    check: bool = True,
    latency: str = "throughput",
    layouts: Layouts | None = None,
) -> Evaluation:
    """Return what a mapping of a layer on a machine costs.

    Parameters
    ----------
    layer, architecture, mapping
        What is computed, on what, and how.
    check : bool
        Whether to check first that the mapping is valid and fits; leave it out only for mappings
        that are known to be.
    latency : str
        ``"throughput"``: the slowest level sets the pace; ``"pipelined"``: step by step, see
        `tilewright.timing`.
    layouts : mapping of str to str, optional
        By tensor the order of its index expressions in the outermost memory, for pipelined latency.

    Returns
    -------
    Evaluation
        Energy in pJ, cycles, and exact counts in tensor elements.

    Raises
    ------
    MappingError
        When the mapping is malformed or does not fit the machine.
    """
    if check:
        check_mapping(mapping, layer, architecture)
    pipeline = None
    if latency == "pipelined":
        from tilewright.timing.latency import pipelined_latency

        pipeline = pipelined_latency(layer, architecture, mapping, layouts=layouts)
    from tilewright.model.count import count  # counts that are kept are assessed without

    counts = count(layer, architecture, mapping)
    return assess(layer, architecture, mapping, counts, pipeline)


@interruptible()
def assess(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    counts: Counts,
    pipeline: Pipeline | None = None,
) -> Evaluation:
    """Return what counts cost, wherever they come from (the closed form or the simulator).

    Without a `pipeline` of cycles, the slowest level sets the pace.
    """
    bounds = _cycle_bounds(layer, architecture, counts)
    bound = max(bounds, key=lambda name: bounds[name])
    cycles = bounds[bound]
    if pipeline is not None:
        waits = {architecture.compute.name: pipeline.computing + pipeline.operands}
        waits |= pipeline.exposed
        bound = max(waits, key=lambda name: waits[name])
        cycles = pipeline.cycles

    memory_energy = {
        memory.name: _memory_energy(memory, layer, counts) for memory in architecture.memories
    }
    networks = {
        array.name: _network(array, architecture, counts, bounds[array.name])
        for array in architecture.arrays
    }
    units = architecture.instances(architecture.compute.name)
    compute = ComputeResult(
        steps=counts.steps,
        instances=units,
        instances_used=counts.instances[architecture.compute.name],
        cycles=throughput.compute_cycles(architecture, counts.steps),
        energy_pj=counts.operations * energy.operation_cost(architecture, layer),
    )
    leakage = cycles * energy.leakage_per_cycle(architecture)
    total = 0.0
    for part in memory_energy.values():
        total += part
    for network in networks.values():
        total += network.energy_pj
    total = total + compute.energy_pj + leakage

    memories = {
        memory.name: _memory(
            memory, layer, architecture, counts, memory_energy[memory.name], total,
            bounds[memory.name], cycles,
        )
        for memory in architecture.memories
    }  # fmt: skip
    outer = architecture.memories[0]
    traffic = {
        tensor.name: counts.memories[outer.name][tensor.name].reads
        + counts.memories[outer.name][tensor.name].writes
        for tensor in layer.tensors
    }
    elements = sum(traffic.values())
    bits = sum(traffic[t.name] * energy.element_bits(outer, t) for t in layer.tensors)
    peak = units / architecture.compute.cycles if architecture.compute.cycles else float("inf")
    fed = counts.operations / bounds[outer.name] if bounds[outer.name] else float("inf")
    return Evaluation(
        layer=layer,
        architecture=architecture,
        mapping=mapping,
        counts=counts,
        operations=counts.operations,
        cycles=cycles,
        energy_pj=total,
        edp_pj_cycles=total * cycles,
        bound=bound,
        memories=memories,
        networks=networks,
        compute=compute,
        leakage_pj=leakage,
        intensity=counts.operations / elements if elements else float("inf"),
        intensity_per_byte=counts.operations / (bits / 8) if bits else float("inf"),
        roofline=min(peak, fed),
        area_mm2=energy.area(architecture),
        pipeline=pipeline,
    )


def _cycle_bounds(layer: Layer, architecture: Architecture, counts: Counts) -> dict[str, float]:
    """Return the cycles that each level needs; the compute unit first, it wins ties."""
    bounds: dict[str, float] = {
        architecture.compute.name: throughput.compute_cycles(architecture, counts.steps)
    }
    for level in architecture.levels:
        if isinstance(level, Memory):
            busiest = counts.busiest[level.name]
            bounds[level.name] = throughput.memory_cycles(level, layer, busiest)
        elif isinstance(level, Array):
            bounds[level.name] = throughput.network_cycles(
                level, counts.busiest_networks[level.name]
            )
    return bounds


def _memory_energy(memory: Memory, layer: Layer, counts: Counts) -> float:
    total = 0.0
    for tensor in layer.tensors:
        traffic = counts.memories[memory.name][tensor.name]
        total += energy.access_energy(memory, tensor, traffic)
    return total


def _memory(
    memory: Memory,
    layer: Layer,
    architecture: Architecture,
    counts: Counts,
    own_energy: float,
    total_energy: float,
    own_cycles: float,
    cycles: float,
) -> MemoryResult:
    tensors = {}
    occupied = 0
    for tensor in layer.tensors:
        traffic = counts.memories[memory.name][tensor.name]
        occupied += traffic.peak * energy.element_bits(memory, tensor) * memory.buffering
        tensors[tensor.name] = TensorResult(
            reads=traffic.reads,
            writes=traffic.writes,
            peak=traffic.peak,
            energy_pj=energy.access_energy(memory, tensor, traffic),
            reuse=traffic.reads / traffic.writes if traffic.writes else None,
        )
    capacity = memory.capacity_bits
    if memory.tensor_bits is not None:
        capacity = sum(memory.tensor_bits.values())
    reads, writes = throughput.memory_words(memory, layer, counts.busiest[memory.name])
    return MemoryResult(
        instances=architecture.instances(memory.name),
        instances_used=counts.instances[memory.name],
        tensors=tensors,
        energy_pj=own_energy,
        energy_share=own_energy / total_energy if total_energy else 0.0,
        cycles=own_cycles,
        bandwidth_demand=(reads + writes) / cycles if cycles else 0.0,
        occupied_bits=occupied,
        capacity_share=occupied / capacity if capacity else None,
    )


def _network(
    array: Array, architecture: Architecture, counts: Counts, cycles: float
) -> NetworkResult:
    carried = counts.networks[array.name]
    position = architecture.position[array.name]
    below = architecture.levels[position + 1].name
    total = 0.0
    for traffic in carried.values():
        total += energy.network_energy(array, traffic)
    return NetworkResult(
        words={tensor: traffic.words for tensor, traffic in carried.items()},
        hops={tensor: traffic.hops for tensor, traffic in carried.items()},
        energy_pj=total,
        cycles=cycles,
        elements=architecture.instances(below),
        elements_used=counts.instances[below],
    )
