"""The first events of a pipelined execution: what computes, what moves, what waits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import Mapping
from tilewright.timing.chunks import Parts, advance, spread, stay, turn
from tilewright.timing.latency import Nest, State, Times
from tilewright.timing.ports import Moved
from tilewright.timing.result import Event
from tilewright.timing.stages import Layouts
from tilewright.workload.layer import Layer

MOST = 200


def first_events(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    *,
    most: int = MOST,
    layouts: Layouts | None = None,
) -> list[Event]:
    """Return the first events of a pipelined execution, in the order in which they begin.

    Parameters
    ----------
    layer, architecture, mapping
        What is carried out, on what, and how: a valid mapping.
    most : int
        How many events at most.
    layouts : mapping of str to str, optional
        Order of each tensor's axes in the outermost memory, see `stages.axis_order`.

    Returns
    -------
    list of Event
        Those of `tilewright.reference.timeline.simulate_latency`, as far as they go.
    """
    events: list[Event] = []
    for event in Walk(Nest(layer, architecture, mapping, layouts)).events():
        events.append(event)
        if len(events) >= most:
            break
    return sorted(events, key=lambda event: event.start)


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
    """

    at: int
    state: State
    partial: bool
    moved: list[list[Moved | None]] | None = None
    held: bool = False


class Walk:
    """The steps of a nest, one after the other.

    Attributes
    ----------
    now : float
        Cycles since the beginning.
    busy : list of float
        Cycles for which each resource has moved words so far.
    """

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.now = 0.0
        self.busy: Times = [0.0] * len(nest.ports.names)

    def events(self) -> Iterator[Event]:
        """Yield all events; an exchange that overlaps comes before what is done meanwhile."""
        nest = self.nest
        whole = [stay(parts) for parts in nest.whole]
        first = [nest.step(s, -1, whole) for s in nest.every()]
        for s, moved in enumerate(first):
            yield from self.wait(s, "fill", *nest.exchange(s, moved, False, True, False))
        yield from self.pass_of(0, Tile(0, nest.whole, False))
        for s in reversed(nest.every()):
            yield from self.wait(s, "drain", *nest.exchange(s, first[s], False, False, True))

    def pass_of(self, s: int, within: Tile) -> Iterator[Event]:
        """Yield what happens within one tile of the stages outside `s`."""
        nest = self.nest
        if s == len(nest.stages):
            times = nest.compute(within.at, within.state)
            yield from self.event(nest.architecture.compute.name, "compute", times[0])
            self.occupy(times[nest.fixed :])
            self.now += times[0]
            return
        stage = nest.stages[s]
        tiles = self.tiles(s, within.at, within.state, within.partial)
        tile: Tile | None = next(tiles)
        while tile is not None:
            following = next(tiles, None)
            if following is None or following.moved is None:
                yield from self.pass_of(s + 1, tile)
                return
            start, before = self.now, list(self.busy)
            busy, cycles = nest.exchange(s, following.moved[0], following.held, True, True)
            if stage.double:
                yield from self.event(stage.memory, "exchange", cycles)
                yield from self.pass_of(s + 1, tile)
                self.occupy(busy)
                shared = [now - then for now, then in zip(self.busy, before, strict=True)]
                yield from self.stall(s, start + max([cycles, *shared]))
            else:
                yield from self.pass_of(s + 1, tile)
                yield from self.wait(s, "exchange", busy, cycles)
            for inner in nest.every(s + 1):
                moved = following.moved[inner - s]
                parts = nest.exchange(inner, moved, following.held, True, True)
                yield from self.wait(inner, "exchange", *parts)
            tile = following

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
        later = partial or nest.reduces[d]
        before: Parts = ()
        for i in range(-(-state[d][0][1] // size)):
            parts = turn(state[d], size, i)
            within = (*state[:d], parts, *state[d + 1 :])
            inner = self.tiles(s, at + 1, within, later if i else partial)
            if i:
                changes = [stay(each) for each in state]
                changes[d] = advance(before, parts, size)
                moved = [nest.step(each, at, changes) for each in nest.every(s)]
                first = next(inner)
                yield Tile(first.at, first.state, first.partial, moved, later or nest.windows)
            yield from inner
            before = parts

    def wait(self, s: int, what: str, busy: Times, cycles: float) -> Iterator[Event]:
        """Let tiles move while nothing else happens."""
        self.occupy(busy)
        yield from self.event(self.nest.stages[s].memory, what, cycles)
        yield from self.stall(s, self.now + cycles)

    def stall(self, s: int, until: float) -> Iterator[Event]:
        """Let everything inside wait for a stage."""
        if until > self.now:
            yield Event(self.nest.stages[s].memory, "stall", self.now, until)
            self.now = until

    def event(self, where: str, what: str, cycles: float) -> Iterator[Event]:
        """Yield what begins now, unless it takes no time."""
        if cycles > 0:
            yield Event(where, what, self.now, self.now + cycles)

    def occupy(self, busy: Times) -> None:
        """Add to what the resources have moved."""
        self.busy = [a + b for a, b in zip(self.busy, busy, strict=True)]
