"""The counts that a mapping causes, in tensor elements ("words")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class TensorCounts:
    """Traffic of one tensor at one memory, summed over all instances.

    Attributes
    ----------
    reads, writes : int
        Words read from and written to the memory.
    peak : int
        Largest tile of one instance, in words, without the buffering factor.
    """

    reads: int = 0
    writes: int = 0
    peak: int = 0


@dataclass(frozen=True)
class NetworkCounts:
    """Traffic of one tensor through one array's network.

    Attributes
    ----------
    words : int
        Words that enter the array from above or leave it upward, summed over its instances; a
        multicast word and a reduced partial sum count once.
    hops : int
        Words delivered to, or collected from, single elements: a word multicast to n elements makes
        n hops.
    """

    words: int = 0
    hops: int = 0


@dataclass(frozen=True)
class Counts:
    """Everything that is counted, by explicit sets or in closed form.

    Attributes
    ----------
    operations : int
        Iterations of the nest.
    steps : int
        Lockstep iterations in which some compute unit operates.
    memories : mapping of memory to mapping of tensor to TensorCounts
        Every memory and every tensor; zeros where a tensor bypasses a memory.
    networks : mapping of array to mapping of tensor to NetworkCounts
        Every array and every tensor.
    busiest : mapping of memory to mapping of tensor to TensorCounts
        The same as `memories` for the first instance alone, the one that is never idle and that
        receives every refetched partial sum of its reducing group. It sets the bandwidth bound.
    busiest_networks : mapping of array to mapping of tensor to NetworkCounts
        The same for the first instance of each array.
    instances : mapping of level to int
        Instances of each memory, array and the compute unit that ever hold or do something.
    """

    operations: int
    steps: int
    memories: Mapping[str, Mapping[str, TensorCounts]]
    networks: Mapping[str, Mapping[str, NetworkCounts]]
    busiest: Mapping[str, Mapping[str, TensorCounts]]
    busiest_networks: Mapping[str, Mapping[str, NetworkCounts]]
    instances: Mapping[str, int]
