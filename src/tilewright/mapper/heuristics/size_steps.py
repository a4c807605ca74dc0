"""The tile sizes that differ from given ones in one loop or two, in compiled code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.ascending import ascending
from tilewright.kernels.copies import copy
from tilewright.kernels.kernel import kernel, part

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints

MOST_CHUNKS = 40  # numbers of chunks, and multiples of the next tile, that are tried for a loop
SECOND = 12  # sizes that are tried for a second loop


@part
def sizes(tiles: Ints, i: int, outer: Ints, inner: Ints, bounds: Ints) -> Ints:
    """Return sizes of one loop that lie between those of its neighbours on the same dimension."""
    most = bounds[i] if outer[i] < 0 else tiles[outer[i]]
    j = inner[i]
    while j >= 0 and tiles[j] == tiles[i]:
        j = inner[j]
    least = 1 if j < 0 else tiles[j]
    found = np.empty(2 * MOST_CHUNKS + 3, np.int64)
    n = 0
    for chunks in range(1, MOST_CHUNKS + 1):
        found[n] = -(-most // chunks)
        found[n + 1] = least * chunks
        n += 2
    for step in range(-1, 2):
        found[n] = tiles[i] + step
        n += 1
    order, other = np.empty(n, np.int64), np.empty(n, np.int64)
    ascending(found, order, other)
    result = other
    n = 0
    for at in order:
        size = found[at]
        if least <= size <= most and (n == 0 or result[n - 1] != size):
            result[n] = size
            n += 1
    return result[:n]


@part
def change(tiles: Ints, i: int, size: int, inner: Ints) -> None:
    """Give one loop another size; loops of one chunk inside stay loops of one chunk."""
    old = tiles[i]
    while i >= 0 and tiles[i] == old:
        tiles[i] = size
        i = inner[i]


@kernel
def neighbours(tiles: Ints, i: int, outer: Ints, inner: Ints, bounds: Ints, pairs: bool) -> Ints:
    """Return the tile sizes with another size of loop i, and of one more loop besides.

    Parameters
    ----------
    tiles : array of loops
        Outermost loop first.
    i : int
    outer, inner : arrays of loops
        The next loops on the same dimension, or -1.
    bounds : array of loops
        Bound of the dimension.
    pairs : bool
        Whether another loop changes, too.

    Returns
    -------
    array of (neighbours, loops)
    """
    loops = len(tiles)
    own = sizes(tiles, i, outer, inner, bounds)
    result = np.empty((len(own) * (1 + (loops * SECOND if pairs else 0)), loops), np.int64)
    n = 0
    for size in own:
        if size == tiles[i] and not pairs:
            continue
        copy(tiles, result[n])
        change(result[n], i, size, inner)
        first = n
        n += 1
        if not pairs:
            continue
        for k in range(loops):
            if k == i:
                continue
            some = sizes(result[first], k, outer, inner, bounds)
            step = -(-len(some) // SECOND)
            for at in range(0, len(some), step):
                if some[at] != result[first, k]:
                    copy(result[first], result[n])
                    result[n, k] = some[at]
                    n += 1
    return result[:n]
