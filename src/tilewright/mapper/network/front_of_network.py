"""The trade-off of energy against cycles of a whole network: every sum that none beats in both.

The runs of all layers follow each other, and each has a mapping of its own. The totals that can be
reached without waste are sums of one point of the front of each run, and of these sums the ones
that no other beats: the Minkowski sum of the fronts without its dominated points.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from math import inf, isfinite
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tilewright.architecture.machine import Architecture
from tilewright.errors import NoMappingError
from tilewright.kernels.time_limits import time_is_up
from tilewright.mapper.network.front_totals import Sums, total
from tilewright.mapper.network.layer_search import beyond_limits, check_possible
from tilewright.mapper.network.running.time_shares import Budget, run_together
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.searched_space import DIVISORS, SIZES
from tilewright.mapper.results.text import number
from tilewright.mapper.results.ticking import Told
from tilewright.mapper.results.trade_offs import TradeOffs
from tilewright.mapper.search.questions.front import Front, trade_offs
from tilewright.processes import processors
from tilewright.workload.layer import Layer, Network

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 20
HEADERS = ("energy (uJ)", "cycles", "EDP (pJ x cycles)")


@dataclass(frozen=True)
class NetworkPoint:
    """One trade-off of a network.

    Attributes
    ----------
    energy_pj, cycles : float
        Totals of all runs of all layers.
    layers : tuple of LayerResult
        The mappings in the order of the network, ``layer.repeat`` being the runs that take each:
        where the runs of a layer take several mappings, there are several results.
    """

    energy_pj: float
    cycles: float
    layers: tuple[LayerResult, ...]

    @property
    def edp_pj_cycles(self) -> float:
        """Energy of the network times its cycles, in pJ x cycles."""
        return self.energy_pj * self.cycles


@dataclass(frozen=True, repr=False, kw_only=True)
class NetworkFront(TradeOffs):
    """All trade-offs of energy against cycles of a network, the least energy first.

    `optimal` says whether no mappings of the runs have less energy and fewer cycles than every
    point, apart from `tolerance`.

    Attributes
    ----------
    network : Network
        What is computed.
    fronts : tuple of Front
        The front of each different layer; layers that are equal but for their names share one.
    sums : Sums
        The totals.
    """

    headers: ClassVar[tuple[str, ...]] = HEADERS

    network: Network
    fronts: tuple[Front, ...]
    sums: Sums

    @property
    def workload(self) -> Network:
        """The network."""
        return self.network

    @property
    def title(self) -> str:
        """Of what and on what these are the trade-offs."""
        name = f"{self.network.name} on {self.architecture.name}"
        return f"{name}, total energy against cycles, {SIZES[DIVISORS]}"

    def __len__(self) -> int:
        return len(self.sums)

    def totals(self) -> list[tuple[float, float]]:
        """Return energy in pJ and cycles of each point."""
        pairs = zip(self.sums.energy, self.sums.cycles, strict=True)
        return [(float(energy), float(cycles)) for energy, cycles in pairs]

    def __iter__(self) -> Iterator[NetworkPoint]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> NetworkPoint:
        """Return a point with its mappings; 0 is that of the least energy."""
        sums = self.sums
        return NetworkPoint(
            float(sums.energy[i]), float(sums.cycles[i]), tuple(self.layers(sums.picks[i]))
        )

    @property
    def tolerance(self) -> float:
        """How much less energy a trade-off that is left out can have, as a share; 0: none is."""
        return 1 - 1 / (1 + self.sums.tolerance)

    @property
    def points(self) -> tuple[NetworkPoint, ...]:
        """All points with their mappings."""
        return tuple(self)

    def least(self, powers: tuple[float, float] = (1.0, 1.0)) -> int:
        """Return which point has the least product of powers of total energy and total cycles.

        Parameters
        ----------
        powers : (float, float)
            Of energy and of cycles; by default the energy-delay product.
        """
        return int(np.argmin(self.sums.energy ** powers[0] * self.sums.cycles ** powers[1]))

    @cached_property
    def starts(self) -> dict[tuple[object, ...], tuple[Front, int]]:
        """The front of each kind of layer, and where its points begin among the picks."""
        found, start = {}, 0
        for front in self.fronts:
            found[likeness(front.layer)] = front, start
            start += len(front)
        return found

    def layers(self, picks: NDArray[np.int32]) -> Iterator[LayerResult]:
        """Yield the mappings that the runs of each layer take."""
        left = picks.copy()
        for layer in self.network.layers:
            front, start = self.starts[likeness(layer)]
            runs = layer.repeat
            for i, point in enumerate(front.points):
                taken = min(runs, int(left[start + i]))
                if taken:
                    left[start + i] -= taken
                    runs -= taken
                    yield replace(point, layer=replace(layer, repeat=taken))

    def shown(self) -> list[int]:
        """Return the points that a table has: at most 20 and that of the least EDP."""
        steps = np.linspace(0, len(self) - 1, min(SHOWN, len(self))).round().astype(int)
        return sorted({*steps.tolist(), self.least()})

    def rows(self, points: Iterable[int] | None = None) -> list[tuple[str, ...]]:
        """Return the cells of a table: one row per point under `HEADERS`; by default all."""
        energy, cycles = self.sums.energy, self.sums.cycles
        return [
            (
                number(float(energy[i]) * 1e-6),
                f"{cycles[i]:,.0f}",
                f"{energy[i] * cycles[i]:.4e}",
            )
            for i in (range(len(self)) if points is None else points)
        ]

    def statement(self) -> str:
        """Return in a few sentences what is proven."""
        runs = sum(layer.repeat for layer in self.network.layers)
        best = self.least()
        least = (
            f"The least energy-delay product of the totals is that of "
            f"{self.rows([best])[0][0]} uJ and {self.rows([best])[0][1]} cycles."
        )
        if not self.optimal:
            return f"Not proven: stopped; points may be missing. {least}"
        if self.sums.tolerance:
            beaten = (
                f"has fewer cycles than a point of the front and {self.tolerance:.2g} less energy, "
                "as a share"
            )
        else:
            beaten = "has less energy and fewer cycles than a point of the front"
        return (
            f"Proven: for the {runs} runs of layers, no choice of mappings whose tile sizes divide "
            f"{beaten} ({len(self)} points, {self.seconds:.1f} s). Mappings with other tile sizes "
            f"may be better. {least}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per point."""
        import pandas as pd

        energy, cycles = self.sums.energy, self.sums.cycles
        return pd.DataFrame(
            {"energy_pj": energy, "cycles": cycles, "edp_pj_cycles": energy * cycles}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data.

        ``picks`` of a point has, for each front in turn, the runs that take each of its points.
        """
        splits = np.cumsum([len(front) for front in self.fronts])[:-1]
        return {
            "network": self.network.name,
            "architecture": self.architecture.name,
            "optimal": self.optimal,
            "tiles": DIVISORS,
            "tolerance": self.tolerance,
            "seconds": self.seconds,
            "fronts": [front.to_dict() for front in self.fronts],
            "points": [
                {
                    "energy_pj": float(energy),
                    "cycles": float(cycles),
                    "edp_pj_cycles": float(energy * cycles),
                    "picks": [part.tolist() for part in np.split(picks, splits)],
                }
                for energy, cycles, picks in zip(
                    self.sums.energy, self.sums.cycles, self.sums.picks, strict=True
                )
            ],
        }

    def to_json(self, indent: int | None = None) -> str:
        """Return `to_dict` as JSON text, in one line unless told otherwise."""
        return super().to_json(indent)


def map_network_front(
    network: Network,
    architecture: Architecture,
    limits: Objective,
    *,
    time_limit: float | None = None,
    progress: Told = lambda count, now="": None,
) -> NetworkFront:
    """Find every trade-off of total energy against total cycles of a network.

    Parameters
    ----------
    network, architecture
        What is mapped onto what.
    limits : Objective
        Its limits hold for the totals.
    time_limit : float, optional
        Seconds for all layers together.
    progress : callable
        Told the number of points of all layers so far.

    Raises
    ------
    NoMappingError
        When no mapping can run one of the layers, none was found in time, or no totals are within
        the limits.
    """
    start = perf_counter()
    kinds: dict[tuple[object, ...], Layer] = {}
    runs: dict[tuple[object, ...], int] = {}
    for layer in network.layers:
        check_possible(layer, architecture)
        kinds.setdefault(likeness(layer), layer)
        runs[likeness(layer)] = runs.get(likeness(layer), 0) + layer.repeat
    workers = max(1, min(processors(), len(kinds)))
    budget = Budget(start + (inf if time_limit is None else time_limit), len(kinds), workers)
    fronts: dict[tuple[object, ...], Front] = {}
    so_far: dict[tuple[object, ...], int] = {}

    def task(kind: tuple[object, ...]) -> None:
        def told(count: int, now: str = "") -> None:
            so_far[kind] = count
            progress(sum(so_far.values()), f"{kinds[kind].name}: {now}" if now else "")

        fronts[kind] = trade_offs(kinds[kind], architecture, None, budget.take(), told)

    tasks = [partial(task, kind) for kind in kinds]
    interrupted = run_together(tasks, workers, budget.halted)
    for kind, layer in kinds.items():
        if kind not in fronts or not fronts[kind].points:
            raise NoMappingError(
                f"the search was stopped before it had any mapping of layer '{layer.name}'"
            )
    sums = total((fronts[kind], runs[kind]) for kind in kinds)
    return NetworkFront(
        network=network, architecture=architecture, fronts=tuple(fronts[kind] for kind in kinds),
        sums=within(sums, limits, network, architecture),
        optimal=all(front.optimal for front in fronts.values()),
        seconds=perf_counter() - start, interrupted=interrupted,
    )  # fmt: skip


def within(sums: Sums, limits: Objective, network: Network, architecture: Architecture) -> Sums:
    """Return the totals that keep to limits.

    Raises
    ------
    NoMappingError
        When none do.
    """
    fits = (sums.energy <= limits.most_energy) & (sums.cycles <= limits.most_cycles)
    if not fits.any():
        facts = []
        if isfinite(limits.most_cycles):
            facts.append(f"the fewest cycles are {sums.cycles.min():.10g}")
        if isfinite(limits.most_energy):
            facts.append(f"the least energy is {sums.energy.min():.10g} pJ")
        raise NoMappingError(
            f"no mappings of network '{network.name}' on '{architecture.name}' are "
            f"{limits.within('').strip()} together: {', '.join(facts)}"
        )
    return sums[np.flatnonzero(fits)]


def map_front(
    layer: Layer,
    architecture: Architecture,
    limits: str,
    *,
    time_limit: float | None = None,
    progress: Told = lambda count, now="": None,
) -> Front:
    """Find every trade-off of energy against cycles of a layer, see `front.trade_offs`.

    Raises
    ------
    NoMappingError
        When no mapping can run the layer, or none within the limits.
    """
    check_possible(layer, architecture)
    objective = parse_objective(limits)
    found = trade_offs(layer, architecture, objective, time_is_up(time_limit), progress)
    if not found.points and found.optimal:
        raise NoMappingError(beyond_limits(layer, architecture, objective))
    return found
