"""The page of an exploration: the front, its parameters, and its machines as files."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise
from string import Template
from typing import Any

from tilewright.architecture.writing import dump_architecture
from tilewright.exploration.metrics import METRICS
from tilewright.exploration.result import Exploration, Point
from tilewright.report.page import package_version

PAGE = Template("""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="$generator">
<title>$title · tilewright</title>
<style>
body { font: 15px system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem }
pre { overflow-x: auto }
table { border-collapse: collapse }
td, th { padding: .2rem .6rem; text-align: right }
th { border-bottom: 1px solid } .wide { overflow-x: auto }
</style>
</head>
<body>
<h1>$title</h1>
<p>$statement</p>
$front
<h2>Parameters of the front</h2>
<p>One line for each design. Drag along an axis to keep those within a range.</p>
$parallel
<h2>What each value is worth</h2>
<p>The least that a design <em>of the front</em> with this value has on each axis, and how many
there are. A value without one is on no design of the front.</p>
<div class="wide">$worth</div>
<h2>What more is worth</h2>
<p>From each design of the front to the next: what is given and what is gained.</p>
<div class="wide">$steps</div>
<h2>Designs</h2>
$designs
</body>
</html>
""")


def exploration_html(found: Exploration) -> str:
    """Return an exploration as one HTML page that needs nothing but itself."""
    return PAGE.substitute(
        title=escape(f"{found.space.name}: front for {', '.join(found.axes)}"),
        generator=escape(f"tilewright {package_version()}".strip()),
        statement=escape(found.statement()),
        front=_figure(front_figure(found), "front", script=True) if found.front else "",
        parallel=_figure(parallel_figure(found), "parallel") if found.front else "",
        worth=_table(worth_rows(found)),
        steps=_table(step_rows(found)),
        designs="\n".join(_design(found, i) for i in range(len(found.front))),
    )


def _figure(figure: Any, name: str, *, script: bool = False) -> str:
    return str(figure.to_html(full_html=False, include_plotlyjs=script, div_id=name))


def _axis(name: str) -> str:
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
            "colorbar": {"title": _axis(middle)}, "colorscale": "Viridis",
        }  # fmt: skip
    points = go.Scatter(
        x=[p.metrics[last] for p in found.front],
        y=[p.metrics[first] for p in found.front],
        mode="markers",
        marker=marker,
        text=[_hover(p) for p in found.front],
        hoverinfo="text",
    )
    figure = go.Figure(points)
    figure.update_layout(
        xaxis_title=_axis(last), yaxis_title=_axis(first), yaxis_type="log", height=520
    )
    return figure


def _hover(point: Point) -> str:
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
        {"label": _axis(axis), "values": [p.metrics[axis] for p in found.front]}
        for axis in found.axes
    ]
    first = [p.metrics[found.axes[0]] for p in found.front]
    lines = go.Parcoords(dimensions=dimensions, line={"color": first, "colorscale": "Viridis"})
    figure = go.Figure(lines)
    figure.update_layout(height=460)
    return figure


def worth_rows(found: Exploration) -> Iterator[tuple[str, ...]]:
    """Yield a head and, for every value of every parameter, the least on each axis."""
    yield ("parameter", "value", "designs", *(f"least {_axis(axis)}" for axis in found.axes))
    for i, each in enumerate(found.space.parameters):
        for k in range(len(each.values)):
            own = [p for p in found.front if found.space.indices(p.index)[i] == k]
            if own:
                least = [f"{min(p.metrics[axis] for p in own):.5g}" for axis in found.axes]
                yield each.name, each.shown(k), str(len(own)), *least


def step_rows(found: Exploration) -> Iterator[tuple[str, ...]]:
    """Yield a head and the differences of neighbours on the front, by the last axis."""
    last = found.axes[-1]
    others = found.axes[:-1]
    yield (
        "from", "to", f"more {_axis(last)}", *(f"change of {axis}" for axis in others),
        *(f"{axis} per {METRICS[last]}" for axis in others),
    )  # fmt: skip
    order = sorted(found.front, key=lambda p: p.metrics[last])
    for a, b in pairwise(order):
        more = b.metrics[last] - a.metrics[last]
        gains = {axis: b.metrics[axis] - a.metrics[axis] for axis in others}
        yield (
            str(a.index), str(b.index), f"{more:.4g}",
            *(f"{gain / a.metrics[axis]:+.2%}" for axis, gain in gains.items()),
            *(f"{gain / more:.4g} {METRICS[axis]}" if more else "" for axis, gain in gains.items()),
        )  # fmt: skip


def _table(rows: Iterator[tuple[str, ...]]) -> str:
    head, *rest = rows
    heads = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rest
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _design(found: Exploration, place: int) -> str:
    """Return a design of the front, with the machine as a file for `map`."""
    point = found.front[place]
    values = ", ".join(f"{name} {value}" for name, value in point.parameters.items())
    metrics = ", ".join(
        f"{name} {point.metrics[name]:.5g} {unit}" for name, unit in METRICS.items()
    )
    text = dump_architecture(found.architecture(place))
    return (
        f"<details><summary>design {point.index}: {escape(values)}</summary>"
        f"<p>{escape(metrics)}. Its mappings: save this as machine.yaml and call "
        f"<code>tilewright map WORKLOAD machine.yaml --objective {escape(found.objective)} "
        f"--tiles divisors</code>.</p><pre>{escape(text)}</pre></details>"
    )
