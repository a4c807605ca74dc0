"""Branch and bound over boxes of designs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.exploration.bounds.quick import QuickBounds
from tilewright.exploration.bounds.totals import Corners, Runs
from tilewright.exploration.designs.cutting import best_cut, only_arrays, only_bandwidths
from tilewright.exploration.designs.leaves import Leaf, leaf_of
from tilewright.exploration.designs.numbers import NoNumbersError, Row
from tilewright.exploration.designs.relaxation import Relaxation
from tilewright.exploration.designs.space import Box, Indices
from tilewright.exploration.designs.twins import all_have_twins, twins
from tilewright.exploration.metrics import MAPPED, metrics_of
from tilewright.exploration.proof.front import Front
from tilewright.exploration.proof.open_boxes import Bound, Item, OpenBoxes
from tilewright.exploration.proof.problem import Problem
from tilewright.exploration.proof.sensitivities import sensitivities
from tilewright.exploration.proof.solver import Solver, StoppedError
from tilewright.exploration.proof.tightening import Known, Tightening
from tilewright.exploration.result import Certificate, Exploration
from tilewright.kernels.types import Floats

# A relaxed machine takes as long to solve as a design: it does not pay for fewer than these.
FEWEST = 3

Listener = Callable[[Certificate, int], None]


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
        self.weights = sensitivities(problem, self.quick, self.runs) if self.quick else np.ones(1)
        self.rates = only_bandwidths(space) if self.quick else frozenset[int]()
        self.arrays = only_arrays(space) if self.quick else frozenset[int]()
        self.tightening = Tightening(problem, self.quick, solver) if self.quick else None
        self.entered: set[Indices] = set()  # designs on the front whose boxes are still open
        self.front = Front(space, problem.axes)
        self.open = OpenBoxes(problem.axes, dives=self.quick is not None)
        self.twins = twins(space)
        self.counts: dict[str, int] = {}
        self.interrupted = False

    def run(self, progress: Listener | None, within: Box | None = None) -> None:
        """Decide the boxes of a box, or of the space, until none is open or it is stopped."""
        space, layers = self.problem.space, len(self.problem.runs)
        if within is not None:
            self.twins = ()  # they may be elsewhere
        self.open.push(within or space.whole, {}, np.zeros((layers, 3)), (None,) * layers)
        while self.open:
            item = self.open.next()
            try:
                self.solver.check()
                self.decide(item)
            except (KeyboardInterrupt, StoppedError) as why:
                self.open.put_back(item)
                self.interrupted = isinstance(why, KeyboardInterrupt)
                return
            if progress is not None:
                progress(self.certificate(), len(self.front))

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

    def decide(self, item: Item) -> None:
        """Close a box, solve its only design, or cut it in two."""
        box, known, floors, solved = item.box, item.bound, item.floors, item.solved
        if self.closed(box, known):
            return None
        if not item.bounded:
            if self.problem.space.excluded(box):
                return self.count("excluded_by_limit", box.designs)
            if all_have_twins(box, self.twins):
                return self.count("mirrored", box.designs)
        row = self.quick.numbers.of(box) if self.quick else None
        if row is None:
            return self.decide_slowly(item)
        leaf = leaf_of(self.quick.numbers, box, self.rates) if self.quick else None
        if not item.bounded:
            known, floors, corners = self.quick_bound(row, item)
            if np.isinf(floors).any():
                return self.count("without_mapping", box.designs)
            if self.closed(box, known):
                return None
            known, solved = self.tightened(box, row, known, solved, floors, corners)
            if np.isinf(floors).any():
                return self.count("without_mapping", box.designs)
            if self.closed(box, known):
                return None
            if leaf is not None or self.open.diving:
                return self.open.push(box, known, floors, solved, bounded=True)
        if leaf is not None:
            self.open.diving = False
            return self.solve(box, leaf, row, known, floors, solved)
        return self.cut(box, known, floors, solved)

    def tightened(
        self,
        box: Box,
        row: Row,
        bound: Bound,
        solved: Known,
        floors: Floats,
        corners: Corners | None,
    ) -> tuple[Bound, Known]:
        """Return a higher bound of a box, where searches on its idealised machine raise it."""
        assert self.quick is not None and self.tightening is not None

        def closes(floors: Floats, corners: Corners | None) -> bool:
            return self.excluded(raised(bound, **self.runs.least(floors, corners)))

        if not closes(self.tightening.expected(floors, solved), corners):
            return bound, solved
        # the least energy hardly depends on extents and bandwidths: many boxes share its searches
        wide = Box(
            tuple(
                each if i in self.arrays else own
                for i, (own, each) in enumerate(
                    zip(box.ranges, self.problem.space.whole.ranges, strict=True)
                )
            )
        )
        of_wide = self.quick.numbers.of(wide)
        if of_wide is None or self.tightening.asked_for != "energy":
            wide, of_wide = box, row
        machine = self.quick.numbers.machine_of(wide, of_wide)
        known = self.tightening.solved(machine, of_wide, floors, corners, solved, closes)
        found, again = self.quick.floors(row, lambda _: False, known)
        np.maximum(floors, found, out=floors)
        return raised(bound, **self.runs.least(floors, again)), known

    def excluded(self, bound: Bound) -> bool:
        """Whether a bound leaves no design that could belong on the front."""
        return self.beyond(bound) or self.front.dominated(bound)

    def decide_slowly(self, item: Item) -> None:
        """Decide a box with the relaxed machine itself, whose layers are solved like a design's."""
        box, solved = item.box, item.solved
        try:
            relaxed = self.relaxation.of(box)
        except InputError:
            return self.count("no_machine", box.designs)
        if relaxed is None:
            return self.cut(box, item.bound, item.floors, solved)
        bound = raised(
            item.bound, area=relaxed.area_mm2, leakage=relaxed.leakage_mw, power=relaxed.leakage_mw
        )
        if self.closed(box, bound):
            return None
        if box.designs == 1:
            index = box.first
            return self.solve(box, Leaf(index, index, 1), None, bound, item.floors, solved)
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
        return self.cut(box, bound, item.floors, solved)

    def quick_bound(self, row: Row, item: Item) -> tuple[Bound, Floats, Corners | None]:
        """Return a bound without a search, and those of layers: infinite without a mapping.

        Corners are left out where a part of it is enough to close the box.
        """
        bound = raised(item.bound, area=row.area_mm2, leakage=row.leakage_mw, power=row.leakage_mw)
        if self.excluded(bound):
            return bound, item.floors, None
        assert self.quick is not None
        found, corners = self.quick.floors(
            row, lambda floors: self.enough(bound, floors), item.solved, above=item.floors
        )
        return raised(bound, **self.runs.least(found, corners)), found, corners

    def enough(self, bound: Bound, floors: Floats) -> bool:
        """Whether bounds of layers leave no design that could belong on the front."""
        return self.excluded(raised(bound, **self.runs.least(floors)))

    def solve(
        self,
        box: Box,
        leaf: Leaf,
        row: Row | None,
        bound: Bound,
        above: Floats,
        solved: Known,
    ) -> None:
        """Solve the best design of a box whose others differ in bandwidths alone."""
        problem = self.problem
        try:
            machine = problem.space.machine_of(leaf.best)
        except InputError:  # its levels are fine, but not together
            if leaf.designs > 1:
                return self.cut(box, bound, above, solved)
            return self.count("no_machine", 1)
        clock = machine.clock_hz
        least = floors = np.zeros((len(problem.runs), 3))
        corners = None
        if self.quick is not None and row is not None:
            rough = all(self.quick.close)  # what is known of the energy is not passed on
            floors, corners = self.quick.floors(
                row, lambda _: False, solved, energy=not rough, above=above
            )
            least = floors.copy()
        answers: dict[int, tuple[float, float]] = {}
        own = MAPPED.index(problem.objective)
        order = self.order
        if self.tightening is not None and floors.all():
            order = self.tightening.promising(floors, solved)
        if corners is not None and row is not None and problem.objective == "edp":
            self.match(machine, row, floors, corners)
        for n, i in enumerate(order):
            answer = self.solver.stays(problem.runs[i], machine, problem.objective)
            if answer is None:
                # a search takes longer than to see whether it is needed
                if n > 0 and self.closed(box, raised(bound, **self.runs.least(floors, corners))):
                    return None
                self.solver.ahead([problem.runs[j] for j in order[n:]], machine, problem.objective)
                answer = self.solver.layer(problem.runs[i], machine, problem.objective)
            if answer is None:
                return self.count("without_mapping", box.designs)
            answers[i] = answer
            time = answer[1] / clock
            exact = (answer[0], time, answer[0] * time)
            if self.tightening is not None:
                self.tightening.learn(i, float(floors[i, own]), exact[own], solved)
            if leaf.designs == 1:
                floors[i] = exact
            else:
                floors[i, own] = max(floors[i, own], exact[own])
            if corners is not None:
                corners.learn(i, floors[i], exact=leaf.designs == 1)
        found = metrics_of(
            problem.workloads, [answers[i] for i in range(len(answers))], machine, problem.maximum
        )
        if leaf.designs > 1:
            bound = raised(bound, **self.runs.least(floors, corners))
            if not self.beyond(found):
                self.entered.add(leaf.best)
                self.front.enter(leaf.best, found)
            if self.closed(box, bound):
                return None
        same = self.alike(leaf, answers)
        if len(same) < len(answers):
            if row is not None and self.tightening is not None:
                solved = self.tightening.optima(row, least, answers, solved)
            for i in same:
                time = answers[i][1] / clock
                floors[i] = answers[i][0], time, answers[i][0] * time
                if corners is not None:
                    corners.learn(i, floors[i], exact=True)
            bound = raised(bound, **self.runs.least(floors, corners))
            return self.cut(box, bound, floors, solved)
        return self.finish(leaf, found)

    def finish(self, leaf: Leaf, found: Mapping[str, float]) -> None:
        """Count a leaf whose best design is solved, and whose others are no better."""
        self.count("solved", 1)
        self.entered.discard(leaf.best)
        beyond = self.beyond(found)
        if leaf.designs > 1:
            self.count("excluded_by_limit" if beyond else "excluded_by_bound", leaf.designs - 1)
        if not beyond:
            self.count("valid", 1)
            self.front.enter(leaf.best, found)

    def match(self, machine: Architecture, row: Row, floors: Floats, corners: Corners) -> None:
        """Find optima that cost what bounds say, by the tiles of these or on other machines."""
        assert self.quick is not None
        for i, layer in enumerate(self.problem.runs):
            pair = corners.only(i, floors[i, 2])
            if pair is not None:
                cost = pair[0], pair[1] * machine.clock_hz
                more = self.quick.mappings(row, i, machine)
                self.solver.match(layer, machine, self.problem.objective, cost, more)

    def alike(self, leaf: Leaf, answers: Mapping[int, tuple[float, float]]) -> list[int]:
        """Return the layers whose optima cost the same on the best and the worst: on all."""
        if leaf.designs == 1:
            return list(answers)
        try:
            worst = self.problem.space.machine_of(leaf.worst)
        except InputError:
            return []
        return [
            i
            for i, answer in answers.items()
            if self.solver.stays(self.problem.runs[i], worst, self.problem.objective) == answer
        ]

    def cut(self, box: Box, bound: Bound, floors: Floats, solved: Known) -> None:
        """Open both halves of a box, cut along the parameter that tightens it most."""
        if self.quick is not None:
            parameter = best_cut(self.quick.numbers, box, self.rates, self.weights)
        else:
            parameter = self.relaxation.best_cut(box)
        for half in box.halves(parameter):
            self.open.push(half, bound, floors, solved)

    def beyond(self, bound: Mapping[str, float]) -> bool:
        """Whether something is beyond a limit."""
        limits = self.problem.space.limits
        return any(bound.get(name, 0.0) > most for name, most in limits.items())

    def certificate(self) -> Certificate:
        """Return what became of every design so far."""
        base = Certificate(
            self.problem.space.designs,
            open=self.open.designs,
            searches=self.solver.searches,
            matched=self.solver.matched,
        )
        return replace(base, **self.counts)

    def result(self, seconds: float) -> Exploration:
        """Return the front and its certificate."""
        lowest = {
            axis: min(item.bound.get(axis, 0.0) for item in self.open)
            for axis in self.problem.axes
            if self.open
        }
        return Exploration(
            space=self.problem.space,
            axes=self.problem.axes,
            objective=self.problem.objective,
            front=self.front.points(),
            certificate=self.certificate(),
            bound=lowest,
            seconds=seconds,
            interrupted=self.interrupted,
        )


def raised(bound: Mapping[str, float], **found: float) -> Bound:
    """Return a bound with what else is known: the higher of both counts."""
    return {**bound, **{name: max(value, bound.get(name, 0.0)) for name, value in found.items()}}
