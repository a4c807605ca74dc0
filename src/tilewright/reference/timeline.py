"""Pipelined latency by carrying a mapping out, one event after the other.

This is the definition of pipelined latency: explicit sets of words, moved at explicit times. It
takes time in proportion to the operations of the layer; the package `tilewright.timing` computes
the same cycles in closed form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from math import ceil

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.structure import Link, resolve
from tilewright.mapping.validity import check as check_validity
from tilewright.reference.simulate import (
    LIMIT,
    Active,
    Instance,
    Simulation,
    Step,
    Word,
    Words,
    count,
    restrict,
)
from tilewright.reference.simulate import Moved as Sets
from tilewright.timing.ports import NOTHING, LinkPorts, Moved, Ports
from tilewright.timing.result import Event, Pipeline
from tilewright.timing.stages import Layouts, Stage, axis_order, has_windows, stages_of
from tilewright.workload.layer import Layer

# index of each temporal loop of more than one chunk above some tiles
Prefix = tuple[int, ...]


def simulate_latency(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    *,
    layouts: Layouts | None = None,
    check: bool = True,
) -> tuple[Pipeline, list[Event]]:
    """Find the cycles of a pipelined execution by carrying it out.

    Parameters
    ----------
    layer : Layer
        At most 2 million operations.
    architecture : Architecture
        The machine.
    mapping : Mapping
        How the layer runs on it.
    layouts : mapping of str to str, optional
        Order of each tensor's axes in the outermost memory, see `stages.axis_order`.
    check : bool
        Whether the mapping is checked first.

    Returns
    -------
    tuple of Pipeline and list of Event
        The cycles, and everything that takes time, in the order in which it begins.

    Raises
    ------
    MappingError
        When the mapping is not valid.
    InputError
        When the layer has too many operations, or a layout is none.
    """
    if layer.operations > LIMIT:
        raise InputError(
            f"layer '{layer.name}' has {layer.operations} operations and each of them would be "
            f"carried out: the timeline accepts at most {LIMIT}; 'evaluate' computes the same "
            "cycles in closed form"
        )
    if check:
        check_validity(mapping, layer, architecture)
    return Execution(layer, architecture, mapping, layouts).run()


class Execution:
    """A mapping that is carried out in time.

    Attributes
    ----------
    now : float
        Cycles since the beginning.
    busy : list of float
        Cycles for which each resource has moved words so far.
    events : list of Event
        What has taken time.
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
        self.sets = Simulation(layer, architecture, structure)
        self.stages = stages_of(layer, architecture, structure)
        self.orders = axis_order(layer, layouts)
        self.ports = Ports(layer, architecture)
        self.moved: dict[tuple[str, str], dict[Prefix, tuple[Moved, bool]]] = {}
        self.use: dict[tuple[str, str], LinkPorts] = {}
        for tensor, links in structure.links.items():
            for link in links:
                self.use[tensor, link.child] = self.ports.of(link)
                self.moved[tensor, link.child] = dict(self.exchanges(link))
        self.operands = [links[-1] for links in structure.links.values()]
        self.now = 0.0
        self.computing = 0.0
        self.waiting = 0.0
        self.exposed = dict.fromkeys((memory.name for memory in architecture.memories[1:]), 0.0)
        self.busy = [0.0] * len(self.ports.names)
        self.events: list[Event] = []

    def run(self) -> tuple[Pipeline, list[Event]]:
        """Carry everything out: first fills from the outside in, last drains from the inside."""
        steps = [step for step, _ in self.sets.steps(self.sets.cuts, frozenset())]
        for stage in self.stages:
            self.wait(stage, "fill", *self.exchange(stage, steps[0], drains=False))
        self.pass_of(self.stages, steps)
        for stage in reversed(self.stages):
            self.wait(stage, "drain", *self.exchange(stage, steps[0], fills=False))
        pipeline = Pipeline(
            self.now,
            self.computing,
            self.waiting,
            self.exposed,
            dict(zip(self.ports.names, self.busy, strict=True)),
        )
        return pipeline, sorted(self.events, key=lambda event: event.start)

    def pass_of(self, stages: Sequence[Stage], steps: Sequence[Step]) -> None:
        """Carry out the steps within one tile of each stage outside: tile after tile."""
        if not stages:
            self.compute(steps)
            return
        stage, *inner = stages
        tiles = [list(tile) for _, tile in groupby(steps, lambda step: step[: stage.depth])]
        for tile, following in zip(tiles, [*tiles[1:], None], strict=True):
            start, before = self.now, list(self.busy)
            self.pass_of(inner, tile)
            if following is None:
                return
            busy, cycles = self.exchange(stage, following[0])
            if not stage.double:
                self.wait(stage, "exchange", busy, cycles)
            else:
                self.occupy(busy)
                end = start + cycles
                shared = max(
                    (now - then for now, then in zip(self.busy, before, strict=True)), default=0.0
                )
                self.event(stage.memory, "exchange", start, end)
                self.stall(stage, max(end, start + shared))
            for each in inner:
                self.wait(each, "exchange", *self.exchange(each, following[0]))

    def compute(self, steps: Sequence[Step]) -> None:
        """Let the compute units work through some steps, whose operands stream in meanwhile."""
        busy = [0.0] * len(self.busy)
        adders = 0.0
        for step in steps:
            for link in self.operands:
                moved, _ = self.moved[link.tensor.name, link.child][step]
                use = self.use[link.tensor.name, link.child]
                use.fill(moved, True, busy)
                use.drain(moved, True, busy)
                if step == steps[0]:
                    adders += use.adders(moved, streaming=True)
        self.occupy(busy)
        working = ceil(len(steps) * self.architecture.compute.cycles)
        cycles = adders + max([working, *busy])
        self.computing += working
        self.waiting += cycles - working
        self.event(self.architecture.compute.name, "compute", self.now, self.now + cycles)
        self.now += cycles

    def exchange(
        self, stage: Stage, step: Step, *, fills: bool = True, drains: bool = True
    ) -> tuple[list[float], float]:
        """Return what it takes to change the tiles of a stage: of each resource, and in all."""
        busy = [0.0] * len(self.busy)
        cycles = 0.0
        for link in stage.links:
            moved, partial = self.moved[link.tensor.name, link.child][step[: stage.depth]]
            use = self.use[link.tensor.name, link.child]
            if fills:
                use.fill(moved, partial, busy)
            if drains:
                use.drain(moved, partial, busy)
                cycles += use.adders(moved)
        return busy, cycles + max(busy, default=0.0)

    def wait(self, stage: Stage, what: str, busy: list[float], cycles: float) -> None:
        """Let tiles move while nothing else happens."""
        self.occupy(busy)
        self.event(stage.memory, what, self.now, self.now + cycles)
        self.stall(stage, self.now + cycles)

    def stall(self, stage: Stage, until: float) -> None:
        """Let everything inside wait for a stage."""
        if until > self.now:
            self.event(stage.memory, "stall", self.now, until)
            self.exposed[stage.memory] += until - self.now
            self.now = until

    def occupy(self, busy: Sequence[float]) -> None:
        """Add to what the resources have moved."""
        self.busy = [a + b for a, b in zip(self.busy, busy, strict=True)]

    def event(self, where: str, what: str, start: float, end: float) -> None:
        """Note what takes time."""
        if end > start:
            self.events.append(Event(where, what, start, end))

    # --- words ---------------------------------------------------------------------------------

    def exchanges(self, link: Link) -> Iterator[tuple[Prefix, tuple[Moved, bool]]]:
        """Yield at each step what moves over a link, and whether partial sums exist already."""
        structure = self.sets.structure
        cuts = [i for i in self.sets.cuts if i < link.depth]
        temporal = [i for i in cuts if structure.loops[i].array is None]
        operands = link.child == self.architecture.compute.name
        windows = has_windows(self.layer, link.tensor)
        resident: dict[Instance, tuple[Step, Words]] = {}
        touched: set[Word] = set()
        for step, active in self.sets.steps(cuts, frozenset()):
            partial = windows and bool(touched)
            moved, brought = [], []
            for instance, tile in self.sets.tiles(link.tensor, active):
                last, old = resident.get(instance, (step, frozenset()))
                advanced = (t for t, i, j in zip(temporal, step, last, strict=True) if i != j)
                slides = next(advanced, None) in link.run and bool(old)
                brought.append((instance, tile - old if slides else tile))
                moved.append((instance, tile - old if slides or tile == old else tile))
                if not operands:
                    resident[instance] = step, tile
            words: Words = frozenset().union(*(words for _, words in moved))
            partial = partial or not words.isdisjoint(touched)
            touched |= words
            yield step, (self.quantities(link, cuts, moved, brought, active), partial)

    def quantities(
        self, link: Link, cuts: Sequence[int], moved: Sets, brought: Sets, active: Active
    ) -> Moved:
        """Count sets of words as the ports see them."""
        if not any(words for _, words in moved):
            nothing = (0,) * len(link.arrays)
            return Moved(0, 0, 0, nothing, nothing, nothing) if nothing else NOTHING
        spatial = self.sets.spatial(cuts)
        output = link.tensor.is_output
        names = [array.name for array in link.arrays]
        unite = [array.reduction if output else array.multicast for array in link.arrays]
        united = [
            frozenset(name for name, one in zip(names[i:], unite[i:], strict=True) if one)
            for i in range(len(names) + 1)
        ]
        above = frozenset(spatial) - frozenset(names)

        def first(sets: Sets, arrays: frozenset[str]) -> Sets:
            """Return the sets of the instances that are the first in some arrays."""
            return [(i, words) for i, words in sets if not any(restrict(i, spatial, arrays))]

        outside = [above | frozenset(names[:i]) for i in range(len(names) + 1)]
        return Moved(
            sent=count(first(moved, above), spatial, united[0]),
            distinct=count(first(moved, above), spatial, frozenset(names)),
            entered=count(first(moved, outside[-1]), spatial, frozenset()),
            carried=tuple(
                count(first(moved, outside[i]), spatial, united[i]) for i in range(len(names))
            ),
            gathered=tuple(
                count(first(moved, outside[i]), spatial, united[i + 1]) for i in range(len(names))
            ),
            adding=tuple(self.adding(link, cuts, name, active) for name in names),
            bursts=self.bursts(link, first(brought, above), spatial, united[0]),
        )

    def adding(self, link: Link, cuts: Sequence[int], array: str, active: Active) -> int:
        """Return how many elements of an array work on the words of its first one."""
        loops = [self.sets.structure.loops[i] for i in cuts]
        spread = [loop for loop in loops if loop.array is not None]
        same = [
            loop.array == array and loop.dimension not in link.tensor.dimensions for loop in spread
        ]
        return sum(
            all(free or i == 0 for free, i in zip(same, instance, strict=True))
            for instance, _ in active
        )

    def bursts(
        self, link: Link, brought: Sets, spatial: Sequence[str], united: frozenset[str]
    ) -> tuple[tuple[int, int], ...]:
        """Return the contiguous runs of words in the parent: their lengths, and how many."""
        apart = frozenset(spatial) - united
        groups: dict[Instance, set[Word]] = {}
        for instance, words in brought:
            if words:
                groups.setdefault(restrict(instance, spatial, apart), set()).update(words)
        order = self.orders[link.tensor.name]
        bounds = self.layer.bounds
        sizes = [
            1
            + sum(t.coefficient * (bounds[t.dimension] - 1) for t in link.tensor.expressions[axis])
            for axis in order
        ]
        runs: Counter[int] = Counter()
        for each in groups.values():
            runs.update(contiguous([tuple(word[axis] for axis in order) for word in each], sizes))
        return tuple(sorted(runs.items()))


def contiguous(words: Sequence[Word], sizes: Sequence[int]) -> Iterator[int]:
    """Yield the lengths of the runs of words along the innermost axis that is not complete."""
    axis = len(sizes)
    length = 1
    while axis > 0 and len({word[axis - 1] for word in words}) == sizes[axis - 1]:
        axis -= 1
        length *= sizes[axis]
    starts = sorted({word[:axis] for word in words})
    if axis == 0:
        yield from [length] * len(starts)
        return
    run = 0
    for word, following in zip(starts, [*starts[1:], None], strict=True):
        run += 1
        if following != (*word[:-1], word[-1] + 1):
            yield run * length
            run = 0
