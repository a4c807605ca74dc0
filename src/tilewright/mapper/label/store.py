"""Where labels are kept: their two tables, and the lists of those of one segment."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf
from tilewright.kernels.record import record
from tilewright.mapper.label.labels import NEXT

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints

ADDED = 128  # labels that one expansion adds at most
COUNT, LEFT = 0, 1
SHAPE_AT, STAGE_AT, ROW_AT = 2, 3, 4
CURRENT, CHOICE = 5, 6
DONE, BEFORE = -1, -1  # of SHAPE_AT, of STAGE_AT and CHOICE


@record
class Labels(NamedTuple):
    """Labels, and how far a walk of one segment is.

    Attributes
    ----------
    it, fl : arrays of (labels, columns)
        See `labels`; rows from `at[COUNT]` on are free.
    heads : array of (shapes, stages)
        The latest label of each, or -1; others follow by their column NEXT.
    buckets : array
        Labels by what they have in common, see `dominance.insert`.
    at : array of integers
        COUNT of labels; how many are LEFT until the walk pauses; the shape and stage whose labels
        have their turn (SHAPE_AT, STAGE_AT), the next of them (ROW_AT), and the CURRENT one. It
        goes through an array in the spatial CHOICE.
    """

    it: Ints
    fl: Floats
    heads: Ints
    buckets: Ints
    at: Ints


@leaf
def has_room(labels: Labels) -> bool:
    """Whether there is room for the labels that one expansion adds."""
    return bool(labels.at[COUNT] + ADDED < len(labels.it))


@leaf
def next_shape(heads: Ints, shape: int) -> int:
    """Return the first shape from one down that has labels, or -1.

    In a kernel that makes arrays to look at one would take ten times as long.
    """
    while shape >= 0:
        for stage in range(heads.shape[1]):
            if heads[shape, stage] >= 0:
                return shape
        shape -= 1
    return shape


@leaf
def is_next_list(at: Ints, heads: Ints) -> bool:
    """Go on to the next shape and stage; return whether there is one before the walk pauses."""
    at[STAGE_AT] += 1
    if at[STAGE_AT] == heads.shape[1]:
        at[SHAPE_AT] = next_shape(heads, at[SHAPE_AT] - 1)
        at[STAGE_AT] = 0
        if at[SHAPE_AT] == DONE or at[LEFT] < 0:
            at[STAGE_AT] = BEFORE
            return False
    at[ROW_AT] = heads[at[SHAPE_AT], at[STAGE_AT]]
    return True


@leaf
def take_next(at: Ints, it: Ints) -> int:
    """Return the label whose turn it is, and go on to the next one of the same list."""
    current = at[ROW_AT]
    at[CURRENT] = current
    at[ROW_AT] = it[current, NEXT]
    return int(current)


def stored(tables: tuple[Ints, Floats], n: int, stages: int, shapes: int, buckets: int) -> Labels:
    """Return the first `n` labels of two tables; none of them is filed yet.

    `buckets` are as many as compare well; more are of no use with few shapes.
    """
    at = np.full(CHOICE + 1, -1, np.int64)
    at[COUNT] = n
    return Labels(
        it=tables[0],
        fl=tables[1],
        heads=np.full((shapes, stages), -1, np.int64),
        buckets=np.full(min(buckets, 16 * shapes), -1, np.int64),
        at=at,
    )


def next_below(labels: Labels, stages: int) -> Labels:
    """Return labels as they are for the next segment: none is filed there."""
    shapes, n = len(labels.heads), int(labels.at[COUNT])
    return stored((labels.it, labels.fl), n, stages, shapes, len(labels.buckets))


def with_room(labels: Labels) -> Labels:
    """Return labels with room for those that one expansion adds."""
    n, size = int(labels.at[COUNT]), len(labels.it)
    if n + ADDED < size:
        return labels
    while n + ADDED >= size:
        size *= 2
    it = np.empty((size, labels.it.shape[1]), np.int64)
    fl = np.empty((size, labels.fl.shape[1]))
    it[:n], fl[:n] = labels.it[:n], labels.fl[:n]
    return labels._replace(it=it, fl=fl)
