"""What the solution of a program has not settled of the words of windows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, exp, floor, inf, log

import numpy as np

from tilewright.mapper.relaxations.boxes.halves import Halves
from tilewright.mapper.relaxations.joint.assumption import Assumption, Decision, at_a_number
from tilewright.mapper.relaxations.joint.extents import Extents
from tilewright.mapper.relaxations.joint.node import BoundNode
from tilewright.mapper.relaxations.joint.program import reach
from tilewright.mapper.relaxations.joint.windows.expression import Expression
from tilewright.mapper.relaxations.joint.windows.tiles_that_return import Back
from tilewright.mapper.relaxations.joint.windows.words import Slide

WHOLE = 1e-6  # of a number that may be whole but for rounding
APART = 1e-3  # of logarithms that differ
WORTH = 1e-5  # of the logarithm of a value
EDGE = 0.1  # of a range, for parts that are not too small


def halves_of_part(k: int, each: Halves, part: int) -> list[Assumption]:
    """Return the ways for spatial choices to be in one half of a part, or in the other one."""
    return [Assumption(part=((k, int(child)),)) for child in each.children[part]]


class WindowDecisions:
    """What is open at a node of how windows slide, and of their extents.

    Parameters
    ----------
    extents : Extents
    node : BoundNode
    shares : sequence of float
        The part of the objective that the words of each stay make up.
    """

    def __init__(self, extents: Extents, node: BoundNode, shares: Sequence[float]) -> None:
        self.extents, self.node, self.shares = extents, node, shares
        self.windows, self.point = extents.windows, node.point
        self.low, self.high = node.ranges

    def open(self) -> Iterator[Decision]:
        """Yield all of it."""
        yield from self.slides()
        yield from self.sets()

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
                    yield from self.divided(i, e, missing * 0.3 * max(self.shares, default=1.0))

    def sets(self) -> Iterator[Decision]:
        """Yield steps of windows, and elements: with as few as that, fewer words are shared."""
        for own in self.windows.sets:
            missing = own.least(self.high, self.point) - self.point[own.rate]
            if missing > WORTH:
                steps = [v for d in own.expression.names if (v := own.steps(d)) is not None]
                ways = [(self.high[v] - self.point[v], v) for v in steps]
                apart, v = max(ways, default=(0.0, 0))
                if apart > APART:
                    at = at_a_number(v, floor(exp(self.point[v]) + WHOLE))
                    yield Decision(("sets", own.rate), missing * max(self.shares, default=1.0), at)
                    continue
            missing = own.least(self.point, self.high) - self.point[own.rate]
            worth = missing * max(self.shares, default=1.0)
            if missing > WORTH and (space := self.space(own.shared, worth)) is not None:
                yield space
            elif missing > WORTH:
                yield from self.elements([v for d in own.along for v in d], worth, own.rate)

    def space(self, arrays: Sequence[int], worth: float) -> Decision | None:
        """Return parts of spatial choices of some arrays, if they have several."""
        for k, each in enumerate(self.extents.halves):
            part = self.node.parts[k]
            if each.ranges[part] > 0.0 and each.array in arrays:
                return Decision(("space", k), worth, halves_of_part(k, each, part))
        return None

    def elements(self, some: Iterable[int], worth: float, rate: int) -> Iterator[Decision]:
        """Yield of which of some elements there may be the most more than there are, divided."""
        ways = []
        for v in some:
            number = ceil(exp(self.point[v]) - WHOLE)
            if number < ceil(exp(self.high[v]) - WHOLE):
                ways.append((self.high[v] - log(number), number, v))
        if ways:
            _, number, v = max(ways)
            parts = ((v, -inf, log(number)),), ((v, log(number), inf),)
            yield Decision(("elements", rate), worth, [Assumption(ranges=own) for own in parts])

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
                q: self.point[extents.extents[k][q]] - reach(extents.scale(k, i, q), self.point)
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
        slide = self.node.slides[i]
        if not e.two:
            return
        own = self.windows.rates_of_tiles[rate]
        if slide.dimension in own.steps:
            yield from self.of_steps(i, e, rate, shared, share)
        if slide.returns and slide.dimension in e.names:
            if e.plain and slide.back is not Back.ANY:
                yield from self.of_returns(i, e, rate, shared, share)
            return
        if shared and not e.plain:
            # what these share has to do with more than their extents
            return
        missing = own.least(slide.dimension, self.point) - self.point[rate]
        if missing > 0:
            run = self.windows.run[i] if slide.dimension in e.names else None
            yield from self.divided(i, e, missing * share, run, shared)

    def of_steps(
        self, i: int, e: Expression, rate: int, shared: tuple[int, ...], share: float
    ) -> Iterator[Decision]:
        """Yield extents of a window that decide how many words are new at each step."""
        slide = self.node.slides[i]
        rates = self.windows.rates_of_tiles[rate]
        few = rates.steps[slide.dimension].words(self.point, slide.returns)
        for new in rates.new.get(slide.dimension, ()):
            few = max(few, exp(new.least(self.point, self.point)))
        run = self.windows.run[i]
        if slide.returns:
            own = self.windows.returning[i, slide.dimension]
            few *= own.moving(slide.back, self.point, self.point)
        yield from self.divided(i, e, (log(few) - self.point[rate]) * share, run, shared)

    def of_returns(
        self, i: int, e: Expression, rate: int, shared: tuple[int, ...], share: float
    ) -> Iterator[Decision]:
        """Yield extents of a window, or of its run, that decide how many words return."""
        slide = self.node.slides[i]
        own = self.windows.returning[i, slide.dimension]
        few = own.words(slide.back, np.maximum(self.point, 0.0))
        missing = log(few) - self.point[rate]
        if not own.is_below(slide.back, self.point, self.point):
            missing -= reach(self.extents.along(shared, e.names), self.point)
        (run,) = own.m
        yield from self.divided(i, e, missing * share, run, shared)

    def divided(
        self,
        i: int,
        e: Expression,
        worth: float,
        run: int | None = None,
        shared: tuple[int, ...] = (),
    ) -> Iterator[Decision]:
        """Yield the extent of a window's dimension, or the run, with the fewest values, divided.

        Where all of these are known, it is the elements that share words of the window.
        """
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
            return
        above = range(self.extents.segment[self.extents.stays[i].receiver])
        if (space := self.space(shared or above, worth)) is not None:
            yield space
            return
        for v in self.extents.along(shared or above, e.names):
            least, most = float(self.low[v]), float(self.high[v])
            if most - least > APART:
                number = exp(self.point[v])
                whole = floor(number + WHOLE)
                margin = EDGE * (most - least)
                at = over = min(max(float(self.point[v]), least + margin), most - margin)
                if number - whole > APART and least <= log(whole) + WHOLE:
                    # more than that is a number apart, as elements have whole iterations
                    at, over = log(whole), log(whole + WHOLE)
                parts = [((v, -inf, at),), ((v, over, inf),)]
                yield Decision(("elements", v), worth, [Assumption(ranges=own) for own in parts])
