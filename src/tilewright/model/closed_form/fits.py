"""Compiled kernels: which tile sizes shrink inward, fit their axes and fit the memories.

Mappings go through in blocks, loop by loop: most choices of tile sizes do not fit, and nothing else
is done for those.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Ints
from tilewright.model.closed_form.boxes import box_footprint

BLOCK = 128  # mappings that go through a kernel together: their state stays in the cache


@record
class Limits(NamedTuple):
    """What tile sizes must fit.

    An extent is a loop's tile, or for numbers from the number of loops on the bound of a dimension.
    """

    outer: Ints  # extent that each loop cuts
    axis_of_loop: Ints  # -1 for temporal loops
    axis_size: Ints
    room: Ints  # bits of each capacity
    tile_start: Ints  # per capacity: the tensors' tiles in it
    tile_bits: Ints  # of an element, buffering included
    index_start: Ints  # per tile: its index expressions
    term_start: Ints  # per index expression: its terms
    term_extent: Ints
    term_coef: Ints  # without common divisors


@kernel
def which_fit(
    bounds: Ints, limits: Limits, tiles: Ints, seen_start: Ints, fits: Bools, seen: Bools
) -> None:
    """Find the mappings that are valid, and the tile sizes that they have.

    Parameters
    ----------
    bounds : array
        Iterations of each dimension.
    tiles : array of (mappings, loops)
        Tile sizes of the mappings' own loops.
    fits : array of mappings
        Takes whether each one is valid.
    seen_start, seen : arrays
        Take whether a valid mapping has tile size t in loop i: ``seen[seen_start[i] + t]``.
    """
    loops = tiles.shape[1]
    extent = np.empty((loops + len(bounds), BLOCK), np.int64)
    for d in range(len(bounds)):
        extent[loops + d] = bounds[d]
    free = np.empty((len(limits.axis_size), BLOCK), np.int64)
    words = np.empty(BLOCK, np.int64)
    bits = np.empty(BLOCK, np.int64)
    for begin in range(0, len(tiles), BLOCK):
        end = min(begin + BLOCK, len(tiles))
        for m in range(begin, end):
            for i in range(loops):
                extent[i, m - begin] = tiles[m, i]
        valid = fits[begin:end]
        _shrinks(limits, loops, extent, free, valid)
        _holds(limits, extent, words, bits, valid)
        for i in range(loops):
            for m in range(end - begin):
                if valid[m]:
                    seen[seen_start[i] + extent[i, m]] = True


@part
def _shrinks(limits: Limits, loops: int, extent: Ints, free: Ints, valid: Bools) -> None:
    """Say which tiles shrink inward and whose spatial chunks fit their axes."""
    valid[:] = True
    for a in range(len(limits.axis_size)):
        free[a] = limits.axis_size[a]
    for i in range(loops):
        tile = extent[i]
        left = extent[limits.outer[i]]
        for m in range(len(valid)):
            valid[m] &= (tile[m] >= 1) & (tile[m] <= left[m])
        axis = limits.axis_of_loop[i]
        if axis >= 0:
            elements = free[axis]
            for m in range(len(valid)):
                if valid[m]:
                    elements[m] //= (left[m] + tile[m] - 1) // tile[m]
                    valid[m] = elements[m] > 0


@part
def _holds(limits: Limits, extent: Ints, words: Ints, bits: Ints, valid: Bools) -> None:
    """Strike out the mappings whose tiles some capacity does not hold."""
    several = np.empty(extent.shape[0], np.int64)
    for c in range(len(limits.room)):
        room = limits.room[c]
        bits[:] = 0
        for x in range(limits.tile_start[c], limits.tile_start[c + 1]):
            words[:] = 1
            for e in range(limits.index_start[x], limits.index_start[x + 1]):
                first = limits.term_start[e]
                last = limits.term_start[e + 1]
                p = extent[limits.term_extent[first]]
                if last == first + 1:
                    for m in range(len(valid)):
                        words[m] *= p[m]
                elif last == first + 2:
                    r = extent[limits.term_extent[first + 1]]
                    a = limits.term_coef[first]
                    b = limits.term_coef[first + 1]
                    for m in range(len(valid)):
                        words[m] *= p[m] * r[m] - max(0, p[m] - b) * max(0, r[m] - a)
                else:
                    for m in range(len(valid)):
                        if valid[m]:
                            for y in range(first, last):
                                several[y - first] = extent[limits.term_extent[y], m]
                            coef = limits.term_coef[first:last]
                            words[m] *= box_footprint(coef, several[: last - first])
            for m in range(len(valid)):
                valid[m] &= words[m] <= room  # lest the product overflows
                bits[m] += words[m] * limits.tile_bits[x]
        for m in range(len(valid)):
            valid[m] &= bits[m] <= room
