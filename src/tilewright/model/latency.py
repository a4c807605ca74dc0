"""Throughput latency: transfers overlap with compute, the slowest level sets the pace."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.counts import NetworkCounts, TensorCounts
from tilewright.model.energy import word_ratio
from tilewright.workload.layer import Layer


def compute_cycles(architecture: Architecture, steps: int) -> int:
    """Return the cycles of the compute steps, rounded up to a whole number."""
    cycles = architecture.compute.cycles
    return steps * int(cycles) if cycles == int(cycles) else ceil(steps * cycles)


def memory_words(
    memory: Memory, layer: Layer, counts: Mapping[str, TensorCounts]
) -> tuple[float, float]:
    """Return what one instance reads and writes, in words of its own width."""
    reads = writes = 0.0
    for tensor in layer.tensors:
        ratio = word_ratio(memory, tensor)
        reads += counts[tensor.name].reads * ratio
        writes += counts[tensor.name].writes * ratio
    return reads, writes


def memory_cycles(memory: Memory, layer: Layer, counts: Mapping[str, TensorCounts]) -> float:
    """Return the cycles that the accesses of one instance take, not rounded.

    Parameters
    ----------
    counts : mapping of tensor to TensorCounts
        Traffic of the busiest instance, in tensor elements.
    """
    reads, writes = memory_words(memory, layer, counts)
    cycles = 0.0
    if memory.read_bandwidth is not None:
        cycles = max(cycles, reads / memory.read_bandwidth)
    if memory.write_bandwidth is not None:
        cycles = max(cycles, writes / memory.write_bandwidth)
    if memory.shared_bandwidth is not None:
        cycles = max(cycles, (reads + writes) / memory.shared_bandwidth)
    return cycles


def network_cycles(array: Array, counts: Mapping[str, NetworkCounts]) -> float:
    """Return the cycles that the words of one instance of an array take, not rounded."""
    if array.bandwidth is None:
        return 0.0
    return sum(tensor.words for tensor in counts.values()) / array.bandwidth
