"""The words of windows in the program of a bypass choice."""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from typing import TYPE_CHECKING, NamedTuple

from tilewright.mapper.relaxations.joint.program import (
    NodeLimits,
    Term,
    inverse,
    product,
)
from tilewright.mapper.relaxations.joint.windows.expression import Expression
from tilewright.mapper.relaxations.joint.windows.limits import WindowLimits
from tilewright.mapper.relaxations.joint.windows.rates import RateLimits, TileRate
from tilewright.mapper.relaxations.joint.windows.sets import SetLimits
from tilewright.mapper.relaxations.joint.windows.steps import StepLimits
from tilewright.mapper.relaxations.joint.windows.tiles_apart import TilesApart
from tilewright.mapper.relaxations.joint.windows.tiles_that_return import Back, ReturningTile
from tilewright.mapper.windows.pairs import sliding

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.joint.extents import Extents


class Slide(NamedTuple):
    """How the words of a tile with windows change.

    Attributes
    ----------
    dimension : str
        Along which it slides.
    back : Back
        When a run along it, of two steps or more, ends where the next one begins: with a loop on
        the other dimension of the window around it, whose step takes the tile to the same words.
    """

    dimension: str
    back: Back = Back.NEVER

    @property
    def returns(self) -> bool:
        """Whether runs end where others begin."""
        return self.back is not Back.NEVER


