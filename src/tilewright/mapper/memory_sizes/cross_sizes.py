"""The compiled search of a frontier: labels go through an array, a spatial choice at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.mapper.bounds.completion import least_words
from tilewright.mapper.engine.cross import go_through, in_front, next_choice
from tilewright.mapper.label.charge import Scratch, scratch_for
from tilewright.mapper.label.labels import DEAD, NEXT
from tilewright.mapper.label.store import (
    CHOICE,
    CURRENT,
    DONE,
    ROW_AT,
    SHAPE_AT,
    STAGE_AT,
    Labels,
    has_room,
)

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.bounds.tables.above_array import Outer
    from tilewright.mapper.engine.staircase import Staircase
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.segments import Segment
    from tilewright.mapper.problem.space import Space


@kernel
def entries(
    sp: Space, lk: Links, part: Segment, labels: Labels, incumbent: Staircase
) -> tuple[Ints, Ints]:
    """Return the complete labels that may go through an array, and where their choices begin.

    The `part` is the segment below the array, `labels` are those of the segment above it. They
    come by spatial choice, in each of them the largest shapes first.
    """
    scratch = scratch_for(sp)
    for t in range(len(part.first)):
        scratch.placed[t] = part.first[t]
    start, end = sp.unroll_start[part.number - 1], sp.unroll_start[part.number]
    begin = np.zeros(end - start + 1, np.int64)
    pairs = np.empty((1024, 2), np.int64)
    heads, it = labels.heads, labels.it
    full = heads.shape[1] - 1
    n = 0
    for shape in range(len(heads) - 1, -1, -1):
        i = heads[shape, full]
        while i >= 0:
            if n + end - start > len(pairs):
                pairs = np.concatenate((pairs, np.empty((n + end - start, 2), np.int64)))
            if it[i, DEAD] == 0:
                n = enter(sp, lk, part, labels, i, pairs[n:], scratch, incumbent) + n
            i = it[i, NEXT]
    for q in range(n):
        begin[pairs[q, 1] - start] += 1
    for k in range(len(begin) - 1):
        begin[k + 1] += begin[k]
    rows = np.empty(n, np.int64)
    for q in range(n - 1, -1, -1):
        k = pairs[q, 1] - start
        begin[k] -= 1
        rows[begin[k]] = pairs[q, 0]
    return rows, begin


@leaf
def enter(
    sp: Space,
    lk: Links,
    part: Segment,
    labels: Labels,
    i: int,
    pairs: Ints,
    scratch: Scratch,
    incumbent: Staircase,
) -> int:
    """List label i with each spatial choice in which it may go through an array; return how many.

    They come with the largest product first.
    """
    front = in_front(sp, lk, part, labels.it[i], labels.fl[i], scratch, incumbent)
    choice = sp.unroll_start[part.number - 1]
    n = 0
    while True:
        choice = next_choice(sp, lk, part, front, choice, incumbent.goal, scratch)
        if choice < 0:
            return n
        pairs[n, 0], pairs[n, 1] = i, choice
        n += 1
        choice += 1


@kernel
def cross_each(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    entering: Ints,
    labels: Labels,
    incumbent: Staircase,
) -> None:
    """Send labels through the array above a segment, until there is no room for more.

    Each row of `entering` is a label and its spatial choice; ROW_AT of the labels is the next row.
    """
    cross_rows(sp, lk, outer, part, entering, labels, scratch_for(sp), incumbent)


@leaf
def cross_rows(
    sp: Space,
    lk: Links,
    outer: Outer,
    part: Segment,
    entering: Ints,
    labels: Labels,
    scratch: Scratch,
    incumbent: Staircase,
) -> None:
    """Do so with arrays for use in between."""
    at = labels.at
    for t in range(len(part.first)):
        scratch.placed[t] = part.first[t]
    while at[ROW_AT] < len(entering) and has_room(labels):
        at[CURRENT], at[CHOICE] = entering[at[ROW_AT], 0], entering[at[ROW_AT], 1]
        for t in range(len(part.first)):
            scratch.words[t] = least_words(sp, labels.it[at[CURRENT]], t)
        go_through(sp, lk, outer, part, labels, scratch, incumbent)
        at[ROW_AT] += 1
    if at[ROW_AT] == len(entering):
        at[SHAPE_AT] = DONE


def enters(labels: Labels) -> Labels:
    """Let labels begin with the first row of those that enter."""
    labels.at[SHAPE_AT] = labels.at[STAGE_AT] = labels.at[ROW_AT] = 0
    return labels
