"""Random tile sizes near others, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from tilewright.kernels.types import Ints


@njit(cache=True)
def random_prime(number: int) -> int:
    """Return a prime factor of a number at random, 1 if it has none."""
    chosen, seen, factor = 1, 0, 2
    while number > 1:
        if factor * factor > number:
            factor = number
        while number % factor == 0:
            number //= factor
            seen += 1
            if np.random.randint(seen) == 0:
                chosen = factor
        factor += 1
    return chosen


@njit(cache=True)
def move_divisor(row: Ints, places: Ints, first: int, last: int, above: int, below: int) -> None:
    """Move a prime of a dimension across some of its loops, inward or outward."""
    larger = random_prime(above // row[places[first]])
    smaller = random_prime(row[places[last]] // below)
    inward = larger > 1 and (smaller == 1 or np.random.random() < 0.5)
    for place in places[first : last + 1]:
        row[place] = row[place] * larger if inward else row[place] // smaller


@njit(cache=True)
def move_size(row: Ints, places: Ints, first: int, last: int, above: int, below: int) -> None:
    """Change the tile sizes of some loops of a dimension by a little, by a ratio, or at all."""
    kind = np.random.random()
    step = np.random.randint(1, 3) * (1 if np.random.random() < 0.5 else -1)
    ratio = np.random.randint(2, 6)
    grows = np.random.random() < 0.5
    chunks = np.random.randint(1, min(64, above) + 1)
    for place in places[first : last + 1]:
        tile = row[place]
        if kind < 0.4:
            tile += step
        elif kind < 0.8:
            tile = tile * ratio if grows else -(-tile // ratio)
        else:
            tile = -(-above // chunks)
        row[place] = min(above, max(below, tile))


@njit(cache=True)
def random_rows(
    tiles: Ints, own: Ints, bounds: Ints, count: int, most: int, spread: bool, divides: bool,
    seed: int,
) -> Ints:  # fmt: skip
    """Return rows of tile sizes: the given one, then others some moves away.

    Parameters
    ----------
    tiles, own : array of int
        Tile size and number of the dimension of each loop, outermost first.
    bounds : array of int
        Of the dimensions.
    count, most : int
        How many rows, and moves for each at most.
    spread : bool
        Whether a row may start from any row before it.
    divides : bool
        Whether tile sizes stay divisors of those above.
    seed : int
    """
    np.random.seed(seed)
    rows = np.empty((count, len(tiles)), np.int64)
    rows[0] = tiles
    for r in range(1, count):
        rows[r] = rows[np.random.randint(r)] if spread else tiles
        for _ in range(np.random.randint(1, most + 1)):
            dimension = own[np.random.randint(len(own))]
            places = np.flatnonzero(own == dimension)
            first = np.random.randint(len(places))
            last = np.random.randint(first, len(places))
            above = rows[r, places[first - 1]] if first else bounds[dimension]
            below = rows[r, places[last + 1]] if last + 1 < len(places) else 1
            if divides:
                move_divisor(rows[r], places, first, last, above, below)
            else:
                move_size(rows[r], places, first, last, above, below)
    return rows
