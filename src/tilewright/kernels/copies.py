"""Copies of arrays inside kernels: an assignment to a slice takes seconds to compile.

Numba compiles with it what becomes of arrays that overlap, and a message with both shapes, as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf, part

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints


@leaf
def copy(values: Ints | Floats, into: Ints | Floats) -> None:
    """Copy values into the beginning of an array, as many as it has room for."""
    for i in range(min(len(values), len(into))):
        into[i] = values[i]


@part
def longer(array: Ints) -> Ints:
    """Return an array of twice the length that begins like this one."""
    result = np.zeros(2 * len(array), np.int64)
    copy(array, result)
    return result
