"""What the search of a layer has found."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapping.nodes import Mapping

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.stays.spatial_boxes import SpatialBoxes


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
