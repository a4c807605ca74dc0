"""The best mapping that satisfies constraints, by trying all, and random constraints to satisfy.

Unlike without constraints, the stores of the tensors cannot be chosen one tensor at a time: every
combination is a mapping of its own, and the checker decides. It is asked only about mappings that
would be better than the best one so far.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product
from math import ceil, prod
from random import Random

import numpy as np

from enumeration import Enumeration, Optimum, replaced
from problems import layer, machine
from set_counts import NO_ARRAY, Chain, Nest
from strategies import layer_of
from tilewright.architecture.constraints.constraint import ALL, Constraint, Limits
from tilewright.architecture.machine import Architecture, Array
from tilewright.mapping.constraints import violations
from tilewright.mapping.nodes import For, Mapping, Node, Spatial
from tilewright.workload.layer import Layer

Problem = tuple[Layer, Architecture]


class ConstrainedEnumeration(Enumeration):
    """All mappings of a layer on a machine that satisfy the constraints of the machine."""

    def axes(self, array: int, factors: tuple[int, ...]) -> list[tuple[str, int, int]] | None:
        return next(self.all_axes(array, factors), None)

    def all_axes(
        self, array: int, factors: tuple[int, ...]
    ) -> Iterator[list[tuple[str, int, int]]]:
        """Yield every way to give factors to the axes of an array as (axis, dimension, factor)."""
        sizes = list(self.arrays[array].axes.items())

        def place(n: int, left: tuple[int, ...]) -> Iterator[list[tuple[str, int, int]]]:
            if n == len(sizes):
                if max(left) == 1:
                    yield []
                return
            axis, size = sizes[n]
            for own in product(*([f for f in range(1, e + 1) if e % f == 0] for e in left)):
                if prod(own) <= size:
                    here = [(axis, d, f) for d, f in enumerate(own) if f > 1]
                    rest = tuple(e // f for e, f in zip(left, own, strict=True))
                    yield from (here + inner for inner in place(n + 1, rest))

        return place(0, factors)

    def try_stores(self, nest: Nest) -> None:
        tensors = self.layer.tensors
        chains = [list(self.chains(tensor, nest)) for tensor in tensors]
        rows = [
            np.array([self.row(t, nest, chain) for chain in own])
            for t, own in zip(tensors, chains, strict=True)
        ]
        if not all(map(len, rows)):
            return
        sums = rows[0]
        for own in rows[1:]:
            sums = (sums[:, None, :] + own[None, :, :]).reshape(-1, sums.shape[1])
        compute = self.architecture.compute
        temporal = prod(loop.chunks for loop in nest.loops if loop.array == NO_ARRAY)
        ports = sums[:, 1 : 1 + self.ports].max(axis=1, initial=0.0)
        cycles = np.maximum(ports, ceil(temporal * compute.cycles))
        energy = sums[:, 0] + self.layer.operations * compute.energy + cycles * self.leakage
        fits = np.isfinite(sums[:, 0])
        for m, memory in enumerate(self.memories):
            if memory.capacity_bits is not None:
                fits &= sums[:, 1 + self.ports + m] <= memory.capacity_bits
        known: dict[int, Mapping | None] = {}
        for name, value, other in (
            ("energy", energy, cycles),
            ("latency", cycles, energy),
            ("edp", energy * cycles, energy),
        ):
            for i in np.lexsort((other, value)).tolist():
                old = self.best[name]
                tie = {"energy": old.cycles, "latency": old.energy_pj, "edp": old.energy_pj}[name]
                if (value[i], other[i]) >= (old.value, tie):
                    break
                if not fits[i]:
                    continue
                if i not in known:
                    picks = np.unravel_index(i, [len(own) for own in chains])
                    known[i] = self.allowed(
                        nest, [own[int(k)] for own, k in zip(chains, picks, strict=True)]
                    )
                if known[i] is not None:
                    self.best[name] = Optimum(value[i], energy[i], cycles[i], known[i])
                    break

    def row(self, tensor: object, nest: Nest, chain: Chain) -> list[float]:
        """Return the costs of one way to store a tensor, and the bits that it takes."""
        bits = [
            0
            if depth is None
            else self.traffic.tile(tensor, nest.loops[:depth])
            * memory.buffering
            * (memory.word_bits if tensor.bits is None else tensor.bits)
            for depth, memory in zip(chain, self.memories, strict=True)
        ]
        cost = self.traffic.cost(tensor, nest, chain)
        for b, memory in zip(bits, self.memories, strict=True):
            if memory.tensor_bits is not None and b > memory.tensor_bits.get(tensor.role, 0):
                cost[0] = np.inf
        return [*cost, *bits]

    def allowed(self, nest: Nest, chains: list[Chain]) -> Mapping | None:
        """Return the mapping if some choice of axes satisfies the constraints."""
        whole = self.mapping(nest, chains)
        nodes = list(whole.nodes)
        while isinstance(nodes[-1], For):
            nodes.pop()  # left to the compute unit, in any order
        for mapping in dict.fromkeys((Mapping(tuple(nodes)), whole)):
            if (found := self.with_some_axes(mapping, nest)) is not None:
                return found
        return None

    def with_some_axes(self, mapping: Mapping, nest: Nest) -> Mapping | None:
        """Return a mapping with axes that satisfy the constraints, if there are such."""
        blocks = [
            (array, start, end) for array, (start, end) in enumerate(nest.blocks) if end > start
        ]
        ways = []
        for array, start, end in blocks:
            factors = (1,) * len(self.dimensions)
            for loop in nest.loops[start:end]:
                factors = replaced(factors, loop.dimension, loop.chunks)
            ways.append(list(self.all_axes(array, factors)))
        for choice in product(*ways):
            axes = {self.arrays[a].name: way for (a, _, _), way in zip(blocks, choice, strict=True)}
            other = Mapping(tuple(self.with_axes(mapping, axes)))
            if not violations(other, self.layer, self.architecture):
                return other
        return None

    def with_axes(
        self, mapping: Mapping, axes: dict[str, list[tuple[str, int, int]]]
    ) -> Iterator[Node]:
        """Yield the nodes of a mapping with the spatial loops of other axes."""
        extents = dict(self.layer.bounds)
        waiting = dict(axes)
        for node in mapping.nodes:
            if isinstance(node, Spatial):
                for axis, d, factor in waiting.pop(node.array, []):
                    name = self.dimensions[d]
                    extents[name] //= factor
                    yield Spatial(name, extents[name], axis, node.array)
                continue
            if hasattr(node, "tile"):
                extents[node.dimension] = node.tile
            yield node


def constrained_problem(seed: int, most: int = 60_000) -> Problem:
    """Return a small layer and a machine with one to four constraints of its own."""
    random = Random(f"constrained {seed}")
    while True:
        drawn, plain = layer(random), machine(random)
        plain = replace(plain, constraints=())
        # what an array's elements hold of an output that slides is not counted by the search
        slides = any(len(terms) > 1 for terms in drawn.output.expressions)
        if not (slides and plain.arrays) and 100 <= combinations(drawn, plain, most) < most:
            break
    some = tuple(constraint(random, drawn, plain) for _ in range(random.choice([1, 1, 2, 2, 3, 4])))
    return drawn, replace(plain, constraints=some)


def history_problem(seed: int, most: int = 60_000) -> Problem:
    """Return a problem whose constraints ask for more of the walk so far than its shape.

    Loops are ordered in a layer where the orders of some cost the same, or a small memory has to be
    filled.
    """
    random = Random(f"history {seed}")
    while True:
        bounds = {d: random.choice((2, 2, 3, 4)) for d in "PQ"}
        bounds |= {d: random.choice((1, 2, 3, 4)) for d in "KC"}
        drawn = layer_of("conv2d", dict.fromkeys("NRS", 1) | bounds)
        if random.random() < 0.3:
            drawn = layer(random)
        plain = machine(random)
        plain = replace(plain, constraints=())
        slides = any(len(terms) > 1 for terms in drawn.output.expressions)
        dims = [d for d, bound in drawn.bounds.items() if bound > 1]
        if len(plain.memories) < 3 or len(dims) < 2 or (slides and plain.arrays):
            continue
        if 100 <= combinations(drawn, plain, most) < most:
            break
    order = tuple(random.sample(dims, len(dims)))
    some = frozenset(random.sample(dims, 1))
    kinds = []
    for memory in plain.memories[:-1]:
        kinds += [Constraint(memory.name, order=order), Constraint(memory.name, innermost=some)]
    for memory in plain.memories[1:]:
        if memory.total_bits is not None and memory.total_bits < 600:
            share = random.choice([0.5, 0.7, 0.8, 0.9, 1.0])
            kinds += [Constraint(memory.name, min_utilization=share)] * 3
    return drawn, replace(plain, constraints=tuple(random.sample(kinds, random.choice([1, 1, 2]))))


def combinations(layer: Layer, architecture: Architecture, most: int) -> int:
    """Return the number of mappings, at most about `most`."""
    space = Enumeration(layer, architecture, run=False)
    total = 0
    for nest in islice(space.all_nests(), most):
        total += prod(sum(1 for _ in space.chains(tensor, nest)) for tensor in layer.tensors)
        if total >= most:
            break
    return total


def constraint(random: Random, layer: Layer, architecture: Architecture) -> Constraint:
    """Return a constraint of any kind that the machine can have."""
    dims = [d for d, bound in layer.bounds.items() if bound > 1] or list(layer.bounds)
    some = frozenset(random.sample(dims, random.randint(1, min(2, len(dims)))))
    tensors = frozenset(random.sample([t.role for t in layer.tensors], 1))
    if architecture.arrays and random.random() < 0.4:
        array = random.choice(architecture.arrays)
        axis = random.choice([None, *array.axes])
        return random.choice(array_kinds(random, array, axis, dims, some))
    first = random.random() < 0.15 or len(architecture.memories) == 1
    memory = random.choice(architecture.memories[:1] if first else architecture.memories[1:])
    at = memory.name
    order = tuple(random.sample(dims, random.randint(1, len(dims))))
    kinds = [
        Constraint(at, keep=tensors),
        Constraint(at, order=order),
        Constraint(at, order=order),
        Constraint(at, innermost=some),
        Constraint(at, innermost=some),
        Constraint(at, even=True),
        Constraint("memories", even=True),
    ]
    if not first:
        limited = random.choice([frozenset(), tensors])
        tile = ((random.choice(dims), limits(random)),)
        kinds += [Constraint(at, tile=tile, tensors=limited)] * 3
        kinds += [Constraint(at, bypass=tensors)]
        if memory.total_bits is not None and memory.total_bits < 600:
            kinds += [Constraint(at, min_utilization=random.choice([0.3, 0.5, 0.75, 1.0]))] * 3
    return random.choice(kinds)


def array_kinds(
    random: Random, array: Array, axis: str | None, dims: list[str], some: frozenset[str]
) -> list[Constraint]:
    """Return a constraint of each kind on an axis."""
    return [
        Constraint(array.name, axis, dims=some),
        Constraint(array.name, axis, require=some),
        Constraint(array.name, axis, factor=((random.choice(dims), limits(random)),)),
        Constraint(array.name, axis, max_dims=random.choice([0, 1, 1, 2])),
        Constraint(array.name, axis, min_utilization=random.choice([0.3, 0.5, 0.75, 1.0])),
    ]


def limits(random: Random) -> Limits:
    """Return a range of small numbers."""
    n = random.choice([1, 2, 2, 3, 4])
    return random.choice(
        [Limits(n, n), Limits(n, n), Limits(1, n), Limits(n, ALL), Limits(2, 4), Limits(ALL, ALL)]
    )
