"""Branch and bound over boxes of designs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from heapq import heappop, heappush

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.exploration.cutting import best_cut, only_bandwidths
from tilewright.exploration.front import Front
from tilewright.exploration.leaves import Leaf, leaf_of
from tilewright.exploration.metrics import MAPPED, metrics_of
from tilewright.exploration.numbers import NoNumbersError, Row
from tilewright.exploration.quick import QuickBounds
from tilewright.exploration.relaxation import Relaxation, looseness
from tilewright.exploration.result import Certificate, Exploration
from tilewright.exploration.solver import Solver, StoppedError, Workload
from tilewright.exploration.space import Box, Indices, Space
from tilewright.exploration.totals import Corners, Runs
from tilewright.kernels.types import Floats
from tilewright.workload.layer import Layer

# A relaxed machine takes as long to solve as a design: it does not pay for fewer than these.
FEWEST = 3
# How far an optimum may be above its bound as long as nothing is known of it.
FIRST_GAP = 0.01

Listener = Callable[[Certificate, int], None]
Bound = dict[str, float]


@dataclass(frozen=True)
class Problem:
    """What is asked, see `search.explore`."""

    space: Space
    workloads: tuple[Workload, ...]
    axes: tuple[str, ...]
    objective: str
    maximum: bool

    @property
    def runs(self) -> list[Layer]:
        """The layers of all workloads."""
        return [layer for each in self.workloads for layer in each.network.layers]


class Search:
    """A search in progress: open boxes, the front so far, and what became of the rest.

    Parameters
    ----------
    problem : Problem
    solver : Solver
        Finds optima of layers.
    """

    def __init__(self, problem: Problem, solver: Solver) -> None:
        self.problem, self.solver = problem, solver
        space = problem.space
        self.relaxation = Relaxation(space)
        self.runs = Runs(
            [each.weight for each in problem.workloads],
            [[layer.repeat for layer in each.network.layers] for each in problem.workloads],
            problem.maximum,
        )
        # of layers that weigh most first
        self.order = sorted(
            range(len(problem.runs)),
            key=lambda i: -problem.runs[i].repeat * problem.runs[i].operations,
        )
        wanted = {problem.objective, *problem.axes, *space.limits}
        try:
            self.quick: QuickBounds | None = QuickBounds(
                space, problem.runs, energy=bool(wanted & {"energy", "power"})
            )
        except NoNumbersError:
            self.quick = None
        self.rates = only_bandwidths(space) if self.quick else frozenset[int]()
        # by how much optima were above their bounds, and how often that was asked
        self.above = np.full(len(problem.runs), FIRST_GAP)
        self.asked = np.ones(len(problem.runs))
        self.entered: set[Indices] = set()  # designs on the front whose boxes are still open
        self.front = Front(space, problem.axes)
        self.heap: list[tuple[float, int, Box, Bound, bool]] = []
        self.counts: dict[str, int] = {}
        self.pushed = self.open = 0
        self.interrupted = False

    def run(self, progress: Listener | None, within: Box | None = None) -> None:
        """Decide the boxes of a box, or of the space, until none is open or it is stopped."""
        self.push(within or self.problem.space.whole, {})
        while self.heap:
            item = heappop(self.heap)
            self.open -= item[2].designs
            try:
                self.solver.check()
                self.decide(*item[2:])
            except (KeyboardInterrupt, StoppedError) as why:
                heappush(self.heap, item)
                self.open += item[2].designs
                self.interrupted = isinstance(why, KeyboardInterrupt)
                return
            if progress is not None:
                progress(self.certificate(), len(self.front))

    def push(self, box: Box, bound: Bound, bounded: bool = False) -> None:
        """Open a box; `bounded` is whether the bound is its own, not that of a larger one."""
        order = 1.0
        for axis in self.problem.axes:
            order *= bound.get(axis, 0.0)
        self.pushed += 1
        self.open += box.designs
        heappush(self.heap, (order, self.pushed, box, bound, bounded))

    def count(self, what: str, designs: int) -> None:
        """Count designs."""
        self.counts[what] = self.counts.get(what, 0) + designs

    def closed(self, box: Box, bound: Bound) -> bool:
        """Close a box if its bound leaves no design that could belong on the front."""
        if self.beyond(bound):
            self.count("excluded_by_limit", box.designs)
        elif self.front.dominated(bound):
            inside = {indices for indices in self.entered if box.holds(indices)}
            self.entered -= inside
            self.count("solved", len(inside))
            self.count("valid", len(inside))
            self.count("excluded_by_bound", box.designs - len(inside))
        else:
            return False
        return True

    def decide(self, box: Box, known: Bound, bounded: bool) -> None:
        """Close a box, solve its only design, or cut it in two."""
        if self.closed(box, known):
            return None
        if not bounded and self.problem.space.excluded(box):
            return self.count("excluded_by_limit", box.designs)
        row = self.quick.numbers.of(box) if self.quick else None
        if row is None:
            return self.decide_slowly(box, known)
        leaf = leaf_of(self.quick.numbers, box, self.rates) if self.quick else None
        if not bounded:
            found = self.quick_bound(row, known)
            if found is None:
                return self.count("without_mapping", box.designs)
            if self.closed(box, found):
                return None
            if leaf is not None:
                return self.push(box, found, bounded=True)
            known = found
        if leaf is not None:
            return self.solve(box, leaf, row, known)
        return self.cut(box, known)

    def decide_slowly(self, box: Box, known: Bound) -> None:
        """Decide a box with the relaxed machine itself, whose layers are solved like a design's."""
        try:
            relaxed = self.relaxation.of(box)
        except InputError:
            return self.count("no_machine", box.designs)
        if relaxed is None:
            return self.cut(box, known)
        bound = raised(
            known, area=relaxed.area_mm2, leakage=relaxed.leakage_mw, power=relaxed.leakage_mw
        )
        if self.closed(box, bound):
            return None
        if box.designs == 1:
            index = box.first
            return self.solve(box, Leaf(index, index, 1), None, bound)
        if box.designs >= FEWEST:
            floors = np.zeros((len(self.problem.runs), 3))
            wanted = [*self.problem.axes, *self.problem.space.limits]
            for name in (each for each in MAPPED if each in wanted):
                for i in self.order:
                    answer = self.solver.layer(self.problem.runs[i], relaxed.machine, name)
                    if answer is None:
                        return self.count("without_mapping", box.designs)
                    column = MAPPED.index(name)
                    time = answer[1] / relaxed.machine.clock_hz
                    floors[i, column] = (answer[0], time, answer[0] * time)[column]
                    bound = raised(bound, **self.runs.least(floors))
                    if self.closed(box, bound):
                        return None
        return self.cut(box, bound)

    def quick_bound(self, row: Row, known: Bound) -> Bound | None:
        """Return a bound without a search, or None when no design has a mapping."""
        bound = raised(known, area=row.area_mm2, leakage=row.leakage_mw, power=row.leakage_mw)
        if self.beyond(bound) or self.front.dominated(bound):
            return bound
        assert self.quick is not None
        found, corners = self.quick.floors(row, lambda floors: self.enough(bound, floors))
        if np.isinf(found).any():
            return None
        return raised(bound, **self.runs.least(found, corners))

    def enough(self, bound: Bound, floors: Floats) -> bool:
        """Whether bounds of layers leave no design that could belong on the front."""
        found = raised(bound, **self.runs.least(floors))
        return self.beyond(found) or self.front.dominated(found)

    def solve(self, box: Box, leaf: Leaf, row: Row | None, bound: Bound) -> None:
        """Solve the best design of a box whose others differ in bandwidths alone."""
        problem = self.problem
        try:
            machine = problem.space.machine_of(leaf.best)
        except InputError:  # its levels are fine, but not together
            if leaf.designs > 1:
                return self.cut(box, bound)
            return self.count("no_machine", 1)
        clock = machine.clock_hz
        floors, corners = np.zeros((len(problem.runs), 3)), None
        if self.quick is not None and row is not None:
            floors, corners = self.quick.floors(row, lambda found: False)
        answers: dict[int, tuple[float, float]] = {}
        own = MAPPED.index(problem.objective)
        order = self.promising(floors[:, own])
        if corners is not None and problem.objective == "edp":
            self.match(machine, floors, corners)
        for n, i in enumerate(order):
            if n % self.solver.workers == 0:
                some = order[n : n + self.solver.workers]
                self.solver.ahead([problem.runs[j] for j in some], machine, problem.objective)
            answer = self.solver.layer(problem.runs[i], machine, problem.objective)
            if answer is None:
                return self.count("without_mapping", box.designs)
            answers[i] = answer
            time = answer[1] / clock
            exact = (answer[0], time, answer[0] * time)
            if floors[i, own] > 0.0:
                self.above[i] += exact[own] / floors[i, own] - 1.0
            self.asked[i] += 1
            if leaf.designs == 1:
                floors[i] = exact
            else:
                floors[i, own] = max(floors[i, own], exact[own])
            if corners is not None:
                corners.learn(i, floors[i], exact=leaf.designs == 1)
            if self.closed(box, raised(bound, **self.runs.least(floors, corners))):
                return None
        found = metrics_of(
            problem.workloads, [answers[i] for i in range(len(answers))], machine, problem.maximum
        )
        if leaf.designs > 1 and not self.alike(leaf, answers):
            if not self.beyond(found):
                self.entered.add(leaf.best)
                self.front.enter(leaf.best, found)
            return self.cut(box, raised(bound, **self.runs.least(floors, corners)))
        self.count("solved", 1)
        self.entered.discard(leaf.best)
        if self.beyond(found):
            if leaf.designs > 1:
                self.count("excluded_by_limit", leaf.designs - 1)
            return None
        self.count("valid", 1)
        if leaf.designs > 1:
            self.count("excluded_by_bound", leaf.designs - 1)
        self.front.enter(leaf.best, found)
        return None

    def match(self, machine: Architecture, floors: Floats, corners: Corners) -> None:
        """Find optima that cost what their bounds say among the mappings of other machines."""
        for i, layer in enumerate(self.problem.runs):
            pair = corners.only(i, floors[i, 2])
            if pair is not None:
                cost = pair[0], pair[1] * machine.clock_hz
                self.solver.match(layer, machine, self.problem.objective, cost)

    def promising(self, floors: Floats) -> list[int]:
        """Return the layers, those first whose optima are likely to raise the bound most."""
        weights = np.array([layer.repeat for layer in self.problem.runs])
        if not floors.all():
            return self.order
        power = 0.5 if self.problem.objective == "edp" else 1.0
        gain = weights * floors**power * (self.above / self.asked)
        return [int(i) for i in np.argsort(-gain, kind="stable")]

    def alike(self, leaf: Leaf, answers: Mapping[int, tuple[float, float]]) -> bool:
        """Whether the optima of the best design cost the same on the worst: then on all others."""
        try:
            worst = self.problem.space.machine_of(leaf.worst)
        except InputError:
            return False
        return all(
            self.solver.stays(self.problem.runs[i], worst, self.problem.objective) == answer
            for i, answer in answers.items()
        )

    def cut(self, box: Box, bound: Bound) -> None:
        """Open both halves of a box, cut along the parameter that tightens it most."""
        if self.quick is not None:
            parameter = best_cut(self.quick.numbers, box, self.rates)
        else:
            parameter = self.slow_cut(box)
        for half in box.halves(parameter):
            self.push(half, bound)

    def slow_cut(self, box: Box) -> int:
        """Return the parameter along which a cut tightens relaxed machines most."""
        widths = [end - begin for begin, end in box.ranges]
        parameters = [i for i, width in enumerate(widths) if width > 1]

        def loose(i: int) -> float:
            total = 0.0
            for half in box.halves(i):
                try:
                    relaxed = self.relaxation.of(half)
                except InputError:
                    continue
                if relaxed is None:
                    return float("inf")
                total += looseness(relaxed)
            return total

        return min(parameters, key=lambda i: (loose(i), -widths[i]))

    def beyond(self, bound: Mapping[str, float]) -> bool:
        """Whether something is beyond a limit."""
        limits = self.problem.space.limits
        return any(bound.get(name, 0.0) > most for name, most in limits.items())

    def certificate(self) -> Certificate:
        """Return what became of every design so far."""
        base = Certificate(
            self.problem.space.designs,
            open=self.open,
            searches=self.solver.searches,
            matched=self.solver.matched,
        )
        return replace(base, **self.counts)

    def result(self, seconds: float) -> Exploration:
        """Return the front and its certificate."""
        lowest = {
            axis: min(item[3].get(axis, 0.0) for item in self.heap)
            for axis in self.problem.axes
            if self.heap
        }
        return Exploration(
            self.problem.space, self.problem.axes, self.problem.objective, self.front.points(),
            self.certificate(), lowest, seconds, self.interrupted,
        )  # fmt: skip


def raised(bound: Mapping[str, float], **found: float) -> Bound:
    """Return a bound with what else is known: the higher of both counts."""
    return {**bound, **{name: max(value, bound.get(name, 0.0)) for name, value in found.items()}}
