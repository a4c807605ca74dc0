"""Pipelined latency in closed form, by kind of step: which loop goes on, and with which chunks."""

from __future__ import annotations

from math import ceil, prod

from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import resolve
from tilewright.timing.chunks import (
    Changes,
    Parts,
    advance,
    descend,
    spread,
    stay,
    steps_of,
    turns,
)
from tilewright.timing.ports import LinkPorts, Moved, Ports
from tilewright.timing.result import Pipeline
from tilewright.timing.stages import Layouts, axis_order, cuts_of, has_windows, stages_of
from tilewright.timing.words import LinkWords
from tilewright.workload.layer import Layer

# cycles in all, of the compute units, waiting for operands, waiting for each stage; then the cycles
# for which each resource is busy
Times = list[float]
State = tuple[Parts, ...]


def pipelined_latency(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    *,
    layouts: Layouts | None = None,
) -> Pipeline:
    """Return the cycles of a pipelined execution.

    Parameters
    ----------
    layer, architecture
        What is computed, and what computes it.
    mapping : Mapping
        A valid mapping; it is not checked here.
    layouts : mapping of str to str, optional
        Order of each tensor's axes in the outermost memory, see `stages.axis_order`.

    Returns
    -------
    Pipeline
        Equal to what `tilewright.reference.timeline.simulate_latency` finds.

    Raises
    ------
    InputError
        When a layout is none.
    """
    return Nest(layer, architecture, mapping, layouts).pipeline()


class Nest:
    """The loops of a mapping with what moves when each of them goes on.

    A state is what each dimension's instances work on within the loops that are already entered.
    """

    def __init__(
        self,
        layer: Layer,
        architecture: Architecture,
        mapping: Mapping,
        layouts: Layouts | None = None,
    ) -> None:
        structure = resolve(mapping, layer, architecture)
        self.layer = layer
        self.architecture = architecture
        self.layouts = layouts
        self.cuts = cuts_of(structure)
        self.dimension = [layer.dimensions.index(loop.dimension) for loop in self.cuts]
        self.spatial = [loop.array is not None for loop in self.cuts]
        # number of temporal loops above each loop
        self.above = [0]
        for spatial in self.spatial:
            self.above.append(self.above[-1] + (not spatial))
        self.stages = stages_of(layer, architecture, structure)
        self.ports = Ports(layer, architecture)
        self.fixed = 3 + len(self.stages)
        self.width = self.fixed + len(self.ports.names)
        orders = axis_order(layer, layouts)
        output = layer.output
        self.reduces = [name not in output.dimensions for name in layer.dimensions]
        self.windows = has_windows(layer, output)
        kept = [i for i, loop in enumerate(structure.loops) if loop.chunks > 1]
        place = {position: i for i, position in enumerate(kept)}
        self.links: list[list[tuple[LinkWords, LinkPorts, frozenset[int]]]] = []
        for stage in self.stages:
            self.links.append([])
            for link in stage.links:
                use = self.ports.of(link)
                depth = sum(position < link.depth for position in kept)
                axes = orders[link.tensor.name]
                words = LinkWords(layer, link, axes, self.cuts, depth, use.in_bursts)
                run = frozenset(place[position] for position in link.run)
                self.links[-1].append((words, use, run))
        self.operands = []
        for chain in structure.links.values():
            link = chain[-1]
            axes = orders[link.tensor.name]
            words = LinkWords(layer, link, axes, self.cuts, len(self.cuts), False)
            self.operands.append((words, self.ports.of(link)))
        self.whole: State = tuple(((0, bound, ()),) for bound in layer.bounds.values())
        self.deeper: dict[tuple[int, int, int], list[tuple[int, bool]]] = {}
        self.followed: dict[tuple[object, ...], Changes] = {}
        self.passes: dict[tuple[object, ...], tuple[Times, Times]] = {}
        self.leaves: dict[tuple[int, State], Times] = {}

    def pipeline(self) -> Pipeline:
        """Return all cycles: first fills, everything inside, last drains."""
        total = self.inside(0, 0, self.whole, False)
        first = [self.step(s, -1, [stay(parts) for parts in self.whole]) for s in self.every()]
        for s, moved in enumerate(first):
            for fills in (True, False):
                self.wait(total, s, *self.exchange(s, moved, False, fills, not fills))
        exposed = dict.fromkeys((memory.name for memory in self.architecture.memories[1:]), 0.0)
        for stage, cycles in zip(self.stages, total[3 : self.fixed], strict=True):
            exposed[stage.memory] += cycles
        busy = dict(zip(self.ports.names, total[self.fixed :], strict=True))
        return Pipeline(
            cycles=total[0],
            computing=total[1],
            operands=total[2],
            exposed=exposed,
            busy=busy,
            layouts=self.layouts,
        )

    def every(self, outermost: int = 0) -> range:
        """Return the stages from one inward."""
        return range(outermost, len(self.stages))

    # --- time ----------------------------------------------------------------------------------

    def inside(self, s: int, at: int, state: State, partial: bool) -> Times:
        """Return what one tile of the stages outside `s` takes, its own first fill aside."""
        if s == len(self.stages):
            return list(self.compute(at, state))
        closed, last = self.tiles(s, at, state, partial)
        return [a + b for a, b in zip(closed, last, strict=True)]

    def tiles(self, s: int, at: int, state: State, partial: bool) -> tuple[Times, Times]:
        """Return what the tiles of a stage take within the loops from `at` on.

        Returns
        -------
        tuple of Times
            All tiles but the last, each with the exchange that follows it; and the last.
        """
        key = (s, at, state, partial)
        if key not in self.passes:
            self.passes[key] = self._tiles(s, at, state, partial)
        return self.passes[key]

    def _tiles(self, s: int, at: int, state: State, partial: bool) -> tuple[Times, Times]:
        if self.above[at] == self.stages[s].depth:
            return [0.0] * self.width, self.inside(s + 1, at, state, partial)
        d, tile = self.dimension[at], self.cuts[at].tile
        if self.spatial[at]:
            spreading = (*state[:d], spread(state[d], tile), *state[d + 1 :])
            return self.tiles(s, at + 1, spreading, partial)
        held = self.holds_sums(at, partial)
        closed: Times = [0.0] * self.width
        last: Times | None = None
        before: Parts = ()
        for parts, own, count in self.runs(at, state, partial):
            within = (*state[:d], parts, *state[d + 1 :])
            body, end = self.tiles(s, at + 1, within, own)
            if last is not None:
                self.join(closed, last, s, at, state, before, parts, held, body, 1)
            else:
                closed = list(body)
            if count > 1:
                self.join(closed, end, s, at, state, parts, parts, held, body, count - 1)
            last, before = end, parts
        assert last is not None
        return closed, last

    def runs(self, at: int, state: State, partial: bool) -> list[tuple[Parts, bool, int]]:
        """Return the iterations of a temporal loop, equal ones together.

        Returns
        -------
        list of (Parts, bool, int)
            What the instances work on, whether partial sums exist already, and how many iterations
            are like that.
        """
        d = self.dimension[at]
        # what comes back in later iterations of a loop that the output lacks has partial sums
        later = partial or self.reduces[d]
        found = [(parts, later, count) for parts, count in turns(state[d], self.cuts[at].tile)]
        if later != partial:
            parts, _, count = found[0]
            found[:1] = [(parts, partial, 1), *([(parts, later, count - 1)] * (count > 1))]
        return found

    def holds_sums(self, at: int, partial: bool) -> bool:
        """Return whether what comes in when a temporal loop goes on may be partial sums."""
        return partial or self.reduces[self.dimension[at]] or self.windows

    def join(
        self,
        closed: Times,
        last: Times,
        s: int,
        at: int,
        state: State,
        old: Parts,
        new: Parts,
        partial: bool,
        body: Times,
        count: int,
    ) -> None:
        """Add `count` times: the last tile, the step of loop `at` to the next one, and all but it.

        Tiles of stage `s` change while the last tile inside is worked on where it is double
        buffered, and afterwards where not; those of the stages inside change then.
        """
        d = self.dimension[at]
        changes = [stay(parts) for parts in state]
        changes[d] = advance(old, new, self.cuts[at].tile)
        time = list(last)
        for inner in self.every(s):
            moved = self.step(inner, at, changes)
            busy, cycles = self.exchange(inner, moved, partial, True, True)
            if inner == s and self.stages[s].double:
                start = time[0]
                for i, each in enumerate(busy, start=self.fixed):
                    time[i] += each
                time[0] = max(time[0], cycles, *time[self.fixed :])
                time[3 + s] += time[0] - start
            else:
                self.wait(time, inner, busy, cycles)
        for i in range(self.width):
            closed[i] += count * (time[i] + body[i])

    def wait(self, time: Times, s: int, busy: Times, cycles: float) -> None:
        """Add an exchange of a stage for which everything inside waits."""
        time[0] += cycles
        time[3 + s] += cycles
        for i, each in enumerate(busy, start=self.fixed):
            time[i] += each

    def exchange(
        self, s: int, moved: list[Moved | None], partial: bool, fills: bool, drains: bool
    ) -> tuple[Times, float]:
        """Return what it takes to change the tiles of a stage: of each resource, and in all."""
        busy = [0.0] * len(self.ports.names)
        cycles = 0.0
        for (_, use, _), each in zip(self.links[s], moved, strict=True):
            if each is None:
                continue
            if fills:
                use.fill(each, partial, busy)
            if drains:
                use.drain(each, partial, busy)
                cycles += use.adders(each)
        return busy, cycles + max(busy, default=0.0)

    def compute(self, at: int, state: State) -> Times:
        """Return what the compute units take for all that is left."""
        if (at, state) not in self.leaves:
            self.leaves[at, state] = self._compute(at, state)
        return self.leaves[at, state]

    def _compute(self, at: int, state: State) -> Times:
        steps = [
            tuple(steps_of(parts, self.loops_on(d, at, len(self.cuts))))
            for d, parts in enumerate(state)
        ]
        busy = [0.0] * len(self.ports.names)
        adders = 0.0
        for words, use in self.operands:
            moved = words.stream(steps)
            use.fill(moved, True, busy)
            use.drain(moved, True, busy)
            adders += use.adders(moved, streaming=True)
        count = prod(sum(times for _, times in each) for each in steps)
        working = ceil(count * self.architecture.compute.cycles)
        cycles = adders + max([working, *busy])
        return [cycles, working, cycles - working, *[0.0] * len(self.stages), *busy]

    # --- words ---------------------------------------------------------------------------------

    def step(self, s: int, at: int, changes: list[Changes]) -> list[Moved | None]:
        """Return what moves over each link of a stage when loop `at` goes on."""
        return [
            words.change(
                [self.follow(d, at, words.depth, each) for d, each in enumerate(changes)],
                -1 if at < 0 else self.dimension[at],
                at in run,
            )
            for words, _, run in self.links[s]
        ]

    def follow(self, d: int, at: int, depth: int, changes: Changes) -> Changes:
        """Return how the parts of a dimension change in the loops below `at`, down to a depth."""
        tiles = self.loops_on(d, at + 1, depth)
        if not tiles:
            return changes
        key = (d, at, depth, changes)
        if key not in self.followed:
            self.followed[key] = descend(changes, tiles)
        return self.followed[key]

    def loops_on(self, d: int, first: int, depth: int) -> list[tuple[int, bool]]:
        """Return (tile, whether it is spatial) of the loops on a dimension from `first` on."""
        key = (d, first, depth)
        if key not in self.deeper:
            self.deeper[key] = [
                (self.cuts[i].tile, self.spatial[i])
                for i in range(first, depth)
                if self.dimension[i] == d
            ]
        return self.deeper[key]
