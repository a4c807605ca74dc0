"""What every mapping costs at least, whatever its tile sizes."""

from __future__ import annotations

from math import inf, prod

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.model.energy import (
    leakage_per_cycle,
    operation_cost,
    read_cost,
    word_ratio,
    write_cost,
)
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor


def least_cost(layer: Layer, architecture: Architecture) -> tuple[float, float]:
    """Return lower bounds of the energy (pJ) and the cycles of every mapping.

    Every word moves between the outermost memory and the machine once. Every operation reads or
    updates a word of each tensor in the memory that stores it last, and one access serves as many
    operations as there are units below it that can share a word.
    """
    outermost = architecture.memories[0]
    elements = prod(array.elements for array in architecture.arrays)
    cycles = layer.operations * architecture.compute.cycles / elements
    energy = layer.operations * operation_cost(architecture, layer)
    load = {"read": 0.0, "write": 0.0}
    for tensor in layer.tensors:
        words = float(footprint(tensor, layer.bounds))
        energy += min(
            (
                cheapest(layer, architecture, tensor, memory, words)
                for memory in architecture.memories
                if memory.may_store(tensor.role)
            ),
            default=inf,
        )
        load["write" if tensor.is_output else "read"] += words * word_ratio(outermost, tensor)
    for limit, words in (
        (outermost.read_bandwidth, load["read"]),
        (outermost.write_bandwidth, load["write"]),
        (outermost.shared_bandwidth, load["read"] + load["write"]),
    ):
        if limit is not None:
            cycles = max(cycles, words / limit)
    return energy + leakage_per_cycle(architecture) * cycles, cycles


def cheapest(
    layer: Layer, architecture: Architecture, tensor: Tensor, last: Memory, words: float
) -> float:
    """Return the least energy of one tensor's accesses when `last` stores it last, in pJ."""
    at = architecture.levels.index(last)
    shared = prod(
        level.elements
        for level in architecture.levels[at:]
        if isinstance(level, Array) and (level.reduction if tensor.is_output else level.multicast)
    )
    accesses = layer.operations / shared
    outermost = architecture.memories[0]
    if tensor.is_output:
        # the first update after an entry from zero reads nothing
        updates = write_cost(last, tensor) * accesses
        if last is outermost:
            return max(updates, write_cost(last, tensor) * words)
        return updates + write_cost(outermost, tensor) * words
    if last is outermost:
        return read_cost(last, tensor) * max(accesses, words)
    return read_cost(last, tensor) * accesses + read_cost(outermost, tensor) * words