class WindowWords:
    """Words of windows in the program of a bypass choice.

    When a loop on one dimension of a window advances, and no loop on another dimension of the
    tensor in between, a tile slides, and only new words come in. So of a link, one dimension
    slides, over a run that begins with the tile's own iterations; all others have those of the
    tile. A run of m iterations with n of the other dimension brings in the words of m x n at least.
    Where runs end with the words that the next one begins with, less is: see `ReturningTile`.

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
    longer : dict of (int, str) to list of int
        Limits of a run along a dimension: it has the tile's iterations, or more.
    returning : dict of (int, str) to ReturningTile
        Limits where runs along a dimension end where others begin.
    looped : dict of (int, str) to int
        Limits that hold there: a loop on the dimension is around the tiles of all elements.
    sets : list of SetLimits
    beyond, within, more, same : dicts of (int, int, str) to int
        Limits of one stay and another one around it, see `of_run`: it has all of a run or no more
        than that, more of a dimension than the tile, or as much.
    tiles : list of WindowLimits
        Of the words of tiles.
    every : list of (int, str, bool, limits)
        Limits of rates: of which stay, or -1 for operations, along which dimension it slides, and
        whether that is the window's own, with a run.
    still : list of (int, set of str, int)
        Limits of rates of tiles that slide along other dimensions.
    rates_of_tiles : dict of int to TileRate
        By variable.
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
        self.returning: dict[tuple[int, str], ReturningTile] = {}
        self.looped: dict[tuple[int, str], int] = {}
        self.sets: list[SetLimits] = []
        self.words: dict[tuple[int, int], int] = {}
        self.tiles: list[WindowLimits] = []
        self.every: list[
            tuple[int, str, bool, RateLimits | TilesApart | StepLimits | SetLimits]
        ] = []
        self.still: list[tuple[int, frozenset[str], int]] = []
        self.rates_of_tiles: dict[int, TileRate] = {}
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
        self.within: dict[tuple[int, int, str], int] = {}
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
        for e in self.expressions[extents.stays[i].tensor]:
            for d in e.names if e.two else ():
                self.returning[i, d] = ReturningTile(extents, e, i, d, run)
                if divided := extents.along(above, (d,)):
                    tile = product(extents.extent(i, d), divided)
                    number = -log(extents.bounds[d] - 1)
                    self.looped[i, d] = extents.program.limit(Term(number, tile), always=False)

    def add_outside(self, i: int, run: int, k: int) -> None:
        """Add what holds for a stay k around a run: it has all of the run, or is a part of it."""
        extents = self.extents
        for d in self.extents.dimensions:
            scale, outer = extents.scale(k, i, d), extents.extent(k, d)
            if d in self.slides(i):
                whole = product({run: 1.0}, scale, inverse(outer))
                self.beyond[i, k, d] = extents.program.limit(Term(0.0, whole), always=False)
                some = Term(0.0, inverse(whole))
                self.within[i, k, d] = extents.program.limit(some, always=False)
                own = product(extents.extent(i, d), scale, inverse(outer))
                more = Term(0.0, own), Term(0.0, inverse(outer))
                self.more[i, k, d] = extents.program.limit(*more, always=False)
            if d in extents.least.relevant[extents.stays[i].tensor]:
                equal = product(outer, inverse(scale), inverse(extents.extent(i, d)))
                self.same[i, k, d] = extents.program.limit(Term(0.0, equal), always=False)

    def of_run(self, i: int, k: int, slide: Slide, part: bool) -> list[int]:
        """Return the limits that hold where a stay around a run is a part of it, or is not.

        Where runs end with the words that the next one begins with, a loop on the other dimension
        of the window comes next.
        """
        if part:
            found = [
                own
                for (a, b, q), own in self.same.items()
                if (a, b) == (i, k) and q != slide.dimension
            ]
            return [*found, self.within[i, k, slide.dimension]]
        found = [self.beyond[i, k, slide.dimension]]
        return found + [self.more[i, k, d] for d in self.next_loops(i, slide)]

    def next_loops(self, i: int, slide: Slide) -> list[str]:
        """Return the dimension of the next loops outside of a run, if that is known."""
        if not slide.returns:
            return []
        expressions = self.expressions[self.extents.stays[i].tensor]
        (names,) = (e.names for e in expressions if slide.dimension in e.names)
        return [d for d in names if d != slide.dimension]

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
                    for d in e.names if i >= 0 else ():
                        self.returning[i, d].add_rate(rate, shared)
            found.append({self.known[key]: 1.0})
        return product(*found)

    def add_rate(self, i: int, n: int, e: Expression, shared: tuple[int, ...], rate: int) -> None:
        """Add the limits of words sent for an iteration, for each dimension that may slide."""
        extents = self.extents
        if i < 0:
            along = [extents.along(shared, (d,)) for d in e.names]
            known = e.apart() if shared else e
            limits = WindowLimits(extents, known, {rate: 1.0}, along, each=True)
            self.every.append((-1, "", False, limits))
            if not e.plain:
                self.sets.append(SetLimits(extents, e, rate, shared))
                self.every.append((-1, "", False, self.sets[-1]))
            return
        self.rates_of_tiles[rate] = own = TileRate(extents, i, e, rate, shared, self.run[i])
        others = frozenset(self.slides(i)) - set(e.names)
        self.every += [(-1, "", False, limits) for limits in own.anyhow]
        self.every += [(i, d, False, limits) for d in others for limits in own.still]
        for d, apart in own.apart:
            self.every += [(i, other, bool(d), apart) for other in ((d,) if d else others)]
        if others and not shared:
            words = product({self.words[i, n]: 1.0}, {rate: -1.0}, *map(inverse, own.tile))
            limit = extents.program.limit(Term(0.0, words), always=False)
            self.still.append((i, others, limit))
        for d in e.names:
            self.every += [(i, d, True, limits) for limits in own.sliding[d]]
            if d in own.steps:
                self.every.append((i, d, True, own.steps[d]))
                self.returning[i, d].steps.append(own.steps[d])
            self.returning[i, d].steps += own.new.get(d, [])

    def compare_rates(self) -> None:
        """Add what words that are sent say of those that elements receive, where both count."""
        for (i, t, shared, n), rate in self.known.items():
            received = self.known.get((i, t, (), n))
            if shared and received is not None and self.expressions[t][n].two:
                for d in self.expressions[t][n].names:
                    self.returning[i, d].compare(rate, shared, received)

    def settle(self, node: NodeLimits, slides: Mapping[int, Slide]) -> None:
        """Set what depends on the ranges of variables and on which dimensions slide.

        Parameters
        ----------
        slides : mapping of int to Slide
            For stays of which it is decided.
        """
        for tile in self.tiles:
            tile.settle(node)
        for i, slide in slides.items():
            own = i, slide.dimension
            node.active[self.longer[own]] = True
            if slide.returns:
                self.returning[own].settle(slide.back, node)
                for d in (slide.dimension, *self.next_loops(i, slide)):
                    if (i, d) in self.looped:
                        node.active[self.looped[i, d]] = True
        for i, d, runs, bundle in self.every:
            known = slides.get(i)
            if i < 0 or (known and known.dimension == d and not (runs and known.returns)):
                bundle.settle(node)
        for i, others, limit in self.still:
            node.active[limit] = i in slides and slides[i].dimension in others
