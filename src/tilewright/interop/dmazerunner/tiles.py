"""Sizes of tiles as dMazeRunner counts them, and how they are moved to and from DRAM.

Everything here takes extents as numbers, or as arrays of many tiles at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from tilewright.architecture.machine import Memory
from tilewright.workload.layer import Layer, Tensor

# S. Dave et al., section 4.3.3, after the DMA of the Cell processor (M. Kistler et al., IEEE Micro
# 26(3), 2006); its clock: defaults of dMazeRunner's public code.
DMA_START_CYCLES = 291
DMA_CYCLES_PER_BYTE = 0.24
DMA_HZ = 3.2e9

Extents = Mapping[str, Any]


def sides(tensor: Tensor, extents: Extents) -> list[Any]:
    """Return the interval that each index expression of a tensor spans over a tile."""
    return [
        1 + sum(term.coefficient * (extents[term.dimension] - 1) for term in terms)
        for terms in tensor.expressions
    ]


def tile_words(tensor: Tensor, extents: Extents) -> Any:
    """Return the elements of a tile: the paper evaluates index expressions (section 4.3.1).

    This is the box around the words that are touched; a window that skips words counts them.
    """
    return prod(sides(tensor, extents))


def whole(tensor: Tensor, layer: Layer) -> list[int]:
    """Return the sides of a tensor as it lies in DRAM.

    A window with stride s leaves up to s - 1 last columns of its input unused. The input is taken
    to have them, as in dMazeRunner's code (a 224 wide plane, padded by 3 on both sides, is 230
    wide, and 112 windows of 7 with stride 2 use 229).
    """
    strides = [
        [term.coefficient for term in terms if term.dimension in layer.output.dimensions]
        if len(terms) > 1 and not tensor.is_output
        else []
        for terms in tensor.expressions
    ]
    return [
        side + max((stride - 1 for stride in own), default=0)
        for side, own in zip(sides(tensor, layer.bounds), strides, strict=True)
    ]


def bursts(tensor: Tensor, layer: Layer, extents: Extents) -> tuple[Any, Any]:
    """Return how many contiguous pieces of DRAM a tile is, and the elements of each.

    Tensors lie in DRAM with their last index expression innermost. A piece runs from there up to
    the first side that the tile does not span (section 4.3.3).
    """
    count: Any = 1
    length: Any = 1
    contiguous: Any = True
    for side, full in zip(
        reversed(sides(tensor, extents)), reversed(whole(tensor, layer)), strict=True
    ):
        length = length * np.where(contiguous, side, 1)
        count = count * np.where(contiguous, 1, side)
        contiguous = contiguous & (np.asarray(side) >= full)
    return count, length


def dma_cycles(
    tensor: Tensor, layer: Layer, extents: Extents, dram: Memory, clock_hz: float
) -> Any:
    """Return the cycles of the array's clock in which a tile is moved to or from DRAM."""
    count, length = bursts(tensor, layer, extents)
    width = dram.word_bits if tensor.bits is None else tensor.bits
    each = (DMA_START_CYCLES + DMA_CYCLES_PER_BYTE * width / 8 * length) * clock_hz / DMA_HZ
    return count * np.ceil(each).astype(np.int64)
