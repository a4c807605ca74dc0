"""Index expressions of several dimensions, and their words."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import gcd, prod

from tilewright.mapper.windows.pairs import most_pairs
from tilewright.workload.layer import Term

CLOSE = 1e-9


class Expression:
    """An index expression of several dimensions.

    Attributes
    ----------
    names : list of str
    bounds : list of int
    two : bool
        Whether these are two, the first one times a and the other one times b without a common
        divisor.
    plain : bool
        Whether a and b are 1, so that any sets of m and n iterations have m + n - 1 words or more.
    least : float
        Words that come in for each iteration at least, whatever the loops.
    """

    def __init__(self, terms: Sequence[Term], bounds: dict[str, int]) -> None:
        self.terms = terms
        self.names = [term.dimension for term in terms]
        self.bounds = [bounds[d] for d in self.names]
        self.two = len(terms) == 2
        first, second = (abs(term.coefficient) for term in terms[:2])
        common = gcd(first, second)
        self.a, self.b = first // common, second // common
        self.plain = self.two and self.a == self.b == 1
        # each word that comes in serves no more iterations than it has
        self.least = 1.0 / most_pairs(terms, bounds)
        if self.two:
            self.least = max(self.least, self.words(*self.bounds) / prod(self.bounds))

    def apart(self) -> Expression:
        """Return one of which any sets of m and n iterations have all the words, or more."""
        if self.plain:
            return self
        found = copy(self)
        # that many sums at least, whatever is added
        found.a = found.b = 1
        return found

    def words(self, m: float, n: float) -> float:
        """Return the words of m iterations of the first dimension and n of the second one."""
        return m * n - max(0.0, m - self.b) * max(0.0, n - self.a)

    def sums(self, m: float, n: float) -> list[tuple[float, float]]:
        """Return what m and n count for at least, in two ways, from some m and n on.

        With m of b or more and n of a or more, words are  a m + b n - a b.
        """
        if m < self.b - CLOSE or n < self.a - CLOSE:
            return []
        return [
            (self.a * max(0.0, 1 - self.b / m), self.b),
            (self.a, self.b * max(0.0, 1 - self.a / n)),
        ]
