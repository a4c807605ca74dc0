"""The frontier of one or two memories: a sweep over a range of their sizes.

The labels count what a partial mapping uses of both memories, see `engine.staircase`. The tables of
lower bounds are functions of the bits left in the memory above the first array, but hold for sizes
of the other memory up to one. So that one is swept, from small sizes to large ones: what smaller
sizes reach is what larger ones have to beat. The range of its sizes is halved until bounds are
close, and bypass choices that cannot beat anything in a range are left out of both halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapper.bounds.plan import Plan, choices_below, most_energy
from tilewright.mapper.label import labels
from tilewright.mapper.memory_sizes.walks import Bypass, Sizes, StoppedError, Walks
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.search.search import Search
from tilewright.model.evaluate import evaluate

SLACK = 1.01  # how far above its bound the first size is searched at first
STRIDE = 1.3  # by what it grows at most each time
FAR_SLACK = 10.0  # up to here
MOST_SLACK = 1e9
WIDTH = 4.0  # of the sizes that are searched at once
EASY = 20000  # labels after which a search for a first mapping is broken off


@dataclass
class Sweep:
    """Search of ranges of sizes of one layer on one machine.

    Attributes
    ----------
    search : Search
        Of the machine with any sizes.
    objective : Objective
    sized : callable
        The machine with some sizes.
    most : tuple of float
        Bits of all tensors in each of them.
    unit : tuple of float
        Bits of one word of each of them.
    walks : Walks
        The walks, and what they find.
    """

    search: Search
    objective: Objective
    sized: Callable[[Sizes], Architecture]
    most: Sizes
    unit: Sizes
    walks: Walks

    def part(self, every: Sequence[Bypass], low: Sizes, high: Sizes) -> None:
        """Find the points of a range of sizes of both memories."""
        self.walks.choices.up_to(high[1])
        if self.walks.value(*low) == inf:
            self.begin(every, low)
        every = self.prepared(every, low, high)
        self.first(every, low, high[0])
        self.between(every, low, high)

    def bypass(self, plan: Plan) -> Bypass:
        """Return a bypass choice whose labels count the bits of every memory."""
        plan.lk = plan.lk._replace(slot=np.maximum(plan.lk.memory, 0))
        # in closed form, and so for any sizes
        plan.energy, plan.cycles = self.search.bound(plan)
        segments = len(plan.parts)
        stages = max(len(part.stage_count) for part in plan.parts)
        need = np.zeros((segments, stages, 2))
        for which, memory in enumerate(self.walks.varied):
            # of the nodes to come in this memory: tiles of one word
            own = np.where(plan.lk.memory == memory, plan.lk.bits, 0.0) * (memory >= 0)
            for s, part in enumerate(plan.parts):
                for stage, counts in enumerate(part.stage_count):
                    placed = part.first + counts
                    need[s, stage, which] = sum(own[t, n:].sum() for t, n in enumerate(placed))
        slots = np.arange(len(self.search.of_memory))
        ports = self.search.resources * self.cycles_matter(plan)
        parts = tuple(part._replace(place_memory=slots, ports=ports) for part in plan.parts)
        return Bypass(plan.lk, plan, parts, need, np.zeros(2))

    def cycles_matter(self, plan: Plan) -> bool:
        """Whether cycles do more than decide between mappings of the same value."""
        goal = self.search.goal
        return bool(goal[1] != 0.0 or goal[5] < inf or plan.lk.leakage > 0.0)

    def begin(self, every: Sequence[Bypass], low: Sizes) -> None:
        """File a good mapping for some sizes, if one is found in little time."""
        search = self.search
        search.aim(self.objective, self.sized(low))
        keeps = [c.plan.keep for c in every if (c.need[0, 0] <= low).all()]
        found = search.solve(
            lambda: search.found.labels > EASY or self.walks.stop(), plans=search.plans(keeps)
        )
        if found.mapping is None:
            search.begin(self.walks.stop)
        mapping = search.found.mapping
        if mapping is not None:
            cost = evaluate(search.layer, search.architecture, mapping)
            names = [memory.name for memory in search.architecture.memories]
            first, second = (
                float(cost.memories[names[m]].occupied_bits) if m >= 0 else 0.0
                for m in self.walks.varied
            )
            value, tie = (float(search.best[k]) for k in (0, 1))
            self.walks.file(mapping, (first, second), value, tie)

    def first(self, every: Sequence[Bypass], low: Sizes, most: float) -> None:
        """Find all points of a range of sizes of the first memory, for a size of the second one."""
        live = self.prepared(every, low, (most, low[1]))
        sizes = sorted({low[0], *(b for choice in live for b in self.steps(choice) if b > low[0])})
        bounds = np.full(len(sizes), inf)
        for choice in live:
            at = slice(np.searchsorted(sizes, choice.need[0, 0, 0]), None)
            np.minimum(bounds[at], self.walks.at_root(choice, sizes[at])[0], out=bounds[at])
        self.climb(live, [(size, low[1]) for size in sizes], bounds.tolist())

    def climb(
        self, live: Sequence[Bypass], sizes: Sequence[Sizes], bounds: Sequence[float]
    ) -> None:
        """Find all points of some sizes, whose values are at least the bounds.

        There is nothing yet to beat. So ceilings a little above the lower bounds stand for points,
        and rise until there are real ones below them.
        """
        slack = SLACK
        while True:
            ceilings = [
                (*size, bound * slack)
                for size, bound in zip(sizes, bounds, strict=True)
                if bound * slack < self.walks.value(*size)
            ]
            self.walks.below(live, ceilings if slack < MOST_SLACK else [])
            reached = sum(self.walks.value(a, b) <= v for a, b, v in ceilings)
            if slack >= MOST_SLACK or reached == len(ceilings):
                return
            slack = slack**2 if slack > FAR_SLACK else min(slack**2, slack * STRIDE)

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
                self.walks.walk(choice)
            return
        least = max(low[1], step)
        middle = step * int(min(sqrt(least * high[1]), least * WIDTH**2) / step)
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
            if self.walks.stop():
                raise StoppedError
            need = choice.need[0, 0]
            known = replace(choice, floor=floor)
            if (need > high).any() or (choice.plan.known and not self.walks.at_root(known)[1]):
                continue
            if choice.plan.known and (choice.plan.lk.capacity == capacity).all():
                live.append(known)
                continue
            old = choice.plan
            # with less room for higher values no other spatial choices matter
            lk = choice.links._replace(capacity=capacity, matters=old.lk.matters)
            plan = Plan(old.keep, lk, old.parts, old.limits, energy=old.energy, cycles=old.cycles)
            plan.bound = labels.objective_value(search.goal, plan.energy, plan.cycles)
            ceiling = self.walks.value(max(low[0], need[0]), max(low[1], need[1]))
            if labels.worse(*plan.bound, ceiling, inf):
                continue
            self.fill(plan, ceiling)
            fresh = replace(known, plan=plan)
            if self.walks.at_root(fresh)[1]:
                live.append(fresh)
        return sorted(live, key=lambda choice: choice.plan.bound)

    def fill(self, plan: Plan, ceiling: float) -> None:
        """Fill the tables of a bypass choice for mappings below a ceiling, see `Search.prepare`."""
        search, sp = self.search, self.search.space
        choices = np.diff(sp.unroll_start)
        if self.cycles_matter(plan):
            choices = choices_below(plan, search.goal, sp, ceiling)
        plan.lk = search.tables.reuse.fill(sp, plan.lk)
        most = most_energy(plan, search.goal, (ceiling, inf))
        search.tables.fill(plan, choices, True, most)
        outer = plan.outer
        # without the room to grow
        plan.outer = outer._replace(bits=outer.bits.copy(), cost=outer.cost.copy())
        plan.known = True

    def steps(self, choice: Bypass) -> set[float]:
        """Return the sizes of the first memory at which the bound of a bypass choice falls."""
        outer = choice.plan.outer
        row = outer.row[self.search.tiles.top, 0] if len(outer.row) else -1
        if row < 0 or outer.memory != self.walks.varied[0]:
            return set()
        spans = zip(outer.begin[row], outer.length[row], strict=True)
        return {float(b) for begin, length in spans for b in outer.bits[begin : begin + length]}
