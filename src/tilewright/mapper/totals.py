"""Totals of a network in a style: their objective, or what it is at least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from tilewright.mapper.objective import Objective
from tilewright.mapper.style import Style
from tilewright.mapper.styled import StyledLayer


@dataclass(frozen=True)
class Candidate:
    """A style, and what is known of the layers in it.

    Attributes
    ----------
    style : Style
        Where its `stationary` is None, all styles that unroll the same.
    parts : tuple of StyledLayer
        Every different layer.
    """

    style: Style
    parts: tuple[StyledLayer, ...]

    @property
    def missing(self) -> list[int]:
        """The layers whose best mapping is not known."""
        return [k for k, part in enumerate(self.parts) if part.result is None]


@dataclass(frozen=True)
class Totals:
    """How totals follow from layers.

    Attributes
    ----------
    goal : Objective
        What is minimised: E^a x C^b.
    runs : sequence of int
        How often each different layer occurs.
    """

    goal: Objective
    runs: Sequence[int]

    def root(self, value: float) -> float:
        """Return the (a + b)-th root of a value: what can be added up.

        It is superadditive in (E, C), so that the roots of the values of layers add up to no more
        than the root of the value of their totals (Hölder's inequality).
        """
        return float(value ** (1 / sum(self.goal.powers)))

    def pair(self, candidate: Candidate) -> tuple[float, float]:
        """Return energy (pJ) and cycles of the mappings that are known, of all layers together."""
        energy = cycles = 0.0
        for runs, part in zip(self.runs, candidate.parts, strict=True):
            if part.result is not None:
                energy += runs * part.result.evaluation.energy_pj
                cycles += runs * part.result.evaluation.cycles
        return energy, cycles

    def product(self, powers: tuple[float, float], pair: tuple[float, float]) -> float:
        """Return a product of powers of energy and cycles."""
        return float(pair[0] ** powers[0] * pair[1] ** powers[1])

    def value(self, candidate: Candidate) -> float:
        """Return the objective of the totals of a candidate whose layers are all mapped."""
        return self.product(self.goal.powers, self.pair(candidate))

    def lower(self, candidate: Candidate, without: int | None = None) -> float:
        """Return the root of the least totals of a candidate, or of those without one layer."""
        energy = cycles = rest = 0.0
        for k, (runs, part) in enumerate(zip(self.runs, candidate.parts, strict=True)):
            if k == without:
                continue
            if part.result is not None and part.result.proof.optimal:
                energy += runs * part.result.evaluation.energy_pj
                cycles += runs * part.result.evaluation.cycles
            else:
                rest += runs * self.root(part.bound)
        return rest + self.root(self.product(self.goal.powers, (energy, cycles)))

    def least(self, candidate: Candidate) -> float:
        """Return the objective below which the totals of a candidate are not."""
        return float(self.lower(candidate) ** sum(self.goal.powers))

    def ceiling(self, candidate: Candidate, k: int, limit: float) -> float:
        """Return the objective with which a layer raises the totals to a limit."""
        if limit == inf:
            return inf
        left = (self.root(limit) - self.lower(candidate, without=k)) / self.runs[k]
        return float(max(left, 0.0) ** sum(self.goal.powers))
