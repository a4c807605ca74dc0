"""What one tensor costs along given loops, counted with explicit sets of words.

A second account of what `tilewright.simulate` defines, for tile sizes that divide evenly.
A set of words is an integer, one bit per word, so that thousands of mappings can be counted in a
second.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import inf
from operator import add
from typing import NamedTuple

from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.workload.layer import Layer, Tensor

IRRELEVANT = NO_ARRAY = -1
# depth of the store node in each memory but the outermost, None where it is bypassed
Chain = tuple[int | None, ...]


class Loop(NamedTuple):
    """A loop over position `dimension` of the layer's dimensions, spatial on `array` if any."""

    dimension: int
    extent: int
    tile: int
    array: int = NO_ARRAY

    @property
    def chunks(self) -> int:
        return self.extent // self.tile


# temporal and spatial loops
Shape = tuple[tuple[Loop, ...], tuple[Loop, ...]]


@dataclass(frozen=True)
class Nest:
    """All loops of a mapping, outermost first, and where the spatial loops of each array stand."""

    loops: tuple[Loop, ...]
    blocks: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Moved:
    """Words of one tensor between two of its stores (or the innermost one and the compute unit)."""

    entering: int
    distinct: int
    words: tuple[int, ...]
    hops: tuple[int, ...]

    @property
    def sent(self) -> int:
        return self.words[0] if self.words else self.entering


