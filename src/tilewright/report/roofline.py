"""The roofline plot: operations per cycle against operational intensity, both logarithmic."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, inf, log10, sqrt
from typing import Any

from tilewright.architecture.machine import Architecture
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.report.figures import Figure
from tilewright.report.palette import level_colours
from tilewright.report.quantities import NOTHING, digits, percent, si

# of the plot inside its axes, in pixels, at the width of a screen: labels are placed for it
WIDTH, HEIGHT = 960, 400
CHARACTER, LINE = 6.2, 15.0
# dx, dy from a point to the centre of its label, in half sizes of the label
POSITIONS = {
    "top center": (0, -1),
    "bottom center": (0, 1),
    "middle right": (1, 0),
    "middle left": (-1, 0),
    "top right": (1, -1),
    "bottom right": (1, 1),
    "top left": (-1, -1),
    "bottom left": (-1, 1),
}

Box = tuple[float, float, float, float]


def outer_bytes_per_cycle(architecture: Architecture) -> float:
    """Return what the outermost memory carries at most, in bytes per cycle."""
    memory = architecture.memories[0]
    words = inf
    if memory.shared_bandwidth is not None:
        words = memory.shared_bandwidth
    if memory.read_bandwidth is not None and memory.write_bandwidth is not None:
        words = min(words, memory.read_bandwidth + memory.write_bandwidth)
    return words * memory.word_bits / 8


def peak(architecture: Architecture) -> float:
    """Return the operations per cycle of all compute units together."""
    compute = architecture.compute
    units = architecture.instances(compute.name)
    return units / compute.cycles if compute.cycles else inf


def roofline(result: NetworkResult) -> Figure:
    """Return one point per layer under the machine's two limits."""
    machine, layers = result.architecture, result.layers
    top, slope = peak(machine), outer_bytes_per_cycle(machine)
    xs = [r.evaluation.intensity_per_byte for r in layers]
    ys = [r.evaluation.operations_per_cycle for r in layers]
    ridge = [top / slope] if 0 < top / slope < inf else []
    x_range = decades([*xs, *ridge], 0.3)
    y_range = decades([*ys, *([top] if top < inf else [])], 0.2)
    data = limits(machine, top, slope, x_range)
    sizes = marker_sizes(layers)
    places = labels(
        [pixels(x, y, x_range, y_range) for x, y in zip(xs, ys, strict=True)],
        [r.layer.name for r in layers],
        sizes,
        roof_boxes(data, x_range, y_range),
    )  # fmt: skip
    for level, colour in level_colours(machine).items():
        rows = [i for i, r in enumerate(layers) if r.evaluation.bound == level]
        if not rows:
            continue
        data.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "name": f"limited by {escape(level, quote=False)}",
                "x": [xs[i] for i in rows],
                "y": [ys[i] for i in rows],
                "text": [escape(layers[i].layer.name, False) if places[i] else "" for i in rows],
                "textposition": [places[i] or "top center" for i in rows],
                "textfont": {"size": 11, "color": "var(--ink)"},
                "marker": {
                    "color": colour,
                    "size": [sizes[i] for i in rows],
                    "opacity": 0.8,
                    "line": {"color": "var(--surface)", "width": 1.2},
                },
                "customdata": [hover(layers[i]) for i in rows],
                "hovertemplate": (
                    "<b>%{customdata[0]}</b><br>%{y:.4~g} operations/cycle, %{customdata[1]} of "
                    "what its limits allow<br>%{customdata[2]}<br>%{x:.4~g} operations/byte"
                    "<extra></extra>"
                ),
                "cliponaxis": False,
            }
        )
    return Figure(data, layout(machine, x_range, y_range), {})


def limits(
    machine: Architecture, top: float, slope: float, x_range: tuple[float, float]
) -> list[dict[str, Any]]:
    """Return the lines of the machine's peak and of the outermost memory's bandwidth."""
    low, high = 10.0 ** x_range[0], 10.0 ** x_range[1]
    ridge = min(max(top / slope, low), high)
    memory = escape(machine.memories[0].name, quote=False)
    lines = []
    if slope < inf and ridge > low:
        name = f"{memory} bandwidth, {digits(slope)} bytes/cycle"
        lines.append(limit(name, [low, ridge], [low * slope, ridge * slope], "dash"))
    if top < inf:
        unit = escape(machine.compute.name, quote=False)
        name = f"peak of {unit}, {digits(top)} operations/cycle"
        start = ridge if slope < inf else low
        lines.append(limit(name, [start, high], [top, top], "solid"))
    return lines


def limit(name: str, xs: list[float], ys: list[float], dash: str) -> dict[str, Any]:
    """Return one line of the roof."""
    line = {"color": "var(--muted)", "width": 2, "dash": dash}
    return {
        "type": "scatter", "mode": "lines", "name": name, "x": xs, "y": ys, "line": line,
        "hoverinfo": "name",
    }  # fmt: skip


