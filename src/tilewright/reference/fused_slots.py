"""The time of layers that run at the same time, slot by slot, from what each of their turns moves.

In slot n of a filling of the pipeline, a layer of stage k takes step n - k of the shared loops. The
slot ends when the slowest is done: a layer within its part of the array, or a level that all share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import ceil

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.counts import Counts
from tilewright.mapping.fused.connections.segments import Access, Segment
from tilewright.mapping.fused.counts import Moved, PipelineCycles
from tilewright.mapping.fused.pipelines import LayerPipeline, Split
from tilewright.mapping.validity import element_bits

# index of each shared loop above
At = tuple[int, ...]


@dataclass
class Log:
    """What has happened at which step of the shared loops.

    Attributes
    ----------
    visited : mapping of str to list of steps
        By fuse node, in order.
    turns : mapping of (layer, step) to Counts
        What a layer has counted in its turn.
    moves : mapping of (layer, step) to list of Moved
        What has moved to and from shared stores on its behalf, at the step of their loops.
    """

    visited: dict[str, list[At]] = field(default_factory=lambda: defaultdict(list))
    turns: dict[tuple[str, At], Counts] = field(default_factory=dict)
    moves: dict[tuple[str, At], list[Moved]] = field(default_factory=lambda: defaultdict(list))


def pipeline_cycles(
    pipe: LayerPipeline, split: Split, segment: Segment, machine: Architecture, log: Log
) -> PipelineCycles:
    """Return the cycles of a pipeline."""
    pace: dict[str, float] = defaultdict(float)
    count, filling = 0, 0.0
    steps_of = log.visited[pipe.node]
    # moves belong to the first step below the store
    moves: dict[tuple[str, At], list[Moved]] = defaultdict(list)
    seen: set[At] = set()
    for at in steps_of:
        for depth in range(len(at) + 1):
            if at[:depth] not in seen:
                seen.add(at[:depth])
                for layer in pipe.layers:
                    moves[layer, at] += log.moves.get((layer, at[:depth]), ())
    for _, own in groupby(steps_of, key=lambda at: at[: pipe.entered]):
        steps = list(own)
        for slot in range(len(steps) + pipe.stages - 1):
            time = Slot(segment, machine, split)
            for layer in pipe.layers:
                n = slot - pipe.stage[layer]
                if 0 <= n < len(steps):
                    at = steps[n]
                    time.add(layer, log.turns.get((layer, at)), moves[layer, at])
            slowest, cycles = time.slowest()
            pace[slowest] += cycles
            count += 1
            if not pipe.stages - 1 <= slot < len(steps):
                filling += cycles
    return PipelineCycles(pipe.layers, count, sum(pace.values()), filling, dict(pace))


class Slot:
    """What happens in one slot."""

    def __init__(self, segment: Segment, machine: Architecture, split: Split) -> None:
        self.segment = segment
        self.machine = machine
        self.split = split
        self.own: dict[str, float] = {}
        self.words: dict[str, list[float]] = {m.name: [0.0, 0.0] for m in machine.memories}
        self.carried: dict[str, int] = {array.name: 0 for array in machine.arrays}

    def add(self, layer: str, counts: Counts | None, moves: Sequence[Moved]) -> None:
        """Add the turn of a layer, if it has one, and what moves to shared stores on its behalf."""
        own = 0.0
        if counts is not None:
            own = float(ceil(counts.steps * self.machine.compute.cycles))
            for level in self.machine.levels:
                private = self.split.divides(level.name, self.machine)
                if isinstance(level, Memory):
                    read = self.of_width(layer, level, counts, "reads")
                    written = self.of_width(layer, level, counts, "writes")
                    if private:
                        own = max(own, port_cycles(level, read, written))
                    else:
                        self.words[level.name][0] += read
                        self.words[level.name][1] += written
                elif isinstance(level, Array):
                    carried = sum(n.words for n in counts.busiest_networks[level.name].values())
                    if private:
                        own = max(own, network_cycles(level, carried))
                    else:
                        self.carried[level.name] += carried
        self.own[layer] = own
        memories = {memory.name: memory for memory in self.machine.memories}
        for move in moves:
            memory = memories[move.memory]
            ratio = self.ratio(layer, move.tensor, memory)
            self.words[memory.name][0] += move.reads * ratio
            self.words[memory.name][1] += move.writes * ratio

    def of_width(self, layer: str, memory: Memory, counts: Counts, what: str) -> float:
        """Return what the busiest instance of a memory reads or writes, in words of its width."""
        total = 0.0
        for name, own in counts.busiest[memory.name].items():
            words = own.reads if what == "reads" else own.writes
            total += words * self.ratio(layer, name, memory)
        return total

    def ratio(self, layer: str, tensor: str, memory: Memory) -> float:
        """Return the words of a memory's width that an element takes."""
        return element_bits(self.segment.local(Access(layer, tensor)), memory) / memory.word_bits

    def slowest(self) -> tuple[str, float]:
        """Return who takes longest, and the cycles."""
        times = dict(self.own)
        for level in self.machine.levels:
            if isinstance(level, Memory):
                times[level.name] = port_cycles(level, *self.words[level.name])
            elif isinstance(level, Array):
                times[level.name] = network_cycles(level, self.carried[level.name])
        name = max(times, key=lambda name: times[name])
        return name, times[name]


def port_cycles(memory: Memory, reads: float, writes: float) -> float:
    """Return the cycles that words of a memory's width take at its ports."""
    demands = (
        (reads, memory.read_bandwidth),
        (writes, memory.write_bandwidth),
        (reads + writes, memory.shared_bandwidth),
    )
    return max((words / rate for words, rate in demands if rate is not None), default=0.0)


def network_cycles(array: Array, words: int) -> float:
    """Return the cycles that words take in the network of an array."""
    return 0.0 if array.bandwidth is None else words / array.bandwidth


def most_tiles(visited: Sequence[At], depth: int, entered: int, steps: int) -> int:
    """Return the most different tiles of a store among so many steps that follow each other.

    Parameters
    ----------
    visited : sequence of steps
        Of a pipeline.
    depth : int
        Number of loops above the store.
    entered : int
        Number of loops above the pipeline's list of nodes.
    """
    most = 1
    for _, group in groupby(visited, key=lambda at: at[:entered]):
        own = list(group)
        for i in range(len(own)):
            most = max(most, len({at[:depth] for at in own[i : i + steps]}))
    return most
