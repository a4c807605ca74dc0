"""Energy and area: what counts cost."""

from __future__ import annotations

from math import prod

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.counts import NetworkCounts, TensorCounts
from tilewright.workload.layer import Layer, Tensor

PJ_PER_MJ = 1e9


def element_bits(memory: Memory, tensor: Tensor) -> int:
    """Return the bits of a tensor's element in a memory: its own, else the memory's word."""
    return memory.word_bits if tensor.bits is None else tensor.bits


def word_ratio(memory: Memory, tensor: Tensor) -> float:
    """Return the words of a memory that one element of a tensor takes (b bits of w: b/w)."""
    return element_bits(memory, tensor) / memory.word_bits


def read_cost(memory: Memory, tensor: Tensor) -> float:
    """Return the energy of reading one element of a tensor from a memory, in pJ."""
    return memory.read_price(tensor.name) * word_ratio(memory, tensor)


def write_cost(memory: Memory, tensor: Tensor) -> float:
    """Return the energy of writing one element of a tensor to a memory, in pJ."""
    return memory.write_price(tensor.name) * word_ratio(memory, tensor)


def operation_cost(architecture: Architecture, layer: Layer) -> float:
    """Return the expected energy of one operation, in pJ.

    A gated compute unit spends none on an operation with a zero operand: the product of the
    inputs' densities remains.
    """
    compute = architecture.compute
    return (
        compute.energy * prod(t.density for t in layer.inputs) if compute.gated else compute.energy
    )


def leakage_power(architecture: Architecture) -> float:
    """Return the leakage power of all instances of all levels, in mW."""
    return sum(leakages(architecture).values(), 0.0)


def leakage_per_cycle(architecture: Architecture) -> float:
    """Return the leakage energy of one cycle, in pJ."""
    return leakage_power(architecture) * PJ_PER_MJ / architecture.clock_hz


def area(architecture: Architecture) -> float:
    """Return the area of all instances of all levels, in mm2."""
    return sum(areas(architecture).values(), 0.0)


def areas(architecture: Architecture) -> dict[str, float]:
    """Return the area of all instances of each level, in mm2; 0 where none is known."""
    return {
        level.name: architecture.instances(level.name) * level.area for level in architecture.levels
    }


def without_area(architecture: Architecture) -> list[str]:
    """Return the levels of which no area is known, which `area` leaves out."""
    return [level.name for level in architecture.levels if not level.area]


def leakages(architecture: Architecture) -> dict[str, float]:
    """Return the leakage power of all instances of each memory and the compute unit, in mW."""
    return {
        level.name: architecture.instances(level.name) * level.leakage
        for level in architecture.levels
        if not isinstance(level, Array)
    }


def access_energy(memory: Memory, tensor: Tensor, counts: TensorCounts) -> float:
    """Return the energy of a tensor's reads and writes at a memory, in pJ."""
    return counts.reads * read_cost(memory, tensor) + counts.writes * write_cost(memory, tensor)


def network_energy(array: Array, counts: NetworkCounts) -> float:
    """Return the energy of a tensor's hops through an array's network, in pJ."""
    return counts.hops * array.hop_energy
