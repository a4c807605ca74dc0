"""Statistics of a layer: reuse by kind, what networks and memories must be able to do."""

from __future__ import annotations

from html import escape

from tilewright.model.results.result import Evaluation
from tilewright.report.quantities import NOTHING, TIMES, digits, percent, si


def statistics_html(evaluation: Evaluation) -> str:
    """Return reuse factors by level and tensor, and requirements of networks and memories."""
    found = evaluation.statistics
    tensors = [tensor.name for tensor in evaluation.layer.tensors]
    levels = [*evaluation.architecture.position][:-1]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in ("level", *tensors, "needs"))
    rows = []
    for level in levels:
        cells = []
        for tensor in tensors:
            kinds = [r for r in found.reuse if (r.level, r.tensor) == (level, tensor)]
            cells.append(
                f"<td>{TIMES}{digits(kinds[0].factor)} <small>{kinds[0].kind}</small></td>"
                if kinds
                else f"<td>{NOTHING}</td>"
            )
        rows.append(
            f'<tr><th scope="row">{escape(level)}</th>{"".join(cells)}'
            f"<td>{needs(evaluation, level)}</td></tr>"
        )
    note = (
        f"{digits(found.throughput)} operations per cycle: utilization "
        f"{percent(found.utilization)}; while computing {percent(found.spatial_utilization)} of "
        "the units work on average"
    )
    return (
        f'<div class="scroll"><table class="traffic"><thead><tr>{head}</tr></thead>'
        f'<tbody>{"".join(rows)}</tbody></table></div><p class="note">{note}</p>'
    )


def needs(evaluation: Evaluation, level: str) -> str:
    """Return the size that a memory needs, or the words per cycle that a network needs."""
    found = evaluation.statistics
    if level in found.buffers:
        return si(found.buffers[level].bits / 8, "B")
    network = found.bandwidth[level]
    return (
        f"{digits(network.peak)} words/cycle at most, {digits(network.average)} on average, "
        "for no stall"
    )
