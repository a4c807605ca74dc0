"""The best mapping of a small layer by trying all of them: what the mapper has to find.

Nothing here knows how the mapper works. A mapping whose tile sizes divide evenly is an order of
prime steps from the bounds down to one, with the spatial loops of each array somewhere in between,
and a depth in it for each store node: a loop over a composite factor is several prime steps on one
dimension in a row, which costs the same. All orders are tried with all depths. What a store of a
tensor costs depends on the loops and on the stores of this tensor only, so that it is counted once,
with explicit sets of words (as bits of an integer), and added up for all tensors.

Left out is what cannot be better: of two ways to store one tensor along the same loops, the one
that needs as much energy, as much of every bandwidth and as much of every capacity as the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import ceil, inf, prod

import numpy as np
from numpy.typing import NDArray

from set_counts import NO_ARRAY, Chain, Loop, Nest, Traffic
from tilewright.architecture.machine import Architecture
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer, Tensor

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Optimum:
    """Value of the best mapping, its energy in pJ and cycles; all infinite when nothing fits."""

    value: float = inf
    energy_pj: float = inf
    cycles: float = inf
    mapping: Mapping | None = None


@dataclass
class Enumeration:
    """All mappings of a layer on a machine.

    Parameters
    ----------
    layer, architecture
        What is mapped onto what. Costs time in proportion to the number of mappings.
    idle_arrays_separate : bool
        Whether the stores of the memories below an array stand below those above it even where
        nothing is spatial on the array.
    run : bool
        Whether to try them all at once; otherwise `all_nests` and `chains` list them.
    best : dict of str to Optimum
        By objective; where several mappings reach the value, one with the fewest cycles among
        equal energies, and with the least energy among equal cycles.
    front : array of (mappings, 2)
        Energies and cycles of which none is better in both, the least energy first.
    nests : int
        Orders of loops that were tried.
    """

    layer: Layer
    architecture: Architecture
    idle_arrays_separate: bool = True
    run: bool = True
    best: dict[str, Optimum] = field(default_factory=dict)
    front: Floats = field(default_factory=lambda: np.zeros((0, 2)))
    nests: int = 0

    def __post_init__(self) -> None:
        machine = self.architecture
        self.dimensions = self.layer.dimensions
        self.outer, *self.memories = machine.memories
        self.arrays = machine.arrays
        self.traffic = Traffic(self.layer, machine)
        above = self.traffic.above
        self.zone = self.traffic.zone
        self.leakage = sum(
            level.leakage * prod(a.elements for a in self.arrays[: above[level.name]])
            for level in (*machine.memories, machine.compute)
        ) * (1e9 / machine.clock_hz)
        self.best = {name: Optimum() for name in ("energy", "latency", "edp")}
        if self.run:
            for nest in self.all_nests():
                self.nests += 1
                self.try_stores(nest)

    # --- loops ---------------------------------------------------------------------------------

    def all_nests(self) -> Iterator[Nest]:
        """Yield the loops of every mapping."""
        return self.orders((), tuple(self.layer.bounds.values()), ())

    def orders(
        self, loops: tuple[Loop, ...], left: tuple[int, ...], blocks: tuple[tuple[int, int], ...]
    ) -> Iterator[Nest]:
        """Yield all loops that go on from `loops` with the extents `left`."""
        if len(blocks) == len(self.arrays) and max(left) == 1:
            yield Nest(loops, blocks)
            return
        for d, extent in enumerate(left):
            for prime in (n for n in range(2, extent + 1) if extent % n == 0 and is_prime(n)):
                loop = Loop(d, extent, extent // prime)
                yield from self.orders((*loops, loop), replaced(left, d, loop.tile), blocks)
        if len(blocks) == len(self.arrays):
            return
        array = len(blocks)
        for factors in product(*([n for n in range(1, e + 1) if e % n == 0] for e in left)):
            used = prod(factors) > 1
            if used and self.axes(array, factors) is None:
                continue
            # an idle array that separates nothing may stand anywhere: right below the one above
            above = blocks[-1][1] if blocks else 0
            if not used and not self.idle_arrays_separate and len(loops) > above:
                continue
            spatial = tuple(
                Loop(d, e, e // n, array)
                for d, (e, n) in enumerate(zip(left, factors, strict=True))
                if n > 1
            )
            block = (len(loops), len(loops) + len(spatial))
            rest = tuple(e // n for e, n in zip(left, factors, strict=True))
            yield from self.orders((*loops, *spatial), rest, (*blocks, block))

    def axes(self, array: int, factors: tuple[int, ...]) -> list[tuple[str, int, int]] | None:
        """Return (axis, dimension, factor) that give these factors, None when there are none."""
        sizes = self.arrays[array].axes
        name = self.arrays[array].name
        found: list[tuple[str, int, int]] = []

        def place(axes: list[str], left: tuple[int, ...]) -> bool:
            if max(left) == 1:
                return True
            if not axes:
                return False
            allowed = self.architecture.allowed_dimensions(name, axes[0])
            options = [
                [n for n in range(1, e + 1) if e % n == 0]
                if allowed is None or self.dimensions[d] in allowed
                else [1]
                for d, e in enumerate(left)
            ]
            for own in product(*options):
                if prod(own) > sizes[axes[0]]:
                    continue
                if place(axes[1:], tuple(e // n for e, n in zip(left, own, strict=True))):
                    found.extend((axes[0], d, n) for d, n in enumerate(own) if n > 1)
                    return True
            return False

        return found if place(list(sizes), factors) else None

    # --- stores --------------------------------------------------------------------------------

    def chains(self, tensor: Tensor, nest: Nest) -> Iterator[Chain]:
        """Yield the depths at which the memories may store a tensor."""
        options: list[list[int | None]] = []
        for memory, zone in zip(self.memories, self.zone[1:], strict=True):
            low, high = 0, len(nest.loops)
            for array, (start, end) in enumerate(nest.blocks):
                if end == start and not self.idle_arrays_separate:
                    continue
                if array < zone:
                    low = max(low, end)
                else:
                    high = min(high, start)
            allowed: list[int | None] = []
            if memory.may_store(tensor.role):
                inside = {depth for start, end in nest.blocks for depth in range(start + 1, end)}
                allowed += [depth for depth in range(low, high + 1) if depth not in inside]
            if tensor.role not in memory.must_keep:
                allowed.append(None)
            options.append(allowed)
        for chain in product(*options):
            depths = [depth for depth in chain if depth is not None]
            if depths == sorted(depths):
                yield chain

    def try_stores(self, nest: Nest) -> None:
        """Combine the ways to store each tensor along some loops."""
        sums = np.zeros((1, 1 + self.ports + len(self.memories)))
        picks: list[list[Chain]] = [[]]
        for tensor in self.layer.tensors:
            chains, costs = self.tensor_costs(tensor, nest)
            if not chains:
                return
            sums = (sums[:, None, :] + costs[None, :, :]).reshape(-1, sums.shape[1])
            fits = np.ones(len(sums), bool)
            for m, memory in enumerate(self.memories):
                if memory.capacity_bits is not None:
                    fits &= sums[:, 1 + self.ports + m] <= memory.capacity_bits
            kept = np.flatnonzero(fits)
            sums = sums[kept]
            picks = [[*picks[i // len(chains)], chains[i % len(chains)]] for i in kept.tolist()]
            if not picks:
                return
            best = undominated(sums) if len(sums) <= 3000 else np.arange(len(sums))
            sums, picks = sums[best], [picks[i] for i in best.tolist()]
        compute = self.architecture.compute
        temporal = prod(loop.chunks for loop in nest.loops if loop.array == NO_ARRAY)
        cycles = np.maximum(
            sums[:, 1 : 1 + self.ports].max(axis=1, initial=0.0), ceil(temporal * compute.cycles)
        )
        worth = prod(t.density for t in self.layer.inputs) if compute.gated else 1.0
        energy = sums[:, 0] + self.layer.operations * compute.energy * worth + cycles * self.leakage
        self.front = merged(self.front, energy, cycles)
        self.consider(sums, energy, cycles, nest, picks)

    def consider(
        self, sums: Floats, energy: Floats, cycles: Floats, nest: Nest, picks: list[list[Chain]]
    ) -> None:
        """Keep the best of some mappings; `sums` holds what their tensors cost together."""
        for name, value, other in (
            ("energy", energy, cycles),
            ("latency", cycles, energy),
            ("edp", energy * cycles, energy),
        ):
            i = int(np.lexsort((other, value))[0])
            old = self.best[name]
            tie = {"energy": old.cycles, "latency": old.energy_pj, "edp": old.energy_pj}[name]
            if (value[i], other[i]) < (old.value, tie):
                found = self.mapping(nest, picks[i])
                self.best[name] = Optimum(value[i], energy[i], cycles[i], found)

    @property
    def ports(self) -> int:
        """Number of rates that can limit the cycles: three per memory, one per array."""
        return 3 * (1 + len(self.memories)) + len(self.arrays)

    def tensor_costs(self, tensor: Tensor, nest: Nest) -> tuple[list[Chain], Floats]:
        """Return the ways to store one tensor that are not worse than another, and their costs.

        A cost is the energy, the cycles at each port, and the bits in each memory.
        """
        kept, rows = [], []
        for chain in self.chains(tensor, nest):
            bits = [
                0
                if depth is None
                else self.traffic.tile(tensor, nest.loops[:depth])
                * memory.buffering
                * (memory.word_bits if tensor.bits is None else tensor.bits)
                for depth, memory in zip(chain, self.memories, strict=True)
            ]
            if any(
                m.tensor_bits is not None and b > m.tensor_bits.get(tensor.role, 0)
                for b, m in zip(bits, self.memories, strict=True)
            ):
                continue
            kept.append(chain)
            rows.append([*self.traffic.cost(tensor, nest, chain), *bits])
        if not kept:
            return [], np.zeros((0, 0))
        costs = np.array(rows, np.float64)
        best = undominated(costs)
        return [kept[i] for i in best.tolist()], costs[best]

    # --- result --------------------------------------------------------------------------------

    def mapping(self, nest: Nest, chains: list[Chain]) -> Mapping:
        """Return loops and stores as a mapping."""
        names = [tensor.name for tensor in self.layer.tensors]
        nodes: list[Node] = [Store(self.outer.name, tuple(names))]
        starts = {start: a for a, (start, end) in enumerate(nest.blocks) if end > start}
        for depth in range(len(nest.loops) + 1):
            for m, memory in enumerate(self.memories):
                held = tuple(n for n, c in zip(names, chains, strict=True) if c[m] == depth)
                if held:
                    nodes.append(Store(memory.name, held))
            if depth in starts:
                nodes += self.spatial(nest, starts[depth])
            elif depth < len(nest.loops) and nest.loops[depth].array == NO_ARRAY:
                loop = nest.loops[depth]
                nodes.append(For(self.dimensions[loop.dimension], loop.tile))
        return Mapping(tuple(nodes))

    def spatial(self, nest: Nest, array: int) -> list[Node]:
        """Return the spatial nodes of an array."""
        start, end = nest.blocks[array]
        extent = {loop.dimension: loop.extent for loop in nest.loops[start:end]}
        factors = [1] * len(self.dimensions)
        for loop in nest.loops[start:end]:
            factors[loop.dimension] = loop.chunks
        nodes: list[Node] = []
        for axis, d, n in self.axes(array, tuple(factors)) or ():
            extent[d] //= n
            nodes.append(Spatial(self.dimensions[d], extent[d], axis, self.arrays[array].name))
        return nodes


def is_prime(n: int) -> bool:
    return all(n % i for i in range(2, n))


def replaced(values: tuple[int, ...], i: int, value: int) -> tuple[int, ...]:
    return (*values[:i], value, *values[i + 1 :])


def undominated(costs: Floats) -> NDArray[np.intp]:
    """Return the rows that no other row equals or undercuts everywhere."""
    _, first = np.unique(costs, axis=0, return_index=True)
    rows = costs[first]
    keep = [i for i in range(len(rows)) if (rows <= rows[i]).all(axis=1).sum() == 1]
    return np.asarray(first[keep], np.intp)


def merged(front: Floats, energy: Floats, cycles: Floats) -> Floats:
    """Return the points of a front and others that no other point is as good as in both."""
    points = np.concatenate([front, np.column_stack([energy, cycles])])
    points = points[np.lexsort((points[:, 1], points[:, 0]))]
    fewest = np.minimum.accumulate(np.concatenate([[inf], points[:-1, 1]]))
    return points[points[:, 1] < fewest * (1 - 1e-12)]
