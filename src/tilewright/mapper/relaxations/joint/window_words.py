"""Words of sliding windows: of tiles, and what comes in for an iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, gcd, log, prod
from typing import TYPE_CHECKING, NamedTuple

from tilewright.kernels.types import Bools, Floats
from tilewright.mapper.relaxations.joint.program import (
    Powers,
    Term,
    inverse,
    logarithm,
    product,
)
from tilewright.mapper.windows.pairs import most_pairs, sliding
from tilewright.workload.layer import Term as IndexTerm

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.joint.extents import Extents

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

    def __init__(self, terms: Sequence[IndexTerm], bounds: dict[str, int]) -> None:
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


class Slide(NamedTuple):
    """How the words of a tile with windows change.

    Attributes
    ----------
    dimension : str
        Along which it slides.
    back : bool
        Whether a run along it, of two steps or more, ends where the next one begins: with a loop on
        the other dimension of the window around it, whose step takes the tile to the same words.
    """

    dimension: str
    back: bool = False


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
        self.single = [
            program.limit(Term(0.0, m), always=False),
            program.limit(Term(0.0, n), always=False),
        ]
        self.double = [program.limit(Term(0.0, m), Term(0.0, n), always=False) for _ in range(2)]
        self.whole = -1 if each else program.limit(Term(0.0, product(m, second)), always=False)

    def settle(
        self, terms: Sequence[int], low: Floats, high: Floats, logs: Floats, active: Bools
    ) -> None:
        """Set the numbers of terms for the ranges of variables, and raise the variable's own.

        Parameters
        ----------
        terms : sequence of int
            Where the terms of each limit begin.
        """
        e = self.expression
        least = [max(1.0, exp(reach(own, low))) for own in self.sides]
        most = [
            max(n, min(float(bound), exp(reach(own, high))))
            for own, bound, n in zip(self.sides, e.bounds, least, strict=True)
        ]
        (variable,) = self.own
        # words of a tile grow with its sides, and words for an iteration fall
        fewest = e.words(*most) / prod(most) if self.each else e.words(*least)
        along = e.words(most[0], least[1]) / most[0], e.words(least[0], most[1]) / most[1]
        low[variable] = max(low[variable], log(fewest) - 1e-12)
        for limit, number in zip(self.single, along, strict=True):
            logs[terms[limit]] = log(number)
            active[limit] = True
        for limit, numbers in zip(self.double, e.sums(*least), strict=False):
            logs[terms[limit]], logs[terms[limit] + 1] = map(logarithm, numbers)
            active[limit] = True
        if self.whole >= 0 and (most[0] <= e.b + CLOSE or most[1] <= e.a + CLOSE):
            active[self.whole] = True


class WindowWords:
    """Words of windows in the program of a bypass choice.

    When a loop on one dimension of a window advances, and no loop on another dimension of the
    tensor in between, a tile slides, and only new words come in. So of a link, one dimension
    slides, over a run that begins with the tile's own iterations; all others have those of the
    tile. A run of m iterations with n of the other dimension brings in the words of m x n at least.
    Where runs end with the words that the next one begins with, nothing is said of both dimensions.

    Attributes
    ----------
    expressions : list of lists of Expression
        For each tensor.
    alone : list of lists of str
        Dimensions of each tensor that are in no expression with others.
    run : dict of int to int
        For each stay of a tensor with windows the variable of its run's iterations.
    words : dict of (int, int) to int
        For each stay and expression the variable of the words of its tile.
    longer, several : dicts of (int, str)
        Limits of a run along a dimension: it has the tile's iterations, or more.
    beyond, more, same : dicts of (int, int, str) to int
        Limits of one stay and another one around it, see `of_run`: it has all of a run, more of a
        dimension than the tile, or as much.
    known : dict of (int, int, tuple of int, int) to int
        Variables of rates, by stay, tensor, arrays that share, and expression.
    """

    def __init__(self, extents: Extents) -> None:
        self.extents = extents
        layer, program = extents.least.layer, extents.program
        bounds = dict(layer.bounds)
        self.expressions = [
            [Expression(terms, bounds) for terms in sliding(tensor, bounds)]
            for tensor in layer.tensors
        ]
        self.alone = [
            [d for d in extents.dimensions if d in relevant and not any(d in e.names for e in own)]
            for relevant, own in zip(extents.least.relevant, self.expressions, strict=True)
        ]
        self.run: dict[int, int] = {}
        self.longer: dict[tuple[int, str], list[int]] = {}
        self.several: dict[tuple[int, str], int] = {}
        self.words: dict[tuple[int, int], int] = {}
        self.tiles: list[WindowLimits] = []
        self.every: list[tuple[int, str, bool, WindowLimits]] = []
        self.still: list[tuple[int, frozenset[str], int]] = []
        self.known: dict[tuple[int, int, tuple[int, ...], int], int] = {}
        for i, stay in enumerate(extents.stays):
            own = self.expressions[stay.tensor]
            for n, e in enumerate(own):
                words = program.variable(0.0, sum(log(bound) for bound in e.bounds))
                self.words[i, n] = words
                if e.two:
                    tile = [extents.extent(i, d) for d in e.names]
                    self.tiles.append(WindowLimits(extents, e, {words: 1.0}, tile, each=False))
                else:
                    for d in e.names:
                        program.limit(Term(0.0, product(extents.extent(i, d), {words: -1.0})))
            if own:
                self.add_run(i)
        self.beyond: dict[tuple[int, int, str], int] = {}
        self.more: dict[tuple[int, int, str], int] = {}
        self.same: dict[tuple[int, int, str], int] = {}
        for i, run in self.run.items():
            for k in range(len(extents.stays)):
                if k != i:
                    self.add_outside(i, run, k)

    def slides(self, i: int) -> list[str]:
        """Return the dimensions that a stay may slide along."""
        own = self.expressions[self.extents.stays[i].tensor]
        return [d for e in own if e.two for d in e.names]

    def add_run(self, i: int) -> None:
        """Add the iterations of a run."""
        extents = self.extents
        if not self.slides(i):
            return
        most = max(extents.bounds[d] for d in self.slides(i))
        self.run[i] = run = extents.program.variable(0.0, log(most))
        above = range(extents.segment[extents.stays[i].receiver])
        for d in self.slides(i):
            inside = Term(0.0, product(extents.extent(i, d), {run: -1.0}))
            along = product(extents.along(above, (d,)), {run: 1.0})
            self.longer[i, d] = [
                extents.program.limit(inside, always=False),
                extents.program.limit(Term(-log(extents.bounds[d]), along), always=False),
            ]
            # of regular mappings, each element takes a second step, if there is one
            several = Term(0.0, {run: -1.0})
            self.several[i, d] = extents.program.limit(inside, several, always=False)

    def add_outside(self, i: int, run: int, k: int) -> None:
        """Add what holds for a stay k around a run: it has all of the run, or is a part of it."""
        extents = self.extents
        for d in self.extents.dimensions:
            scale, outer = extents.scale(k, i, d), extents.extent(k, d)
            if d in self.slides(i):
                whole = product({run: 1.0}, scale, inverse(outer))
                self.beyond[i, k, d] = extents.program.limit(Term(0.0, whole), always=False)
                own = product(extents.extent(i, d), scale, inverse(outer))
                more = Term(0.0, own), Term(0.0, inverse(outer))
                self.more[i, k, d] = extents.program.limit(*more, always=False)
            if d in extents.least.relevant[extents.stays[i].tensor]:
                equal = product(outer, inverse(scale), inverse(extents.extent(i, d)))
                self.same[i, k, d] = extents.program.limit(Term(0.0, equal), always=False)

    def of_run(self, i: int, k: int, slide: Slide, part: bool) -> list[int]:
        """Return the limits that hold where a stay around a run is a part of it, or is not.

        If runs end where the next ones begin, these are a part of what is meant, too.
        """
        dimensions = self.changing(i, slide)
        if part:
            return [
                own
                for (a, b, q), own in self.same.items()
                if (a, b) == (i, k) and q not in dimensions
            ]
        found = [self.beyond[i, k, slide.dimension]]
        return found + [self.more[i, k, d] for d in dimensions[1:]]

    def changing(self, i: int, slide: Slide) -> list[str]:
        """Return the dimension of a run, and the one that takes the tile back, if that is meant."""
        if not slide.back:
            return [slide.dimension]
        expressions = self.expressions[self.extents.stays[i].tensor]
        (names,) = (e.names for e in expressions if slide.dimension in e.names)
        return [slide.dimension, *(d for d in names if d != slide.dimension)]

    def rates_of(self, i: int) -> list[tuple[int, tuple[int, ...], int]]:
        """Return expressions of two dimensions, arrays that share, and the variables of rates."""
        return [
            (n, shared, rate)
            for (own, t, shared, n), rate in self.known.items()
            if own == i and self.expressions[t][n].two
        ]

    def tile(self, i: int) -> list[dict[int, float]]:
        """Return the words of a tile's expressions."""
        own = self.expressions[self.extents.stays[i].tensor]
        return [{self.words[i, n]: 1.0} for n in range(len(own))]

    def rates(self, i: int, t: int, arrays: tuple[int, ...]) -> dict[int, float]:
        """Return the words that are sent for an iteration, by those that some arrays share.

        Parameters
        ----------
        i : int
            The stay, or -1 for the operations, which read one iteration at a time.
        """
        found = []
        for n, e in enumerate(self.expressions[t]):
            shared = tuple(k for k in arrays if self.extents.along((k,), e.names))
            if i < 0 and not shared:
                continue
            key = i, t, shared, n
            if key not in self.known:
                rate = self.extents.program.variable(log(e.least), 0.0)
                self.known[key] = rate
                if e.two:
                    self.add_rate(i, n, e, shared, rate)
            found.append({self.known[key]: 1.0})
        return product(*found)

    def add_rate(self, i: int, n: int, e: Expression, shared: tuple[int, ...], rate: int) -> None:
        """Add the limits of words sent for an iteration, for each dimension that may slide."""
        extents = self.extents
        # iterations of several elements may lie apart, and with steps have fewer words
        if shared and not e.plain:
            return
        own = {rate: 1.0}
        along = [extents.along(shared, (d,)) for d in e.names]
        if i < 0:
            self.every.append((-1, "", False, WindowLimits(extents, e, own, along, each=True)))
            return
        tile = [product(extents.extent(i, d), a) for d, a in zip(e.names, along, strict=True)]
        others = frozenset(self.slides(i)) - set(e.names)
        for d in others:
            self.every.append((i, d, False, WindowLimits(extents, e, own, tile, each=True)))
        if others and not shared:
            still = product({self.words[i, n]: 1.0}, *map(inverse, (*tile, own)))
            limit = extents.program.limit(Term(0.0, still), always=False)
            self.still.append((i, others, limit))
        above = range(extents.segment[extents.stays[i].receiver])
        for k, d in enumerate(e.names):
            if not e.plain and extents.along(above, (d,)):
                continue
            sides = list(tile)
            sides[k] = product({self.run[i]: 1.0}, along[k])
            self.every.append((i, d, True, WindowLimits(extents, e, own, sides, each=True)))

    def settle(
        self,
        terms: Sequence[int],
        slides: Mapping[int, Slide],
        ranges: Floats,
        logs: Floats,
        active: Bools,
    ) -> None:
        """Set what depends on the ranges of variables and on which dimensions slide.

        Parameters
        ----------
        slides : mapping of int to Slide
            For stays of which it is decided.
        """
        low, high = ranges
        for bundle in self.tiles:
            bundle.settle(terms, low, high, logs, active)
        for i, (d, back) in slides.items():
            active[self.longer[i, d]] = True
            active[self.several[i, d]] = back
        for i, d, own, bundle in self.every:
            slide = slides.get(i)
            if i < 0 or (slide and slide.dimension == d and not (own and slide.back)):
                bundle.settle(terms, low, high, logs, active)
        for i, others, limit in self.still:
            active[limit] = i in slides and slides[i].dimension in others


def reach(powers: Powers, ends: Floats) -> float:
    """Return the logarithm of a product at one end of all ranges."""
    return float(sum(power * ends[i] for i, power in powers.items()))
