"""The points of a frontier while it grows: sizes of two memories, and what is reached with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel, part
from tilewright.kernels.record import record
from tilewright.mapper.objective.tolerances import TIE

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints

VALUE, SECOND, ROW = 2, 3, 4  # columns; the first two are the bits used of each memory
COLUMNS = 5


@record
class Aim(NamedTuple):
    """What all labels of one bypass choice are compared by (plain arrays for the kernels).

    Attributes
    ----------
    goal : array
        As in `labels.objective_value`.
    resources, memories : int
        Numbers of bandwidth limits and of memories; a label counts the bits of each memory.
    limits : int
        The bandwidth limits that lower bounds count: none where cycles decide between equals alone.
    varied : array of 2
        Positions of the memories whose sizes vary; -1 for none.
    need : array of (segments, stages, 2)
        Bits that the store nodes to come take of them at least.
    floor : array of 2
        Smaller sizes do not matter.
    slots : array of memories
        Where a label counts the bits of each memory: at the memory's own position.
    """

    goal: Floats
    resources: int
    memories: int
    limits: int
    varied: Ints
    need: Floats
    floor: Floats
    slots: Ints


@leaf_kernel
def fitting(points: Floats, count: int, first: float, second: float) -> int:
    """Return the point of the least value that is no larger than two sizes, or -1."""
    for i in range(count):
        if points[i, 0] <= first and points[i, 1] <= second:
            return i
    return -1


@leaf
def beaten(
    points: Floats, count: int, first: float, second: float, value: float, tie: float
) -> bool:
    """Whether a value at two sizes is no better than that of some point.

    What decides between equals counts between equal sizes alone.
    """
    i = fitting(points, count, first, second)
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


@part
def with_place(points: Floats, count: int) -> Floats:
    """Return the table of points with room for one more."""
    if count < len(points):
        return points
    larger = np.empty((2 * len(points), COLUMNS))
    for i in range(count):
        for k in range(COLUMNS):
            larger[i, k] = points[i, k]
    return larger


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
