"""What is searched, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.architecture.machine import Architecture

DIVISORS, ALL = "divisors", "all"
TILES = (DIVISORS, ALL)
SIZES = {DIVISORS: "tile sizes that divide", ALL: "all tile sizes"}
OWN = "own"  # those of a strategy
SPACE = {
    DIVISORS: "all mappings whose tile sizes divide (docs/mapper.md).",
    ALL: "all regular mappings, of any tile sizes (docs/tile-sizes.md).",
}
UNSEEN = (
    "Words that neighbours forward are counted in what the mapping costs. For the lower bound no "
    "memory sends words of overlapping windows to an array whose elements may forward them."
)
RETAINED = (
    "Looked at with optimal retention: the mappings of this space that are best without it, when "
    "all, 1/2, 1/4 and 1/8 of the memory is for tiles. The lower bound is the optimum when "
    "memories that retain, and those above them, are unbounded."
)
RETAINED_BELOW = (
    "With arrays above such a memory, moreover, each word comes to its instances once in all, and "
    "a tensor that bypasses it at no cost."
)


def forwards(architecture: Architecture) -> bool:
    """Whether elements of some array pass words on to each other."""
    return any(array.forwarding for array in architecture.arrays)


def space_text(architecture: Architecture, tiles: str = DIVISORS) -> str:
    """Return what is searched on a machine, in words."""
    parts = [SPACE[tiles]]
    if architecture.statements:
        demands = "; ".join(statement.words() for statement in architecture.statements)
        parts.append(f"Only mappings in which {demands}.")
    if forwards(architecture):
        parts.append(UNSEEN)
    if retains(architecture):
        parts.append(RETAINED)
        if retains_below(architecture):
            parts.append(RETAINED_BELOW)
    return " ".join(parts)


def retains(architecture: Architecture) -> bool:
    """Return whether a memory of a machine may hold more than tiles."""
    return any(memory.retention == "optimal" for memory in architecture.memories)


def retains_below(architecture: Architecture) -> bool:
    """Return whether a memory below an array may hold more than tiles."""
    return any(
        memory.retention == "optimal" and architecture.instances(memory.name) > 1
        for memory in architecture.memories
    )
