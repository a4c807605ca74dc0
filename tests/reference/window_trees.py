"""All fused mappings of a small segment with windows, made one by one, and the cheapest of them.

Nothing here is shared with the search. Loops with windows stand below all others, each once and in
any order, with halos of every mode. Which turns there are, what they count and what shared stores
move is told by the simulation; each turn of other extents has the branch that suits it best.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import inf

from fused_trees import (
    TooManyError,
    bits_of,
    energy,
    every_branch,
    every_nest,
    memories_above,
)
from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.errors import MappingError
from tilewright.fusion.evaluation import evaluate
from tilewright.mapper.objective.objective import Objective
from tilewright.mapping.fused import Branch, Fuse, FusedMapping, Halo, Segment
from tilewright.mapping.fused.scopes import Leaf, resolve_fused
from tilewright.mapping.nodes import Mapping, Node, Store
from tilewright.mapping.structure import resolve
from tilewright.reference.fused import FusedSimulation
from tilewright.reference.simulate import Simulation
from tilewright.workload.layer import Layer

Cost = tuple[float, ...]
"""Energy in pJ, steps, and of every memory the words read and written."""


class Recorded(FusedSimulation):
    """A simulation that remembers its turns."""

    def turn(self, leaf: Leaf, box: dict[str, tuple[int, int]]) -> None:  # type: ignore[override]
        super().turn(leaf, box)
        layer = self.segment.layer_of[leaf.layer]
        extents = tuple((d, end - first) for d, (first, end) in box.items())
        if all(n for _, n in extents):
            reduced = [d for d in layer.bounds if d not in layer.output.dimensions]
            fresh = all(box[d][0] == 0 for d in reduced)
            self.log.setdefault(leaf.layer, Counter())[extents, fresh] += 1

    @property
    def log(self) -> dict[str, Counter[object]]:
        """The turns of each layer so far."""
        found: dict[str, Counter[object]] = self.__dict__.setdefault("recorded", {})
        return found


class WindowTrees:
    """All fused mappings of a segment with one fuse node on a machine without arrays."""

    def __init__(self, found: Segment, machine: Architecture, goal: Objective, most: int) -> None:
        self.segment = found
        self.machine = machine
        self.goal = goal
        self.left = most
        self.known: dict[object, list[tuple[Cost, dict[str, int]]]] = {}

    def cheapest(self, plain: dict[str, int], windows: dict[str, int]) -> float:
        """Return the least value.

        Parameters
        ----------
        plain, windows : dict of str to int
            Dimensions that loops may share, as trees name them, and their bounds.
        """
        best = inf
        for tree in every_tree(self.segment, self.machine, plain, windows):
            self.left -= 1
            if self.left < 0:
                raise TooManyError
            best = min(best, self.least(tree))
        return best

    def least(self, tree: FusedMapping) -> float:
        """Return the least value below some shared nodes; infinite where they do not fit."""
        try:
            shared = evaluate(self.segment, self.machine, tree)
        except MappingError:
            return inf
        run = Recorded(self.segment, self.machine, resolve_fused(tree, self.segment))
        counted = run.counts()
        total = 0.0
        for leaf in run.resolved.leaves:
            layer = self.segment.layer_of[leaf.layer]
            sources = {t: chain[-1].memory for t, chain in leaf.chains.items()}
            room = {
                m.name: (m.capacity_bits or inf)
                - sum(tile.bits for tile in shared.alive[m.name][leaf.layer])
                for m in self.machine.memories
            }
            sums = [self.cost(layer, counted.layers[layer.name])]
            for (extents, fresh), times in run.log[leaf.layer].items():  # type: ignore[misc]
                own = replace(layer, bounds=dict(extents))
                bare = self.cost(own, self.turn(own, (), sources, fresh))
                options = [
                    tuple(times * (a - b) for a, b in zip(cost, bare, strict=True))
                    for cost, taken in self.branches(own, sources, fresh)
                    if all(n <= room[m] for m, n in taken.items())
                ]
                options = self.fewest(options)
                sums = self.fewest(
                    [
                        tuple(a + b for a, b in zip(one, other, strict=True))
                        for one in sums
                        for other in options
                    ]
                )
            total += min((self.value(cost) for cost in sums), default=inf)
        return total

    def fewest(self, costs: list[Cost]) -> list[Cost]:
        """Return the costs that none is nowhere above; of energy alone the least one."""
        if self.goal.powers == (1.0, 0.0):
            return [min(costs)] if costs else []
        kept: list[Cost] = []
        for cost in sorted(set(costs)):
            if not any(all(a <= b for a, b in zip(one, cost, strict=True)) for one in kept):
                kept.append(cost)
        return kept

    def value(self, cost: Cost) -> float:
        """Return the value of a layer."""
        cycles = cost[1] * self.machine.compute.cycles
        for m, memory in enumerate(self.machine.memories):
            reads, writes = cost[2 + 2 * m : 4 + 2 * m]
            for words, rate in (
                (reads, memory.read_bandwidth),
                (writes, memory.write_bandwidth),
                (reads + writes, memory.shared_bandwidth),
            ):
                cycles = max(cycles, words / rate if rate else 0.0)
        return self.goal.value(cost[0], cycles)

    def cost(self, layer: Layer, counts: Counts) -> Cost:
        """Return what is counted of a layer."""
        own = [energy(replace(layer), counts, self.machine)]
        # a layer that makes something again has more operations than its bounds say
        own[0] += (counts.operations - layer.operations) * self.machine.compute.energy
        moved: list[float] = []
        for memory in self.machine.memories:
            tensors = counts.memories[memory.name].values()
            moved += [sum(t.reads for t in tensors), sum(t.writes for t in tensors)]
        return (*own, counts.steps, *moved)

    def turn(
        self, own: Layer, branch: tuple[Node, ...], sources: dict[str, str], fresh: bool
    ) -> Counts:
        """Return the counts of one turn."""
        order = {m.name: i for i, m in enumerate(self.machine.memories)}
        heads = sorted(sources.items(), key=lambda each: order[each[1]])
        mapping = Mapping((*(Store(m, (t,)) for t, m in heads), *branch))
        structure = resolve(mapping, own, self.machine)
        return Simulation(own, self.machine, structure, fresh=fresh).counts()

    def branches(
        self, own: Layer, sources: dict[str, str], fresh: bool
    ) -> list[tuple[Cost, dict[str, int]]]:
        """Return of all branches the cost of a turn, and their bits."""
        key = own.name, tuple(own.bounds.items()), tuple(sources.items()), fresh
        if key not in self.known:
            found: dict[object, tuple[Cost, dict[str, int]]] = {}
            for branch in every_branch(own, dict(own.bounds), self.machine, sources):
                self.left -= 1
                if self.left < 0:
                    raise TooManyError
                taken = bits_of(own, branch, self.machine)
                cost = self.cost(own, self.turn(own, branch, sources, fresh))
                found[cost, tuple(taken.items())] = cost, taken
            self.known[key] = list(found.values())
        return self.known[key]


def every_tree(
    found: Segment, machine: Architecture, plain: dict[str, int], windows: dict[str, int]
) -> Iterator[FusedMapping]:
    """Yield all shared nodes with empty branches."""
    (buffer,) = memories_above(machine)[1:]
    outside = tuple(t.name for t in found.tensors if not t.intermediate)
    inside = tuple(t.name for t in found.tensors if t.intermediate)
    branches = Fuse(tuple(Branch(layer.name) for layer in found.layers))
    lasts = [
        loops
        for loops in every_nest(windows, stops=True)
        if len({loop.dimension for loop in loops}) == len(loops)
    ]
    for first in every_nest(plain, stops=True):
        for places in itertools.product((None, *range(len(first) + 1)), repeat=len(outside)):
            for last in lasts:
                for halos, twice in every_halo(found, [x.dimension for x in last]):
                    nodes: list[Node] = [Store(machine.memories[0].name, (*outside, *twice))]
                    for i in range(len(first) + 1):
                        for name, place in zip(outside, places, strict=True):
                            if place == i:
                                nodes.append(Store(buffer, (name,)))
                        nodes += first[i : i + 1]
                    yield FusedMapping((*nodes, *last, Store(buffer, inside), branches), halos)


def every_halo(
    found: Segment, dimensions: list[str]
) -> Iterator[tuple[tuple[Halo, ...], tuple[str, ...]]]:
    """Yield modes of all exchanged tensors in all dimensions that loops cut."""
    own = [d.rpartition(".")[2] for d in dimensions]
    made = {e.tensor: e.producer.layer for e in found.exchanges}
    options = [
        [*itertools.product(("retain", "recompute"), repeat=len(own)), *([("refetch",) * len(own)]
          if own else [])]
        for _ in made
    ]  # fmt: skip
    for chosen in itertools.product(*options):
        halos = tuple(
            Halo(tensor, d, mode)
            for tensor, modes in zip(made, chosen, strict=True)
            for d, mode in zip(own, modes, strict=True)
        )
        twice = tuple(dict.fromkeys(h.tensor for h in halos if h.mode == "refetch"))
        yield halos, twice
