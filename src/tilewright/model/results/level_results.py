"""What an evaluation says of one tensor, memory, network or of the compute units."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass


@dataclass(frozen=True)
class TensorResult:
    """One tensor at one memory, all instances together.

    Attributes
    ----------
    reads, writes : int
        Elements read and written.
    peak : int
        Largest tile of one instance, in elements, without the buffering factor.
    energy_pj : float
        Energy of the reads and writes.
    reuse : float or None
        Reads per element that is filled from above (written, for an output); None when nothing is
        written.
    """

    reads: int
    writes: int
    peak: int
    energy_pj: float
    reuse: float | None


@dataclass(frozen=True)
class MemoryResult:
    """One memory level, all instances together unless said otherwise.

    Attributes
    ----------
    instances, instances_used : int
        Instances that there are, and that ever hold something.
    tensors : mapping of tensor to TensorResult
        Zeros where a tensor bypasses the memory.
    energy_pj : float
        Energy of the accesses, without leakage.
    energy_share : float
        Its share of the total energy.
    cycles : float
        Cycles that the busiest instance needs for its accesses; 0 when bandwidth is unlimited.
    bandwidth_demand : float
        Words (of its width) that the busiest instance reads and writes per cycle of the run.
    occupied_bits : int
        Bits that one instance holds at most, buffering included.
    capacity_share : float or None
        Share of its capacity that this is; None when unbounded.
    shares : mapping of tensor to int, or None
        With optimal retention: words of each tensor that one instance holds at most.
    """

    instances: int
    instances_used: int
    tensors: Dict[str, TensorResult]
    energy_pj: float
    energy_share: float
    cycles: float
    bandwidth_demand: float
    occupied_bits: int
    capacity_share: float | None
    shares: Dict[str, int] | None = None


@dataclass(frozen=True)
class NetworkResult:
    """The network of one array, all instances together.

    Attributes
    ----------
    words, hops : mapping of tensor to int
        Elements carried, and deliveries to (or collections from) single array elements.
    energy_pj : float
        Energy of the hops.
    cycles : float
        Cycles that the busiest instance needs; 0 when bandwidth is unlimited.
    elements, elements_used : int
        Elements of all instances, and those under which something ever works.
    """

    words: Dict[str, int]
    hops: Dict[str, int]
    energy_pj: float
    cycles: float
    elements: int
    elements_used: int


@dataclass(frozen=True)
class ComputeResult:
    """The compute units.

    Attributes
    ----------
    steps : int
        Lockstep iterations in which some unit works.
    instances, instances_used : int
        Units that there are, and that ever work.
    cycles : int
        Cycles of the steps, rounded up.
    energy_pj : float
        Energy of the operations.
    """

    steps: int
    instances: int
    instances_used: int
    cycles: int
    energy_pj: float
