"""What elements of an array share of a window when their tiles lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, exp, floor, inf, log, prod
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


class SpreadTiles:
    """The limit of what elements next to each other receive of a sliding window.

    Of E elements of an array, each has x iterations of the slide in a row. A step below the array
    moves a tile by its own r, and what comes in is new for each element. A loop above moves it past
    all others, and then the whole tile is new. So neighbours share what a tile has beyond its r
    only at the first step of each x, and an element what it has itself for all of x.

    Say that a step of the slide counts as a of the other dimension, of which the tile has p, a or
    more. Its words are a (r + h) with h = (p - a) / a, all next to each other, and each further
    step has a r. Where all move at once, neighbours are x apart, so E x iterations have a (E x + (E
    - 1) min(x - r, h) + h) words. With r (E - 1) >= h, that is least for an iteration with x = r,
    or with the next x, or the longest. Only the last element has less than x, unless several axes
    divide the slide: of two, half of the others may.

    Several loops above the array may lead to a chunk that is shorter than others: of x + h or less
    if the next one finds words of it. There are no more such chunks than others.

    Parameters
    ----------
    extents : Extents
    expression : Expression
    k : int
        Which of its dimensions slides.
    rate : int
        The variable of words that are sent for an iteration.
    tile, along : pairs of mappings of int to float
        The iterations of each dimension of an element's tile, and the elements along each.
    run : int
        The variable of a run's iterations.
    axes : int
        Of the array.
    """

    def __init__(
        self,
        extents: Extents,
        expression: Expression,
        k: int,
        rate: int,
        tile: Sequence[Powers],
        along: Sequence[Powers],
        run: int,
        axes: int,
    ) -> None:
        self.d, self.bound = expression.names[k], expression.bounds[k]
        self.counts, self.some = (expression.a, expression.b)[k], 2.0 ** (axes - 1)
        self.other, self.own = tile[1 - k], tile[k]
        self.others, self.elements, self.run = along[1 - k], along[k], run
        alone, none = inverse(self.other), {rate: -1.0}
        terms = Term(0.0, product(alone, none)), Term(0.0, none)
        self.limit = extents.program.limit(*terms, always=False)

    def more(self, low: Values, high: Values, node: NodeLimits | None = None) -> float:
        """Return which part of the words of a tile beyond a r count for each iteration.

        Parameters
        ----------
        low, high : arrays of variables
        node : NodeLimits, optional
            Where more is known.
        """
        p, most = exp(reach(self.other, low)), exp(reach(self.other, high))
        fewest, elements = exp(reach(self.elements, low)), exp(reach(self.elements, high))
        some = 1.0 if node and are_full(self.elements, self.bound, node) else self.some
        h = (most - self.counts) / self.counts
        r, m = exp(reach(self.own, high)), exp(high[self.run])
        # the next x that there may be
        next_one = floor(r + 1 + WHOLE)
        chunks = node.chunks.get(self.d) if node else None
        ways = [x for x in chunks if x > r + WHOLE] if chunks else [next_one]
        apart = exp(reach(self.own, low)) * (fewest / some - 1) >= h - CLOSE
        if p < self.counts - CLOSE or reach(self.others, high) > CLOSE or not apart:
            return 0.0
        at_once = not chunks or chunks[0] <= r + WHOLE
        found = 1.0
        if at_once:
            # each with one that is shorter, all chunks are no more than the bound
            found = ceil(self.bound / (r * (elements + 1) + h) - WHOLE) / self.bound
        if not at_once or (ways and m >= next_one - CLOSE):
            x = ways[0]
            further = (fewest / some - 1) * min((x - r) / h, 1.0) + 1 if h > 0 else 1.0
            longest = some * min(m + (m + h) / fewest, self.bound / fewest)
            found = min(found, further / min(x * (elements + 1) + h, self.bound), 1.0 / longest)
        return found

    def least(self, low: Values, high: Values) -> float:
        """Return the logarithm of what it is at least."""
        more = self.more(low, high)
        return (
            log(more + (1 - more) * self.counts * exp(-reach(self.other, high))) if more else -inf
        )

    def settle(self, node: NodeLimits) -> None:
        """Set the limit if it holds."""
        more = self.more(node.low, node.high, node)
        if more:
            node.set_numbers(self.limit, (1 - more) * self.counts, more)


class TilesApart:
    """The limit of what elements that lie apart receive of a window that does not slide.

    Of E elements, each has x iterations in a row, of which its tile has t, and p of the other
    dimension. Say that a step counts as a of those, and p is a or more. Its words are a (t + h)
    with h = (p - a) / a, all next to each other, and neighbours are x apart. So E t iterations have
    a (E - 1) min(x, t + h) words and those of one tile. The last element may have less, but no
    other one, unless several axes divide the dimension. That is two in E + 1 elements at most, as
    there are no more chunks that are shorter than others.

    Parameters
    ----------
    expression : Expression
    k : int
        The dimension that an array divides.
    rate : int
        The variable of words that are sent for an iteration.
    tile, along : pairs of mappings of int to float
        The iterations of each dimension of an element's tile, and the elements along each.
    axes : int
        Of the array.
    slides : bool
        Whether it slides along the other dimension, if there are loops on that.
    """

    def __init__(
        self,
        expression: Expression,
        k: int,
        rate: int,
        tile: Sequence[Powers],
        along: Sequence[Powers],
        axes: int,
        slides: bool = False,
    ) -> None:
        self.d, self.bound = expression.names[k], expression.bounds[k]
        # of the other dimension, for no loop to be left that it could slide along
        self.fewest_others = float(expression.bounds[1 - k]) if slides else 0.0
        self.counts, self.rate, self.axes = (expression.a, expression.b)[k], rate, axes
        self.other, self.own = tile[1 - k], tile[k]
        self.others, self.elements = along[1 - k], along[k]

    def holds(self, node: NodeLimits) -> bool:
        """Whether neighbours are known to be x apart, and tiles to be all next to each other."""
        if self.axes > 1 and not are_full(self.elements, self.bound, node):
            return False
        fewest = max(float(self.counts), self.fewest_others)
        contiguous = exp(reach(self.other, node.low)) >= fewest - WHOLE
        return contiguous and reach(self.others, node.high) < CLOSE

    def settle(self, node: NodeLimits) -> None:
        """Raise the range of the rate."""
        least, longest = exp(reach(self.own, node.low)), exp(reach(self.own, node.high))
        chunks = [x for x in node.chunks.get(self.d, ()) if x >= least - WHOLE]
        if not chunks or not self.holds(node):
            return
        p = exp(reach(self.other, node.high))
        ends = [exp(reach(self.elements, ends)) for ends in (node.low, node.high)]
        h, few = (p - self.counts) / self.counts, inf
        for x in chunks:
            most = min(longest, float(x))
            # the last of its tiles may be shorter
            mean = x / ceil(x / most - WHOLE)
            more = 1 + h / mean if most + h <= x else x / most
            found = min(more + (1 + h / mean - more) / elements for elements in ends)
            # the last element, of chunks that are shorter than others, too, may have long ones only
            whole = are_full(self.elements, self.bound, node) and ends[0] * x > self.bound - WHOLE
            last = 0.0 if whole else 2 / (ends[0] + 1)
            few = min(few, found + last * min(0.0, 1 + h / most - found))
        node.low[self.rate] = max(node.low[self.rate], log(few * self.counts / p) - CLOSE)


def are_full(elements: Powers, bound: int, node: NodeLimits) -> bool:
    """Whether all elements have as many iterations of a dimension as any."""
    every, fewest = prod(node.widest[v] for v in elements), exp(reach(elements, node.low))
    # one that has less has an iteration less, of at most so many
    return every - fewest < fewest / bound * (1 - WHOLE)
