"""All fused mappings of a small segment, made one by one, and what the cheapest of them costs.

Nothing here is shared with the search. Shared loops come in every order and number, every tensor
stands at every place among them, exchanged tensors included, and in branches everything goes. The
counts of branches are those of the simulation. What a layer costs depends on the shared nodes and
on its own branch, not on those of others, so the cheapest branch of each is looked for by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from math import inf, prod
from random import Random

from tilewright.architecture.machine import Architecture
from tilewright.counts import Counts
from tilewright.errors import MappingError
from tilewright.fusion.count import count_fused
from tilewright.fusion.evaluation import evaluate
from tilewright.fusion.result import FusedEvaluation
from tilewright.mapping.fused import Branch, Fuse, FusedMapping, Segment
from tilewright.mapping.fused.scopes import resolve_fused
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.structure import resolve
from tilewright.model.energy import access_energy, network_energy, operation_cost
from tilewright.reference.simulate import Simulation
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer

Extents = dict[str, int]
Nodes = tuple[Node, ...]


class TooManyError(Exception):
    """There are too many branches to look at each of them."""


class Trees:
    """All fused mappings of a segment with one fuse node.

    A turn of a layer costs what the simulation of its box costs, by definition, so branches are
    carried out once for each box and for each way in which their tensors come.
    """

    def __init__(self, found: Segment, machine: Architecture, most: int) -> None:
        self.segment = found
        self.machine = machine
        self.most = self.left = most
        self.turns: dict[object, list[tuple[float, float, dict[str, int]]]] = {}

    def cheapest(self, shared: list[str]) -> float:
        """Return the least energy in pJ.

        Parameters
        ----------
        shared : list of str
            Names of the dimensions, the same in all layers, that loops may share.
        """
        best = inf
        for count, nodes in enumerate(every_prefix(self.segment, self.machine, shared)):
            if count > 8 * self.most:
                raise TooManyError
            extents, bits, sources = state_of(nodes, self.segment, self.machine)
            if any(
                n > (m.capacity_bits or inf)
                for own in bits.values()
                for m in self.machine.memories
                for n in [own.get(m.name, 0)]
            ):
                continue
            best = min(best, self.least(nodes, extents, bits, sources))
        return best

    def with_group(
        self,
        shared: list[str],
        group: tuple[str, ...],
        own: list[str],
        pick: Callable[[list[Nodes]], Iterable[Nodes]] = iter,
    ) -> float:
        """Return the least energy in pJ where some layers are a group with loops of their own.

        Parameters
        ----------
        shared, own : list of str
            Names of the dimensions that loops of all layers, and of the group, may share.
        group : tuple of str
            Names of layers that follow each other.
        pick : callable
            Returns those of all lists of shared nodes that fit which are looked at.
        """
        users = {t.name: {a.layer for a in t.accesses} for t in self.segment.tensors}
        inside = {t.name for t in self.segment.intermediates if users[t.name] <= set(group)}
        best = inf
        above = every_prefix(self.segment, self.machine, shared, but=inside)
        for nodes in pick([each for each in above if self.fit(each, group)]):
            left = state_of(nodes, self.segment, self.machine)[0]
            below = every_prefix(self.segment, self.machine, own, group, left, nodes)
            for inner in pick([each for each in below if self.fit(nodes, group, each)]):
                best = min(best, self.least_nested(nodes, group, inner))
        return best

    def fit(self, nodes: Nodes, group: tuple[str, ...], inner: Nodes | None = None) -> bool:
        """Whether what shared nodes hold fits, branches aside."""
        above = None if inner is None else len(nodes)
        every = (*nodes, *(inner or ()))
        bits = state_of(every, self.segment, self.machine, group, above)[1]
        return all(
            own.get(m.name, 0) <= (m.capacity_bits or inf)
            for own in bits.values()
            for m in self.machine.memories
        )

    def least_nested(self, nodes: Nodes, group: tuple[str, ...], inner: Nodes) -> float:
        """Return the least energy with a group below some shared nodes."""
        states = {False: state_of(nodes, self.segment, self.machine, group)}
        states[True] = state_of((*nodes, *inner), self.segment, self.machine, group, len(nodes))
        fuse = [Branch(layer.name) for layer in self.segment.layers if layer.name not in group]
        place = next(i for i, la in enumerate(self.segment.layers) if la.name in group)
        fuse.insert(place, Branch(None, (*inner, Fuse(tuple(Branch(name) for name in group)))))
        bare = FusedMapping((*nodes, Fuse(tuple(fuse))))
        counts = count_fused(resolve_fused(bare, self.segment), self.machine)
        total = 0.0
        for layer in self.segment.layers:
            extents, bits, sources = states[layer.name in group]
            total += self.least_of(
                layer, extents, bits[layer.name], sources[layer.name], counts.layers[layer.name]
            )
        return total

    def least(
        self,
        nodes: tuple[Node, ...],
        extents: dict[tuple[str, str], int],
        bits: dict[str, dict[str, int]],
        sources: dict[str, dict[str, str]],
    ) -> float:
        """Return the least energy below some shared nodes."""
        bare = FusedMapping((*nodes, Fuse(tuple(Branch(x.name) for x in self.segment.layers))))
        counts = count_fused(resolve_fused(bare, self.segment), self.machine)
        return sum(
            self.least_of(
                layer, extents, bits[layer.name], sources[layer.name], counts.layers[layer.name]
            )
            for layer in self.segment.layers
        )

    def least_of(
        self,
        layer: Layer,
        extents: dict[tuple[str, str], int],
        bits: dict[str, int],
        sources: dict[str, str],
        counts: Counts,
    ) -> float:
        """Return the least energy of a layer, given what is counted with an empty branch."""
        box = {d: extents.get((layer.name, d), n) for d, n in layer.bounds.items()}
        own = replace(layer, bounds=box)
        turns = layer.operations // own.operations
        stays = prod(layer.bounds[d] // box[d] for d in box if d in layer.output.dimensions)
        shared = energy(layer, counts, self.machine) - self.cost(own, (), sources, stays, turns)
        least = inf
        for fresh, stale, taken in self.branches(own, sources):
            both = {
                m.name: taken.get(m.name, 0) + bits.get(m.name, 0) for m in self.machine.memories
            }
            if all(both[m.name] <= (m.capacity_bits or inf) for m in self.machine.memories):
                least = min(least, stays * fresh + (turns - stays) * stale)
        return shared + least

    def cost(
        self, own: Layer, branch: tuple[Node, ...], sources: dict[str, str], stays: int, turns: int
    ) -> float:
        """Return the pJ of all turns, of which some find no partial sums."""
        first = self.turn(own, branch, sources, fresh=True) * stays
        return first + self.turn(own, branch, sources, fresh=False) * (turns - stays)

    def turn(
        self, own: Layer, branch: tuple[Node, ...], sources: dict[str, str], *, fresh: bool
    ) -> float:
        """Return the pJ of one turn."""
        order = {m.name: i for i, m in enumerate(self.machine.memories)}
        heads = sorted(sources.items(), key=lambda each: order[each[1]])
        mapping = Mapping((*(Store(m, (t,)) for t, m in heads), *branch))
        structure = resolve(mapping, own, self.machine)
        return energy(
            own, Simulation(own, self.machine, structure, fresh=fresh).counts(), self.machine
        )

    def branches(
        self, own: Layer, sources: dict[str, str]
    ) -> list[tuple[float, float, dict[str, int]]]:
        """Return of all branches the pJ of a turn, fresh and not, and their bits."""
        key = own.name, tuple(own.bounds.items()), tuple(sources.items())
        if key not in self.turns:
            found = []
            for branch in every_branch(own, dict(own.bounds), self.machine, sources):
                taken = bits_of(own, branch, self.machine)
                if any(
                    taken.get(m.name, 0) > (m.capacity_bits or inf) for m in self.machine.memories
                ):
                    continue
                self.left -= 1
                if self.left < 0:
                    raise TooManyError
                pair = [self.turn(own, branch, sources, fresh=f) for f in (True, False)]
                found.append((pair[0], pair[1], taken))
            self.turns[key] = found
        return self.turns[key]


def energy(layer: Layer, counts: Counts, machine: Architecture) -> float:
    """Return the pJ of the counts of a layer."""
    total = layer.operations * operation_cost(machine, layer)
    for tensor in layer.tensors:
        for memory in machine.memories:
            total += access_energy(memory, tensor, counts.memories[memory.name][tensor.name])
        for array in machine.arrays:
            total += network_energy(array, counts.networks[array.name][tensor.name])
    return float(total)


def every_prefix(
    segment: Segment,
    machine: Architecture,
    shared: list[str],
    group: tuple[str, ...] = (),
    left: dict[tuple[str, str], int] | None = None,
    above_them: Nodes = (),
    but: Collection[str] = (),
) -> Iterator[Nodes]:
    """Yield all shared nodes: loops in any order, and tensors at any place among them.

    Parameters
    ----------
    group : tuple of str
        Layers that are below; all without names.
    left : dict
        Extents of their dimensions below loops around.
    above_them : tuple of Node
        Nodes around: what they hold in the last memory above arrays is not held again.
    but : collection of str
        Tensors that a group holds.
    """
    outside = tuple(t.name for t in segment.tensors if not t.intermediate)
    above = memories_above(machine)
    first = segment.layer_of[group[0]] if group else segment.layers[0]
    bounds = {d: (left or {}).get((first.name, d), first.bounds[d]) for d in shared}
    stored = [n for n in above_them if isinstance(n, Store) and n.memory != above[0]]
    around = {name: node.memory for node in stored for name in node.tensors}
    tensors = [
        t
        for t in segment.tensors
        if t.name not in but and (not group or {a.layer for a in t.accesses} & set(group))
    ]
    for loops in every_nest(bounds, stops=True):
        places: list[list[tuple[int, str] | None]] = []
        for tensor in tensors:
            first_inside = above.index(around.get(tensor.name, above[0])) + 1
            names = [
                m
                for m in above[first_inside:]
                if all(may_hold(machine, m, segment, a) for a in tensor.accesses)
            ]
            own: list[tuple[int, str] | None] = [
                (i, m) for i in range(len(loops) + 1) for m in names
            ]
            must = tensor.intermediate and tensor.name not in around
            places.append(own if must else [None, *own])
        for choice in itertools.product(*places):
            nodes: list[Node] = [] if group else [Store(above[0], outside)]
            for i in range(len(loops) + 1):
                for tensor, place in zip(tensors, choice, strict=True):
                    if place is not None and place[0] == i:
                        nodes.append(Store(place[1], (tensor.name,)))
                if i < len(loops):
                    nodes.append(loops[i])
            yield tuple(nodes)


def may_hold(machine: Architecture, name: str, segment: Segment, access: object) -> bool:
    """Whether a memory may hold a tensor for all that use it, without passing one that must."""
    layer = segment.layer_of[access.layer]  # type: ignore[attr-defined]
    (role,) = (t.role for t in layer.tensors if t.name == access.tensor)  # type: ignore[attr-defined]
    inside = [m.name for m in machine.memories].index(name)
    passed = machine.memories[1:inside]
    return machine.memories[inside].may_store(role) and not any(role in m.must_keep for m in passed)


def memories_above(machine: Architecture) -> list[str]:
    """Return the memories above the first array."""
    names = []
    for level in machine.levels:
        if level in machine.arrays:
            break
        if level in machine.memories:
            names.append(level.name)
    return names


def every_nest(extents: Extents, stops: bool = False) -> Iterator[tuple[For, ...]]:
    """Yield loops of tiles that divide in every order, down to 1 unless they may stop."""
    if stops or all(n == 1 for n in extents.values()):
        yield ()
    for d, n in extents.items():
        for tile in range(1, n):
            if n % tile == 0:
                for rest in every_nest({**extents, d: tile}, stops):
                    if not (rest and rest[0].dimension == d):
                        yield (For(d, tile), *rest)


def state_of(
    nodes: Nodes,
    segment: Segment,
    machine: Architecture,
    group: tuple[str, ...] = (),
    above: int | None = None,
) -> tuple[dict[tuple[str, str], int], dict[str, dict[str, int]], dict[str, dict[str, str]]]:
    """Return extents below shared nodes, bits that they take while each layer runs, and sources.

    With `group`, these layers are one branch; with `above`, so many nodes stand above all branches
    and the others in that one.
    """
    around = {name for node in nodes[:above] if isinstance(node, Store) for name in node.tensors}
    extents: dict[tuple[str, str], int] = {}
    bits: dict[str, dict[str, int]] = {la.name: {} for la in segment.layers}
    sources: dict[str, dict[str, str]] = {la.name: {} for la in segment.layers}
    order = [layer.name for layer in segment.layers]
    memory_of = {m.name: m for m in machine.memories}
    whole = [order.index(group[0]) if name in group else i for i, name in enumerate(order)]
    for n, node in enumerate(nodes):
        place = whole if above is None or n < above else list(range(len(order)))
        if isinstance(node, For):
            below = order if above is None or n < above else group
            extents |= {(layer, node.dimension): node.tile for layer in below}
        elif isinstance(node, Store):
            for name in node.tensors:
                tensor = segment.tensor_of[name]
                for access in tensor.accesses:
                    if above is None or n < above or access.layer in group:
                        sources[access.layer][access.tensor] = node.memory
                if node.memory == machine.memories[0].name:
                    continue
                first = tensor.accesses[0]
                layer = segment.layer_of[first.layer]
                (own,) = (t for t in layer.tensors if t.name == first.tensor)
                box = {d: extents.get((layer.name, d), n) for d, n in layer.bounds.items()}
                memory = memory_of[node.memory]
                taken = footprint(own, box) * (own.bits or memory.word_bits) * memory.buffering
                users = [place[order.index(access.layer)] for access in tensor.accesses]
                last = above is None or n < above
                for i, user in zip(place, order, strict=True):
                    if not last and user not in group:
                        continue
                    held = not tensor.intermediate or (not last and tensor.name in around)
                    if held or min(users) <= i <= max(users):
                        bits[user][memory.name] = bits[user].get(memory.name, 0) + taken
    return extents, bits, sources


def every_branch(
    layer: Layer, extents: Extents, machine: Architecture, sources: dict[str, str]
) -> Iterator[tuple[Node, ...]]:
    """Yield all nodes of a layer's own below shared ones."""
    names = [m.name for m in machine.memories]
    chains = []
    for tensor in layer.tensors:
        inside = machine.memories[names.index(sources[tensor.name]) + 1 :]
        options = [
            tuple(m.name for m, kept in zip(inside, choice, strict=True) if kept)
            for choice in itertools.product((True, False), repeat=len(inside))
            if all(
                m.may_store(tensor.role) if kept else tensor.role not in m.must_keep
                for m, kept in zip(inside, choice, strict=True)
            )
        ]
        chains.append(options)
    for keep in itertools.product(*chains):
        wanted = {t.name: chain for t, chain in zip(layer.tensors, keep, strict=True)}
        yield from walks(dict(extents), wanted, list(machine.levels[1:]), layer)


