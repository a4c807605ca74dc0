"""The exact trade-off of energy against cycles: every mapping that none beats in both."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from html import escape
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.mapper.columns import aligned
from tilewright.mapper.objective import Objective, parse_objective
from tilewright.mapper.result import LayerResult, confirmed, number, percent
from tilewright.mapper.size import mappings_in_space
from tilewright.mapper.solve import Search
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    import pandas as pd

CLOSER = 1e-9  # points whose cycles differ by less, as a share of them, are one
HEADERS = ("energy (uJ)", "cycles", "EDP (pJ x cycles)", "utilization", "bound by", "proven")


@dataclass(frozen=True, repr=False)
class Front:
    """All trade-offs of energy against cycles of one layer, the least energy first.

    Attributes
    ----------
    layer : Layer
        What is computed.
    architecture : Architecture
        What computes it.
    points : tuple of LayerResult
        Each has the least energy of all mappings that take no more cycles.
    optimal : bool
        Whether no mapping has less energy and fewer cycles than every point; otherwise the search
        was stopped, and points with fewer cycles than the last one may be missing.
    seconds : float
        Time that it took.
    interrupted : bool
        Whether Ctrl-C ended the search.
    """

    layer: Layer
    architecture: Architecture
    points: tuple[LayerResult, ...]
    optimal: bool
    seconds: float
    interrupted: bool = False

    def __repr__(self) -> str:
        state = "complete" if self.optimal else "incomplete"
        return (
            f"<Front of {self.layer.name} on {self.architecture.name}: "
            f"{len(self.points)} points, {state}>"
        )

    def __str__(self) -> str:
        return self.text()

    def __len__(self) -> int:
        return len(self.points)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of a table: one row per point under `HEADERS`."""
        return [
            (
                number(point.evaluation.energy_pj * 1e-6),
                f"{point.evaluation.cycles:,.0f}",
                f"{point.evaluation.edp_pj_cycles:.4e}",
                percent(point.evaluation.utilization),
                point.evaluation.bound,
                "yes" if point.proof.optimal else "no",
            )
            for point in self.points
        ]

    def statement(self) -> str:
        """Return in a sentence what is proven."""
        if self.optimal:
            return (
                f"Proven: no mapping of the space has less energy and fewer cycles than a point "
                f"of the front ({len(self.points)} points, {self.seconds:.1f} s)."
            )
        return "Not proven: stopped; points with fewer cycles than the last one may be missing."

    def text(self) -> str:
        """Return a table with a row per point, and what is proven."""
        lines = aligned([HEADERS, *self.rows()])
        title = f"{self.layer.name} on {self.architecture.name}, energy against cycles"
        return "\n".join([title, "", *lines, "", self.statement()])

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per point."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "energy_pj": point.evaluation.energy_pj,
                    "cycles": point.evaluation.cycles,
                    "edp_pj_cycles": point.evaluation.edp_pj_cycles,
                    "utilization": point.evaluation.utilization,
                    "bound": point.evaluation.bound,
                    "optimal": point.proof.optimal,
                }
                for point in self.points
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "layer": self.layer.name,
            "architecture": self.architecture.name,
            "optimal": self.optimal,
            "seconds": self.seconds,
            "points": [point.to_dict() for point in self.points],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(index=False, border=0)
        return f"<p>{escape(repr(self)[1:-1])}</p>{table}<p>{escape(self.statement())}</p>"


def trade_offs(
    layer: Layer,
    architecture: Architecture,
    limits: Objective | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda points: None,
) -> Front:
    """Find every trade-off of energy against cycles, from the least energy to the fewest cycles.

    Each point is the least energy among the mappings with fewer cycles than the one before, and
    the fewest cycles among these. Both are proven, so the front is exact.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what.
    limits : Objective, optional
        Its limits of energy and cycles hold for every point.
    stop : callable
        Asked every now and then whether to end.
    progress : callable
        Told the number of points so far.
    """
    start = perf_counter()
    wanted = replace(limits or parse_objective("energy"), powers=(1.0, 0.0), then=(0.0, 1.0))
    search = Search(layer, architecture, str(wanted))
    size = mappings_in_space(layer, architecture)
    points: list[LayerResult] = []
    finished, interrupted = True, False
    while finished:
        begin = perf_counter()
        search.aim(wanted)
        try:
            found = search.solve(stop)
        except KeyboardInterrupt:
            found, interrupted = search.found, True
        finished = found.finished
        if found.mapping is None:
            break
        point = confirmed(
            layer, architecture, str(wanted), found.mapping,
            value=float(search.best[0]), bound=found.bound, finished=finished,
            mappings_in_space=size, seconds=perf_counter() - begin,
        )  # fmt: skip
        points.append(point)
        progress(len(points))
        wanted = replace(wanted, most_cycles=point.evaluation.cycles * (1 - CLOSER))
    seconds = perf_counter() - start
    return Front(layer, architecture, tuple(points), finished, seconds, interrupted)
