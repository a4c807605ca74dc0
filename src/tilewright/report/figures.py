"""The plots of a report, as plain Plotly figures.

Colours are CSS variables, which the page resolves for the theme that it is shown in, and values are
those of a layer that runs once: the page multiplies them by the factors of the chosen view.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Any

from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.model.results.result import Evaluation
from tilewright.report.palette import LEAKAGE_COLOUR, level_colours, tensor_colours
from tilewright.report.quantities import NOTHING, TIMES, cycles, percent
from tilewright.report.sections.layer.breakdown import (
    LEAKAGE,
    energy_by_level,
    energy_by_role,
    role_names,
)

ROW = 22
LONGEST_LABEL = 30


@dataclass(frozen=True)
class Figure:
    """A plot of the page.

    Attributes
    ----------
    data, layout : Plotly traces and layout
        As ``Plotly.newPlot`` takes them.
    factors : mapping of view to list of float
        What each layer's value is multiplied by in a view; empty where there is one view only.
    """

    data: list[dict[str, Any]]
    layout: dict[str, Any]
    factors: dict[str, list[float]]


@dataclass(frozen=True)
class Part:
    """One segment of every stacked bar."""

    name: str
    colour: str
    pattern: str
    values: list[float]


def views(layers: Sequence[LayerResult]) -> dict[str, list[float]]:
    """Return what a value of one layer is multiplied by in each view of the page."""
    return {
        "network": [float(r.layer.repeat) for r in layers],
        "layer": [1.0 for _ in layers],
        "operation": [1.0 / r.layer.operations for r in layers],
    }


def label(result: LayerResult) -> str:
    """Return a layer's label on an axis: its name, cut in the middle when long, and repeats."""
    name = result.layer.name
    if len(name) > LONGEST_LABEL:
        half = LONGEST_LABEL // 2
        name = f"{name[: half - 1]}…{name[-half:]}"
    return escape(name, quote=False) + (
        f" {TIMES}{result.layer.repeat}" if result.layer.repeat > 1 else ""
    )


def layer_axis(layers: Sequence[LayerResult]) -> dict[str, Any]:
    """Return the axis with one row per layer, the first on top."""
    return {
        "tickvals": list(range(len(layers))),
        "ticktext": [label(r) + " " for r in layers],
        "range": [len(layers) - 0.4, -0.6],
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }


def rows_layout(layers: Sequence[LayerResult], axis: dict[str, Any]) -> dict[str, Any]:
    """Return the layout of a plot of horizontal bars."""
    return {
        "barmode": "stack",
        "dragmode": False,
        "bargap": 0.25,
        "height": 96 + ROW * max(len(layers), 3),
        "margin": {"l": 10, "r": 24, "t": 44, "b": 44},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "traceorder": "normal"},
        "yaxis": layer_axis(layers),
        "xaxis": {"rangemode": "tozero", "automargin": True, "nticks": 7} | axis,
    }


def stacked(layers: Sequence[LayerResult], parts: Sequence[Part]) -> Figure:
    """Return the bars of energies per layer, in J."""
    totals = [sum(part.values[i] for part in parts) for i in range(len(layers))]
    data = [
        {
            "type": "bar",
            "orientation": "h",
            "name": escape(part.name, quote=False),
            "x": [value * 1e-12 for value in part.values],
            "y": list(range(len(layers))),
            "marker": {
                "color": part.colour,
                "line": {"color": "var(--surface)", "width": 0.8},
                "pattern": {
                    "shape": part.pattern,
                    "fgcolor": "var(--surface)",
                    "fillmode": "overlay",
                    "size": 6,
                    "solidity": 0.25,
                },
            },
            "customdata": [
                [escape(r.layer.name), percent(value / total) if total else NOTHING]
                for r, value, total in zip(layers, part.values, totals, strict=True)
            ],
            "hovertemplate": (
                f"<b>%{{customdata[0]}}</b><br>{escape(part.name)}: %{{x:.3s}}J, "
                "%{customdata[1]} of the layer<extra></extra>"
            ),
        }
        for part in parts
        if any(part.values)
    ]
    layout = rows_layout(layers, {"tickformat": "~s", "ticksuffix": "J"})
    return Figure(data, layout, views(layers))


