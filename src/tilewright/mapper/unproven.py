"""What a search has found where it does not count as the model does: a value, but no proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.architecture.machine import Architecture
from tilewright.mapper.confirmed import TOLERANCE
from tilewright.mapper.labels import objective_value
from tilewright.mapper.lattice import Floats
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.solve import Found


def correct_cycles(found: Found, layer: Layer, architecture: Architecture, goal: Floats) -> None:
    """Take the value of the model where the search counts too few cycles, see `charge`.

    Of an output whose windows overlap among the instances of an array, it counts every entry as
    one from zero at ports of limited bandwidth.
    """
    assert found.mapping is not None
    result = evaluate(layer, architecture, found.mapping)
    value, _ = objective_value(goal, result.energy_pj, float(result.cycles))
    if value > found.value * (1 + TOLERANCE):
        found.value, found.finished = value, False


def without_proof(
    found: Found,
    layer: Layer,
    architecture: Architecture,
    goal: Floats,
    least: tuple[float, float],
) -> None:
    """State what is known when neighbours forward words, which the search does not see.

    `least` is the energy and the cycles of the operations alone.
    """
    assert found.mapping is not None
    result = evaluate(layer, architecture, found.mapping)
    known = (result.energy_pj, float(result.cycles)), least
    found.value, found.bound = (objective_value(goal, *pair)[0] for pair in known)
    found.finished = False
