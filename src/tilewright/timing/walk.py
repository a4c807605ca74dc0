"""A pipelined execution tile by tile, with what repeats told once where that would be too much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from tilewright.timing.chunks import Parts, advance, spread, stay
from tilewright.timing.latency import Nest, State, Times
from tilewright.timing.ports import Moved

# how many iterations at each end of a loop are told one by one: each choice makes fewer slices
SHOWN = (256, 64, 16, 6, 3, 1)


@dataclass(frozen=True)
class Steady:
    """Equal iterations of a loop, told together.

    Attributes
    ----------
    times : Times
        What they take altogether, as `Nest.join` adds it up.
    iterations : int
        How many.
    dimension : str
        Of the loop.
    """

    times: Times
    iterations: int
    dimension: str


@dataclass(frozen=True)
class Tile:
    """One tile of a stage, with the step that leads to it.

    Attributes
    ----------
    at : int
        First loop inside.
    state : State
        What each dimension's instances work on.
    partial : bool
        Whether partial sums exist already.
    moved : list of list of Moved or None, or None
        What moves over the links of this stage and those inside; None for the first tile.
    held : bool
        Whether what comes in with it may be partial sums.
    steady : Steady or None
        What is told together, from the tile before this one on.
    """

    at: int
    state: State
    partial: bool
    moved: list[list[Moved | None]] | None = None
    held: bool = False
    steady: Steady | None = None


@dataclass(frozen=True)
class Slice:
    """Something that takes time.

    Attributes
    ----------
    stage : int
        Whose tiles; the number of stages for the compute units.
    what : str
        As in `tilewright.timing.Event`, or ``"steady"``: many passes or iterations.
    start, end : float
        Cycles since the beginning.
    times : Times
        Cycles in all, of the compute units, waiting for operands, waiting for each stage, and
        then those for which each resource is busy.
    tile : Tile or None
        What the stage works on afterwards; None where that does not change.
    steady : Steady or None
        What the slice stands for.
    """

    stage: int
    what: str
    start: float
    end: float
    times: Times
    tile: Tile | None = None
    steady: Steady | None = None


class Walk:
    """The steps of a nest, one after the other.

    Parameters
    ----------
    nest : Nest
        The loops, with what moves when each of them goes on.
    shown : int, optional
        How many equal iterations of a loop are told one by one, besides the last; the others are
        told together. By default all are told one by one.
    deepest : int, optional
        How many stages are told tile by tile: passes inside are told as a whole.

    Attributes
    ----------
    now : float
        Cycles since the beginning.
    busy : list of float
        Cycles for which each resource has moved words so far.
    """

    def __init__(self, nest: Nest, shown: int | None = None, deepest: int | None = None) -> None:
        self.nest = nest
        self.shown = shown
        self.deepest = len(nest.stages) if deepest is None else deepest
        self.now = 0.0
        self.busy: Times = [0.0] * len(nest.ports.names)

    def slices(self) -> Iterator[Slice]:
        """Yield everything; an exchange that overlaps comes before what is done meanwhile."""
        nest = self.nest
        whole = [stay(parts) for parts in nest.whole]
        first = [nest.step(s, -1, whole) for s in nest.every()]
        start = Tile(0, nest.whole, False)
        for s, moved in enumerate(first):
            yield from self.wait(s, "fill", *nest.exchange(s, moved, False, True, False), start)
        yield from self.pass_of(0, start)
        for s in reversed(nest.every()):
            yield from self.wait(s, "drain", *nest.exchange(s, first[s], False, False, True))

    def pass_of(self, s: int, within: Tile) -> Iterator[Slice]:
        """Yield what happens within one tile of the stages outside `s`."""
        nest = self.nest
        if s == len(nest.stages):
            times = nest.compute(within.at, within.state)
            yield Slice(s, "compute", self.now, self.now + times[0], times)
            self.spend(times)
            return
        if s == self.deepest:
            times = nest.inside(s, within.at, within.state, within.partial)
            yield Slice(s, "steady", self.now, self.now + times[0], times)
            self.spend(times)
            return
        tiles = self.tiles(s, within.at, within.state, within.partial)
        tile: Tile | None = next(tiles)
        while tile is not None:
            following = next(tiles, None)
            if following is None:
                yield from self.pass_of(s + 1, tile)
            elif following.steady is not None:
                times = following.steady.times
                end = self.now + times[0]
                yield Slice(
                    stage=s,
                    what="steady",
                    start=self.now,
                    end=end,
                    times=times,
                    tile=following,
                    steady=following.steady,
                )
                self.spend(times)
            else:
                yield from self.step(s, tile, following)
            tile = following

    def step(self, s: int, tile: Tile, following: Tile) -> Iterator[Slice]:
        """Yield what happens from one tile of a stage to the next one."""
        nest = self.nest
        assert following.moved is not None
        start, before = self.now, list(self.busy)
        busy, cycles = nest.exchange(s, following.moved[0], following.held, True, True)
        if nest.stages[s].double:
            yield self.slice(s, "exchange", cycles, busy, following)
            yield from self.pass_of(s + 1, tile)
            self.occupy(busy)
            shared = [now - then for now, then in zip(self.busy, before, strict=True)]
            yield from self.stall(s, start + max([cycles, *shared]))
        else:
            yield from self.pass_of(s + 1, tile)
            yield from self.wait(s, "exchange", busy, cycles, following)
        for inner in nest.every(s + 1):
            moved = following.moved[inner - s]
            parts = nest.exchange(inner, moved, following.held, True, True)
            yield from self.wait(inner, "exchange", *parts, following)

    def tiles(self, s: int, at: int, state: State, partial: bool) -> Iterator[Tile]:
        """Yield the tiles of a stage within the loops from `at` on."""
        nest = self.nest
        if nest.above[at] == nest.stages[s].depth:
            yield Tile(at, state, partial)
            return
        d, size = nest.dimension[at], nest.cuts[at].tile
        if nest.spatial[at]:
            spreading = (*state[:d], spread(state[d], size), *state[d + 1 :])
            yield from self.tiles(s, at + 1, spreading, partial)
            return
        held = nest.holds_sums(at, partial)
        before: Parts = ()
        for parts, own, count in nest.runs(at, state, partial):
            within = (*state[:d], parts, *state[d + 1 :])
            together = self.together(count)
            for i in range(count - together):
                inner = self.tiles(s, at + 1, within, own)
                if together and i == self.shown:
                    yield self.steady(s, at, state, partial, parts, own, together)
                if before:
                    changes = [stay(each) for each in state]
                    changes[d] = advance(before, parts, size)
                    moved = [nest.step(each, at, changes) for each in nest.every(s)]
                    first = next(inner)
                    yield Tile(first.at, first.state, first.partial, moved, held)
                yield from inner
                before = parts

    def together(self, count: int) -> int:
        """Return how many of `count` equal iterations are told together."""
        if self.shown is None or count <= self.shown + 2:
            return 0
        return count - 1 - self.shown

    def steady(
        self, s: int, at: int, state: State, partial: bool, parts: Parts, own: bool, count: int
    ) -> Tile:
        """Return the last tile of the last of `count` equal iterations, with what leads there.

        That begins with the last tile of the iteration before them.
        """
        nest = self.nest
        d = nest.dimension[at]
        within = (*state[:d], parts, *state[d + 1 :])
        body, end = nest.tiles(s, at + 1, within, own)
        times: Times = [0.0] * nest.width
        held = nest.holds_sums(at, partial)
        nest.join(times, end, s, at, state, parts, parts, held, body, count)
        last = self.last(s, at + 1, within, own)
        return replace(last, steady=Steady(times, count, nest.cuts[at].dimension))

    def last(self, s: int, at: int, state: State, partial: bool) -> Tile:
        """Return the last tile of a stage within the loops from `at` on."""
        nest = self.nest
        if nest.above[at] == nest.stages[s].depth:
            return Tile(at, state, partial)
        d = nest.dimension[at]
        if nest.spatial[at]:
            parts, own = spread(state[d], nest.cuts[at].tile), partial
        else:
            parts, own, _ = nest.runs(at, state, partial)[-1]
        return self.last(s, at + 1, (*state[:d], parts, *state[d + 1 :]), own)

    def wait(
        self, s: int, what: str, busy: Times, cycles: float, tile: Tile | None = None
    ) -> Iterator[Slice]:
        """Let tiles move while nothing else happens."""
        self.occupy(busy)
        yield self.slice(s, what, cycles, busy, tile)
        yield from self.stall(s, self.now + cycles)

    def stall(self, s: int, until: float) -> Iterator[Slice]:
        """Let everything inside wait for a stage."""
        if until > self.now:
            yield self.slice(s, "stall", until - self.now, [0.0] * len(self.busy), None)
            self.now = until

    def slice(self, s: int, what: str, cycles: float, busy: Times, tile: Tile | None) -> Slice:
        """Return what begins now and belongs to a stage."""
        times = [cycles, *[0.0] * (self.nest.fixed - 1), *busy]
        return Slice(s, what, self.now, self.now + cycles, times, tile)

    def spend(self, times: Times) -> None:
        """Let time go by."""
        self.occupy(times[self.nest.fixed :])
        self.now += times[0]

    def occupy(self, busy: Times) -> None:
        """Add to what the resources have moved."""
        self.busy = [a + b for a, b in zip(self.busy, busy, strict=True)]


def most_detailed(nest: Nest, most: int) -> Walk:
    """Return the walk with the most detail that has at most about `most` slices.

    Loops are told one by one if that is little enough; then the first iterations of each and the
    last; then also passes of the innermost stages as a whole.
    """
    stages = len(nest.stages)
    choices = [(None, stages), *((shown, stages) for shown in SHOWN)]
    choices += [(SHOWN[-1], deepest) for deepest in reversed(range(stages))]
    for shown, deepest in choices:
        walk = Walk(nest, shown, deepest)
        if slices_at_most(walk) <= most:
            break
    return walk


def slices_at_most(walk: Walk) -> int:
    """Return a number of slices that a walk does not exceed, without walking."""
    nest = walk.nest

    def inside(s: int, at: int, state: State) -> int:
        if s >= walk.deepest:
            return 1
        return tiles(s, at, state)

    @cache
    def tiles(s: int, at: int, state: State) -> int:
        if nest.above[at] == nest.stages[s].depth:
            # the exchange of each stage from this one inward, and the wait for it
            return 2 * (len(nest.stages) - s) + inside(s + 1, at, state)
        d, size = nest.dimension[at], nest.cuts[at].tile
        if nest.spatial[at]:
            return tiles(s, at + 1, (*state[:d], spread(state[d], size), *state[d + 1 :]))
        total = 0
        for parts, _, count in nest.runs(at, state, False):
            each = tiles(s, at + 1, (*state[:d], parts, *state[d + 1 :]))
            together = walk.together(count)
            total += (count - together) * each + (1 if together else 0)
        return total

    return 4 * len(nest.stages) + inside(0, 0, nest.whole)
