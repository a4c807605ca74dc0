"""Counts in closed form: equal to the simulator's, for layers of any size."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Compute, Level, Memory
from tilewright.counts import Counts, NetworkCounts, TensorCounts
from tilewright.errors import InputError
from tilewright.kernels.types import Ints
from tilewright.mapping.nodes import Mapping, Store
from tilewright.model.closed_form.forwarding import fill_held_rows, missing_words
from tilewright.model.closed_form.queries.combine import all_values
from tilewright.model.closed_form.queries.plan import Compiled, compile_queries, word_numbers
from tilewright.model.closed_form.queries.program import HELD
from tilewright.model.closed_form.queries.shapes import MOST_DIMENSIONS, Shape, prototype
from tilewright.model.closed_form.rows import fill_rows
from tilewright.model.closed_form.traffic import Kind, Query, Structure, Sum, Traffic
from tilewright.workload.einsum import MAX_OPERATIONS
from tilewright.workload.layer import Layer

MAX_WINDOW = 2**24
MAX_INDEX = 2**25


@dataclass(frozen=True)
class Plan:
    """A mapping structure compiled for counting.

    Attributes
    ----------
    compiled : Compiled
        The queries that the counts need, as arrays.
    sums : tuple of tuple of (int, int)
        The counts, in the order in which `count` takes them: (position of a query, weight) pairs.
    """

    compiled: Compiled
    sums: tuple[tuple[tuple[int, int], ...], ...]


ShapePlan = tuple[Shape, tuple[tuple[tuple[int, int], ...], ...]]


def plan_sums(layer: Layer, structure: Structure, sums: list[Sum]) -> Plan:
    """Compile sums of queries, each distinct query once."""
    place: dict[Query, int] = {}
    for terms in sums:
        for query in terms:
            place.setdefault(query, len(place))
    compiled = compile_queries(layer, structure, place)
    order = compiled.queries
    place = {query: i for i, query in enumerate(order)}
    return Plan(
        compiled,
        tuple(tuple((place[q], times) for q, times in terms.items()) for terms in sums),
    )


def check_size(layer: Layer) -> None:
    """Refuse a layer whose counts need more than 64 bits, or whose windows take too long."""
    if layer.operations > MAX_OPERATIONS:
        raise InputError(
            f"layer '{layer.name}' has {layer.operations} operations; "
            f"at most 2^61 can be counted exactly"
        )
    for tensor in layer.tensors:
        for terms in tensor.expressions:
            if len(terms) < 2:
                continue
            index = "+".join(map(str, terms))
            place = f"index {index} of tensor '{tensor.name}' in layer '{layer.name}'"
            pairs = prod(layer.bounds[term.dimension] for term in terms)
            if pairs > MAX_WINDOW:
                dimensions = " x ".join(term.dimension for term in terms)
                raise InputError(
                    f"{place} has {dimensions} = {pairs} iterations; at most 2^24 are walked"
                )
            last = sum(t.coefficient * (layer.bounds[t.dimension] - 1) for t in terms)
            if last >= MAX_INDEX:
                raise InputError(f"{place} reaches {last}; below 2^25 can be counted")


@lru_cache(maxsize=256)
def plan(
    layer: Layer, architecture: Architecture, structure: Structure, *, fresh: bool = True
) -> Plan:
    """Compile all counts of a mapping structure."""
    check_size(layer)
    if len(layer.bounds) > MOST_DIMENSIONS:
        return compiled_plan(layer, architecture, structure, fresh=fresh)
    shape, sums = shape_plan(prototype(layer), architecture, structure, fresh=fresh)
    return Plan(shape.fill(layer), sums)


@lru_cache(maxsize=256)
def skeleton(architecture: Architecture) -> Architecture:
    """Return what plans depend on: levels and links, but no sizes, energies or bandwidths."""
    return Architecture("skeleton", tuple(map(bare, architecture.levels)))


def bare(level: Level) -> Level:
    """Return a level of a skeleton."""
    if isinstance(level, Memory):
        return Memory(level.name, 1)
    if isinstance(level, Array):
        axes = dict.fromkeys(level.axes, 1)
        return Array(level.name, axes, level.multicast, level.reduction, level.forwarding)
    return Compute(level.name)


@lru_cache(maxsize=256)
def shape_plan(
    layer: Layer, architecture: Architecture, structure: Structure, *, fresh: bool = True
) -> ShapePlan:
    """Compile all counts of a mapping structure for every layer of a prototype's shape."""
    found = compiled_plan(layer, architecture, structure, fresh=fresh)
    return Shape.of(found.compiled), found.sums


def compiled_plan(
    layer: Layer, architecture: Architecture, structure: Structure, *, fresh: bool = True
) -> Plan:
    """Compile all counts of a mapping structure for one layer."""
    traffic = Traffic(layer, architecture, structure, fresh=fresh)
    return plan_sums(layer, structure, all_sums(layer, architecture, traffic))


