"""What stands around layers: where their tensors come from, and what is left of memories."""

from __future__ import annotations

from dataclasses import dataclass

Room = tuple[float, ...]
"""Bits of each memory that are left."""

Begun = tuple[float, tuple[float, ...]]
"""What moves on behalf of a chunk outside of it: pJ, and cycles of each bandwidth-limited port."""

NOTHING_BEGUN: Begun = 0.0, ()


@dataclass(frozen=True)
class Around:
    """What shared loops around a group of layers leave to it.

    Attributes
    ----------
    sources : tuple of (str, int)
        Tensors that a memory around holds already, and its position.
    fresh : tuple of float
        Of each layer, which share of the output's words starts from zero, on the average.
    begun : tuple
        What moves on behalf of a chunk of each layer outside of the group.
    """

    sources: tuple[tuple[str, int], ...]
    fresh: tuple[float, ...]
    begun: tuple[Begun, ...]
