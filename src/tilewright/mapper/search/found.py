"""What the search of a layer has found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats
from tilewright.mapper.label.labels import objective_value
from tilewright.mapper.objective.tolerances import TIE, TOLERANCE
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.boxes.spatial_boxes import SpatialBoxes


@dataclass
class Found:
    """Best mapping so far and what is known about better ones.

    Attributes
    ----------
    mapping : Mapping or None
    value, bound : float
        Its objective, and what no mapping of the space undercuts.
    finished : bool
        Whether the whole space was covered, so that none is better.
    labels : int
        Partial mappings that were looked at.
    least_memory : bool
        Whether it is proven that none of the same energy and cycles needs less memory.
    tiles : str
        The space that `bound` and `finished` are about: ``"divisors"``, or ``"all"`` for regular
        mappings of all tile sizes.
    irregular_bound : float or None
        What no mapping of any tile sizes undercuts, irregular ones included.
    closed_form : SpatialBoxes or None
        What is known of regular mappings of any tile sizes.
    reason : str
        Why it is not finished, where that is neither a limit of time nor a setting.
    """

    mapping: Mapping | None = None
    value: float = inf
    bound: float = 0.0
    finished: bool = False
    labels: int = 0
    least_memory: bool = False
    tiles: str = DIVISORS
    irregular_bound: float | None = None
    closed_form: SpatialBoxes | None = None
    reason: str = ""

    def correct_value(self, layer: Layer, architecture: Architecture, goal: Floats) -> None:
        """Take the value of the model where the search counts too little; the bound stays.

        Of an output whose windows overlap among the instances of an array it counts too few cycles,
        see `charge`, and of windows that neighbours forward nothing at their sender, see
        `chain_costs`.
        """
        assert self.mapping is not None
        result = evaluate(layer, architecture, self.mapping)
        value, _ = objective_value(goal, result.energy_pj, float(result.cycles))
        if value > self.value * (1 + TOLERANCE):
            self.value, self.finished = value, False


def better(one: Found, other: Found) -> Found:
    """Return the better mapping of two searches of the same space, and the higher bound."""
    best = min(other, one, key=lambda found: found.value)
    bound = min(best.value, max(one.bound, other.bound))
    proven = one.finished or other.finished or bound >= best.value * (1 - TIE)
    irregular = max(one.irregular_bound or 0.0, other.irregular_bound or 0.0)
    return replace(
        best, bound=best.value if proven else bound, finished=proven,
        irregular_bound=min(irregular, best.value), reason="" if proven else best.reason,
    )  # fmt: skip
