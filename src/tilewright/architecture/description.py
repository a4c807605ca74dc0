"""A machine in words: its chain of levels in one line, and a table of them."""

from __future__ import annotations

from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.architecture.units import size_text
from tilewright.text import html_table

HEADERS = (
    "level", "name", "instances", "size", "word", "energy (pJ)", "words/cycle", "remarks",
)  # fmt: skip


def level_rows(architecture: Architecture) -> list[tuple[str, ...]]:
    """Return the cells of a table: one row per level under `HEADERS`."""
    rows: list[tuple[str, ...]] = []
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
    return rows


def architecture_html(architecture: Architecture) -> str:
    """Return a machine as a table for notebooks."""
    return html_table(
        f"{architecture.name}: {chain(architecture)}", HEADERS, level_rows(architecture)
    )


def chain(architecture: Architecture) -> str:
    """Return the levels of a machine in one line, with sizes of arrays and memories."""

    def shown(level: Level) -> str:
        if isinstance(level, Array):
            return f"{level.name} {'x'.join(str(size) for size in level.axes.values())}"
        if isinstance(level, Memory) and (level.capacity_bits or level.tensor_bits):
            return f"{level.name} {size(level)}"
        return level.name

    return " > ".join(map(shown, architecture.levels))


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
    told = [name if has else f"no {name}" for name, has in able.items()]
    told += [f"split along {axis}" for axis in array.split]
    return ", ".join(told)


def operation(compute: Compute) -> str:
    """Return how a compute unit works."""
    cycles = "1 cycle" if compute.cycles == 1 else f"{compute.cycles:.4g} cycles"
    return f"{cycles} per operation{'; gated' if compute.gated else ''}"
