"""What is asked for again, as long as there is room."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MOST_BYTES = 1 << 27


class Kept(dict[object, T]):
    """Values by key, all of which are given up where one more would take too much room.

    Parameters
    ----------
    size : callable
        Returns the bytes of a value.
    """

    def __init__(self, size: Callable[[T], int]) -> None:
        self.size, self.bytes = size, 0

    def __reduce__(self) -> tuple[type[Kept[T]], tuple[Callable[[T], int]]]:
        """Copy none of the values."""
        return Kept, (self.size,)

    def __setitem__(self, key: object, value: T) -> None:
        """Keep a value, perhaps alone."""
        self.bytes += self.size(value)
        if self.bytes > MOST_BYTES:
            self.clear()
            self.bytes = self.size(value)
        super().__setitem__(key, value)
