"""The page of an exploration: the front, its parameters, and its machines as files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from string import Template
from typing import Any
from urllib.parse import quote

from tilewright.architecture.writing import dump_architecture
from tilewright.exploration.metrics import METRICS
from tilewright.exploration.result import Exploration, Point
from tilewright.report.exploration_figures import (
    area_figure,
    axis_label,
    design_areas,
    front_figure,
    parallel_figure,
)
from tilewright.report.page import package_text, package_version
from tilewright.report.plain_page import head

BUDGETS = ("area", "power", "leakage")

STYLES = """\
table { border-collapse: collapse }
td, th { padding: .2rem .6rem; text-align: right }
th { border-bottom: 1px solid } .wide { overflow-x: auto }
details { margin: .4rem 0 } details details { margin-left: 1rem }
"""
PAGE = Template(
    head("76rem", STYLES)
    + """\
<p>$statement</p>
<p>Click a design to see its area, its mappings and its file. Drag a box around some to see their
parameters below.</p>
$front
<h2>Parameters of the front</h2>
<p>One line for each design. Drag along an axis to keep those within a range, here and above.
<output id="kept"></output></p>
<div class="wide">$parallel</div>
<h2>Area by component: <output id="shown">design $first</output></h2>
$area
<h2>What each value is worth</h2>
$worth
<h2>What more is worth</h2>
<p>The least that a design of the front has within a budget, from each budget at which it falls to
the next.</p>
<div class="wide">$steps</div>
<h2>Designs</h2>
$designs
<script type="application/json" id="areas">$areas</script>
<script>$script</script>
</body>
</html>
"""
)


def exploration_html(found: Exploration) -> str:
    """Return an exploration as one HTML page that needs nothing but itself."""
    some = bool(found.front)
    wide = 110 * (len(found.space.parameters) + len(found.axes))
    areas = {p.index: design_areas(found, i) for i, p in enumerate(found.front)}
    return PAGE.substitute(
        title=escape(f"{found.space.name}: front for {', '.join(found.axes)}"),
        generator=escape(f"tilewright {package_version()}".strip()),
        statement=escape(found.statement()),
        front=_figure(front_figure(found), "front", script=True) if some else "",
        parallel=_figure(parallel_figure(found), "parallel", least=wide) if some else "",
        first=found.front[0].index if some else "",
        area=_figure(area_figure(found), "area") if some else "",
        worth=_worth(found),
        steps=_table(step_rows(found)),
        designs="\n".join(_design(found, i) for i in range(len(found.front))),
        areas=json.dumps(areas).replace("<", "\\u003c"),
        script=package_text("exploration.js") if some else "",
    )


def _figure(figure: Any, name: str, *, script: bool = False, least: int = 0) -> str:
    part = figure.to_html(
        full_html=False, include_plotlyjs=script, div_id=name, config={"responsive": True}
    )
    return f'<div style="min-width: {least}px">{part}</div>'


def _worth(found: Exploration) -> str:
    """Return what values are worth: among all designs where that was asked for, or of the front."""
    if found.worth is None:
        return (
            "<p>The least that a design <em>of the front</em> with this value has on each axis, "
            "and how many there are. A value without one is on no design of the front. With "
            "<code>--worth AXIS</code>, other designs count, too.</p>"
            f'<div class="wide">{_table(worth_rows(found))}</div>'
        )
    axis = found.worth[0]
    return (
        f"<p>The least {escape(axis)} of all designs with this value that are within the limits, "
        "whatever their other axes, and how far it is above the least of all.</p>"
        f'<div class="wide">{_table(found.worth_rows())}</div>'
    )


def worth_rows(found: Exploration) -> Iterator[tuple[str, ...]]:
    """Yield a head and, for every value of every parameter, the least on each axis."""
    yield ("parameter", "value", "designs", *(f"least {axis_label(axis)}" for axis in found.axes))
    for i, each in enumerate(found.space.parameters):
        for k in range(len(each.values)):
            own = [p for p in found.front if found.space.indices(p.index)[i] == k]
            if own:
                least = [f"{min(p.metrics[axis] for p in own):.5g}" for axis in found.axes]
                yield each.name, each.shown(k), str(len(own)), *least


def step_rows(found: Exploration) -> Iterator[tuple[str, ...]]:
    """Yield a head and, for every budget among the axes, the steps in which another axis falls."""
    yield "budget", "from", "to", "least of", "change", "for each more unit", "designs"
    for budget in (axis for axis in found.axes if axis in BUDGETS):
        for axis in (each for each in found.axes if each != budget):
            for a, b in pairwise(falling(found.front, budget, axis)):
                more = b.metrics[budget] - a.metrics[budget]
                gain = b.metrics[axis] - a.metrics[axis]
                yield (
                    axis_label(budget), f"{a.metrics[budget]:.4g}", f"{b.metrics[budget]:.4g}",
                    axis, f"{gain / a.metrics[axis]:+.2%}",
                    f"{gain / more:.4g} {METRICS[axis]} per {METRICS[budget]}",
                    f"{a.index} to {b.index}",
                )  # fmt: skip


def falling(front: Sequence[Point], budget: str, axis: str) -> list[Point]:
    """Return the designs that have less of an axis than all with a smaller or equal budget."""
    found: list[Point] = []
    for point in sorted(front, key=lambda p: (p.metrics[budget], p.metrics[axis])):
        if not found or point.metrics[axis] < found[-1].metrics[axis]:
            found.append(point)
    return found


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
    link = f"data:application/yaml;charset=utf-8,{quote(text)}"
    return (
        f'<details id="design-{point.index}"><summary>design {point.index}: {escape(values)}'
        f"</summary><p>{escape(metrics)}.</p>"
        f'<p><a download="design-{point.index}.yaml" href="{link}">Download the machine</a>, for '
        f"<code>tilewright map WORKLOAD design-{point.index}.yaml --objective "
        f"{escape(found.objective)} --tiles divisors</code>.</p>"
        f"<details><summary>the machine</summary><pre>{escape(text)}</pre></details>"
        f"{_mappings(found, point.index)}</details>"
    )


def _mappings(found: Exploration, index: int) -> str:
    """Return the best mapping of each layer on a design, as a nest."""
    parts = []
    for name, mapping in found.nests.get(index, ()):
        nest = "" if mapping is None else f"<pre>{escape(str(mapping))}</pre>"
        known = nest or "<p>Its mapping was not stored; <code>map</code> finds it.</p>"
        parts.append(f"<details><summary>{escape(name)}</summary>{known}</details>")
    return f"<h3>Mappings</h3>{''.join(parts)}" if parts else ""
