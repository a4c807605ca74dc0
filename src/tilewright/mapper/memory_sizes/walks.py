"""Walks of the bypass choices of a frontier, and the points that they find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from math import inf

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.bounds.tables.below_array import Below
from tilewright.mapper.engine.expand import expand
from tilewright.mapper.engine.pauses import PAUSE, advanced, given_room, is_done
from tilewright.mapper.engine.staircase import (
    COLUMNS,
    ROW,
    SECOND,
    VALUE,
    Staircase,
    add_point,
    fitting,
)
from tilewright.mapper.engine.staircase_labels import root_values
from tilewright.mapper.label import labels
from tilewright.mapper.label.roots import roots
from tilewright.mapper.label.store import COUNT, Labels, next_below, stored
from tilewright.mapper.label.trace_back import rebuild
from tilewright.mapper.memory_sizes.choice_bounds import NOTHING, BypassBounds, least_cost_below
from tilewright.mapper.memory_sizes.cross_sizes import cross_each, enters, entries
from tilewright.mapper.problem.link_costs import Links
from tilewright.mapper.problem.segments import Segment
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping

Sizes = tuple[float, float]
"""Bits of the memory above the first array, and of the other one; 0 for a memory that is not."""

AT_ONCE = 1 << 16  # labels that go through an array together, about
MANY = 400  # labels through an array in one spatial choice, for which bounds pay
BUCKETS = 1 << 14
HYPOTHETICAL = -1  # row of a point that stands for a ceiling


class StoppedError(Exception):
    """The sweep was asked to stop."""


@dataclass(frozen=True)
class Bypass:
    """One bypass choice: its links before they have tables, and with those for some sizes.

    Attributes
    ----------
    links : Links
        Without tables.
    plan : Plan
    parts : tuple of Segment
        Those of the plan; labels count the bits of every memory at its own position.
    need : array of (segments, stages, 2)
        As in `staircase.Staircase`.
    floor : array of 2
        Sizes that are too small to matter.
    """

    links: Links
    plan: Plan
    parts: tuple[Segment, ...]
    need: Floats
    floor: Floats


@dataclass
class Walks:
    """Walks of one layer on one machine.

    Attributes
    ----------
    search : Search
        With loops on all dimensions anywhere.
    varied : tuple of int
        Positions of the memory above the first array and of the other one; -1 for none.
    choices : BypassBounds
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
    varied: tuple[int, int]
    choices: BypassBounds
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

    @cached_property
    def positions(self) -> Ints:
        """Which memories vary."""
        return np.array(self.varied, np.int64)

    def incumbent(self, choice: Bypass, below: Below = NOTHING) -> Staircase:
        """Return the points so far, and what the labels of a bypass choice are compared by."""
        return Staircase(
            goal=self.search.goal,
            points=self.points,
            number=np.array([self.count]),
            varied=self.positions,
            need=choice.need,
            floor=choice.floor,
            below=below,
        )

    def part(self, choice: Bypass, s: int) -> Segment:
        """Return a segment of a bypass choice, with what the arrays to come can do."""
        return choice.parts[s]._replace(spread_left=self.search.spread_left[s])

    def at_root(self, choice: Bypass, sizes: Sequence[float] = ()) -> tuple[Floats, bool]:
        """Return lower bounds at sizes of the first memory, and whether there may be points."""
        search, plan = self.search, choice.plan
        values = np.array(sizes, np.float64)
        # one label has the time for all ports, though they may only decide between equals
        part = self.part(choice, 0)._replace(ports=search.resources)
        hopeful = root_values(
            search.space, plan.lk, plan.outer, part, *self.top, values, self.incumbent(choice)
        )
        return values, hopeful

    def walk(self, choice: Bypass) -> None:
        """Find the points of one bypass choice."""
        if not self.at_root(choice)[1]:
            return
        self.number += 1
        self.progress(self.number)
        stages = len(choice.plan.parts[0].stage_count)
        here = stored(self.root(), 1, stages, self.search.tiles.top + 1, BUCKETS)
        here.heads[-1, 0] = 0
        self.segment(choice, 0, here)

    def segment(self, choice: Bypass, s: int, here: Labels, below: Below = NOTHING) -> Labels:
        """Walk to the next array, through it in some spatial choices, on to the end, and so on.

        Labels below an array compare only with those of the same spatial choice: those of some
        choices go on to the end before others begin, which then have more points to beat.

        Returns
        -------
        Labels
            With room for as many.
        """
        search, plan, part = self.search, choice.plan, self.part(choice, s)
        sp, lk, outer = search.space, plan.lk, plan.outer
        here.buckets.fill(-1)
        incumbent = self.incumbent(choice, below)
        here, incumbent = advanced(
            partial(expand, sp, lk, None, outer, part), here,
            incumbent._replace(points=self.points.copy()), lambda _: not self.stop(), PAUSE,
        )  # fmt: skip
        if s == search.na:
            self.take(choice, here.it, incumbent)
        if not is_done(here):
            raise StoppedError
        if s == search.na:
            return here
        part = self.part(choice, s + 1)
        rows, begin = entries(sp, lk, part, here, incumbent)
        for chosen, known in self.batches(plan, s, np.diff(begin)):
            own = [rows[begin[c] : begin[c + 1]] for c in chosen]
            through = np.repeat(sp.unroll_start[s] + chosen, [len(each) for each in own])
            entering = np.stack([np.concatenate(own), through], axis=1)
            inner, _ = given_room(
                partial(cross_each, sp, lk, outer, part, entering),
                enters(next_below(here, len(part.stage_count))), self.incumbent(choice, known),
            )  # fmt: skip
            if inner.at[COUNT] > here.at[COUNT]:
                inner = self.segment(choice, s + 1, inner, known)
            here = here._replace(it=inner.it, fl=inner.fl)
        return here

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

    def take(self, choice: Bypass, it: Ints, incumbent: Staircase) -> None:
        """Take the points of a walk, with a mapping for each of the new ones."""
        search, keep = self.search, choice.plan.keep
        points, count = incumbent.points, int(incumbent.number[0])
        for i in np.flatnonzero(points[:count, ROW] >= 0):
            mapping = rebuild(
                search.layer, search.architecture, search.tiles, search.space, search.unrollings,
                keep, it, int(points[i, ROW]),
            )  # fmt: skip
            self.mappings.append(mapping)
            points[i, ROW] = -1 - len(self.mappings)
        self.points, self.count = points, count
