"""Who is told that kernels are compiled, and how long that has taken: it happens once.

Whoever shows how far a search has come listens, and is told when the first kernel of the process
is compiled, whichever it is. Limits of time do not count what compilation takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import perf_counter

MESSAGE = "compiling kernels, at the first use only (up to 30 s)"

_listeners: list[Callable[[str], None]] = []  # the last one hears it
_told: list[str] = []


def listen(listener: Callable[[str], None]) -> None:
    """Tell this one, instead of those before, unless something has been told in this process."""
    _listeners[:] = [listener]


def announce() -> None:
    """Tell that something is compiled, once in a process."""
    if _listeners and not _told:
        _told.append(MESSAGE)
        _listeners[0](MESSAGE)


class Compiling:
    """How many compilations are under way, one inside the other, and the seconds of all so far."""

    depth = 0
    seconds = 0.0


@contextmanager
def timed() -> Iterator[None]:
    """Count the time of a compilation, unless it is part of another one."""
    begin = perf_counter()
    Compiling.depth += 1
    try:
        yield
    finally:
        Compiling.depth -= 1
        if Compiling.depth == 0:
            Compiling.seconds += perf_counter() - begin


def time_is_up(seconds: float | None) -> Callable[[], bool]:
    """Return what tells whether so many seconds have passed, without those of compilation."""
    end = perf_counter() - Compiling.seconds + (inf if seconds is None else seconds)
    return lambda: perf_counter() - Compiling.seconds >= end
