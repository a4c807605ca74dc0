"""Memories with optimal retention: the share of each tensor, and what is fetched again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from functools import lru_cache
from math import lcm

from tilewright.architecture.checks import retention_fault
from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import InputError, MappingError
from tilewright.mapping.structure import Link, Structure
from tilewright.mapping.validity import element_bits
from tilewright.retention.access import Access
from tilewright.retention.count import SpillCounter
from tilewright.retention.curve import spill_curve
from tilewright.retention.partition import Claim, divide
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor

known_curve = lru_cache(maxsize=1024)(spill_curve)


@dataclass(frozen=True)
class Held:
    """What a memory with optimal retention holds of one tensor.

    Attributes
    ----------
    parent, memory, tensor : str
        Where the words come from, the memory, and the tensor.
    share : int
        Words of the tensor that it holds at most.
    distinct : int
        Words of the tensor that are ever touched.
    spills : int
        How often a word leaves that is used again.
    """

    parent: str
    memory: str
    tensor: str
    share: int
    distinct: int
    spills: int

    @property
    def fills(self) -> int:
        """Words that enter: each one the first time, and again after it was spilled."""
        return self.distinct + self.spills


def retaining(architecture: Architecture) -> tuple[Memory, ...]:
    """Return the memories of a machine with optimal retention."""
    return tuple(m for m in architecture.memories if m.retention == "optimal")


def held(
    layer: Layer, architecture: Architecture, structure: Structure
) -> dict[tuple[str, str], Held]:
    """Return what the retaining memories of a machine hold, by memory and tensor.

    Raises
    ------
    MappingError
        When the blocks do not fit the shares, or an output comes to such a memory from one that
        does not hold all of it.
    InputError
        When the loops above a memory have too many steps, or it is not one that may retain.
    """
    found: dict[tuple[str, str], Held] = {}
    for memory in retaining(architecture):
        if fault := retention_fault(memory, architecture):
            raise InputError(fault)
        links = [
            link
            for chain in structure.links.values()
            for link in chain
            if link.child == memory.name
        ]
        check_parents(links, structure)
        accesses = {
            link.tensor.name: Access.of(layer, link.tensor, structure.loops[: link.depth])
            for link in links
        }
        tensors = [link.tensor for link in links]
        shares = given_shares(memory, tensors) or open_shares(memory, tensors, accesses)
        for link in links:
            name = link.tensor.name
            access = accesses[name]
            found[memory.name, name] = Held(
                link.parent,
                memory.name,
                name,
                min(shares[name], access.words),
                access.words,
                SpillCounter(access)(shares[name]),
            )
    return found


def check_parents(links: Iterable[Link], structure: Structure) -> None:
    """Refuse partial sums that would return to a memory after it has dropped their tile."""
    for link in links:
        tensor = link.tensor
        whole = footprint(tensor, structure.bounds)
        if tensor.is_output and structure.tile_words(link.parent, tensor) < whole:
            raise MappingError(
                f"'{link.child}' retains optimally: the output {tensor.name} must come to it "
                f"directly from a memory that holds all of it, not from tiles in '{link.parent}'",
                key="mapping",
            )


def given_shares(memory: Memory, tensors: Sequence[Tensor]) -> dict[str, int] | None:
    """Return the words of each tensor in a memory with a size for each; None without."""
    sizes = memory.tensor_bits
    if sizes is None:
        return None
    return {t.name: sizes[t.role] // element_bits(t, memory) for t in tensors}


def open_shares(
    memory: Memory, tensors: Sequence[Tensor], accesses: Dict[str, Access]
) -> dict[str, int]:
    """Return the shares, in words, with which the fewest bits move to and from a memory.

    A memory with banks is divided bank by bank, no element lying in two; another one in units that
    hold a whole number of each tensor's elements. A spilled word of an input moves once more; one
    of the output leaves and returns.
    """
    if memory.capacity_bits is None or not tensors:
        return {name: access.words for name, access in accesses.items()}
    bits = {t.name: element_bits(t, memory) for t in tensors}
    blocks = {name: access.block_words for name, access in accesses.items()}
    unit = memory.capacity_bits // memory.banks if memory.banks else lcm(*bits.values())
    count = memory.capacity_bits // unit
    held = {name: unit // width for name, width in bits.items()}
    least = {name: -(-blocks[name] // held[name]) if held[name] else count + 1 for name in bits}
    spare = count - sum(least.values())
    if spare < 0:
        needs = ", ".join(f"{name} {blocks[name]} words of {bits[name]} bits" for name in bits)
        raise MappingError(
            f"the blocks in '{memory.name}' do not fit: it is divided into {count} parts of "
            f"{unit} bits, each with words of one tensor; the blocks are: {needs}",
            key="mapping",
        )
    claims = [
        Claim(
            known_curve(accesses[t.name], (least[t.name] + spare) * held[t.name]),
            held[t.name],
            bits[t.name] * (2 if t.is_output else 1),
        )
        for t in tensors
    ]
    units = divide(claims, count)
    assert units is not None
    return {t.name: n * held[t.name] for t, n in zip(tensors, units, strict=True)}
