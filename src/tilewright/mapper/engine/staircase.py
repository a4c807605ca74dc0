"""The best value for every pair of sizes of two memories, while a search finds it.

A label counts the bits that it uses of every memory to the end of its walk. It is superfluous when
at every size that it can still be completed for some point is as good as its lower bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel
from tilewright.kernels.record import record
from tilewright.mapper.label.labels import bits_column
from tilewright.mapper.objective.tolerances import TIE

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints
    from tilewright.mapper.bounds.tables.below_array import Below
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.segments import Segment

VALUE, SECOND, ROW = 2, 3, 4  # columns; the first two are the bits used of each memory
COLUMNS = 5


@record
class Staircase(NamedTuple):
    """The points so far, and what labels of one bypass choice are compared by.

    Attributes
    ----------
    goal : array
        As in `labels.objective_value`.
    points : array of (points, columns)
        Bits of each memory, what is minimised, what breaks ties, and the label (or below 0); the
        least value first.
    number : array of 1
        How many there are.
    varied : array of 2
        Positions of the memories whose sizes vary; -1 for none.
    need : array of (segments, stages, 2)
        Bits that the store nodes to come take of them at least.
    floor : array of 2
        Smaller sizes do not matter.
    below : Below
        Bounds of what is below the array in one spatial choice.
    """

    goal: Floats
    points: Floats
    number: Ints
    varied: Ints
    need: Floats
    floor: Floats
    below: Below

    def roomier(self) -> Staircase:
        """Return the same with room for one more point."""
        if self.number[0] < len(self.points):
            return self
        return self._replace(points=np.concatenate([self.points, np.zeros_like(self.points)]))


@leaf
def has_place(incumbent: Staircase) -> bool:
    """Whether one more point can be taken."""
    return bool(incumbent.number[0] < len(incumbent.points))


@leaf
def use(
    lk: Links, part: Segment, floats: Floats, stage: int, which: int, incumbent: Staircase
) -> float:
    """Return the bits of a varied memory that every completion of a label uses."""
    m = incumbent.varied[which]
    if m < 0:
        return 0.0
    return float(floats[bits_column(lk) + m] + incumbent.need[part.number, stage, which])


@leaf
def least_size(
    lk: Links, part: Segment, floats: Floats, stage: int, which: int, incumbent: Staircase
) -> float:
    """Return the least size of a varied memory that a label matters for."""
    return float(max(incumbent.floor[which], use(lk, part, floats, stage, which, incumbent)))


@leaf_kernel
def fitting(points: Floats, count: int, first: float, second: float) -> int:
    """Return the point of the least value that is no larger than two sizes, or -1."""
    for i in range(count):
        if points[i, 0] <= first and points[i, 1] <= second:
            return i
    return -1


@leaf
def beaten(incumbent: Staircase, first: float, second: float, value: float, tie: float) -> bool:
    """Whether a value at two sizes is no better than that of some point.

    What decides between equals counts between equal sizes alone.
    """
    points = incumbent.points
    i = fitting(points, incumbent.number[0], first, second)
    if i < 0:
        return False
    best = points[i, VALUE]
    if value > best * (1 + TIE):
        return True
    if value < best * (1 - TIE):
        return False
    return bool(
        points[i, 0] < first or points[i, 1] < second or tie >= points[i, SECOND] * (1 - TIE)
    )


@leaf_kernel
def add_point(
    points: Floats, count: int, first: float, second: float, value: float, tie: float, row: int
) -> int:
    """File a point that is not beaten; return the number of points, the least value first."""
    n = 0
    for i in range(count):
        worse = (
            points[i, 0] >= first
            and points[i, 1] >= second
            and points[i, VALUE] >= value * (1 - TIE)
        )
        if not worse:
            for k in range(COLUMNS):
                points[n, k] = points[i, k]
            n += 1
    at = n
    while at > 0 and points[at - 1, VALUE] > value:
        for k in range(COLUMNS):
            points[at, k] = points[at - 1, k]
        at -= 1
    points[at, 0], points[at, 1] = first, second
    points[at, VALUE], points[at, SECOND], points[at, ROW] = value, tie, row
    return n + 1
