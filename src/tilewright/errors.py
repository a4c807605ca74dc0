"""What goes wrong, told to the person who can mend it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class TilewrightError(Exception):
    """Base of every error that tilewright raises on purpose.

    Attributes
    ----------
    exit_status : int
        Status with which the command line ends when this error reaches it.
    """

    exit_status = 1


class InputError(TilewrightError):
    """Something that the user wrote cannot be used.

    Parameters
    ----------
    message : str
        What is wrong and what is accepted, in one sentence or two.
    source : str, optional
        File in which it stands.
    line : int, optional
        Line in that file, counted from 1.
    key : str, optional
        Key or path of keys that it concerns, for example ``levels[1].size``.
    """

    exit_status = 2

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        line: int | None = None,
        key: str | None = None,
    ) -> None:
        self.message = message
        self.source = source
        self.line = line
        self.key = key
        place = source or ""
        if line is not None:
            place += f":{line}" if place else f"line {line}"
        parts = [part for part in (place, key) if part]
        super().__init__(": ".join([*parts, message]))


class MappingError(InputError):
    """A mapping is malformed or does not fit the machine."""


class ReaderGoneError(Exception):
    """Whoever read the standard output, or the messages, has closed it, as ``head`` does."""


class NoMappingError(TilewrightError):
    """No mapping of the searched space can run the layer on the machine."""

    exit_status = 3


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the closest valid name, or ``""``."""
    names = {str(v).lower(): str(v) for v in valid}
    match = get_close_matches(str(name).lower(), names, n=1, cutoff=0.5)
    return f"; did you mean '{names[match[0]]}'?" if match else ""
