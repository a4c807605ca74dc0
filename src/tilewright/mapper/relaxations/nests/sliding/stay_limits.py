"""How long the outermost tile below the array stays at most, where a tile inside of it slides on.

What it stays through is part of the sliding tile then, see `window_spans.limit_stays`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import called_leaf, leaf
from tilewright.mapper.relaxations.nests.sliding.window_spans import (
    LESS,
    MOST_DIMENSIONS,
    Nested,
    chunks,
    fits,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.relaxations.nests.nest import Nest


@leaf
def stay_limit(ns: Nest, limits: Ints, active: Ints, d: int) -> int:
    """Return how many iterations of a dimension the outermost tile stays through at most."""
    if limits[d] == LESS:
        return max(1, int(ns.bounds[d]) - 1)
    if limits[d] < 0:
        return int(ns.bounds[d])
    instances = active[d]
    run = limits[len(active) + 1]
    if run >= 0 and run // MOST_DIMENSIONS == d:
        instances *= active[run % MOST_DIMENSIONS]
    return int(min(ns.bounds[d], limits[d] * instances))


@leaf
def stay_limit_together(ns: Nest, limits: Ints, active: Ints) -> float:
    """Return how many iterations it stays through at most of all dimensions that are limited."""
    together = float(limits[len(active)])
    if together < 0:
        return np.inf
    for d in range(len(active)):
        if limits[d] >= 0:
            together *= active[d]
    run = limits[len(active) + 1]
    return together * (active[run % MOST_DIMENSIONS] if run >= 0 else 1)


@called_leaf
def stays_inside(ns: Nest, nested: Nested, limits: Ints, stays: Ints, active: Ints) -> bool:
    """Whether the tile of a window fits that spans what the outermost one stays through.

    That is part of it where its loops reach beyond, see `limit_stays`, but for the run.

    Parameters
    ----------
    limits : array of (dimensions + 4)
        See `windows_of`.
    stays : array of dimensions
        Of the outermost tile, in all instances together.
    """
    grown, nd = nested.grown, len(stays)
    p = nested.place[ns.window] if ns.window >= 0 else 0
    if p <= 0:
        return True
    run = limits[nd + 1]
    for d in range(nd):
        grown[d] = 1
        if limits[d] < 0:
            continue
        if run >= 0 and run // MOST_DIMENSIONS == d:
            each = chunks(stays[d], active[d] * active[run % MOST_DIMENSIONS])
            grown[d] = max(1, chunks(each - limits[nd + 2], limits[nd + 3]))
        else:
            grown[d] = chunks(stays[d], active[d])
    inside = fits(ns, nested, p)
    for d in range(nd):
        grown[d] = 1
    return inside
