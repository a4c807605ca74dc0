"""What one bypass choice of a layer and a machine costs, as plain arrays for the kernels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.errors import NoMappingError
from tilewright.mapper.lattice import Floats, Ints
from tilewright.mapper.narrow import KeepChoice, worth_walking
from tilewright.mapper.problem import Bools, Space
from tilewright.mapper.remaining import Reach
from tilewright.model.energy import leakage_per_cycle, read_cost, word_ratio, write_cost
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor

NOTHING_KNOWN = Reach(
    np.full((0, 0, 0), -1, np.int64),
    np.zeros((0, 0), np.int64),
    np.zeros((0, 0), np.int64),
    np.zeros(0),
    np.zeros(0),
)


class Links(NamedTuple):
    """What one bypass choice costs (plain arrays for the kernels).

    Link l of a tensor runs from its l-th memory to the next one, the last link to the compute
    unit. T_j are its words with the first j arrays between its ends summed and the rest united.

    Attributes
    ----------
    length : array of tensors
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
        Bits that one word of a tile takes at the receiving memory, buffering included; -1 at
        the compute unit.
    share : array of (tensors, links)
        Bits that the tensor may take there at most.
    memory : array of (tensors, links)
        Position of the receiving memory.
    most : array of (tensors, links)
        Most operations that a word of a sliding tensor serves there per iteration of the
        dimensions irrelevant to it, see `slides.option_reuse`; 0 where not known.
    slot : array of (tensors, links)
        Position of the receiving memory among those between the same arrays.
    ahead : Reach
        The same for a sliding tensor whose link crosses one array, from every shape on.
    load : array of (resources, tensors, links, cuts)
        Cycles of a bandwidth-limited port per word of T_j, over all instances.
    held : array of (resources, tensors, links)
        Cycles per output word that are not spent where its partial sum starts from zero.
    load_arrays : array of resources
        Arrays above the port.
    rate : array of (choices, tensors)
        pJ per word delivered by the link that crosses an array, for each of its spatial choices.
    least : array of (arrays, tensors)
        Least pJ of such a link per word that its sender reads.
    table : array of (arrays, shapes, 2 x tensors + 1)
        Lower bound of the links that cross an array, see `tables.inner_table`.
    rest_slope, rest_base : arrays of (arrays, tensors)
        Lower bound of the links inside it: slope x words + base.
    cycles : float
        Cycles per operation.
    leakage : float
        pJ per cycle.
    filling : array of (segments, stages, slots)
        Whether a memory has to be used by more bits than some labels may use, see `limits`.
    reach : bool
        Whether any mapping will do, so that labels that can be completed alike are one.
    """

    length: Ints
    first: Ints
    arrays: Ints
    unites: Bools
    energy: Floats
    again: Floats
    fresh: Ints
    capacity: Floats
    bits: Floats
    share: Floats
    memory: Ints
    most: Floats
    slot: Ints
    ahead: Reach
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
    filling: Bools
    reach: bool


Keep = KeepChoice


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
                f"no mapping of layer '{layer.name}' exists on '{architecture.name}': the "
                f"outermost memory '{memories[0].name}' may not store tensor '{tensor.name}'"
            )
        options: list[tuple[bool, ...]] = []
        for memory in memories[1:]:
            stored = (True,) if memory.may_store(tensor.role) else ()
            bypassed = () if tensor.role in memory.must_keep else (False,)
            options.append((*stored, *bypassed))
        per_tensor.append(
            [(0, *(i + 1 for i, kept in enumerate(choice) if kept)) for choice in product(*options)]
        )
    choices = [c for c in product(*per_tensor) if worth_walking(layer, architecture, c)]
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
    """Return the bandwidth limits.

    Each is (kind of level, level, "read", "write" or "both", words per cycle, arrays above).
    """
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
    length = np.array([len(chain) for chain in keep], np.int64)
    first = np.zeros((na + 2, nt), np.int64)
    crossed = np.zeros((nt, nl, 2), np.int64)
    unites = np.zeros((max(na, 1), nt), np.bool_)
    energy = np.zeros((nt, nl, na + 1))
    again = np.zeros((nt, nl))
    fresh = np.zeros((nt, nl), np.int64)
    bits = np.full((nt, nl), -1.0)
    share = np.full((nt, nl), np.inf)
    memory = np.full((nt, nl), -1, np.int64)
    slot = np.zeros((nt, nl), np.int64)
    load = np.zeros((len(limits), nt, nl, na + 1))
    held = np.zeros((len(limits), nt, nl))
    slope = np.zeros((nt, nl + 1))
    base = np.zeros((nt, nl + 1))
    for t, (tensor, chain) in enumerate(zip(layer.tensors, keep, strict=True)):
        for s in range(na + 2):
            first[s, t] = sum(segment[m] < s for m in chain) - 1 if s else 0
        for k, array in enumerate(arrays):
            unites[k, t] = array.reduction if tensor.is_output else array.multicast
        for link, m in enumerate(chain):
            a = memories[m]
            b = memories[chain[link + 1]] if link + 1 < len(chain) else None
            lo = segment[m]
            hi = segment[chain[link + 1]] if b is not None else na
            crossed[t, link] = lo, hi
            n = hi - lo
            reduces = all(array.reduction for array in arrays[lo:hi])
            if b is not None:
                memory[t, link] = chain[link + 1]
                slot[t, link] = segment[: chain[link + 1]].count(segment[chain[link + 1]])
                bits[t, link] = (tensor.bits or b.word_bits) * b.buffering
                if b.tensor_bits is not None:
                    share[t, link] = b.tensor_bits[tensor.role]
            for i, array in enumerate(arrays[lo:hi]):
                energy[t, link, i + 1] += array.hop_energy
            if tensor.is_output:
                energy[t, link, 0] += write_cost(a, tensor)
                again[t, link] = read_cost(a, tensor)
                if b is not None:
                    energy[t, link, n] += read_cost(b, tensor)
                    fresh[t, link] = not reduces
                    if reduces:
                        again[t, link] += write_cost(b, tensor)
                        again[t, link] += sum(array.hop_energy for array in arrays[lo:hi])
            else:
                energy[t, link, 0] += read_cost(a, tensor)
                if b is not None:
                    energy[t, link, n] += write_cost(b, tensor)
            for r, limit in enumerate(limits):
                _add_load(
                    load[r, t, link],
                    held[r, t, link : link + 1],
                    limit,
                    architecture,
                    tensor,
                    a,
                    b,
                    lo,
                    hi,
                    reduces,
                )
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
            link = next(i for i in range(len(chain)) if crossed[t, i, 1] > k)
            last = len(chain) - 1
            lo, hi = crossed[t, link]
            cost = energy[t, link, : hi - lo + 1].copy()
            distinct = footprint(tensor, layer.bounds)
            if tensor.is_output:
                if k == 0:
                    # every word beyond the first entry is refetched
                    cost[0] += again[t, link]
                    rest_base[k, t] -= again[t, link] * distinct
                if link == last - 1:
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
                    elif link == last:
                        spread = spread / sp.unroll_sharing[own, t]
                    else:
                        spread = spread / sp.unroll_reuse[own, t]
            if link < last:
                rest_slope[k, t] += slope[t, link + 1]
                rest_base[k, t] += base[t, link + 1]
                if tensor.is_output and link == last - 1:
                    inside = [
                        a.elements if a.reduction else 1 for a in arrays[crossed[t, last, 0] :]
                    ]
                    rest_base[k, t] += again[t, last] * layer.operations / prod(inside)
            united = sp.unroll_reuse[own, t] if unites[k, t] else 1.0
            least[k, t] = (rate[:, t] * united).min()
        rates.append(rate)
    return Links(
        length,
        first,
        crossed,
        unites,
        energy,
        again,
        fresh,
        capacity,
        bits,
        share,
        memory,
        np.zeros((nt, nl)),
        slot,
        NOTHING_KNOWN,
        load,
        held,
        np.array([limit[4] for limit in limits], np.int64),
        np.concatenate([np.zeros((0, nt)), *rates]),
        least,
        np.zeros((na, len(sp.repeats), 2 * nt + 1)),
        rest_slope,
        rest_base,
        float(architecture.compute.cycles),
        leakage_per_cycle(architecture),
        np.zeros((0, 0, 0), np.bool_),
        False,
    )


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
    """Fill lower bounds of a tensor's links from each one inward: slope x words + base."""
    arrays = architecture.arrays
    last = len(chain) - 1
    innermost = architecture.memories[chain[-1]]
    for link in range(last, -1, -1):
        lo = segment[chain[link]]
        hi = segment[chain[link + 1]] if link < last else len(arrays)
        n = hi - lo
        spread = [
            prod(
                (
                    array.elements
                    if (array.reduction if tensor.is_output else array.multicast)
                    else 1
                )
                for array in arrays[lo + j : hi]
            )
            for j in range(n + 1)
        ]
        slope[link], base[link] = slope[link + 1], base[link + 1]
        own = energy[link, : n + 1].copy()
        if link == last:
            base[link] += sum(own[j] / spread[j] for j in range(n + 1)) * layer.operations
            continue
        if tensor.is_output and link == last - 1:
            # draining the innermost memory costs what entries from zero save at the compute unit
            own[n] -= read_cost(innermost, tensor)
            inside = [a.elements if a.reduction else 1 for a in arrays[segment[chain[-1]] :]]
            base[link] += read_cost(innermost, tensor) * layer.operations / prod(inside)
        slope[link] += sum(max(own[j], 0.0) / spread[j] for j in range(n + 1))
