"""What boxes of spatial choices cost, most of it looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.relaxations.boxes.every_keep import EveryKeep
from tilewright.mapper.relaxations.boxes.halves import Halves
from tilewright.mapper.relaxations.boxes.steps import StepRanges
from tilewright.mapper.relaxations.boxes.ways_to_count import CrossingCost
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price
from tilewright.workload.layer import Layer

MOST_TOGETHER = 1 << 13  # parts of several arrays that are priced at once
OFTEN = 1 / 8  # of all parts: when more have been priced one by one, all are
MOST_KEPT = 128  # boxes of which all that was priced is kept


class BoxCosts:
    """What boxes cost, most of it looked up.

    What crosses an array depends on the parts of this array and those further in alone. So it is
    priced once for every combination of these, where they are few.
    """

    def __init__(self, least: Least, halves: Sequence[Halves]) -> None:
        self.least = least
        self.halves = halves
        self.steps = [StepRanges() for _ in least.layer.bounds]
        self.tables: dict[tuple[int, ...], Least] = {}
        self.asked: dict[Any, int] = {}  # parts priced one by one
        self.kept: dict[tuple[int, ...], Least] = {}  # boxes that were asked for alone
        self.divided = False  # whether parts of single choices were divided

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is quickly priced again."""
        return self.__dict__ | {"tables": {}, "asked": {}, "kept": {}}

    def boxes(self, number: int) -> Ints:
        """Return boxes of everything: a part of each of the halves, and of each one's steps."""
        return np.zeros((number, len(self.halves) + len(self.steps)), np.int64)

    def values(self, every: EveryKeep, objective: Objective, boxes: Ints, some: Ints) -> Floats:
        """Return the bounds of some bypass choices in boxes."""
        own = self.at(boxes)
        return every.values(own, objective, some, self.crossing(own, boxes))

    def count_plain(
        self,
        every: EveryKeep,
        objective: Objective,
        box: Ints,
        some: Ints,
        stop: Callable[[], bool],
    ) -> None:
        """Find the best way to count what bypass choices send in a box, all tensors alike."""
        own = self.at(box)
        every.count_plain(own, objective, some, self.crossing(own, box), stop)

    def count_best(
        self,
        every: EveryKeep,
        objective: Objective,
        box: Ints,
        keep: int,
        stop: Callable[[], bool],
    ) -> None:
        """Find the best way to count what a bypass choice sends in a box."""
        own = self.at(box)
        every.count_best(own, objective, keep, own.crossing, stop)

    def crossing(self, own: Least, boxes: Ints) -> CrossingCost:
        """Return a function that prices what crosses into a memory, or looks it up."""
        divided = self.divided and self.any_divided(boxes)

        def crossing(
            m: int, priced: tuple[tuple[Link, Price], ...], links: Sequence[Link]
        ) -> Floats:
            first = min(own.segment[m - 1], *(own.segment[link.sender] for link, _ in priced))
            last = max(own.segment[link.receiver] for link, _ in priced)
            # what a tile holds at least depends on all arrays further in, if that is known
            axes = [
                k
                for k, each in enumerate(self.halves)
                if each.array >= first and (each.array < last or each.holds)
            ]
            key = m, priced, tuple(links)
            together = prod(self.halves[k].parts for k in axes)
            self.asked[key] = self.asked.get(key, 0) + len(boxes)
            if divided or together > MOST_TOGETHER or self.asked[key] < OFTEN * together:
                return own.crossing(m, priced, links)
            found = self.of_axes(axes).crossing(m, priced, links)
            return found[self.position(boxes, axes)]

        return crossing

    def any_divided(self, boxes: Ints) -> bool:
        """Return whether some box is part of one with single choices."""
        own, steps = boxes[:, : len(self.halves)], boxes[:, len(self.halves) :]
        parts = np.array([each.parts for each in self.halves], np.int64)
        return bool(steps.any() or (own >= parts).any())

    def at(self, boxes: Ints) -> Least:
        """Return the bounds of single boxes; one that is alone is asked again and again."""
        if len(boxes) > 1:
            return self.new(boxes)
        key = tuple(boxes[0].tolist())
        if key not in self.kept:
            while len(self.kept) >= MOST_KEPT:
                del self.kept[next(iter(self.kept))]
            self.kept[key] = self.new(boxes)
        return self.kept[key]

    def new(self, boxes: Ints) -> Least:
        """Return `at` where nothing is priced yet."""
        arrays = range(len(self.least.architecture.arrays))
        axes = [[k for k, each in enumerate(self.halves) if each.array == a] for a in arrays]
        most = [
            partial(most_in, [self.halves[k] for k in own], [boxes[:, k] for k in own])
            for own in axes
        ]
        fewest = [
            [
                (self.halves[k].alone[boxes[:, k]].T, self.halves[k].chunks[boxes[:, k]].T)
                for k in own
            ]
            for own in axes
        ]
        widest = widest_of(self.least.layer, self.halves, boxes, len(axes))
        return self.least.at(widest, most, fewest, self.working(boxes), self.in_time(boxes))

    def working(self, boxes: Ints) -> Floats | None:
        """Return `working` of `Least`, or None if it is that of all elements."""
        if not self.divided:
            return None
        arrays = len(self.least.architecture.arrays)
        bounds = np.array(list(self.least.layer.bounds.values()))
        found = np.ones((len(boxes), arrays, len(bounds)))
        for k, each in enumerate(self.halves):
            found[:, each.array] *= each.working[boxes[:, k]]
        return np.asarray(np.minimum(found, bounds))

    def in_time(self, boxes: Ints) -> tuple[Floats, Floats] | None:
        """Return `steps` of `Least`, or None if they are not known."""
        if not self.divided:
            return None
        own = boxes[:, len(self.halves) :].T
        pairs = list(zip(self.steps, own, strict=True))
        fewest, most = ([each.fewest[o] for each, o in pairs], [each.most[o] for each, o in pairs])
        return np.array(fewest), np.array(most)

    def divide_steps(self, box: Ints, d: int) -> Ints | None:
        """Return the two parts of a box by the steps of a dimension, unless that has one range."""
        bound = list(self.least.layer.bounds.values())[d]
        elements = prod(float(each.widest[p, d]) for each, p in zip(self.halves, box, strict=False))
        if elements == 1.0:
            return None
        self.divided = True
        k = len(self.halves) + d
        new = self.steps[d].divide(int(box[k]), float(-(-bound // min(elements, bound))))
        if new is None:
            return None
        parts = np.repeat(box[None], 2, axis=0)
        parts[:, k] = new
        return parts

    def parts(self, box: Ints) -> Iterator[Ints]:
        """Yield all ways to divide a box of single choices in two."""
        for k, each in enumerate(self.halves):
            if each.holds:
                for d in each.uneven(int(box[k])):
                    yield self.divide_elements(box, k, d)
        for d in range(len(self.steps)):
            if (two := self.divide_steps(box, d)) is not None:
                yield two

    def divide_elements(self, box: Ints, k: int, d: int) -> Ints:
        """Return the two parts of a box of single choices, by how full elements are."""
        self.divided = True
        parts = np.repeat(box[None], 2, axis=0)
        parts[:, k] = self.halves[k].divide(int(box[k]), d)
        return parts

    def of_axes(self, axes: Sequence[int]) -> Least:
        """Return those of all parts of some axes together."""
        key = tuple(axes)
        if key not in self.tables:
            counts = [self.halves[k].parts for k in axes]
            boxes = self.boxes(prod(counts))
            boxes[:, axes] = np.indices(counts).reshape(len(counts), prod(counts)).T
            self.tables[key] = self.at(boxes)
        return self.tables[key]

    def position(self, boxes: Ints, axes: Sequence[int]) -> Ints:
        """Return where boxes are among all parts of some axes together."""
        found = np.zeros(len(boxes), np.int64)
        for k in axes:
            found = found * self.halves[k].parts + boxes[:, k]
        return found


def most_in(halves: Sequence[Halves], parts: Sequence[Ints], dimensions: frozenset[str]) -> Floats:
    """Return the most elements of an array along dimensions, of any choice of some parts."""
    pairs = zip(halves, parts, strict=True)
    return np.asarray(np.prod([each.most(dimensions)[own] for each, own in pairs], axis=0))


def widest_of(layer: Layer, halves: Sequence[Halves], boxes: Ints, arrays: int) -> Ints:
    """Return the most elements of each box along each dimension, array by array."""
    bounds = np.array(list(layer.bounds.values()))
    widest = np.ones((len(boxes), arrays, len(bounds)), np.int64)
    for k, each in enumerate(halves):
        widest[:, each.array] *= each.widest[boxes[:, k]]
    return np.asarray(np.minimum(widest, bounds))
