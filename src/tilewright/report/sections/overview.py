"""The network at a glance: its totals, and a table of its layers."""

from __future__ import annotations

from html import escape

from tilewright.mapper.results.result import NetworkResult
from tilewright.report.quantities import (
    SPACE,
    TIMES,
    cycles,
    digits,
    energy,
    energy_delay,
    percent,
    si,
)
from tilewright.report.sections.proof import objective_text, objective_value, verdict


def totals_html(result: NetworkResult) -> str:
    """Return the totals of the network as large figures, each with a line that explains it."""
    clock = result.architecture.clock_hz
    time = result.cycles / clock if clock else 0.0
    speed = result.operations / time if time else 0.0
    each = energy(result.energy_pj / result.operations if result.operations else 0.0)
    shown = [
        *minimised(result),
        ("energy", energy(result.energy_pj), f"{each} per operation"),
        ("latency", cycles(result.cycles), f"{si(time, 's')} at {si(clock, 'Hz')}"),
        (f"energy {TIMES} delay", energy_delay(result.edp_pj_cycles), "of the totals"),
        ("operations", si(result.operations), f"{si(speed, 'op/s')} on average"),
        ("utilization", percent(result.utilization), "of all units in all cycles"),
        ("power", si(result.energy_pj * 1e-12 / time if time else 0.0, "W"), "on average"),
    ]  # fmt: skip
    return "".join(
        f'<div><dt>{escape(name)}</dt><dd>{large(value)}</dd><dd class="note">{note}</dd></div>'
        for name, value, note in shown
    )


def minimised(result: NetworkResult) -> list[tuple[str, str, str]]:
    """Return what was minimised where that is none of the totals, with its value."""
    if result.minimises_totals:
        return []
    shown = objective_value(result.objective, result.value)
    return [("minimised", shown, f"{objective_text(result.objective)}, summed over the layers")]


def large(value: str) -> str:
    """Return a quantity with its unit in smaller type."""
    number, space, unit = value.partition(SPACE)
    return f"{number}<small>{space}{unit}</small>" if unit else number


def layers_table(result: NetworkResult) -> str:
    """Return the table of the layers; every row leads to the layer's section."""
    total = result.energy_pj
    heads = ["layer", "repeat", "operations", "energy", "share", "pJ per operation", "cycles"]
    heads += ["utilization", "limited by", "best"]
    rows = []
    for i, r in enumerate(result.layers):
        e = r.evaluation
        share = e.energy_pj * r.layer.repeat / total if total else 0.0
        values: list[tuple[float | None, str]] = [
            (None, f'<a href="#layer-{i}">{escape(r.layer.name)}</a>'),
            (r.layer.repeat, f"{TIMES}{r.layer.repeat}"),
            (e.operations, si(e.operations)),
            (e.energy_pj, energy(e.energy_pj)),
            (share, f'<span class="bar" style="--share: {share:.4f}">{percent(share)}</span>'),
            (e.energy_per_operation, digits(e.energy_per_operation)),
            (float(e.cycles), si(e.cycles)),
            (e.utilization, percent(e.utilization)),
            (None, escape(e.bound)),
            (r.proof.gap, verdict(r.proof)),
        ]
        cells = "".join(
            f"<td>{text}</td>" if value is None else f'<td data-value="{value!r}">{text}</td>'
            for value, text in values[1:]
        )
        rows.append(f'<tr><th scope="row">{values[0][1]}</th>{cells}</tr>')
    head = "".join(f'<th scope="col"><button type="button">{name}</button></th>' for name in heads)
    return (
        f'<div class="scroll"><table class="sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
