"""How often words move: at the outermost memory, and between reads and fills of the others."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import log

from tilewright.mapper.results.result import LayerResult
from tilewright.report.quantities import NOTHING, digits
from tilewright.report.sections.layer.breakdown import role_names
from tilewright.workload.footprint import footprint

Factors = dict[tuple[str, str], float]


def factors(result: LayerResult) -> Factors:
    """Return the factor of every memory and tensor role that has one.

    At the outermost memory it is reads and writes per word of the tensor: 1 is the least that
    there can be. At the others it is reads per word written, for an output: updates per write.
    """
    found: Factors = {}
    memories = result.evaluation.memories
    for i, (name, memory) in enumerate(memories.items()):
        for tensor in result.layer.tensors:
            part = memory.tensors[tensor.name]
            if i == 0:
                words = footprint(tensor, result.layer.bounds)
                found[name, tensor.role] = (part.reads + part.writes) / words
            elif part.reuse is not None:
                found[name, tensor.role] = part.reuse
    return found


def reuse_table(layers: Sequence[LayerResult]) -> str:
    """Return a table of the factors, one row per layer, shaded by their logarithms."""
    if not layers:
        return ""
    rows = [factors(result) for result in layers]
    memories = list(layers[0].evaluation.memories)
    roles = role_names(result.evaluation for result in layers)
    columns = [
        (memory, role)
        for memory in memories
        for role in roles
        if any((memory, role) in row for row in rows)
    ]
    outer = memories[0]
    most = {
        kind: max(
            (v for row in rows for (m, _), v in row.items() if (m == outer) == kind), default=1.0
        )
        for kind in (True, False)
    }
    groups = "".join(
        f'<th scope="colgroup" class="group" colspan="{sum(m == memory for m, _ in columns)}">'
        f"{escape(memory)}<br><small>{'accesses per word' if memory == outer else 'reads per fill'}"
        "</small></th>"
        for memory in dict.fromkeys(memory for memory, _ in columns)
    )
    heads = "".join(f'<th scope="col">{escape(roles[role])}</th>' for _, role in columns)
    body = "".join(
        f'<tr><th scope="row"><a href="#layer-{i}">{escape(result.layer.name)}</a></th>'
        + "".join(
            cell(row.get(column), most[column[0] == outer], column[0] == outer)
            for column in columns
        )
        + "</tr>"
        for i, (result, row) in enumerate(zip(layers, rows, strict=True))
    )
    return (
        '<div class="scroll"><table class="heat"><thead><tr><th rowspan="2" scope="col">layer</th>'
        f"{groups}</tr><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def cell(factor: float | None, most: float, cost: bool) -> str:
    """Return one cell, shaded from 1 to the largest factor of its kind."""
    if factor is None:
        return f'<td class="none">{NOTHING}</td>'
    shade = log(max(factor, 1.0)) / log(most) if most > 1 else 0.0
    kind = ' class="cost"' if cost else ""
    return f'<td{kind} style="--heat: {shade:.3f}">{digits(factor)}</td>'
