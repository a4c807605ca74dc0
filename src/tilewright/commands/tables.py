"""Tables for the terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from io import StringIO
from shutil import get_terminal_size

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tilewright.architecture.constraints import Constraints
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.architecture.units import clock_text, size_text
from tilewright.directives.syntax import Cluster, Dataflow
from tilewright.directives.writing import dataflow_lines
from tilewright.frontends.accounting import account, not_understood
from tilewright.mapper.result import HEADERS, NetworkResult
from tilewright.workload.layer import Layer, Network

UNLIMITED_WIDTH = 400


def rendered(*parts: RenderableType) -> str:
    """Return what rich makes of some parts: in colour and as wide as the terminal, if it is one."""
    terminal = sys.stdout.isatty()
    text = StringIO()
    console = Console(
        file=text,
        force_terminal=terminal,
        # a pipe has no width: nothing is cut off
        width=get_terminal_size().columns if terminal else UNLIMITED_WIDTH,
        highlight=False,
        markup=False,
    )
    for part in parts:
        console.print(part, soft_wrap=isinstance(part, Text))
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str]) -> Table:
    """Return a table; columns that are not named in `left` are flush right."""
    result = Table(box=SIMPLE_HEAD, pad_edge=False)
    for header in headers:
        result.add_column(header, justify="left" if header in left else "right", overflow="fold")
    for row in rows:
        # plain text: names may look like markup
        result.add_row(*(Text(cell) for cell in row))
    return result


def summary(result: NetworkResult) -> str:
    """Return the table of a network's mappings, the totals, and what is proven."""
    rows = result.rows()
    shown = table(HEADERS, rows[:-1], left=("layer", "bound by"))
    shown.add_section()
    shown.add_row(*(Text(cell) for cell in rows[-1]), style="bold")
    return rendered(Text(result.title, style="bold"), shown, Text(result.statement()))


