"""What is told every few seconds of work that takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from threading import Event, Thread
from typing import Protocol

from tilewright.errors import ReaderGoneError
from tilewright.text import percent, say

EVERY = 5.0  # seconds


@contextmanager
def every(
    lines: Callable[[], Iterable[str]], tell: Callable[[str], None] = say, seconds: float = EVERY
) -> Iterator[None]:
    """Tell every few seconds how far the work inside has come; nothing if it is done before.

    Parameters
    ----------
    lines : callable
        Returns what there is to tell. It is called in another thread.
    tell : callable
        Who is told, line by line.
    seconds : float
        Between one time and the next.
    """
    ended = Event()

    def run() -> None:
        # whoever works notices, too, that nobody listens any more
        with suppress(ReaderGoneError):
            while not ended.wait(seconds):
                for line in lines():
                    tell(line)

    Thread(target=run, name="tilewright-progress", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def so_far(best: float, bound: float, unit: str = "") -> str:
    """Return the best value, the lower bound and the gap between them, as far as they are known."""
    least = f", bound {bound:.5g} {unit}".rstrip() if bound > 0 else ""
    if not isfinite(best):
        return f"no mapping yet{least}"
    return f"best {best:.5g}{least or f' {unit}'.rstrip()}, gap {gap_text(best, bound)}"


def gap_text(best: float, bound: float) -> str:
    """Return by how much of the best value a better one could be less."""
    return percent((best - bound) / best) if best > 0 and isfinite(best) else "unknown"


class Told(Protocol):
    """Who is told how many there are so far, and how far the search for one more is."""

    def __call__(self, count: int, now: str = "") -> None:
        """Take note of it."""
