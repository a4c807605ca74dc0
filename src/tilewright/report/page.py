"""The report: one HTML page that needs nothing but itself."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from html import escape
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from tilewright.errors import InputError
from tilewright.mapper.fused.results.result import FusedResult
from tilewright.mapper.results.result import NetworkResult
from tilewright.mapper.styles.result import UniformResult
from tilewright.report import figures
from tilewright.report.palette import variables
from tilewright.report.roofline import roofline
from tilewright.report.sections.fused import (
    ALONE,
    alone_of,
    fused_proof_html,
    links,
    segments_section,
)
from tilewright.report.sections.graph import graph_section
from tilewright.report.sections.hardware import hardware_section
from tilewright.report.sections.layer.layers import layer_sections
from tilewright.report.sections.layer.reuse import reuse_table
from tilewright.report.sections.machine import idle_html, machine_html
from tilewright.report.sections.overview import layers_table, totals_html
from tilewright.report.sections.proof import proof_html
from tilewright.report.sections.shares import whole_energy_html
from tilewright.report.sections.styles import styles_section
from tilewright.report.sections.timeline import timeline_section

if TYPE_CHECKING:
    import plotly.graph_objects as go

NAMES = {
    "segments": "Fused layers", "styles": "Styles", "energy": "Energy", "latency": "Latency",
    "roofline": "Roofline", "hardware": "Area and power", "reuse": "Reuse", "table": "Table",
    "graph": "Graph", "layers": "Layers",
}  # fmt: skip
OWN = ("energy", "latency", "roofline", "hardware", "reuse", "table")
VIEWS = """<div class="controls views" role="group" aria-label="What a bar shows">\
<button type="button" data-view="network" aria-pressed="true">whole network</button>\
<button type="button" data-view="layer" aria-pressed="false">one run</button>\
<button type="button" data-view="operation" aria-pressed="false">per operation</button></div>"""


def html(result: NetworkResult) -> str:
    """Return a result as one self-contained HTML page.

    Everything stands in the page: plotly.js, styles and data. It forbids itself every request.

    Parameters
    ----------
    result : NetworkResult
        What the mapper found.

    Returns
    -------
    str
    """
    machine, count = result.architecture, len(result.layers)
    layers = "1 layer" if count == 1 else f"{count} layers"
    if result.unmapped:
        layers = f"{count} of {len(result.network.layers)} layers"
    repeated = f", run {result.runs} times in all" if result.runs > count else ""
    together = (
        f", all in one style: {escape(str(result.best.style))}"
        if isinstance(result, UniformResult)
        else ""
    )
    missing = "; the totals are without the layers that have no mapping yet"
    missing = missing if result.unmapped else ""
    fused = result if isinstance(result, FusedResult) else None
    own = result if fused is None else alone_of(fused)
    if fused is not None:
        repeated += f", {sum(len(s.names) * s.repeat for s in fused.segments)} of these runs fused"
    name, title = result.network.name, f"{result.network.name} on {machine.name}"
    section, timelines = timeline_section(own.layers)
    graph = graph_section(result, own, None if fused is None else links(fused))
    styles = styles_section(result)
    some = fused is None or bool(own.layers)
    shown = [*(("styles",) if styles else ()), *OWN] if some else []
    connected = ["graph"] if graph else []
    if fused is None:
        shown += connected
        sections = sections_html(own, styles, graph, section)
    else:
        shown = ["segments", *connected, *shown]
        sections = segments_section(fused) + graph
        if some:
            sections += f'<p class="note alone">{ALONE}</p>' + sections_html(own, "", "", section)
    shown += ["layers"] if some else []
    return Template(package_text("page.html")).substitute(
        title=escape(f"{title} · tilewright"),
        generator=escape(f"tilewright {package_version()}".strip()),
        network=escape(name),
        machine_name=escape(machine.name),
        lead=f"{layers}{repeated}, mapped for {result.wanted}{together}{missing}",
        style=package_text("style.css"),
        variables=variables(machine),
        first=shown[-1],
        links="".join(f'<a href="#{key}">{NAMES[key]}</a>' for key in shown),
        totals=totals_html(result),
        proof=proof_html(result) if fused is None else fused_proof_html(fused),
        machine=machine_html(machine) + idle_html(result),
        sections=sections,
        figures=figures_json(own, timelines) if some else "{}",
        plotly=plotly_script(),
        script=package_text("page.js"),
    )


def sections_html(own: NetworkResult, styles: str, graph: str, timeline: str) -> str:
    """Return the sections of layers that have a mapping of their own, with others between."""
    return Template(package_text("sections.html")).substitute(
        styles=styles,
        graph=graph,
        views=VIEWS,
        whole_energy=whole_energy_html(own),
        hardware=hardware_section(own),
        reuse=reuse_table(own.layers),
        table=layers_table(own),
        options="".join(
            f'<option value="layer-{i}">{escape(r.layer.name)}</option>'
            for i, r in enumerate(own.layers)
        ),
        layers=layer_sections(own.layers),
        timeline=timeline,
    )


def figures_json(result: NetworkResult, timelines: dict[str, figures.Figure] | None = None) -> str:
    """Return the plots as JSON that can stand inside a script element."""
    plots = {
        "energy-levels": figures.energy_levels(result),
        "energy-tensors": figures.energy_tensors(result),
        "latency": figures.latency(result),
        "roofline": roofline(result),
        **(timelines or {}),
    }
    text = json.dumps({key: asdict(plot) for key, plot in plots.items()}, allow_nan=False)
    # a "<" could close the element, or open a comment that hides its end
    return text.replace("<", "\\u003c")


def write_report(result: NetworkResult, path: str | os.PathLike[str]) -> Path:
    """Write a result as a self-contained HTML page, in one step.

    Parameters
    ----------
    result : NetworkResult
        What the mapper found.
    path : path
        File to write; one that is there is replaced once the page is complete.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    InputError
        When the file cannot be written.
    """
    target = Path(path)
    text = html(result)
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as failure:
        raise InputError(f"cannot be written: {failure.strerror}", source=str(path)) from None
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except OSError as failure:
        raise InputError(f"cannot be written: {failure.strerror}", source=str(path)) from None
    finally:
        Path(name).unlink(missing_ok=True)
    return target


def package_text(name: str) -> str:
    """Return a text file of this package."""
    return files("tilewright.report").joinpath(name).read_text(encoding="utf-8")


def package_version() -> str:
    """Return the installed version, or nothing when it runs from its sources."""
    try:
        return version("tilewright")
    except PackageNotFoundError:
        return ""


def plotly_script() -> str:
    """Return plotly.js with the traces that pages use: the basic bundle, a quarter of the whole."""
    return package_text("plotly-basic.min.js")


def figure_html(figure: go.Figure, *, whole: bool = True) -> str:
    """Return a figure of bars, lines and points as a page, or as part of one, with plotly.js."""
    part = str(figure.to_html(full_html=False, include_plotlyjs=False, div_id="figure"))
    part = f"<script>{plotly_script()}</script>\n{part}"
    if not whole:
        return part
    head = '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"></head>'
    return f"{head}<body>{part}</body></html>\n"
