"""Figures of comparisons and of mapspaces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.objective.objective import parse_objective

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from tilewright.strategies.comparison import Comparison
    from tilewright.strategies.mapspace import MapSpace

# Okabe and Ito's palette (jfly.uni-koeln.de/color, 2008)
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")
MARK = "#d55e00"
BINS = 60


def best_over_time(comparison: Comparison) -> go.Figure:
    """Return the best value of each strategy over CPU time, on logarithmic axes.

    Values are ratios to the proven optimum, or plain where nothing is proven.
    """
    import plotly.graph_objects as go

    best = comparison.optimum
    proven = best is not None and best.proven and best.value > 0
    figure = go.Figure()
    for i, run in enumerate(comparison.runs):
        if not run.samples:
            continue
        values = [s.value for s in run.samples]
        if best is not None and proven:
            values = [value / best.value for value in values]
        # the last value holds until the end of the run
        seconds = [max(s.seconds, 1e-4) for s in run.samples]
        figure.add_scatter(
            x=[*seconds, max(run.seconds, seconds[-1])],
            y=[*values, values[-1]],
            mode="lines",
            name=run.strategy,
            line={"shape": "hv", "color": COLOURS[i % len(COLOURS)]},
        )
    if best is not None and proven:
        figure.add_scatter(
            x=[max(best.seconds, 1e-4)],
            y=[1.0],
            mode="markers",
            name="proven optimum",
            marker={"color": MARK, "size": 11, "symbol": "star"},
        )
        figure.add_hline(y=1.0, line={"color": MARK, "dash": "dot", "width": 1})
    what = "best value / proven optimum" if proven else parse_objective(comparison.objective).unit
    figure.update_layout(
        title=comparison.title,
        xaxis={"type": "log", "title": "CPU seconds"},
        yaxis={"type": "log", "title": what},
        template="plotly_white",
    )
    return figure


def histograms(space: MapSpace) -> go.Figure:
    """Return two histograms of the sampled valid mappings, the proven optima marked."""
    from plotly.subplots import make_subplots

    figure = make_subplots(cols=2, rows=1, horizontal_spacing=0.1)
    for column, quantity in enumerate(space.quantities(), start=1):
        counts, edges = quantity.histogram(BINS)
        figure.add_bar(
            x=np.sqrt(edges[:-1] * edges[1:]),
            y=counts,
            width=np.diff(edges),
            marker={"color": COLOURS[0], "line": {"width": 0}},
            showlegend=False,
            row=1,
            col=column,
        )
        if quantity.optimum is not None:
            figure.add_vline(
                x=quantity.optimum,
                line={"color": MARK, "dash": "dot"},
                annotation={"text": "proven optimum", "font": {"color": MARK}},
                row=1,
                col=column,
            )
        figure.update_xaxes(type="log", title=f"{quantity.name} ({quantity.unit})", col=column)
    figure.update_yaxes(title="sampled mappings", col=1)
    figure.update_layout(title=space.title, template="plotly_white", bargap=0)
    return figure
