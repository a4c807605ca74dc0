"""What the branches of a segment cost at least, before any of their chunks is searched.

A branch that repeats the mapping of its chunk is a mapping of the whole layer. So the whole layer
with the same sources, all of the memories, and an outermost memory that costs nothing bounds what
happens on chip; and every chunk moves its own words from and to the outermost memory at least.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.fused.choices import SegmentProblem, Shape
from tilewright.mapper.fused.chunks import Chunks, Sources
from tilewright.mapper.fused.holding import Holding
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.model.energy import leakage_per_cycle, read_cost, word_ratio, write_cost

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
        layer = self.problem.layers[i]
        kind = self.chunks.kind(layer, 1.0, sources, goal=goal, free=True)
        point = self.chunks.solve(layer, kind, self.chunks.capacity, stop)
        return point.value if point.proven else 0.0

    def moved(self, i: int, sources: Sources) -> tuple[Floats, Floats]:
        """Return for every shape of chunks the pJ and the cycles of what a branch moves.

        That is at the outermost memory; the cycles are those of its busiest port.
        """
        key = i, sources
        if key not in self._moved:
            pairs = [
                self.outermost(i, sources, shape, int(n))
                for shape, n in zip(self.shapes, self.iterations, strict=True)
            ]
            self._moved[key] = np.array([e for e, _ in pairs]), np.array([c for _, c in pairs])
        return self._moved[key]

    def outermost(
        self, i: int, sources: Sources, shape: Shape, iterations: int, only: int | None = None
    ) -> tuple[float, float]:
        """Return pJ and cycles of what a branch moves from and to the outermost memory at least.

        With `only`, of one tensor alone.
        """
        p = self.problem
        memory = p.architecture.memories[0]
        energy, loads = 0.0, [0.0] * len(p.ports)
        for t, source in enumerate(sources):
            if source or (only is not None and t != only):
                continue
            tensor, tile = p.tensor((i, t)), p.tile_at[i, t]
            moved = p.words(tile, shape, (i, t)) * iterations
            reads, writes = (
                (moved - p.words(tile, p.bounds, (i, t)), moved) if tensor.is_output else (moved, 0)
            )
            energy += reads * read_cost(memory, tensor) + writes * write_cost(memory, tensor)
            for r, (_, level, direction, rate, _) in enumerate(p.ports):
                if level is memory:
                    words = reads * (direction != "write") + writes * (direction != "read")
                    loads[r] += words * word_ratio(memory, tensor) / rate
        return energy, max(loads, default=0.0)

    def of_branches(
        self, holding: Holding, sources: Sequence[Sources], stop: Callable[[], bool]
    ) -> list[Floats]:
        """Return what each branch costs at least over all iterations, for every shape of chunks."""
        first, second = self.powers
        extra = [0.0] * len(sources) if self.additive else self.held_energy(holding)
        result = []
        for i, own in enumerate(sources):
            energy, cycles = self.moved(i, own)
            value = np.ones(len(self.shapes))
            if first:
                value = value * (self.whole(i, own, ENERGY, stop) + energy + extra[i]) ** first
            if second:
                least = self.whole(i, own, LATENCY, stop)
                value = value * np.maximum(cycles, least) ** second
            if first and second:
                value = np.maximum(value, self.whole(i, own, self.chunks.objective, stop))
            result.append(value)
        return result

    def held_energy(self, holding: Holding) -> list[float]:
        """Return the pJ of held tiles by layer."""
        p = self.problem
        energy = [0.0] * len(p.layers)
        for held in holding.held:
            first = min(i for i, _ in p.tiles[held.tile].uses)
            energy[first] += p.held_energy(held.tile, held.memory, held.moved)
        return energy

    def least(self, places: dict[int, int], stop: Callable[[], bool]) -> Callable[[Holding], float]:
        """Return what tells how much a segment costs at least that holds some tiles."""
        p = self.problem
        once: dict[int, tuple[int, float]] = {}
        for t in p.external:
            # a tile that is held serves all layers that read it
            i, k = min(p.tiles[t].uses)
            once[t] = i, self.outermost(i, (0,) * (k + 1), p.bounds, 1, only=k)[0]
        first, second = self.powers
        base = {
            goal: [
                min(self.whole(i, sources, goal, stop) for sources in self.all_sources(i, places))
                for i in range(len(p.layers))
            ]
            for goal, wanted in ((ENERGY, first), (LATENCY, second))
            if wanted
        }

        def least(holding: Holding) -> float:
            held = {h.tile for h in holding.held}
            energy = self.held_energy(holding)
            for t, (i, pj) in once.items():
                if t not in held:
                    energy[i] += pj
            total = 0.0
            for i, own in enumerate(energy):
                value = (base[ENERGY][i] + own) ** first if first else 1.0
                total += value * (base[LATENCY][i] ** second if second else 1.0)
            return total

        return least

    def all_sources(self, i: int, places: dict[int, int]) -> Iterator[Sources]:
        """Yield every way in which the tensors of a layer may come."""
        p = self.problem
        options = []
        for t in range(len(p.layers[i].tensors)):
            tile = p.tile_at[i, t]
            options.append((places[tile],) if tile in places else (0, *p.tiles[tile].memories))
        yield from itertools.product(*options)
