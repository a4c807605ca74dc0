"""Limits of the words of windows, in tiles and for an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from math import ceil, exp, floor, gcd, inf, log, prod
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.joint.program import (
    NodeLimits,
    Powers,
    Term,
    Values,
    inverse,
    product,
)
from tilewright.mapper.relaxations.stays.at_once import words_of_sets
from tilewright.mapper.windows.pairs import most_pairs
from tilewright.workload.layer import Term as IndexTerm

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.joint.extents import Extents

CLOSE = 1e-9
WHOLE = 1e-6  # of a number that may be whole but for rounding


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

    def __init__(self, terms: Sequence[IndexTerm], bounds: dict[str, int]) -> None:
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


class WindowLimits:
    """The limits of something that is at least the words of m x n iterations, or these per one.

    Parameters
    ----------
    extents : Extents
    expression : Expression
    own : mapping of int to float
        The variable.
    sides : pair of mappings of int to float
        m and n.
    each : bool
        Whether it is for each iteration.
    """

    def __init__(
        self,
        extents: Extents,
        expression: Expression,
        own: Powers,
        sides: Sequence[Powers],
        each: bool,
    ) -> None:
        self.expression, self.own, self.each, self.sides = expression, own, each, sides
        program, none = extents.program, inverse(own)
        first, second = sides
        if each:
            # words / (m n) = a / n + b / m - a b / (m n)
            first, second = inverse(second), inverse(first)
        m, n = product(first, none), product(second, none)
        # with powers of the other side, of which there are none at first
        self.single = [
            program.limit(Term(0.0, m | dict.fromkeys(sides[1], 0.0)), always=False),
            program.limit(Term(0.0, n | dict.fromkeys(sides[0], 0.0)), always=False),
        ]
        elements = {v for own in extents.elements for v in own.values()}
        # elements at work are not, in the mean
        self.are_whole = [len(own) == 1 and not own.keys() & elements for own in sides]
        self.places = (0, 0) if each else (len(m), len(n))
        self.double = [program.limit(Term(0.0, m), Term(0.0, n), always=False) for _ in range(2)]
        self.whole = -1 if each else program.limit(Term(0.0, product(m, second)), always=False)

    def settle(self, node: NodeLimits) -> None:
        """Set the limits for the ranges of variables, and raise the variable's own."""
        e = self.expression
        least = [max(1.0, exp(reach(own, node.low))) for own in self.sides]
        most = [
            max(n, min(float(bound), exp(reach(own, node.high))))
            for own, bound, n in zip(self.sides, e.bounds, least, strict=True)
        ]
        (variable,) = self.own
        # words of a tile grow with its sides, and words for an iteration fall
        fewest = e.words(*most) / prod(most) if self.each else e.words(*least)
        node.low[variable] = max(node.low[variable], log(fewest) - 1e-12)
        for k, limit in enumerate(self.single):
            # words / m fall with m, and grow with n from what they are for the least n on
            m, n = (most[0], least[1]) if k == 0 else (most[1], least[0])
            whole = self.are_whole[1 - k]
            more = growth(m, n, most[1 - k], whole=whole) if e.plain else 0.0
            words = e.words(m, n) if k == 0 else e.words(n, m)
            node.set_numbers(limit, words / m / n**more)
            node.set_powers(limit, self.places[k], len(self.sides[1 - k]), more - self.each)
        for limit, numbers in zip(self.double, e.sums(*least), strict=False):
            node.set_numbers(limit, *numbers)
        if self.whole >= 0 and (most[0] <= e.b + CLOSE or most[1] <= e.a + CLOSE):
            node.active[self.whole] = True


class WholeSide:
    """Limits of a window that hold where all of one dimension meets some of the other one.

    Whichever m iterations these are, with steps of a, and n of the first one next to each other:
    words are n, and a or n more for each of the others, as for m iterations next to each other.

    Parameters
    ----------
    limits : WindowLimits
        Of both sides.
    divided : mapping of int to float
        The elements that have different iterations of the first one.
    """

    def __init__(self, limits: WindowLimits, divided: Powers) -> None:
        self.limits, self.divided = limits, divided

    def settle(self, node: NodeLimits) -> None:
        """Set the limits if no elements divide the side."""
        if reach(self.divided, node.high) < CLOSE:
            self.limits.settle(node)


