"""What is proven about the mappings of a network, in a few sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.proof import MEMORY, UNTRIED
from tilewright.mapper.results.searched_space import ALL, forwards, retains
from tilewright.mapper.results.text import percent

if TYPE_CHECKING:
    from tilewright.mapper.results.result import NetworkResult

LISTED = 5  # layers that a sentence names


def proven_text(result: NetworkResult) -> str:
    """Return how many layers are proven optimal, and how far the others can be from it."""
    sentences = [f"{headline(result)}."]
    open_ = [each for each in result.layers if not each.proof.optimal]
    if result.optimal:
        sentences.append(coverage(result))
    worst = max(open_, key=lambda each: each.proof.gap, default=None)
    if worst is not None and worst.proof.lower_bound > 0:
        which = f"The largest gap is that of '{worst.layer.name}': no" if more(result) else "No"
        most = percent(worst.proof.gap).removeprefix("<")
        sentences.append(f"{which} mapping of the space can be more than {most} better.")
    untried = [each.layer.name for each in open_ if each.proof.reason == UNTRIED]
    if untried and more(result):
        sentences.append(f"There was only time for tile sizes that divide in {named(untried)}.")
    elif untried:
        sentences.append("There was only time for tile sizes that divide.")
    if result.unmapped:
        names = named([layer.name for layer in result.unmapped])
        sentences.append(f"There is no mapping yet of {names}.")
    return " ".join([*sentences, *irregular_text(result), *minimised_text(result)])


def minimised_text(result: NetworkResult) -> list[str]:
    """Return what is minimised, where that is none of the totals."""
    if result.minimises_totals or result.unmapped:
        return []
    unit = parse_objective(result.objective).unit
    return [
        f"The sum over all layers is minimised: {result.value:.4e} {unit}. The total row has the "
        "product of the totals instead."
    ]


def more(result: NetworkResult) -> bool:
    """Whether a network has more than one layer."""
    return len(result.network.layers) > 1


def headline(result: NetworkResult) -> str:
    """Return how many layers are proven optimal, and why others are not."""
    count = len(result.network.layers)
    proven = sum(each.proof.optimal for each in result.layers)
    if result.optimal:
        better = parse_objective(result.objective).better
        head = f"{count} of {count} layers proven optimal" if count > 1 else "Proven optimal"
        return f"{head}: no mapping of the space has {better}"
    head = f"{proven} of {count} layers proven optimal" if count > 1 else "Not proven optimal"
    return f"{head}: {why_open(result)}"


def why_open(result: NetworkResult) -> str:
    """Return why some layer is not proven to have the best mapping."""
    open_ = [each for each in result.layers if not each.proof.optimal]
    reasons = [each.proof.reason for each in open_ if each.proof.reason not in ("", UNTRIED)]
    if result.interrupted:
        return "the search was interrupted"
    if reasons:
        return reasons[0]
    if result.stopped:
        return "the search was stopped at the time limit"
    if result.unmapped:
        return MEMORY
    if forwards(result.architecture):
        return "neighbours forward words on this machine, which the search cannot count"
    if any(each.evaluation.pipeline for each in open_):
        return "under pipelined latency only the best even mapping is ever proven"
    if retains(result.architecture):
        return "what memories retain is counted for whole mappings, not while searching"
    what = "the others do" if more(result) else "the mapping does"
    return f"{what} not reach the lower bound"


def coverage(result: NetworkResult) -> str:
    """Return what the proof of all layers took."""
    seconds = f"{result.seconds:.1f} s{result.reuse()}"
    if all(each.proof.cached for each in result.layers):
        return f"Taken from the cache in {result.seconds:.1f} s."
    if any(each.proof.tiles == ALL for each in result.layers):
        return f"Found and proven in {seconds}."
    sizes = sum(each.proof.mappings_in_space for each in result.layers)
    return f"All {sizes:.3g} mappings were covered, by evaluation or by a bound, in {seconds}."


def irregular_text(result: NetworkResult) -> list[str]:
    """Return what is to be said about mappings that are not of the space, if there are any."""
    irregular = [each for each in result.layers if each.proof.irregular]
    if not irregular:
        return []
    one = len(irregular) == 1
    of = f" of {named([each.layer.name for each in irregular])}" if more(result) else ""
    found = f"The mapping{of} lies" if one else f"The mappings{of} lie"
    best = ""
    if all(each.proof.optimal for each in irregular):
        best = ": no regular mapping is better, but another irregular one might be"
    return [f"{found} outside this space (irregular){best}."]


def named(names: list[str]) -> str:
    """Return some layers by name, or how many there are."""
    if len(names) > LISTED:
        return f"{len(names)} layers"
    return ", ".join(names)
