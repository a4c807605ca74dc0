"""Figures and tables for papers: SVG, PDF, LaTeX and CSV files in a folder.

The figures show what the plots of the page show, in its light colours, at the width of a page.
They are drawn by matplotlib (extra ``figures``), which embeds its fonts, as publishers demand.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.mapper.results.result import NetworkResult
from tilewright.report import figures
from tilewright.report.palette import variables
from tilewright.report.quantities import digits
from tilewright.report.roofline import roofline
from tilewright.report.sections.layer.breakdown import energy_by_level, energy_by_role, role_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

WIDTH, ROW, FRAME = 7.0, 0.17, 1.1  # inches: a page, a row of bars, what stands around them
STYLE = {
    "font.size": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "hatch.linewidth": 0.5,
    "pdf.fonttype": 42,
    "svg.hashsalt": "tilewright",
}
# what the page's style sheet says
PAGE = {
    "--surface": "#ffffff",
    "--ink": "#1a1d23",
    "--muted": "#5a6270",
    "--accent-soft": "#cfe0f4",
}
HATCHES = {"": None, "/": "////", ".": "...."}
LINES = {"dash": "--", "solid": "-"}
TEX = str.maketrans({
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
})  # fmt: skip


def check_drawing() -> None:
    """Refuse to draw where that cannot be done.

    Raises
    ------
    InputError
        When matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise InputError(
            "are drawn with the package 'matplotlib', which is not installed: pip install "
            "'tilewright[figures]'",
            key="figures",
        )


def paper_files(result: NetworkResult) -> dict[str, bytes]:
    """Return figures and tables of a result, by the name of the file.

    Parameters
    ----------
    result : NetworkResult
        What the mapper found.

    Returns
    -------
    dict of str to bytes
        ``energy-levels``, ``energy-tensors``, ``latency`` and ``roofline`` as ``.svg`` and
        ``.pdf``; ``layers.tex`` (with the package booktabs), ``layers.csv``, ``energy.csv``. The
        same result gives the same bytes.

    Raises
    ------
    InputError
        When matplotlib is not installed, or no layer has a mapping.
    """
    check_drawing()
    if not result.layers:
        raise InputError("no layer has a mapping: there is nothing to draw", key="figures")
    from matplotlib import rc_context

    colours = PAGE | light(result.architecture)
    files: dict[str, bytes] = {}
    with rc_context(STYLE):
        drawings = {
            "energy-levels": bars(figures.energy_levels(result), colours, "energy", "J"),
            "energy-tensors": bars(figures.energy_tensors(result), colours, "energy", "J"),
            "latency": bars(figures.latency(result), colours, "cycles", ""),
            "roofline": points(roofline(result), colours),
        }
        for name, drawing in drawings.items():
            for suffix, plain in (("svg", {"Date": None}), ("pdf", {"CreationDate": None})):
                written = io.BytesIO()
                drawing.savefig(written, format=suffix, metadata=plain, bbox_inches="tight")
                files[f"{name}.{suffix}"] = written.getvalue()
    files["layers.tex"] = layers_tex(result).encode()
    files["layers.csv"] = result.to_frame().to_csv(index=False).encode()
    files["energy.csv"] = energy_csv(result).encode()
    return files


def write_figures(result: NetworkResult, folder: str | os.PathLike[str]) -> list[Path]:
    """Write figures and tables of a result into a folder; see `paper_files`.

    Raises
    ------
    InputError
        When matplotlib is not installed, or a file cannot be written.
    """
    files = paper_files(result)
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (target / name).write_bytes(content)
    except OSError as failure:
        raise InputError(f"cannot be written: {failure.strerror}", source=str(folder)) from None
    return [target / name for name in files]


def light(machine: Architecture) -> dict[str, str]:
    """Return the light colour of each variable of a machine's page."""
    pairs = re.findall(r"(--[\w-]+): light-dark\((#\w+), #\w+\)", variables(machine))
    return dict(pairs)


def plain(colour: str, colours: dict[str, str]) -> str:
    """Return a colour that the page may write as a variable."""
    return colours[colour[4:-1]] if colour.startswith("var(") else colour


def bars(figure: figures.Figure, colours: dict[str, str], what: str, unit: str) -> Drawing:
    """Return bars per layer, all runs of it together; what has an axis of its own stands beside."""
    from matplotlib.figure import Figure as Drawing
    from matplotlib.ticker import EngFormatter

    axis = figure.layout["yaxis"]
    count = len(axis["tickvals"])
    beside = any(trace.get("xaxis") == "x2" for trace in figure.data)
    drawing = Drawing(figsize=(WIDTH, FRAME + ROW * count))
    parts = drawing.subplots(
        1, 1 + beside, sharey=True, squeeze=False, width_ratios=[4, 1] if beside else None
    )[0]
    left = [0.0] * count
    for trace in figure.data:
        second = trace.get("xaxis") == "x2"
        rows = trace["y"]
        factors = [1.0 if second else figure.factors["network"][row] for row in rows]
        values = [x * factor for x, factor in zip(trace["x"], factors, strict=True)]
        own: Axes = parts[1 if second else 0]
        own.barh(
            rows,
            values,
            left=None if second else [left[row] for row in rows],
            height=0.75,
            color=plain(trace["marker"]["color"], colours),
            hatch=HATCHES[trace["marker"].get("pattern", {}).get("shape", "")],
            edgecolor="white",
            linewidth=0.4,
            label=None if second else unescape(trace["name"]),
        )
        if not second:
            for row, value in zip(rows, values, strict=True):
                left[row] += value
    parts[0].set_yticks(axis["tickvals"], [unescape(text).strip() for text in axis["ticktext"]])
    parts[0].set_ylim(*axis["range"])
    parts[0].tick_params(axis="y", length=0)
    repeats = max(figure.factors["network"]) > 1
    parts[0].set_xlabel(f"{what}{' of all runs' if repeats else ''}")
    parts[0].xaxis.set_major_formatter(EngFormatter(unit=unit))
    if beside:
        parts[1].set_xlim(0, 100)
        parts[1].set_xlabel("utilization (%)")
        parts[1].tick_params(axis="y", length=0)
    legend(parts[0])
    return drawing


