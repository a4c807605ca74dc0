"""Strategies side by side: what each reaches in its time, and how far that is from the optimum."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from math import inf
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.searched_space import DIVISORS, SIZES
from tilewright.mapper.results.ticking import every
from tilewright.mapping.files import mapping_data
from tilewright.strategies.charts import best_over_time
from tilewright.strategies.optimum import Optimum, optimum, until
from tilewright.strategies.run import Run, Sample, improvements, warm_up
from tilewright.strategies.steps import Problem, Strategy
from tilewright.text import aligned, wrapped
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

CHECKPOINTS = (1.0, 10.0, 60.0)


@dataclass(frozen=True, repr=False)
class Comparison:
    """What strategies reached on one layer and machine.

    Attributes
    ----------
    layer : Layer
        What is mapped.
    architecture : Architecture
        What it is mapped onto.
    objective : str
        What was minimised: ``"energy"``, ``"latency"`` or ``"edp"``.
    seconds : float
        CPU seconds that each strategy had.
    seed : int
        Where the random numbers of each strategy began.
    runs : tuple of Run
        One per strategy: its improvements over time.
    optimum : Optimum or None
        The proven optimum; None when it was not asked for or not reached.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    layer: Layer
    architecture: Architecture
    objective: str
    seconds: float
    seed: int
    runs: tuple[Run, ...]
    optimum: Optimum | None = None
    interrupted: bool = False

    def __getitem__(self, strategy: str) -> Run:
        """Return the run of the strategy with this name."""
        for run in self.runs:
            if run.strategy == strategy:
                return run
        raise KeyError(strategy)

    def __repr__(self) -> str:
        reached = [
            f"{run.strategy} {self.ratio_text(run.best.value)}" for run in self.runs if run.best
        ]
        return (
            f"<Comparison of {self.layer.name} on {self.architecture.name}, {self.objective}, "
            f"ratio to the proven optimum: {', '.join(reached) or 'nothing found'}>"
        )

    def __str__(self) -> str:
        return self.text()

    def ratio(self, value: float) -> float | None:
        """Return a value divided by the proven optimum; None where nothing is proven."""
        if self.optimum is None or not self.optimum.proven:
            return None
        if self.optimum.value == 0:
            return 1.0 if value == 0 else inf
        return value / self.optimum.value

    def ratio_text(self, value: float) -> str:
        """Return `ratio` with three decimals, or a dash."""
        ratio = self.ratio(value)
        return "-" if ratio is None else f"{ratio:.3f}"

    @property
    def checkpoints(self) -> tuple[float, ...]:
        """CPU seconds after which values are shown: 1, 10 and 60, as far as the time goes."""
        return tuple(t for t in CHECKPOINTS if t < self.seconds)

    @property
    def title(self) -> str:
        """What is compared, in a line."""
        sought = parse_objective(self.objective)
        name = f"{self.layer.name} on {self.architecture.name}"
        return f"{name}, {sought.least} ({sought.unit}), {SIZES[DIVISORS]}"

    @property
    def headers(self) -> tuple[str, ...]:
        """Names of the columns of `rows`."""
        times = [name for t in self.checkpoints for name in (f"after {t:g} s", "ratio")]
        return ("strategy", "tried", "valid", "per CPU s", *times, "best", "ratio")

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of a table, one row per strategy."""
        rows = []
        for run in self.runs:
            share = f"{run.valid / run.evaluated:.1%}" if run.evaluated else "-"
            speed = f"{run.evaluated / run.seconds:,.0f}" if run.seconds else "-"
            cells = [run.strategy, f"{run.evaluated:,}", share, speed]
            for seconds in self.checkpoints:
                reached = run.finished or run.seconds >= seconds
                cells += self._cells(run.after(seconds)) if reached else ["-", "-"]
            cells += self._cells(run.best)
            rows.append(tuple(cells))
        return rows

    def _cells(self, sample: Sample | None) -> list[str]:
        if sample is None:
            return ["none yet", "-"]
        return [f"{sample.value:.5g}", self.ratio_text(sample.value)]

    def statement(self) -> str:
        """Return in a few sentences what the ratios refer to."""
        parts = []
        best = self.optimum
        unit = parse_objective(self.objective).unit
        if best is not None and best.proven:
            parts.append(
                f"Proven optimum: {best.value:.5g} {unit}, after {best.seconds:.3g} CPU seconds."
            )
        elif best is not None:
            parts.append(
                f"Nothing is proven: the mapper's best is {best.value:.5g} {unit}, its lower bound "
                f"{best.lower_bound:.5g}."
            )
        for run in self.runs:
            if run.finished:
                parts.append(f"{run.strategy} ended by itself after {run.seconds:.3g} CPU seconds.")
        if self.interrupted:
            parts.append("Interrupted.")
        return "\n".join(parts)

    def text(self, width: int | None = None) -> str:
        """Return a table with a row per strategy, and the optimum."""
        table = aligned([self.headers, *self.rows()], (0,), width=width)
        title, statement = wrapped(self.title, width), wrapped(self.statement(), width)
        return "\n".join([title, "", *table, "", statement]).rstrip()

    def _repr_html_(self) -> str:
        import pandas as pd

        table = pd.DataFrame([list(row) for row in self.rows()])
        # the names of columns repeat
        table.columns = list(self.headers)
        return (
            f"<p>{escape(self.title)}</p>{table.to_html(index=False, border=0)}"
            f"<p>{escape(self.statement())}</p>"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per improvement of each strategy."""
        import pandas as pd

        columns = ["strategy", "seconds", "evaluated", "value", "ratio"]
        rows = [
            [run.strategy, s.seconds, s.evaluated, s.value, self.ratio(s.value)]
            for run in self.runs
            for s in run.samples
        ]
        return pd.DataFrame(rows, columns=columns)

    def plot(self) -> go.Figure:
        """Return a figure: best value over CPU time, as a ratio to the proven optimum."""
        return best_over_time(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, as ``tilewright compare --json`` writes it."""
        best = self.optimum
        return {
            "layer": self.layer.name,
            "architecture": self.architecture.name,
            "objective": self.objective,
            "seconds": self.seconds,
            "seed": self.seed,
            "interrupted": self.interrupted,
            "optimum": None
            if best is None
            else {
                "value": best.value,
                "lower_bound": best.lower_bound,
                "proven": best.proven,
                "seconds": best.seconds,
                "mapping": mapping_data(best.mapping, self.layer),
            },
            "strategies": [self._run_data(run) for run in self.runs],
        }

    def _run_data(self, run: Run) -> dict[str, Any]:
        return {
            "strategy": run.strategy,
            "seconds": run.seconds,
            "evaluated": run.evaluated,
            "valid": run.valid,
            "finished": run.finished,
            "samples": [
                {
                    "seconds": s.seconds,
                    "evaluated": s.evaluated,
                    "value": s.value,
                    "ratio": self.ratio(s.value),
                }
                for s in run.samples
            ],
            "mapping": None if run.best is None else mapping_data(run.best.mapping, self.layer),
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def compare_strategies(
    problem: Problem,
    strategies: dict[str, Strategy],
    *,
    seconds: float,
    seed: int = 0,
    prove: bool = True,
    time_limit: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Comparison:
    """Run strategies one after the other.

    Parameters
    ----------
    problem : Problem
        What to map onto what.
    strategies : dict of str to Strategy
        By the names that they have in the result.
    seconds : float
        CPU seconds for each.
    seed : int
        Where the random numbers of each begin.
    prove : bool
        Whether to find the optimum first.
    time_limit : float, optional
        Seconds for its proof.
    tell : callable
        Told in a line what begins, and every few seconds how far it is.

    Returns
    -------
    Comparison
        Ctrl-C ends it with what was found so far.
    """
    runs: list[Run] = []
    best: Optimum | None = None
    interrupted = False
    try:
        warm_up(problem)
        if prove:
            tell(f"searching the optimum, {until(time_limit)}")
            best = optimum(problem, time_limit, tell)
        for name, strategy in strategies.items():
            tell(f"{name}: {seconds:g} CPU seconds")
            runs.append(Run(name))
            with every(lambda run=runs[-1]: [run.state()], tell):  # type: ignore[misc]
                for _ in improvements(runs[-1], strategy, problem, seconds, seed):
                    pass
    except KeyboardInterrupt:
        interrupted = True
    layer, architecture, objective = problem.layer, problem.architecture, problem.objective
    return Comparison(
        layer=layer,
        architecture=architecture,
        objective=objective,
        seconds=seconds,
        seed=seed,
        runs=tuple(runs),
        optimum=best,
        interrupted=interrupted,
    )
