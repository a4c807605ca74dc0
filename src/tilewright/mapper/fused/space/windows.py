"""Shared loops over rows and columns: dimensions along which a layer reads through a window.

Neighbouring tiles of what a layer makes overlap there, and become a halo: retained, recomputed or
refetched. The turns of a layer then differ: the first one makes the halo, too, and the last one
less. These loops stand below all other shared loops, in any order.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, MappingError
from tilewright.fusion.count import store_counts, store_moves
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapping.fused.connections.loop_classes import LoopClass, loop_class
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.counts import Moved
from tilewright.mapping.fused.scopes import Resolved, SharedLoop, SharedStore, resolve_fused
from tilewright.mapping.fused.tree import (
    RECOMPUTE,
    REFETCH,
    RETAIN,
    Branch,
    Fuse,
    FusedMapping,
    Halo,
    TreeNode,
)
from tilewright.mapping.fused.turns import steps
from tilewright.mapping.nodes import For, Store

MOST_MIXED = 2
"""Tensors with windows that have modes of their own; more have the same ones."""

Profile = tuple[tuple[int, int], ...]
"""Extents that the turns of a layer have of one dimension, and how often."""

Extents = tuple[tuple[str, int], ...]


@dataclass(frozen=True, eq=False)
class WindowLoop:
    """A loop over a dimension with windows that all layers of a segment can share.

    Attributes
    ----------
    name : str
        As trees name it: a dimension of the layer that reads last.
    bound : int
        Iterations of that layer.
    cuts : LoopClass
        The dimensions that it cuts.
    """

    name: str
    bound: int
    cuts: LoopClass


def window_loops(segment: Segment, taken: set[tuple[str, str]]) -> Iterator[WindowLoop]:
    """Yield the dimensions that all layers share, but not step by step.

    Parameters
    ----------
    taken : set of (layer, dimension)
        Those along which all layers run in step.
    """
    names = tuple(layer.name for layer in segment.layers)
    last = segment.layers[-1]
    cut = set(taken)
    for d, bound in last.bounds.items():
        if bound == 1 or (last.name, d) in taken:
            continue
        try:
            loop = WindowLoop(
                f"{last.name}.{d}", bound, loop_class(segment, names, f"{last.name}.{d}")
            )
            steps([shared(loop, 1, frozenset())], segment)
        except (MappingError, InputError):
            continue
        dims = set(loop.cuts.dims.items())
        if all(
            loop.cuts.dims[layer.name] in layer.output.dimensions
            and not any(
                len({t.dimension for t in terms if (layer.name, t.dimension) in cut | dims}) > 1
                for tensor in layer.tensors
                for terms in tensor.expressions
            )
            for layer in segment.layers
        ):
            cut |= dims
            yield loop


def shared(loop: WindowLoop, tile: int, anew: frozenset[str], number: int = 0) -> SharedLoop:
    """Return a shared loop of some tile size."""
    return SharedLoop(number, tile, loop.cuts, anew, "")


@dataclass(frozen=True)
class Windowing:
    """Tile sizes of loops with windows, and what becomes of halos.

    Attributes
    ----------
    tiles : tuple of int
        Of each loop; its bound where it is left out.
    halos : tuple of Halo
    refetched : tuple of str
        Tensors that the outermost memory holds as a whole.
    profiles : tuple
        By loop and layer the extents of turns.
    """

    tiles: tuple[int, ...]
    halos: tuple[Halo, ...]
    refetched: tuple[str, ...]
    profiles: tuple[tuple[Profile, ...], ...]


KeptWords = dict[str, tuple[int, int]]
"""Of each intermediate tensor, as a whole along all other shared dimensions: words that are held
while a layer uses it, and otherwise."""


class Windowings:
    """All ways to share the loops with windows of a segment."""

    def __init__(
        self, segment: Segment, architecture: Architecture, loops: Sequence[WindowLoop]
    ) -> None:
        self.segment = segment
        self.loops = tuple(loops)
        self.names = [layer.name for layer in segment.layers]
        outermost = architecture.memories[0]
        self.refetching = outermost.capacity_bits is None and all(
            outermost.may_store(tensor.role) for layer in segment.layers for tensor in layer.tensors
        )
        self.kept = cache(self._kept)
        self.moves = cache(self._moves)
        self.profiles = cache(self._profiles)

    def every(self) -> Iterator[Windowing]:
        """Yield them all; those that only differ in modes without effect once."""
        choices = [divisors(loop.bound)[::-1] for loop in self.loops]
        for tiles in itertools.product(*choices):
            if any(n < loop.bound for n, loop in zip(tiles, self.loops, strict=True)):
                yield from self.of_tiles(tiles)

    def smallest(self) -> Iterator[Windowing]:
        """Yield those with the smallest tiles."""
        if self.loops:
            yield from self.of_tiles((1,) * len(self.loops))

    def of_tiles(self, tiles: tuple[int, ...]) -> Iterator[Windowing]:
        """Yield those of some tile sizes."""
        seen: set[object] = set()
        for halos, refetched in self.modes(tiles):
            own = tuple(self.profiles(k, n, self.anew(k, halos)) for k, n in enumerate(tiles))
            recomputes = any(halo.mode == RECOMPUTE for halo in halos)
            if (own, refetched) in seen and recomputes:
                continue  # nothing is made again
            seen.add((own, refetched))
            yield Windowing(tiles, halos, refetched, own)

    def modes(self, tiles: Sequence[int]) -> Iterator[tuple[tuple[Halo, ...], tuple[str, ...]]]:
        """Yield halos of tensors whose tiles overlap, and which of these are refetched."""
        own = [k for k, n in enumerate(tiles) if n < self.loops[k].bound]
        wide = {
            (e.tensor, e.producer.layer): [
                self.loops[k].cuts.dims[e.producer.layer] for k in own if self.overlaps(k, e.tensor)
            ]
            for e in self.segment.exchanges
        }
        tensors = [(tensor, dims) for (tensor, _), dims in wide.items() if dims]
        if len(tensors) > MOST_MIXED:
            layer = {e.tensor: e.producer.layer for e in self.segment.exchanges}
            for modes in itertools.product((RETAIN, RECOMPUTE), repeat=len(own)):
                mode_of = dict(zip(own, modes, strict=True))
                yield (
                    tuple(
                        Halo(tensor, self.loops[k].cuts.dims[layer[tensor]], mode_of[k])
                        for tensor, _ in tensors
                        for k in own
                        if mode_of[k] != RETAIN and self.overlaps(k, tensor)
                    ),
                    (),
                )
            return
        options = []
        for _, dims in tensors:
            ways = list(itertools.product((RETAIN, RECOMPUTE), repeat=len(dims)))
            options.append([*ways, *([(REFETCH,) * len(dims)] if self.refetching else [])])
        for chosen in itertools.product(*options):
            halos = tuple(
                Halo(tensor, d, mode)
                for (tensor, dims), modes in zip(tensors, chosen, strict=True)
                for d, mode in zip(dims, modes, strict=True)
                if mode != RETAIN
            )
            yield halos, tuple(dict.fromkeys(h.tensor for h in halos if h.mode == REFETCH))

    def overlaps(self, k: int, tensor: str) -> bool:
        """Return whether neighbouring tiles of a tensor may share words along a loop."""
        dims = self.loops[k].cuts.dims
        for e in self.segment.exchanges:
            if e.tensor != tensor:
                continue
            pair = dims[e.producer.layer], dims[e.reader.layer]
            tie = next(t for t in e.ties if (t.made, t.read) == pair)
            if tie.span != tie.step or tie.offset % tie.made_step or tie.step % tie.made_step:
                return True
            made = next((o.tensor for o in self.segment.exchanges
                         if o.producer.layer == e.reader.layer), None)  # fmt: skip
            if made is not None and self.overlaps(k, made):
                return True
        readers = [e for e in self.segment.exchanges if e.tensor == tensor]
        return len(readers) > 1

    def anew(self, k: int, halos: Sequence[Halo]) -> frozenset[str]:
        """Return the layers that make again what neighbouring chunks of a loop share."""
        dims = self.loops[k].cuts.dims
        made = {e.tensor: e.producer.layer for e in self.segment.exchanges}
        return frozenset(
            made[h.tensor]
            for h in halos
            if h.mode == RECOMPUTE and dims[made[h.tensor]] == h.dimension
        )

    def _profiles(self, k: int, tile: int, anew: frozenset[str]) -> tuple[Profile, ...]:
        loop = self.loops[k]
        if tile == loop.bound:
            return tuple(
                ((layer.bounds[loop.cuts.dims[layer.name]], 1),) for layer in self.segment.layers
            )
        every = steps([shared(loop, tile, anew)], self.segment)
        return tuple(
            tuple(
                sorted(
                    Counter(
                        end - first
                        for first, end in (step.spans[name] for step in every)
                        if first < end
                    ).items(),
                    key=lambda own: (-own[1], -own[0]),
                )
            )
            for name in self.names
        )

    def orders(self, windowing: Windowing) -> Iterator[tuple[int, ...]]:
        """Yield the loops that cut something in every order, the outermost first."""
        own = [k for k, loop in enumerate(self.loops) if windowing.tiles[k] < loop.bound]
        yield from itertools.permutations(own)

    def turns(self, windowing: Windowing, i: int) -> list[tuple[int, Extents]]:
        """Return how often layer i has a turn of some extents, the most frequent first."""
        names = [loop.cuts.dims[self.names[i]] for loop in self.loops]
        found = []
        for chosen in itertools.product(*(own[i] for own in windowing.profiles)):
            extents = tuple((d, n) for d, (n, _) in zip(names, chosen, strict=True))
            found.append((prod(times for _, times in chosen), extents))
        return sorted(found, key=lambda own: -own[0])

    def loop_nodes(self, windowing: Windowing, order: Sequence[int]) -> list[TreeNode]:
        """Return the loops of a tree."""
        return [For(self.loops[k].name, windowing.tiles[k]) for k in order]

    def _kept(self, windowing: Windowing, order: tuple[int, ...]) -> KeptWords:
        found = {}
        resolved, own = self._held(windowing, order)
        for store in own:
            counts = store_counts(store, resolved)
            found[store.tensor] = counts.peak, counts.carried
        return found

    def _moves(self, windowing: Windowing, order: tuple[int, ...]) -> tuple[Moved, ...]:
        """Return what moves of tensors that are refetched.

        Between the outermost memory, named ``above``, and their own, ``here``.
        """
        if not windowing.refetched:
            return ()
        resolved, own = self._held(windowing, order)
        return tuple(move for store in own for move in store_moves(store, resolved))

    def _held(
        self, windowing: Windowing, order: tuple[int, ...]
    ) -> tuple[Resolved, list[SharedStore]]:
        """Return a tree of these loops, and what holds intermediate tensors below them."""
        inside = tuple(tensor.name for tensor in self.segment.intermediates)
        outside = tuple(t.name for t in self.segment.tensors if t.name not in inside)
        top: list[TreeNode] = [Store("above", (*outside, *windowing.refetched))]
        loops = self.loop_nodes(windowing, order)
        branches = Fuse(tuple(Branch(name) for name in self.names))
        tree = FusedMapping((*top, *loops, Store("here", inside), branches), windowing.halos)
        resolved = resolve_fused(tree, self.segment)
        return resolved, [store for store in resolved.stores if store.memory == "here"]
