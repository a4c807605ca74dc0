"""Sums of exponentials that are limited: a geometric program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Floats, Ints

Powers = Mapping[int, float]  # of exponentials of variables, by position


class Term(NamedTuple):
    """The product of a number and powers of exponentials of variables.

    Attributes
    ----------
    log : float
        Logarithm of the number.
    powers : mapping of int to float
    """

    log: float
    powers: Powers


@record
class SumLimits(NamedTuple):
    """Sums of terms that are at most 1 each, as plain arrays.

    Attributes
    ----------
    first : array of limits + 1
        Where the terms of each one begin.
    begin : array of limits + 1
        Where its variables begin.
    variables : array
        The variables of all limits, in ascending order within each.
    start : array of terms + 1
        Where the powers of each term begin.
    slots : array
        The variables of all terms, as positions among those of the limit.
    powers : array
        Of these.
    """

    first: Ints
    begin: Ints
    variables: Ints
    start: Ints
    slots: Ints
    powers: Floats


class Program:
    """Variables with a range, and sums of terms that are limited.

    Attributes
    ----------
    low, high : lists of float
        The range of each variable.
    limits : list of lists of Term
        Sums that are at most 1.
    always : list of bool
        Whether each limit holds for all nodes of a search.
    """

    def __init__(self) -> None:
        self.low: list[float] = []
        self.high: list[float] = []
        self.limits: list[list[Term]] = []
        self.always: list[bool] = []

    def variable(self, low: float, high: float) -> int:
        """Add a variable, and return its position."""
        self.low.append(low)
        self.high.append(high)
        return len(self.low) - 1

    def limit(self, *terms: Term, always: bool = True) -> int:
        """Let a sum of terms be at most 1, always or for some nodes; return its position."""
        self.limits.append(list(terms))
        self.always.append(always)
        return len(self.limits) - 1

    def compiled(self) -> tuple[SumLimits, Floats, Bools]:
        """Return the limits, the logarithms of the numbers of their terms, and which always hold.

        The terms of a limit come after each other, in the order in which it has them.
        """
        first, begin, start = [0], [0], [0]
        variables: list[int] = []
        slots: list[int] = []
        powers: list[float] = []
        logs: list[float] = []
        for terms in self.limits:
            own = sorted({i for term in terms for i in term.powers})
            place = {i: n for n, i in enumerate(own)}
            variables += own
            begin.append(len(variables))
            for term in terms:
                logs.append(term.log)
                slots += [place[i] for i in term.powers]
                powers += term.powers.values()
                start.append(len(slots))
            first.append(len(logs))
        limits = SumLimits(
            np.array(first), np.array(begin), np.array(variables, np.int64), np.array(start),
            np.array(slots, np.int64), np.array(powers, np.float64),
        )  # fmt: skip
        return limits, np.array(logs), np.array(self.always)


def product(*powers: Powers) -> dict[int, float]:
    """Return the powers of a product."""
    found: dict[int, float] = {}
    for own in powers:
        for i, power in own.items():
            found[i] = found.get(i, 0.0) + power
    return {i: power for i, power in found.items() if power}


def inverse(powers: Powers) -> dict[int, float]:
    """Return the powers of 1 / a product."""
    return {i: -power for i, power in powers.items()}


def logarithm(number: float) -> float:
    """Return the logarithm, or -inf for nothing."""
    return log(number) if number > 0 else -inf


def united(terms: Iterable[Term]) -> tuple[list[Term], float]:
    """Return terms with those of the same powers added, and the sum of those with none."""
    found: dict[tuple[tuple[int, float], ...], float] = {}
    for term in terms:
        key = tuple(sorted(term.powers.items()))
        found[key] = found.get(key, 0.0) + exp(term.log)
    constant = found.pop((), 0.0)
    return [Term(log(number), dict(key)) for key, number in found.items()], constant
