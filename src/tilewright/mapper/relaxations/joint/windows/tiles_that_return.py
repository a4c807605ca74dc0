"""Runs of a sliding tile that begin with the words of the tile before."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from math import exp, inf, log
from typing import TYPE_CHECKING, NamedTuple

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.joint.program import (
    NodeLimits,
    Powers,
    Term,
    Values,
    inverse,
    product,
)

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.joint.extents import Extents
    from tilewright.mapper.relaxations.joint.windows.expression import Expression
    from tilewright.mapper.relaxations.joint.windows.limits import NewTile
    from tilewright.mapper.relaxations.joint.windows.steps import StepLimits

CLOSE = 1e-9
NOT_IN_TWOS = 3  # steps, which are not pairs, nor pairs and more than one


class Limit(NamedTuple):
    """A limit of extents.

    Attributes
    ----------
    limit : int
    of_own, of_other : bool
        Whether it holds only if no elements divide the run's dimension, or the other one.
    """

    limit: int
    of_own: bool
    of_other: bool

    def holds(self, own: bool, other: bool) -> bool:
        """Whether it does, if elements divide the run's dimension or the other one."""
        return not ((self.of_own and own) or (self.of_other and other))


class Back(Enum):
    """When a run begins with the words of the tile before, which need not move again.

    Never; in any of the following ways; at a step of the other dimension, after one run, after
    several, or after runs that are shorter than others; at a step of the run's own dimension; or at
    steps of either.
    """

    NEVER = auto()
    ANY = auto()
    ACROSS = auto()
    AFTER_SEVERAL = auto()
    AFTER_SHORT = auto()
    ALONG = auto()
    BOTH = auto()


class ReturningTile:
    """The limits of a tile that returns to words that it has.

    Say that it slides along d, in runs of m iterations with steps of r, and that it has p of the
    other dimension, each of whose steps counts as much as s of d. At a step of that one, d begins
    anew, and the tile is the same again where s p is the offset of the last step on d: in its run,
    q, or in several runs. At a step of d outside of a loop on the other dimension, that one begins
    anew, and r is s times the offset of the last step there; runs end with whole steps then.

    - Across, after one run: q is s p, and m at most q + r. Only what is new moves. So of words next
      to each other (s = 1), m with all z of the other dimension bring in z + m - 1.
    - After several, s p is m + r at least. Of 4 runs or more, the first one has m - r words, and
      others m + p - 1, which are no fewer than m z / m together.
    - After short runs, q is more than s p, so s p + r at least. The short ones have s p < m. With
      s = 1, those of m have p + m - 1 words, or m - 1 / 2 on average if steps of d return as well.
      Short ones have p, for p + r iterations of d at most. There are no more of them than others,
      but where arrays divide d.
    - Along: p + r / s of the other dimension belong together, 1 / (1 + r / (s p)) of the runs
      return, and r is at least s p. With s = 1, runs have m - r / (p + r) words on average.
      The last ones may have less than m of d, but more than r.
    - Both: s p is r, m is 2 r, and all moves once, p words with a run.

    Where elements of an array divide d, its steps may be several r, and where they divide the other
    dimension, those may be several p. Less holds then: steps other than the first of a run move
    words.

    But where one array divides one of the dimensions, into so many elements that a step past all of
    them is longer than what such a return takes, the loops of a return are below the array, as if
    there were none. An element has several steps of its dimension in a row then, and its tile no
    word that others have: along d, neighbours are m apart, s p + r or more, or 2 r with r of s p or
    more. Along the other dimension they are 2 p apart with r of s p or less, or r / s + p.

    Parameters
    ----------
    extents : Extents
    expression : Expression
    i : int
        The stay.
    d : str
        The dimension of the expression that it slides along.
    run : int
        The variable of a run's iterations.
    """

    def __init__(self, extents: Extents, expression: Expression, i: int, d: str, run: int) -> None:
        self.extents, self.expression = extents, expression
        k = expression.names.index(d)
        counts = expression.a, expression.b
        self.scale = counts[1 - k] / counts[k]
        self.bound, self.other_bound = expression.bounds[k], expression.bounds[1 - k]
        self.own = extents.extent(i, d)
        self.other = extents.extent(i, expression.names[1 - k])
        self.m: Powers = {run: 1.0}
        above = range(extents.segment[extents.stays[i].receiver])
        self.axes = [
            (own[d], len(extents.least.architecture.arrays[each.array].axes))
            for each, own in zip(extents.halves, extents.elements, strict=True)
            if each.array in above and d in own
        ]
        self.others = list(extents.along(above, (expression.names[1 - k],)))
        self.arrays = [
            [k for k in above if extents.along((k,), (names,))]
            for names in (d, expression.names[1 - k])
        ]
        self.always = self.of_extents()
        self.rates: list[tuple[int, int]] = []
        self.apart: list[int] = []
        self.steps: list[StepLimits | NewTile] = []

    def of_extents(self) -> dict[Back, list[Limit]]:
        """Return the limits of p, r and m."""
        s, (p, r, m) = log(self.scale), (self.other, self.own, self.m)
        one: Powers = {}

        def within(outer: Powers, bound: int, *terms: tuple[float, Powers], of: str = "") -> Limit:
            own, less = inverse(outer), log(bound)
            every = (Term(number - less, product(powers, own)) for number, powers in terms)
            return Limit(self.extents.program.limit(*every, always=False), "d" in of, "o" in of)

        across = within(p, 1, (-s, r), of="o")
        along = [
            within(r, 1, (s, p), of="d"),
            within(one, self.other_bound, (-s, r), (0.0, p)),
        ]
        if s == 0.0 and self.other_bound == NOT_IN_TWOS:
            along.append(within(r, 1, (log(2), one), of="d"))
        several = within(m, 1, (log(2), r))
        # of regular mappings, all runs have several steps
        every = [within(m, 1, (0.0, r), (0.0, one))]
        if self.bound == NOT_IN_TWOS:
            every.append(within(m, 1, (log(self.bound), one)))
        found = {
            Back.ANY: [],
            Back.ACROSS: [
                across,
                within(m, 1, (s, p), (0.0, one), of="d"),
                within(p, 2, (-s, m), of="o"),
            ],
            Back.AFTER_SEVERAL: [
                within(p, 1, (-s, m), (-s, r), of="o"),
                within(one, self.bound, (s, p), (0.0, r)),
            ],
            Back.AFTER_SHORT: [
                across,
                within(m, 1, (s, p), (0.0, r), (0.0, one), of="d"),
                within(one, self.bound, (0.0, m), (s, p), (0.0, one), of="d"),
            ],
            Back.ALONG: [*along, several],
            Back.BOTH: [
                *along,
                across,
                several,
                within(r, 2, (0.0, m), of="d"),
                within(one, self.bound, (0.0, m), (0.0, r), (0.0, one)),
            ],
        }
        return {back: [*every, *own] for back, own in found.items()}

    def divided(
        self, high: Values, low: Values | None = None, back: Back = Back.ANY
    ) -> tuple[bool, bool]:
        """Return whether elements of arrays above divide d, and the other dimension.

        With the low ends of ranges, whether they divide the loops of a return.
        """
        if low is not None and self.is_below(back, low, high):
            return False, False
        return any(high[v] > CLOSE for v, _ in self.axes), any(high[v] > CLOSE for v in self.others)

    def is_below(self, back: Back, low: Values, high: Values) -> bool:
        """Whether the loops of a return are below the array that divides one of the dimensions."""
        (p,), (r,), (m,) = self.other, self.own, self.m
        own, other = self.divided(high)
        if own == other or len(self.arrays[0 if own else 1]) != 1:
            return False
        if own:
            past_all = exp(low[r] + sum(low[v] for v, _ in self.axes))
            if back is Back.AFTER_SHORT:
                return False
            once = back in (Back.ACROSS, Back.AFTER_SEVERAL)
            longest = self.scale * (exp(high[p]) if once else self.other_bound)
        else:
            past_all = self.scale * exp(low[p] + sum(low[v] for v in self.others))
            once = back in (Back.ACROSS, Back.AFTER_SHORT)
            longest = min(exp(high[m]), self.bound) if once else self.bound
        return back is not Back.ANY and past_all > longest * (1 + CLOSE)

    def alone(self, shared: Sequence[int]) -> bool:
        """Whether only arrays whose elements share words divide its dimensions."""
        return bool(shared) and set(self.arrays[0] + self.arrays[1]) <= set(shared)

    def compare(self, rate: int, shared: Sequence[int], received: int) -> None:
        """Add the limit that all that elements receive is sent, where they share nothing."""
        if self.alone(shared):
            term = Term(0.0, {received: 1.0, rate: -1.0})
            self.apart.append(self.extents.program.limit(term, always=False))

    def add_rate(self, rate: int, shared: Sequence[int]) -> None:
        """Add the limit of words sent for an iteration, by those that some arrays share."""
        if not self.expression.plain:
            return
        # each of those that share it receives no less
        by_all = inverse(self.extents.along(shared, self.expression.names))
        limit = known = self.add_parts(product({rate: -1.0}, by_all))
        if self.alone(shared):
            known = self.add_parts({rate: -1.0})
        self.rates.append((limit, known))

    def add_parts(self, alone: Powers) -> int:
        """Add a limit with parts of m, of p and of one."""
        parts = product(alone, inverse(self.m)), product(alone, inverse(self.other)), alone
        return self.extents.program.limit(*(Term(0.0, own) for own in parts), always=False)

    def ways(self, low: Values, high: Values) -> list[Back]:
        """Return those that are possible with the ranges of extents."""
        (p,), (r,) = self.other, self.own
        s, close = self.scale, 1 + CLOSE
        own, other = self.divided(high)
        fewest, most = s * exp(low[p]), inf if other else s * exp(high[p]) * close
        least, bound = exp(low[r]), self.bound * close
        found = []
        if least <= most:
            found.append(Back.ACROSS)
            if own or 2 * fewest + least + 2 <= bound:
                found.append(Back.AFTER_SHORT)
        if 2 * least + 1 <= most and 3 * least + 1 <= bound:
            found.append(Back.AFTER_SEVERAL)
        # of d, a step has so many iterations at least, and at most
        fewest = least if own else max(least, fewest)
        longest = min(exp(high[r]), self.bound / 2, s * (self.other_bound - exp(low[p]))) * close
        if fewest <= longest:
            found.append(Back.ALONG)
            if least <= most and 3 * fewest + 1 <= bound:
                found.append(Back.BOTH)
        return found

    def settle(self, back: Back, node: NodeLimits) -> None:
        """Let the limits of one way hold, with numbers for the ranges of variables."""
        own, other = self.divided(node.high, node.low, back)
        for each in self.always[back]:
            node.active[each.limit] = each.holds(own, other)
        below = self.is_below(back, node.low, node.high)
        for limit in self.apart:
            node.active[limit] = below
        for steps in self.steps:
            steps.settle(node, self.moving(back, node.low, node.high))
        if back is not Back.ANY:
            numbers = self.numbers(back, node.low, node.high)
            for rate, apart in self.rates:
                node.set_numbers(apart if below else rate, *numbers)

    def moving(self, back: Back, low: Values, high: Values) -> float:
        """Return the part of iterations whose steps move words, at least: not the first of a run.

        Any run has another step, and steps along its dimension save every second run at most.
        """
        (p,), (r,), (m,) = self.other, self.own, self.m
        longest = exp(high[r])
        if self.bound == NOT_IN_TWOS and longest < 1 + CLOSE:
            first = 1 / self.bound
        else:
            shorter = self.shorter(high)
            run = max(exp(low[m]), longest + 1)
            first = (1 + shorter) * longest / (run + shorter * (longest + 1))
        if back is Back.ALONG:
            several = (
                1.0 if any(self.divided(high, low, back)) else exp(low[r] - high[p]) / self.scale
            )
            first /= 1 + max(1.0, several)
        return 1 - first

    def shorter(self, high: Values) -> int:
        """Return how many shorter runs there may be for each one.

        Of nested chunks, the last one of each may be short; loops have longer ones, too.
        """
        return max(1, sum(axes for own, axes in self.axes if high[own] > 0.0))

    def words(self, back: Back, point: Floats) -> float:
        """Return the words for an iteration at a point, at least."""
        (p,), (m,) = self.other, self.m
        numbers = self.numbers(back, point, point)
        return numbers[0] / exp(point[m]) + numbers[1] / exp(point[p]) + numbers[2]

    def numbers(self, back: Back, low: Values, high: Values) -> tuple[float, float, float]:
        """Return of how many parts of m, of p and of one the words for an iteration are the sum."""
        (p,), (r,), (m,) = self.other, self.own, self.m
        fewest, shortest, run = exp(low[p]), exp(low[r]), exp(low[m])
        shorter = self.shorter(high)
        own, other = self.divided(high, low, back)
        if back is Back.ACROSS:
            run = run if own else max(run, fewest + 1)
            return 1.0, 0.0, (1 - 1 / run) / self.other_bound
        if own or other:
            return 0.0, self.moving(back, low, high), 0.0
        if back is Back.AFTER_SHORT:
            run = max(run, fewest + shortest + 1)
            alike = exp(high[r]) >= fewest
            more = shorter + (-0.5 / fewest if alike else 1 - 1 / fewest)
            part = run / (run + shorter * (exp(high[p]) + exp(high[r])))
            return part * more, part, 0.0
        if back is Back.ALONG:
            shortest = max(shortest, fewest)
            run = max(run, 2 * shortest)
            less = shortest / (fewest + shortest) / (run + shorter * (shortest + 1))
            return 0.0, 1 - (1 + shorter) * less, 0.0
        return 1.0, 0.0, 0.0
