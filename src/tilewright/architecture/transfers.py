"""How words get from level to level in time: DMA engines, the networks of an array, adders."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dma:
    """An engine that moves contiguous bursts between a memory and those below it.

    A burst of u bytes takes ``startup + per_byte * u`` cycles of its own clock: the latency model
    of dMazeRunner (S. Dave et al., ACM TECS 18(5s), 2019, section 4.3.3).

    Attributes
    ----------
    startup : float
        Cycles until a burst begins.
    per_byte : float
        Cycles per byte.
    clock_hz : float or None
        Its clock in Hz; None means the clock of the machine.
    """

    startup: float = 0.0
    per_byte: float = 0.0
    clock_hz: float | None = None

    def cycles(self, size: float, clock_hz: float) -> float:
        """Return what a burst of so many bytes takes, in cycles of a machine with that clock."""
        ratio = 1.0 if self.clock_hz is None else clock_hz / self.clock_hz
        return (self.startup + self.per_byte * size) * ratio


@dataclass(frozen=True)
class Networks:
    """The separate networks of an array, each with an equal share of its bandwidth.

    Attributes
    ----------
    read : int
        Networks that bring operands; operands beyond them take turns.
    write : int
        Networks that carry results away.
    reduction : int
        Networks on which elements add up their partial sums.
    """

    read: int = 1
    write: int = 1
    reduction: int = 0

    @property
    def count(self) -> int:
        """All of them together."""
        return self.read + self.write + self.reduction
