"""Tables for the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.architecture.description import HEADERS, chain, level_rows
from tilewright.architecture.machine import Architecture
from tilewright.architecture.units import clock_text
from tilewright.cli.output.rendering import prose, rendered, table, title, width
from tilewright.frontends.accounting import account, not_understood
from tilewright.model.energy import area, areas, without_area
from tilewright.workload.layer import Layer, Network, layer_cells

if TYPE_CHECKING:
    from tilewright.architecture.constraints.constraint import Constraints
    from tilewright.interop.maestro.syntax import Dataflow
    from tilewright.mapper.results.result import NetworkResult


def summary(result: NetworkResult) -> str:
    """Return the table of a network's mappings and the totals, and last what is proven."""
    from tilewright.layout.evaluate import BlockEvaluation
    from tilewright.mapper.results.result import HEADERS as COLUMNS
    from tilewright.mapping.text import mapping_text

    shown = table(
        COLUMNS, result.rows(),
        left=("layer", "bound by"), drop=result.spare_columns(), total=True,
    )  # fmt: skip
    parts = [title(result.title), shown]
    if len(result.layers) == 1:
        (found,) = result.layers
        if isinstance(found.evaluation, BlockEvaluation):
            parts.append(found.evaluation.blocks_text() + "\n")
        parts.append(mapping_text(found.mapping, found.layer, result.architecture))
    hardware = "\n".join(prose(line) for line in hardware_lines(result))
    return rendered(*parts, *([f"{hardware}\n"] if hardware else []), result.statement(width()))


def hardware_lines(result: NetworkResult) -> list[str]:
    """Return area and power, where an area is known, and what numbers rest on."""
    found = result.hardware
    lines = [f"Note: {note}" for note in found.notes]
    if not found.area_mm2:
        return lines
    shares = ", ".join(
        f"{name} {part.area_mm2 / found.area_mm2:.0%}"
        for name, part in found.components.items()
        if part.area_mm2
    )
    power = f"Power: {found.power_mw:.4g} mW on average, {found.leakage_mw:.4g} mW of it leakage."
    return [f"Area: {found.area_text()} ({shares}). {power}", *lines]


def network_text(network: Network) -> str:
    """Return a network as a table of its layers."""
    names, cells = layer_cells(network.layers)
    headers = (*names, "elements")
    rows = [(*row, element_text(layer)) for row, layer in zip(cells, network.layers, strict=True)]
    given = len(headers) if any(row[-1] for row in rows) else -1
    count = sum(layer.repeat for layer in network.layers)
    layers = f"{count} layers, {len(rows)} of them different" if count > 1 else "1 layer"
    return rendered(
        title(f"{network.name}: {layers}, {network.operations:,} operations"),
        table(
            headers[:given],
            [row[:given] for row in rows],
            left=("layer", "einsum", "bounds", "elements"),
            drop=("einsum",),
        ),
        prose(f"Source: {network.source}" if network.source else "Source: not given"),
    )


def model_text(network: Network) -> str:
    """Return a model as a table of its layers, and of what became of all its operations."""
    accounts = account(network)
    operations = sum(row.operations for row in accounts) or 1
    words = sum(row.words for row in accounts) or 1
    rows = [
        (
            row.status,
            row.operator,
            f"{row.nodes:,}",
            f"{row.operations:,}",
            f"{row.operations / operations:.2%}",
            f"{row.words:,}",
            f"{row.words / words:.2%}",
        )
        for row in accounts
    ]
    headers = ("what became of it", "operator", "nodes", "operations", "share", "words", "share")
    shown = table(headers, rows, left=headers[:2])
    text = f"{network_text(network)}\n\n{rendered(title('Operations'), shown)}"
    multiplied = sum(x.operations * x.repeat for x in network.layers if x.operation == "mac")
    lines = [f"Multiply-accumulates: {multiplied:,}"]
    if network.graph is not None and network.graph.parameters:
        lines.append(f"Parameters: {network.graph.parameters:,}")
    lines += [line[0].upper() + line[1:] for line in not_understood(network)]
    return "\n".join([text, *lines])


def element_text(layer: Layer) -> str:
    """Return the widths and densities that a layer gives its tensors."""
    bits = [f"{t.name} {t.bits} bits" for t in layer.tensors if t.bits is not None]
    density = [f"{t.name} {t.density:.4g} dense" for t in layer.tensors if t.density < 1]
    return ", ".join([*bits, *density])


def architecture_text(architecture: Architecture) -> str:
    """Return a machine as a table of its levels."""
    constraints = [f"Constraint: {item.words()}" for item in architecture.constraints]
    return rendered(
        title(f"{architecture.name}: {chain(architecture)}"),
        table(
            HEADERS,
            level_rows(architecture),
            left=("level", "name", "size", "remarks"),
            drop=("level", "words/cycle"),
        ),
        *map(prose, constraints),
        prose(f"Area: {area_text(architecture)}"),
        *(prose(f"Note: {note}") for note in architecture.notes),
        f"Clock: {clock_text(architecture.clock_hz)}",
        prose(f"Source: {architecture.source or 'not given'}"),
    )


def area_text(architecture: Architecture) -> str:
    """Return the area of a machine by level, and of which levels it is unknown."""
    total, unknown = area(architecture), without_area(architecture)
    if not total:
        return "unknown of every level"
    parts = ", ".join(f"{name} {mm2:.4g}" for name, mm2 in areas(architecture).items() if mm2)
    lacking = f", unknown of {', '.join(unknown)}" if unknown else ""
    return f"{total:.4g} mm2 ({parts}){lacking}"


def dataflow_text(flow: Constraints) -> str:
    """Return a dataflow, or other constraints, one demand a line."""
    also = f" ({', '.join(flow.also)})" if flow.also else ""
    rows = [(s.words(), str(s)) for s in flow.statements()]
    return rendered(
        title(f"{flow.name or 'constraints'}{also}"),
        table(("demand", "as text"), rows, left=("demand", "as text")),
        prose(f"Source: {flow.source or 'not given'}"),
    )


def style_text(style: Dataflow) -> str:
    """Return a mapping style in data-centric directives."""
    from tilewright.interop.maestro.writing import dataflow_lines

    return rendered(
        title(f"{style.name} (directives)"),
        *dataflow_lines(style),
        prose(f"Source: {style.source}"),
    )


def spread(style: Dataflow) -> str:
    """Return what a style spreads over units, and how it clusters them."""
    from tilewright.interop.maestro.syntax import Cluster

    cuts = (d for d in style.directives if isinstance(d, Cluster) or d.spatial)
    return "; ".join(map(str, cuts))