class Traffic:
    """Costs of the tensors of a layer, one tensor and one way to store it at a time."""

    def __init__(self, layer: Layer, architecture: Architecture) -> None:
        self.layer = layer
        self.architecture = architecture
        self.dimensions = layer.dimensions
        self.memories = architecture.memories[1:]
        self.arrays = architecture.arrays
        # number of arrays above each level
        self.above = {
            level.name: sum(architecture.position[a.name] < i for a in self.arrays)
            for i, level in enumerate(architecture.levels)
        }
        self.zone = [self.above[memory.name] for memory in architecture.memories]
        self.limited = {self.above[level.name] for level in architecture.levels if limits(level)}
        self.links: dict[object, Moved] = {}
        self.shapes: dict[object, Shape] = {}
        self.masks: dict[object, int] = {}

    def cost(self, tensor: Tensor, nest: Nest, chain: Chain) -> list[float]:
        """Return energy and the cycles at each port of one tensor."""
        # the first instance of a level alone is below the first element of the arrays above it
        books = [self.ledger(tensor, nest, chain, 0)]
        for alone in range(1, 1 + len(self.arrays)):
            used = any(end > start for start, end in nest.blocks[:alone])
            limited = used and alone in self.limited
            books.append(self.ledger(tensor, nest, chain, alone) if limited else books[0])
        energy = 0.0
        ports: list[float] = []
        for m, memory in enumerate(self.architecture.memories):
            ratio = 1.0 if tensor.bits is None else tensor.bits / memory.word_bits
            reads, writes = (ratio * total[m] for total in books[0][:2])
            energy += reads * memory.read_energy + writes * memory.write_energy
            reads, writes = (ratio * total[m] for total in books[self.zone[m]][:2])
            ports += [
                reads / (memory.read_bandwidth or inf),
                writes / (memory.write_bandwidth or inf),
                (reads + writes) / (memory.shared_bandwidth or inf),
            ]
        for a, array in enumerate(self.arrays):
            energy += books[0][3][a] * array.hop_energy
            ports.append(books[a][2][a] / (array.bandwidth or inf))
        return [energy, *ports]

    def ledger(
        self, tensor: Tensor, nest: Nest, chain: Chain, alone: int
    ) -> tuple[list[int], list[int], list[int], list[int]]:
        """Return reads and writes by memory, words and hops by array, of one tensor.

        Only the first elements of the outermost `alone` arrays take part.
        """
        reads, writes = [0] * (1 + len(self.memories)), [0] * (1 + len(self.memories))
        words, hops = [0] * len(self.arrays), [0] * len(self.arrays)
        stores = [(0, 0), *((m, d) for m, d in enumerate(chain, start=1) if d is not None)]
        zero = -1
        for i, (parent, _) in enumerate(stores):
            last = i + 1 == len(stores)
            child, depth = (-1, len(nest.loops)) if last else stores[i + 1]
            zones = (self.zone[parent], len(self.arrays) if last else self.zone[child])
            moved = self.moved(tensor, nest, depth, zones, alone, last)
            crossed = range(*zones)
            refetch = 0
            if not tensor.is_output:
                reads[parent] += moved.sent
                if not last:
                    writes[child] += moved.entering
            else:
                zero = moved.distinct if zero < 0 else zero
                partial = moved.sent - zero
                writes[parent] += moved.sent
                reads[parent] += partial
                if not last:
                    refetch = partial if all(self.arrays[a].reduction for a in crossed) else 0
                    writes[child] += refetch
                    reads[child] += moved.entering
                    zero = moved.entering - refetch
            for a, n, h in zip(crossed, moved.words, moved.hops, strict=True):
                words[a] += n + refetch
                hops[a] += h + refetch
        return reads, writes, words, hops

    def moved(
        self,
        tensor: Tensor,
        nest: Nest,
        depth: int,
        zones: tuple[int, int],
        alone: int,
        compute: bool,
    ) -> Moved:
        """Return what moves into the tiles below the outermost `depth` loops."""
        key = (tensor.name, nest.loops[:depth], compute)
        if key not in self.shapes:
            self.shapes[key] = self.shape(tensor, nest.loops[:depth], compute)
        temporal, spatial = self.shapes[key]
        mine = self.reached(tensor, nest, alone) if tensor.is_output and alone else -1
        alone = max((loop.array + 1 for loop in spatial if loop.array < alone), default=0)
        link = (tensor.name, temporal, spatial, zones, alone, mine, compute)
        if link not in self.links:
            self.links[link] = self.count(tensor, temporal, spatial, zones, alone, mine, compute)
        return self.links[link]

    def shape(self, tensor: Tensor, loops: tuple[Loop, ...], compute: bool) -> Shape:
        """Return the temporal and the spatial loops as far as they matter to the tiles below them.

        One irrelevant loop is like another, two loops on one dimension in a row are one, the words
        of a tile stay through irrelevant loops right above it, and the compute unit, which holds
        nothing, does not mind the order.
        """
        plain = [
            loop
            if self.dimensions[loop.dimension] in tensor.dimensions
            else Loop(IRRELEVANT, loop.chunks, 1, loop.array)
            for loop in loops
        ]
        temporal: list[Loop] = []
        for loop in plain:
            if loop.array != NO_ARRAY:
                continue
            last = temporal[-1] if temporal else None
            if last is None or last.dimension != loop.dimension:
                temporal.append(loop)
            elif loop.dimension == IRRELEVANT:
                temporal[-1] = Loop(IRRELEVANT, last.extent * loop.extent, 1)
            elif last.tile != loop.extent:  # spatial loops in between
                temporal.append(loop)
            else:
                temporal[-1] = Loop(loop.dimension, last.extent, loop.tile)
        if not compute and temporal and temporal[-1].dimension == IRRELEVANT:
            temporal.pop()
        if compute:
            temporal.sort(key=lambda loop: (loop.dimension, -loop.tile, loop.extent))
        return tuple(temporal), tuple(loop for loop in plain if loop.array != NO_ARRAY)

    def count(
        self,
        tensor: Tensor,
        temporal: tuple[Loop, ...],
        spatial: tuple[Loop, ...],
        zones: tuple[int, int],
        alone: int,
        mine: int,
        compute: bool,
    ) -> Moved:
        """Move the words into the tiles below some loops, step by step."""
        run = sliding_run(temporal)
        crossed = range(*zones)
        unites = [
            self.arrays[a].reduction if tensor.is_output else self.arrays[a].multicast
            for a in crossed
        ]
        forwards = not tensor.is_output and any(self.arrays[a].forwarding for a in crossed)
        places = list(product(*(range(1 if s.array < alone else s.chunks) for s in spatial)))

        def apart(united: set[int]) -> list[tuple[int, ...]]:
            kept = [i for i, loop in enumerate(spatial) if loop.array not in united]
            return [tuple(place[i] for i in kept) for place in places]

        # by array, from it inward: words of one group that are the same are one
        groups = [
            apart({a for a, unite in zip(crossed[i:], unites[i:], strict=True) if unite})
            for i in range(len(crossed) + 1)
        ]
        parents = apart(set(crossed))
        axes = [self.dimensions.index(name) for name in tensor.dimensions]
        extents = dict(enumerate(self.layer.bounds.values()))
        for loop in (*temporal, *spatial):
            extents[loop.dimension] = min(loop.tile, extents.get(loop.dimension, 1))
        corners = [starts(spatial, place, axes) for place in places]
        widths = [extents[d] for d in axes]
        masks: dict[tuple[int, ...], int] = {}

        def tile_at(first: tuple[int, ...]) -> int:
            if first not in masks:
                points = tuple(range(a, a + w) for a, w in zip(first, widths, strict=True))
                masks[first] = self.mask(tensor, points)
            return masks[first]

        entering = touched = 0
        words, hops = [0] * len(crossed), [0] * len(crossed)
        resident = [0] * len(places)
        before: tuple[int, ...] = ()
        for step in product(*(range(loop.chunks) for loop in temporal)):
            corner = starts(temporal, step, axes)
            tiles = [tile_at(tuple(map(add, corner, own))) for own in corners]
            advanced = (i for i, (old, new) in enumerate(zip(before, step)) if old != new)  # noqa: B905
            slides = next(advanced, -1) in run
            before = step
            entered = [
                tile & ~old if slides or tile == old else tile
                for tile, old in zip(tiles, resident, strict=True)
            ]
            entered = [tile & mine for tile in entered]
            sent = entered
            if forwards:
                held: dict[tuple[int, ...], int] = {}
                for parent, old in zip(parents, resident, strict=True):
                    held[parent] = held.get(parent, 0) | old
                sent = [n & ~held[parent] for n, parent in zip(entered, parents, strict=True)]
            if not compute:
                resident = tiles
            for own in entered:
                entering += own.bit_count()
                touched |= own
            for i in range(len(crossed)):
                words[i] += united_words(sent, groups[i])
                hops[i] += united_words(entered, groups[i + 1])
        return Moved(entering, touched.bit_count(), tuple(words), tuple(hops))

    def tile(self, tensor: Tensor, loops: tuple[Loop, ...]) -> int:
        """Return the number of words of the tile below some loops."""
        extents = dict(self.layer.bounds)
        for loop in loops:
            extents[self.dimensions[loop.dimension]] = loop.tile
        return self.mask(tensor, tuple(range(extents[d]) for d in tensor.dimensions)).bit_count()

    def reached(self, tensor: Tensor, nest: Nest, alone: int) -> int:
        """Return the words below the first elements of the outermost `alone` arrays."""
        points = {name: {0} for name in tensor.dimensions}
        for loop in nest.loops:
            name = self.dimensions[loop.dimension]
            if name in points and (loop.array == NO_ARRAY or loop.array >= alone):
                points[name] = {p + n * loop.tile for p in points[name] for n in range(loop.chunks)}
        return self.mask(tensor, tuple(tuple(sorted(p)) for p in points.values()))

    def mask(self, tensor: Tensor, points: tuple[range | tuple[int, ...], ...]) -> int:
        """Return the words at some points of a tensor's dimensions, as bits."""
        key = (tensor.name, points)
        if key not in self.masks:
            at = dict(zip(tensor.dimensions, points, strict=True))
            words, size = {0}, 1
            for terms in tensor.expressions:
                values = {
                    sum(t.coefficient * p for t, p in zip(terms, point, strict=True))
                    for point in product(*(at[t.dimension] for t in terms))
                }
                words = {word + size * value for word in words for value in values}
                size *= 1 + sum(t.coefficient * (self.layer.bounds[t.dimension] - 1) for t in terms)
            self.masks[key] = sum(1 << word for word in words)
        return self.masks[key]


