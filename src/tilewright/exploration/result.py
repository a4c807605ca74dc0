"""What an exploration returns: the front, and why no other design is better."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.exploration.designs.space import Space
from tilewright.exploration.metrics import METRICS, column
from tilewright.mapping.nodes import Mapping as Nest
from tilewright.text import aligned, wrapped

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from tilewright.exploration.trial import Trial


@dataclass(frozen=True)
class Point:
    """A design on the front.

    Attributes
    ----------
    index : int
        Its number in the space.
    parameters : mapping of str to str
        Values of its parameters.
    metrics : mapping of str to float
        Energy (pJ), latency (s), edp (pJ*s), area (mm2), power and leakage (mW).
    """

    index: int
    parameters: Mapping[str, str]
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class Worth:
    """The best design of those in which one parameter has one value.

    Attributes
    ----------
    parameter, value : str
    point : Point or None
        The best design within the limits; None when there is none.
    proven : bool
        Whether no design with this value is better: not when the search was stopped.
    """

    parameter: str
    value: str
    point: Point | None
    proven: bool


@dataclass(frozen=True)
class Certificate:
    """What became of every design of the space.

    Attributes
    ----------
    designs : int
        Designs of the space; the sum of the others.
    solved : int
        Designs whose best mappings are known; `valid` of them are within all limits.
    valid : int
        See `solved`.
    excluded_by_limit : int
        Designs beyond a limit, without a search.
    excluded_by_bound : int
        Designs of boxes whose bound is no better than a design of the front.
    mirrored : int
        Designs that cost the same as another one in which two axes of an array are swapped.
    without_mapping : int
        Designs on which a layer has no mapping.
    no_machine : int
        Designs whose values make no machine.
    open : int
        Designs that were not decided when the exploration was stopped.
    searches : int
        Searches of layers that this took; others were known.
    matched : int
        Optima of layers without a search: a mapping that was found on another machine costs what
        the bound says.
    """

    designs: int
    solved: int = 0
    valid: int = 0
    excluded_by_limit: int = 0
    excluded_by_bound: int = 0
    mirrored: int = 0
    without_mapping: int = 0
    no_machine: int = 0
    open: int = 0
    searches: int = 0
    matched: int = 0

    @property
    def optimal(self) -> bool:
        """Whether every design is decided: then no design of the space is better than the front."""
        return self.open == 0


@dataclass(frozen=True, repr=False)
class Exploration:
    """The Pareto front of a design space.

    Attributes
    ----------
    space : Space
        What was explored.
    axes : tuple of str
        What was minimised; with one axis the front is the best design.
    objective : str
        What the mapping of every layer minimises.
    front : tuple of Point
        In the order of the first axis.
    certificate : Certificate
        What became of every design.
    bound : mapping of str to float
        What no undecided design is below on each axis; empty when all are decided.
    seconds : float
        Time that it took.
    interrupted : bool
        Whether Ctrl-C ended it.
    trial : Trial or None
        How a strategy without proof came to this front; None where it is from boxes and bounds.
    nests : mapping of int to tuple of (str, Mapping or None)
        By number of a design of the front, layers and their best mappings; None for one that an
        earlier version had stored without.
    worth : (str, tuple of Worth), optional
        An axis, and the best design on it for every value of every parameter, where asked for.
    """

    space: Space
    axes: tuple[str, ...]
    objective: str
    front: tuple[Point, ...]
    certificate: Certificate
    bound: Mapping[str, float]
    seconds: float
    interrupted: bool = False
    trial: Trial | None = None
    nests: Mapping[int, tuple[tuple[str, Nest | None], ...]] = field(default_factory=dict)
    worth: tuple[str, tuple[Worth, ...]] | None = None

    @property
    def optimal(self) -> bool:
        """Whether the front is proven."""
        return self.certificate.optimal

    def architecture(self, point: int = 0) -> Architecture:
        """Return the machine of a point of the front, by its position."""
        return self.space.design(self.front[point].index)

    def mappings(self, point: int = 0) -> dict[str, Nest]:
        """Return the best mappings of a point of the front, by the names of their layers."""
        own = self.nests.get(self.front[point].index, ())
        return {name: mapping for name, mapping in own if mapping is not None}

    def __len__(self) -> int:
        return len(self.front)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Point]:
        return iter(self.front)

    def __getitem__(self, i: int) -> Point:
        """Return a point of the front, by its position."""
        return self.front[i]

    def plot(self) -> go.Figure:
        """Return a plot of the front: the second axis against the first, a point a design."""
        import plotly.graph_objects as go

        across, up = self.axes[0], self.axes[-1]
        figure = go.Figure()
        figure.add_scatter(
            x=[point.metrics[across] for point in self.front],
            y=[point.metrics[up] for point in self.front],
            text=[
                "<br>".join(f"{name} {value}" for name, value in point.parameters.items())
                for point in self.front
            ],
            mode="markers",
        )
        figure.update_xaxes(title=f"{across} ({METRICS[across]})")
        figure.update_yaxes(title=f"{up} ({METRICS[up]})")
        figure.update_layout(title=f"{self.space.name}, mapped for {self.objective}")
        return figure

    def __repr__(self) -> str:
        known = "proven" if self.optimal else f"{self.certificate.open:,} designs open"
        return (
            f"<Exploration of {self.space.name}: {len(self.front)} of "
            f"{self.certificate.designs:,} designs on the front, {known}>"
        )

    def statement(self) -> str:
        """Return in a few sentences what is proven."""
        c = self.certificate
        parts = {
            "solved": c.solved, "excluded by a bound": c.excluded_by_bound,
            "excluded by a limit": c.excluded_by_limit, "with axes swapped": c.mirrored,
            "without a mapping": c.without_mapping, "not valid machines": c.no_machine,
            "open": c.open,
        }  # fmt: skip
        counts = ", ".join(f"{count:,} {name}" for name, count in parts.items() if count)
        axes = ", ".join(self.axes)
        if self.optimal:
            text = (
                f"Proven: no design of the space is better ({axes})."
                if len(self.axes) == 1
                else "Proven: no design of the space is better than one of these on one axis and "
                f"as good on the others ({axes})."
            )
        elif self.trial is not None:
            text = self.trial.statement(c.open)
        else:
            lows = ", ".join(f"{a} {self.bound[a]:.4g} {METRICS[a]}" for a in self.bound)
            text = f"Not proven: the search was stopped. No open design is below {lows}."
        if self.trial is not None and self.trial.proven is not None:
            text = f"{text} {self.trial.comparison()}"
        valid = f" {c.valid:,} of the solved are within all limits." if c.solved else ""
        return (
            f"{text} Of {c.designs:,} designs: {counts}.{valid} {c.searches:,} searches of layers, "
            f"{c.matched:,} optima known from other machines, in {self.seconds:.1f} s."
        )

    def text(self, width: int | None = None) -> str:
        """Return the front as a table, and what is proven."""
        names = [each.name for each in self.space.parameters]
        headers = tuple(names) + tuple(f"{name} ({unit})" for name, unit in METRICS.items())
        rows = [
            (*point.parameters.values(), *(f"{point.metrics[name]:.5g}" for name in METRICS))
            for point in self.front
        ]
        best = "best design" if len(self.axes) == 1 else "front"
        title = f"{self.space.name}: {best} for {', '.join(self.axes)}; mapped for {self.objective}"
        none = "no design is within the limits"
        if not (self.optimal or self.certificate.solved):
            none = "no design was solved in time"
        table = aligned([headers, *rows], width=width) if rows else [none]
        statement = wrapped(self.statement(), width)
        if self.worth is not None:
            axis = self.worth[0]
            table += ["", wrapped(f"Least {axis} with each value, over all designs:", width), ""]
            table += aligned(list(self.worth_rows()), width=width)
        if self.trial is not None:
            table += ["", *self.trial.table(self.axes, width)]
        return "\n".join([wrapped(title, width), "", *table, "", statement])

    def worth_rows(self) -> Iterator[tuple[str, ...]]:
        """Yield a head and, for every value of every parameter, the best design that has it."""
        assert self.worth is not None
        axis, values = self.worth
        others = [each.name for each in self.space.parameters]
        yield "parameter", "value", f"{axis} ({METRICS[axis]})", "above the best", *others
        known = [each.point.metrics[axis] for each in values if each.point is not None]
        for each in values:
            if each.point is None:
                nothing = "none" if each.proven else "unknown"
                yield each.parameter, each.value, nothing, "", *("" for _ in others)
                continue
            least = each.point.metrics[axis]
            shown = f"{least:.5g}" + ("" if each.proven else ", not proven")
            own = each.point.parameters.values()
            yield each.parameter, each.value, shown, f"{least / min(known) - 1:+.2%}", *own

    def __str__(self) -> str:
        return self.text()

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per point of the front."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"index": point.index, **point.parameters, **self.units(point)}
                for point in self.front
            ]
        )

    def units(self, point: Point) -> dict[str, float]:
        """Return the metrics of a point, with units in their names."""
        return {column(name): point.metrics[name] for name in METRICS}

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "space": self.space.name,
            "axes": list(self.axes),
            "objective": self.objective,
            "optimal": self.optimal,
            "front": [
                {
                    "index": point.index,
                    "parameters": dict(point.parameters),
                    **self.units(point),
                }
                for point in self.front
            ],
            "certificate": dict(vars(self.certificate)),
            "bound": dict(self.bound),
            "seconds": self.seconds,
        } | self._more()

    def _more(self) -> dict[str, Any]:
        """Return what only some explorations have, as plain data."""
        more: dict[str, Any] = {}
        if self.trial is not None:
            more["trial"] = self.trial.to_dict(self.axes)
        if self.worth is not None:
            axis, values = self.worth
            more["worth"] = {
                "axis": axis,
                "values": [
                    {
                        "parameter": each.parameter,
                        "value": each.value,
                        "proven": each.proven,
                        "index": None if each.point is None else each.point.index,
                        **({} if each.point is None else self.units(each.point)),
                    }
                    for each in values
                ],
            }
        return more

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)
