"""Who is told that kernels are compiled: that takes long, and happens once.

Whoever shows how far a search has come listens, and is told when the first kernel of the process
is compiled, whichever it is.
"""

from __future__ import annotations

from collections.abc import Callable

MESSAGE = "compiling kernels, at the first use only (up to 30 s on two cores)"

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
