"""Boxes whose designs differ in bandwidths alone."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

from tilewright.exploration.designs.numbers import Numbers
from tilewright.exploration.designs.space import Box, Indices


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
    row = numbers.of(box)
    if row is None:
        return None
    # expressions of bandwidths mostly rise or fall with each parameter
    ends = list(product(*((begin, end - 1) for begin, end in box.ranges)))
    every = [numbers.of(Box(tuple((i, i + 1) for i in indices))) for indices in dict.fromkeys(ends)]
    known = [(each.rates, at) for each, at in zip(every, dict.fromkeys(ends), strict=True) if each]
    slowest = numbers.slowest(box)
    best = next((at for rates_at, at in known if (rates_at == row.rates).all()), None)
    worst = next((at for rates_at, at in known if (rates_at == slowest).all()), None)
    return None if best is None or worst is None else Leaf(best, worst, box.designs)
