"""Spills of one tensor for every size of its share: a convex curve of straight pieces."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from tilewright.retention.spills.access import Access
from tilewright.retention.spills.count import SpillCounter


@dataclass(frozen=True)
class Curve:
    """Spills as a function of the capacity.

    Attributes
    ----------
    corners : tuple of (int, int)
        Capacity in words and spills, where the curve begins (the largest block), bends, and ends:
        at the least capacity without spills, or where it was not followed further. Straight in
        between.

    Notes
    -----
    The curve is convex: each further word of capacity saves at most as much as the one before
    (CNNFlow, Lemma 5.1). For retention is a linear program, to retain as many words as possible
    with a limit at each step, and the value of a linear program is concave in its limits; the
    columns are intervals of steps, so that it has whole solutions.
    """

    corners: tuple[tuple[int, int], ...]

    @property
    def least(self) -> int:
        """The smallest capacity in words: the largest block."""
        return self.corners[0][0]

    @property
    def spill_free(self) -> int | None:
        """The smallest capacity in words without spills; None when the curve ends before it."""
        capacity, spills = self.corners[-1]
        return None if spills else capacity

    def __call__(self, capacity: int) -> int:
        """Return the spills at a capacity in words."""
        last, spills = self.corners[-1]
        if capacity < self.least or (spills and capacity > last):
            raise ValueError(f"the curve covers {self.least} to {last} words, not {capacity}")
        after = bisect_right([corner for corner, _ in self.corners], capacity)
        if after == len(self.corners):
            return spills
        (low, high), (x, y) = self.corners[after - 1], self.corners[after]
        return high - (high - y) // (x - low) * (capacity - low)


def spill_curve(access: Access, most: int | None = None) -> Curve:
    """Return the spills of an access for every capacity.

    Parameters
    ----------
    access : Access
        What the memory needs, step by step.
    most : int, optional
        Largest capacity that is of interest, in words, at least that of a block.

    Raises
    ------
    InputError
        When the loops have too many steps.

    Notes
    -----
    Two tangents of a convex curve meet below it. Where they meet the curve is evaluated; on both
    tangents it is a corner, otherwise the search goes on to either side.
    """
    most = access.words if most is None else min(most, access.words)
    return curve_of(SpillCounter(access), access.block_words, most)


def curve_of(spills: Callable[[int], int], least: int, most: int) -> Curve:
    """Return a convex curve of spills between two capacities in words; see `spill_curve`."""
    found = {least: spills(least), most: spills(most)}
    _bend(spills, least, most, found)
    corners: list[tuple[int, int]] = []
    for point in sorted(found.items()):
        while len(corners) > 1 and _straight(corners[-2], corners[-1], point):
            corners.pop()
        if corners and corners[-1][1] == 0:
            break
        corners.append(point)
    return Curve(tuple(corners))


def _bend(spills: Callable[[int], int], low: int, high: int, found: dict[int, int]) -> None:
    """Add the corners between two capacities."""
    if high - low < 2:
        return
    down = spills(low + 1) - spills(low)
    up = spills(high) - spills(high - 1)
    if spills(low) + down * (high - low) == spills(high):
        return
    meet = (spills(high) - spills(low) + down * low - up * high) // (down - up)
    middle = min(max(meet, low + 1), high - 1)
    found[middle] = spills(middle)
    if found[middle] != spills(low) + down * (middle - low):
        _bend(spills, low, middle, found)
    if found[middle] != spills(high) - up * (high - middle):
        _bend(spills, middle, high, found)


def _straight(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> bool:
    return (b[1] - a[1]) * (c[0] - b[0]) == (c[1] - b[1]) * (b[0] - a[0])
