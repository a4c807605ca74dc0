"""Evaluate many mappings of one structure at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from math import inf
from operator import mul

import numpy as np
from numpy.typing import ArrayLike

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.mapping.nodes import Mapping, Spatial, Store
from tilewright.model import energy
from tilewright.model.combine import Program
from tilewright.model.count import Plan, plan_sums
from tilewright.model.evaluate import evaluate
from tilewright.model.plan import components_of
from tilewright.model.sweep import INVALID, NO_SUM, UNEVEN, Components, Costs, Memo, sweep
from tilewright.model.traffic import Kind, Query, Structure, Sum, Traffic
from tilewright.model.types import Bools, Floats, Ints
from tilewright.workload.layer import Layer, Tensor

FIRST_NODES = 2**13
MOST_NODES = 2**21
NUMBERS_PER_NODE = 24


@dataclass(frozen=True)
class Batch:
    """Costs of many mappings that differ in their tile sizes.

    Attributes
    ----------
    valid : array of bool
        Whether each mapping's tiles shrink inward, its spatial chunks fit their axes and its tiles
        fit the memories.
    energy_pj, cycles : arrays of float
        As `evaluate` gives them; infinite where a mapping is not valid.
    reads, writes : arrays of int, of (mappings, memories, tensors), or None
        Elements, in the order of the machine's memories and the layer's tensors, where they were
        asked for; zeros where a mapping is not valid.
    """

    valid: Bools
    energy_pj: Floats
    cycles: Floats
    reads: Ints | None = None
    writes: Ints | None = None

    @property
    def edp(self) -> Floats:
        """Energy times cycles, in pJ x cycles; infinite where a mapping is not valid."""
        return self.energy_pj * self.cycles

    def __len__(self) -> int:
        return len(self.valid)


@dataclass(frozen=True)
class _CostPlan:
    plan: Plan
    components: Components
    costs: Costs
    traffic: tuple[tuple[int, int, int, int], ...]  # memory, tensor, sum of reads, of writes


@dataclass(frozen=True)
class _Counted:
    """Components of few tile choices, whose nodes are counted through."""

    radix: Ints
    rank_start: Ints
    rank: Ints
    first_node: Ints
    nodes: int

    def memo(self, nodes: int, widest: int) -> Memo:
        """Return empty space for as many nodes besides."""
        return Memo(
            self.radix,
            self.rank_start,
            self.rank,
            self.first_node,
            np.empty(4 * nodes, np.int64),
            np.empty(4 * nodes, np.int64),
            np.empty(self.nodes + nodes, np.int64),
            np.empty(NUMBERS_PER_NODE * nodes + widest, np.int64),
        )


def _count_through(components: Components, program: Program, tiles: Ints) -> _Counted:
    """Number the different tile sizes of each loop, and the choices of small components."""
    bounds = program.bounds[program.loop_dim[components.loop]]
    rank_start = np.concatenate(([0], np.cumsum(bounds + 1)))
    rank = np.zeros(rank_start[-1], np.int64)
    radix = np.ones(len(bounds), np.int64)
    for x, loop in enumerate(components.loop.tolist()):
        seen = np.zeros(bounds[x] + 1, np.bool_)
        column = tiles[:, loop]
        seen[column[(column > 0) & (column <= bounds[x])]] = True
        radix[x] = max(1, seen.sum())
        rank[rank_start[x] : rank_start[x + 1]] = np.cumsum(seen) - seen
    roots = len(components.start) - 1
    most = min(MOST_NODES, 4 * len(tiles) + FIRST_NODES)
    nodes = roots
    first_node: list[int] = []
    for begin, end in pairwise(components.start.tolist()):
        sizes = list(accumulate(radix[begin:end].tolist(), mul, initial=1))
        small = sum(sizes) <= most
        for size in sizes:
            first_node.append(nodes if small else -1)
            nodes += size if small else 0
    return _Counted(radix, rank_start, rank, _ints(first_node), nodes)


class _Sums:
    """Sums by number; an empty one, or one that costs nothing, has none."""

    def __init__(self) -> None:
        self.sums: list[Sum] = []
        self._number: dict[tuple[tuple[Query, int], ...], int] = {}

    def add(self, terms: Sum, wanted: bool = True) -> int:
        if not terms or not wanted:
            return NO_SUM
        key = tuple(sorted(terms.items(), key=lambda item: (item[0].kind.name, item[0].tensor, item[0].modes)))
        if key not in self._number:
            self._number[key] = len(self.sums)
            self.sums.append(terms)
        return self._number[key]


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


def _floats(values: list[float]) -> Floats:
    return np.array(values, np.float64)


@lru_cache(maxsize=64)
def _cost_plan(
    layer: Layer, architecture: Architecture, structure: Structure, with_traffic: bool
) -> _CostPlan:
    """Compile what costs something, and leave the other counts out."""
    traffic = Traffic(layer, architecture, structure)
    sums = _Sums()
    limit_start, limit_query, limit_bits, limits = [0], [], [], []

    def limit(bits: int, memory_index: int, tensors: list[Tensor]) -> None:
        memory = architecture.memories[memory_index]
        for tensor in tensors:
            number = sums.add(traffic.peak(memory.name, tensor.name))
            if number != NO_SUM:
                limit_query.append(number)
                limit_bits.append(energy.element_bits(memory, tensor) * memory.buffering)
        limit_start.append(len(limit_query))
        limits.append(bits)

    for m, memory in enumerate(architecture.memories):
        if memory.capacity_bits is not None:
            limit(memory.capacity_bits, m, list(layer.tensors))
        for tensor in layer.tensors if memory.tensor_bits is not None else ():
            limit((memory.tensor_bits or {}).get(tensor.role, 0), m, [tensor])

    energy_start, energy_read, energy_write = [0], [], []
    energy_read_cost: list[float] = []
    energy_write_cost: list[float] = []
    word_start, word_read, word_write = [0], [], []
    word_ratio: list[float] = []
    bandwidth: list[list[float]] = []
    shown = []
    for m, memory in enumerate(architecture.memories):
        widths = (memory.read_bandwidth, memory.write_bandwidth, memory.shared_bandwidth)
        limited = any(width is not None for width in widths)
        for t, tensor in enumerate(layer.tensors):
            reads, writes = traffic.memory(memory.name, tensor.name, alone=False)
            read_cost = energy.read_cost(memory, tensor)
            write_cost = energy.write_cost(memory, tensor)
            energy_read.append(sums.add(reads, read_cost != 0 or with_traffic))
            energy_write.append(sums.add(writes, write_cost != 0 or with_traffic))
            energy_read_cost.append(read_cost)
            energy_write_cost.append(write_cost)
            shown.append((m, t, energy_read[-1], energy_write[-1]))
            if limited:
                reads, writes = traffic.memory(memory.name, tensor.name, alone=True)
                word_read.append(sums.add(reads))
                word_write.append(sums.add(writes))
                word_ratio.append(energy.word_ratio(memory, tensor))
        energy_start.append(len(energy_read))
        if limited:
            word_start.append(len(word_read))
            bandwidth.append([inf if width is None else width for width in widths])
    network_start, network_sum = [0], []
    network_bandwidth: list[float] = []
    for array in architecture.arrays:
        for tensor in layer.tensors:
            _, hops = traffic.network(array.name, tensor.name, alone=False)
            energy_read.append(sums.add(hops, array.hop_energy != 0))
            energy_write.append(NO_SUM)
            energy_read_cost.append(array.hop_energy)
            energy_write_cost.append(0.0)
            if array.bandwidth is not None:
                words, _ = traffic.network(array.name, tensor.name, alone=True)
                network_sum.append(sums.add(words))
        energy_start.append(len(energy_read))
        if array.bandwidth is not None:
            network_start.append(len(network_sum))
            network_bandwidth.append(array.bandwidth)
    steps = sums.add(traffic.steps())

    axes = [(array.name, axis) for array in architecture.arrays for axis in array.axes]
    sizes = [size for array in architecture.arrays for size in array.axes.values()]
    axis_of_loop = [
        axes.index((node.array, node.axis)) if isinstance(node, Spatial) else -1
        for node in structure.loops
    ] + [-1] * len(layer.dimensions)
    plan = plan_sums(layer, structure, sums.sums)
    varying = plan.compiled.queries[: plan.compiled.varying]
    sum_start = [0]
    for terms in plan.sums:
        sum_start.append(sum_start[-1] + len(terms))
    costs = Costs(
        peaks=sum(query.kind is Kind.PEAK for query in varying),
        varying=plan.compiled.varying,
        sum_start=_ints(sum_start),
        sum_query=_ints([query for terms in plan.sums for query, _ in terms]),
        sum_weight=_ints([weight for terms in plan.sums for _, weight in terms]),
        axis_of_loop=_ints(axis_of_loop),
        axis_size=_ints(sizes),
        limit_start=_ints(limit_start),
        limit_query=_ints([plan.sums[number][0][0] for number in limit_query]),
        limit_bits=_ints(limit_bits),
        limit=_ints(limits),
        energy_start=_ints(energy_start),
        energy_read=_ints(energy_read),
        energy_write=_ints(energy_write),
        energy_read_cost=_floats(energy_read_cost),
        energy_write_cost=_floats(energy_write_cost),
        operations_energy=layer.operations * energy.operation_cost(architecture, layer),
        leakage_per_cycle=float(energy.leakage_per_cycle(architecture)),
        steps=steps,
        cycles_per_step=float(architecture.compute.cycles),
        word_start=_ints(word_start),
        word_read=_ints(word_read),
        word_write=_ints(word_write),
        word_ratio=_floats(word_ratio),
        bandwidth=np.array(bandwidth, np.float64).reshape(-1, 3),
        network_start=_ints(network_start),
        network_sum=_ints(network_sum),
        network_bandwidth=_floats(network_bandwidth),
    )
    components = components_of(layer, plan.compiled)
    return _CostPlan(plan, components, costs, tuple(shown) if with_traffic else ())


def evaluate_batch(
    layer: Layer,
    architecture: Architecture,
    mapping: Mapping,
    tiles: ArrayLike,
    *,
    traffic: bool = False,
) -> Batch:
    """Evaluate many mappings that differ in their tile sizes only.

    Parameters
    ----------
    layer, architecture
        What is computed, and on what.
    mapping : Mapping
        The nodes that the mappings have in common; its own tile sizes do not matter. Its stores and
        the places of its loops must be valid; tile sizes, axes and capacities are checked per row.
    tiles : array of int, of (mappings, loops)
        Tile size of each loop node, outermost first.
    traffic : bool
        Whether reads and writes per memory and tensor are wanted besides.

    Returns
    -------
    Batch
        Row by row what `evaluate` returns.
    """
    chosen = np.ascontiguousarray(tiles, np.int64)
    structure = Structure.of(mapping)
    if chosen.ndim != 2 or chosen.shape[1] != len(structure.loops):
        raise InputError(
            f"tiles have the shape {chosen.shape}; the mapping has {len(structure.loops)} loops, "
            f"so (mappings, {len(structure.loops)}) is expected"
        )
    plan = _cost_plan(layer, architecture, structure, traffic)
    program = plan.plan.compiled.program
    rows = len(chosen)
    energies = np.empty(rows)
    cycles = np.empty(rows)
    status = np.empty(rows, np.int64)
    sums = len(plan.plan.sums)
    counts = np.zeros((rows if traffic else 0, sums), np.int64)
    done = 0
    counted = _count_through(plan.components, program, chosen)
    nodes = FIRST_NODES
    while done < rows:
        done = sweep(
            program,
            plan.components,
            plan.costs,
            chosen,
            plan.plan.compiled.residual,
            done,
            counted.memo(nodes, int(program.table_width.sum())),
            counted.nodes,
            energies,
            cycles,
            status,
            counts,
        )
        nodes = min(4 * nodes, MOST_NODES)
    reads = writes = None
    if traffic:
        shape = (rows, len(architecture.memories), len(layer.tensors))
        reads, writes = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for m, t, read, write in plan.traffic:
            if read != NO_SUM:
                reads[:, m, t] = counts[:, read]
            if write != NO_SUM:
                writes[:, m, t] = counts[:, write]
    for row in np.flatnonzero(status == UNEVEN):
        one = evaluate(layer, architecture, with_tiles(mapping, chosen[row].tolist()), check=False)
        energies[row], cycles[row] = one.energy_pj, one.cycles
        for m, t, _, _ in plan.traffic:
            memory, tensor = architecture.memories[m].name, layer.tensors[t].name
            assert reads is not None and writes is not None
            reads[row, m, t] = one.counts.memories[memory][tensor].reads
            writes[row, m, t] = one.counts.memories[memory][tensor].writes
    return Batch(status != INVALID, energies, cycles, reads, writes)


def with_tiles(mapping: Mapping, tiles: list[int]) -> Mapping:
    """Return a mapping with other tile sizes, given outermost first."""
    rest = iter(tiles)
    return Mapping(
        tuple(
            node if isinstance(node, Store) else replace(node, tile=next(rest))
            for node in mapping.nodes
        )
    )