def points(figure: figures.Figure, colours: dict[str, str]) -> Drawing:
    """Return the roofline: lines, and a point per layer with its name where there is room."""
    from matplotlib.figure import Figure as Drawing
    from matplotlib.ticker import NullFormatter

    drawing = Drawing(figsize=(WIDTH, 3.6))
    axes: Axes = drawing.subplots()
    for trace in figure.data:
        name = unescape(trace["name"])
        if trace["mode"] == "lines":
            line = trace["line"]
            axes.plot(
                trace["x"], trace["y"], color=plain(line["color"], colours), linewidth=1.2,
                linestyle=LINES[line["dash"]], label=name, zorder=1,
            )  # fmt: skip
            continue
        marker = trace["marker"]
        axes.scatter(
            trace["x"], trace["y"], s=[(0.55 * size) ** 2 for size in marker["size"]],
            color=plain(marker["color"], colours), edgecolors="white", linewidths=0.6, label=name,
            zorder=2,
        )  # fmt: skip
        marked = zip(
            trace["x"], trace["y"], trace["text"], trace["textposition"], marker["size"],
            strict=True,
        )  # fmt: skip
        for x, y, text, position, size in marked:
            vertical, horizontal = position.split()
            gap = 0.28 * size + 1.5
            away = {"top": gap, "bottom": -gap, "right": gap, "left": -gap}
            axes.annotate(
                unescape(text), (x, y),
                (away.get(horizontal, 0.0), away.get(vertical, 0.0)),
                textcoords="offset points", fontsize=5.5,
                ha={"left": "right", "right": "left", "center": "center"}[horizontal],
                va={"top": "bottom", "bottom": "top", "middle": "center"}[vertical],
            )  # fmt: skip
    axes.set(xscale="log", yscale="log")
    for axis, key in ((axes.xaxis, "xaxis"), (axes.yaxis, "yaxis")):
        part: dict[str, Any] = figure.layout[key]
        low, high = (10.0**end for end in part["range"])
        ticks = zip(part["tickvals"], part["ticktext"], strict=True)
        shown = {value: text for value, text in ticks if low <= value <= high}
        axis.set_ticks(list(shown), list(shown.values()))
        axis.set_minor_formatter(NullFormatter())
        axis.set_label_text(unescape(part["title"]["text"]))
        (axes.set_xlim if key == "xaxis" else axes.set_ylim)(low, high)
    legend(axes)
    return drawing


def legend(axes: Axes) -> None:
    """Put the legend above the plot."""
    axes.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=6, frameon=False, fontsize=7,
        handlelength=1.4, columnspacing=1.4,
    )  # fmt: skip


def layers_tex(result: NetworkResult) -> str:
    """Return a table of the layers in LaTeX, with the package booktabs."""
    head = ("layer", "runs", "operations", r"energy (\textmu J)", "cycles", r"utilization (\%)",
            "bound by", "proven")  # fmt: skip
    rows = []
    for found in result.layers:
        cost = found.evaluation
        proven = "yes" if found.proof.optimal else rf"within {100 * found.proof.gap:.2g}\,\%"
        rows.append((
            tex(found.layer.name), f"{found.layer.repeat}", f"{cost.operations:,}",
            digits(cost.energy_pj * 1e-6, 4), f"{cost.cycles:,.10g}",
            f"{100 * cost.utilization:.1f}", tex(cost.bound), proven,
        ))  # fmt: skip
    totals = (
        "all runs", f"{result.runs}",
        f"{sum(r.evaluation.operations * r.layer.repeat for r in result.layers):,}",
        digits(result.energy_pj * 1e-6, 4), f"{result.cycles:,.10g}",
        f"{100 * result.utilization:.1f}", "", "",
    )  # fmt: skip
    machine, goal = tex(result.architecture.name), tex(result.wanted)
    return "\n".join((
        f"% {tex(result.network.name)} on {machine}, mapped for {goal}; one run of each layer",
        r"\begin{tabular}{@{}lrrrrrll@{}}", r"\toprule",
        tex_row(head), r"\midrule", *map(tex_row, rows), r"\midrule", tex_row(totals),
        r"\bottomrule", r"\end{tabular}", "",
    ))  # fmt: skip


def tex(text: str) -> str:
    """Return a text as LaTeX writes it."""
    return " ".join(text.split()).translate(TEX)


def tex_row(cells: Sequence[str]) -> str:
    """Return a row of a table."""
    return " & ".join(cells) + r" \\"


def energy_csv(result: NetworkResult) -> str:
    """Return the energy of one run of each layer, by level and by tensor, in pJ."""
    import pandas as pd

    names = role_names(r.evaluation for r in result.layers)
    rows = []
    for found in result.layers:
        row: dict[str, Any] = {"layer": found.layer.name, "repeat": found.layer.repeat}
        for level, energy in energy_by_level(found.evaluation).items():
            row[f"level {level}"] = energy
        for role, energy in energy_by_role(found.evaluation).items():
            if role in names:
                row[f"tensor {names[role]}"] = energy
        rows.append(row)
    return str(pd.DataFrame(rows).fillna(0.0).to_csv(index=False))
