"""Fused layers on the page: each segment with its tree, and why other layers are not fused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from html import escape

from tilewright.architecture.machine import Memory
from tilewright.fusion.room import Tile
from tilewright.mapper.fused.results.result import FusedResult
from tilewright.mapper.fused.results.segment_result import SegmentResult, shortened
from tilewright.mapper.results.result import NetworkResult
from tilewright.mapping.fused.notation.text import fused_text
from tilewright.report.palette import TENSORS
from tilewright.report.quantities import SPACE, TIMES, cycles, energy, percent, size, whole
from tilewright.report.sections.graph import Link
from tilewright.report.sections.proof import objective_value

SEGMENTS = (
    ("#7b3fa0", "#c79be8"), ("#0b7a75", "#5cc9c2"), ("#b3541e", "#f0a06a"),
    ("#3a5fcd", "#93b1ff"), ("#7a6a00", "#d9c84a"), ("#b0307a", "#f08cc0"),
)  # fmt: skip
OTHER = "var(--muted)"  # tiles of tensors that have several roles
ALONE = (
    "From here on the page is about the layers that stay alone; shares are of what these take "
    "together."
)


def colour(segment: int) -> str:
    """Return the colour of a segment as CSS; with many segments colours return."""
    light, dark = SEGMENTS[segment % len(SEGMENTS)]
    return f"light-dark({light}, {dark})"


def alone_of(result: FusedResult) -> NetworkResult:
    """Return the layers that stay alone, each as often as it does, as a result of its own."""
    layers = []
    for unfused in result.unfused:
        found = unfused.result
        layer = replace(found.layer, repeat=unfused.repeat)
        evaluation = replace(found.evaluation, layer=layer)
        layers.append(replace(found, layer=layer, evaluation=evaluation))
    return NetworkResult(
        network=replace(result.network, layers=tuple(each.layer for each in layers), graph=None),
        architecture=result.architecture,
        objective=result.objective,
        layers=tuple(layers),
        seconds=result.seconds,
    )


def links(result: FusedResult) -> dict[str, Link]:
    """Return what the layers of segments lead to, by their names in the graph."""
    return {
        name: Link(f"segment-{i}", found.energy_pj, colour(i))
        for i, segment in enumerate(result.segments)
        for name, found in segment.evaluation.layers.items()
    }


def fused_proof_html(result: FusedResult) -> str:
    """Return what is proven, in a box."""
    said, space = result.statement().split("\n", 1)
    words, head, *more = said.split(". ")
    saved = 1 - result.value / result.value_alone if result.value_alone else 0.0
    values = (objective_value(result.objective, v) for v in (result.value_alone, result.value))
    if result.segments and not result.limited:
        words += f"; {' instead of '.join(reversed(list(values)))}, {percent(saved)} less"
    mark = "proven" if result.optimal else "open"
    label, _, text = space.partition(": ")
    return (
        f'<div class="proof {mark}"><p class="head">{escape(head.removesuffix("."))}.</p>'
        f"<p>{escape('. '.join([words, *more]).removesuffix('.'))}.</p>"
        f"<p><b>{label}:</b> {escape(text)}</p></div>"
    )


def segments_section(result: FusedResult) -> str:
    """Return the section of the segments, and of the edges that stay unfused."""
    note = (
        "Layers of a segment share loops: the tensors between them stay on the chip. A bar is what "
        "a memory holds while a layer runs: tensors between the layers in the colour of the "
        "segment, others in those of inputs, weights and outputs."
    )
    if not result.segments:
        note = result.nothing
    items = "".join(segment_html(i, found, result) for i, found in enumerate(result.segments))
    return (
        f'<section id="segments"><h2>Fused layers</h2><p class="note">{note}</p>\n'
        f"{items}{reasons_html(result)}</section>\n"
    )


def segment_html(number: int, found: SegmentResult, result: FusedResult) -> str:
    """Return a segment: cost before and after, its tree, and how full the memories are."""
    before, after = (objective_value(result.objective, v) for v in (found.value_alone, found.value))
    saved = percent(1 - found.value / found.value_alone) if found.value_alone else ""
    times = f" {TIMES}{found.repeat}" if found.repeat > 1 else ""
    verdict = (
        '<span class="tick">✓&nbsp;proven</span>'
        if found.optimal
        else f'<span class="gap">gap {percent(found.gap)}</span>'
    )
    costs = f"<span>{before} → {after}</span>\n<span>{saved} less</span>{verdict}"
    if result.limited:
        # with limits for all together, what each costs at least means little
        own = found.evaluation
        costs = f"<span>{energy(own.energy_pj)}</span>\n<span>{cycles(own.cycles)}</span>"
    tree = escape(fused_text(found.mapping, found.segment, result.architecture).rstrip("\n"))
    return f"""
