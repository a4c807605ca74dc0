"""What is known about better mappings, in words."""

from __future__ import annotations

from html import escape

from tilewright.mapper.objective import parse_objective, unit_of
from tilewright.mapper.proof import Proof
from tilewright.mapper.result import LayerResult, NetworkResult
from tilewright.mapper.uniform_result import UniformResult
from tilewright.report.quantities import (
    cycles,
    duration,
    energy,
    energy_delay,
    percent,
    power_of_ten,
)


def objective_text(objective: str) -> str:
    """Return an objective in words."""
    return parse_objective(objective).least


def objective_value(objective: str, value: float) -> str:
    """Return a value of an objective with its unit."""
    goal = parse_objective(objective)
    if goal.movement:
        return f"{value:.4g} {goal.unit}"
    powers = goal.powers
    if powers == (1.0, 0.0):
        return energy(value)
    if powers == (0.0, 1.0):
        return cycles(value)
    return energy_delay(value) if powers == (1.0, 1.0) else f"{value:.4g} {unit_of(powers)}"


def proof_html(result: NetworkResult) -> str:
    """Return what is proven about the network's mappings, and in which space."""
    if isinstance(result, UniformResult):
        head, _, text = result.verdict().partition(". ")
        mark = "proven" if result.optimal else "open"
        return proof_box(result, mark, f"{escape(head)}.", escape(text))
    open_ = [r for r in result.layers if not r.proof.optimal]
    left = [layer.name for layer in result.unmapped]
    count = len(result.layers) + len(left)
    wanted = objective_text(result.objective)
    if result.optimal:
        which = "this layer" if count == 1 else f"any of the {count} layers"
        head = f"Proven: nothing better exists for {which}."
        text = (
            "Every mapping of the space below was covered, by evaluation or by a bound: "
            f"none has {parse_objective(result.objective).better}."
        )
        mark = "proven"
    elif result.regular:
        head = "Proven among regular mappings: none of them is better."
        text = f"Others can be no more than {percent(result.gap)} better."
        mark = "proven"
    else:
        bounds = sum(r.proof.lower_bound * r.layer.repeat for r in result.layers)
        values = sum(r.proof.value * r.layer.repeat for r in result.layers)
        head = f"{count - len(open_) - len(left)} of {count} layers proven to have the {wanted}."
        text = "The search stopped before the rest was settled."
        if open_:
            worst = max(open_, key=lambda r: r.proof.gap)
            text += (
                " Summed over the layers that have a mapping the objective is "
                f"{objective_value(result.objective, values)} and cannot be less than "
                f"{objective_value(result.objective, bounds)}; no layer can be more than "
                f"{percent(worst.proof.gap)} better, which is the gap of "
                f"{escape(worst.layer.name)}."
            )
        if left:
            text += f" Not mapped: {escape(', '.join(left))}."
        mark = "open"
    return proof_box(result, mark, head, text)


def proof_box(result: NetworkResult, mark: str, head: str, text: str) -> str:
    """Return what is proven in a box, with the searched spaces."""
    return (
        f'<div class="proof {mark}"><p class="head">{head}</p><p>{text}</p>{spaces(result)}</div>'
    )


def spaces(result: NetworkResult) -> str:
    """Return the searched spaces in words, their sizes and the time that the search took."""
    texts = dict.fromkeys(r.proof.space for r in result.layers)
    sizes = [r.proof.mappings_in_space for r in result.layers]
    if not sizes:
        return ""
    low, high = power_of_ten(min(sizes)), power_of_ten(max(sizes))
    span = low if low == high else f"{low} to {high}"
    each = "" if len(sizes) == 1 else " per layer"
    words = "".join(f"<p><b>Searched space:</b> {escape(text)}</p>" for text in texts)
    return f"{words}<p>{span} mappings{each}, in {duration(result.seconds)}{result.reuse()}.</p>"


def layer_proof_html(result: LayerResult) -> str:
    """Return what is known about better mappings of the layer."""
    proof, objective = result.proof, result.objective
    value = objective_value(objective, proof.value)
    space = power_of_ten(proof.mappings_in_space)
    if proof.optimal:
        text = f"{value} is the optimum: none of the {space} mappings is better."
    else:
        bound = objective_value(objective, proof.lower_bound)
        text = (
            f"{value} is the best found; no mapping has less than {bound} (gap "
            f"{percent(proof.gap)}, {space} mappings)."
        )
        if proof.regular:
            text += " No regular mapping is better."
    if proof.search_seconds is None:
        return f"<p>{text} Search: {duration(proof.seconds)}.</p>"
    earlier = f"Search: {duration(proof.search_seconds)}, earlier; from the cache"
    return f"<p>{text} {earlier} in {duration(proof.seconds)}.</p>"


def verdict(proof: Proof) -> str:
    """Return whether a mapping is proven best, else its gap."""
    if proof.optimal:
        return '<span class="tick">✓&nbsp;proven</span>'
    best = "regular, " if proof.regular else ""
    return f'<span class="gap">{best}gap {percent(proof.gap)}</span>'
