"""Walks of the bypass choices of a frontier, and the points that they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.label import labels
from tilewright.mapper.label.roots import roots
from tilewright.mapper.label.trace_back import rebuild
from tilewright.mapper.memory_sizes.below_array import Below
from tilewright.mapper.memory_sizes.choice_bounds import NOTHING, Choices, least_cost_below
from tilewright.mapper.memory_sizes.cross_sizes import cross_all, entries
from tilewright.mapper.memory_sizes.expand_sizes import expand_all
from tilewright.mapper.memory_sizes.label_sizes import root_values
from tilewright.mapper.memory_sizes.points import (
    COLUMNS,
    ROW,
    SECOND,
    VALUE,
    Aim,
    add_point,
    fitting,
)
from tilewright.mapper.memory_sizes.segment_walk import SegmentWalk
from tilewright.mapper.problem.link_costs import Links
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping

Sizes = tuple[float, float]
"""Bits of the memory above the first array, and of the other one; 0 for a memory that is not."""

AT_ONCE = 1 << 16  # labels that go through an array together, about
MANY = 400  # labels through an array in one spatial choice, for which bounds pay
BUCKETS = 1 << 14
SLICES = 16  # of the shapes above the first array, between which it may be stopped
LONG = 4096  # shapes after which it is asked whether to stop
HYPOTHETICAL = -1  # row of a point that stands for a ceiling


class StoppedError(Exception):
    """The sweep was asked to stop."""


@dataclass(frozen=True)
class Bypass:
    """One bypass choice: its links before they have tables, and with those for some sizes."""

    links: Links
    plan: Plan
    aim: Aim


@dataclass
class Walks:
    """Walks of one layer on one machine.

    Attributes
    ----------
    search : Search
        With loops on all dimensions anywhere.
    choices : Choices
        Bounds of what is below the array.
    stop : callable
        Asked every now and then whether to end.
    progress : callable
        Told the number of walks so far.
    points : array
        As in `frontier_points`, with a row of -2 - position in `mappings`.
    count : int
    mappings : list of mapping
    number : int
        Of the walks so far.
    """

    search: Search
    choices: Choices
    stop: Callable[[], bool]
    progress: Callable[[int], None]
    points: Floats = field(default_factory=lambda: np.zeros((64, COLUMNS)))
    count: int = 0
    mappings: list[Mapping] = field(default_factory=list)
    number: int = 0

    def found(self, known: int = 0) -> list[tuple[Mapping, float, Sizes]]:
        """Return the mappings of the points, what is minimised, and the sizes.

        Those of the first `known` mappings are left out.
        """
        points = self.points[: self.count]
        return [
            (self.mappings[-2 - int(point[ROW])], float(point[VALUE]), (point[0], point[1]))
            for point in points[points[:, ROW] <= -2 - known]
        ]

    def value(self, first: float, second: float) -> float:
        """Return the least value known for two sizes."""
        i = fitting(self.points, self.count, first, second)
        return float(self.points[i, VALUE]) if i >= 0 else inf

    def add(self, first: float, second: float, value: float, tie: float, row: float) -> None:
        """File a point unless another one is as good."""
        i = fitting(self.points, self.count, first, second)
        if i >= 0 and labels.worse(value, tie, *self.points[i, [VALUE, SECOND]]):
            return
        if self.count == len(self.points):
            self.points = np.concatenate([self.points, np.zeros_like(self.points)])
        self.count = add_point(self.points, self.count, first, second, value, tie, int(row))

    def file(self, mapping: Mapping, sizes: Sizes, value: float, tie: float) -> None:
        """File a mapping as a point."""
        self.mappings.append(mapping)
        self.add(*sizes, value, tie, -1 - len(self.mappings))

    def learn(self, other: Walks) -> None:
        """File the points of other walks."""
        for point in other.points[: other.count]:
            first, second, value, tie, row = point.tolist()
            self.file(other.mappings[-2 - int(row)], (first, second), value, tie)

    def below(self, live: Sequence[Bypass], ceilings: Sequence[tuple[float, float, float]]) -> None:
        """Find points of some bypass choices below ceilings: sizes of both memories, and values."""
        before, count, known = self.points.copy(), self.count, len(self.mappings)
        try:
            for first, second, value in ceilings:
                self.add(first, second, value, inf, HYPOTHETICAL)
            for choice in live:
                self.walk(choice)
        finally:
            # a ceiling may have put out points of larger sizes
            new = self.points[: self.count]
            self.points, self.count = before, count
            for point in new[new[:, ROW] <= -2 - known]:
                self.add(*point)

    @cached_property
    def top(self) -> tuple[Ints, Floats]:
        """The label of the whole nest."""
        it, fl = self.root()
        return it[0].copy(), fl[0].copy()

    def root(self) -> tuple[Ints, Floats]:
        """Return tables that hold the label of the whole nest."""
        search = self.search
        shapes = np.array([search.tiles.top])
        return roots(
            search.space, shapes, search.resources, len(search.of_memory),
            search.operations_energy(),
        )  # fmt: skip

    def at_root(self, choice: Bypass, sizes: Sequence[float] = ()) -> tuple[Floats, bool]:
        """Return lower bounds at sizes of the first memory, and whether there may be points."""
        values = np.array(sizes, np.float64)
        hopeful = root_values(
            self.search.space, choice.plan.lk, choice.plan.outer, choice.aim, *self.top,
            self.search.spread_left[0], np.empty(len(choice.plan.keep)), self.points, self.count,
            values,
        )  # fmt: skip
        return values, hopeful

    def walk(self, choice: Bypass) -> None:
        """Find the points of one bypass choice."""
        if not self.at_root(choice)[1]:
            return
        self.number += 1
        self.progress(self.number)
        it, fl = self.root()
        shapes = self.search.tiles.top + 1
        heads = np.full((shapes, len(choice.plan.parts[0].stage_count)), -1, np.int64)
        heads[-1, 0] = 0
        self.segment(choice, 0, it, fl, 1, heads)

    def segment(
        self,
        choice: Bypass,
        s: int,
        it: Ints,
        fl: Floats,
        n: int,
        heads: Ints,
        below: Below = NOTHING,
    ) -> tuple[Ints, Floats]:
        """Walk to the next array, through it in some spatial choices, on to the end, and so on.

        Labels below an array compare only with those of the same spatial choice: those of some
        choices go on to the end before others begin, which then have more points to beat.

        Returns
        -------
        two tables
            With room for as many labels.
        """
        search, plan = self.search, choice.plan
        part, sp = plan.parts[s], search.space
        here = self.of_segment(choice, s, heads, below)
        for high, low in self.slices(SLICES if s == 0 else 1):
            it, fl, n, points, count = expand_all(
                here, s == search.na, it, fl, n, high, low, self.points.copy(), self.count
            )
            self.take(choice, it, points, count)
        if s == search.na:
            return it, fl
        full = len(part.stage_count) - 1
        rows, begin = entries(
            sp, plan.lk, choice.aim, s, it, fl, heads, full, plan.parts[s + 1].first,
            search.spread_left[s + 1], self.points, self.count,
        )  # fmt: skip
        for chosen, known in self.batches(plan, s, np.diff(begin)):
            heads_below = np.full((len(heads), len(plan.parts[s + 1].stage_count)), -1, np.int64)
            own = [rows[begin[c] : begin[c + 1]] for c in chosen]
            through = np.repeat(sp.unroll_start[s] + chosen, [len(each) for each in own])
            it, fl, more = cross_all(
                self.of_segment(choice, s + 1, heads_below, known), it, fl, n,
                np.concatenate(own), through, self.points, self.count,
            )  # fmt: skip
            if more > n:
                it, fl = self.segment(choice, s + 1, it, fl, more, heads_below, known)
        return it, fl

    def of_segment(self, choice: Bypass, s: int, heads: Ints, below: Below) -> SegmentWalk:
        """Return what kernels need of a segment, with no labels in common yet."""
        part = choice.plan.parts[s]
        return SegmentWalk(
            sp=self.search.space,
            lk=choice.plan.lk,
            outer=choice.plan.outer,
            below=below,
            aim=choice.aim,
            seg=s,
            stage_count=part.stage_count,
            stage_next=part.stage_next,
            first=part.first,
            spread_left=self.search.spread_left[s],
            heads=heads,
            buckets=np.full(BUCKETS, -1, np.int64),
        )

    def batches(self, plan: Plan, s: int, number: Ints) -> Iterator[tuple[Ints, Below]]:
        """Yield spatial choices that labels go through together, with bounds of what is below.

        `number` of them go through each choice; where they are many, bounds pay.
        """
        chosen = np.flatnonzero(number > 0)
        many = (number[chosen] >= MANY) & self.choices.are_known(plan)
        start = int(self.search.space.unroll_start[s])
        bounds = {int(c): self.choices.bound(plan, start + int(c)) for c in chosen[many]}
        for c in sorted(bounds, key=lambda c: least_cost_below(bounds[c])):
            yield np.array([c]), bounds[c]
        few = chosen[~many]
        group = np.cumsum(number[few]) // AT_ONCE
        for g in np.unique(group):
            yield few[group == g], NOTHING

    def slices(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of shapes from the whole nest down, unless it was asked to stop."""
        top = self.search.tiles.top
        step = max(LONG, (top + number) // number)
        for high in range(top, -1, -step):
            if self.stop():
                raise StoppedError
            yield high, max(0, high - step + 1)

    def take(self, choice: Bypass, it: Ints, points: Floats, count: int) -> None:
        """Take the points of a walk, with a mapping for each of the new ones."""
        search, keep = self.search, choice.plan.keep
        for i in np.flatnonzero(points[:count, ROW] >= 0):
            mapping = rebuild(
                search.layer, search.architecture, search.tiles, search.space, search.unrollings,
                keep, it, int(points[i, ROW]),
            )  # fmt: skip
            self.mappings.append(mapping)
            points[i, ROW] = -1 - len(self.mappings)
        self.points, self.count = points, count
