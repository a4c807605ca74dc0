"""Candidates whose shared loops run over dimensions with windows.

The turns of a layer then have different extents. Each of them is a layer of its own, with a mapping
of its own. Before any is searched, a layer costs at least what the closed form of all mappings says
(`mapper/relaxations/stays`), whatever parts it is carried out in; and every turn moves its own
words from and to the outermost memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, prod
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.fused.search.branch_bounds import CLOSE, least_on_chip
from tilewright.mapper.fused.search.candidate import Candidate, Turns, Windowed
from tilewright.mapper.fused.search.known import Sources
from tilewright.mapper.fused.space.around import Begun
from tilewright.mapper.fused.space.holding import Holding, holdings, retains_windows
from tilewright.mapper.fused.space.segment_problem import Shape
from tilewright.mapper.fused.space.windows import KeptWords, Windowing
from tilewright.model.energy import leakage_per_cycle, operation_cost, read_cost, write_cost
from tilewright.workload.footprint import expression_words, footprint

if TYPE_CHECKING:
    from tilewright.mapper.fused.search.segment_search import SegmentSearch


@dataclass(eq=False)
class Opened:
    """Loops with windows whose sizes and order are not decided, below the same held tiles.

    Attributes
    ----------
    bounds : array
        What they cost at least, the lowest first.
    at : array of int
        Which of all loops with windows each of them is.
    layers : list of array
        By layer what it costs at least below each of them.
    holding, places, shape
        What is the same for all.
    taken : int
        How many have been tried.
    """

    bounds: Floats
    at: Ints
    layers: list[Floats]
    holding: Holding
    places: dict[int, int]
    shape: Shape
    taken: int = 0

    @property
    def bound(self) -> float:
        """What those that have not been tried cost at least."""
        return float(self.bounds[self.taken]) if self.taken < len(self.bounds) else inf


class WindowCandidates:
    """Candidates with loops over dimensions with windows, of one segment."""

    def __init__(self, search: SegmentSearch) -> None:
        self.search = search
        self.problem = search.problem
        self.first, self.second = search.chunks.objective.powers
        self.every: list[Windowing] = []
        self._factors: dict[tuple[int, int], Floats] = {}
        self.operations: list[Floats] = []
        self.largest: dict[int, Floats] = {}

    def prepare(self) -> None:
        """List all loops, the operations of every layer below each, and its largest tiles."""
        p = self.problem
        self.every = list(p.windows.every())
        for i, layer in enumerate(p.layers):
            share = np.ones(len(self.every))
            for k, loop in enumerate(p.windows.loops):
                bound = layer.bounds[loop.cuts.dims[layer.name]]
                made = [sum(n * x for n, x in w.profiles[k][i]) / bound for w in self.every]
                share = share * np.array(made)
            self.operations.append(share * layer.operations)
        for tile in p.intermediates:
            i, _ = p.tiles[tile].uses[0]
            largest = np.ones(len(self.every))
            for k, loop in enumerate(p.windows.loops):
                bound = p.layers[i].bounds[loop.cuts.dims[p.layers[i].name]]
                most = np.array([max(x for x, _ in w.profiles[k][i]) for w in self.every])
                largest = largest * (most / bound)
            self.largest[tile] = largest

    def fitting(self, holding: Holding, places: dict[int, int], shape: Shape) -> Bools:
        """Return below which loops there is room for what one turn makes: halos take more."""
        p = self.problem
        free = np.array(self.search.chunks.capacity) - np.array(holding.bits)
        need = np.zeros((len(p.layers), len(free), len(self.every)))
        for tile, memory in places.items():
            users = [use[0] for use in p.tiles[tile].uses]
            bits = p.bits(tile, shape, memory) * (1 - CLOSE) * self.largest[tile]
            need[min(users) : max(users) + 1, memory] += bits
        fits: Bools = (need <= free[:, None]).all(axis=(0, 1))
        return fits

    def below(self, most: float, stop: Callable[[], bool]) -> Iterator[Opened]:
        """Yield what may cost less than some value."""
        if not self.every:
            self.prepare()
        search, p = self.search, self.problem
        most *= self.search.close
        capacity = search.chunks.capacity
        for places in p.places():
            base = self.least(places)

            def least(holding: Holding, base: Callable[[Holding], float] = base) -> float:
                bound = base(holding)
                if bound >= most:
                    search.least = min(search.least, bound)
                return bound

            for holding in holdings(p, capacity, least, most, stop, retains_windows):
                if stop():
                    return
                sources = search.sources({**places, **{h.tile: h.memory for h in holding.held}})
                inside = search.below(holding.shape)
                for shape, fits in zip(search.shapes, inside.tolist(), strict=True):
                    if fits:
                        yield from self.of_shape(holding, places, sources, shape, most)

    def of_shape(
        self,
        holding: Holding,
        places: dict[int, int],
        sources: tuple[Sources, ...],
        shape: Shape,
        most: float,
    ) -> Iterator[Opened]:
        """Yield what may cost less than some value and has some extents above the windows."""
        layers = self.of_layers(holding, sources, shape)
        bounds = np.sum(layers, axis=0) + self.apart(holding, places)
        fits = self.fitting(holding, places, shape)
        wanted = np.flatnonzero(fits & (bounds < most))
        search = self.search
        search.least = min(search.least, float(bounds[fits & (bounds >= most)].min(initial=inf)))
        if len(wanted):
            at = wanted[np.argsort(bounds[wanted], kind="stable")]
            own = [each[at] for each in layers]
            yield Opened(bounds[at], at, own, holding, places, shape)

    def apart(self, holding: Holding, places: dict[int, int]) -> Floats:
        """Return what is minimised of held tiles, where that is not part of the branches."""
        if not self.search.bounds.additive:
            return np.zeros(len(self.every))
        p = self.problem
        memories = p.architecture.memories
        names = {p.tiles[t].name: t for t in p.intermediates}
        found = []
        for w in self.every:
            energy = holding.energy
            for name in w.refetched:
                # every word goes out at least once
                tensor = p.tensor(p.tiles[names[name]].uses[0])
                words = p.words(names[name], p.bounds)
                energy += words * write_cost(memories[0], tensor)
                energy += words * read_cost(memories[places[names[name]]], tensor)
            found.append(energy)
        return np.array(found)

    def of_layers(
        self, holding: Holding, sources: tuple[Sources, ...], shape: Shape
    ) -> list[Floats]:
        """Return what each layer costs at least below every choice of loops with windows."""
        p, search = self.problem, self.search
        extra, held = search.bounds.held(holding)
        elements = prod(array.elements for array in p.architecture.arrays)
        leakage = leakage_per_cycle(p.architecture)
        result = []
        for i, layer in enumerate(p.layers):
            energy, cycles = self.onchip(i, sources[i])
            operations = self.operations[i]
            again = operations - layer.operations
            pj = energy + again * operation_cost(p.architecture, layer)
            slowest = np.maximum(cycles, operations * p.architecture.compute.cycles / elements)
            loads = np.zeros((len(p.ports), len(self.every))) + np.array(held[i])[:, None]
            for t, source in enumerate(sources[i]):
                if source == 0:
                    more, own = self.moved(i, t, shape)
                    pj = pj + more
                    loads = loads + own
            if not search.bounds.additive:
                pj = pj + extra[i]
            slowest = np.maximum(slowest, loads.max(axis=0, initial=0.0)) * (1 - CLOSE)
            pj = (pj + leakage * slowest) * (1 - CLOSE)
            result.append(pj**self.first * slowest**self.second)
        return result

    def moved(self, i: int, t: int, shape: Shape) -> tuple[Floats, Floats]:
        """Return what a branch moves of a tensor at the outermost memory: pJ, cycles by port."""
        p = self.problem
        memory, tensor, tile = p.architecture.memories[0], p.tensor((i, t)), p.tile_at[i, t]
        words = self.factors(i, t) * p.words(tile, shape, (i, t)) * p.iterations(shape)
        again = words - p.words(tile, p.bounds, (i, t))
        reads, writes = (again, words) if tensor.is_output else (words, words * 0.0)
        energy = reads * read_cost(memory, tensor) + writes * write_cost(memory, tensor)
        one = np.array(p.loads(tensor, [(0, 1.0, 0.0)]))[:, None]
        other = np.array(p.loads(tensor, [(0, 0.0, 1.0)]))[:, None]
        return energy, one * reads + other * writes

    def factors(self, i: int, t: int) -> Floats:
        """Return how many times as many words all turns touch as the layer does as a whole."""
        if (i, t) not in self._factors:
            p = self.problem
            layer, tensor = p.layers[i], p.tensor((i, t))
            factors = np.ones(len(self.every))
            for k, loop in enumerate(p.windows.loops):
                d = loop.cuts.dims[layer.name]
                terms = next(
                    (own for own in tensor.expressions if d in {x.dimension for x in own}), ()
                )

                def words(extent: int, d: str = d, terms: tuple = terms) -> int:  # type: ignore[type-arg]
                    return expression_words(terms, {**layer.bounds, d: extent}) if terms else 1

                whole = words(layer.bounds[d])
                sums = [sum(n * words(x) for x, n in w.profiles[k][i]) for w in self.every]
                factors = factors * (np.array(sums) / whole)
            self._factors[i, t] = factors
        return self._factors[i, t]

    def onchip(self, i: int, sources: Sources) -> tuple[float, float]:
        """Return what all turns of a layer cost at least with a free outermost memory.

        In pJ without leakage, and in cycles; where these do not matter, 0.
        """
        layer = replace(self.problem.layers[i], name="layer", repeat=1)
        search = self.search
        return least_on_chip(layer, search.chunks.onchip, sources, search.bounds.additive)

    def least(self, places: dict[int, int]) -> Callable[[Holding], float]:
        """Return what tells how much a segment costs at least that holds some tiles."""
        search = self.search

        def least(holding: Holding) -> float:
            held = {h.tile: h.memory for h in holding.held}
            total = holding.energy if search.bounds.additive else 0.0
            extra, moved = search.bounds.held(holding)
            for i, layer in enumerate(self.problem.layers):
                options = []
                for own in search.bounds.all_sources(i, places):
                    tiles = [self.problem.tile_at[i, t] for t in range(len(layer.tensors))]
                    if all(
                        held.get(tile, source) == source
                        for tile, source in zip(tiles, own, strict=True)
                    ):
                        options.append(self.once(i, own))
                energy = min(pj for pj, _ in options)
                cycles = max(min(own for _, own in options), *moved[i], 0.0)
                if not search.bounds.additive:
                    energy += extra[i]
                total += energy**self.first * cycles**self.second
            return total

        return least

    def once(self, i: int, sources: Sources) -> tuple[float, float]:
        """Return `onchip`, with all words of the outermost memory once."""
        energy, cycles = self.onchip(i, sources)
        pj, loads = self.search.bounds.outermost(i, sources, self.problem.bounds, 1)
        return (energy + pj) * (1 - CLOSE), max(cycles, *loads, 0.0) * (1 - CLOSE)

    def candidates(self, opened: Opened) -> Iterator[Candidate]:
        """Take the loops of the lowest bound, and yield those orders whose tiles fit."""
        search, p = self.search, self.problem
        windowing = self.every[int(opened.at[opened.taken])]
        bounds = [float(each[opened.taken]) for each in opened.layers]
        opened.taken += 1
        places, shape, holding = opened.places, opened.shape, opened.holding
        sources = search.sources({**places, **{h.tile: h.memory for h in holding.held}})
        iterations = p.iterations(shape)
        for order in p.windows.orders(windowing):
            kept = p.windows.kept(windowing, order)
            need = np.array(self.reserved(places, shape, kept)) + np.array(holding.bits)
            rooms = np.array(search.chunks.capacity) - need
            if (rooms < 0).any():
                continue
            search.candidates += 1
            apart, begun = self.moves(opened, windowing, order)
            yield Candidate(
                holding=holding,
                places=places,
                shape=shape,
                iterations=iterations,
                units=search.flat.units,
                sources=sources,
                fresh=search.fresh(shape),
                begun=begun,
                rooms=tuple(tuple(row) for row in rooms.tolist()),
                apart=apart,
                bounds=list(bounds),
                windowed=Windowed(windowing, order),
            )

    def reserved(self, places: dict[int, int], shape: Shape, kept: KeptWords) -> list[list[float]]:
        """Return the bits that intermediate tiles take of each memory while each branch runs."""
        p = self.problem
        result = []
        for i in range(len(p.layers)):
            bits = [0.0] * len(p.architecture.memories)
            for tile, memory in places.items():
                users = [use[0] for use in p.tiles[tile].uses]
                used = min(users) <= i <= max(users)
                words = kept[p.tiles[tile].name][0 if used else 1]
                whole = p.words(tile, p.bounds)
                # what is held is the same share of every extent above
                bits[memory] += p.bits(tile, shape, memory) * words / whole
            result.append(bits)
        return result

    def smallest(self, shape: Shape) -> Iterator[list[list[float]]]:
        """Yield what intermediate tiles take with the smallest tiles of loops with windows."""
        p = self.problem
        for windowing in p.windows.smallest():
            for order in p.windows.orders(windowing):
                kept = p.windows.kept(windowing, order)
                for places in p.places():
                    yield self.reserved(places, shape, kept)

    def moves(
        self, opened: Opened, windowing: Windowing, order: tuple[int, ...]
    ) -> tuple[float, tuple[Begun, ...]]:
        """Return what held and refetched tiles move: apart from the layers, or for each turn."""
        search, p = self.search, self.problem
        energy, loads = search.bounds.held(opened.holding)
        apart = opened.holding.energy
        names = {tile.name: t for t, tile in enumerate(p.tiles)}
        for move in p.windows.moves(windowing, order):
            i = p.position[move.layer]
            own = [tensor.name for tensor in p.layers[i].tensors].index(move.tensor)
            tile = p.tile_at[i, own]
            memory = 0 if move.memory == "above" else opened.places[names[p.tiles[tile].name]]
            tensor, holder = p.tensor((i, own)), p.architecture.memories[memory]
            pj = move.reads * read_cost(holder, tensor) + move.writes * write_cost(holder, tensor)
            apart += pj
            energy[i] += pj
            cycles = p.loads(tensor, [(memory, move.reads, move.writes)])
            loads[i] = [a + b for a, b in zip(loads[i], cycles, strict=True)]
        if search.bounds.additive:
            return apart, search.begun(opened.holding, 1)
        begun = []
        for i in range(len(p.layers)):
            turns = sum(n for n, _ in p.windows.turns(windowing, i))
            turns *= p.iterations(opened.shape)
            begun.append((energy[i] / turns, tuple(cycles / turns for cycles in loads[i])))
        return 0.0, tuple(begun)

    def turns(self, head: Candidate) -> list[list[Turns]]:
        """Return the turns of every layer of a candidate."""
        p = self.problem
        assert head.windowed is not None
        result = []
        for i in range(len(p.layers)):
            own = []
            for times, extents in p.windows.turns(head.windowed.windowing, i):
                layer = p.chunk(i, head.shape, extents)
                energy = layer.operations * operation_cost(p.architecture, layer)
                if self.search.bounds.additive:
                    for tensor, source in zip(layer.tensors, head.sources[i], strict=True):
                        if source == 0:
                            cost = write_cost if tensor.is_output else read_cost
                            words = footprint(tensor, layer.bounds)
                            energy += words * cost(p.architecture.memories[0], tensor)
                least = energy if self.search.bounds.additive else 0.0
                own.append(Turns(times * head.iterations, layer, extents, least))
            result.append(own)
        return result
