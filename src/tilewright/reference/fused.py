"""The counts of a fused mapping by brute force: the tree is carried out, turn by turn.

This is the definition of what fused mappings count. A turn of a layer is the simulation of that
layer on the box that is its turn; what is added here are the shared stores: explicit sets of the
words that they hold, and of those that move between two of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Dict
from dataclasses import dataclass, field
from functools import cache

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.errors import InputError
from tilewright.mapping.fused.connections.segments import Exchange, Segment
from tilewright.mapping.fused.counts import (
    FusedCounts,
    Moved,
    PipelineCycles,
    StoreCounts,
    summed,
    with_moves,
)
from tilewright.mapping.fused.scopes import Leaf, Resolved, SharedLoop, SharedStore, resolve_fused
from tilewright.mapping.fused.tree import REFETCH, FusedMapping
from tilewright.mapping.fused.turn_layers import turn_layer, turn_mapping
from tilewright.mapping.fused.turns import Span, cut, most_chunks
from tilewright.mapping.fused.validity import split_among
from tilewright.mapping.structure import resolve
from tilewright.reference.fused_slots import Log, most_tiles, pipeline_cycles
from tilewright.reference.fused_words import Boxes, SegmentWords, Word, Words, alive, footprint
from tilewright.reference.simulate import LIMIT, Simulation

# index of each shared loop above
At = tuple[int, ...]


def simulate_fused(
    segment: Segment, architecture: Architecture, mapping: FusedMapping
) -> FusedCounts:
    """Count what a fused mapping causes by carrying it out.

    Parameters
    ----------
    segment : Segment
        At most 2 million operations.
    architecture : Architecture
        The machine.
    mapping : FusedMapping
        A valid mapping; it is not checked here.

    Raises
    ------
    InputError
        When the segment has too many operations.
    """
    operations = sum(layer.operations for layer in segment.layers)
    if operations > LIMIT:
        raise InputError(
            f"the layers have {operations} operations and each of them would be carried out: "
            f"the simulation accepts at most {LIMIT}; 'evaluate' computes the same counts in "
            "closed form"
        )
    run = FusedSimulation(segment, architecture, resolve_fused(mapping, segment))
    return run.counts()


@dataclass
class Held:
    """What a shared store has gone through.

    Attributes
    ----------
    at : tuple of int or None
        The step of its last tile; None before the first one.
    tile : frozenset of words
        That tile.
    moves : list of Moved
        What has moved to and from it.
    events : list of (needed, made)
        Of an intermediate, at each step: the tile, and the words that are made in it.
    peak : int
        Most words that it held at once.
    """

    at: At | None = None
    tile: Words = frozenset()
    moves: list[Moved] = field(default_factory=list)
    events: list[tuple[Words, Words]] = field(default_factory=list)
    peak: int = 0


class FusedSimulation:
    """A fused mapping that is carried out."""

    def __init__(self, segment: Segment, architecture: Architecture, resolved: Resolved) -> None:
        self.segment = segment
        self.words = SegmentWords(segment)
        self.architecture = architecture
        self.resolved = resolved
        self.held = {store: Held() for store in resolved.stores}
        # of intermediates that are refetched: all that is made and needed in a step
        self.tiles = {store: Held() for store in resolved.stores}
        self.turns: dict[str, list[Counts]] = defaultdict(list)
        # words of each tensor made inside that are complete, in the producer's indices
        self.made: dict[str, set[Word]] = defaultdict(set)
        self.at: At = ()  # the step of the layer that has its turn
        self.happened = Log()
        self.turn_counts = cache(self._turn_counts)

    def counts(self) -> FusedCounts:
        """Carry out the whole tree and return its counts."""
        layers = self.segment.layers
        whole = {layer.name: {d: (0, n) for d, n in layer.bounds.items()} for layer in layers}
        self.run("mapping", 0, whole, ())
        stores = []
        moves: dict[str, list[Moved]] = defaultdict(list)
        for store, held in self.held.items():
            peak, carried = held.peak, held.peak
            if held.events:
                peak, carried = alive(held.events, keeps=not self.refetches(store))
            tiles = self.tiles_at_once(store)
            stores.append(StoreCounts(store.memory, store.tensor, peak, carried, tiles))
            for access in self.segment.tensor_of[store.tensor].accesses:
                if access.layer in store.below:
                    here = Moved(access.layer, access.tensor, store.memory, peak=peak)
                    moves[access.layer].append(here)
            for move in held.moves:
                moves[move.layer].append(move)
        found = {}
        for leaf in self.resolved.leaves:
            total = summed((1, counts) for counts in self.turns[leaf.layer])
            assert total is not None
            found[leaf.layer] = with_moves(total, moves[leaf.layer])
        return FusedCounts(found, tuple(stores), tuple(self.pipelines()))

    def pipelines(self) -> Iterator[PipelineCycles]:
        """Yield the cycles of layers that run at the same time."""
        for pipe in self.resolved.pipelines:
            split = split_among(pipe, self.resolved, self.architecture)
            yield pipeline_cycles(pipe, split, self.segment, self.architecture, self.happened)

    def tiles_at_once(self, store: SharedStore) -> int:
        """Return how many tiles of a store are under way at once."""
        most = 1
        accesses = self.segment.tensor_of[store.tensor].accesses
        for pipe in self.resolved.pipelines:
            layers = (a.layer for a in accesses if a.layer in store.below)
            stages = [pipe.stage[layer] for layer in layers if layer in pipe.stage]
            if stages:
                visited, steps = self.happened.visited[pipe.node], max(stages) - min(stages) + 1
                most = max(most, most_tiles(visited, len(store.loops), pipe.entered, steps))
        return most

    def run(self, path: str, number: int, boxes: Boxes, at: At) -> None:
        """Carry out what stands from a node of a list inward."""
        here = f"{path}[{number}]"
        loops = [loop for loop in self.resolved.loops if loop.node == here]
        stores = [store for store in self.resolved.stores if store.node == here]
        if loops:
            self.loop(loops[0], path, number, boxes, at)
        elif stores:
            for store in stores:
                before = len(self.held[store].moves)
                self.arrive(store, boxes, at)
                for move in self.held[store].moves[before:]:
                    self.happened.moves[move.layer, at].append(move)
            self.run(path, number + 1, boxes, at)
        else:
            self.happened.visited[here].append(at)
            self.branches(f"{here}.fuse", boxes, at)

    def loop(self, loop: SharedLoop, path: str, number: int, boxes: Boxes, at: At) -> None:
        """Carry out the chunks of a loop."""
        dims = loop.cuts.dims
        state = {layer: boxes[layer][d] for layer, d in dims.items()}
        for i, spans in enumerate(cut(loop, state)):
            inner = {**boxes}
            for layer, span in spans.items():
                inner[layer] = {**boxes[layer], dims[layer]: span}
            self.run(path, number + 1, inner, (*at, i))

    def branches(self, path: str, boxes: Boxes, at: At) -> None:
        """Let each branch have its turn."""
        for i in range(len(self.resolved.leaves)):
            here = f"{path}[{i}]"
            leaf = next((leaf for leaf in self.resolved.leaves if leaf.node == here), None)
            if leaf is not None:
                self.at = at
                self.turn(leaf, boxes[leaf.layer])
            elif any(leaf.node.startswith(f"{here}[") for leaf in self.resolved.leaves):
                for store in self.resolved.stores:
                    if store.node.startswith(f"{here}["):
                        # what it held is gone: other branches have had their turn
                        self.held[store].at = self.tiles[store].at = None
                self.run(here, 0, boxes, at)

    # turns

    def turn(self, leaf: Leaf, box: Dict[str, Span]) -> None:
        """Carry out a layer on its box, if there is anything in it."""
        layer = self.segment.layer_of[leaf.layer]
        extents = {d: end - first for d, (first, end) in box.items()}
        if not all(extents.values()):
            return
        for exchange in self.segment.exchanges:
            if exchange.reader.layer == leaf.layer:
                missing = self.words.read(exchange, box) - self.made[exchange.tensor]
                assert not missing, f"{leaf.layer} reads {exchange.tensor} before it is made"
        reduced = [d for d in layer.bounds if d not in layer.output.dimensions]
        fresh = all(box[d][0] == 0 for d in reduced)
        counts = self.turn_counts(leaf, tuple(extents.items()), fresh)
        self.turns[leaf.layer].append(counts)
        self.happened.turns[leaf.layer, self.at] = counts
        if all(box[d][1] == layer.bounds[d] for d in reduced):
            name = self.segment.shared_name_of_output(layer.name)
            self.made[name] |= footprint(layer.output, box)

    def _turn_counts(self, leaf: Leaf, extents: tuple[tuple[str, int], ...], fresh: bool) -> Counts:
        box = dict(extents)
        layer = turn_layer(self.segment.layer_of[leaf.layer], box)
        mapping = turn_mapping(leaf, box, self.architecture)
        structure = resolve(mapping, layer, self.architecture)
        return Simulation(layer, self.architecture, structure, fresh=fresh).counts()

    # shared stores

    def arrive(self, store: SharedStore, boxes: Boxes, at: At) -> None:
        """Give a shared store its next tile."""
        tensor = self.segment.tensor_of[store.tensor]
        if tensor.producer is not None and tensor.producer.layer in store.below:
            self.arrive_made(store, boxes, at)
            return
        readers = [access for access in tensor.readers if access.layer in store.below]
        words = frozenset().union(
            *(footprint(self.words.local(a.layer, a.tensor), boxes[a.layer]) for a in readers)
        )
        held = self.held[store]
        if not words:
            return
        moved = self.entering(store, words, at, readers[0].layer)
        held.peak = max(held.peak, len(words))
        held.at, held.tile = at, words
        if store.parent is not None:
            layer, name = readers[0].layer, readers[0].tensor
            held.moves.append(Moved(layer, name, store.parent.memory, reads=len(moved)))
            held.moves.append(Moved(layer, name, store.memory, writes=len(moved)))

    def arrive_made(self, store: SharedStore, boxes: Boxes, at: At) -> None:
        """Give a shared store its next tile of a tensor that is made below it."""
        tensor = self.segment.tensor_of[store.tensor]
        producer = tensor.producer
        assert producer is not None
        layer = self.segment.layer_of[producer.layer]
        box, held = boxes[layer.name], self.held[store]
        own = footprint(layer.output, box)
        readers = [
            e
            for e in self.resolved.exchanges_of.get(tensor.name, ())
            if e.reader.layer in store.below
        ]
        if readers and self.refetches(store):
            self.refetch(store, readers, boxes, own, at)
        if own:
            moved = self.entering(store, own, at, layer.name)
            held.peak = max(held.peak, len(own))
            held.at, held.tile = at, own
            if store.parent is not None:
                reduced = [d for d in layer.bounds if d not in layer.output.dimensions]
                fresh = all(box[d][0] == 0 for d in reduced)
                back = 0 if fresh else len(moved)
                self.drain(store, producer.tensor, layer.name, len(moved), back)
        if readers:
            held.events.append((self.words.tile(readers, boxes, own), own))

    def drain(self, store: SharedStore, name: str, layer: str, words: int, back: int) -> None:
        """Enter words that leave for the store above, of which some came from there."""
        assert store.parent is not None
        moves = self.held[store].moves
        moves.append(Moved(layer, name, store.parent.memory, reads=back, writes=words))
        moves.append(Moved(layer, name, store.memory, reads=words, writes=back))

    def refetch(
        self,
        store: SharedStore,
        readers: Sequence[Exchange],
        boxes: Boxes,
        own: Words,
        at: At,
    ) -> None:
        """Read back from the store above what enters a tile and is not made in it."""
        tile = self.words.tile(readers, boxes, own)
        held = self.tiles[store]
        if not tile:
            return
        back = self.entering(store, tile, at, readers[0].producer.layer, held) - own
        held.at, held.tile = at, tile
        assert store.parent is not None
        missing = back - self.made[store.tensor]
        assert not missing, f"{store.tensor} is read back before it is made"
        access = readers[0].reader
        moves = self.held[store].moves
        words = len(back)
        moves.append(Moved(access.layer, access.tensor, store.parent.memory, reads=words))
        moves.append(Moved(access.layer, access.tensor, store.memory, writes=words))

    def refetches(self, store: SharedStore) -> bool:
        """Return whether a store reads shared words back from the one above."""
        if store.parent is None:
            return False
        modes = self.resolved.modes.items()
        return any(tensor == store.tensor and mode == REFETCH for (tensor, _), mode in modes)

    def entering(
        self, store: SharedStore, words: Words, at: At, layer: str, held: Held | None = None
    ) -> Words:
        """Return the words of a new tile that the reuse rule moves, given the one before."""
        held = self.held[store] if held is None else held
        if held.at is None:
            return words
        if words == held.tile:
            return frozenset()
        advanced = next(i for i, (a, b) in enumerate(zip(at, held.at, strict=True)) if a != b)
        slides = advanced in self.run_of(store, layer)
        return words - held.tile if slides else words

    def run_of(self, store: SharedStore, layer: str) -> set[int]:
        """Return the positions of the loops above a store along which its tile slides."""
        access = next(a for a in self.segment.tensor_of[store.tensor].accesses if a.layer == layer)
        relevant = self.words.local(layer, access.tensor).dimensions
        run: set[int] = set()
        slides: str | None = None
        for position in reversed(range(len(store.loops))):
            loop = store.loops[position]
            dimension = loop.cuts.dims[layer]
            chunks = most_chunks(loop, store.loops[:position], self.segment)
            if dimension not in relevant or chunks == 1:
                continue
            if slides not in (None, dimension):
                break
            slides = dimension
            run.add(position)
        return run
