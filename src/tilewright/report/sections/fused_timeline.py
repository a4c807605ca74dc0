"""The first slots of layers that run at the same time, as bars: who works when, and who waits."""

from __future__ import annotations

from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from tilewright.errors import InputError
from tilewright.fusion.pipelines import slots_of
from tilewright.fusion.result import FusedEvaluation, FusedNetworkEvaluation
from tilewright.mapping.fused.scopes import resolve_fused
from tilewright.report.figures import Figure
from tilewright.report.sections.timeline import PLAIN, ROW

if TYPE_CHECKING:
    import plotly.graph_objects as go

MOST = 24


def slots_figure(evaluation: FusedEvaluation) -> Figure:
    """Return the first slots of the first pipeline as a plot, in cycles.

    A row for each layer and for each level that all of them share; a bar is as long as the row is
    busy in a slot, and a slot is as long as its longest bar.

    Parameters
    ----------
    evaluation : FusedEvaluation
        Of a tree that has pipelines.
    """
    resolved = resolve_fused(evaluation.mapping, evaluation.segment)
    slots = slots_of(resolved.pipelines[0], resolved, evaluation.architecture)
    needs = slots.needs[:, :MOST]
    lengths = needs.max(axis=0).tolist()
    starts = [0.0, *accumulate(lengths)]
    rows = [i for i in range(len(slots.names)) if needs[i].any()]
    data: list[dict[str, Any]] = []
    for row, i in enumerate(rows):
        busy = [n for n in range(len(lengths)) if needs[i, n]]
        name = escape(slots.names[i], quote=False)
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "base": [starts[n] for n in busy],
                "x": [float(needs[i, n]) for n in busy],
                "y": [row] * len(busy),
                "width": 0.6,
                "marker": {
                    "color": PLAIN[row % len(PLAIN)],
                    "line": {"color": "#ffffff", "width": 0.5},
                },
                "customdata": busy,
                "hovertemplate": (
                    f"<b>{name}</b>, slot %{{customdata}}<br>from %{{base:.6~g}}, "
                    "%{x:.6~g} cycles<extra></extra>"
                ),
            }
        )
    layout = {
        "barmode": "overlay",
        "height": 150 + ROW * max(2, len(rows)),
        "margin": {"l": 10, "r": 24, "t": 66, "b": 44},
        "showlegend": False,
        "yaxis": {
            "tickvals": list(range(len(rows))),
            "ticktext": [f"{escape(slots.names[i], quote=False)} " for i in rows],
            "range": [len(rows) - 0.4, -0.6],
            "automargin": True,
            "showgrid": False,
            "zeroline": False,
        },
        "xaxis": {
            "title": {"text": "cycles since the beginning", "standoff": 6},
            "tickvals": starts,
            "tickformat": ".6~g",
            "automargin": True,
        },
    }
    return Figure(data, layout, {})


def slots_plot(found: FusedEvaluation | FusedNetworkEvaluation) -> go.Figure:
    """Return the first slots of the first pipeline as a figure of its own.

    Raises
    ------
    InputError
        When there is none.
    """
    import plotly.graph_objects as go

    several = found.segments if isinstance(found, FusedNetworkEvaluation) else (found,)
    for evaluation in several:
        if evaluation.counts.pipelines:
            figure = slots_figure(evaluation)
            pipe = evaluation.counts.pipelines[0]
            shown = min(MOST, pipe.slots)
            title = (
                f"{' + '.join(pipe.layers)} on {evaluation.architecture.name}: the first {shown} "
                f"of {pipe.slots:,} slots"
            )
            return go.Figure(figure.data, figure.layout).update_layout(
                title={"text": title, "x": 0}
            )
    raise InputError(
        "shows layers that run at the same time, those below 'pipeline'; there are none",
        key="--timeline",
    )
