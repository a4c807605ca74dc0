"""How long a search of a network may take, with what, and who is told of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.running.progress import Progress


@dataclass(frozen=True)
class Run:
    """What every search of a network takes besides what it maps onto what.

    Attributes
    ----------
    time_limit : float, optional
        Seconds for all layers together. What some layers leave goes to others.
    workers : int, optional
        Layers searched at the same time; by default the number of processors. The result does not
        depend on it, unless a time limit cuts the search short.
    progress : Progress
        What is told meanwhile.
    cache : Cache, optional
        Where results are looked up before a search and kept after it: proven ones, and those of all
        tile sizes that no limit of time has ended.
    """

    time_limit: float | None = None
    workers: int | None = None
    progress: Progress = field(default_factory=Progress)
    cache: Cache | None = None

    @property
    def seconds(self) -> float:
        """Seconds that everything may take; infinite without a limit."""
        return inf if self.time_limit is None else self.time_limit

    def share(self, of: float) -> float | None:
        """Return a part of the time limit; None without one."""
        return None if self.time_limit is None else of * self.time_limit


UNLIMITED = Run()
