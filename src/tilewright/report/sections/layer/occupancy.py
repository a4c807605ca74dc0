"""How full the memories are: a bar for each, with the share of every tensor's largest tile."""

from __future__ import annotations

from html import escape

from tilewright.architecture.machine import Memory
from tilewright.model.energy import element_bits
from tilewright.model.results.result import Evaluation
from tilewright.report.palette import tensor_colours
from tilewright.report.quantities import percent, size, whole
from tilewright.workload.layer import Layer


def occupancy_html(evaluation: Evaluation) -> str:
    """Return a bar per memory, or per tensor where it is partitioned: tiles against capacity."""
    bars = []
    for memory in evaluation.architecture.memories:
        bits = occupied_bits(evaluation, memory)
        if memory.tensor_bits is not None:
            for tensor, used in bits.items():
                role = roles(evaluation.layer)[tensor]
                if role in memory.tensor_bits:
                    name, share = f"{memory.name} {tensor}", memory.tensor_bits[role]
                    bars.append(bar(evaluation, memory, name, {tensor: used}, share))
        elif memory.capacity_bits is not None:
            bars.append(bar(evaluation, memory, memory.name, bits, memory.capacity_bits))
    if not bars:
        return "<p>No memory is bounded.</p>"
    return f'<div class="occupancy">{"".join(bars)}</div>'


def occupied_bits(evaluation: Evaluation, memory: Memory) -> dict[str, int]:
    """Return the bits that each stored tensor takes at most in one instance, buffering included."""
    found = evaluation.memories[memory.name].tensors
    return {
        tensor.name: found[tensor.name].peak * element_bits(memory, tensor) * memory.buffering
        for tensor in evaluation.layer.tensors
        if found[tensor.name].peak
    }


def roles(layer: Layer) -> dict[str, str]:
    """Return the role of every tensor of a layer."""
    return {tensor.name: tensor.role for tensor in layer.tensors}


def bar(
    evaluation: Evaluation, memory: Memory, name: str, bits: dict[str, int], capacity: int
) -> str:
    """Return one bar: each tensor's share of the capacity, and in words."""
    colours = tensor_colours(roles(evaluation.layer))
    found = evaluation.memories[memory.name].tensors
    segments = "".join(
        f'<i style="width: {100 * used / capacity:.3f}%; background: {colours[tensor]}" '
        f'title="{escape(tensor)}: {percent(used / capacity)}"></i>'
        for tensor, used in bits.items()
    )
    words = ", ".join(
        f'<span class="own" style="--own: {colours[tensor]}">{escape(tensor)}</span> '
        f"{whole(found[tensor].peak)} word{'s' * (found[tensor].peak != 1)}"
        for tensor in bits
    )
    twice = ", double buffered" if memory.buffering > 1 and bits else ""
    share = sum(bits.values()) / capacity
    return (
        f"<div><p><b>{escape(name)}</b> <span>{percent(share)} of {size(capacity)}</span></p>"
        f'<div class="track">{segments}</div><p class="note">{words or "not used"}{twice}</p></div>'
    )
