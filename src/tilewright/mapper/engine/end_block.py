"""Labels that leave a segment while constraints ask for more loops in the open block."""

from __future__ import annotations

from tilewright.kernels.types import Ints
from tilewright.mapper.label.labels import BLOCK, DEAD, STAGE


def end_block(it: Ints, full: int) -> None:
    """End the block of loops that is open where a segment ends; mark labels as dead that may not.

    An array at work ends it. Below an idle one, a store node does: loops stand above such an array,
    see `constraint_rules.stands_above`, and where there is no node the compute unit runs them, too.

    Parameters
    ----------
    it : array of (labels, columns)
        Labels of the segment.
    full : int
        Its last stage.
    """
    ends = it[:, STAGE] == full
    it[ends & (it[:, BLOCK] & 1 == 1), DEAD] = 1
    it[ends, BLOCK] = 0
