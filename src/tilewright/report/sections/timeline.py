"""The first steps of a pipelined execution as bars: what computes, what moves, what waits."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.mapper.results.result import LayerResult
from tilewright.model.results.result import Evaluation
from tilewright.report.figures import Figure
from tilewright.report.palette import level_colours
from tilewright.timing.events import first_events
from tilewright.timing.result import Event

if TYPE_CHECKING:
    import plotly.graph_objects as go

ROW = 34
MOST = 120
PATTERNS = {"compute": "", "fill": "", "exchange": "", "drain": "", "stall": "/"}
WORDS = {
    "compute": "operations",
    "fill": "first tiles come",
    "exchange": "next tiles come, results go",
    "drain": "last results go",
    "stall": "everything inside waits",
}
PLAIN = ("#0b306b", "#2870be", "#78b2e2", "#bad6ee", "#9fb8d0", "#c7d3de")


def timeline(evaluation: Evaluation) -> Figure:
    """Return the first events of an evaluation as a plot, in cycles.

    Parameters
    ----------
    evaluation : Evaluation
        Of which machine and mapping.
    """
    machine = evaluation.architecture
    return bars(events_of(evaluation), machine, level_colours(machine))


def events_of(evaluation: Evaluation) -> list[Event]:
    """Return the first events of an evaluation, with the layouts that it was found with."""
    layouts = None if evaluation.pipeline is None else evaluation.pipeline.layouts
    return first_events(
        evaluation.layer, evaluation.architecture, evaluation.mapping, most=MOST, layouts=layouts
    )


def bars(events: Sequence[Event], machine: Architecture, colours: dict[str, str]) -> Figure:
    """Return events as horizontal bars: a row for tiles of each memory and one for compute."""
    moving = {event.where for event in events}
    rows = [level.name for level in machine.levels if level.name in moving]
    data: list[dict[str, Any]] = []
    for what, pattern in PATTERNS.items():
        for name in rows:
            chosen = [e for e in events if (e.what, e.where) == (what, name)]
            if not chosen:
                continue
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": f"{escape(name, quote=False)}: {WORDS[what]}",
                    "base": [e.start for e in chosen],
                    "x": [e.end - e.start for e in chosen],
                    "y": [rows.index(name) + (0.22 if what == "stall" else -0.22)] * len(chosen),
                    "width": 0.4,
                    "marker": {
                        "color": "var(--muted)" if what == "stall" else colours[name],
                        "opacity": 0.55 if what == "stall" else 1.0,
                        "line": {"color": "var(--surface)", "width": 0.5},
                        "pattern": {"shape": pattern, "fgcolor": "var(--surface)", "size": 5},
                    },
                    "hovertemplate": (
                        f"<b>{escape(name)}</b>: {WORDS[what]}<br>from %{{base:.6~g}}, "
                        "%{x:.6~g} cycles<extra></extra>"
                    ),
                }
            )
    layout = {
        "barmode": "overlay",
        "height": 150 + ROW * max(2, len(rows)),
        "margin": {"l": 10, "r": 24, "t": 66, "b": 44},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "yaxis": {
            "tickvals": list(range(len(rows))),
            "ticktext": [
                f"{escape(name, quote=False)} "
                if name == machine.compute.name
                else f"tiles of {escape(name, quote=False)} "
                for name in rows
            ],
            "range": [len(rows) - 0.4, -0.6],
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        "xaxis": {
            "title": {"text": "cycles since the beginning", "standoff": 6},
            "automargin": True,
        },
    }
    return Figure(data, layout, {})


def timeline_plot(evaluation: Evaluation) -> go.Figure:
    """Return the same as a figure of its own, in fixed colours."""
    import plotly.graph_objects as go

    machine = evaluation.architecture
    events = events_of(evaluation)
    names = [level.name for level in machine.levels]
    figure = bars(events, machine, dict(zip(names, PLAIN * len(names), strict=False)))
    for trace in figure.data:
        marker = trace["marker"]
        marker["line"]["color"] = marker["pattern"]["fgcolor"] = "#ffffff"
        if marker["color"].startswith("var"):
            marker["color"] = "#77808c"
    shown = go.Figure(figure.data, figure.layout)
    title = f"{evaluation.layer.name} on {machine.name}: the first {len(events)} events"
    return shown.update_layout(title={"text": title, "x": 0}, margin={"t": 110})


def timeline_section(results: Sequence[LayerResult]) -> tuple[str, dict[str, Figure]]:
    """Return the report's section of the layers that were evaluated step by step, and its plots."""
    plots: dict[str, Figure] = {}
    parts = []
    for i, result in enumerate(results):
        if result.evaluation.pipeline is None:
            continue
        key = f"timeline-{i}"
        plots[key] = timeline(result.evaluation)
        name = escape(result.layer.name)
        parts.append(
            f'<figure><figcaption>{name}</figcaption><div class="plot" id="plot-{key}" role="img" '
            f'aria-label="Bars in time: what computes, moves and waits in the first steps of '
            f'{name}"></div></figure>'
        )
    if not parts:
        return "", plots
    note = (
        "What computes, what moves and what waits, from the beginning. Hatched: everything inside "
        "waits for tiles of that memory."
    )
    heading = f'<section id="timeline"><h2>First steps</h2><p class="note">{note}</p>'
    return f"{heading}{''.join(parts)}</section>\n", plots
