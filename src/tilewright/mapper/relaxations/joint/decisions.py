"""What the solution of a program has not settled, and what that may be worth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil, exp, floor, inf, log

import numpy as np

from tilewright.mapper.relaxations.joint.array_chunks import Cut
from tilewright.mapper.relaxations.joint.assumption import Assumption, Decision, at_a_number
from tilewright.mapper.relaxations.joint.extents import Extents
from tilewright.mapper.relaxations.joint.node import BoundNode
from tilewright.mapper.relaxations.joint.program import Powers, span
from tilewright.mapper.relaxations.joint.window_decisions import (
    APART,
    WORTH,
    WindowDecisions,
    halves_of_part,
)

WHOLE = 1e-6  # of a number that may be whole but for rounding
LEAST, SEVERAL = 1e-9, 4.0  # by how much a line is too high, and how many times that counts
FEW_STEPS = 1e-3  # of the logarithm of a value, which chunks may be worth
EDGE = 0.1  # of a range, for parts that are not too small


class Decisions:
    """What is open at a node.

    Parameters
    ----------
    extents : Extents
    node : BoundNode
    """

    def __init__(self, extents: Extents, node: BoundNode) -> None:
        self.extents, self.node = extents, node
        self.windows = extents.windows
        self.point = node.point
        self.low, self.high = node.ranges
        self.shares = self.of_stays()
        self.of_windows = WindowDecisions(extents, node, self.shares)

    def open(self, close: bool = False) -> list[Decision]:
        """Return all that may be worth something, whole numbers if nothing else is.

        Where a bound is close to the ceiling, lines may be worth as little as that.
        """
        lines = list(self.lines())
        found = [*self.orders(), *self.spaces(), *self.of_windows.open(), *lines]
        found = [own for own in found if own.worth > WORTH]
        if not found:
            found = [*self.numbers(), *self.chunks(), *self.steps()]
            found = [own for own in found if own.worth > WORTH]
        return [*found, *(own for own in lines if own.worth <= WORTH)] if close else found

    def of_stays(self) -> list[float]:
        """Return the part of the objective that the words of each stay make up."""
        extents, point = self.extents, self.point
        shares = [0.0] * len(extents.stays)
        owner = {v: key[0] for key, v in extents.known_times.items() if key[0] >= 0}
        owner |= {v: key[0] for key, v in self.windows.known.items() if key[0] >= 0}
        limits, (energy, cycles) = extents.limits, extents.objective.powers
        for g, power in (
            *((g, energy) for g in extents.sums[extents.energy]),
            *((g, cycles) for g in extents.sums[extents.cycles]),
        ):
            for t in range(limits.first[g], limits.first[g + 1]):
                term = slice(limits.start[t], limits.start[t + 1])
                variables = limits.variables[limits.begin[g] + limits.slots[term]]
                value = extents.logs[t] + float(limits.powers[term] @ point[variables])
                for v in variables.tolist():
                    if v in owner:
                        shares[owner[v]] += power * exp(min(0.0, value))
                        break
        return shares

    def value(self, powers: Powers) -> float:
        """Return the logarithm of a product."""
        return float(sum(power * self.point[i] for i, power in powers.items()))

    def larger(self, i: int, k: int) -> list[float]:
        """Return how much larger one stay is than another one, as logarithms."""
        extents = self.extents
        return [
            self.point[extents.extents[i][d]]
            - self.point[extents.extents[k][d]]
            - self.value(extents.scale(i, k, d))
            for d in extents.dimensions
        ]

    def orders(self) -> Iterator[Decision]:
        """Yield pairs of stays neither of which is inside of the other one."""
        count = len(self.extents.stays)
        known = self.node.inside | self.extents.inside
        for i in range(count):
            for k in range(i + 1, count):
                if (i, k) in known or (k, i) in known:
                    continue
                differ = self.larger(i, k)
                apart = min(max(differ), -min(differ))
                share = max(self.shares[i], self.shares[k])
                ways = [Assumption(inside=((i, k),)), Assumption(inside=((k, i),))]
                yield Decision(("order", i, k), 2 * apart * share, ways)

    def spaces(self) -> Iterator[Decision]:
        """Yield parts of spatial choices, none of which has as many elements."""
        extents = self.extents
        for k, each in enumerate(extents.halves):
            part = self.node.parts[k]
            if each.ranges[part] == 0.0:
                continue
            own = extents.elements[k]
            rows = each.choices[each.members(part)][:, [extents.position[d] for d in own]]
            more = self.point[list(own.values())] - np.log(rows)
            missing = float(np.maximum(more, 0.0).sum(axis=1).min())
            worth = max(missing, self.of_elements(own.values()))
            yield Decision(("space", k), worth, halves_of_part(k, each, part))

    def of_elements(self, own: Iterable[int]) -> float:
        """Return what it may be worth to know that elements do not divide windows that return."""
        undecided = {v for v in own if self.high[v] > APART > self.point[v]}
        worth = 0.0
        for i, slide in self.node.slides.items():
            if slide.returns:
                returning = self.windows.returning[i, slide.dimension]
                if undecided.intersection([*returning.others, *(v for v, _ in returning.axes)]):
                    worth = max(worth, EDGE * self.shares[i])
        return worth

    def lines(self) -> Iterator[Decision]:
        """Yield ranges of energy or cycles, in which a line is far above what it stands for."""
        for own in self.extents.negative:
            low, high = span(own.product, self.low, self.high)
            at = min(max(self.value(own.product), low), high)
            number, slope = own.chord(low, high)
            over = number + slope * at - own.more(at)
            v = next(iter(own.product))
            low, high = float(self.low[v]), float(self.high[v])
            at = min(max(float(self.point[v]), low), high)
            if over > LEAST and high - low > LEAST:
                # below it, where a line is that much lower, there is no solution like this one
                middle = max(at - SEVERAL * over, low + EDGE * (high - low))
                middle = min(middle, high - LEAST)
                ways = [
                    Assumption(ranges=((v, -inf, middle),)),
                    Assumption(ranges=((v, middle, inf),)),
                ]
                yield Decision(("line", own.limit), over, ways)

    def chunks(self) -> Iterator[Decision]:
        """Yield chunks of arrays that no loops make."""
        extents, node = self.extents, self.node
        known = node.inside | extents.inside
        power = extents.objective.powers[1]
        for n, own in enumerate(extents.chunks):
            for i, k in own.pairs():
                if (i, k) in known or ((k, i) not in known and min(self.larger(i, k)) > -APART):
                    powers = power, self.shares[k]
                    cut = own.cut((i, k), node.parts, self.point, self.high, powers)
                    if cut is not None:
                        ways = self.ways_to_cut(cut, known)
                        yield Decision(("chunks", n, i, k), cut.worth, ways)

    def steps(self) -> Iterator[Decision]:
        """Yield steps, of which few leave elements that share windows other chunks than many."""
        shared = {d for t in self.windows.expressions for e in t if e.two for d in e.names}
        for n, own in enumerate(self.extents.chunks):
            if own.d in shared:
                steps = own.fewer_chunks(self.node.parts, self.node.ranges, self.point)
                if steps is not None:
                    ways = at_a_number(own.steps, steps)
                    yield Decision(("steps", n), FEW_STEPS * max(self.shares, default=1.0), ways)

    def ways_to_cut(self, cut: Cut, known: frozenset[tuple[int, int]]) -> list[Assumption]:
        """Return what is left of a solution that no mapping has, and the ways around it."""
        left = Assumption()
        others = []
        if cut.inside not in known:
            others.append(Assumption(inside=(cut.inside[::-1],)))
            left = Assumption(inside=(cut.inside,))
        for v, number in cut.most:
            less, more = at_a_number(v, number)
            if self.high[v] >= log(number + 1):
                others.append(left._replace(ranges=left.ranges + more.ranges))
                left = left._replace(ranges=left.ranges + less.ranges)
        return [left, *others]

    def numbers(self) -> Iterator[Decision]:
        """Yield numbers that are not whole: of times, of steps, of iterations of a stay."""
        extents = self.extents
        for (i, d, _), times in extents.known_times.items():
            share = self.shares[i] if i >= 0 else max(*extents.objective.powers, 1.0)
            yield from self.of_times(i, d, times, share)
        for i in range(len(extents.stays)):
            for d, v in extents.extents[i].items():
                number = exp(self.point[v])
                whole = floor(number + WHOLE)
                if self.is_whole(i, d) and self.is_between(v, number, whole):
                    worth = self.shares[i] * off(number, whole)
                    yield Decision(("iterations", i, d), worth, at_a_number(v, whole))

    def is_between(self, v: int, number: float, whole: int) -> bool:
        """Whether a variable is above a whole number, and may still be it or the next one."""
        low, high = exp(self.low[v]), exp(self.high[v])
        return number - whole > APART and low <= whole + WHOLE and high >= whole + 1 - WHOLE

    def is_whole(self, i: int, d: str) -> bool:
        """Whether a stay has a whole number of iterations: of its tile, or of one element above.

        Elements of an array have as many in the mean, which need not be whole.
        """
        extents, stay = self.extents, self.extents.stays[i]
        if d in extents.least.relevant[stay.tensor]:
            return True
        return all(
            d not in own or each.widest[self.node.parts[k], extents.position[d]] == 1
            for k, (each, own) in enumerate(zip(extents.halves, extents.elements, strict=True))
            if each.array < extents.segment[stay.receiver]
        )

    def of_times(self, i: int, d: str, v: int, share: float) -> Iterator[Decision]:
        """Yield how often a word comes in along a dimension.

        Loops over other dimensions do not change that, so it is a whole number, however many
        elements share the word.
        """
        extents = self.extents
        times = exp(self.point[v])
        whole = floor(times + WHOLE)
        if not self.is_between(v, times, whole):
            return
        few, often = at_a_number(v, whole)
        if i >= 0 and self.is_whole(i, d):
            # stays are as long as that takes, or shorter
            own, bound = extents.extents[i][d], extents.bounds[d]
            long = ceil(bound / whole - WHOLE)
            few = Assumption(ranges=(*few.ranges, (own, log(long), inf)))
            often = Assumption(ranges=(*often.ranges, (own, -inf, log(max(1, long - 1)))))
        yield Decision(("times", i, d), share * off(times, whole), [few, often])


def off(number: float, whole: int) -> float:
    """Return how far the nearest whole number is, as a logarithm."""
    return min(log((whole + 1) / number), log(number / whole)) if whole else 0.0
