"""What is proven of a mapping."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.results.searched_space import DIVISORS, SIZES
from tilewright.mapper.results.text import percent

UNTRIED = "there was only time for tile sizes that divide"
MEMORY = "the search reached its limit of memory"


@dataclass(frozen=True)
class Proof:
    """Why a mapping is the best of a space, or how far from it it can be at most.

    Everything here is about the space that was asked for. Where not all of it was searched, its
    lower bound holds nevertheless, and the mapping is only optimal where it reaches that.

    Attributes
    ----------
    optimal : bool
        Whether every mapping of the space was covered, by evaluation or by a bound.
    lower_bound : float
        No mapping of the space has less; equal to `value` when optimal.
    value : float
        Objective of the mapping: pJ, cycles, or pJ x cycles.
    gap : float
        (value - lower_bound) / value, in [0, 1]; 0 when optimal.
    space : str
        Which mappings it is about, in words.
    mappings_in_space : float
        Number of different mappings in it. Those that exceed a capacity count, and those that
        break constraints on tiles, loops or the utilization of a memory.
    seconds : float
        Time that the search of this layer took, or to look its result up in the cache.
    search_seconds : float or None
        Time that the search took, when its result comes from the cache.
    tiles : str
        Tile sizes of the space: ``"divisors"``, or ``"all"`` for regular mappings of all tile
        sizes; `mappings_in_space` are still those of divisors. ``"own"`` for a strategy.
    reason : str
        Why it is not proven, where that is neither a limit of time nor a setting.
    least_memory : bool
        Whether it is proven that no mapping of the same energy and cycles, whose tile sizes divide,
        needs less memory, see `ties.least_of_ties`.
    lower_bound_irregular : float or None
        With all tile sizes: no mapping has less, regular or not. None with divisors.
    irregular : bool
        Whether the mapping itself is irregular: it is then not of the space, and no regular one
        has less where it is optimal.
    """

    optimal: bool
    lower_bound: float
    value: float
    gap: float
    space: str
    mappings_in_space: float
    seconds: float
    search_seconds: float | None = None
    tiles: str = DIVISORS
    reason: str = ""
    least_memory: bool = False
    lower_bound_irregular: float | None = None
    irregular: bool = False

    @property
    def cached(self) -> bool:
        """Whether this is the result of an earlier search, looked up in the cache."""
        return self.search_seconds is not None

    def of(self, value: float, bound: float) -> Proof:
        """Return the proof of another value, or with another bound, in the same space."""
        bound = value if bound >= value * (1 - TIE) else bound
        return replace(
            self,
            optimal=bound == value,
            lower_bound=bound,
            value=value,
            gap=(value - bound) / value if value else 0.0,
            least_memory=self.least_memory and value == self.value,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        counted = isfinite(self.mappings_in_space)
        return {
            "optimal": self.optimal,
            "lower_bound": self.lower_bound,
            "value": self.value,
            "gap": self.gap,
            "space": self.space,
            "tiles": self.tiles,
            "reason": self.reason,
            "irregular": self.irregular,
            "lower_bound_irregular": self.lower_bound_irregular,
            "least_memory": self.least_memory,
            "mappings_in_space": self.mappings_in_space if counted else None,
            "seconds": self.seconds,
            "cached": self.cached,
            "search_seconds": self.seconds if self.search_seconds is None else self.search_seconds,
        }


def standing(proof: Proof) -> str:
    """Return how good a value is known to be, in a few words."""
    among = f" among {SIZES[DIVISORS]}" if proof.tiles == DIVISORS else ""
    return f"proven optimal{among}" if proof.optimal else f"gap {percent(proof.gap)}{among}"
