"""What a segment leaves to choose from: shared dimensions, and where its tensors may be held."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import gcd, prod

from tilewright.architecture.machine import Architecture, Memory
from tilewright.mapper.fused.space.around import Around
from tilewright.mapper.fused.space.windows import Extents, Windowings, window_loops
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.problem.link_costs import ports, segment_of
from tilewright.mapping.fused.connections.segments import Access, Segment, SharedTensor, Tie
from tilewright.model.energy import element_bits, read_cost, word_ratio, write_cost
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor

Shape = tuple[int, ...]
"""Extent of each shared dimension."""


@dataclass(frozen=True)
class SharedDimension:
    """Dimensions of all layers of a segment that run along the same words.

    Attributes
    ----------
    bound : int
        Steps that all layers can take together.
    names : tuple of str
        The dimension of each layer.
    scale : tuple of int
        Iterations of each of them in a step.
    """

    bound: int
    names: tuple[str, ...]
    scale: tuple[int, ...]


@dataclass(frozen=True)
class Tile:
    """A tensor of a segment as shared loops see it.

    Attributes
    ----------
    name : str
        That of the segment's tensor.
    uses : tuple of (int, int)
        Positions of the layers that access it, and of the tensor in each of them.
    made : bool
        Whether the first of them makes it.
    intermediate : bool
        Whether it stays on chip.
    relevant : tuple of bool
        Which shared dimensions are relevant to it.
    memories : tuple of int
        Positions of the memories that may hold it above the branches.
    source : int
        That of the memory which it comes from, or goes to: the outermost one, unless loops around
        hold it.
    """

    name: str
    uses: tuple[tuple[int, int], ...]
    made: bool
    intermediate: bool
    relevant: tuple[bool, ...]
    memories: tuple[int, ...]
    source: int = 0


class SegmentProblem:
    """The space of fused mappings of a segment on a machine.

    Every shared dimension runs through all layers, so that a layer does nothing twice but halos.

    Attributes
    ----------
    shared : tuple of SharedDimension
    windows : Windowings
        Loops over dimensions with windows.
    tiles : tuple of Tile
        The intermediate tensors and those that shared loops may hold.
    around : Around or None
        For a group of layers below shared loops of others, what these leave to it.
    """

    def __init__(
        self, segment: Segment, architecture: Architecture, around: Around | None = None
    ) -> None:
        self.segment = segment
        self.around = around
        self._sources = dict(around.sources) if around else {}
        self.architecture = architecture
        self.layers = segment.layers
        # constraints on what memories store name the tensors of each layer
        self.machines = tuple(narrowed(architecture, layer) for layer in self.layers)
        self.position = {layer.name: i for i, layer in enumerate(self.layers)}
        self.shared = tuple(shared_dimensions(segment))
        self.bounds: Shape = tuple(d.bound for d in self.shared)
        arrays_above = segment_of(architecture)
        self.holders = [
            m
            for m, memory in enumerate(architecture.memories)
            if m > 0 and arrays_above[m] == 0 and memory.tensor_bits is None
        ]
        self.ports = ports(architecture)
        taken = {
            (layer.name, name)
            for d in self.shared
            for layer, name in zip(self.layers, d.names, strict=True)
        }
        loops = () if around else tuple(window_loops(segment, taken))
        self.windows = Windowings(segment, architecture, loops)
        self._words: dict[tuple[tuple[int, int], Shape], int] = {}
        self.tiles = tuple(self.tile_of(tensor) for tensor in segment.tensors)
        self.tile_at = {use: i for i, tile in enumerate(self.tiles) for use in tile.uses}

    def __reduce__(self) -> tuple[object, ...]:
        """Return what another process makes the same from."""
        return SegmentProblem, (self.segment, self.architecture, self.around)

    @cached_property
    def intermediates(self) -> tuple[int, ...]:
        """Positions of the tiles that stay on chip."""
        return tuple(i for i, tile in enumerate(self.tiles) if tile.intermediate)

    @cached_property
    def external(self) -> tuple[int, ...]:
        """Positions of the tiles that come from outside or go there."""
        return tuple(i for i, tile in enumerate(self.tiles) if not tile.intermediate)

    @property
    def possible(self) -> bool:
        """Whether layers can be fused: each intermediate has a place."""
        inside = all(
            t.intermediate or t.producer is None or not t.readers for t in self.segment.tensors
        )
        return (
            bool(self.intermediates)
            and inside
            and all(self.tiles[i].memories for i in self.intermediates)
        )

    def places(self, private: frozenset[int] = frozenset()) -> Iterator[dict[int, int]]:
        """Yield every way to give each intermediate tile a memory, but for those of groups."""
        own = [i for i in self.intermediates if i not in private]
        for choice in product(*(self.tiles[i].memories for i in own)):
            yield dict(zip(own, choice, strict=True))

    def tile_of(self, tensor: SharedTensor) -> Tile:
        """Return a tensor as shared loops see it."""
        uses = tuple(self.use(access) for access in tensor.accesses)
        patterns = {self.pattern(use) for use in uses}
        sliding = any(self.slides(use) for use in uses)
        source = self._sources.get(tensor.name, 0)
        memories = [
            m
            for m in self.holders
            if m > source and all(self.may_hold(m, use, source) for use in uses)
        ]
        if not tensor.intermediate and (len(patterns) > 1 or sliding):
            memories = []
        return Tile(
            name=tensor.name,
            uses=uses,
            made=tensor.producer is not None,
            intermediate=tensor.intermediate,
            relevant=tuple(
                any(own) for own in zip(*(self.relevance(u) for u in uses), strict=True)
            ),
            memories=tuple(memories),
            source=source,
        )

    def use(self, access: Access) -> tuple[int, int]:
        """Return the positions of a layer and of one of its tensors."""
        i = self.position[access.layer]
        names = [tensor.name for tensor in self.layers[i].tensors]
        return i, names.index(access.tensor)

    def tensor(self, use: tuple[int, int]) -> Tensor:
        """Return the tensor of a layer at these positions."""
        return self.layers[use[0]].tensors[use[1]]

    def relevance(self, use: tuple[int, int]) -> tuple[bool, ...]:
        """Return which shared dimensions are relevant to a tensor of a layer."""
        own = self.tensor(use).dimensions
        return tuple(dimension.names[use[0]] in own for dimension in self.shared)

    def pattern(self, use: tuple[int, int]) -> tuple[object, ...]:
        """Return along which axes of a tensor shared dimensions run, and how wide it is."""
        layer, tensor = self.layers[use[0]], self.tensor(use)
        of_name = {d.names[use[0]]: i for i, d in enumerate(self.shared)}
        return tensor.bits, tuple(
            tuple(
                (term.coefficient, of_name.get(term.dimension), layer.bounds[term.dimension])
                for term in terms
                if layer.bounds[term.dimension] > 1
            )
            for terms in tensor.expressions
        )

    def slides(self, use: tuple[int, int]) -> bool:
        """Whether tiles of a tensor overlap along a shared dimension."""
        layer = self.layers[use[0]]
        own = {d.names[use[0]] for d in self.shared}
        return any(
            sum(layer.bounds[t.dimension] > 1 for t in terms) > 1
            and any(t.dimension in own for t in terms)
            for terms in self.tensor(use).expressions
        )

    def may_hold(self, m: int, use: tuple[int, int], source: int) -> bool:
        """Whether a memory may hold a tensor for its branches, passing those further out."""
        role = self.tensor(use).role
        memories = self.machines[use[0]].memories
        return memories[m].may_store(role) and not any(
            role in memory.must_keep for memory in memories[source + 1 : m]
        )

    def further(self, use: tuple[int, int], source: int) -> tuple[int, ...]:
        """Return the memories that may hold a tensor for a branch, inside of where it comes from.

        They may be more than those that hold it for all branches: a memory between has kept it.
        """
        inside = (m for m in self.holders if m > source)
        return tuple(m for m in inside if self.may_hold(m, use, source))

    def chunk(self, i: int, shape: Shape, extents: Extents = ()) -> Layer:
        """Return what a layer computes in one iteration of shared loops.

        With `extents`, those of dimensions with windows.
        """
        own = {d.names[i]: n * d.scale[i] for d, n in zip(self.shared, shape, strict=True)}
        own.update(extents)
        return replace(self.layers[i], bounds={**self.layers[i].bounds, **own})

    def words(self, tile: int, shape: Shape, use: tuple[int, int] | None = None) -> int:
        """Return the words of a tile, as the first layer that accesses it sees it, or another."""
        key = use or self.tiles[tile].uses[0], shape
        if key not in self._words:
            (i, _), _ = key
            self._words[key] = footprint(self.tensor(key[0]), self.chunk(i, shape).bounds)
        return self._words[key]

    def bits(self, tile: int, shape: Shape, memory: int) -> int:
        """Return what a tile takes of a memory."""
        holder: Memory = self.architecture.memories[memory]
        width = max(element_bits(holder, self.tensor(use)) for use in self.tiles[tile].uses)
        return self.words(tile, shape) * width * holder.buffering

    def iterations(self, shape: Shape) -> int:
        """Return how often all branches run."""
        return prod(b // n for b, n in zip(self.bounds, shape, strict=True))

    def held_moves(self, tile: int, memory: int, moved: float) -> list[tuple[int, float, float]]:
        """Return (memory, words read, words written) of an external tile that is held.

        Parameters
        ----------
        moved : float
            Words that enter the memory over all iterations, for an output those that begin a tile.
        """
        source = self.tiles[tile].source
        i, t = self.tiles[tile].uses[0]
        if not self.tensor((i, t)).is_output:
            return [(source, moved, 0.0), (memory, 0.0, moved)]
        again = moved - self.fresh(i) * self.words(tile, self.bounds)
        return [(source, again, moved), (memory, moved, again)]

    def fresh(self, i: int) -> float:
        """Return which share of a layer's output starts from zero when loops around begin."""
        return self.around.fresh[i] if self.around else 1.0

    def held_energy(self, tile: int, memory: int, moved: float) -> float:
        """Return the pJ of what `held_moves` says."""
        tensor = self.tensor(self.tiles[tile].uses[0])
        memories = self.architecture.memories
        return sum(
            reads * read_cost(memories[m], tensor) + writes * write_cost(memories[m], tensor)
            for m, reads, writes in self.held_moves(tile, memory, moved)
        )

    def held_loads(self, tile: int, memory: int, moved: float) -> list[float]:
        """Return the cycles of each bandwidth-limited port for the same words."""
        tensor = self.tensor(self.tiles[tile].uses[0])
        return self.loads(tensor, self.held_moves(tile, memory, moved))

    def loads(self, tensor: Tensor, moves: Iterable[tuple[int, float, float]]) -> list[float]:
        """Return the cycles of each bandwidth-limited port for (memory, words read, written)."""
        memories = self.architecture.memories
        loads = [0.0] * len(self.ports)
        for m, reads, writes in moves:
            for r, (_, level, direction, rate, _) in enumerate(self.ports):
                if level is memories[m]:
                    words = reads * (direction != "write") + writes * (direction != "read")
                    loads[r] += words * word_ratio(memories[m], tensor) / rate
        return loads


