"""What is proven of a mapping."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

from tilewright.mapper.number import percent
from tilewright.mapper.sizes import DIVISORS

REGULAR = "regular"  # where only regular mappings are proven to be no better


@dataclass(frozen=True)
class Proof:
    """Why a mapping is the best of a space, or how far from it it can be at most.

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
        What was searched, in words.
    mappings_in_space : float
        Number of different mappings in it. Those that exceed a capacity count, and those that
        break constraints on tiles, loops or the utilization of a memory.
    seconds : float
        Time that the search of this layer took, or to look its result up in the cache.
    search_seconds : float or None
        Time that the search took, when its result comes from the cache.
    tiles : str
        ``"divisors"``, or ``"all"``: `mappings_in_space` are still those of divisors.
    reason : str
        Why it is not proven, where that is neither a limit of time nor a setting.
    least_memory : bool
        Whether it is proven that no mapping of the same energy and cycles, whose tile sizes divide,
        needs less memory, see `ties.least_of_ties`.
    regular_bound : float or None
        No regular mapping of the space has less, see `space_text`; None where nothing more is known
        of them than of all.
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
    regular_bound: float | None = None

    @property
    def regular(self) -> bool:
        """Whether it is proven that no regular mapping of the space is better."""
        return self.optimal or self.regular_bound == self.value

    @property
    def regular_gap(self) -> float:
        """By what share of the value a regular mapping may be better at most."""
        if self.regular_bound is None or not self.value:
            return self.gap
        return (self.value - self.regular_bound) / self.value

    @property
    def cached(self) -> bool:
        """Whether this is the result of an earlier search, looked up in the cache."""
        return self.search_seconds is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the proof as plain data."""
        counted = isfinite(self.mappings_in_space)
        return {
            "optimal": self.optimal,
            "lower_bound": self.lower_bound,
            "regular": self.regular,
            "regular_bound": self.regular_bound,
            "value": self.value,
            "gap": self.gap,
            "space": self.space,
            "tiles": self.tiles,
            "least_memory": self.least_memory,
            "mappings_in_space": self.mappings_in_space if counted else None,
            "seconds": self.seconds,
            "cached": self.cached,
            "search_seconds": self.seconds if self.search_seconds is None else self.search_seconds,
        }


def standing(proof: Proof) -> str:
    """Return how good a value is known to be, in a few words."""
    if proof.optimal:
        return "proven optimal"
    best = "best of all regular mappings, " if proof.regular else ""
    return f"{best}gap {percent(proof.gap)}"