def network_text(network: Network) -> str:
    """Return a network as a table of its layers."""
    rows = [
        (
            layer.name,
            str(layer.repeat),
            f"{layer.operations:,}",
            layer.einsum,
            ", ".join(f"{dimension} {bound}" for dimension, bound in layer.bounds.items()),
            element_text(layer),
        )
        for layer in network.layers
    ]
    headers = ("layer", "repeat", "operations", "einsum", "bounds", "elements")
    given = len(headers) if any(row[-1] for row in rows) else -1
    count = sum(layer.repeat for layer in network.layers)
    return rendered(
        Text(
            f"{network.name}: {count} layers, {len(rows)} of them different, "
            f"{network.operations:,} operations",
            style="bold",
        ),
        table(
            headers[:given],
            [row[:given] for row in rows],
            left=("layer", "einsum", "bounds", "elements"),
        ),
        Text(f"Source: {network.source}" if network.source else "Source: not given"),
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
    text = f"{network_text(network)}\n\n{rendered(Text('Operations', style='bold'), shown)}"
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
    rows = []
    for level in architecture.levels:
        count = f"{architecture.instances(level.name):,}"
        if isinstance(level, Memory):
            energy = f"{level.read_energy:.4g} / {level.write_energy:.4g}"
            row = (size(level), f"{level.word_bits} bits", energy, bandwidth(level), rules(level))
        elif isinstance(level, Array):
            axes = " x ".join(f"{axis} {size}" for axis, size in level.axes.items())
            limit = "" if level.bandwidth is None else f"{level.bandwidth:.4g}"
            row = (axes, "", f"{level.hop_energy:.4g}", limit, links(level))
        else:
            row = ("", "", f"{level.energy:.4g}", "", operation(level))
        rows.append((type(level).__name__.lower(), level.name, count, *row))
    headers = (
        "level", "name", "instances", "size", "word", "energy (pJ)", "words/cycle", "remarks",
    )  # fmt: skip
    constraints = [f"Constraint: {item.words()}" for item in architecture.constraints]
    return rendered(
        Text(f"{architecture.name}: {chain(architecture)}", style="bold"),
        table(headers, rows, left=("level", "name", "size", "remarks")),
        *(Text(line) for line in constraints),
        Text(f"Clock: {clock_text(architecture.clock_hz)}"),
        Text(f"Source: {architecture.source or 'not given'}"),
    )


def dataflow_text(flow: Constraints) -> str:
    """Return a dataflow, or other constraints, one demand a line."""
    also = f" ({', '.join(flow.also)})" if flow.also else ""
    rows = [(s.words(), str(s)) for s in flow.statements()]
    return rendered(
        Text(f"{flow.name or 'constraints'}{also}", style="bold"),
        table(("demand", "as text"), rows, left=("demand", "as text")),
        Text(f"Source: {flow.source or 'not given'}"),
    )


def style_text(style: Dataflow) -> str:
    """Return a mapping style in data-centric directives."""
    return rendered(
        Text(f"{style.name} (directives)", style="bold"),
        *(Text(line) for line in dataflow_lines(style)),
        Text(f"Source: {style.source}"),
    )


def spread(style: Dataflow) -> str:
    """Return what a style spreads over units, and how it clusters them."""
    cuts = (d for d in style.directives if isinstance(d, Cluster) or d.spatial)
    return "; ".join(map(str, cuts))


def chain(architecture: Architecture) -> str:
    """Return the levels of a machine in one line."""
    return " > ".join(
        f"{level.name} {'x'.join(str(size) for size in level.axes.values())}"
        if isinstance(level, Array)
        else level.name
        for level in architecture.levels
    )


def size(memory: Memory) -> str:
    """Return the capacity of one instance."""
    if memory.tensor_bits is not None:
        return ", ".join(f"{role} {size_text(bits)}" for role, bits in memory.tensor_bits.items())
    return "unbounded" if memory.capacity_bits is None else size_text(memory.capacity_bits)


def bandwidth(memory: Memory) -> str:
    """Return the words that one instance reads and writes per cycle."""
    if memory.shared_bandwidth is not None:
        return f"{memory.shared_bandwidth:.4g} shared"
    limits = (memory.read_bandwidth, memory.write_bandwidth)
    if limits == (None, None):
        return "unlimited"
    return " / ".join("unlimited" if limit is None else f"{limit:.4g}" for limit in limits)


def rules(memory: Memory) -> str:
    """Return what a memory does and does not do."""
    remarks = ["double buffered"] if memory.buffering == 2 else []
    if memory.retention != "tile":
        remarks.append(f"{memory.retention} retention")
    if memory.keep is not None:
        remarks.append(f"keeps only {', '.join(sorted(memory.keep))}")
    if memory.must_keep:
        remarks.append(f"must keep {', '.join(sorted(memory.must_keep))}")
    return "; ".join(remarks)


def links(array: Array) -> str:
    """Return what the network of an array can do."""
    able = {
        "multicast": array.multicast,
        "reduction": array.reduction,
        "forwarding": array.forwarding,
    }
    return ", ".join(name if has else f"no {name}" for name, has in able.items())


def operation(compute: Compute) -> str:
    """Return how a compute unit works."""
    cycles = "1 cycle" if compute.cycles == 1 else f"{compute.cycles:.4g} cycles"
    return f"{cycles} per operation{'; gated' if compute.gated else ''}"


def lists(
    networks: Sequence[Network] | None,
    machines: Sequence[Architecture] | None,
    flows: Sequence[Constraints] | None,
    styles: Sequence[Dataflow] | None,
) -> str:
    """Return the tables of what ships."""
    parts: list[RenderableType] = []
    if networks is not None:
        rows = [
            (n.name, str(sum(layer.repeat for layer in n.layers)), f"{n.operations:,}")
            for n in networks
        ]
        parts.append(table(("workload", "layers", "operations"), rows, left=("workload",)))
    if machines is not None:
        pairs = [(machine.name, chain(machine)) for machine in machines]
        parts.append(table(("architecture", "levels"), pairs, left=("architecture", "levels")))
    if flows is not None:
        pairs = [(", ".join((flow.name, *flow.also)), str(flow)) for flow in flows]
        parts.append(table(("dataflow", "constraints"), pairs, left=("dataflow", "constraints")))
    if styles is not None:
        pairs = [(style.name, spread(style)) for style in styles]
        parts.append(
            table(("style", "spatial directives"), pairs, left=("style", "spatial directives"))
        )
    return rendered(*parts)
