"""Spills of one tensor for every size of its share: a convex curve of straight pieces."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

from tilewright.retention.access import Access
from tilewright.retention.count import SpillCounter


@dataclass(frozen=True)
class Curve:
    """Spills as a function of the capacity.

    Attributes
    ----------
    corners : tuple of (int, int)
        Capacity in words and spills, where the curve begins (the largest block), bends, and ends
        (the least capacity without spills). Straight in between, 0 afterwards.

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
    def spill_free(self) -> int:
        """The smallest capacity in words without spills."""
        return self.corners[-1][0]

    def __call__(self, capacity: int) -> int:
        """Return the spills at a capacity of at least `least` words."""
        if capacity < self.least:
            raise ValueError(f"a block has {self.least} words, more than {capacity}")
        after = bisect_right(self.corners, (capacity, self.corners[0][1]))
        if after == len(self.corners):
            return 0
        (low, high), (x, y) = self.corners[after - 1], self.corners[after]
        return high - (high - y) // (x - low) * (capacity - low)


def spill_curve(access: Access) -> Curve:
    """Return the spills of an access for every capacity.

    Raises
    ------
    InputError
        When the loops have too many steps.

    Notes
    -----
    Two tangents of a convex curve meet below it. Where they meet the curve is evaluated; on both
    tangents it is a corner, otherwise the search goes on to either side.
    """
    spills = SpillCounter(access)
    least, most = access.block_words, access.words
    found = {least: spills(least), most: 0}
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
