"""What the branches of a segment cost at least, before any of their chunks is searched.

A branch that repeats the mapping of its chunk is a mapping of the whole layer. So the whole layer
with the same sources, all of the memories, and an outermost memory that costs nothing bounds what
happens on chip; and every chunk moves its own words from and to the outermost memory at least.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from math import inf, prod

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.fused.search.branch import keeps_of
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.known import Sources
from tilewright.mapper.fused.space.groups import PRIVATE, Unit
from tilewright.mapper.fused.space.holding import Holding
from tilewright.mapper.fused.space.segment_problem import SegmentProblem, Shape
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.widest_choices import widest_choices
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.model.energy import leakage_per_cycle, operation_cost, read_cost, write_cost
from tilewright.workload.layer import Layer

CLOSE = 1e-13  # what the closed form may be wrong by, relative
ENERGY, LATENCY = parse_objective("energy"), parse_objective("latency")


class BranchBounds:
    """Bounds of the branches of one segment.

    Attributes
    ----------
    additive : bool
        Whether what held tiles move adds to the value apart from the branches: for energy, without
        leakage.
    """

    def __init__(
        self, problem: SegmentProblem, chunks: Chunks, shapes: Sequence[Shape], iterations: Ints
    ) -> None:
        self.problem = problem
        self.chunks = chunks
        self.shapes = shapes
        self.iterations = iterations
        self.powers = chunks.objective.powers
        leaks = leakage_per_cycle(problem.architecture) > 0
        self.additive = self.powers == (1.0, 0.0) and not leaks
        self._moved: dict[tuple[int, Sources], tuple[Floats, Floats]] = {}

    def whole(self, i: int, sources: Sources, goal: Objective, stop: Callable[[], bool]) -> float:
        """Return what a whole layer costs at least when its outermost memory costs no energy."""
        layer, chunks = self.problem.layers[i], self.chunks
        kind = chunks.kind(layer, 1.0, sources, goal=goal, free=True)
        if chunks.long:
            return chunks.least(layer, kind)
        return chunks.solve(layer, kind, chunks.capacity, stop).bound

    def moved(self, i: int, sources: Sources) -> tuple[Floats, Floats]:
        """Return for every shape of chunks what a branch moves at the outermost memory, in pJ.

        And for every shape and port the cycles of that.
        """
        key = i, sources
        if key not in self._moved:
            pairs = [
                self.outermost(i, sources, shape, int(n))
                for shape, n in zip(self.shapes, self.iterations, strict=True)
            ]
            loads = np.array([own for _, own in pairs]).reshape(len(pairs), -1)
            self._moved[key] = np.array([pj for pj, _ in pairs]), loads
        return self._moved[key]

    def outermost(
        self, i: int, sources: Sources, shape: Shape, iterations: int, only: int | None = None
    ) -> tuple[float, list[float]]:
        """Return the least that a branch moves from and to the outermost memory.

        With `only`, of one tensor alone.

        Returns
        -------
        float, list of float
            Energy in pJ, and the cycles of each bandwidth-limited port.
        """
        p = self.problem
        memory = p.architecture.memories[0]
        energy, loads = 0.0, [0.0] * len(p.ports)
        for t, source in enumerate(sources):
            if source or (only is not None and t != only):
                continue
            tensor, tile = p.tensor((i, t)), p.tile_at[i, t]
            words = p.words(tile, shape, (i, t)) * iterations
            again = words - p.fresh(i) * p.words(tile, p.bounds, (i, t))
            reads, writes = (again, words) if tensor.is_output else (words, 0)
            energy += reads * read_cost(memory, tensor) + writes * write_cost(memory, tensor)
            for r, cycles in enumerate(p.loads(tensor, [(0, reads, writes)])):
                loads[r] += cycles
        return energy, loads

    def of_branches(
        self,
        holding: Holding,
        sources: Sequence[Sources],
        stop: Callable[[], bool],
        units: Sequence[Unit],
    ) -> list[Floats]:
        """Return what each branch costs at least over all iterations, for every shape of chunks."""
        every = self.of_layers(holding, sources, stop, units)
        return [np.sum([every[i] for i in unit], axis=0) for unit in units]

    def of_layers(
        self,
        holding: Holding,
        sources: Sequence[Sources],
        stop: Callable[[], bool],
        units: Sequence[Unit],
    ) -> list[Floats]:
        """Return what each layer costs at least over all iterations, for every shape of chunks.

        Where a layer is part of a group, its tensors may be held there, but not for longer than
        one iteration; what several layers of the group read is counted for the first of them.
        """
        first, second = self.powers
        unit_of = {i: unit for unit in units for i in unit}
        extra, held = self.held(holding)
        result = []
        for i, own in enumerate(sources):
            energy, loads = self.moved(i, self.moved_for(i, own, unit_of[i]))
            ways = [own] if len(unit_of[i]) == 1 else list(self.inside(i, own))

            def whole(goal: Objective, i: int = i, ways: list[Sources] = ways) -> float:
                return min(self.whole(i, way, goal, stop) for way in ways)

            value = np.ones(len(self.shapes))
            if first:
                more = 0.0 if self.additive else extra[i]
                value = value * (whole(ENERGY) + energy + more) ** first
            if second:
                least = whole(LATENCY)
                cycles = (loads + np.array(held[i])).max(axis=1, initial=least)
                value = value * cycles**second
            if first and second:
                value = np.maximum(value, whole(self.chunks.objective))
            result.append(value)
        return result

    def moved_for(self, i: int, sources: Sources, unit: Unit) -> Sources:
        """Return sources without what an earlier layer of a group may fetch for all of it."""
        tiles = self.problem.tiles
        return tuple(
            PRIVATE
            if any(j < i and j in unit for j, _ in tiles[self.problem.tile_at[i, t]].uses)
            else source
            for t, source in enumerate(sources)
        )

    def inside(self, i: int, sources: Sources) -> Iterator[Sources]:
        """Yield where the tensors of a layer in a group may come from."""
        p = self.problem
        options: list[tuple[int, ...]] = []
        for t, source in enumerate(sources):
            own = p.tiles[p.tile_at[i, t]].memories if source == PRIVATE else (source,)
            inside = (m for place in own for m in p.further((i, t), place))
            options.append(tuple(dict.fromkeys((*own, *inside))))
        yield from itertools.product(*options)

    def held(self, holding: Holding) -> tuple[list[float], list[list[float]]]:
        """Return what held tiles move on behalf of each layer, in pJ and in cycles of each port.

        What several layers read belongs to the first of them.
        """
        p = self.problem
        energy = [0.0] * len(p.layers)
        loads = [[0.0] * len(p.ports) for _ in p.layers]
        for i, (pj, cycles_of) in enumerate(p.around.begun if p.around else ()):
            energy[i] += pj
            for r, cycles in enumerate(cycles_of):
                loads[i][r] += cycles
        for held in holding.held:
            first = min(i for i, _ in p.tiles[held.tile].uses)
            energy[first] += p.held_energy(held.tile, held.memory, held.moved)
            for r, cycles in enumerate(p.held_loads(held.tile, held.memory, held.moved)):
                loads[first][r] += cycles
        return energy, loads

    def least(
        self, places: dict[int, int], stop: Callable[[], bool], *, again: bool = False
    ) -> Callable[[Holding], float]:
        """Return what tells how much a segment costs at least that holds some tiles.

        With `again`, groups may hold exchanged tiles once more, further inward.
        """
        p = self.problem
        once: dict[int, tuple[int, float, list[float]]] = {}
        for t in p.external:
            # a tile that is held serves all layers that read it
            once[t] = self.once(t)
        first, second = self.powers
        base = {
            goal: [
                min(
                    self.whole(i, sources, goal, stop)
                    for sources in self.all_sources(i, places, again)
                )
                for i in range(len(p.layers))
            ]
            for goal, wanted in ((ENERGY, first), (LATENCY, second))
            if wanted
        }

        def least_energy(holding: Holding) -> float:
            held = {h.tile for h in holding.held}
            return onchip + holding.energy + sum(e[1] for t, e in once.items() if t not in held)

        def least(holding: Holding) -> float:
            held = {h.tile for h in holding.held}
            energy, loads = self.held(holding)
            for t, (i, pj, cycles) in once.items():
                if t not in held:
                    energy[i] += pj
                    loads[i] = [a + b for a, b in zip(loads[i], cycles, strict=True)]
            total = 0.0
            for i in range(len(p.layers)):
                value = (base[ENERGY][i] + energy[i]) ** first if first else 1.0
                slowest = max([base[LATENCY][i], *loads[i]]) if second else 1.0
                total += value * slowest**second
            return total

        onchip = sum(base.get(ENERGY, ()))
        return least_energy if self.powers == (1.0, 0.0) else least

    def once(self, t: int) -> tuple[int, float, list[float]]:
        """Return what moves at the outermost memory as the words of a tensor move once.

        Returns
        -------
        int, float, list of float
            The first layer that has it; energy in pJ; the cycles of each bandwidth-limited port.
        """
        i, k = min(self.problem.tiles[t].uses)
        sources = (self.problem.tiles[t].source,) * (k + 1)
        return i, *self.outermost(i, sources, self.problem.bounds, 1, only=k)

    def floor(self) -> float:
        """Return what no fused mapping undercuts, without any search.

        The operations, and the words from and to the outermost memory, each once.
        """
        p = self.problem
        machine = p.architecture
        elements = prod(array.elements for array in machine.arrays)
        energy = [layer.operations * operation_cost(machine, layer) for layer in p.layers]
        cycles = [layer.operations * machine.compute.cycles / elements for layer in p.layers]
        loads = [[0.0] * len(p.ports) for _ in p.layers]
        for t in p.external:
            i, pj, own = self.once(t)
            energy[i] += pj
            loads[i] = [a + b for a, b in zip(loads[i], own, strict=True)]
        first, second = self.powers
        return float(
            sum(
                pj**first * max([least, *own]) ** second
                for pj, least, own in zip(energy, cycles, loads, strict=True)
            )
        )

    def least_of_layers(self, alone: float) -> float:
        """Return what no fused mapping undercuts, given what no layers by themselves do.

        A tile that is held for several layers moves once for all of them, and for each of them
        where they are by themselves. Nothing is known of how much it moves; but what moves more
        often than once is paid in the fused mapping as well.
        """
        p, least = self.problem, self.floor()
        apart = alone - self.saved_at_most()
        shared = [t for t in self.shared if p.tiles[t].memories]
        if not shared or apart <= least:
            return max(least, apart)
        if not self.additive:
            return least
        once = 0.0
        for t in shared:
            once += self.once(t)[1]
        most = max(len(p.tiles[t].uses) for t in shared)
        return least + max(0.0, apart - (most - 1) * once - least) / most

    @cached_property
    def shared(self) -> tuple[int, ...]:
        """Positions of the tiles from outside that several layers read."""
        p = self.problem
        return tuple(t for t in p.external if len(p.tiles[t].uses) > 1)

    def saved_by(self, holding: Holding) -> float:
        """Return the pJ that are saved at most as tiles are held for several layers."""
        p = self.problem
        return sum(
            (len(p.tiles[h.tile].uses) - 1) * p.held_energy(h.tile, h.memory, h.moved)
            for h in holding.held
            if h.tile in self.shared
        )

    def saved_at_most(self) -> float:
        """Return what is saved at most, of energy or of cycles, as tensors are exchanged on chip.

        Infinite where that is unknown. A fused mapping is one of each layer by itself as soon as
        its exchanged tiles come from the outermost memory and go there. All shared loops are
        relevant to them, so that every word moves once more at both memories. That takes tiles of
        one size, not those of windows.
        """
        p = self.problem
        if p.windows.loops or not (self.additive or self.powers == (0.0, 1.0)):
            return inf
        total = 0.0
        for tile in p.intermediates:
            for i, t in p.tiles[tile].uses:
                tensor, words = p.tensor((i, t)), p.words(tile, p.bounds, (i, t))
                options = []
                for m in p.tiles[tile].memories:
                    moves = [(0, 0, words), (m, words, 0)]
                    if not tensor.is_output:
                        moves = [(0, words, 0), (m, 0, words)]
                    if self.additive:
                        machine = p.architecture.memories
                        options.append(
                            sum(
                                reads * read_cost(machine[n], tensor)
                                + writes * write_cost(machine[n], tensor)
                                for n, reads, writes in moves
                            )
                        )
                    else:
                        options.append(sum(p.loads(tensor, moves)))
                total += max(options, default=inf)
        return total

    def all_sources(self, i: int, places: dict[int, int], again: bool = False) -> Iterator[Sources]:
        """Yield every way in which the tensors of a layer may come."""
        p = self.problem
        options: list[tuple[int, ...]] = []
        for t in range(len(p.layers[i].tensors)):
            tile = p.tile_at[i, t]
            if tile in places:
                options.append((places[tile], *(p.further((i, t), places[tile]) if again else ())))
            elif tile in p.intermediates:
                own = p.tiles[tile].memories
                inside = (m for place in own for m in p.further((i, t), place))
                options.append(tuple(dict.fromkeys((*own, *inside))))
            elif again:
                source = p.tiles[tile].source
                options.append((source, *p.further((i, t), source)))
            else:
                options.append((p.tiles[tile].source, *p.tiles[tile].memories))
        yield from itertools.product(*options)


@lru_cache(maxsize=4096)
def least_on_chip(
    layer: Layer, machine: Architecture, sources: Sources, only_energy: bool
) -> tuple[float, float]:
    """Return what all turns of a layer cost at least: pJ without leakage, and cycles or 0."""
    keeps = keeps_of(layer, machine, sources)
    choices = widest_choices(layer, machine)
    widest = choices.max(axis=0, keepdims=True)
    rough = Least(layer, machine, widest, sources)
    costs = [cost_of(rough, keep, only_energy) for keep in keeps]
    exact = Least(layer, machine, choices, sources)
    least = [inf, inf]
    for k in range(2):
        for own, keep in sorted(zip(costs, keeps, strict=True), key=lambda each: each[0][k]):
            if own[k] >= least[k] * (1 - CLOSE):
                break
            found = cost_of(exact, keep, only_energy)
            least = [min(pair) for pair in zip(least, found, strict=True)]
    return least[0], least[1]


def cost_of(bound: Least, keep: KeepChoice, only_energy: bool) -> tuple[float, float]:
    """Return the least energy and cycles of a bypass choice."""
    # turns may make different spatial choices: no ceilings
    bound.cycles = bound.cycles * 0.0
    cycles = 0.0 if only_energy else float(bound.time(keep).min())
    return float(bound.energy(keep).min()), cycles
