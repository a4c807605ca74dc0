"""Runs of a sliding tile that begin with the words of the tile before."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from math import exp, log
from typing import TYPE_CHECKING

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.joint.program import (
    NodeLimits,
    Powers,
    Term,
    inverse,
    product,
)

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.joint.extents import Extents
    from tilewright.mapper.relaxations.joint.window_limits import Expression, StepLimits

CLOSE = 1e-9
NOT_IN_TWOS = 3  # steps, which are not pairs, nor pairs and more than one


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
        segment = extents.segment[extents.stays[i].receiver]
        self.axes = [
            (own[d], len(extents.least.architecture.arrays[each.array].axes))
            for each, own in zip(extents.halves, extents.elements, strict=True)
            if each.array < segment and d in own
        ]
        self.always = self.of_extents()
        self.rates: list[int] = []
        self.steps: list[StepLimits] = []

    def of_extents(self) -> dict[Back, list[int]]:
        """Return the limits of p, r and m."""
        s, (p, r, m) = log(self.scale), (self.other, self.own, self.m)
        one: Powers = {}

        def within(outer: Powers, bound: int, *terms: tuple[float, Powers]) -> int:
            own, less = inverse(outer), log(bound)
            every = (Term(number - less, product(powers, own)) for number, powers in terms)
            return self.extents.program.limit(*every, always=False)

        across = within(p, 1, (-s, r))
        along = [within(r, 1, (s, p)), within(one, self.other_bound, (-s, r), (0.0, p))]
        if s == 0.0 and self.other_bound == NOT_IN_TWOS:
            along.append(within(r, 1, (log(2), one)))
        several = within(m, 1, (log(2), r))
        # of regular mappings, all runs have several steps
        every = [within(m, 1, (0.0, r), (0.0, one))]
        if self.bound == NOT_IN_TWOS:
            every.append(within(m, 1, (log(self.bound), one)))
        found = {
            Back.ANY: [],
            Back.ACROSS: [
                across,
                within(m, 1, (s, p), (0.0, one)),
                within(p, 2, (-s, m)),
            ],
            Back.AFTER_SEVERAL: [
                within(p, 1, (-s, m), (-s, r)),
                within(one, self.bound, (s, p), (0.0, r)),
            ],
            Back.AFTER_SHORT: [
                across,
                within(m, 1, (s, p), (0.0, r), (0.0, one)),
                within(one, self.bound, (0.0, m), (s, p), (0.0, one)),
            ],
            Back.ALONG: [*along, several],
            Back.BOTH: [
                *along,
                across,
                several,
                within(r, 2, (0.0, m)),
                within(one, self.bound, (0.0, m), (0.0, r), (0.0, one)),
            ],
        }
        return {back: [*every, *own] for back, own in found.items()}

    def add_rate(self, rate: int, shared: Sequence[int]) -> None:
        """Add the limit of words sent for an iteration, by those that some arrays share."""
        if not self.expression.plain:
            return
        # each of those that share it receives no less
        alone = product({rate: -1.0}, inverse(self.extents.along(shared, self.expression.names)))
        parts = product(alone, inverse(self.m)), product(alone, inverse(self.other)), alone
        terms = (Term(0.0, powers) for powers in parts)
        self.rates.append(self.extents.program.limit(*terms, always=False))

    def ways(self, low: Floats, high: Floats) -> list[Back]:
        """Return those that are possible with the ranges of extents."""
        (p,), (r,) = self.other, self.own
        s, close = self.scale, 1 + CLOSE
        fewest, most = s * exp(low[p]), s * exp(high[p]) * close
        least = exp(low[r])
        longest = min(exp(high[r]), self.bound / 2, s * self.other_bound - fewest) * close
        found = []
        if least <= most:
            found.append(Back.ACROSS)
            if 2 * fewest + least + 2 <= self.bound * close:
                found.append(Back.AFTER_SHORT)
        if 2 * least + 1 <= most and 3 * least + 1 <= self.bound:
            found.append(Back.AFTER_SEVERAL)
        if fewest <= longest:
            found.append(Back.ALONG)
            if least <= most and 3 * max(least, fewest) + 1 <= self.bound * close:
                found.append(Back.BOTH)
        return found

    def settle(self, back: Back, node: NodeLimits) -> None:
        """Let the limits of one way hold, with numbers for the ranges of variables."""
        node.active[self.always[back]] = True
        for steps in self.steps:
            steps.settle(node, self.moving(back, node.high))
        if back is not Back.ANY:
            for limit in self.rates:
                node.set_numbers(limit, *self.numbers(back, node.low, node.high))

    def moving(self, back: Back, high: Floats) -> float:
        """Return the part of iterations whose steps move words, at least: not the first of a run.

        Any run has another one, and steps along its dimension save every second run at most.
        """
        (r,) = self.own
        most = exp(high[r])
        saved = most / (most + 1)
        if self.bound == NOT_IN_TWOS and most < 1 + CLOSE:
            saved = 1 / self.bound
        return 1 - saved / 2 if back is Back.ALONG else 1 - saved

    def words(self, back: Back, point: Floats) -> float:
        """Return the words for an iteration at a point, at least."""
        (p,), (m,) = self.other, self.m
        numbers = self.numbers(back, point, point)
        return numbers[0] / exp(point[m]) + numbers[1] / exp(point[p]) + numbers[2]

    def numbers(self, back: Back, low: Floats, high: Floats) -> tuple[float, float, float]:
        """Return of how many parts of m, of p and of one the words for an iteration are the sum."""
        (p,), (r,), (m,) = self.other, self.own, self.m
        fewest, shortest, run = exp(low[p]), exp(low[r]), exp(low[m])
        # of nested chunks, the last one of each may be short; loops have longer ones, too
        shorter = max(1, sum(axes for own, axes in self.axes if high[own] > 0.0))
        if back is Back.ACROSS:
            return 1.0, 0.0, (1 - 1 / max(run, fewest + 1)) / self.other_bound
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
