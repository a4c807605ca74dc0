"""What trade-offs of energy against cycles have in common: a machine, a proof, a table."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from tilewright.architecture.machine import Architecture
from tilewright.text import aligned, wrapped
from tilewright.workload.layer import Layer, Network

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


@dataclass(frozen=True, repr=False, kw_only=True)
class TradeOffs(ABC):
    """Trade-offs of energy against cycles, the least energy first.

    Attributes
    ----------
    architecture : Architecture
        What computes it.
    optimal : bool
        Whether they are proven to be all; otherwise the search was stopped, and some may be
        missing.
    seconds : float
        Time that it took.
    interrupted : bool
        Whether Ctrl-C ended the search.
    """

    headers: ClassVar[tuple[str, ...]]

    architecture: Architecture
    optimal: bool
    seconds: float
    interrupted: bool = False

    @property
    @abstractmethod
    def workload(self) -> Layer | Network:
        """What is computed."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What is shown, of what and on what."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of points."""

    @abstractmethod
    def totals(self) -> list[tuple[float, float]]:
        """Return energy in pJ and cycles of each point."""

    @abstractmethod
    def rows(self, points: Iterable[int] | None = None) -> list[tuple[str, ...]]:
        """Return the cells of a table: one row per point under `headers`; by default all."""

    @abstractmethod
    def statement(self) -> str:
        """Return in a few sentences what is proven."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per point."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""

    def shown(self) -> list[int]:
        """Return the points that a table has: all."""
        return list(range(len(self)))

    def text(self, width: int | None = None) -> str:
        """Return a table with a row per point, or for some of them, and what is proven."""
        shown = self.shown()
        lines = aligned(
            [self.headers, *self.rows(shown)], width=width, drop=("bound by", "utilization")
        )
        if len(shown) < len(self):
            lines.append(f"({len(shown)} of {len(self)} points; the JSON output has all)")
        statement = wrapped(self.statement(), width)
        return "\n".join([wrapped(self.title, width), "", *lines, "", statement])

    def plot(self) -> go.Figure:
        """Return a plot of energy (uJ) against cycles, a point for each trade-off."""
        import plotly.graph_objects as go

        totals = self.totals()
        figure = go.Figure()
        figure.add_scatter(
            x=[cycles for _, cycles in totals],
            y=[energy * 1e-6 for energy, _ in totals],
            mode="lines+markers",
            line_shape="hv",
        )
        figure.update_xaxes(title="cycles")
        figure.update_yaxes(title="energy (uJ)")
        figure.update_layout(title=self.title)
        return figure

    def to_json(self, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def __repr__(self) -> str:
        state = "complete" if self.optimal else "incomplete"
        return (
            f"<{type(self).__name__} of {self.workload.name} on {self.architecture.name}: "
            f"{len(self)} points, {state}>"
        )

    def __str__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        table = self.to_frame().iloc[self.shown()].to_html(index=False, border=0)
        return f"<p>{escape(repr(self)[1:-1])}</p>{table}<p>{escape(self.statement())}</p>"
