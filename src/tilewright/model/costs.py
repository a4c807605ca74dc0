"""A mapping structure compiled for its costs alone, for many tile sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import inf

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapping import validity
from tilewright.mapping.nodes import Mapping
from tilewright.model import energy
from tilewright.model.closed_form.fits import Limits
from tilewright.model.closed_form.limits import limits_of
from tilewright.model.closed_form.queries.locate import Trees
from tilewright.model.closed_form.queries.memo import trees_of
from tilewright.model.closed_form.queries.sweep import NO_SUM, Costs
from tilewright.model.closed_form.traffic import Query, Structure, Sum, Traffic, with_tiles
from tilewright.model.count import Plan, check_size, plan_sums
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class CostPlan:
    """What decides validity, energy and cycles of a mapping structure, compiled.

    Attributes
    ----------
    plan : Plan
        The sums of queries that cost something, and no others.
    limits : Limits
        What tile sizes must fit.
    trees : Trees
        Trees of tile choices.
    quick : array of bool
        Which of them have rows that are quickly computed.
    costs : Costs
        How the sums make up the costs.
    traffic : tuple of (int, int, int, int)
        Memory, tensor, sum of its reads, sum of its writes; empty unless asked for.
    """

    plan: Plan
    limits: Limits
    trees: Trees
    quick: Bools
    costs: Costs
    traffic: tuple[tuple[int, int, int, int], ...]


class _Sums:
    """Sums by number; an empty one, or one that costs nothing, has none."""

    def __init__(self) -> None:
        self.sums: list[Sum] = []
        self._number: dict[tuple[tuple[Query, int], ...], int] = {}

    def add(self, terms: Sum, wanted: bool = True) -> int:
        if not terms or not wanted:
            return NO_SUM
        key = tuple(
            sorted(
                terms.items(), key=lambda item: (item[0].kind.name, item[0].tensor, item[0].modes)
            )
        )
        if key not in self._number:
            self._number[key] = len(self.sums)
            self.sums.append(terms)
        return self._number[key]


def _ints(values: list[int]) -> Ints:
    return np.array(values, np.int64)


def _floats(values: list[float]) -> Floats:
    return np.array(values, np.float64)


@lru_cache(maxsize=64)
def cost_plan(
    layer: Layer, architecture: Architecture, structure: Structure, with_traffic: bool
) -> CostPlan:
    """Compile what costs something, and leave the other counts out."""
    check_size(layer)
    _check_structure(layer, architecture, structure)
    traffic = Traffic(layer, architecture, structure)
    sums = _Sums()
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

    plan = plan_sums(layer, structure, sums.sums)
    costs = Costs(
        varying=plan.compiled.varying,
        sum_start=_ints([0, *accumulate(map(len, plan.sums))]),
        sum_query=_ints([query for terms in plan.sums for query, _ in terms]),
        sum_weight=_ints([weight for terms in plan.sums for _, weight in terms]),
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
    limits = limits_of(layer, architecture, structure)
    trees, quick = trees_of(layer, plan.compiled)
    return CostPlan(plan, limits, trees, quick, costs, tuple(shown) if with_traffic else ())


def _check_structure(layer: Layer, architecture: Architecture, structure: Structure) -> None:
    """Refuse what no tile sizes can mend."""
    mapping = Mapping(structure.nodes)
    validity.check_names(mapping, layer, architecture)
    uncut = with_tiles(mapping, [layer.bounds[node.dimension] for node in structure.loops])
    validity.check_loops(uncut, layer, architecture)
    validity.check_stores(uncut, layer, architecture)
    validity.check_placement(uncut, architecture)