def walks(
    extents: Extents, wanted: dict[str, tuple[str, ...]], levels: list[object], layer: Layer
) -> Iterator[tuple[Node, ...]]:
    """Yield nests and stores from a point inward, one part between arrays after the other."""
    from tilewright.architecture.machine import Array, Memory

    cut = next((i for i, level in enumerate(levels) if isinstance(level, Array)), len(levels))
    here = {level.name for level in levels[:cut] if isinstance(level, Memory)}
    queue = {t: tuple(m for m in chain if m in here) for t, chain in wanted.items()}
    last = cut == len(levels)
    for nodes, left in segments_of(extents, queue, last):
        if last:
            yield nodes
            continue
        array = levels[cut]
        assert isinstance(array, Array)
        for spatial, inner in spread(left, array):
            for rest in walks(inner, wanted, levels[cut + 1 :], layer):
                yield (*nodes, *spatial, *rest)


def segments_of(
    extents: Extents, queue: dict[str, tuple[str, ...]], last: bool
) -> Iterator[tuple[tuple[Node, ...], Extents]]:
    """Yield loops and stores between two arrays, and what they leave."""
    if not any(queue.values()):
        # loops below the last store of all: their order decides what stays across an array
        for loops in every_nest(extents, stops=not last):
            left = dict(extents)
            for loop in loops:
                left[loop.dimension] = loop.tile
            yield loops, left
            if last:
                return  # below the last memory any order is the same
        return
    for t, chain in queue.items():
        if chain:
            for nodes, left in segments_of(extents, {**queue, t: chain[1:]}, last):
                yield (Store(chain[0], (t,)), *nodes), left
    for d, n in extents.items():
        for tile in range(1, n):
            if n % tile == 0:
                for nodes, left in segments_of({**extents, d: tile}, queue, last):
                    if not (isinstance(nodes[0], For) and nodes[0].dimension == d):
                        yield (For(d, tile), *nodes), left


