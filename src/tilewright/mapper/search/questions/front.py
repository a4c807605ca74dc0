"""The exact trade-off of energy against cycles: every mapping that none beats in both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.searched_space import DIVISORS, SIZES
from tilewright.mapper.results.text import number, percent
from tilewright.mapper.results.ticking import Told, so_far
from tilewright.mapper.results.trade_offs import TradeOffs
from tilewright.mapper.search.confirmed import confirmed
from tilewright.mapper.search.forwarding import forwards_words
from tilewright.mapper.search.search import Search
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    import pandas as pd

CLOSER = 1e-9  # points whose cycles differ by less, as a share of them, are one
HEADERS = ("energy (uJ)", "cycles", "EDP (pJ x cycles)", "utilization", "bound by", "proven")


@dataclass(frozen=True, repr=False, kw_only=True)
class Front(TradeOffs):
    """All trade-offs of energy against cycles of one layer, the least energy first.

    `optimal` says whether no mapping has less energy and fewer cycles than every point; otherwise
    points with fewer cycles than the last one may be missing.

    Attributes
    ----------
    layer : Layer
        What is computed.
    points : tuple of LayerResult
        Each has the least energy of all mappings that take no more cycles.
    """

    headers: ClassVar[tuple[str, ...]] = HEADERS

    layer: Layer
    points: tuple[LayerResult, ...]

    @property
    def workload(self) -> Layer:
        """The layer."""
        return self.layer

    @property
    def title(self) -> str:
        """Of what and on what these are the trade-offs."""
        name = f"{self.layer.name} on {self.architecture.name}"
        return f"{name}, energy against cycles, {SIZES[DIVISORS]}"

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[LayerResult]:
        return iter(self.points)

    def __getitem__(self, i: int) -> LayerResult:
        """Return a point; 0 is that of the least energy."""
        return self.points[i]

    def totals(self) -> list[tuple[float, float]]:
        """Return energy in pJ and cycles of each point."""
        return [(p.evaluation.energy_pj, p.evaluation.cycles) for p in self.points]

    def rows(self, points: Iterable[int] | None = None) -> list[tuple[str, ...]]:
        """Return the cells of a table: one row per point under `HEADERS`; by default all."""
        chosen = self.points if points is None else [self.points[i] for i in points]
        return [
            (
                number(point.evaluation.energy_pj * 1e-6),
                f"{point.evaluation.cycles:,.0f}",
                f"{point.evaluation.edp_pj_cycles:.4e}",
                percent(point.evaluation.utilization),
                point.evaluation.bound,
                "yes" if point.proof.optimal else "no",
            )
            for point in chosen
        ]

    def statement(self) -> str:
        """Return in a sentence what is proven."""
        if self.optimal:
            return (
                f"Proven: no mapping whose tile sizes divide has less energy and fewer cycles than "
                f"a point of the front ({len(self.points)} points, {self.seconds:.1f} s). Mappings "
                "with other tile sizes may be better."
            )
        return (
            "Not proven: the search was stopped; points with fewer cycles than the last one may be "
            "missing, and mappings with tile sizes that do not divide are left out."
        )

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
            "tiles": DIVISORS,
            "seconds": self.seconds,
            "points": [point.to_dict() for point in self.points],
        }


def trade_offs(
    layer: Layer,
    architecture: Architecture,
    limits: Objective | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Told = lambda count, now="": None,
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
        Told the number of points so far, and how far the search for the next one is.

    Raises
    ------
    InputError
        Where neighbours forward words of overlapping windows, which the search does not see.
    """
    start = perf_counter()
    if forwards_words(layer, architecture):
        raise InputError(
            f"the trade-offs of layer '{layer.name}' are not known on '{architecture.name}', where "
            "neighbours forward words of its windows; accepted: a machine with 'forwarding: false' "
            "on every array",
            key="architecture",
        )
    wanted = replace(limits or parse_objective("energy"), powers=(1.0, 0.0), then=(0.0, 1.0))
    search = Search(layer, architecture, str(wanted))
    size = mappings_in_space(layer, narrowed(architecture, layer))
    points: list[LayerResult] = []
    finished, interrupted = True, False
    while finished:
        begin = perf_counter()
        search.aim(wanted)
        try:
            found = search.solve(
                stop, lambda best, bound: progress(len(points), so_far(best, bound, "pJ"))
            )
        except KeyboardInterrupt:
            found, interrupted = search.found, True
        finished = found.finished and not interrupted
        if found.mapping is None:
            break
        point = confirmed(
            layer, architecture, str(wanted),
            replace(found, value=float(search.best[0]), finished=finished),
            mappings_in_space=size, seconds=perf_counter() - begin,
        )  # fmt: skip
        points.append(point)
        progress(len(points))
        wanted = replace(wanted, most_cycles=point.evaluation.cycles * (1 - CLOSER))
    seconds = perf_counter() - start
    return Front(
        layer=layer, architecture=architecture, points=tuple(points), optimal=finished,
        seconds=seconds, interrupted=interrupted,
    )  # fmt: skip
