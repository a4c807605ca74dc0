"""One section per layer: its mapping, what fills the memories, where energy goes, the proof."""

from __future__ import annotations

from html import escape

from tilewright.mapper.results.result import LayerResult
from tilewright.mapping.nodes import Spatial, Store
from tilewright.mapping.structure import Structure, resolve
from tilewright.mapping.text import mapping_text
from tilewright.model.results.result import Evaluation
from tilewright.report.palette import level_colours, tensor_colours
from tilewright.report.quantities import (
    NOTHING,
    TIMES,
    cycles,
    digits,
    energy,
    percent,
    si,
    whole,
)
from tilewright.report.sections.layer.breakdown import energy_by_level
from tilewright.report.sections.layer.occupancy import occupancy_html, roles
from tilewright.report.sections.layer.statistics import statistics_html
from tilewright.report.sections.proof import layer_proof_html, verdict
from tilewright.workload.layer import Tensor

NEST_NOTE = (
    '<p class="note">From the outermost level to the innermost. <code>for C in 28 x 4</code> cuts '
    "what is left of C into 28 chunks of 4 and takes one after the other; <code>spatial</code> "
    "gives each element of the array one of them.</p>"
)


def layer_html(number: int, result: LayerResult) -> str:
    """Return the section of a layer, closed until it is asked for."""
    e, layer = result.evaluation, result.layer
    repeat = f" {TIMES}{layer.repeat}" if layer.repeat > 1 else ""
    bounds = " · ".join(f"{escape(d)}&nbsp;{n}" for d, n in layer.bounds.items())
    return f"""
<details class="layer" id="layer-{number}">
<summary><h3>{escape(layer.name)}{repeat}</h3><span>{energy(e.energy_pj)}</span>
<span>{cycles(e.cycles)}</span><span>{percent(e.utilization)} utilized</span>
{verdict(result.proof)}</summary>
<p class="einsum"><code>{escape(layer.einsum)}</code> <span>{bounds}</span></p>
<div class="columns"><div><h4>Mapping</h4>{nest_html(result)}{NEST_NOTE}</div>
<div><h4>What fills the memories</h4>{occupancy_html(e)}
<h4>Limits</h4>{limits_html(e)}<h4>Proof</h4>{layer_proof_html(result)}</div></div>
<h4>Traffic and energy, one run of the layer</h4>{traffic_table(result)}
<h4>Reuse and requirements</h4>{statistics_html(e)}
</details>"""


def nest_html(result: LayerResult) -> str:
    """Return the mapping as an indented loop nest, its levels marked with their colours."""
    machine = result.evaluation.architecture
    colours = level_colours(machine)
    nodes = (*result.mapping.nodes, None)
    lines = mapping_text(result.mapping, result.layer, machine).splitlines()
    shown = []
    for node, line in zip(nodes, lines, strict=True):
        own = None
        if isinstance(node, Store):
            own = node.memory
        elif isinstance(node, Spatial):
            own = node.array
        elif node is None:
            own = machine.compute.name
        text = escape(line)
        if own is not None:
            bare = line.lstrip()
            mark = f'<span class="own" style="--own: {colours[own]}">{escape(bare)}</span>'
            text = line[: len(line) - len(bare)] + mark
        shown.append(text)
    return f'<pre class="nest" tabindex="0">{chr(10).join(shown)}</pre>'


def limits_html(evaluation: Evaluation) -> str:
    """Return the cycles that every level needs; the largest is the layer's latency."""
    compute = evaluation.architecture.compute.name
    needs = {compute: float(evaluation.compute.cycles)}
    needs |= {name: memory.cycles for name, memory in evaluation.memories.items()}
    needs |= {name: network.cycles for name, network in evaluation.networks.items()}
    rows = "".join(
        f'<div class="{"most" if name == evaluation.bound else ""}"><dt>{escape(name)}</dt>'
        f"<dd>{cycles(need)}</dd></div>"
        for name, need in needs.items()
        if need
    )
    used, units = evaluation.compute.instances_used, evaluation.compute.instances
    note = f"{used:,} of {units:,} {escape(compute)} units work; " + (
        f"{digits(evaluation.operations_per_cycle)} operations per cycle"
    )
    return f'<dl class="limits">{rows}</dl><p class="note">{note}</p>'


def traffic_table(result: LayerResult) -> str:
    """Return a row per memory and tensor, then networks, compute and leakage, then the total."""
    e = result.evaluation
    structure = resolve(result.mapping, result.layer, e.architecture)
    colours = tensor_colours(roles(e.layer))
    rows = []
    for memory in e.architecture.memories:
        # nothing fills the outermost memory, so nothing there is reused
        outermost = memory is e.architecture.memories[0]
        for tensor in e.layer.tensors:
            found = e.memories[memory.name].tensors[tensor.name]
            head = (
                f'<th scope="row">{escape(memory.name)}</th><td><span class="own" '
                f'style="--own: {colours[tensor.name]}">{escape(tensor.name)}</span></td>'
            )
            if not found.peak:
                rows.append(f'<tr class="bypassed">{head}<td colspan="6">bypassed</td></tr>')
                continue
            reuse = None if outermost else found.reuse
            rows.append(
                f"<tr>{head}<td>{tile_text(structure, memory.name, tensor)}</td>"
                f"<td>{whole(found.peak)}</td><td>{whole(found.reads)}</td>"
                f"<td>{whole(found.writes)}</td>"
                f"<td>{NOTHING if reuse is None else digits(reuse)}</td>"
                f"{energy_cell(found.energy_pj, e.energy_pj)}</tr>"
            )
    memories = set(e.memories)
    for name, part in energy_by_level(e).items():
        if name not in memories and (part or name == e.architecture.compute.name):
            what = f"{si(e.operations)} operations" if name == e.architecture.compute.name else ""
            if name in e.networks:
                what = f"{whole(sum(e.networks[name].hops.values()))} hops"
            rows.append(
                f'<tr><th scope="row">{escape(name)}</th><td colspan="6">{what}</td>'
                f"{energy_cell(part, e.energy_pj)}</tr>"
            )
    heads = ("memory", "tensor", "largest tile", "words", "reads", "writes", "reuse", "energy")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<div class="scroll"><table class="traffic"><thead><tr>{head}</tr></thead>'
        f'<tbody>{"".join(rows)}</tbody><tfoot><tr><th scope="row" colspan="7">total</th>'
        f'<td class="energy"><span class="sum">{energy(e.energy_pj)}</span> <small></small></td>'
        "</tr></tfoot></table></div>"
    )


def energy_cell(part: float, total: float) -> str:
    """Return an energy with a bar of its share."""
    share = part / total if total else 0.0
    return (
        f'<td class="energy"><span class="bar" style="--share: {share:.4f}">{energy(part)}</span> '
        f"<small>{percent(share)}</small></td>"
    )


def tile_text(structure: Structure, memory: str, tensor: Tensor) -> str:
    """Return the extents of a tensor's largest tile in a memory, along its dimensions."""
    extents = structure.extents(structure.depths[memory, tensor.name])
    shown = [f"{escape(d)}&nbsp;{extents[d]}" for d in tensor.dimensions if extents[d] > 1]
    return " · ".join(shown) or "1 word"


def layer_sections(layers: tuple[LayerResult, ...]) -> str:
    """Return all layers' sections."""
    return "".join(layer_html(i, result) for i, result in enumerate(layers))
