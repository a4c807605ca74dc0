"""What is known about better mappings, in words."""

from __future__ import annotations

from html import escape

from tilewright.mapper.objective.objective import parse_objective, unit_of
from tilewright.mapper.results.proof import Proof
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.results.searched_space import ALL
from tilewright.mapper.results.statement import proven_text
from tilewright.mapper.styles.result import UniformResult
from tilewright.report.quantities import (
    SPACE,
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
    head, _, rest = proven_text(result).partition(". ")
    text = escape(rest)
    if not result.optimal and len(result.network.layers) > 1:
        # the reason follows below
        head, _, reason = head.partition(": ")
        gap = f"; largest gap {percent(result.gap)}" if result.lower_bound > 0 else ""
        text, head = f"{escape(reason[:1].upper() + reason[1:])}. {text}", f"{head}{gap}"
    if not result.optimal and result.layers and len(result.network.layers) > 1:
        which = "the layers" if not result.unmapped else f"{len(result.layers)} mapped layers"
        value, bound = (
            objective_value(result.objective, each) for each in (result.value, result.lower_bound)
        )
        least = f"cannot be less than {bound}"
        if bound == value and value:
            gap = percent(1 - result.lower_bound / result.value)
            least = f"at most {gap} of it could be saved"
        text += f" Summed over {which} the objective is {value} and {least}."
    mark = "proven" if result.optimal else "open"
    head = f"{escape(head.removesuffix('.'))}."
    return proof_box(result, mark, head, text)


def proof_box(result: NetworkResult, mark: str, head: str, text: str) -> str:
    """Return what is proven in a box, with the searched spaces."""
    return (
        f'<div class="proof {mark}"><p class="head">{head}</p>{bounds_picture(result)}'
        f"<p>{text}</p>{spaces(result)}</div>"
    )


def bounds_picture(result: NetworkResult) -> str:
    """Return a column for each layer: how near its lower bound is to the value found."""
    if len(result.layers) < 2 or any(r.proof.lower_bound < 0 for r in result.layers):
        return ""
    reached = [1 - r.proof.gap for r in result.layers]
    # most bounds are near: what is missing would be too thin to be seen above 0
    floor = next((low for low in (0.9, 0.5) if min(reached) > low), 0.0)
    columns = "".join(
        f'<a class="{"" if r.proof.optimal else "open"}" href="#layer-{i}" '
        f'style="--part: {(part - floor) / (1 - floor):.4f}" title="{escape(r.layer.name)}: '
        f'{"proven" if r.proof.optimal else f"gap {percent(r.proof.gap)}"}"></a>'
        for i, (r, part) in enumerate(zip(result.layers, reached, strict=True))
    )
    return (
        f'<figure class="bounds"><div class="axis"><span>100{SPACE}%</span>'
        f'<span>{percent(floor)}</span></div><div class="columns-of-layers">{columns}</div>'
        "<figcaption>Lower bound as a share of the value found, layer by layer. Green columns are "
        "proven optimal.</figcaption></figure>"
    )


def spaces(result: NetworkResult) -> str:
    """Return the searched spaces in words, their sizes and the time that the search took."""
    words = "".join(f"<p><b>Space:</b> {escape(text)}</p>" for text in result.spaces())
    if result.optimal and len(result.network.layers) == 1:
        return words  # the sentence above has the rest
    sizes = [r.proof.mappings_in_space for r in result.layers if r.proof.tiles != ALL]
    took = f"{duration(result.seconds)}{result.reuse()}"
    if not sizes and result.optimal:
        return words
    if not sizes:
        return f"{words}<p>Search: {took}.</p>" if words else ""
    low, high = power_of_ten(min(sizes)), power_of_ten(max(sizes))
    span = low if low == high else f"{low} to {high}"
    each = "" if len(sizes) == 1 else " per layer"
    return f"{words}<p>{span} mappings{each}, in {took}.</p>"


def layer_proof_html(result: LayerResult) -> str:
    """Return what is known about better mappings of the layer."""
    proof, objective = result.proof, result.objective
    value = objective_value(objective, proof.value)
    if proof.optimal:
        text = f"{value} is proven optimal: no mapping of the space has less."
    else:
        bound = objective_value(objective, proof.lower_bound)
        text = (
            f"{value} is the best found; no mapping of the space has less than {bound} (gap "
            f"{percent(proof.gap)})."
        )
    if proof.reason:
        text += f" Not proven: {escape(proof.reason)}."
    if proof.irregular:
        best = ": no regular mapping is better, but another irregular one might be"
        text += f" The mapping lies outside this space (irregular){best if proof.optimal else ''}."
    if proof.search_seconds is None:
        return f"<p>{text} Search: {duration(proof.seconds)}.</p>"
    earlier = f"Search: {duration(proof.search_seconds)}, earlier; from the cache"
    return f"<p>{text} {earlier} in {duration(proof.seconds)}.</p>"


def verdict(proof: Proof) -> str:
    """Return whether a mapping is proven best, else its gap."""
    if proof.optimal:
        return '<span class="tick">✓&nbsp;proven</span>'
    return f'<span class="gap">gap {percent(proof.gap)}</span>'