<details class="layer segment" id="segment-{number}" style="--own: {colour(number)}" open>
<summary><h3>{escape(shortened(found.names))}{times}</h3>{costs}</summary>
<div class="columns"><div><h4>Tree</h4><pre class="nest" tabindex="0">{tree}</pre></div>
<div><h4>Between the layers</h4>{exchanged_html(found)}
<p class="note">{found.outer_words_saved:,} words less to and from \
{escape(result.architecture.memories[0].name)}, one run.</p>
<h4>What fills the memories</h4>{branches_html(found, result)}</div></div>
</details>"""


def exchanged_html(found: SegmentResult) -> str:
    """Return a table of the exchanged tensors: the tile that is held, where, and the whole."""
    rows = "".join(
        f'<tr><th scope="row">{escape(tile.tensor)}</th>'
        f"<td>{TIMES.join(map(str, tile.extents))}</td><td>{escape(tile.memory)}</td>"
        f"<td>{tile.words:,}</td></tr>"
        for tile in found.exchanged
    )
    heads = ("tensor", "tile", "held in", "words in all")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def branches_html(found: SegmentResult, result: FusedResult) -> str:
    """Return for every bounded memory a bar per branch: the tiles that are alive while it runs."""
    own = {tile.tensor for tile in found.exchanged}
    bars = "".join(
        f"<div><p><b>{escape(memory.name)}</b> <span>of {size(memory.total_bits)}</span></p>"
        f"{''.join(branch_bars(memory, found.evaluation.alive[memory.name], own))}</div>"
        for memory in result.architecture.memories
        if memory.total_bits
    )
    return f'<div class="occupancy branches">{bars or "<p>No memory is bounded.</p>"}</div>'


def branch_bars(memory: Memory, alive: Mapping[str, list[Tile]], own: set[str]) -> Iterator[str]:
    """Yield a bar for each branch of a segment."""
    room = memory.total_bits or 1
    for layer, tiles in alive.items():
        parts = "".join(
            f'<i style="width: {100 * tile.bits / room:.3f}%; background: {tile_colour(tile, own)}"'
            f' title="{escape(tile.tensor)}: {whole(tile.words)} words, {size(tile.bits)}"></i>'
            for tile in tiles
        )
        share = percent(sum(tile.bits for tile in tiles) / room)
        held = ", ".join(escape(tile.tensor) for tile in tiles)
        yield (
            f'<div class="branch" title="{held or "nothing"}"><span>'
            f'{escape(layer.rpartition(".")[2])}</span><div class="track">{parts}</div>'
            f"<span>{share}</span></div>"
        )


def tile_colour(tile: Tile, own: set[str]) -> str:
    """Return the colour of a tile: exchanged tensors have that of their segment."""
    if tile.tensor in own:
        return "var(--own)"
    (role, *more) = sorted(tile.roles)
    return OTHER if more else TENSORS.get(role, OTHER)


def reasons_html(result: FusedResult) -> str:
    """Return why other layers that exchange a tensor are not fused: a row for each reason."""
    groups: dict[str, list[str]] = {}
    for each in result.unfused_edges:
        amount = f"{SPACE}<small>{escape(each.amount)}</small>" if each.amount else ""
        text = f"{escape(each.edge.producer)} → {escape(each.edge.reader)}{amount}"
        groups.setdefault(each.because, []).append(text)
    if not groups:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(because)}</th><td>{"<br>".join(own)}</td></tr>'
        for because, own in groups.items()
    )
    return (
        '<h3>Why others are not</h3><div class="scroll"><table class="reasons">'
        '<thead><tr><th scope="col">reason</th><th scope="col">layers</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )
