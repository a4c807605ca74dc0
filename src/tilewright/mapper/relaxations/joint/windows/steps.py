"""What elements of an array receive together at a step of a sliding window."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import TYPE_CHECKING

from tilewright.kernels.types import Floats
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
