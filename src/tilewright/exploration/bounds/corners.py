"""What a layer costs at least, by energy and cycles together: one of some corners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import leaf

if TYPE_CHECKING:
    from tilewright.exploration.bounds.words import Scratch
    from tilewright.kernels.types import Floats

MARGIN = 1.06
"""Mappings whose product is up to this many times the least are told one by one."""


@leaf
def with_candidates(scratch: Scratch, found: Floats, corners: Floats) -> int:
    """Lower what is found to all candidates, and fill corners; return how many there are."""
    filled = 0
    for i in range(scratch.filled[0]):
        product, energy = scratch.candidates[i, 0], scratch.candidates[i, 1]
        cycles = scratch.candidates[i, 2]
        if product < np.inf:
            found[0] = min(found[0], energy)
            found[1] = min(found[1], cycles)
            filled = with_corner(corners, filled, energy, cycles, product, found[2] * MARGIN)
    return filled


@leaf
def with_corner(
    corners: Floats, filled: int, energy: float, cycles: float, product: float, most: float
) -> int:
    """Add a corner that no other one is below; return how many there are, or -1 for too many."""
    if filled < 0 or product > most:
        return filled
    for i in range(filled):
        a, b, c = corners[i, 0], corners[i, 1], corners[i, 2]
        if a <= energy and b <= cycles and c <= product:
            return filled
    left = 0
    for i in range(filled):
        a, b, c = corners[i, 0], corners[i, 1], corners[i, 2]
        if (energy > a or cycles > b or product > c) and c <= most:
            corners[left, 0], corners[left, 1], corners[left, 2] = a, b, c
            left += 1
    if left == len(corners):
        return -1
    corners[left, 0], corners[left, 1], corners[left, 2] = energy, cycles, product
    return left + 1


@leaf
def tidied(corners: Floats, filled: int, most: float) -> int:
    """Leave out the corners of more than a product."""
    left = 0
    for i in range(filled):
        a, b, c = corners[i, 0], corners[i, 1], corners[i, 2]
        if c <= most:
            corners[left, 0], corners[left, 1], corners[left, 2] = a, b, c
            left += 1
    return left
