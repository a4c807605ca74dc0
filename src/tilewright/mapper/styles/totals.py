"""Totals of a network in a style: their objective, or what it is at least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.styles.style import Style
from tilewright.mapper.styles.styled_layer import StyledLayer

SLOPES = 64  # lines that bound totals from below
WIDEST = 1e8  # how far apart the steepest and the flattest of them are at most
CLOSE = 1e-6
ALMOST = 1e-9


@dataclass(frozen=True)
class StyleCandidate:
    """A style, and what is known of the layers in it.

    Attributes
    ----------
    style : Style
        Where its `stationary` is None, all styles that unroll the same.
    parts : tuple of StyledLayer
        Every different layer.
    whole : bool
        Whether this is one style, in which every layer has one best mapping.
    order : int
        Which one comes first of several that are equally good.
    """

    style: Style
    parts: tuple[StyledLayer, ...]
    whole: bool
    order: int

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

    def pair(self, candidate: StyleCandidate) -> tuple[float, float]:
        """Return energy (pJ) and cycles of all layers of a candidate, which are mapped."""
        found = [
            (runs, part.result.evaluation)
            for runs, part in zip(self.runs, candidate.parts, strict=True)
            if part.result is not None
        ]
        energy = sum(runs * float(cost.energy_pj) for runs, cost in found)
        return energy, sum(runs * float(cost.cycles) for runs, cost in found)

    def value(self, candidate: StyleCandidate) -> float:
        """Return the objective of the totals of a candidate whose layers are all mapped."""
        return times(self.goal.powers, *self.pair(candidate))

    def second(self, candidate: StyleCandidate) -> float:
        """Return what decides between candidates of equal value."""
        return times(self.goal.then, *self.pair(candidate))

    def least(self, candidate: StyleCandidate, instead: tuple[int, float] | None = None) -> float:
        """Return the objective below which the totals of a candidate are not.

        Parameters
        ----------
        candidate : StyleCandidate
        instead : (int, float), optional
            A layer, and what its objective is at least instead of its bound.
        """
        # of several styles, those that are worse for a layer can be better in total
        pairs = (part.known_pair if candidate.whole else part.pair for part in candidate.parts)
        bounds = (part.bound for part in candidate.parts)
        known = [(*pair, bound) for pair, bound in zip(pairs, bounds, strict=True)]
        if instead is not None:
            k, bound = instead
            known[k] = (*known[k][:2], bound)
        if any(bound == inf for *_, bound in known):
            return inf
        runs = np.array(self.runs, np.float64)
        energy, cycles, values = np.array(known).T
        powers = self.goal.powers
        return least_product(powers, runs * energy, runs * cycles, runs ** sum(powers) * values)

    def ceiling(self, candidate: StyleCandidate, k: int, limit: float, most: float) -> float:
        """Return the objective with which a layer raises the totals to a limit, or `most`."""
        low = candidate.parts[k].bound
        # no totals are less than those of one layer
        high: float = min(most, limit / self.runs[k] ** sum(self.goal.powers))
        if high == inf or self.least(candidate, (k, high)) < limit:
            return high
        while high > low * (1 + CLOSE):
            middle = (low + high) / 2
            if self.least(candidate, (k, middle)) < limit:
                low = middle
            else:
                high = middle
        return high


def times(powers: tuple[float, float], energy: float, cycles: float) -> float:
    """Return a product of powers of energy and cycles."""
    return float(energy ** powers[0] * cycles ** powers[1])


def least_product(
    powers: tuple[float, float], energy: Floats, cycles: Floats, values: Floats
) -> float:
    """Return the least (sum of E)^a x (sum of C)^b of terms that are bounded from below.

    The pairs (E, C) that a term may be are a convex set, and so are those of the sum. The product
    has no minimum inside of a convex set, nor on a straight line: it is least at a corner of lines
    that bound the set. For some slopes, this is where such lines meet.

    Parameters
    ----------
    powers : (float, float)
        a and b, not negative.
    energy, cycles, values : arrays of terms
        E, C and E^a x C^b of each term are no less.
    """
    a, b = powers
    if a == 0 or b == 0:
        alone = np.maximum(energy if b == 0 else cycles, values ** (1 / (a + b)))
        return times((a + b, 0.0), float(alone.sum()), 1.0)
    bent = values > energy**a * cycles**b * (1 + ALMOST)
    least = float(energy.sum()), float(cycles.sum())
    if not bent.any():
        return times(powers, *least)
    e, c, v = energy[bent], cycles[bent], values[bent]
    with np.errstate(divide="ignore"):
        highest = (v / c**b) ** (1 / a)
        steepest = float((a / b * (v / e**a) ** (1 / b) / e).max())
        flattest = float((a / b * c / highest).min())
    steepest = min(steepest, max(flattest, 1 / WIDEST) * WIDEST)
    slopes = np.geomspace(max(flattest, steepest / WIDEST), steepest, SLOPES)
    # where slope x E + C is least, E and C of the terms
    touched = (v[:, None] / (b / a * slopes) ** b) ** (1 / (a + b))
    touched = np.clip(touched, e[:, None], highest[:, None])
    other = np.maximum((v[:, None] / touched**a) ** (1 / b), c[:, None])
    sums = touched.sum(axis=0) + energy[~bent].sum(), other.sum(axis=0) + cycles[~bent].sum()
    height = slopes * sums[0] + sums[1]
    across = np.clip(np.diff(height) / np.diff(slopes), sums[0][1:], sums[0][:-1])
    up = height[:-1] - slopes[:-1] * across
    across = np.concatenate([[(height[0] - least[1]) / slopes[0]], across, [least[0]]])
    up = np.concatenate([[least[1]], up, [height[-1] - slopes[-1] * least[0]]])
    corners = np.maximum(across, least[0]) ** a * np.maximum(up, least[1]) ** b
    return float(corners.min())
