"""Named tuples that reach kernels as one pointer, not as dozens of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

Fields = TypeVar("Fields", bound=NamedTuple)

KINDS: list[type] = []
TOLD: list[Callable[[type], None]] = []  # what tells Numba of a kind, once that is imported


def record(kind: type[Fields]) -> type[Fields]:
    """Let kernels take named tuples of this kind by pointer; they make none.

    Numba flattens a named tuple into the pointers, shapes and strides of its arrays, two hundred
    values and more, at each call of each part, and each use of a field copies all of them: that
    took a quarter of the time that kernels take to compile.
    """
    KINDS.append(kind)
    for tell in TOLD:
        tell(kind)
    return kind