def growth(m: float, n: float, most: float, *, whole: bool) -> float:
    """Return a power with which m + n - 1 grows at least, from some n on.

    The logarithm is convex in that of n. So it is the power at the least n, or if that is a whole
    number, the one from there to the next.
    """
    if most < n + 1 - CLOSE:
        return 0.0
    if whole and abs(n - round(n)) < CLOSE:
        return log((m + n) / (m + n - 1)) / log((n + 1) / n)
    return n / (m + n - 1)


class StepLimits:
    """The limits of what several elements receive together at a step of a sliding tile.

    A tile of p iterations of one dimension and r of the other one slides by r. Of each of these,
    the last p' of p have a word that the tile did not have, where p' is p, or what a step counts of
    the slide if that is less (two such words differ, or are of iterations that far apart). So do
    the others if r is at most half of what a step of the other dimension counts, and some of them
    if r is less than that, unless elements divide the slide: then a tile moves on by more than r.

    The words of E elements that lie next to each other along the slide are others, too. Those of D
    more along the other dimension, each p or more further on, have p' more each, beyond the last
    one. If steps count the same, p' is 1, and p or r more are beyond it. All words of these differ
    if r is less than what their step counts.

    A run of m iterations that does not return begins with a tile of which nothing is there, and the
    words of p D iterations differ. With p of r or more and steps that count the same, these are no
    fewer for an iteration than those of other steps, so shorter runs have more words than others.

    Parameters
    ----------
    extents : Extents
    expression : Expression
    d : str
        The dimension along which it slides.
    rate : int
        The variable of words that are sent for an iteration.
    tile : pair of mappings of int to float
        The iterations of each dimension of an element's tile.
    along : pair of mappings of int to float
        The elements along each that share words.
    divided : mapping of int to float
        All elements along the slide.
    run : int
        The variable of a run's iterations.
    """

    def __init__(
        self,
        extents: Extents,
        expression: Expression,
        d: str,
        rate: int,
        tile: Sequence[Powers],
        along: Sequence[Powers],
        divided: Powers,
        run: int,
    ) -> None:
        k = expression.names.index(d)
        self.counts, self.across = (expression.a, expression.b)[:: 1 if k == 0 else -1]
        self.plain = expression.plain
        self.tile = tile[1 - k], tile[k]
        self.others, self.divided = along[1 - k], divided
        of_one = inverse(self.tile[0])
        self.iterations: list[Powers] = [
            {},
            product(of_one, inverse(self.others)),
            product(of_one, inverse(self.tile[1]), inverse(along[k])),
        ]
        self.run = run
        self.of_run = product({run: -1.0}, inverse(along[k]))
        none = {rate: -1.0}
        terms = [Term(0.0, product(own, none)) for own in self.iterations]
        self.limit = extents.program.limit(*terms, always=False)
        begun = Term(0.0, product(self.of_run, none))
        self.with_first = extents.program.limit(begun, *terms[1:], always=False)

    def settle(self, node: NodeLimits, part: float | None = None) -> None:
        """Set the limits for the ranges of variables.

        Parameters
        ----------
        node : NodeLimits
        part : float, optional
            Which part of the steps counts, if runs return.
        """
        numbers = self.numbers(node.low, node.high)
        if part is not None:
            numbers = numbers[0] * part, numbers[1] * part, numbers[2] * part
        elif (part := self.after_first(node.low, node.high)) is not None:
            node.set_numbers(self.with_first, 1.0, part * numbers[1], part * numbers[2])
        node.set_numbers(self.limit, *numbers)

    def after_first(self, low: Values, high: Values) -> float | None:
        """Return the part of iterations after the first tile of a run, or None."""
        longest = exp(reach(self.tile[1], high))
        if not self.plain or exp(reach(self.tile[0], low)) < longest - CLOSE:
            return None
        return max(0.0, 1 - longest / exp(low[self.run]))

    def numbers(self, low: Values, high: Values) -> tuple[float, float, float]:
        """Return of how many parts of each product of iterations the new words are the sum."""
        p, r = (exp(reach(own, low)) for own in self.tile)
        new, longest = min(p, float(self.counts)), exp(reach(self.tile[1], high))
        if longest < self.across and reach(self.divided, high) < CLOSE:
            old = max(0.0, 2 - self.across / longest)
            return 1 - old, new * old, 0.0
        beyond = min(p, r) if self.plain else new
        return 0.0, new, beyond * (1 - exp(-max(0.0, reach(self.others, low))))

    def words(self, point: Floats, returns: bool) -> float:
        """Return the words for an iteration at a point, at least, if all steps count."""
        numbers = self.numbers(point, point)
        one, *others = (exp(reach(own, point)) for own in self.iterations)
        after = numbers[1] * others[0] + numbers[2] * others[1]
        few = numbers[0] * one + after
        part = None if returns else self.after_first(point, point)
        return few if part is None else max(few, exp(reach(self.of_run, point)) + part * after)


