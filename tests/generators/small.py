"""Layers and a machine that are small enough to try every even mapping."""

from __future__ import annotations

from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.workload.einsum import einsum

PRODUCT = einsum("O[M,N] += I[M,K] * W[K,N]", M=4, N=3, K=4)
WINDOW = einsum("O[K,P] += I[C,P+R] * W[K,C,R]", K=2, C=2, P=4, R=3)


def small_machine(registers: int = 6, buffer: int = 40, kept: str = "") -> Architecture:
    """Return a machine that dMazeRunner covers, with so many words in its memories."""
    return Architecture(
        "small",
        (
            Memory("DRAM", 16, read_energy=100.0, write_energy=100.0),
            Memory(
                "SPM", 16, capacity_bits=16 * buffer, read_energy=6.0, write_energy=6.0,
                read_bandwidth=1.0, write_bandwidth=1.0, must_keep=frozenset(kept),
            ),
            Array("PE", {"X": 2, "Y": 2}),
            Memory(
                "RF", 16, capacity_bits=16 * registers, read_energy=1.0, write_energy=1.0,
                must_keep=frozenset(kept),
            ),
            Compute("MAC", energy=1.0),
        ),
    )  # fmt: skip