def shared_dimensions(segment: Segment) -> Iterator[SharedDimension]:
    """Yield the dimensions that run through all layers and all exchanged tensors of a segment."""
    group: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for exchange in segment.exchanges:
        for tie in exchange.ties:
            if not aligned(tie):
                continue
            one, other = (exchange.producer.layer, tie.made), (exchange.reader.layer, tie.read)
            joined = group.get(one, {one}) | group.get(other, {other})
            for member in joined:
                group[member] = joined
    seen: list[set[tuple[str, str]]] = []
    for members in group.values():
        if members in seen:
            continue
        seen.append(members)
        names = dict(members)
        if len(names) == len(members) == len(segment.layers) and keeps_step(segment, names):
            bounds = [layer.bounds[names[layer.name]] for layer in segment.layers]
            bound = gcd(*bounds)
            if bound > 1:
                yield SharedDimension(
                    bound,
                    tuple(names[layer.name] for layer in segment.layers),
                    tuple(n // bound for n in bounds),
                )


def aligned(tie: Tie) -> bool:
    """Whether iterations of the reader need words that no others need, from the first one on."""
    return tie.offset == 0 and tie.span == tie.step


def keeps_step(segment: Segment, names: dict[str, str]) -> bool:
    """Whether chunks of dimensions, one of each layer, make and need the same words everywhere."""
    for e in segment.exchanges:
        made, read = names[e.producer.layer], names[e.reader.layer]
        tie = next((t for t in e.ties if (t.made, t.read) == (made, read)), None)
        if tie is None or not aligned(tie):
            return False
        words = segment.layer_of[e.producer.layer].bounds[made] * tie.made_step
        if words != segment.layer_of[e.reader.layer].bounds[read] * tie.step:
            return False
    # those that nobody reads set the pace together
    last = [
        la.name
        for la in segment.layers
        if all(e.producer.layer != la.name for e in segment.exchanges)
    ]
    return len({segment.layer_of[name].bounds[names[name]] for name in last}) == 1


def alike(segment: Segment) -> tuple[object, ...]:
    """Return what two segments have in common when one fused mapping is the best of both."""
    position = {layer.name: i for i, layer in enumerate(segment.layers)}
    return (
        tuple(likeness(layer) for layer in segment.layers),
        tuple(
            (position[e.producer.layer], position[e.reader.layer], e.reader.tensor, e.ties)
            for e in segment.exchanges
        ),
        tuple(
            (tensor.intermediate, tuple((position[a.layer], a.tensor) for a in tensor.accesses))
            for tensor in segment.tensors
        ),
    )
