"""The exact front of a design space, by boxes and bounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import inf
from os import PathLike
from time import perf_counter

from tilewright.api.inputs import WorkloadLike, check_seconds, the_network
from tilewright.errors import InputError, nearest
from tilewright.exploration.metrics import MAPPED, Floors, bounds, check_axes, costs
from tilewright.exploration.reading import load_space
from tilewright.exploration.relaxation import Relaxation, Relaxed, looseness
from tilewright.exploration.result import Certificate, Exploration, Point
from tilewright.exploration.solver import Solver, StoppedError, Workload
from tilewright.exploration.space import Box, Space
from tilewright.exploration.store import Store

# A relaxed machine takes as long as a design: it does not pay for fewer than these.
FEWEST = 3
# Sums of the same energies in another order differ by less than this share.
ROUNDING = 1e-12

Listener = Callable[[Certificate, int], None]


def explore(
    workloads: WorkloadLike | Mapping[str, float] | Sequence[WorkloadLike] | None,
    space: Space | str | PathLike[str],
    *,
    axes: Sequence[str] = ("energy", "area"),
    objective: str = "energy",
    maximum: bool | None = None,
    time_limit: float | None = None,
    store: str | PathLike[str] | None = None,
    progress: Listener | None = None,
) -> Exploration:
    """Find the best machines of a space, each with its best mappings, and prove it.

    Parameters
    ----------
    workloads : workload, sequence of those, mapping of name to weight, or None
        What is computed; None for what the space says. Energy and latency are weighted sums.
    space : Space or path
        The machines.
    axes : sequence of str
        What is minimised: of ``energy`` (pJ), ``latency`` (s), ``edp`` (pJ*s), ``area`` (mm2),
        ``power`` and ``leakage`` (mW). With one axis the result is the best design.
    objective : str
        What the mapping of each layer minimises: ``"energy"``, ``"latency"`` or ``"edp"``, with
        tile sizes that divide, under throughput latency.
    maximum : bool, optional
        Whether the worst of the workloads counts instead of their sum; by default as the space
        says.
    time_limit : float, optional
        Seconds, more than 0.
    store : path, optional
        An SQLite file in which every solved layer is kept: a run that was stopped or killed, and
        is started again with the same file, ends with the same front without solving them anew.
    progress : callable, optional
        Told what is decided, and the size of the front, after each step.

    Returns
    -------
    Exploration
        Ctrl-C ends the search with the front so far.

    Raises
    ------
    InputError
        When something cannot be read, or the mapper proves nothing on machines of the space.
    """
    given = space if isinstance(space, Space) else load_space(space)
    if objective not in MAPPED:
        raise InputError(
            f"expected one of {', '.join(MAPPED)}, found '{objective}'{nearest(objective, MAPPED)}",
            key="objective",
        )
    if time_limit is not None:
        check_seconds(time_limit, "time_limit")
    chosen = check_axes(axes)
    start = perf_counter()
    end = float("inf") if time_limit is None else start + time_limit
    kept = Store(store)
    try:
        solver = Solver(kept, lambda: perf_counter() >= end)
        search = _Search(
            given, _the_workloads(workloads, given), chosen, objective,
            given.maximum if maximum is None else maximum, solver, Relaxation(given),
        )  # fmt: skip
        search.run(progress)
    finally:
        kept.close()
    return search.result(perf_counter() - start)


def _the_workloads(
    given: WorkloadLike | Mapping[str, float] | Sequence[WorkloadLike] | None, space: Space
) -> list[Workload]:
    if given is None:
        if space.workloads is None:
            raise InputError(
                "no workload: name one, or give the space 'workloads'", key="workloads"
            )
        given = space.workloads
    if isinstance(given, Mapping):
        return [Workload(the_network(name), weight) for name, weight in given.items()]
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [Workload(the_network(each), 1.0) for each in given]
    return [Workload(the_network(given), 1.0)]


@dataclass
class _Search:
    """A search in progress: open boxes, the front so far, and what became of the rest."""

    space: Space
    workloads: list[Workload]
    axes: tuple[str, ...]
    objective: str
    maximum: bool
    solver: Solver
    relaxation: Relaxation
    front: list[tuple[tuple[float, ...], int, dict[str, float]]] = field(default_factory=list)
    heap: list[tuple[float, int, Box, dict[str, float], Floors]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    pushed: int = 0
    interrupted: bool = False

    def run(self, progress: Listener | None) -> None:
        """Decide boxes until none is open, or the search is stopped."""
        self.push(self.space.whole, {}, {})
        while self.heap:
            item = heappop(self.heap)
            try:
                self.decide(*item[2:])
            except (KeyboardInterrupt, StoppedError) as why:
                heappush(self.heap, item)
                self.interrupted = isinstance(why, KeyboardInterrupt)
                return
            if progress is not None:
                progress(self.certificate(), len(self.front))

    def push(self, box: Box, bound: dict[str, float], floors: Floors) -> None:
        """Open a box, of which the bound of a larger one is known."""
        order = 1.0
        for axis in self.axes:
            order *= bound.get(axis, 0.0)
        self.pushed += 1
        heappush(self.heap, (order, self.pushed, box, bound, floors))

    def count(self, what: str, box: Box) -> None:
        """Count the designs of a box."""
        self.counts[what] = self.counts.get(what, 0) + box.designs

    def decide(self, box: Box, known: dict[str, float], floors: Floors) -> None:
        """Close a box, solve its only design, or cut it in two."""
        if self.dominated(known):
            return self.count("excluded_by_bound", box)
        if self.space.excluded(box):
            return self.count("excluded_by_limit", box)
        try:
            relaxed = self.relaxation.of(box)
        except InputError:
            return self.count("no_machine", box)
        if relaxed is None:
            return self.cut(box, known, floors)
        bound = known | {"area": relaxed.area_mm2, "leakage": relaxed.leakage_mw}
        bound["power"] = relaxed.leakage_mw
        if self.beyond(bound):
            return self.count("excluded_by_limit", box)
        if self.dominated(bound):
            return self.count("excluded_by_bound", box)
        if box.designs == 1 or box.designs >= FEWEST:
            # of a design, only what it is mapped for: these are the searches that it needs anyway
            wanted = [self.objective] if box.designs == 1 else [*self.axes, *self.space.limits]
            outcome = bounds(
                self.solver, self.workloads, relaxed, wanted, self.maximum, floors, self.closes
            )
            if outcome is None:
                return self.count("without_mapping", box)
            found, floors = outcome
            bound = {name: max(value, bound.get(name, 0.0)) for name, value in found.items()}
            if self.beyond(bound):
                return self.count("excluded_by_limit", box)
            if self.dominated(bound):
                return self.count("excluded_by_bound", box)
        if box.designs == 1:
            return self.solve(box, relaxed)
        return self.cut(box, bound, floors)

    def closes(self, bound: Mapping[str, float]) -> bool:
        """Whether a bound leaves no design that could belong on the front."""
        return self.beyond(bound) or self.dominated(bound)

    def solve(self, box: Box, design: Relaxed) -> None:
        """Solve a design, and put it on the front if it belongs there."""
        found = costs(self.solver, self.workloads, design, self.objective, self.maximum)
        if found is None:
            return self.count("without_mapping", box)
        self.count("solved", box)
        if self.beyond(found):
            return None
        self.count("valid", box)
        values = tuple(found[axis] for axis in self.axes)
        if not self.dominated(found):
            self.front = [
                kept for kept in self.front
                if not all(a <= b for a, b in zip(values, kept[0], strict=True))
            ]  # fmt: skip
            index = self.space.index(tuple(begin for begin, _ in box.ranges))
            self.front.append((values, index, found))
        return None

    def cut(self, box: Box, bound: dict[str, float], floors: Floors) -> None:
        """Open both halves of a box, cut along the parameter that tightens it most."""
        widths = [end - begin for begin, end in box.ranges]
        parameters = [i for i, width in enumerate(widths) if width > 1]
        loose = {i: self.looseness(box.halves(i)) for i in parameters}
        for half in box.halves(min(parameters, key=lambda i: (loose[i], -widths[i]))):
            self.push(half, bound, floors)

    def looseness(self, halves: Sequence[Box]) -> float:
        """Return how far the bounds of two boxes are from their designs; see `looseness`."""
        total = 0.0
        for half in halves:
            try:
                relaxed = self.relaxation.of(half)
            except InputError:
                continue
            if relaxed is None:
                return inf
            total += looseness(relaxed)
        return total

    def beyond(self, bound: Mapping[str, float]) -> bool:
        """Whether something is beyond a limit."""
        return any(bound.get(name, 0.0) > most for name, most in self.space.limits.items())

    def dominated(self, bound: Mapping[str, float]) -> bool:
        """Whether a design of the front is at least as good on every axis."""
        values = [bound.get(axis, 0.0) * (1 + ROUNDING) for axis in self.axes]
        return any(
            all(a <= b for a, b in zip(kept, values, strict=True)) for kept, _, _ in self.front
        )

    def certificate(self) -> Certificate:
        """Return what became of every design so far."""
        opened = sum(box.designs for _, _, box, _, _ in self.heap)
        base = Certificate(self.space.designs, open=opened, searches=self.solver.searches)
        return replace(base, **self.counts)

    def result(self, seconds: float) -> Exploration:
        """Return the front and its certificate."""
        front = [
            Point(index, self.space.values(index), metrics)
            for _, index, metrics in sorted(self.front, key=lambda kept: kept[:2])
        ]
        lowest = {
            axis: min(bound.get(axis, 0.0) for _, _, _, bound, _ in self.heap)
            for axis in self.axes
            if self.heap
        }
        return Exploration(
            self.space, self.axes, self.objective, tuple(front), self.certificate(), lowest,
            seconds, self.interrupted,
        )  # fmt: skip
