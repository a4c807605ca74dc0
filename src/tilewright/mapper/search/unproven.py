"""What a search has found where it counts less than the model does: a value and a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats
from tilewright.mapper.label.labels import objective_value
from tilewright.mapper.objective.tolerances import TOLERANCE
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.search.found import Found


def correct_value(found: Found, layer: Layer, architecture: Architecture, goal: Floats) -> None:
    """Take the value of the model where the search counts too little; its bound stays.

    Of an output whose windows overlap among the instances of an array it counts too few cycles, see
    `charge`, and of windows that neighbours forward nothing at their sender, see `chain`.
    """
    assert found.mapping is not None
    result = evaluate(layer, architecture, found.mapping)
    value, _ = objective_value(goal, result.energy_pj, float(result.cycles))
    if value > found.value * (1 + TOLERANCE):
        found.value, found.finished = value, False
