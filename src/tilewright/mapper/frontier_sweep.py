"""The frontier of one or two memories from one sweep over their sizes.

The labels count what a partial mapping uses of both memories, see `frontier_walk`. The tables of
lower bounds are functions of the bits left in the memory above the first array, but hold for sizes
of the other memory up to one. So that one is swept, from small sizes to large ones: what smaller
sizes reach is what larger ones have to beat. The range of its sizes is halved until bounds are
close, and bypass choices that cannot beat anything in a range are left out of both halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapper import labels
from tilewright.mapper.frontier_bounds import root_value
from tilewright.mapper.frontier_points import (
    COLUMNS,
    ROW,
    SECOND,
    VALUE,
    Aim,
    add_point,
    fitting,
)
from tilewright.mapper.frontier_walk import cross_all, expand_all
from tilewright.mapper.lattice import Floats, Ints
from tilewright.mapper.links import Links
from tilewright.mapper.objective import Objective
from tilewright.mapper.plan import Plan, choices_below, most_energy
from tilewright.mapper.rough import Rough, rough_bound
from tilewright.mapper.rows import rebuild, roots
from tilewright.mapper.solve import BUCKETS, Search
from tilewright.mapper.tables import inner_bounds, outer_bounds
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import evaluate
from tilewright.model.kernel import interruptible

Sizes = tuple[float, float]
"""Bits of the memory above the first array, and of the other one; 0 for a memory that is not."""

SLACK = 1.01  # how far above its bound the first size is searched at first
MOST_SLACK = 1e9
SLICES = 16  # of the shapes above the first array, between which it may be stopped
WIDTH = 1.6  # of the sizes that are searched at once
EASY = 20000  # labels after which a search for a first mapping is broken off
AT_ONCE = 1 << 16  # labels that go through an array together, about
HYPOTHETICAL = -1  # row of a point that stands for a ceiling


class StoppedError(Exception):
    """The sweep was asked to stop."""


@dataclass
class Bypass:
    """One bypass choice: its links before they have tables, and with those for some sizes."""

    links: Links
    plan: Plan
    aim: Aim


@dataclass
class Sweep:
    """Search of the frontier of one layer on one machine.

    Attributes
    ----------
    search : Search
        Of the machine with any sizes.
    objective : Objective
    sized : callable
        The machine with some sizes.
    varied : tuple of int
        Positions of the memory above the first array and of the other one; -1 for none.
    most : tuple of float
        Bits of all tensors in each of them.
    unit : tuple of float
        Bits of one word of each of them.
    stop : callable
        Asked every now and then whether to end.
    progress : callable
        Told the number of walks so far.
    points : array
        As in `frontier_points`, with a row of -2 - position in `mappings`.
    count : int
    mappings : list of mapping
    walks : int
    """

    search: Search
    objective: Objective
    sized: Callable[[Sizes], Architecture]
    varied: tuple[int, int]
    most: Sizes
    unit: Sizes
    stop: Callable[[], bool]
    progress: Callable[[int], None]
    points: Floats = field(default_factory=lambda: np.zeros((64, COLUMNS)))
    count: int = 0
    mappings: list[Mapping] = field(default_factory=list)
    walks: int = 0
    top: tuple[Ints, Floats] = field(init=False)  # label of the whole nest

    def found(self) -> list[tuple[Mapping, float, Sizes]]:
        """Return the mappings of the points, what is minimised, and the sizes."""
        points = self.points[: self.count]
        return [
            (self.mappings[-2 - int(point[ROW])], float(point[VALUE]), (point[0], point[1]))
            for point in points[points[:, ROW] != HYPOTHETICAL]
        ]

    def run(self) -> bool:
        """Find all points; return whether that was done before it was stopped."""
        try:
            with interruptible():
                self.cover()
        except StoppedError:
            return False
        return True

    def cover(self) -> None:
        """Find the points of all sizes."""
        self.search.loop_anywhere()
        self.search.aim(self.objective, self.sized(self.most))
        it, fl = self.root()
        self.top = it[0].copy(), fl[0].copy()
        every = [self.bypass(plan) for plan in self.search.plans()]
        if every:
            least = np.min([choice.aim.need[0, 0] for choice in every], axis=0)
            self.quarters(every, (float(least[0]), float(least[1])), self.most, 2.0)

    def quarters(self, every: Sequence[Bypass], low: Sizes, high: Sizes, root: float) -> None:
        """Find the points of a range of sizes of both memories, where both are small last.

        Bounds are the weaker the smaller the sizes are: those take longest.
        """
        middle = (self.whole(0, root, low[0]), self.whole(1, 2 * root, low[1]))
        if low[0] == middle[0] or low[1] == middle[1]:
            self.part(every, low, high)
            return
        self.part(every, middle, high)
        self.part(every, (low[0], middle[1]), (middle[0] - 1, high[1]))
        self.part(every, (middle[0], low[1]), (high[0], middle[1] - 1))
        self.quarters(every, low, (middle[0] - 1, middle[1] - 1), 2 * root)

    def whole(self, which: int, root: float, least: float) -> float:
        """Return the root of the largest size of a memory, in whole words."""
        unit = self.unit[which]
        if unit == 0.0:
            return least
        size = unit * int((self.most[which] / unit) ** (1 / root))
        return max(least, size if size > unit else 0.0)

    def part(self, every: Sequence[Bypass], low: Sizes, high: Sizes) -> None:
        """Find the points of a range of sizes of both memories."""
        self.begin(low)
        self.first(every, low, high[0])
        self.between(every, low, high)

    def bypass(self, plan: Plan) -> Bypass:
        """Return a bypass choice whose labels count the bits of every memory."""
        plan.lk = plan.lk._replace(slot=np.maximum(plan.lk.memory, 0))
        segments = len(plan.parts)
        stages = max(len(part.stage_count) for part in plan.parts)
        need = np.zeros((segments, stages, 2))
        for which, memory in enumerate(self.varied):
            # of the nodes to come in this memory: tiles of one word
            own = np.where(plan.lk.memory == memory, plan.lk.bits, 0.0) * (memory >= 0)
            for s, part in enumerate(plan.parts):
                for stage, counts in enumerate(part.stage_count):
                    placed = part.first + counts
                    need[s, stage, which] = sum(own[t, n:].sum() for t, n in enumerate(placed))
        aim = Aim(
            self.search.goal, self.search.resources, len(self.search.of_memory),
            np.array(self.varied, np.int64), need, np.zeros(2),
        )  # fmt: skip
        return Bypass(plan.lk, plan, aim)

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

    def begin(self, low: Sizes) -> None:
        """File a good mapping for some sizes, if one is found in little time."""
        search = self.search
        search.aim(self.objective, self.sized(low))
        found = search.solve(lambda: search.found.labels > EASY or self.stop())
        if found.mapping is None:
            search.begin(self.stop)
        mapping = search.found.mapping
        if mapping is not None:
            cost = evaluate(search.layer, search.architecture, mapping)
            names = [memory.name for memory in search.architecture.memories]
            first, second = (
                float(cost.memories[names[m]].occupied_bits) if m >= 0 else 0.0 for m in self.varied
            )
            self.mappings.append(mapping)
            value, tie = (float(search.best[k]) for k in (0, 1))
            self.add(first, second, value, tie, -1 - len(self.mappings))

    def first(self, every: Sequence[Bypass], low: Sizes, most: float) -> None:
        """Find all points of a range of sizes of the first memory, for one size of the second one.

        There is nothing yet to beat. So ceilings a little above the lower bounds stand for points,
        and rise until there are real ones below them.
        """
        live = self.prepared(every, low, (most, low[1]))
        sizes = sorted({low[0], *(b for choice in live for b in self.steps(choice) if b > low[0])})
        bounds = [
            min(
                (self.at_root(c, size)[0] for c in live if c.aim.need[0, 0, 0] <= size), default=inf
            )
            for size in sizes
        ]
        slack = SLACK
        while True:
            ceilings = [
                (size, bound * slack)
                for size, bound in zip(sizes, bounds, strict=True)
                if bound * slack < self.value(size, low[1])
            ]
            self.below(live, low[1], ceilings if slack < MOST_SLACK else [])
            if slack >= MOST_SLACK or all(self.value(size, low[1]) <= v for size, v in ceilings):
                return
            slack **= 2

    def below(
        self, live: Sequence[Bypass], second: float, ceilings: Sequence[tuple[float, float]]
    ) -> None:
        """Find points below ceilings: sizes of the first memory, and values."""
        before = self.points[: self.count].copy()
        try:
            for size, value in ceilings:
                self.add(size, second, value, inf, HYPOTHETICAL)
            for choice in live:
                self.walk(choice)
        finally:
            # a ceiling may have put out points of larger sizes
            after = self.points[: self.count]
            self.points, self.count = np.zeros_like(self.points), 0
            for point in np.concatenate([after[after[:, ROW] != HYPOTHETICAL], before]):
                self.add(*point)

    def between(self, every: Sequence[Bypass], low: Sizes, high: Sizes) -> None:
        """Find all points between two sizes of each memory, of the second one above the lower."""
        if low[1] >= high[1]:
            return
        step = self.unit[1]
        low_second = low[1] + 1
        live = self.prepared(every, (low[0], low_second), high)
        if not live:
            return
        if high[1] <= max(low[1] * WIDTH, low[1] + step):
            for choice in live:
                self.walk(choice)
            return
        middle = step * int(sqrt(max(low[1], step) * high[1]) / step)
        middle = min(max(middle, low[1] + step), high[1] - 1)
        self.between(live, low, (high[0], middle))
        self.between(live, (low[0], middle), high)

    def prepared(self, every: Sequence[Bypass], low: Sizes, high: Sizes) -> list[Bypass]:
        """Return the bypass choices that can hold points of some sizes, the best bound first.

        Those given have tables for these sizes or larger ones.
        """
        search = self.search
        search.aim(self.objective, self.sized(high))
        machine = search.architecture
        capacity = np.array(
            [inf if m.capacity_bits is None else m.capacity_bits for m in machine.memories]
        )
        floor = np.array(low)
        live = []
        for choice in every:
            if self.stop():
                raise StoppedError
            need = choice.aim.need[0, 0]
            aim = choice.aim._replace(floor=floor)
            known = Bypass(choice.links, choice.plan, aim)
            if (need > high).any() or (choice.plan.known and not self.at_root(known, high[0])[1]):
                continue
            if choice.plan.known and (choice.plan.lk.capacity == capacity).all():
                live.append(known)
                continue
            old = choice.plan
            plan = Plan(old.keep, choice.links._replace(capacity=capacity), old.parts, old.limits)
            plan.energy, plan.cycles = search.bound(plan)
            plan.bound = labels.objective_value(search.goal, plan.energy, plan.cycles)
            ceiling = self.value(max(low[0], need[0]), max(low[1], need[1]))
            if labels.worse(*plan.bound, ceiling, inf):
                continue
            self.fill(plan, ceiling)
            fresh = Bypass(choice.links, plan, aim)
            if self.at_root(fresh, high[0])[1]:
                live.append(fresh)
        return sorted(live, key=lambda choice: choice.plan.bound)

    def fill(self, plan: Plan, ceiling: float) -> None:
        """Fill the tables of a bypass choice for mappings below a ceiling, see `Search.prepare`."""
        search, sp = self.search, self.search.space
        choices = np.diff(sp.unroll_start)
        if search.goal[1] != 0.0 or search.goal[5] < inf or plan.lk.leakage > 0.0:
            choices = choices_below(plan, search.goal, sp, ceiling)
        rough = Rough(
            rough_bound(
                sp, plan.lk, plan.parts[0].stage_count, search.slides.least, search.fitting,
                search.operations_energy(),
            ),
            most_energy(plan, search.goal, (ceiling, inf)),
        )  # fmt: skip
        for jointly, adds in ((False, search.reuse.fill), (True, search.reuse.extend)):
            links = inner_bounds(
                sp, plan.lk, search.of_memory, choices, search.reuse, search.inner, jointly, rough
            )
            plan.lk = adds(sp, links)
        outer = outer_bounds(sp, plan.lk, plan.parts[0], search.slides, rough)
        # without the room to grow
        plan.outer = outer._replace(bits=outer.bits.copy(), cost=outer.cost.copy())
        plan.known = True

    def steps(self, choice: Bypass) -> set[float]:
        """Return the sizes of the first memory at which the bound of a bypass choice falls."""
        outer = choice.plan.outer
        row = outer.row[self.search.tiles.top, 0] if len(outer.row) else -1
        if row < 0 or outer.memory != self.varied[0]:
            return set()
        spans = zip(outer.begin[row], outer.length[row], strict=True)
        return {float(b) for begin, length in spans for b in outer.bits[begin : begin + length]}

    def root(self) -> tuple[Ints, Floats]:
        """Return tables that hold the label of the whole nest."""
        search = self.search
        shapes = np.array([search.tiles.top])
        return roots(
            search.space, shapes, search.resources, len(search.of_memory),
            search.operations_energy(),
        )  # fmt: skip

    def at_root(self, choice: Bypass, size: float) -> tuple[float, bool]:
        """Return a lower bound at a size of the first memory, and whether there may be points."""
        bound, hopeful = root_value(
            self.search.space, choice.plan.lk, choice.plan.outer, choice.aim, *self.top,
            self.search.spread_left[0], size, self.points, self.count,
        )  # fmt: skip
        return float(bound), bool(hopeful)

    def walk(self, choice: Bypass) -> None:
        """Find the points of one bypass choice."""
        if not self.at_root(choice, 0.0)[1]:
            return
        self.walks += 1
        self.progress(self.walks)
        it, fl = self.root()
        shapes = self.search.tiles.top + 1
        heads = np.full((shapes, len(choice.plan.parts[0].stage_count)), -1, np.int64)
        heads[-1, 0] = 0
        self.segment(choice, 0, it, fl, 1, heads)

    def segment(
        self, choice: Bypass, s: int, it: Ints, fl: Floats, n: int, heads: Ints
    ) -> tuple[Ints, Floats]:
        """Walk to the next array, through it in some spatial choices, on to the end, and so on.

        Labels below an array compare only with those of the same spatial choice: those of some
        choices go on to the end before others begin, which then have more points to beat.

        Returns
        -------
        two tables
            With room for as many labels.
        """
        search, plan, before = self.search, choice.plan, n
        part, sp = plan.parts[s], search.space
        buckets = np.full(BUCKETS, -1, np.int64)
        for high, low in self.slices(SLICES if s == 0 else 1):
            it, fl, n, points, count = expand_all(
                sp, plan.lk, plan.outer, choice.aim, s, s == search.na, part.stage_count,
                part.stage_next, part.first, search.spread_left[s], it, fl, n, heads, buckets,
                high, low, self.points.copy(), self.count,
            )  # fmt: skip
            self.take(choice, it, points, count)
        if s == search.na:
            return it, fl
        full = len(part.stage_count) - 1
        complete = int(np.count_nonzero(it[before - 1 : n, labels.STAGE] == full))
        start, end = (int(c) for c in sp.unroll_start[s : s + 2])
        width = 1 + AT_ONCE // (1 + complete)
        for begin in range(start, end, width):
            below = np.full((len(heads), len(plan.parts[s + 1].stage_count)), -1, np.int64)
            buckets = np.full(BUCKETS, -1, np.int64)
            it, fl, more = cross_all(
                sp, plan.lk, plan.outer, choice.aim, s, it, fl, n, heads, full, below, buckets,
                search.tiles.top, 0, plan.parts[s + 1].first, search.spread_left[s + 1],
                self.points, self.count, begin, min(begin + width, end),
            )  # fmt: skip
            if more > n:
                it, fl = self.segment(choice, s + 1, it, fl, more, below)
        return it, fl

    def slices(self, number: int) -> Iterator[tuple[int, int]]:
        """Yield ranges of shapes from the whole nest down, unless it was asked to stop."""
        top = self.search.tiles.top
        step = max(64, (top + number) // number)
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
