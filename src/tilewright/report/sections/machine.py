"""The machine as nested boxes: what a level feeds stands inside it."""

from __future__ import annotations

from html import escape

from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.mapper.results.result import NetworkResult
from tilewright.mapping.idle import idle_text
from tilewright.model.energy import area, leakage_power, without_area
from tilewright.report.palette import level_colours
from tilewright.report.quantities import SPACE, TIMES, digits, energy, si, size
from tilewright.report.roofline import peak

Facts = list[tuple[str, str]]


def machine_html(architecture: Architecture) -> str:
    """Return the nested boxes and the facts about the whole machine."""
    facts = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"
        for name, value in machine_facts(architecture)
    )
    return f'<div class="levels">{boxes(architecture)}</div><dl class="facts">{facts}</dl>'


def idle_html(result: NetworkResult) -> str:
    """Return which arrays constraints leave mostly idle, if any."""
    text = idle_text(result.idle, len(result.network.layers))
    return f'<p class="note">{escape(text[:1].upper() + text[1:])}.</p>' if text else ""


def boxes(architecture: Architecture) -> str:
    """Return the levels, each inside the one above it."""
    colours = level_colours(architecture)
    inside = ""
    for level in reversed(architecture.levels):
        kind = type(level).__name__.lower()
        shown = " · ".join(f"{value}" for value in level_facts(level, architecture))
        picture = grid(level) if isinstance(level, Array) else ""
        inside = (
            f'<div class="level {kind}" style="--own: {colours[level.name]}">{picture}'
            f'<p><b>{escape(level.name)}</b> <span class="what">{describe(level)}</span>'
            f'<br><span class="specs">{shown}</span></p>{inside}</div>'
        )
    return inside


def describe(level: Level) -> str:
    """Return what a level is, in a few words."""
    if isinstance(level, Memory):
        if level.tensor_bits is not None:
            return " + ".join(
                f"{size(bits)} {escape(role)}" for role, bits in level.tensor_bits.items()
            )
        return "unbounded" if level.capacity_bits is None else size(level.capacity_bits)
    if isinstance(level, Array):
        axes = f" {TIMES} ".join(str(n) for n in level.axes.values())
        elements = f"{level.elements:,} elements"
        return f"{axes} array, {elements}" if len(level.axes) > 1 else f"array of {elements}"
    return "compute unit"


def level_facts(level: Level, architecture: Architecture) -> list[str]:
    """Return what the machine's file says about a level, in the order of its importance."""
    demands = [s for s in architecture.statements if s.at == level.name and s.dims is None]
    told = [escape(statement.words()) for statement in demands]
    if isinstance(level, Memory):
        return memory_facts(level) + told
    if isinstance(level, Compute):
        pace = "1 cycle" if level.cycles == 1 else f"{digits(level.cycles)} cycles"
        facts = [f"{energy(level.energy)} and {pace} per operation"]
        return [*facts, "gated by zeros"] if level.gated else facts
    facts = [
        word
        for word, on in (
            ("multicast", level.multicast),
            ("reduction", level.reduction),
            ("forwarding", level.forwarding),
        )
        if on
    ]
    facts += [f"may be split along {escape(axis)}" for axis in level.split]
    if level.hop_energy:
        facts.append(f"{energy(level.hop_energy)}/word and hop")
    if level.bandwidth is not None:
        facts.append(f"{digits(level.bandwidth)} words/cycle")
    for statement in architecture.statements:
        if statement.at == level.name and statement.dims is not None:
            dimensions = ", ".join(sorted(statement.dims)) or "nothing"
            axes = level.axes if statement.axis is None else (statement.axis,)
            facts += [f"{escape(axis)} unrolls {escape(dimensions)}" for axis in axes]
    return facts + told


def memory_facts(memory: Memory) -> list[str]:
    """Return width, energies, bandwidth and restrictions of a memory."""
    facts = [f"{memory.word_bits}-bit words"]
    if memory.read_energy == memory.write_energy:
        facts.append(f"{energy(memory.read_energy)}/word")
    else:
        facts.append(
            f"{energy(memory.read_energy)}/word read, {energy(memory.write_energy)}/word written"
        )
    for word, bandwidth in (
        ("", memory.shared_bandwidth),
        (" read", memory.read_bandwidth),
        (" written", memory.write_bandwidth),
    ):
        if bandwidth is not None:
            facts.append(f"{digits(bandwidth)} words/cycle{word}")
    if memory.buffering > 1:
        facts.append("double buffered")
    if memory.keep is not None:
        facts.append(f"keeps only {escape(', '.join(sorted(memory.keep)))}")
    if memory.must_keep:
        facts.append(f"must keep {escape(', '.join(sorted(memory.must_keep)))}")
    return facts


def grid(array: Array) -> str:
    """Return a small picture of an array: its elements, at most eight along each axis."""
    columns, *more = (min(n, 8) for n in array.axes.values())
    rows = more[0] if more else 1
    cells = "".join(
        f'<rect x="{5 * x}" y="{5 * y}" width="4" height="4" rx="1"/>'
        for y in range(rows)
        for x in range(columns)
    )
    w, h = 5 * columns - 1, 5 * rows - 1
    return (
        f'<svg class="grid" width="{w}" height="{h}" viewBox="0 0 {w} {h}" '
        f'aria-hidden="true">{cells}</svg>'
    )


def machine_facts(architecture: Architecture) -> Facts:
    """Return what holds for the whole machine."""
    units = architecture.instances(architecture.compute.name)
    facts = [
        ("clock", si(architecture.clock_hz, "Hz")),
        (f"{architecture.compute.name} units", f"{units:,}"),
        ("peak", si(peak(architecture) * architecture.clock_hz, "op/s")),
    ]
    lacking = without_area(architecture)
    if total := area(architecture):
        unknown = f" (unknown of {', '.join(lacking)})" if lacking else ""
        facts.append(("area", f"{digits(total)}{SPACE}mm²{unknown}"))
    else:
        facts.append(("area", "unknown"))
    if leaking := leakage_power(architecture):
        facts.append(("leakage", si(leaking * 1e-3, "W")))
    facts += [("note", note) for note in architecture.notes]
    if architecture.source:
        facts.append(("source", architecture.source))
    return facts
