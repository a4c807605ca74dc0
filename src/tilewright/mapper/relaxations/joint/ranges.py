"""What spatial choices, times that words come in, and sums of costs say of ranges of variables."""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Sequence
from functools import lru_cache
from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.relaxations.joint.extents import Extents, Negative

CLOSE = 1e-13  # to a sum, but for rounding
CLOSEST = 1e-8  # to a number that is meant, as logarithms
MOST_FRACTIONS = 64  # iterations of a dimension: with more, they are next to each other


class PartLimits(NamedTuple):
    """The elements of a part of spatial choices.

    Attributes
    ----------
    variables, low, high : arrays of dimensions
        Variables of the elements along each, and logarithms of the fewest and most.
    widest : dict of int to int
        By variable, how many elements there are.
    terms, logs : arrays
        Terms of how many there are along several dimensions together, and their numbers.
    """

    variables: Ints
    low: Floats
    high: Floats
    widest: dict[int, int]
    terms: Ints
    logs: Floats

    @classmethod
    def of(cls, extents: Extents, k: int, part: int, first: Sequence[int]) -> PartLimits:
        """Return those of a part of one of the halves."""
        each, own = extents.halves[k], extents.elements[k]
        at = [extents.position[d] for d in own]
        bounds = np.array([float(extents.bounds[d]) for d in own])
        high = np.minimum(each.working[part, at], bounds)
        low = np.maximum(np.minimum(each.chunks[part, at], high), 1.0)
        together = [(some, first[limit]) for h, some, limit in extents.together if h == k]
        most = [float(each.most(some)[part]) for some, _ in together]
        return cls(
            variables=np.array(list(own.values()), np.int64),
            low=np.log(low),
            high=np.log(high),
            widest=dict(zip(own.values(), each.widest[part, at].tolist(), strict=True)),
            terms=np.array([term for _, term in together], np.int64),
            logs=-np.log(most),
        )


class Times(NamedTuple):
    """How often words come in, as arrays.

    Attributes
    ----------
    variables, bounds : arrays
        Variables, and logarithms of the dimensions' bounds.
    reduced : array of (times, variables of the program)
        What is in one of them: the extent of a stay, and the elements that share words.
    rounds, more : arrays
        As for `Extents.more_times`.
    steps : array
        Variables of the steps of each dimension.
    of_one : float
        Logarithm of the cycles of a step.
    divided : list of (float, int, list of int)
        Logarithms of the bounds of dimensions that arrays may divide, with the variables of their
        steps and elements.
    """

    variables: Ints
    bounds: Floats
    reduced: Floats
    rounds: Ints
    more: Ints
    steps: Ints
    of_one: float
    divided: list[tuple[float, int, list[int]]]

    @classmethod
    def of(cls, extents: Extents) -> Times:
        """Return those of a program."""
        keys = list(extents.known_times)
        reduced = np.zeros((len(keys), len(extents.program.low)))
        for row, (i, d, shared) in enumerate(keys):
            reduced[row, list(shared)] = 1.0
            if i >= 0:
                reduced[row, extents.extents[i][d]] = 1.0
        more = np.array(extents.more_times, np.int64).reshape(-1, 2)
        steps: list[int] = []
        divided = []
        for d in extents.dimensions if extents.timed else ():
            along = list(extents.along(extents.arrays, (d,)))
            steps.append(extents.known_times[-1, d, tuple(sorted(along))])
            if along:
                divided.append((log(extents.bounds[d]), steps[-1], along))
        return cls(
            variables=np.array(list(extents.known_times.values()), np.int64),
            bounds=np.log([float(extents.bounds[d]) for _, d, _ in keys]),
            reduced=reduced,
            rounds=more[:, 0],
            more=more[:, 1],
            steps=np.array(steps, np.int64),
            of_one=log(extents.least.architecture.compute.cycles),
            divided=divided,
        )


@lru_cache(maxsize=1 << 10)
def fractions(bound: int) -> list[float]:
    """Return the logarithms of all n / m of whole numbers m <= n <= bound, in order."""
    every = np.arange(1, bound + 1)
    found = np.divide.outer(every, every)
    logs: list[float] = np.log(np.unique(found[found >= 1.0])).tolist()
    return logs


class Ratios:
    """What elements at work may be: the iterations of all of them by those of one of them.

    Parameters
    ----------
    extents : Extents
    """

    def __init__(self, extents: Extents) -> None:
        self.known = [
            (v, fractions(extents.bounds[d]))
            for own in extents.elements
            for d, v in own.items()
            if extents.bounds[d] <= MOST_FRACTIONS
        ]

    def narrow(self, ranges: Floats) -> bool:
        """Narrow ranges to such numbers; False if there is none."""
        low, high = ranges
        for v, every in self.known:
            first, last = bisect_left(every, low[v] - CLOSEST), bisect(every, high[v] + CLOSEST)
            if first >= last:
                return False
            low[v] = max(low[v], every[first])
            high[v] = min(high[v], every[last - 1])
        return True


def line_places(extents: Extents, own: Negative) -> tuple[slice, Ints]:
    """Return which terms and powers have the product that a line stands for."""
    limits = extents.limits
    terms = slice(int(limits.first[own.limit]), int(limits.first[own.limit + 1]))
    begin, end = limits.start[terms.start], limits.start[terms.stop]
    variables = limits.variables[limits.begin[own.limit] + limits.slots[begin:end]]
    return terms, begin + np.flatnonzero(np.isin(variables, list(own.product)))


class Total:
    """What a sum of terms is at least, with the least of each variable.

    The solution of the program has that too, but for what it leaves open, and lines lie above sums
    that they stand for.

    Parameters
    ----------
    extents : Extents
    variable : int
        Energy or cycles, which the sum is a part of.
    limit : int
        Where it is limited.
    less : Negative or None
        What it may be more than the variable.

    Attributes
    ----------
    variable : int
    """

    def __init__(self, extents: Extents, variable: int, limit: int, less: Negative | None) -> None:
        self.variable, self.less = variable, 0.0
        if less is not None:
            # a line stands for it unless it is a number more than the variable itself
            self.less = exp(less.log) if len(less.product) == 1 else inf
        terms = extents.program.limits[limit]
        first = extents.limits.first[limit]
        self.terms = slice(first, first + len(terms))
        self.rising = np.zeros((len(terms), len(extents.program.low)))
        self.falling = np.zeros_like(self.rising)
        for k, term in enumerate(terms):
            for v, power in term.powers.items():
                if v != variable:
                    (self.rising if power > 0 else self.falling)[k, v] = power

    def least(self, logs: Floats, ranges: Floats) -> float:
        """Return the logarithm of the least that the variable is."""
        own = logs[self.terms] + self.rising @ ranges[0] + self.falling @ ranges[1]
        total = float(np.exp(own).sum()) * (1 - CLOSE) - self.less
        return log(total) if total > 0 else -inf
