"""Limits of time that do not count the compilation of kernels in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from time import perf_counter


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