def energy_levels(result: NetworkResult) -> Figure:
    """Return the energy of each layer, stacked by level of the machine."""
    colours = level_colours(result.architecture) | {LEAKAGE: LEAKAGE_COLOUR}
    networks = {array.name for array in result.architecture.arrays}
    energies = [energy_by_level(r.evaluation) for r in result.layers]
    parts = [
        Part(
            f"{name} network" if name in networks else name,
            colour,
            "/" if name in networks else "." if name == LEAKAGE else "",
            [energy[name] for energy in energies],
        )
        for name, colour in colours.items()
    ]
    return stacked(result.layers, parts)


def energy_tensors(result: NetworkResult) -> Figure:
    """Return the energy of each layer, stacked by the tensor that is moved."""
    roles = role_names(r.evaluation for r in result.layers)
    compute = result.architecture.compute.name
    colours = tensor_colours({role: role for role in roles}) | {
        compute: level_colours(result.architecture)[compute],
        LEAKAGE: LEAKAGE_COLOUR,
    }
    energies = [energy_by_role(r.evaluation) for r in result.layers]
    parts = [
        Part(
            roles.get(name, name),
            colour,
            "." if name == LEAKAGE else "",
            [energy.get(name, 0.0) for energy in energies],
        )
        for name, colour in colours.items()
    ]
    return stacked(result.layers, parts)


def latency(result: NetworkResult) -> Figure:
    """Return the cycles of each layer, coloured by the level that limits it, and utilization."""
    layers = result.layers
    data: list[dict[str, Any]] = []
    for level, colour in level_colours(result.architecture).items():
        rows = [i for i, r in enumerate(layers) if r.evaluation.bound == level]
        if not rows:
            continue
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": f"limited by {escape(level, quote=False)}",
                "x": [float(layers[i].evaluation.cycles) for i in rows],
                "y": rows,
                "marker": {"color": colour},
                "customdata": [latency_hover(layers[i].evaluation) for i in rows],
                "hovertemplate": (
                    "<b>%{customdata[0]}</b><br>%{x:.4~s} cycles, limited by %{customdata[1]}<br>"
                    "cycles needed by each level: %{customdata[2]}<extra></extra>"
                ),
            }
        )
    data.append(
        {
            "type": "bar",
            "orientation": "h",
            "name": "utilization",
            "showlegend": False,
            "x": [100 * r.evaluation.utilization for r in layers],
            "y": list(range(len(layers))),
            "xaxis": "x2",
            "marker": {"color": "var(--accent-soft)"},
            "text": [percent(r.evaluation.utilization) for r in layers],
            "textposition": "inside",
            "insidetextanchor": "start",
            "textangle": 0,
            "constraintext": "none",
            "textfont": {"color": "var(--ink)"},
            "customdata": [[escape(r.layer.name)] for r in layers],
            "hovertemplate": "<b>%{customdata[0]}</b><br>utilization %{x:.4g} %<extra></extra>",
            "meta": "fixed",
        }
    )
    layout = rows_layout(layers, {"tickformat": "~s", "domain": [0, 0.76]})
    layout["xaxis2"] = {
        "domain": [0.79, 1],
        "range": [0, 100],
        "tickvals": [0, 50, 100],
        "ticksuffix": " %",
        "title": {"text": "utilization", "standoff": 6},
        "fixedrange": True,
    }
    return Figure(data, layout, views(layers))


def latency_hover(evaluation: Evaluation) -> list[str]:
    """Return the name, the limiting level and what every level needs, for a layer's bar."""
    needs = {evaluation.architecture.compute.name: float(evaluation.compute.cycles)}
    needs |= {name: memory.cycles for name, memory in evaluation.memories.items()}
    needs |= {name: network.cycles for name, network in evaluation.networks.items()}
    shown = [f"{escape(n)} {cycles(need)}" for n, need in needs.items() if need and isfinite(need)]
    return [escape(evaluation.layer.name), escape(evaluation.bound), " · ".join(shown)]