class SetLimits:
    """The limit of what elements read of a window at a time, whichever iterations loops give them.

    Parameters
    ----------
    extents : Extents
    expression : Expression
    rate : int
        The variable of words that are sent for an iteration.
    shared : sequence of int
        Arrays whose elements share words.
    """

    def __init__(
        self, extents: Extents, expression: Expression, rate: int, shared: Sequence[int]
    ) -> None:
        self.extents, self.expression, self.rate = extents, expression, rate
        apart = [k for k in extents.arrays if k not in shared]
        self.along = [extents.along(shared, (d,)) for d in expression.names]
        self.apart = [extents.along(apart, (d,)) for d in expression.names]
        self.known: dict[tuple[float, ...], float] = {}

    def settle(self, node: NodeLimits) -> None:
        """Raise the range of the rate for those of the elements at work."""
        node.low[self.rate] = max(node.low[self.rate], self.least(node.high, node.high))

    def least(self, high: Values, steps: Values) -> float:
        """Return the logarithm of the least rate.

        Parameters
        ----------
        high, steps : arrays of variables
            With the most elements at work, and the most steps.
        """
        e = self.expression
        # at some time, more may be at work than in the mean
        along = [prod(ceil(exp(high[v]) - CLOSE) for v in own) for own in self.along]
        apart = [prod(ceil(exp(high[v]) - CLOSE) for v in own) for own in self.apart]
        most = [self.most_steps(d, steps) * n for d, n in zip(e.names, apart, strict=True)]
        key = *along, *most, *apart
        if key not in self.known:
            m, n = (np.array([min(own, bound)]) for own, bound in zip(along, e.bounds, strict=True))
            sets = [np.array([float(number)]) for number in most]
            regular = [np.array([number == 1]) for number in apart]
            whole, other = e.bounds
            words = words_of_sets(tuple(e.terms), (whole, other), (m, n), sets, regular)
            self.known[key] = log(float(words[0]) / (whole * other)) - CLOSE
        return self.known[key]

    def steps(self, d: str) -> int | None:
        """Return the variable of the steps of a dimension, if there is one."""
        every = self.extents.along(self.extents.arrays, (d,))
        return self.extents.known_times.get((-1, d, tuple(sorted(every))))

    def most_steps(self, d: str, high: Values) -> float:
        """Return the steps that a dimension has at most, as far as that is decided.

        The elements do not say: a tile of all of them may be there once, and a small one after it.
        """
        own = self.steps(d)
        return inf if own is None else floor(exp(high[own]) + WHOLE)


def reach(powers: Powers, ends: Values) -> float:
    """Return the logarithm of a product at one end of all ranges."""
    total = 0.0
    for i, power in powers.items():
        total += power * ends[i]
    return total
