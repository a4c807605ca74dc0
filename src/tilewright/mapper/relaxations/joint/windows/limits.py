"""Limits of the words of windows, in tiles and for an iteration."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, inf, log, prod
from typing import TYPE_CHECKING

from tilewright.mapper.relaxations.joint.program import (
    NodeLimits,
    Powers,
    Term,
    Values,
    inverse,
    product,
    reach,
)
from tilewright.mapper.relaxations.joint.windows.expression import Expression

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.joint.extents import Extents

CLOSE = 1e-9
WHOLE = 1e-6  # of a number that may be whole but for rounding


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
    divided : pair of mappings of int to float
        Elements that divide the dimensions, each of which has such sides: one of E or more.

    The last of several sides may be shorter. If steps of the other dimension count as one of this
    one, words for an iteration are linear in 1 / m, so the mean counts: no more than 29 of 56
    iterations at a time are 28 in the mean.
    """

    def __init__(
        self,
        extents: Extents,
        expression: Expression,
        own: Powers,
        sides: Sequence[Powers],
        each: bool,
        divided: Sequence[Powers] = ({}, {}),
    ) -> None:
        self.expression, self.own, self.each, self.sides = expression, own, each, sides
        self.divided, self.are_linear = divided, (expression.b == 1, expression.a == 1)
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

    def ends(self, low: Values, high: Values) -> tuple[list[float], list[float]]:
        """Return the fewest and the most iterations of both sides, the most in the mean."""
        least = [max(1.0, exp(reach(own, low))) for own in self.sides]
        bounds = self.expression.bounds
        most = [
            max(n, min(float(bound), exp(reach(own, high))))
            for own, bound, n in zip(self.sides, bounds, least, strict=True)
        ]
        for k, own in enumerate(self.divided):
            if self.each and self.are_linear[k]:
                number = max(ceil(bounds[k] / most[k] - WHOLE), ceil(exp(reach(own, low)) - WHOLE))
                most[k] = min(most[k], bounds[k] / number)
        return least, most

    def least(self, low: Values, high: Values) -> float:
        """Return the logarithm of what it is at least."""
        # words of a tile grow with its sides, and words for an iteration fall
        least, most = self.ends(low, high)
        words = self.expression.words
        return log(words(*most) / prod(most) if self.each else words(*least))

    def settle(self, node: NodeLimits, part: float = 1.0) -> None:
        """Set the limits for the ranges of variables, and raise the variable's own.

        Parameters
        ----------
        node : NodeLimits
        part : float
            Which part of the iterations counts.
        """
        e = self.expression
        least, most = self.ends(node.low, node.high)
        (variable,) = self.own
        fewest = self.least(node.low, node.high) + log(part)
        node.low[variable] = max(node.low[variable], fewest - 1e-12)
        for k, limit in enumerate(self.single):
            # words / m fall with m, and grow with n from what they are for the least n on
            m, n = (most[0], least[1]) if k == 0 else (most[1], least[0])
            whole = self.are_whole[1 - k]
            more = growth(m, n, most[1 - k], whole=whole) if e.plain else 0.0
            words = e.words(m, n) if k == 0 else e.words(n, m)
            node.set_numbers(limit, part * words / m / n**more)
            node.set_powers(limit, self.places[k], len(self.sides[1 - k]), more - self.each)
        for limit, numbers in zip(self.double, e.sums(*least), strict=False):
            node.set_numbers(limit, *(part * number for number in numbers))
        if self.whole >= 0 and (most[0] <= e.b + CLOSE or most[1] <= e.a + CLOSE):
            node.active[self.whole] = True


class WholeSide:
    """Limits of a window that hold where iterations of one dimension are next to each other.

    Whichever m iterations of the other one these meet, with steps of a: n next to each other have n
    words, and a or n more with each of the others, as for m iterations next to each other.

    Parameters
    ----------
    limits : WindowLimits
        Of both sides.
    k : int
        Which one is next to each other.
    divided : mapping of int to float
        The elements that have different iterations of it.
    tile : bool
        Whether the sides are those of the tiles of all elements.
    """

    def __init__(self, limits: WindowLimits, k: int, divided: Powers, tile: bool) -> None:
        self.limits, self.divided, self.side = limits, divided, limits.sides[k]
        bound = limits.expression.bounds[k]
        # tiles of all elements are whole numbers
        self.every = log(bound - 1) + CLOSE if tile else log(bound) - WHOLE

    def holds(self, low: Values, high: Values) -> bool:
        """Whether no elements divide the side, or all of it is there."""
        return reach(self.side, low) > self.every or reach(self.divided, high) < CLOSE

    def least(self, low: Values, high: Values) -> float:
        """Return the logarithm of what it is at least."""
        return self.limits.least(low, high) if self.holds(low, high) else -inf

    def settle(self, node: NodeLimits, part: float = 1.0) -> None:
        """Set the limits if they hold."""
        if self.holds(node.low, node.high):
            self.limits.settle(node, part)


class NewTile:
    """Limits of a window that hold where each step of a sliding tile takes only new words.

    That is so if the tile has no more of the other dimension than what a step of the slide counts:
    of two positions of a word, the slide's differ by multiples of what a step of the other one
    counts, and the others by multiples of that.

    Parameters
    ----------
    limits : WindowLimits or WholeSide
        Of the tiles of all elements that share words.
    other : mapping of int to float
        What an element has of the other dimension.
    counts : int
    """

    def __init__(self, limits: WindowLimits | WholeSide, other: Powers, counts: int) -> None:
        self.limits, self.other, self.most = limits, other, log(counts) + CLOSE

    def least(self, low: Values, high: Values) -> float:
        """Return the logarithm of what it is at least."""
        return self.limits.least(low, high) if reach(self.other, high) < self.most else -inf

    def settle(self, node: NodeLimits, part: float = 1.0) -> None:
        """Set the limits if they hold."""
        if reach(self.other, node.high) < self.most:
            self.limits.settle(node, part)


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
