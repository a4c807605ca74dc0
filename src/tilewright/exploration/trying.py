"""Designs as a strategy proposes them, each with its proven best mappings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter

from tilewright.errors import InputError
from tilewright.exploration.designs.space import Box, Indices
from tilewright.exploration.metrics import metrics_of
from tilewright.exploration.proof.front import Front, Values
from tilewright.exploration.proof.problem import Problem
from tilewright.exploration.proof.solver import Solver, StoppedError
from tilewright.exploration.proposers import Outcome, Proposer
from tilewright.exploration.result import Certificate, Exploration
from tilewright.exploration.trial import Proven, Trial, moments_of
from tilewright.model.energy import area, leakage_power

# Proposals in a row that were all known: then the strategy has settled.
MOST_KNOWN = 200

Listener = Callable[[Certificate, int], None]


class Trying:
    """A strategy in progress.

    Parameters
    ----------
    problem : Problem
    solver : Solver
        Finds optima of layers.
    proven : Proven or None
        The front to compare with.
    """

    def __init__(self, problem: Problem, solver: Solver, proven: Proven | None) -> None:
        self.problem, self.solver, self.proven = problem, solver, proven
        self.runs = problem.runs
        self.nowhere = (float("inf"),) * len(problem.axes)
        self.front = Front(problem.space, problem.axes)
        self.outcomes: dict[Indices, Outcome] = {}
        self.fronts: list[tuple[float, int, list[Values]]] = []
        self.counts: dict[str, int] = {}
        self.interrupted = self.stuck = False
        self.start = perf_counter()

    def run(self, proposer: Proposer, designs: int | None, progress: Listener | None) -> None:
        """Try designs until there are as many as wanted, or it is time to stop."""
        wanted = self.problem.space.designs
        if designs is not None:
            wanted = min(wanted, designs)
        known = 0
        try:
            while len(self.outcomes) < wanted and not self.stuck:
                self.solver.check()
                indices = proposer.ask()
                known += 1
                if indices not in self.outcomes:
                    known = 0
                    self.outcomes[indices] = self.decide(indices)
                    if progress is not None:
                        progress(self.certificate(), len(self.front))
                self.stuck = known == MOST_KNOWN
                proposer.tell(self.outcomes[indices])
        except StoppedError:
            return
        except KeyboardInterrupt:
            self.interrupted = True

    def decide(self, indices: Indices) -> Outcome:
        """Solve a design, unless it is beyond a limit or no machine."""
        space = self.problem.space
        if space.excluded(Box(tuple((i, i + 1) for i in indices))):
            return self.refused("excluded_by_limit")
        try:
            machine = space.machine_of(indices)
        except InputError:
            return self.refused("no_machine")
        excess = self.excess({"area": area(machine), "leakage": leakage_power(machine)})
        if excess:
            return self.refused("excluded_by_limit", excess)
        answers = []
        for n, layer in enumerate(self.runs):
            if n % self.solver.workers == 0:
                some = self.runs[n : n + self.solver.workers]
                self.solver.ahead(some, machine, self.problem.objective)
            answer = self.solver.layer(layer, machine, self.problem.objective)
            if answer is None:
                return self.refused("without_mapping")
            answers.append(answer)
        found = metrics_of(self.problem.workloads, answers, machine, self.problem.maximum)
        return self.solved(indices, found)

    def solved(self, indices: Indices, found: Mapping[str, float]) -> Outcome:
        """Count a design whose mappings are known, and put it on the front if it belongs there."""
        self.count("solved")
        values = tuple(found[axis] for axis in self.problem.axes)
        excess = self.excess(found)
        if excess:
            return Outcome(values, excess)
        self.count("valid")
        if self.front.enter(indices, found):
            if self.proven is not None:
                self.proven.refuse(values)
            seconds = perf_counter() - self.start
            self.fronts.append((seconds, len(self.outcomes) + 1, self.front.values))
        return Outcome(values, 0.0)

    def refused(self, why: str, excess: float = 1.0) -> Outcome:
        """Count a design without values."""
        self.count(why)
        return Outcome(self.nowhere, excess)

    def count(self, what: str) -> None:
        """Count a design."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def excess(self, found: Mapping[str, float]) -> float:
        """Return how far a design is beyond the limits on what is known of it."""
        limits = self.problem.space.limits
        return sum(
            found[name] / most - 1.0 if most > 0 else 1.0
            for name, most in limits.items()
            if name in found and found[name] > most
        )

    def certificate(self) -> Certificate:
        """Return what became of every design so far."""
        designs = self.problem.space.designs
        base = Certificate(
            designs,
            open=designs - sum(n for what, n in self.counts.items() if what != "valid"),
            searches=self.solver.searches,
        )
        return replace(base, **self.counts)

    def result(self, strategy: str, seed: int) -> Exploration:
        """Return the front, and how it came about."""
        proven = self.proven
        trial = Trial(
            strategy=strategy,
            seed=seed,
            designs=len(self.outcomes),
            moments=moments_of(self.fronts, proven),
            proven=None if proven is None else len(proven.points),
            reached=None if proven is None else proven.reached(self.front.values),
            stuck=self.stuck,
        )
        return Exploration(
            space=self.problem.space,
            axes=self.problem.axes,
            objective=self.problem.objective,
            front=self.front.points(),
            certificate=self.certificate(),
            bound={},
            seconds=perf_counter() - self.start,
            interrupted=self.interrupted,
            trial=trial,
        )
