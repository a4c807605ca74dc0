"""Compiled kernels: words that neighbours forward."""

from __future__ import annotations

from numba import njit

from tilewright.model.types import Ints


@njit(cache=True)
def held_group(
    coef: Ints,
    bounds: Ints,
    dim: Ints,
    tile: Ints,
    mode: Ints,
    relevant: bool,
    row: Ints,
    at: int,
) -> None:
    """Put what instances held before a step into a row."""
