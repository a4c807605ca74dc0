"""Boxes whose designs differ in bandwidths alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.exploration.numbers import Numbers
from tilewright.exploration.space import Box, Indices

MOST_ALIKE = 64


class Leaf(NamedTuple):
    """Designs that differ in bandwidths alone.

    Attributes
    ----------
    best, worst : tuple of int
        The designs with the greatest and the least bandwidths.
    designs : int
    """

    best: Indices
    worst: Indices
    designs: int


def leaf_of(numbers: Numbers, box: Box, rates: frozenset[int]) -> Leaf | None:
    """Return a box as a leaf, or None when it has to be cut.

    Parameters
    ----------
    rates : set of int
        The parameters that only bandwidths depend on.
    """
    if any(end - begin > 1 for i, (begin, end) in enumerate(box.ranges) if i not in rates):
        return None
    if box.designs == 1:
        return Leaf(box.first, box.first, 1)
    if box.designs > MOST_ALIKE:
        return None
    designs = list(box.designs_in())
    rows = [numbers.of(Box(tuple((i, i + 1) for i in indices))) for indices in designs]
    known = [row.rates for row in rows if row is not None]
    if len(known) < len(rows):
        return None
    every = np.array(known)
    best = np.flatnonzero((every == every.max(axis=0)).all(axis=1))
    worst = np.flatnonzero((every == every.min(axis=0)).all(axis=1))
    if not len(best) or not len(worst):
        return None
    return Leaf(designs[best[0]], designs[worst[0]], box.designs)
