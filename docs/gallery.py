# ruff: noqa: E501 (answers are sentences)
"""Draws the pictures of docs/gallery.md and writes its answers: ``python docs/gallery.py [NAMES]``.

Each question has a function that searches, draws a picture and returns the answer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pictures import ASSETS, Picture

import tilewright as tw

PAGE = Path(__file__).parent / "gallery.md"
COLOURS = ("#e07b39", "#2870be", "#8a6cc0", "#3aa6a0", "#8a8f98", "#c9ccd1")
LABEL, WIDTH, ROW = 170, 640, 28


def bars(
    title: str, rows: Sequence[tuple[str, Sequence[float], str]], names: Sequence[str] = ()
) -> Picture:
    """A bar for each row, cut into parts that have names."""
    top = 26 if names else 4
    picture = Picture(title, WIDTH, top + ROW * len(rows) + 6)
    at = float(LABEL)
    for name, colour in zip(names, COLOURS, strict=False):
        block(picture, at, 4, 12, 12, colour)
        picture.text(at + 17, 15, name, "dim")
        at += 34 + 8 * len(name)
    most = max(sum(parts) for _, parts, _ in rows)
    for i, (label, parts, value) in enumerate(rows):
        y = top + ROW * i
        picture.text(LABEL - 8, y + 16, label, anchor="end")
        x = float(LABEL)
        for part, colour in zip(parts, COLOURS if names else COLOURS[1:], strict=False):
            width = 350 * part / most
            block(picture, x, y + 2, width, 19, colour)
            x += width
        picture.text(x + 8, y + 16, value, "dim")
    return picture


def percent(share: float, digits: int = 0) -> str:
    """Return a share as sentences have it."""
    return f"{100 * share:.{digits}f} %"


def block(picture: Picture, x: float, y: float, width: float, height: float, colour: str) -> None:
    picture.shapes.append(
        f'<rect x="{x:.1f}" y="{y:g}" width="{width:.1f}" height="{height:g}" '
        f'style="fill: {colour}; stroke: none"/>'
    )


def steps(title: str, points: Sequence[tuple[float, float]], across: str, up: str) -> Picture:
    """A step function that falls from left to right."""
    picture = Picture(title, WIDTH, 300)
    right, low = max(x for x, _ in points) * 1.1, min(x for x, _ in points)
    top, bottom = max(y for _, y in points) * 1.05, 0.0
    low = 0.0 if low < 0.3 * right else low * 0.9

    def place(x: float, y: float) -> tuple[float, float]:
        return 70 + 540 * (x - low) / (right - low), 250 - 220 * (y - bottom) / (top - bottom)

    picture.box(70, 30, 540, 220)
    line = []
    for i, (x, y) in enumerate(points):
        if i:
            line.append(place(x, points[i - 1][1]))
        line.append(place(x, y))
    line.append(place(right, points[-1][1]))
    shown = "L".join(f"{x:.1f} {y:.1f}" for x, y in line)
    picture.shapes.append(
        f'<path d="M{shown}" style="stroke: {COLOURS[1]}; stroke-opacity: 1; stroke-width: 2.5"/>'
    )
    for x, y in points:
        left, height = place(x, y)
        picture.shapes.append(
            f'<circle cx="{left:.1f}" cy="{height:.1f}" r="4" style="fill: {COLOURS[1]}"/>'
        )
    for x in (low, right):
        picture.text(place(x, 0)[0], 268, f"{x:,.3g}", "dim", "middle")
    for y in (0.0, top):
        picture.text(62, place(low, y)[1] + 5, f"{y:,.3g}", "dim", "end")
    picture.text(340, 290, across, anchor="middle")
    picture.text(14, 18, up, "dim")
    return picture


def by_level(result: tw.NetworkResult) -> dict[str, float]:
    """Energy of all layers in uJ, by level."""
    return {bar.name: float(sum(bar.x)) for bar in result.plot().data}


def energy() -> tuple[Picture, str]:
    result = tw.map("alexnet", "eyeriss", tiles="divisors")
    names = list(by_level(result))
    rows = []
    for one in result:
        parts = by_level(tw.NetworkResult(
            result.network, result.architecture, result.objective, (one,), 0.0
        ))  # fmt: skip
        rows.append((one.layer.name, [parts.get(name, 0.0) for name in names],
                     f"{sum(parts.values()):,.0f} uJ"))  # fmt: skip
    totals = by_level(result)
    most = max(totals, key=lambda name: totals[name])
    worst = max(result, key=lambda one: one.evaluation.energy_pj)
    return bars("Energy of each layer by level", rows, names), (
        f"{most} takes {percent(totals[most] / sum(totals.values()))} of the energy, and `{worst.layer.name}` alone "
        f"{percent(worst.evaluation.energy_pj / result.energy_pj)}: its weights are used once each, so that no "
        "mapping can read them less often."
    )


def size() -> tuple[Picture, str]:
    found = tw.frontier("resnet50", "eyeriss", ["GLB"], layer="conv4_2.reduce")
    points = [(p.bits[0] / 8192, p.value * 1e-6) for p in found]
    picture = steps(
        "Least energy against the size of GLB", points, "GLB (KiB)", "least energy (uJ)"
    )
    first, last = points[0], points[-1]
    near = next(p for p in points if p[1] < 1.05 * last[1])
    return picture, (
        f"Without a buffer the layer takes {first[1]:,.0f} uJ. {near[0]:,g} KiB is enough to come within 5 % of the minimum, "
        f"{last[1]:,.0f} uJ; beyond {last[0]:,g} KiB a larger buffer saves nothing. Every step is proven."
    )


def limits() -> tuple[Picture, str]:
    found = tw.explain("alexnet", "eyeriss", layer="conv3")
    rows = [(str(one.limit), [one.gain * 100], f"{one.gain:.1%}") for one in found.limits[:6]]
    best, second = found.limits[:2]
    return bars("What energy each limit costs when it alone is relaxed", rows), (
        f"Doubling `{best.limit}` alone saves {percent(best.gain, 1)}, and doubling `{second.limit}` alone {percent(second.gain, 1)}. "
        "Relaxing any other single limit saves no more than that."
    )


def dataflows() -> tuple[Picture, str]:
    free = tw.map("resnet50", "simple", layer="conv4_2.reduce", tiles="divisors")
    rows = [("any mapping", [free.energy_pj], "1.00")]
    ratios = {}
    for name in ("weight-stationary", "output-stationary", "input-stationary"):
        found = tw.map(
            "resnet50", "simple", layer="conv4_2.reduce", tiles="divisors", constraints=name
        )
        ratios[name] = found.energy_pj / free.energy_pj
        rows.append((name, [found.energy_pj], f"{ratios[name]:.2f}"))
    best, worst = min(ratios, key=lambda n: ratios[n]), max(ratios, key=lambda n: ratios[n])
    more = {
        name: f"{percent(ratio - 1, 1)} more energy" if ratio > 1.0005 else "nothing"
        for name, ratio in ratios.items()
    }
    return bars("Energy of a 1x1 convolution under three dataflows", rows), (
        f"`{best}` costs {more[best]} compared with an unconstrained mapping; `{worst}` costs {more[worst]}. "
        "Each has its best mapping: that is what a fixed dataflow costs, whatever the mapper."
    )


def trade() -> tuple[Picture, str]:
    front = tw.pareto("alexnet", "eyeriss", layer="conv2")
    points = sorted((p.evaluation.cycles * 1e-6, p.evaluation.energy_pj * 1e-6) for p in front)
    picture = steps("Energy against cycles", points, "cycles (millions)", "energy (uJ)")
    fast, frugal = points[0], points[-1]
    count = {2: "two", 3: "three", 4: "four"}.get(len(points), len(points))
    return picture, (
        f"There are exactly {count} Pareto-optimal points. The fastest takes {fast[0]:.2f} million cycles and {fast[1]:,.0f} uJ; "
        f"the one with the least energy takes {percent(1 - frugal[1] / fast[1], 1)} less energy and {frugal[0] / fast[0]:.1f} times the cycles."
    )


def style() -> tuple[Picture, str]:
    found = tw.map("alexnet", "marvel-p1", search=tw.Uniform(within=0.1))
    assert isinstance(found, tw.UniformResult)
    rows = [(str(one.style), [one.energy_pj], f"+{one.above:.1%}") for one in found.styles]
    free = found.styles[0].above_free or 0.0
    quick = min(one.cycles for one in found.styles) / found.styles[0].cycles
    return bars("Energy of AlexNet in the best single styles", rows), (
        f"`{found.styles[0].style}` is the best of {found.count} styles, and costs {percent(free, 1)} more than a style of its own for every layer. "
        f"{len(rows)} styles are within 10 % of it; the fastest of them runs in {percent(quick)} of its cycles."
    )


def language() -> tuple[Picture, str]:
    rows, names, each = [], [], {}
    for phase, tokens in (("prefill", 512), ("decode", 1)):
        network = tw.load_workload("hf:gpt2", phase=phase, tokens=tokens, only=["matmul"],
                                   context=512)  # fmt: skip
        result = tw.map(network, "simple", tiles="divisors")
        parts = {name: value / tokens for name, value in by_level(result).items()}
        names = names or list(parts)
        each[phase] = parts
        rows.append((f"{phase}, per token", [parts.get(n, 0.0) for n in names],
                     f"{sum(parts.values()):,.0f} uJ"))  # fmt: skip
    totals = {phase: sum(parts.values()) for phase, parts in each.items()}
    share = each["decode"]["DRAM"] / totals["decode"]
    return bars("Energy per token of GPT-2, by level", rows, names), (
        f"Generating a token costs {totals['decode'] / totals['prefill']:.0f} times as much energy as processing a token of a 512-token prompt. "
        f"DRAM takes {percent(share)} of it, because each weight is read for one token alone. Larger batches help there, better mappings do not."
    )


def machines() -> tuple[Picture, str]:
    names = ("eyeriss", "eyeriss-256", "simple", "marvel-p1")
    found = {name: tw.map("alexnet", name, "edp", tiles="divisors") for name in names}
    rows = [
        (
            name,
            [each.edp_pj_cycles],
            f"{each.energy_pj * 1e-9:.1f} mJ, {each.cycles * 1e-6:.2f} M cycles",
        )
        for name, each in found.items()
    ]
    best = min(found, key=lambda name: found[name].edp_pj_cycles)
    return bars("Energy-delay product of AlexNet on four machines", rows), (
        f"`{best}` has the least energy-delay product, with the best mapping on each machine: the difference is due to the machines, "
        "not to a lucky search. Their energies come from different technologies; `show NAME` names the sources."
    )


QUESTIONS: dict[str, Callable[[], tuple[Picture, str]]] = {
    "energy": energy, "size": size, "limits": limits, "dataflows": dataflows, "trade": trade,
    "style": style, "language": language, "machines": machines,
}  # fmt: skip


def main() -> None:
    """Draw the pictures and write the answers of some questions, or of all."""
    for name in sys.argv[1:] or QUESTIONS:
        picture, answer = QUESTIONS[name]()
        (ASSETS / f"gallery-{name}.svg").write_text(picture.svg(), encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
        mark = f"<!-- answer: {name} -->\n"
        before, _, after = page.partition(mark)
        rest = (
            after[after.index("\n\n", 1) :]
            if after.startswith("\n") and "\n\n" in after[1:]
            else ""
        )
        PAGE.write_text(f"{before}{mark}\n{answer}{rest or chr(10)}", encoding="utf-8")


if __name__ == "__main__":
    main()