def spread(extents: Extents, array: object) -> Iterator[tuple[tuple[Node, ...], Extents]]:
    """Yield what goes to the elements of an array of one axis."""
    ((axis, size),) = array.axes.items()  # type: ignore[attr-defined]
    divisors = [[n // k for k in range(1, size + 1) if n % k == 0] for n in extents.values()]
    for tiles in itertools.product(*divisors):
        factors = [n // tile for n, tile in zip(extents.values(), tiles, strict=True)]
        if prod(factors) <= size:
            inner = dict(zip(extents, tiles, strict=True))
            yield (
                tuple(
                    Spatial(d, inner[d], axis, array.name)  # type: ignore[attr-defined]
                    for d, factor in zip(extents, factors, strict=True)
                    if factor > 1
                ),
                inner,
            )


def bits_of(layer: Layer, branch: tuple[Node, ...], machine: Architecture) -> dict[str, int]:
    """Return the bits that a branch takes of each memory."""
    used: dict[str, int] = {}
    left = dict(layer.bounds)
    memory_of = {m.name: m for m in machine.memories}
    for node in branch:
        if isinstance(node, Store):
            memory = memory_of[node.memory]
            for name in node.tensors:
                (tensor,) = (t for t in layer.tensors if t.name == name)
                bits = (tensor.bits or memory.word_bits) * memory.buffering
                used[memory.name] = used.get(memory.name, 0) + footprint(tensor, left) * bits
        else:
            left[node.dimension] = node.tile
    return used


def random_costs(
    random: Random, found: Segment, target: Architecture, shared: list[str], count: int
) -> Iterator[FusedEvaluation]:
    """Yield what random trees of a segment cost, of those that fit."""
    prefixes = list(every_prefix(found, target, shared))
    for _ in range(count):
        nodes = random.choice(prefixes)
        extents, _, sources = state_of(nodes, found, target)
        branches = []
        for layer in found.layers:
            box = {d: extents.get((layer.name, d), n) for d, n in layer.bounds.items()}
            own = itertools.islice(every_branch(layer, box, target, sources[layer.name]), 200)
            branches.append(Branch(layer.name, random.choice(list(own))))
        try:
            yield evaluate(found, target, FusedMapping((*nodes, Fuse(tuple(branches)))))
        except MappingError:
            continue
