"""What the search finds, as the model values it."""

from __future__ import annotations

from tilewright.architecture.machine import Architecture
from tilewright.errors import TilewrightError
from tilewright.mapper.objective import parse_objective
from tilewright.mapper.proof import Proof
from tilewright.mapper.result import LayerResult
from tilewright.mapper.sizes import DIVISORS
from tilewright.mapper.space_text import space_text
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import evaluate
from tilewright.model.result import Evaluation
from tilewright.workload.layer import Layer

TOLERANCE = 1e-9
CLOSE = 1e-12


class DisagreementError(TilewrightError, RuntimeError):
    """Search and model give one mapping two values: a fault of tilewright, not of its user."""

    exit_status = 1


def confirmed(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    mapping: Mapping,
    *,
    value: float,
    bound: float,
    finished: bool,
    mappings_in_space: float,
    seconds: float,
    search_seconds: float | None = None,
    tiles: str = DIVISORS,
    least_memory: bool = False,
    regular: float | None = None,
) -> LayerResult:
    """Return the result for a mapping that the search found, as the model values it.

    Parameters
    ----------
    layer, architecture, objective, mapping
        What was found for what.
    value, bound : float
        The search's value of the mapping and its lower bound of every mapping.
    finished : bool
        Whether the search covered the whole space.
    mappings_in_space, seconds, search_seconds, tiles, least_memory
        For the proof.
    regular : float or None
        A lower bound of all regular mappings.

    Raises
    ------
    DisagreementError
        When the model gives the mapping another value than the search.
    """
    evaluation = agreed(layer, architecture, objective, mapping, value)
    exact = objective_value(evaluation, objective)
    least = exact if finished else min(max(bound, 0.0), exact)
    gap = (exact - least) / exact if exact else 0.0
    if regular is not None:
        regular = exact if regular >= value * (1 - CLOSE) else max(regular, least)
    space = space_text(architecture, tiles)
    proof = Proof(
        finished, least, exact, gap, space, mappings_in_space, seconds, search_seconds, tiles,
        least_memory=least_memory, regular_bound=None if finished else regular,
    )  # fmt: skip
    return LayerResult(layer, mapping, evaluation, objective, proof)


def agreed(
    layer: Layer, architecture: Architecture, objective: str, mapping: Mapping, value: float
) -> Evaluation:
    """Return what the model says of a mapping that the search values at `value`.

    Raises
    ------
    DisagreementError
        When the model gives it another value.
    """
    evaluation = evaluate(layer, architecture, mapping)
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
