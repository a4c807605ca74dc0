"""What pipelined latency is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Event:
    """Something that takes time.

    Attributes
    ----------
    where : str
        The memory whose tiles move, or the compute unit.
    what : str
        ``"fill"`` (first tiles), ``"exchange"`` (next tiles come, as many words go), ``"drain"``
        (last tiles), ``"stall"`` (everything inside waits for this memory) or ``"compute"``.
    start, end : float
        Cycles since the beginning.
    """

    where: str
    what: str
    start: float
    end: float


@dataclass(frozen=True)
class Pipeline:
    """Cycles of a pipelined execution, and where they go.

    Attributes
    ----------
    cycles : float
        All of them: `computing` + `operands` + the sum of `exposed`.
    computing : float
        Cycles in which the compute units work, whole cycles in each pass.
    operands : float
        Cycles that they take longer because operands arrive more slowly.
    exposed : mapping of memory to float
        Cycles in which everything inside waits for tiles of this memory to be filled, exchanged or
        drained.
    busy : mapping of resource to float
        Cycles for which each port, network and DMA engine moves words, such as ``"DRAM read"``; the
        first instance's, which moves the most. Only those of limited bandwidth.
    layouts : mapping of str to str, or None
        The order of each tensor's axes in the outermost memory, where it was given.
    """

    cycles: float
    computing: float
    operands: float
    exposed: Mapping[str, float]
    busy: Mapping[str, float]
    layouts: Mapping[str, str] | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "computing": self.computing,
            "operands": self.operands,
            "exposed": dict(self.exposed),
            "busy": dict(self.busy),
        }
