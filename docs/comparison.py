"""Runs the comparison that docs/compare.md shows: its outputs, and the figures from its data.

Run it with `python docs/comparison.py`; the strategies have 10 CPU seconds each.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

from outputs import MARK, ROOT, TILEWRIGHT, run
from pictures import ASSETS, Picture

PAGE = ROOT / "docs" / "compare.md"
COMMANDS = {
    "compare": f"{TILEWRIGHT} compare resnet50 simple --layer conv4_2.3x3 --json compare.json",
    "mapspace": f"{TILEWRIGHT} mapspace resnet50 simple --layer conv4_2.3x3 --json mapspace.json",
}
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9")
MARKED = "#d55e00"


@dataclass(frozen=True)
class Scale:
    """A logarithmic axis: values from `low` to `high` between two places in pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return self.start + share * (self.end - self.start)

    def decades(self) -> list[float]:
        return [10.0**n for n in range(ceil(log10(self.low)), floor(log10(self.high)) + 1)]


def path(points: Sequence[tuple[float, float]], colour: str, dashed: bool = False) -> str:
    steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dash = "; stroke-dasharray: 4 4" if dashed else ""
    return (
        f'<path d="M{steps}" style="stroke: {colour}; stroke-opacity: 1; stroke-width: 2{dash}"/>'
    )


def frame(picture: Picture, x: Scale, y: Scale, below: str) -> None:
    picture.box(x.start, y.end, x.end - x.start, y.start - y.end)
    for value in x.decades():
        picture.text(x.at(value), y.start + 18, f"{value:g}", "dim", "middle")
    picture.text((x.start + x.end) / 2, y.start + 38, below, anchor="middle")


def best_over_time(data: dict[str, Any]) -> Picture:
    """The best value of each strategy over time, as a ratio to the proven optimum."""
    picture = Picture("Best value over time of five strategies, relative to the optimum", 640, 330)
    worst = 4.0
    x, y = Scale(0.01, data["seconds"], 60, 490), Scale(0.95, worst, 270, 20)
    frame(picture, x, y, "CPU seconds")
    for ratio in (1.0, 1.5, 2.0, 3.0, 4.0):
        picture.text(52, y.at(ratio) + 5, f"{ratio:g}", "dim", "end")
    picture.text(14, 14, "best value / optimum", "dim")
    picture.shapes.append(path([(x.start, y.at(1)), (x.end, y.at(1))], MARKED, dashed=True))
    for i, one in enumerate(data["strategies"]):
        points: list[tuple[float, float]] = []
        for sample in one["samples"]:
            left, height = x.at(max(sample["seconds"], x.low)), y.at(min(sample["ratio"], worst))
            if points:
                points.append((left, points[-1][1]))
            points.append((left, height))
        points.append((x.end, points[-1][1]))
        picture.shapes.append(path(points, COLOURS[i]))
        picture.shapes.append(path([(505, 40 + 24 * i), (525, 40 + 24 * i)], COLOURS[i]))
        picture.text(532, 45 + 24 * i, one["strategy"])
    seconds = x.at(data["optimum"]["seconds"])
    picture.shapes.append(
        f'<circle cx="{seconds:.1f}" cy="{y.at(1):.1f}" r="5" style="fill: {MARKED}"/>'
    )
    picture.shapes.append(f'<circle cx="515" cy="160" r="5" style="fill: {MARKED}"/>')
    picture.text(532, 165, "proven")
    return picture


def histogram(data: dict[str, Any]) -> Picture:
    """How energy per operation and cycles are spread over random mappings."""
    picture = Picture("Histograms of energy per operation and of cycles", 640, 250)
    for column, (name, quantity) in enumerate(data["quantities"].items()):
        counts, edges = quantity["histogram"]["counts"], quantity["histogram"]["edges"]
        left = 20 + 320 * column
        x = Scale(edges[0] * 0.9, edges[-1] * 1.1, left, left + 280)
        y = Scale(1, 10, 190, 30)
        frame(picture, x, y, f"{name.replace('_', ' ')} ({quantity['unit']})")
        for count, low, high in zip(counts, edges, edges[1:], strict=False):
            height = 150 * count / max(counts)
            picture.box(x.at(low), 190 - height, x.at(high) - x.at(low), height, "I")
        best = x.at(quantity["optimum"])
        picture.shapes.append(path([(best, 190), (best, 30)], MARKED, dashed=True))
        picture.text(best + 6, 24, "proven optimum", "dim")
    return picture


def main() -> None:
    """Write the outputs into the page, and the figures."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = {name: run(command, folder) for name, command in COMMANDS.items()}
        compared, space = (json.loads((Path(folder) / f"{n}.json").read_text()) for n in COMMANDS)
    text = MARK.sub(
        lambda mark: f"{mark[0].splitlines()[0]}\n\n```text\n{outputs[mark['name']]}\n```\n",
        PAGE.read_text(),
    )
    PAGE.write_text(text)
    (ASSETS / "compare.svg").write_text(best_over_time(compared).svg(), encoding="utf-8")
    (ASSETS / "mapspace.svg").write_text(histogram(space).svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
