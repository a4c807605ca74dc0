"""DRAM by kind: energy per bit, and bandwidth per channel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilewright.architecture import units
from tilewright.document import Strict, load_shipped

FILE = Path(__file__).parents[1] / "dram.yaml"


class _Keys(Strict):
    energy: float
    bandwidth: str


@dataclass(frozen=True)
class Dram:
    """A kind of DRAM.

    Attributes
    ----------
    energy : float
        pJ per bit that is read or written.
    bandwidth : str
        Of one channel, with its unit.
    """

    energy: float
    bandwidth: str

    def words_per_cycle(self, channels: int, word_bits: int, clock_hz: float) -> float:
        """Return what so many channels carry."""
        return channels * units.words_per_cycle(self.bandwidth, word_bits, clock_hz)


@cache
def dram_kinds() -> dict[str, Dram]:
    """Return the kinds that there are, by name."""
    document = load_shipped(FILE)
    found = {}
    for name in document.data:
        keys = document.validate(_Keys, (name,))
        found[name] = Dram(keys.energy, keys.bandwidth)
    return found
