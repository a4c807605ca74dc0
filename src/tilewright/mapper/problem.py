"""A layer, a machine and a choice of bypasses as plain arrays for the search kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.errors import NoMappingError
from tilewright.mapper import kernels
from tilewright.mapper.lattice import Floats, Ints, Lattice
from tilewright.model.energy import leakage_per_cycle, read_cost, word_ratio, write_cost
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor

MAX_DIMS_IN_EXPRESSION = 3


class Space(NamedTuple):
    """What every bypass choice of one layer and machine shares (plain arrays for the kernels).

    Attributes
    ----------
    moves, strides, quotient, product, sizes, digits, values, repeats, words
        The tile lattice.
    relevant : array of (tensors, dimensions)
    windows : array of tensors
        Position among the tensors that have an index expression with several terms, or -1.
    window_of : array of (windows, dimensions)
        The expression of the tensor in which a dimension slides with others, or -1.
    members, coefs : arrays of (windows, expressions, MAX_DIMS_IN_EXPRESSION)
        Dimensions of that expression, padded with -1, and their coefficients.
    unroll_start : array of arrays + 1
        Where the spatial choices of each array begin in the lists below.
    unroll : array of (choices, dimensions)
        Digit of the spatial factor of each dimension.
    unroll_product : array of choices
    unroll_reuse : array of (choices, tensors)
        Product of the factors of the dimensions irrelevant to the tensor.
    unroll_sharing : array of (choices, tensors)
        Most units that one word of the tensor can serve in a step: the reuse, and for an expression
        of several terms no fewer words than 1 + sum(factor - 1).
    operations : float
    """

    moves: Ints
    strides: Ints
    quotient: Ints
    product: Ints
    sizes: Ints
    digits: Ints
    values: Ints
    repeats: Floats
    words: Ints
    relevant: np.ndarray
    windows: Ints
    window_of: Ints
    members: Ints
    coefs: Ints
    unroll_start: Ints
    unroll: Ints
    unroll_product: Floats
    unroll_reuse: Floats
    unroll_sharing: Floats
    operations: float


class Links(NamedTuple):
    """What one bypass choice costs (plain arrays for the kernels).

    Link l of a tensor runs from its l-th memory to the next one, the last link to the compute unit. T_j are the
    words of a link counted with the first j arrays between its ends summed and the rest united.

    Attributes
    ----------
    count : array of tensors
        Number of links.
    first : array of (segments + 1, tensors)
        Memory links that end above each segment.
    arrays : array of (tensors, links, 2)
        First array that the link crosses, and one past the last.
    unites : array of (arrays, tensors)
        Whether an array unites words of the tensor (multicast, or reduction for the output).
    energy : array of (tensors, links, cuts)
        pJ per word of T_j.
    again : array of (tensors, links)
        pJ per refetched word, T_0 minus the partial sums that start from zero.
    fresh : array of (tensors, links)
        1 when the receiver starts every entry from zero (no spatial reduction), else 0.
    capacity : array of memories
        Bits, infinite when unbounded or partitioned.
    bits : array of (tensors, links)
        Bits that one word of a tile takes at the receiving memory, buffering included; -1 at the compute unit.
    share : array of (tensors, links)
        Bits that the tensor may take there at most.
    memory : array of (tensors, links)
        Position of the receiving memory.
    most : array of (tensors, links)
        Most operations that a word of a sliding tensor serves there, see `kernels.most_reuse`.
    load : array of (resources, tensors, links, cuts)
        Cycles of a bandwidth-limited port per word of T_j, over all instances.
    held : array of (resources, tensors, links)
        Cycles per distinct output word of one instance that are not spent.
    load_arrays : array of resources
        Arrays above the port.
    rate : array of (choices, tensors)
        pJ per word delivered by the link that crosses an array, for each of its spatial choices.
    least : array of (arrays, tensors)
        Least pJ of such a link per word that its sender reads.
    table : array of (arrays, shapes, tensors + 1)
        Lower bound of the links that cross an array, see `kernels.inner_table`.
    rest_slope, rest_base : arrays of (arrays, tensors)
        Lower bound of the links inside it: slope x words + base.
    cycles : float
        Cycles per operation.
    leakage : float
        pJ per cycle.
    """

    count: Ints
    first: Ints
    arrays: Ints
    unites: np.ndarray
    energy: Floats
    again: Floats
    fresh: Ints
    capacity: Floats
    bits: Floats
    share: Floats
    memory: Ints
    most: Floats
    load: Floats
    held: Floats
    load_arrays: Ints
    rate: Floats
    least: Floats
    table: Floats
    rest_slope: Floats
    rest_base: Floats
    cycles: float
    leakage: float


@dataclass(frozen=True)
class Unrolling:
    """One spatial choice of an array: factors per axis."""

    factors: tuple[tuple[str, str, int], ...]  # (axis, dimension, factor)


def axis_choices(
    layer: Layer, tiles: Lattice, allowed: frozenset[str] | None, size: int
) -> list[dict[str, int]]:
    """Return every way to unroll dimensions along one axis with factors that divide the bounds."""
    choices: list[dict[str, int]] = [{}]
    for i, name in enumerate(tiles.dimensions):
        if allowed is not None and name not in allowed:
            continue
        factors = [int(v) for v in tiles.values[i, : tiles.sizes[i]] if 1 < v <= size]
        choices += [
            {**choice, name: f}
            for choice in choices
            for f in factors
            if prod(choice.values()) * f <= size
        ]
    return choices


def array_choices(
    layer: Layer, tiles: Lattice, architecture: Architecture, array: Array
) -> tuple[list[Unrolling], Ints]:
    """Return the spatial choices of an array, without those that differ in the axes alone."""
    seen: dict[tuple[int, ...], Unrolling] = {}
    per_axis = [
        axis_choices(layer, tiles, architecture.allowed_dimensions(array.name, axis), size)
        for axis, size in array.axes.items()
    ]
    bounds = [layer.bounds[d] for d in tiles.dimensions]
    totals: dict[tuple[int, ...], tuple[tuple[str, str, int], ...]] = {(1,) * len(bounds): ()}
    for axis, choices in zip(array.axes, per_axis, strict=True):
        grown = dict(totals)
        for total, factors in totals.items():
            for choice in choices:
                vector = tuple(
                    f * choice.get(d, 1) for f, d in zip(total, tiles.dimensions, strict=True)
                )
                if vector in grown or any(b % v for b, v in zip(bounds, vector, strict=True)):
                    continue
                grown[vector] = factors + tuple((axis, d, f) for d, f in choice.items())
        totals = grown
    for total in sorted(totals, key=lambda v: (-prod(v), v)):
        seen[total] = Unrolling(totals[total])
    digit = [
        {int(v): k for k, v in enumerate(tiles.values[i, : tiles.sizes[i]])}
        for i in range(len(bounds))
    ]
    table = np.array(
        [[digit[i][v] for i, v in enumerate(total)] for total in seen], np.int64
    ).reshape(len(seen), len(bounds))
    return list(seen.values()), table


def space(layer: Layer, tiles: Lattice, architecture: Architecture) -> tuple[Space, list[Unrolling]]:
    """Return the arrays that every bypass choice shares, and the spatial choices in words."""
    position = {d: i for i, d in enumerate(tiles.dimensions)}
    nt, nd = len(layer.tensors), len(position)
    relevant = np.zeros((nt, nd), np.bool_)
    windows = np.full(nt, -1, np.int64)
    rows = []
    for t, tensor in enumerate(layer.tensors):
        for d in tensor.dimensions:
            if d in position:
                relevant[t, position[d]] = True
        live = [
            [(term.coefficient, position[term.dimension]) for term in terms if term.dimension in position]
            for terms in tensor.expressions
        ]
        sliding = [terms for terms in live if len(terms) > 1]
        if sliding:
            windows[t] = len(rows)
            rows.append(sliding)
    nw = max(1, len(rows))
    ne = max([1, *(len(sliding) for sliding in rows)])
    width = max([MAX_DIMS_IN_EXPRESSION, *(len(terms) for sliding in rows for terms in sliding)])
    window_of = np.full((nw, max(nd, 1)), -1, np.int64)
    members = np.full((nw, ne, width), -1, np.int64)
    coefs = np.ones((nw, ne, width), np.int64)
    for w, sliding in enumerate(rows):
        for e, terms in enumerate(sliding):
            for k, (coefficient, i) in enumerate(terms):
                window_of[w, i] = e
                members[w, e, k] = i
                coefs[w, e, k] = coefficient
    names: list[Unrolling] = []
    tables = [np.zeros((0, nd), np.int64)]
    start = [0]
    for array in architecture.arrays:
        own, table = array_choices(layer, tiles, architecture, array)
        names += own
        tables.append(table)
        start.append(start[-1] + len(own))
    unroll = np.concatenate(tables)
    factors = np.ones((len(unroll), nd))
    for i in range(nd):
        factors[:, i] = tiles.values[i, unroll[:, i]]
    reuse = np.ones((len(unroll), nt))
    for t in range(nt):
        reuse[:, t] = factors[:, ~relevant[t]].prod(axis=1)
    sharing = reuse.copy()
    for t in np.flatnonzero(windows >= 0):
        for group in members[windows[t]]:
            own = factors[:, group[group >= 0]]
            sharing[:, t] *= own.prod(axis=1) / (1 + (own - 1).sum(axis=1))
    return (
        Space(
            tiles.moves, tiles.strides, tiles.quotient, tiles.product, tiles.sizes, tiles.digits, tiles.values, tiles.repeats,
            tiles.words, relevant, windows, window_of, members, coefs,
            np.array(start, np.int64), unroll, factors.prod(axis=1), reuse, sharing, float(layer.operations),
        ),
        names,
    )


Keep = tuple[tuple[int, ...], ...]
"""Per tensor the positions of the memories that store it, outermost first."""


def keep_choices(layer: Layer, architecture: Architecture) -> Iterator[Keep]:
    """Yield every way to store or bypass, keeping as much as possible first.

    Raises
    ------
    NoMappingError
        When the outermost memory may not store a tensor.
    """
    per_tensor = []
    memories = architecture.memories
    for tensor in layer.tensors:
        if not memories[0].may_store(tensor.role):
            raise NoMappingError(
                f"no mapping of layer '{layer.name}' exists on '{architecture.name}': the outermost "
                f"memory '{memories[0].name}' may not store tensor '{tensor.name}'"
            )
        options: list[tuple[bool, ...]] = []
        for memory in memories[1:]:
            if tensor.role in memory.must_keep:
                options.append((True,))
            else:
                options.append((True, False) if memory.may_store(tensor.role) else (False,))
        per_tensor.append(
            [
                (0, *(i + 1 for i, kept in enumerate(choice) if kept))
                for choice in product(*options)
            ]
        )
    choices = list(product(*per_tensor))
    yield from sorted(choices, key=lambda c: (-sum(map(len, c)), c))


def segment_of(architecture: Architecture) -> list[int]:
    """Return for each memory how many arrays stand above it."""
    result = []
    arrays = 0
    for level in architecture.levels:
        if isinstance(level, Array):
            arrays += 1
        elif isinstance(level, Memory):
            result.append(arrays)
    return result


def ports(architecture: Architecture) -> list[tuple[str, object, str, float, int]]:
    """Return the bandwidth limits: (kind, level, 'read'|'write'|'both', words per cycle, arrays above)."""
    found: list[tuple[str, object, str, float, int]] = []
    arrays = 0
    for level in architecture.levels:
        if isinstance(level, Array):
            if level.bandwidth is not None:
                found.append(("array", level, "both", level.bandwidth, arrays))
            arrays += 1
        elif isinstance(level, Memory):
            for kind, limit in (
                ("read", level.read_bandwidth),
                ("write", level.write_bandwidth),
                ("both", level.shared_bandwidth),
            ):
                if limit is not None:
                    found.append(("memory", level, kind, limit, arrays))
    return found


def links(layer: Layer, architecture: Architecture, keep: Keep, sp: Space) -> Links:
    """Return the costs of one bypass choice as plain arrays."""
    memories, arrays = architecture.memories, architecture.arrays
    segment = segment_of(architecture)
    nt, na = len(layer.tensors), len(arrays)
    nl = max(len(chain) for chain in keep)
    limits = ports(architecture)
    count = np.array([len(chain) for chain in keep], np.int64)
    first = np.zeros((na + 2, nt), np.int64)
    crossed = np.zeros((nt, nl, 2), np.int64)
    unites = np.zeros((max(na, 1), nt), np.bool_)
    energy = np.zeros((nt, nl, na + 1))
    again = np.zeros((nt, nl))
    fresh = np.zeros((nt, nl), np.int64)
    bits = np.full((nt, nl), -1.0)
    share = np.full((nt, nl), np.inf)
    memory = np.full((nt, nl), -1, np.int64)
    load = np.zeros((len(limits), nt, nl, na + 1))
    held = np.zeros((len(limits), nt, nl))
    slope = np.zeros((nt, nl + 1))
    base = np.zeros((nt, nl + 1))
    for t, (tensor, chain) in enumerate(zip(layer.tensors, keep, strict=True)):
        for s in range(na + 2):
            first[s, t] = sum(segment[m] < s for m in chain) - 1 if s else 0
        for k, array in enumerate(arrays):
            unites[k, t] = array.reduction if tensor.is_output else array.multicast
        for l, m in enumerate(chain):
            a = memories[m]
            b = memories[chain[l + 1]] if l + 1 < len(chain) else None
            lo = segment[m]
            hi = segment[chain[l + 1]] if b is not None else na
            crossed[t, l] = lo, hi
            n = hi - lo
            reduces = all(array.reduction for array in arrays[lo:hi])
            if b is not None:
                memory[t, l] = chain[l + 1]
                bits[t, l] = (tensor.bits or b.word_bits) * b.buffering
                if b.tensor_bits is not None:
                    share[t, l] = b.tensor_bits[tensor.role]
            for i, array in enumerate(arrays[lo:hi]):
                energy[t, l, i + 1] += array.hop_energy
            if tensor.is_output:
                energy[t, l, 0] += write_cost(a, tensor)
                again[t, l] = read_cost(a, tensor)
                if b is not None:
                    energy[t, l, n] += read_cost(b, tensor)
                    fresh[t, l] = not reduces
                    if reduces:
                        again[t, l] += write_cost(b, tensor)
                        again[t, l] += sum(array.hop_energy for array in arrays[lo:hi])
            else:
                energy[t, l, 0] += read_cost(a, tensor)
                if b is not None:
                    energy[t, l, n] += write_cost(b, tensor)
            for r, limit in enumerate(limits):
                _add_load(load[r, t, l], held[r, t, l : l + 1], limit, architecture, tensor, a, b, lo, hi, reduces)
        _bounds(layer, architecture, tensor, chain, segment, energy[t], slope[t], base[t])
    capacity = np.array(
        [np.inf if m.capacity_bits is None else float(m.capacity_bits) for m in memories]
    )
    rates = []
    least, rest_slope, rest_base = np.zeros((3, na, nt))
    for k in range(na):
        own = slice(sp.unroll_start[k], sp.unroll_start[k + 1])
        rate = np.zeros((own.stop - own.start, nt))
        for t, (tensor, chain) in enumerate(zip(layer.tensors, keep, strict=True)):
            l = next(i for i in range(len(chain)) if crossed[t, i, 1] > k)
            last = len(chain) - 1
            lo, hi = crossed[t, l]
            cost = energy[t, l, : hi - lo + 1].copy()
            distinct = footprint(tensor, layer.bounds)
            if tensor.is_output:
                if k == 0:
                    # every word beyond the first entry is refetched
                    cost[0] += again[t, l]
                    rest_base[k, t] -= again[t, l] * distinct
                if l == last - 1:
                    # entries from zero save reads at the compute unit, refetches do not
                    cost[hi - lo] -= again[t, last]
                    if k == 0:
                        cost[0] += again[t, last]
                        rest_base[k, t] -= again[t, last] * distinct
            spread = np.ones(len(rate))
            for j in range(hi - lo, -1, -1):
                rate[:, t] += cost[j] * spread
                if j > 0 and unites[lo + j - 1, t]:
                    if lo + j - 1 != k:
                        spread = spread / arrays[lo + j - 1].elements
                    elif l == last:
                        spread = spread / sp.unroll_sharing[own, t]
                    else:
                        spread = spread / sp.unroll_reuse[own, t]
            if l < last:
                rest_slope[k, t] += slope[t, l + 1]
                rest_base[k, t] += base[t, l + 1]
                if tensor.is_output and l == last - 1:
                    inside = [a.elements if a.reduction else 1 for a in arrays[crossed[t, last, 0] :]]
                    rest_base[k, t] += again[t, last] * layer.operations / prod(inside)
            united = sp.unroll_reuse[own, t] if unites[k, t] else 1.0
            least[k, t] = (rate[:, t] * united).min()
        rates.append(rate)
    return Links(
        count, first, crossed, unites, energy, again, fresh, capacity, bits, share, memory, np.zeros((nt, nl)), load,
        held, np.array([limit[4] for limit in limits], np.int64),
        np.concatenate([np.zeros((0, nt)), *rates]), least, np.zeros((na, len(sp.repeats), nt + 1)),
        rest_slope, rest_base,
        float(architecture.compute.cycles), leakage_per_cycle(architecture),
    )


def with_tables(sp: Space, lk: Links, segment: list[int]) -> Links:
    """Return the costs with the bounds of what crosses each array, for every shape."""
    na, nt = len(sp.unroll_start) - 1, sp.relevant.shape[0]
    for t in np.flatnonzero(sp.windows >= 0):
        for l in range(lk.count[t] - 1):
            limit = min(lk.share[t, l], lk.capacity[lk.memory[t, l]])
            if np.isfinite(limit):
                lk.most[t, l] = kernels.most_reuse(sp, t, lk.bits[t, l], limit)
    table = np.full((na, len(sp.repeats), nt + 1), np.inf)
    allowed = np.ones(len(sp.repeats), np.bool_)
    for k in range(na):
        for m in np.flatnonzero(np.array(segment) == k):
            used_bits = np.zeros(len(sp.repeats))
            for t in range(nt):
                for l in range(lk.count[t] - 1):
                    if lk.memory[t, l] == m:
                        own_bits = lk.bits[t, l] * sp.words[t]
                        used_bits += own_bits
                        allowed &= own_bits <= lk.share[t, l]
            allowed &= used_bits <= lk.capacity[m]
        used = np.zeros(nt, np.int64)
        own, most = np.zeros(nt), np.zeros(nt)
        below = np.full(nt, -1, np.int64)
        bits, room, part = np.ones(nt), np.full(nt, np.inf), np.full(nt, np.inf)
        for t in range(nt):
            l = next(i for i in range(lk.count[t]) if lk.arrays[t, i, 1] > k)
            if l == lk.count[t] - 1:
                continue
            used[t] = 1
            if sp.windows[t] >= 0 and t < nt - 1:
                own[t], most[t] = lk.energy[t, l, lk.arrays[t, l, 1] - lk.arrays[t, l, 0]], lk.most[t, l]
            if segment[lk.memory[t, l]] == k + 1:
                below[t] = lk.memory[t, l]
                bits[t], room[t] = lk.bits[t, l], lk.capacity[below[t]]
                part[t] = lk.share[t, l]
        # u counts for dimensions irrelevant to exactly one tensor that is stored below
        irrelevant = ((~sp.relevant) & (used == 1)[:, None]).sum(axis=0)
        begin = sp.unroll_start[k]
        kernels.inner_table(
            sp, begin, lk.rate[begin : sp.unroll_start[k + 1]], own, most, used,
            irrelevant == 1, irrelevant > 1, bits, room, part, below, allowed, table[k],
        )  # fmt: skip
    return lk._replace(table=table)


def _add_load(
    load: Floats,
    held: Floats,
    limit: tuple[str, object, str, float, int],
    architecture: Architecture,
    tensor: Tensor,
    a: Memory,
    b: Memory | None,
    lo: int,
    hi: int,
    reduces: bool,
) -> None:
    """Add what one link asks of one bandwidth-limited port."""
    kind, level, direction, rate, above = limit
    n = hi - lo
    reads, writes = direction in ("read", "both"), direction in ("write", "both")
    if kind == "array":
        if not lo <= above < hi:
            return
        load[above - lo] += 1 / rate
        if tensor.is_output and b is not None and reduces:
            load[above - lo] += 1 / rate
            held[0] += 1 / rate
        return
    assert isinstance(level, Memory)
    per_word = word_ratio(level, tensor) / rate
    if level is a:
        if not tensor.is_output:
            load[0] += per_word * reads
        else:
            load[0] += per_word * (writes + reads)
            held[0] += per_word * reads
    if level is b:
        if not tensor.is_output:
            load[n] += per_word * writes
        else:
            load[n] += per_word * reads
            if reduces:
                load[n] += per_word * writes
                held[0] += per_word * writes


def _bounds(
    layer: Layer,
    architecture: Architecture,
    tensor: Tensor,
    chain: tuple[int, ...],
    segment: list[int],
    energy: Floats,
    slope: Floats,
    base: Floats,
) -> None:
    """Fill the lower bounds of a tensor's remaining links (see docs: how the mapper proves its result)."""
    arrays = architecture.arrays
    last = len(chain) - 1
    innermost = architecture.memories[chain[-1]]
    for l in range(last, -1, -1):
        lo = segment[chain[l]]
        hi = segment[chain[l + 1]] if l < last else len(arrays)
        n = hi - lo
        spread = [
            prod(
                (array.elements if (array.reduction if tensor.is_output else array.multicast) else 1)
                for array in arrays[lo + j : hi]
            )
            for j in range(n + 1)
        ]
        slope[l], base[l] = slope[l + 1], base[l + 1]
        own = energy[l, : n + 1].copy()
        if l == last:
            base[l] += sum(own[j] / spread[j] for j in range(n + 1)) * layer.operations
            continue
        if tensor.is_output and l == last - 1:
            # draining the innermost memory costs what entries from zero save at the compute unit
            own[n] -= read_cost(innermost, tensor)
            inside = [a.elements if a.reduction else 1 for a in arrays[segment[chain[-1]] :]]
            base[l] += read_cost(innermost, tensor) * layer.operations / prod(inside)
        slope[l] += sum(max(own[j], 0.0) / spread[j] for j in range(n + 1))
