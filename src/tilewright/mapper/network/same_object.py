"""Results that are kept for the same object, and not for one that is only equal."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class SameObject(Generic[T]):
    """An object that equals itself alone.

    Machines are equal whatever the order of their axes, and layers whatever that of their
    dimensions; a search looks at them in that order.
    """

    def __init__(self, of: T) -> None:
        self.of = of

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other.of is self.of


def kept_for_same(most: int) -> Callable[[Callable[[T], R]], Callable[[T], R]]:
    """Keep what a function returns for the last objects that it was called with, at most so many.

    They are kept, too, so that no other object takes their place.
    """

    def keeping(function: Callable[[T], R]) -> Callable[[T], R]:
        @lru_cache(maxsize=most)
        def kept(same: SameObject[T]) -> R:
            return function(same.of)

        @wraps(function)
        def called(value: T) -> R:
            return kept(SameObject(value))

        return called

    return keeping
