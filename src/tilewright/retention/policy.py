"""Memories with optimal retention: the share of each tensor, and what is fetched again."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import lcm

from tilewright.architecture.checks import retention_fault
from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import InputError, MappingError
from tilewright.mapping.structure import Link, Structure
from tilewright.mapping.validity import element_bits
from tilewright.model.closed_form.words import S
from tilewright.retention.instances.lockstep import groups, spills_of
from tilewright.retention.instances.nest import Nest
from tilewright.retention.partition import Claim, divide
from tilewright.retention.spills.curve import Curve, curve_of
from tilewright.workload.layer import Layer, Tensor


@dataclass(frozen=True)
class Held:
    """What each instance of a memory with optimal retention holds of one tensor.

    Attributes
    ----------
    memory, tensor : str
        The memory and the tensor.
    share : int
        Words of the tensor that an instance holds at most.
    nest : Nest
        The loops above its store node.
    depth : int
        Their number, those of one chunk included.
    """

    memory: str
    tensor: str
    share: int
    nest: Nest
    depth: int


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
        When the blocks do not fit the shares, or partial sums would have to be followed in the
        memory above.
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
        nests = {link.tensor.name: nest_of(link, layer, structure, found) for link in links}
        tensors = [link.tensor for link in links]
        needs = {name: needs_of(nest) for name, nest in nests.items()}
        shares = given_shares(memory, tensors) or open_shares(memory, tensors, needs)
        for link in links:
            name = link.tensor.name
            share = min(shares[name], needs[name].words)
            found[memory.name, name] = Held(memory.name, name, share, nests[name], link.depth)
    return found


def nest_of(
    link: Link, layer: Layer, structure: Structure, found: Dict[tuple[str, str], Held]
) -> Nest:
    """Return the loops above a memory as a tensor sees them.

    Partial sums leave with the tile of the memory above; where single words of that tile come and
    go, they are refused.
    """
    for array in link.arrays:
        if array.forwarding and not link.tensor.is_output:
            raise MappingError(
                f"'{link.child}' retains optimally: {link.tensor.name} cannot come to it through "
                f"'{array.name}' with forwarding, which passes on the words of tiles alone",
                key="mapping",
            )
    if not link.tensor.is_output or link == structure.links[link.tensor.name][0]:
        return Nest.of(layer, structure, link)
    above = found.get((link.parent, link.tensor.name))
    plain = Nest.of(layer, structure, link)
    outer = [
        loop
        for loop in structure.loops[: link.parent_depth]
        if loop.array is None and loop.chunks > 1 and loop.dimension in link.tensor.dimensions
    ]
    stays = above is not None and above.nest.anew == 0 and above.share == needs_of(above.nest).words
    if not outer or stays:
        return plain
    if above is not None or not all(plain.alone(loop.dimension) for loop in outer):
        comes = "retains some of its words" if above is not None else "moves along its windows"
        raise MappingError(
            f"'{link.child}' retains optimally: the output {link.tensor.name} cannot come to it "
            f"from '{link.parent}', which {comes}, but from a memory that holds all of it or "
            "tiles that have no words in common",
            key="mapping",
        )
    return Nest.of(layer, structure, link, anew=True)


class Needs:
    """What the instances of a memory need of one tensor, and spill, all together.

    Attributes
    ----------
    block_words : int
        Words of the largest block.
    words : int
        Words with which no instance spills any.
    """

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        every = [S] * len(nest.loops)
        members = [(times, trace) for times, ((trace, _),) in groups(nest, every)]
        self.spills = [(times, spills_of(trace)) for times, trace in members]
        self.block_words = max(each.least for _, each in self.spills)
        self.words = max(each.words for _, each in self.spills)

    def __call__(self, capacity: int) -> int:
        """Return the spills of all instances, each with so many words."""
        return sum(times * spills(capacity) for times, spills in self.spills)


needs_of = lru_cache(maxsize=256)(Needs)


@lru_cache(maxsize=1024)
def known_curve(nest: Nest, most: int) -> Curve:
    """Return the spills of all instances for every capacity up to some words."""
    needs = needs_of(nest)
    return curve_of(needs, needs.block_words, min(most, needs.words))


def given_shares(memory: Memory, tensors: Sequence[Tensor]) -> dict[str, int] | None:
    """Return the words of each tensor in a memory with a size for each; None without."""
    sizes = memory.tensor_bits
    if sizes is None:
        return None
    return {t.name: sizes[t.role] // element_bits(t, memory) for t in tensors}


def open_shares(
    memory: Memory, tensors: Sequence[Tensor], needs: Dict[str, Needs]
) -> dict[str, int]:
    """Return the shares, in words, with which the fewest bits move to and from all instances.

    A memory with banks is divided bank by bank, no element lying in two; another one in units that
    hold a whole number of each tensor's elements. A spilled word of an input moves once more; one
    of the output leaves and returns.
    """
    if memory.capacity_bits is None or not tensors:
        return {name: each.words for name, each in needs.items()}
    bits = {t.name: element_bits(t, memory) for t in tensors}
    blocks = {name: each.block_words for name, each in needs.items()}
    unit = memory.capacity_bits // memory.banks if memory.banks else lcm(*bits.values())
    count = memory.capacity_bits // unit
    held = {name: unit // width for name, width in bits.items()}
    least = {name: -(-blocks[name] // held[name]) if held[name] else count + 1 for name in bits}
    spare = count - sum(least.values())
    if spare < 0:
        listed = ", ".join(f"{name} {blocks[name]} words of {bits[name]} bits" for name in bits)
        raise MappingError(
            f"the blocks in '{memory.name}' do not fit: it is divided into {count} parts of "
            f"{unit} bits, each with words of one tensor; the blocks are: {listed}",
            key="mapping",
        )
    claims = [
        Claim(
            known_curve(needs[t.name].nest, (least[t.name] + spare) * held[t.name]),
            held[t.name],
            bits[t.name] * (2 if t.is_output else 1),
        )
        for t in tensors
    ]
    units = divide(claims, count)
    assert units is not None
    return {t.name: n * held[t.name] for t, n in zip(tensors, units, strict=True)}
