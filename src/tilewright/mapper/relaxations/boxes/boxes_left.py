"""The boxes in which a bypass choice may still be better than a ceiling."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.relaxations.boxes.halves import Halves
from tilewright.mapper.relaxations.boxes.spatial_boxes import SpatialBoxes


class BoxesLeft:
    """The boxes that are left when this is made, whatever becomes of them later.

    Parameters
    ----------
    boxes : SpatialBoxes
    """

    def __init__(self, boxes: SpatialBoxes) -> None:
        self.costs, self.every, self.objective = boxes.costs, boxes.every, boxes.objective
        # values are changed in place where boxes are divided
        self.boxes, self.values = boxes.boxes, boxes.values.copy()
        self.alive = list(boxes.alive)
        self.position = {keep: i for i, keep in enumerate(self.every.keeps)}

    def of(self, keep: KeepChoice, ceiling: float) -> Floors:
        """Return those of a bypass choice that cost less than a ceiling."""
        own = self.position[keep]
        some = np.array([own in alive for alive in self.alive], bool)
        boxes, values = self.boxes[some], self.values[some]
        if len(boxes):
            again = self.costs.values(self.every, self.objective, boxes, np.array([own]))[0]
            values = np.maximum(values, again)
        low = values < ceiling
        return Floors(self.costs.halves, boxes[low, : len(self.costs.halves)], values[low])


class Floors:
    """What mappings with a bypass choice cost at least, by parts of spatial choices.

    Parameters
    ----------
    halves : sequence of Halves
    boxes : array of (boxes, halves)
        A part of each; no others are of interest.
    values : array of boxes
    """

    def __init__(self, halves: Sequence[Halves], boxes: Ints, values: Floats) -> None:
        self.boxes, self.values = boxes, values
        self.spans = [each.spans() for each in halves]
        self.begin = np.array([span[0][own] for span, own in zip(self.spans, boxes.T, strict=True)])
        self.end = np.array([span[1][own] for span, own in zip(self.spans, boxes.T, strict=True)])

    def least(self, parts: Sequence[int]) -> float:
        """Return the least value of boxes with choices of these parts, inf if there are none."""
        both = np.ones(len(self.values), bool)
        for k, (part, (begin, end)) in enumerate(zip(parts, self.spans, strict=True)):
            # of two parts, one is a part of the other one, or they have nothing in common
            both &= (self.begin[k] < end[part]) & (begin[part] < self.end[k])
        return float(self.values[both].min(initial=inf))
