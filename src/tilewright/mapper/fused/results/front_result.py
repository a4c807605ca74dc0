"""Trade-offs of total energy against total cycles of a network whose layers may be fused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.results.searched_space import DIVISORS, SIZES
from tilewright.mapper.results.text import number, percent
from tilewright.mapper.results.trade_offs import TradeOffs
from tilewright.workload.layer import Network

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from tilewright.mapper.fused.results.result import FusedResult
    from tilewright.mapper.fused.trade_offs.half_planes import HalfPlanes
    from tilewright.mapper.fused.trade_offs.totals import PooledTotals

SHOWN = 20
HEADERS = ("energy (uJ)", "cycles", "EDP (pJ x cycles)", "fused layers", "gap")


class TradeOff(NamedTuple):
    """One of the trade-offs: its totals, of which variant of the network, and which there."""

    energy_pj: float
    cycles: float
    variant: int
    row: int


@dataclass(frozen=True, repr=False, kw_only=True)
class FusedFront(TradeOffs):
    """Trade-offs of energy against cycles of a network with fused layers, the least energy first.

    Its points are what the searches have found. What lies below them is bounded: `gaps` says how
    much less energy there may be, and `optimal` whether it is none.

    Attributes
    ----------
    network : Network
        What is computed.
    found : tuple of PooledTotals
        What was found for it, or for each of its variants.
    chosen : tuple of TradeOff
    planes : HalfPlanes
        What no mapping undercuts: energy plus cycles at some prices.
    limits : Objective
        Its limits hold for the totals.
    stopped : bool
        Whether the time limit ended the search.
    exact : bool
        Whether nothing can be fused, and all trade-offs of layers by themselves are known.
    """

    headers: ClassVar[tuple[str, ...]] = HEADERS

    network: Network
    found: tuple[PooledTotals, ...]
    chosen: tuple[TradeOff, ...]
    planes: HalfPlanes
    limits: Objective
    stopped: bool = False
    exact: bool = False

    @classmethod
    def of(
        cls, found: Sequence[PooledTotals], planes: HalfPlanes, limits: Objective, **rest: Any
    ) -> FusedFront:
        """Return the totals that none of the others beats, and that are within limits."""
        every = sorted(
            TradeOff(float(energy), float(cycles), variant, row)
            for variant, totals in enumerate(found)
            for row, (energy, cycles) in enumerate(
                zip(totals.sums.energy, totals.sums.cycles, strict=True)
            )
            if energy <= limits.most_energy and cycles <= limits.most_cycles
        )
        chosen: list[TradeOff] = []
        for point in every:
            if not chosen or point.cycles < chosen[-1].cycles * (1 - TIE):
                chosen.append(point)
        front = cls(
            found=tuple(found), chosen=tuple(chosen), planes=planes, limits=limits, optimal=False,
            **rest,
        )  # fmt: skip
        return replace(front, optimal=bool(chosen) and front.tolerance == 0.0)

    @property
    def workload(self) -> Network:
        """The network."""
        return self.network

    @property
    def title(self) -> str:
        """Of what and on what these are the trade-offs."""
        name = f"{self.network.name} on {self.architecture.name}"
        return f"{name}, total energy against cycles, fused where that is better, {SIZES[DIVISORS]}"

    def __len__(self) -> int:
        return len(self.chosen)

    def totals(self) -> list[tuple[float, float]]:
        """Return energy in pJ and cycles of each point."""
        return [(point.energy_pj, point.cycles) for point in self.chosen]

    def __iter__(self) -> Iterator[FusedResult]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> FusedResult:
        """Return a point with its mappings; 0 is that of the least energy."""
        point = self.chosen[i]
        objective = f"energy, latency<={point.cycles:.17g}"
        bound = min(self.planes.least_energy(point.cycles), point.energy_pj)
        return self.found[point.variant].result(point.row, objective, bound)

    @cached_property
    def gaps(self) -> tuple[float, ...]:
        """By what share a mapping can have less energy than a point, given the one before it.

        Such a mapping takes fewer cycles than the point before.
        """
        if self.exact:
            thinned = max(own.sums.tolerance for own in self.found)
            return (1 - 1 / (1 + thinned),) * len(self.chosen)
        found, before = [], self.limits.most_cycles
        for point in self.chosen:
            least = self.planes.least_energy(before)
            gap = 1 - min(least / point.energy_pj, 1.0) if point.energy_pj else 0.0
            found.append(gap if gap > TIE else 0.0)
            before = point.cycles
        return tuple(found)

    @property
    def tolerance(self) -> float:
        """The largest of the `gaps`; 1 where mappings may have fewer cycles than any point."""
        last = self.chosen[-1]
        known = self.exact or last.cycles <= self.planes.cycles * (1 + TIE)
        known |= self.planes.fewest_cycles(self.limits.most_energy) >= last.cycles * (1 - TIE)
        return max(self.gaps) if known else 1.0

    def shown(self) -> list[int]:
        """Return the points that a table has: at most 20."""
        steps = np.linspace(0, len(self) - 1, min(SHOWN, len(self))).round().astype(int)
        return sorted(set(steps.tolist()))

    def fused_layers(self, i: int) -> int:
        """Return how many runs of layers share loops with others."""
        point = self.chosen[i]
        return self.found[point.variant].fused_layers(point.row)

    def rows(self, points: Iterable[int] | None = None) -> list[tuple[str, ...]]:
        """Return the cells of a table: one row per point under `HEADERS`; by default all."""
        rows: list[tuple[str, ...]] = []
        for i in range(len(self)) if points is None else points:
            energy, cycles = self.chosen[i][:2]
            rows.append(
                (
                    number(energy * 1e-6), f"{cycles:,.0f}", f"{energy * cycles:.4e}",
                    f"{self.fused_layers(i)}", percent(self.gaps[i]),
                )
            )  # fmt: skip
        return rows

    def statement(self) -> str:
        """Return in a few sentences what is proven."""
        ended = ""
        if self.interrupted or self.stopped:
            how = "was interrupted" if self.interrupted else "was stopped at the time limit"
            ended = f"The search {how}. "
        fewest = self.planes.cycles
        last = self.chosen[-1].cycles
        if self.exact or fewest >= last * (1 - TIE):
            quickest = f"No mapping takes fewer than {last:,.0f} cycles."
        else:
            least = f", but no fewer than {fewest:,.0f}" if fewest else ""
            quickest = f"Mappings may take fewer than {last:,.0f} cycles{least}."
        most = max(self.gaps)
        if most:
            beaten = (
                "Proven: no mapping has fewer cycles than a point and more than "
                f"{percent(most).removeprefix('<')} less energy than the next one."
            )
        else:
            beaten = "Proven: no mapping has fewer cycles and less energy than a point."
        points = f"{len(self)} points" if len(self) > 1 else "1 point"
        searches = len(self.planes.lines) + 1
        return f"{ended}{beaten} {quickest} ({points}, {searches} searches, {self.seconds:.1f} s.)"

    def plot(self) -> go.Figure:
        """Return a plot of energy (uJ) against cycles, and of what no mapping undercuts."""
        figure = super().plot()
        cycles = np.linspace(self.chosen[-1].cycles, self.chosen[0].cycles, 200)
        least = [self.planes.least_energy(own) * 1e-6 for own in cycles.tolist()]
        figure.data[0].name = "found"
        figure.add_scatter(
            x=cycles, y=least, mode="lines", name="no mapping is below", line_dash="dot"
        )
        return figure

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per point."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "energy_pj": point.energy_pj,
                    "cycles": point.cycles,
                    "edp_pj_cycles": point.energy_pj * point.cycles,
                    "fused_layers": self.fused_layers(i),
                    "gap": self.gaps[i],
                }
                for i, point in enumerate(self.chosen)
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data; `bounds` are of energy plus cycles at a price."""
        return {
            "network": self.network.name,
            "architecture": self.architecture.name,
            "optimal": self.optimal,
            "tiles": DIVISORS,
            "tolerance": self.tolerance,
            "interrupted": self.interrupted,
            "stopped": self.stopped,
            "seconds": self.seconds,
            "fewest_cycles": self.planes.cycles,
            "bounds": [
                {"pj_per_cycle": price, "energy_pj": bound}
                for price, bound in sorted(self.planes.lines.items())
                if isfinite(bound)
            ],
            "points": [
                {
                    "energy_pj": point.energy_pj,
                    "cycles": point.cycles,
                    "edp_pj_cycles": point.energy_pj * point.cycles,
                    "gap": self.gaps[i],
                    **self.found[point.variant].outline(point.row),
                }
                for i, point in enumerate(self.chosen)
            ],
        }

    def __repr__(self) -> str:
        return (
            f"<FusedFront of {self.network.name} on {self.architecture.name}: {len(self)} points, "
            f"{'complete' if self.optimal else f'gap {percent(max(self.gaps, default=inf))}'}>"
        )
