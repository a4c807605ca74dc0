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
    "The cost of the mapping includes words that neighbours forward. In the lower bound, words of "
    "overlapping windows are sent free of charge to an array whose elements may forward them."
)
RETAINED = (
    "Evaluated with optimal retention: the mappings of this space that are best without it when "
    "tiles may use all, 1/2, 1/4 or 1/8 of the memory. The lower bound is the optimum of a machine "
    "on which memories that retain, and those above them, are unbounded."
)
RETAINED_BELOW = (
    "Where arrays stand above such a memory, the bound also lets each word come to its instances "
    "only once, and a tensor that bypasses the memory move at no cost."
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
