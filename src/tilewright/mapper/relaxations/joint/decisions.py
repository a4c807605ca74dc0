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
from tilewright.mapper.relaxations.joint.windows.limits import Expression
from tilewright.mapper.relaxations.joint.windows.tiles_that_return import Back
from tilewright.mapper.relaxations.joint.windows.words import Slide

WHOLE = 1e-6  # of a number that may be whole but for rounding
APART = 1e-3  # of logarithms that differ
WORTH = 1e-5  # of the logarithm of a value
LEAST, SEVERAL = 1e-9, 4.0  # by how much a line is too high, and how many times that counts
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

    def open(self, close: bool = False) -> list[Decision]:
        """Return all that may be worth something, whole numbers if nothing else is.

        Where a bound is close to the ceiling, lines may be worth as little as that.
        """
        lines = list(self.lines())
        found = [*self.orders(), *self.spaces(), *self.slides(), *self.sets(), *lines]
        found = [own for own in found if own.worth > WORTH]
        if not found:
            found = [*self.numbers(), *self.chunks()]
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
            ways = [Assumption(part=((k, int(child)),)) for child in each.children[part]]
            yield Decision(("space", k), max(missing, self.of_elements(own.values())), ways)

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

    def slides(self) -> Iterator[Decision]:
        """Yield along which dimensions tiles slide, what that takes, and extents of windows."""
        extents, windows = self.extents, self.windows
        for i in windows.run:
            share = self.shares[i]
            expressions = windows.expressions[extents.stays[i].tensor]
            if i not in self.node.slides:
                yield Decision(("slide", i), self.too_few(i) * share, self.ways_to_slide(i))
            else:
                slide = self.node.slides[i]
                yield from self.runs(i, slide)
                if slide.back is Back.ANY:
                    few = self.too_few(i) * share
                    yield Decision(("return", i), few, self.ways_to_return(i, slide.dimension))
                for n, shared, rate in windows.rates_of(i):
                    yield from self.extent_of(i, expressions[n], rate, shared, share)
            for n, e in enumerate(expressions):
                if e.two:
                    m, other = (exp(self.point[extents.extents[i][d]]) for d in e.names)
                    missing = log(e.words(m, other)) - self.point[windows.words[i, n]]
                    yield from self.divided(i, e, missing * 0.3 * max(self.shares))

    def sets(self) -> Iterator[Decision]:
        """Yield steps of windows: with as few as that, elements share fewer words."""
        for own in self.windows.sets:
            missing = own.least(self.high, self.point) - self.point[own.rate]
            if missing > WORTH:
                steps = [v for d in own.expression.names if (v := own.steps(d)) is not None]
                ways = [(self.high[v] - self.point[v], v) for v in steps]
                apart, v = max(ways, default=(0.0, 0))
                if apart > APART:
                    at = at_a_number(v, floor(exp(self.point[v]) + WHOLE))
                    yield Decision(("sets", own.rate), missing * max(self.shares), at)

    def too_few(self, i: int) -> float:
        """Return how far the words sent to a stay are below those of tiles that do not slide."""
        missing = 0.0
        for n, _, rate in self.windows.rates_of(i):
            e = self.windows.expressions[self.extents.stays[i].tensor][n]
            tile = [exp(self.point[self.extents.extents[i][d]]) for d in e.names]
            few = log(e.words(*tile) / (tile[0] * tile[1])) - self.point[rate]
            missing = max(missing, few)
        return missing

    def ways_to_slide(self, i: int) -> list[Assumption]:
        """Return the dimensions that a tile may slide along: those of which it has not all."""
        extents = self.extents
        every = self.windows.slides(i)
        own = extents.extents[i]
        part = [d for d in every if self.low[own[d]] < log(extents.bounds[d]) - WHOLE]
        found = [Assumption(slide=((i, Slide(d)),)) for d in part or every[:1]]
        for e in self.windows.expressions[extents.stays[i].tensor]:
            if e.two and set(e.names) <= set(part):
                # both have loops around the tile
                ranges = tuple((own[d], -inf, log(extents.bounds[d] - 1)) for d in e.names)
                found += [
                    Assumption(ranges=ranges, slide=((i, Slide(d, Back.ANY)),))
                    for d in e.names
                    if self.ways_to_return(i, d)
                ]
        return found

    def ways_to_return(self, i: int, d: str) -> list[Assumption]:
        """Return the ways in which runs along a dimension may end where others begin."""
        ways = self.windows.returning[i, d].ways(self.low, self.high)
        return [Assumption(slide=((i, Slide(d, back)),)) for back in ways]

    def runs(self, i: int, slide: Slide) -> Iterator[Decision]:
        """Yield stays outside of a tile that slides, which do not have all of its run."""
        extents, own = self.extents, self.extents.extents[i]
        decided = {(a, b) for a, b, _ in self.node.runs}
        relevant = extents.least.relevant[extents.stays[i].tensor]
        known = self.node.inside | extents.inside
        for k in range(len(extents.stays)):
            if k == i or (i, k) in decided or (i, k) in known:
                continue
            # how much larger the stay is than the tile, as logarithms
            larger = {
                q: self.point[extents.extents[k][q]] - self.value(extents.scale(k, i, q))
                for q in extents.dimensions
                if q in relevant
            }
            beyond = self.point[self.windows.run[i]] - larger[slide.dimension]
            for d in self.windows.next_loops(i, slide):
                beyond = max(beyond, log(exp(self.point[own[d]]) + 1) - larger[d])
            others = [larger[q] - self.point[own[q]] for q in larger if q != slide.dimension]
            others.append(larger[slide.dimension] - self.point[self.windows.run[i]])
            apart = min(beyond, max(others, default=0.0))
            if apart <= APART:
                continue
            ways = [Assumption(run=((i, k, False),)), Assumption(run=((i, k, True),))]
            if (k, i) not in known:
                # it has to be known first which one is outside
                ways = [way._replace(inside=((k, i),)) for way in ways]
                ways.append(Assumption(inside=((i, k),)))
            yield Decision(("run", i, k), 0.5 * apart * self.shares[i], ways)

    def extent_of(
        self, i: int, e: Expression, rate: int, shared: tuple[int, ...], share: float
    ) -> Iterator[Decision]:
        """Yield extents of a window that decide how many words are sent for an iteration."""
        extents, slide = self.extents, self.node.slides[i]
        if not e.two:
            return
        if (rate, slide.dimension) in self.windows.steps:
            yield from self.of_steps(i, e, rate, share)
        if slide.returns and slide.dimension in e.names:
            if e.plain and slide.back is not Back.ANY:
                yield from self.of_returns(i, e, rate, shared, share)
            return
        if shared and not e.plain:
            return
        ends = []
        for d, bound in zip(e.names, e.bounds, strict=True):
            own = self.windows.run[i] if d == slide.dimension else extents.extents[i][d]
            along = self.point[own] + self.value(extents.along(shared, (d,)))
            ends.append(min(float(bound), exp(along)))
        missing = log(e.words(*ends) / (ends[0] * ends[1])) - self.point[rate]
        yield from self.divided(i, e, missing * share)

    def of_steps(self, i: int, e: Expression, rate: int, share: float) -> Iterator[Decision]:
        """Yield extents of a window that decide how many words are new at each step."""
        slide = self.node.slides[i]
        few = self.windows.steps[rate, slide.dimension].words(self.point, slide.returns)
        run = self.windows.run[i]
        if slide.returns:
            own = self.windows.returning[i, slide.dimension]
            few *= own.moving(slide.back, self.point, self.point)
        yield from self.divided(i, e, (log(few) - self.point[rate]) * share, run)

    def of_returns(
        self, i: int, e: Expression, rate: int, shared: tuple[int, ...], share: float
    ) -> Iterator[Decision]:
        """Yield extents of a window, or of its run, that decide how many words return."""
        slide = self.node.slides[i]
        own = self.windows.returning[i, slide.dimension]
        few = own.words(slide.back, np.maximum(self.point, 0.0))
        missing = log(few) - self.point[rate]
        missing -= self.value(self.extents.along(shared, e.names))
        yield from self.divided(i, e, missing * share, *own.m)

    def divided(
        self, i: int, e: Expression, worth: float, run: int | None = None
    ) -> Iterator[Decision]:
        """Yield the extent of a window's dimension, or the run, with the fewest values, divided."""
        if worth <= WORTH:
            return
        ways = []
        variables = {d: self.extents.extents[i][d] for d in e.names}
        for d, v in (variables if run is None else variables | {"": run}).items():
            low, high = ceil(exp(self.low[v]) - WHOLE), floor(exp(self.high[v]) + WHOLE)
            if high > low:
                ways.append((high / low, low, high, v, d))
        if ways:
            _, low, high, v, d = min(ways)
            middle = min(max(floor(exp(self.point[v]) + WHOLE), low), high - 1)
            yield Decision(("extent", i, d), worth, at_a_number(v, middle))

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
