"""What the search finds, as the model values it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.errors import TilewrightError
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TOLERANCE
from tilewright.mapper.results.proof import Proof
from tilewright.mapper.results.regular import is_regular
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.searched_space import ALL, space_text
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import check
from tilewright.model.evaluate import assess, evaluate
from tilewright.model.results.result import Evaluation
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.search.found import Found

CLOSE = 1e-12


class DisagreementError(TilewrightError, RuntimeError):
    """Search and model give one mapping two values: a fault of tilewright, not of its user."""

    exit_status = 1


def confirmed(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    found: Found,
    *,
    mappings_in_space: float,
    seconds: float,
    search_seconds: float | None = None,
    counts: Counts | None = None,
) -> LayerResult:
    """Return the result for a mapping that the search found, as the model values it.

    Parameters
    ----------
    layer, architecture, objective
        What was searched.
    found : Found
        What was found; it has a mapping.
    mappings_in_space, seconds, search_seconds
        For the proof.
    counts : Counts, optional
        What the model counts of the mapping, where that is known; else it counts now.

    Raises
    ------
    DisagreementError
        When the model gives the mapping another value than the search.
    """
    mapping = found.mapping
    assert mapping is not None
    evaluation = agreed(layer, architecture, objective, mapping, found.value, counts)
    exact = objective_value(evaluation, objective)
    least = exact if found.finished else min(max(found.bound, 0.0), exact)
    of_all = None
    if found.irregular_bound is not None:
        reached = found.irregular_bound >= found.value * (1 - CLOSE)
        of_all = exact if reached else min(max(found.irregular_bound, 0.0), least)
    proof = Proof(
        optimal=found.finished,
        lower_bound=least,
        value=exact,
        gap=(exact - least) / exact if exact else 0.0,
        space=space_text(architecture, found.tiles),
        mappings_in_space=mappings_in_space,
        seconds=seconds,
        search_seconds=search_seconds,
        tiles=found.tiles,
        reason=found.reason,
        least_memory=found.least_memory,
        lower_bound_irregular=of_all,
        irregular=found.tiles == ALL and not is_regular(mapping, layer),
    )
    return LayerResult(layer, mapping, evaluation, objective, proof)


def agreed(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    mapping: Mapping,
    value: float,
    counts: Counts | None = None,
) -> Evaluation:
    """Return what the model says of a mapping that the search values at `value`.

    Raises
    ------
    DisagreementError
        When the model gives it another value.
    """
    if counts is None:
        evaluation = evaluate(layer, architecture, mapping)
    else:
        check(mapping, layer, architecture)
        evaluation = assess(layer, architecture, mapping, counts)
    exact = objective_value(evaluation, objective)
    if abs(exact - value) > TOLERANCE * max(abs(exact), abs(value)):
        unit = parse_objective(objective).unit
        raise DisagreementError(
            f"internal error: for layer '{layer.name}' on '{architecture.name}' the search gives "
            f"its mapping {value!r} {unit}, the model {exact!r}; please report this "
            "with the layer and the architecture"
        )
    return evaluation


def objective_value(evaluation: Evaluation, objective: str) -> float:
    """Return what an objective minimises, in its unit."""
    return parse_objective(objective).value(evaluation.energy_pj, evaluation.cycles)
