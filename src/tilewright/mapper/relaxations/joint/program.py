"""Sums of exponentials that are limited: a geometric program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import exp, inf, log
from typing import NamedTuple

import numpy as np

from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Floats, Ints

Powers = Mapping[int, float]  # of exponentials of variables, by position
Values = Floats | Sequence[float]  # of variables


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
    order : array of variables
        In which to eliminate variables, so that few others depend on each other.
    """

    first: Ints
    begin: Ints
    variables: Ints
    start: Ints
    slots: Ints
    powers: Floats
    order: Ints


class NodeLimits(NamedTuple):
    """Ranges of variables at a node of a search, and what limits are there.

    Attributes
    ----------
    low, high : lists of variables
    logs : array of terms
        Logarithms of their numbers, -inf for none.
    powers : array
        Of the variables of all terms.
    active : array of limits
        Whether they hold.
    first, start : lists of int
        Where the terms of each limit begin, and the powers of each term.
    widest : mapping of int to int
        Elements of arrays along each dimension, at most.
    chunks : mapping of str to tuple of int
        What the longest chunk of an element may be of dimensions that one array divides alone.
    """

    low: list[float]
    high: list[float]
    logs: Floats
    powers: Floats
    active: Bools
    first: Sequence[int]
    start: Sequence[int]
    widest: Mapping[int, int]
    chunks: Mapping[str, tuple[int, ...]]

    def set_numbers(self, limit: int, *numbers: float) -> None:
        """Let a limit hold, with other numbers of its terms."""
        at = self.first[limit]
        for k, number in enumerate(numbers):
            self.logs[at + k] = logarithm(number)
        self.active[limit] = True

    def set_powers(self, limit: int, place: int, number: int, power: float) -> None:
        """Set some powers of the first term of a limit: so many, from one place on."""
        begin = self.start[self.first[limit]] + place
        self.powers[begin : begin + number] = power


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

    def order(self) -> Ints:
        """Return all variables, each time the one with the fewest that it has limits with.

        Those depend on each other afterwards (Tinney, Walker, Proceedings of the IEEE 55, 1967).
        """
        others: list[set[int]] = [set() for _ in self.low]
        for terms in self.limits:
            own = {i for term in terms for i in term.powers}
            for i in own:
                others[i] |= own
        for i, own in enumerate(others):
            own.discard(i)
        found: list[int] = []
        left = set(range(len(others)))
        while left:
            least = min(left, key=lambda i: (len(others[i]), i))
            found.append(least)
            left.discard(least)
            for i in others[least]:
                others[i] |= others[least]
                others[i] -= {i, least}
        return np.array(found, np.int64)

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
            first=np.array(first),
            begin=np.array(begin),
            variables=np.array(variables, np.int64),
            start=np.array(start),
            slots=np.array(slots, np.int64),
            powers=np.array(powers, np.float64),
            order=self.order(),
        )
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


def span(powers: Powers, low: Values, high: Values) -> tuple[float, float]:
    """Return between what the logarithm of a product is in the ranges of its variables."""
    ends = [(power * low[i], power * high[i]) for i, power in powers.items()]
    return float(sum(map(min, ends))), float(sum(map(max, ends)))


def reach(powers: Powers, ends: Values) -> float:
    """Return the logarithm of a product at one end of all ranges."""
    total = 0.0
    for i, power in powers.items():
        total += power * ends[i]
    return total
