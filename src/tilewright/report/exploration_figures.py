"""The figures of the page of an exploration."""

from __future__ import annotations

from html import escape
from typing import Any

from tilewright.exploration.metrics import METRICS
from tilewright.exploration.result import Exploration, Point
from tilewright.model.energy import areas


def axis_label(name: str) -> str:
    """Return an axis with its unit."""
    return f"{name} ({METRICS[name]})"


def front_figure(found: Exploration) -> Any:
    """Return the front as points over its last and first axis, coloured by the third, if any."""
    import plotly.graph_objects as go

    first, last = found.axes[0], found.axes[-1]
    marker: dict[str, Any] = {"size": 9}
    if len(found.axes) > 2:
        middle = found.axes[1]
        marker |= {
            "color": [p.metrics[middle] for p in found.front],
            "colorbar": {"title": axis_label(middle)}, "colorscale": "Viridis",
        }  # fmt: skip
    points = go.Scatter(
        x=[p.metrics[last] for p in found.front],
        y=[p.metrics[first] for p in found.front],
        mode="markers",
        marker=marker,
        text=[hover_text(p) for p in found.front],
        hoverinfo="text",
        customdata=[p.index for p in found.front],
    )
    figure = go.Figure(points)
    figure.update_layout(
        dragmode="select",
        margin={"l": 64, "r": 8, "t": 24},
        xaxis_title=axis_label(last),
        yaxis_title=axis_label(first),
        yaxis_type="log",
        height=520,
    )
    return figure


def hover_text(point: Point) -> str:
    """Return a design in lines, for who points at it."""
    parts = [f"<b>design {point.index}</b>"]
    parts += [f"{escape(name)}: {escape(value)}" for name, value in point.parameters.items()]
    parts += [f"{name}: {point.metrics[name]:.5g} {unit}" for name, unit in METRICS.items()]
    return "<br>".join(parts)


def parallel_figure(found: Exploration) -> Any:
    """Return the parameters and axes of the front as parallel coordinates."""
    import plotly.graph_objects as go

    dimensions: list[dict[str, Any]] = []
    for i, each in enumerate(found.space.parameters):
        shown = [each.shown(k) for k in range(len(each.values))]
        used = sorted({found.space.indices(p.index)[i] for p in found.front})
        dimensions.append({
            "label": each.name,
            "values": [found.space.indices(p.index)[i] for p in found.front],
            "range": [0, max(len(shown) - 1, 1)],
            "tickvals": used,
            "ticktext": [shown[k] for k in used],
        })  # fmt: skip
    dimensions += [
        {"label": axis_label(axis), "values": [p.metrics[axis] for p in found.front]}
        for axis in found.axes
    ]
    first = [p.metrics[found.axes[0]] for p in found.front]
    lines = go.Parcoords(dimensions=dimensions, line={"color": first, "colorscale": "Viridis"})
    figure = go.Figure(lines)
    figure.update_layout(height=460)
    return figure


def area_figure(found: Exploration) -> Any:
    """Return the areas of the components of the first design of the front as a treemap."""
    import plotly.graph_objects as go

    parts = design_areas(found, 0)
    tiles = go.Treemap(
        labels=list(parts), values=list(parts.values()), parents=[""] * len(parts),
        texttemplate="%{label}<br>%{value:.4g} mm²<br>%{percentRoot:.0%}",
        hovertemplate="%{label}: %{value:.4g} mm²<extra></extra>", sort=False,
    )  # fmt: skip
    figure = go.Figure(tiles)
    figure.update_layout(height=320, margin={"l": 8, "r": 8, "t": 8, "b": 8})
    return figure


def design_areas(found: Exploration, place: int) -> dict[str, float]:
    """Return the areas in mm2 of the components of a design of the front that have one."""
    return {name: area for name, area in areas(found.architecture(place)).items() if area > 0}
