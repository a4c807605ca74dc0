"""What the mappings of a layer are like: how many there are, how many fit, how much they cost."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.model.batch import evaluate_batch
from tilewright.strategies.candidates.structures import random_structure
from tilewright.strategies.candidates.tilings import random_tiles
from tilewright.strategies.charts import BINS, histograms
from tilewright.strategies.optimum import Optimum, optimum, until
from tilewright.strategies.run import warm_up
from tilewright.strategies.steps import Problem
from tilewright.text import aligned, wrapped
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

ROWS = 100  # tile sizes that are drawn for each structure
QUANTILES = (0.0, 0.01, 0.1, 0.5, 0.9, 1.0)
HEADERS = (
    "quantity", "proven optimum", "best", "1%", "10%", "median", "90%", "worst", "best / optimum",
    "within 2x",
)  # fmt: skip
DROPPED = ("10%", "90%", "1%", "within 2x")


@dataclass(frozen=True, eq=False)
class Quantity:
    """How one number is spread over the sampled valid mappings.

    Attributes
    ----------
    name, unit : str
    values : array of float
        One per valid mapping.
    optimum : float or None
        The least that any mapping has, where that is proven.
    """

    name: str
    unit: str
    values: Floats
    optimum: float | None

    def quantiles(self) -> list[float]:
        """Return the values below which the shares `QUANTILES` of the mappings lie."""
        if not len(self.values):
            return []
        return [float(q) for q in np.quantile(self.values, QUANTILES)]

    def within(self, factor: float) -> float | None:
        """Return the share of the mappings that have at most so many times the optimum."""
        if self.optimum is None or not len(self.values):
            return None
        return float((self.values <= factor * self.optimum).mean())

    def histogram(self, bins: int) -> tuple[Ints, Floats]:
        """Return the mappings in bins of equal ratio, and the edges of the bins."""
        positive = self.values[self.values > 0]
        if not len(positive):
            return np.zeros(0, np.int64), np.ones(1)
        low = min(float(positive.min()), self.optimum or np.inf)
        edges = np.geomspace(low, max(float(positive.max()), low * (1 + 1e-9)), bins + 1)
        # rounding must not leave out the extremes
        counts, _ = np.histogram(np.clip(positive, edges[0], edges[-1]), edges)
        return counts.astype(np.int64), edges


@dataclass(frozen=True, eq=False, repr=False)
class MapSpace:
    """Statistics of the mappings of a layer on a machine.

    Attributes
    ----------
    layer : Layer
        What is mapped.
    architecture : Architecture
        What it is mapped onto.
    mappings : float
        How many mappings the searched space has, those that exceed a capacity included.
    samples, valid : int
        Mappings drawn, and how many of them fit the machine.
    seed : int
        Where the random numbers began.
    energy_per_operation : array of float
        pJ, of every valid sample.
    cycles : array of float
        Of every valid sample.
    least_energy, least_cycles : Optimum or None
        The optima for ``"energy"`` (pJ for all operations) and ``"latency"``; None when they were
        not asked for or not reached.
    interrupted : bool
        Whether Ctrl-C ended it.
    """

    layer: Layer
    architecture: Architecture
    mappings: float
    samples: int
    valid: int
    seed: int
    energy_per_operation: Floats
    cycles: Floats
    least_energy: Optimum | None = None
    least_cycles: Optimum | None = None
    interrupted: bool = False

    @property
    def valid_share(self) -> float:
        """Share of the drawn mappings that fit the machine."""
        return self.valid / self.samples if self.samples else 0.0

    def quantities(self) -> tuple[Quantity, Quantity]:
        """Return energy per operation and cycles."""
        energy, cycles = (
            None if best is None or not best.proven else best.value
            for best in (self.least_energy, self.least_cycles)
        )
        each = None if energy is None else energy / self.layer.operations
        return (
            Quantity("energy per operation", "pJ", self.energy_per_operation, each),
            Quantity("latency", "cycles", self.cycles, cycles),
        )

    @property
    def title(self) -> str:
        """What it is about, in a line."""
        return f"{self.layer.name} on {self.architecture.name}: {self.mappings:.3g} mappings"

    def __repr__(self) -> str:
        return f"<MapSpace of {self.title}, {self.valid_share:.1%} of {self.samples:,} drawn fit>"

    def __str__(self) -> str:
        return self.text()

    def rows(self) -> list[tuple[str, ...]]:
        """Return the cells of a table under `HEADERS`, one row per quantity."""
        rows = []
        for quantity in self.quantities():
            best, within = quantity.optimum, quantity.within(2.0)
            shown = [f"{q:.4g}" for q in quantity.quantiles()] or ["-"] * len(QUANTILES)
            ratio = quantity.values.min() / best if best and len(quantity.values) else None
            rows.append(
                (
                    f"{quantity.name} ({quantity.unit})",
                    "-" if best is None else f"{best:.4g}",
                    *shown,
                    "-" if ratio is None else f"{ratio:.3f}",
                    "-" if within is None else f"{within:.2%}",
                )
            )
        return rows

    def statement(self) -> str:
        """Return in a sentence how many were drawn and fit."""
        text = f"{self.samples:,} mappings drawn at random, {self.valid_share:.1%} of them fit."
        return f"{text} Interrupted." if self.interrupted else text

    def text(self, width: int | None = None) -> str:
        """Return the size of the space and a table of what its mappings cost."""
        table = aligned([HEADERS, *self.rows()], (0,), width=width, drop=DROPPED)
        return "\n".join(
            [wrapped(self.title, width), "", *table, "", wrapped(self.statement(), width)]
        )

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per quantity: optimum and quantiles."""
        import pandas as pd

        names = ["best", "1%", "10%", "median", "90%", "worst"]
        return pd.DataFrame(
            [
                {"quantity": q.name, "unit": q.unit, "optimum": q.optimum}
                | dict.fromkeys(names)
                | dict(zip(names, q.quantiles(), strict=False))
                | {"within_2x": q.within(2.0)}
                for q in self.quantities()
            ]
        )

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(index=False, border=0)
        return f"<p>{escape(self.title)}</p>{table}<p>{escape(self.statement())}</p>"

    def plot(self) -> go.Figure:
        """Return a figure: histograms of the valid samples, with the proven optima."""
        return histograms(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but single samples as plain data."""
        quantities = {}
        for quantity in self.quantities():
            counts, edges = quantity.histogram(BINS)
            quantities[quantity.name.replace(" ", "_")] = {
                "unit": quantity.unit,
                "optimum": quantity.optimum,
                "quantiles": dict(zip(map(str, QUANTILES), quantity.quantiles(), strict=False)),
                "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
            }
        return {
            "layer": self.layer.name,
            "architecture": self.architecture.name,
            "mappings": self.mappings,
            "samples": self.samples,
            "valid": self.valid,
            "seed": self.seed,
            "interrupted": self.interrupted,
            "quantities": quantities,
        }

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)


def sample_mapspace(
    layer: Layer,
    architecture: Architecture,
    *,
    samples: int,
    seed: int = 0,
    prove: bool = True,
    time_limit: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> MapSpace:
    """Draw mappings as the strategy `random` does and return what they cost.

    Parameters
    ----------
    layer, architecture
        What is mapped, and on what.
    samples : int
        Mappings to draw.
    seed : int
        Where random numbers begin.
    prove : bool
        Whether to find the optima besides.
    time_limit : float, optional
        Seconds for the proof of each.
    tell : callable
        Told in a line what begins, and every few seconds how far it is.

    Returns
    -------
    MapSpace
        Ctrl-C ends it with what was drawn so far.
    """
    rng = np.random.default_rng(seed)
    energies: list[Floats] = [np.empty(0)]
    cycles: list[Floats] = [np.empty(0)]
    optima: list[Optimum | None] = []
    drawn = 0
    interrupted = False
    try:
        warm_up(Problem(layer, architecture, "energy"))
        for objective in ("energy", "latency") if prove else ():
            tell(f"searching the mapping of least {objective}, {until(time_limit)}")
            optima.append(optimum(Problem(layer, architecture, objective), time_limit, tell))
        tell(f"drawing {samples:,} mappings")
        while drawn < samples:
            structure = random_structure(layer, architecture, rng)
            tiles = random_tiles(layer, architecture, structure, min(ROWS, samples - drawn), rng)
            batch = evaluate_batch(layer, architecture, structure, tiles)
            energies.append(batch.energy_pj[batch.valid] / layer.operations)
            cycles.append(batch.cycles[batch.valid])
            drawn += len(tiles)
    except KeyboardInterrupt:
        interrupted = True
    each, time = np.concatenate(energies), np.concatenate(cycles)
    energy, latency = [*optima, None, None][:2]
    size = mappings_in_space(layer, architecture)
    return MapSpace(
        layer=layer,
        architecture=architecture,
        mappings=size,
        samples=drawn,
        valid=len(time),
        seed=seed,
        energy_per_operation=each,
        cycles=time,
        least_energy=energy,
        least_cycles=latency,
        interrupted=interrupted,
    )