def layout(
    machine: Architecture, x_range: tuple[float, float], y_range: tuple[float, float]
) -> dict[str, Any]:
    """Return the two logarithmic axes."""
    outer = escape(machine.memories[0].name, quote=False)
    return {
        "height": HEIGHT + 150,
        "margin": {"l": 10, "r": 24, "t": 76, "b": 50},
        "legend": {
            "orientation": "h",
            "x": 0,
            "y": 1.02,
            "yanchor": "bottom",
            "itemsizing": "constant",
            "itemwidth": 44,
        },
        "xaxis": log_axis(x_range)
        | {
            "title": {"text": f"operational intensity at {outer} (operations per byte)"},
        },
        "yaxis": log_axis(y_range)
        | {
            "title": {"text": "operations per cycle"},
            "automargin": True,
        },
    }


def log_axis(ends: tuple[float, float]) -> dict[str, Any]:
    """Return a logarithmic axis with ticks at 1, 2, 5 of each decade, or at the decades alone."""
    steps = (1, 2, 5) if ends[1] - ends[0] < 2.6 else (1,)
    powers = range(floor(ends[0]), ceil(ends[1]) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    minor = {"dtick": "D1", "showgrid": False, "ticks": "outside"}
    return {
        "type": "log",
        "range": list(ends),
        "tickvals": ticks,
        "ticktext": [f"{tick:g}" if 1e-3 <= tick < 1e4 else si(tick) for tick in ticks],
        "minor": minor,
    }


def hover(result: LayerResult) -> list[str]:
    """Return the details of a layer's point."""
    e = result.evaluation
    speed = si(e.operations_per_cycle * e.architecture.clock_hz, "op/s")
    limit_ = percent(e.operations_per_cycle / e.roofline) if e.roofline else NOTHING
    limiting = f"{speed}, limited by {escape(e.bound)}, utilization {percent(e.utilization)}"
    return [escape(e.layer.name), limit_, limiting]


def decades(values: Sequence[float], margin: float) -> tuple[float, float]:
    """Return the range of a logarithmic axis, at least one decade, in powers of ten."""
    low, high = log10(min(values, default=1.0)), log10(max(values, default=10.0))
    short = max(0.0, 1.0 - (high - low)) / 2
    return low - margin - short, high + margin + short


def marker_sizes(layers: Sequence[LayerResult]) -> list[float]:
    """Return diameters in pixels: areas follow the share of the network's cycles."""
    spent = [float(r.evaluation.cycles) * r.layer.repeat for r in layers]
    return [round(max(8.0, 26.0 * sqrt(value / max(spent))), 1) for value in spent]


def pixels(
    x: float, y: float, x_range: tuple[float, float], y_range: tuple[float, float]
) -> tuple[float, float]:
    """Return where a point is drawn, from the top left corner of the plot."""
    return (
        (log10(x) - x_range[0]) / (x_range[1] - x_range[0]) * WIDTH,
        (y_range[1] - log10(y)) / (y_range[1] - y_range[0]) * HEIGHT,
    )


def roof_boxes(
    lines: Sequence[dict[str, Any]], x_range: tuple[float, float], y_range: tuple[float, float]
) -> list[Box]:
    """Return small boxes along the lines of the roof."""
    boxes = []
    for line in lines:
        ends = zip(line["x"], line["y"], strict=True)
        (x0, y0), (x1, y1) = (pixels(x, y, x_range, y_range) for x, y in ends)
        for i in range(steps := 120):
            x, y = x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps
            boxes.append((x - 2, y - 2, x + (x1 - x0) / steps, y + 2))
    return boxes


def labels(
    points: Sequence[tuple[float, float]],
    names: Sequence[str],
    sizes: Sequence[float],
    obstacles: Sequence[Box],
) -> list[str | None]:
    """Return where each point's label stands so that none overlaps another, a point or the roof.

    Points are served in the order of their size; None where there is no room.
    """
    taken: list[Box] = [
        *obstacles,
        *((x - s / 2, y - s / 2, x + s / 2, y + s / 2)
        for (x, y), s in zip(points, sizes, strict=True)),
    ]  # fmt: skip
    places: list[str | None] = [None] * len(points)
    for i in sorted(range(len(points)), key=lambda i: -sizes[i]):
        (x, y), half = points[i], (len(names[i]) * CHARACTER / 2, LINE / 2)
        for position, (dx, dy) in POSITIONS.items():
            gap = sizes[i] / 2 + 1
            cx = x + dx * (half[0] + gap)
            cy = y + dy * (half[1] + gap)
            box = (cx - half[0], cy - half[1], cx + half[0], cy + half[1])
            inside = box[0] > 0 and box[2] < WIDTH and box[1] > 0 and box[3] < HEIGHT
            if inside and not any(overlap(box, other) for other in taken):
                places[i] = position
                taken.append(box)
                break
    return places


def overlap(a: Box, b: Box) -> bool:
    """Whether two boxes (left, top, right, bottom) have points in common."""
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