def limits(level: Level) -> bool:
    """Return whether a level has a bandwidth that may limit the cycles."""
    if isinstance(level, Array):
        return level.bandwidth is not None
    return isinstance(level, Memory) and (
        level.read_bandwidth is not None
        or level.write_bandwidth is not None
        or level.shared_bandwidth is not None
    )


def sliding_run(temporal: tuple[Loop, ...]) -> set[int]:
    """Return the positions of the loops along which the tile below them slides."""
    relevant = [i for i, loop in enumerate(temporal) if loop.dimension != IRRELEVANT]
    run: set[int] = set()
    for i in reversed(relevant):
        if temporal[i].dimension != temporal[relevant[-1]].dimension:
            break
        run.add(i)
    return run


def starts(loops: tuple[Loop, ...], at: tuple[int, ...], axes: list[int]) -> list[int]:
    """Return where chunks of loops start along some dimensions."""
    first = dict.fromkeys(axes, 0)
    for loop, n in zip(loops, at, strict=True):
        if loop.dimension in first:
            first[loop.dimension] += n * loop.tile
    return list(first.values())


def united_words(words: list[int], groups: list[tuple[int, ...]]) -> int:
    """Return the words of all places, those of one group counted once."""
    if len(words) == 1:
        return words[0].bit_count()
    union: dict[tuple[int, ...], int] = {}
    for own, group in zip(words, groups, strict=True):
        union[group] = union.get(group, 0) | own
    return sum(all_of.bit_count() for all_of in union.values())