def all_sums(layer: Layer, architecture: Architecture, traffic: Traffic) -> list[Sum]:
    """Return what is counted, in the order in which `as_counts` takes it."""
    names = [tensor.name for tensor in layer.tensors]
    sums = [traffic.steps()]
    for memory in architecture.memories:
        for tensor in names:
            sums.append(traffic.peak(memory.name, tensor))
            for alone in (False, True):
                sums.extend(traffic.memory(memory.name, tensor, alone))
    for array in architecture.arrays:
        for tensor in names:
            for alone in (False, True):
                sums.extend(traffic.network(array.name, tensor, alone))
    sums.extend(traffic.instances(level.name) for level in architecture.levels)
    return sums


def missing(layer: Layer, compiled: Compiled, query: Query, tiles: Ints) -> int:
    """Return a query's value, step by step, where instances idle and forward."""
    above = len(query.modes)
    return int(
        missing_words(
            np.array(word_numbers(layer, query.tensor), np.int64),
            compiled.program.bounds,
            compiled.program.loop_dim[:above],
            tiles[:above, 0],
            np.array(query.modes, np.int64),
        )
    )


def count(
    layer: Layer, architecture: Architecture, mapping: Mapping, *, fresh: bool = True
) -> Counts:
    """Count the words that a mapping moves, in closed form.

    Parameters
    ----------
    layer : Layer
        What is computed; at most 2^61 operations, and 2^24 iterations of the dimensions that share
        an index expression.
    architecture : Architecture
        What it runs on.
    mapping : Mapping
        A valid mapping (see `tilewright.mapping.validity.check`); it is not checked here.
    fresh : bool
        Whether the output starts from zero; otherwise the outermost memory already holds partial
        sums of all its words.

    Returns
    -------
    Counts
        Exact integers, equal to those of `tilewright.reference.simulate.simulate`.

    Notes
    -----
    The time does not depend on the number of operations, except where dimensions share an index
    expression (sliding windows): it grows with the product of their bounds at most. With neighbour
    forwarding it is proportional to the bounds of all dimensions, and where array elements idle
    besides, the forwarded words of that link are found step by step, as the simulator does.
    """
    compiled_plan = plan(layer, skeleton(architecture), Structure.of(mapping), fresh=fresh)
    values = query_values(layer, compiled_plan.compiled, mapping)
    totals = [sum(times * values[query] for query, times in terms) for terms in compiled_plan.sums]
    return as_counts(layer, architecture, totals)


def query_values(layer: Layer, compiled: Compiled, mapping: Mapping) -> list[int]:
    """Return the value of each query of a mapping's structure."""
    program = compiled.program
    tiles = np.ones((len(program.loop_dim), 1), np.int64)
    chosen = [node.tile for node in mapping.nodes if not isinstance(node, Store)]
    tiles[: len(chosen), 0] = chosen
    numbers = np.zeros(int(program.table_width.sum()), np.int64)
    todo = np.ones(len(compiled.rows), np.int64)
    fill_rows(program, tiles, compiled.rows, todo, numbers)
    if HELD in program.factor_kind:
        fill_held_rows(program, tiles, compiled.rows, todo, numbers)
    values = all_values(program, tiles, numbers, compiled.rows[:, :, 0]).tolist()
    for i, query in enumerate(compiled.queries):
        if query.kind is Kind.MISSING and values[i] < 0:
            values[i] = missing(layer, compiled, query, tiles)
    found: list[int] = values
    return found


def as_counts(layer: Layer, architecture: Architecture, sums: Iterable[int]) -> Counts:
    """Return counts from the values of `all_sums`."""
    totals = iter(sums)
    names = [tensor.name for tensor in layer.tensors]
    steps = next(totals)
    memories: dict[str, dict[str, TensorCounts]] = {}
    busiest: dict[str, dict[str, TensorCounts]] = {}
    for memory in architecture.memories:
        for tensor in names:
            peak = next(totals)
            for kept in (memories, busiest):
                kept.setdefault(memory.name, {})[tensor] = TensorCounts(
                    next(totals), next(totals), peak
                )
    networks: dict[str, dict[str, NetworkCounts]] = {}
    busiest_networks: dict[str, dict[str, NetworkCounts]] = {}
    for array in architecture.arrays:
        for tensor in names:
            for carried in (networks, busiest_networks):
                carried.setdefault(array.name, {})[tensor] = NetworkCounts(
                    next(totals), next(totals)
                )
    instances = {level.name: next(totals) for level in architecture.levels}
    return Counts(
        operations=layer.operations,
        steps=steps,
        memories=memories,
        networks=networks,
        busiest=busiest,
        busiest_networks=busiest_networks,
        instances=instances,
    )
