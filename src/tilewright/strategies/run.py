"""Best value against time, the same for every strategy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from time import thread_time

from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import evaluate
from tilewright.strategies.searches.sampling import Random
from tilewright.strategies.steps import Problem, Strategy


@dataclass(frozen=True)
class Sample:
    """A mapping that was better than all before it.

    Attributes
    ----------
    seconds : float
        CPU seconds of the searching thread when it was found, drawing and evaluation included.
    evaluated : int
        Mappings tried until then.
    value : float
        Its objective: pJ, cycles, or pJ x cycles.
    mapping : Mapping
    """

    seconds: float
    evaluated: int
    value: float
    mapping: Mapping


@dataclass
class Run:
    """What a strategy has reached.

    Attributes
    ----------
    strategy : str
        Its name, with its options.
    samples : list of Sample
        The improvements, in the order of time.
    seconds : float
        CPU seconds that it had.
    evaluated, valid : int
        Mappings tried, and how many of them fit the machine.
    finished : bool
        Whether it ended by itself: its space is exhausted, or it has declared victory.
    """

    strategy: str
    samples: list[Sample] = field(default_factory=list)
    seconds: float = 0.0
    evaluated: int = 0
    valid: int = 0
    finished: bool = False

    @property
    def best(self) -> Sample | None:
        """The best mapping, if any was valid."""
        return self.samples[-1] if self.samples else None

    def state(self) -> str:
        """Return in a line how far it is."""
        best = f"best {self.best.value:.5g}" if self.best else "no mapping yet"
        return f"{self.strategy}: {best}, {self.evaluated:,} mappings tried"

    def after(self, seconds: float) -> Sample | None:
        """Return the best mapping after some CPU seconds, if any was valid by then."""
        before = [sample for sample in self.samples if sample.seconds <= seconds]
        return before[-1] if before else None


def improvements(
    run: Run, strategy: Strategy, problem: Problem, seconds: float, seed: int
) -> Iterator[Sample]:
    """Yield every mapping that is better than all before it.

    Parameters
    ----------
    run : Run
        Takes what is found; when the iteration is broken off, it has what there was.
    strategy : Strategy
        How to search.
    problem : Problem
        What to search.
    seconds : float
        CPU seconds of this thread after which no further step is taken; infinite is allowed.
    seed : int
        Where random numbers begin.
    """
    start = thread_time()
    best = inf
    for step in strategy.steps(problem, seed):
        run.seconds = thread_time() - start
        if run.seconds > seconds and run.evaluated:
            # what the last step found came too late
            run.seconds = seconds
            return
        run.evaluated += step.evaluated
        run.valid += step.valid
        if step.mapping is not None and step.value < best:
            best = step.value
            run.samples.append(Sample(run.seconds, run.evaluated, best, step.mapping))
            yield run.samples[-1]
    run.seconds = thread_time() - start
    run.finished = True


def warm_up(problem: Problem) -> None:
    """Compile what all strategies use, so that no strategy pays for it."""
    step = next(Random(rows=4).steps(problem, 0))
    if step.mapping is not None:
        evaluate(problem.layer, problem.architecture, step.mapping)
