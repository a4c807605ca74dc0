"""How a walk is let go on: kernels come back to be given room, or to be asked to stop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tilewright.mapper.engine.best import Best
from tilewright.mapper.engine.staircase import Staircase
from tilewright.mapper.label.store import (
    BEFORE,
    CHOICE,
    DONE,
    LEFT,
    ROW_AT,
    SHAPE_AT,
    STAGE_AT,
    Labels,
    with_room,
)

PAUSE = 1 << 13  # labels after which a kernel pauses, so that a search can be stopped
CHOICES = 64  # of an array that take as long as a label of the walk, about

Incumbent = TypeVar("Incumbent", Best, Staircase)


def advanced(
    step: Callable[[Labels, Incumbent], None],
    labels: Labels,
    incumbent: Incumbent,
    goes_on: Callable[[Labels], bool],
    pause: int,
) -> tuple[Labels, Incumbent]:
    """Let a kernel go through all shapes from the whole nest inward, as long as a search goes on.

    It is asked each time that so many labels have had their turn.

    Returns
    -------
    Labels, incumbent
        With more room, if they needed it; `is_done` tells whether the kernel has come to the end.
    """
    at = labels.at
    at[SHAPE_AT], at[STAGE_AT], at[ROW_AT], at[CHOICE] = len(labels.heads) - 1, BEFORE, -1, BEFORE
    while not is_done(labels) and goes_on(labels):
        at[LEFT] = pause
        labels, incumbent = given_room(step, labels, incumbent)
    return labels, incumbent


def given_room(
    step: Callable[[Labels, Incumbent], None], labels: Labels, incumbent: Incumbent
) -> tuple[Labels, Incumbent]:
    """Let a kernel go on until it pauses or is done, with more room whenever it lacks some."""
    while True:
        labels, incumbent = with_room(labels), incumbent.roomier()
        step(labels, incumbent)
        if is_done(labels) or labels.at[STAGE_AT] == BEFORE:
            return labels, incumbent


def is_done(labels: Labels) -> bool:
    """Whether a kernel has come to the end."""
    return bool(labels.at[SHAPE_AT] == DONE)
