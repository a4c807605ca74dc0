"""What one tensor costs that is stored in some memories, as plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.problem.space import Space
from tilewright.model.energy import read_cost, word_ratio, write_cost
from tilewright.workload.footprint import footprint
from tilewright.workload.layer import Layer, Tensor

Port = tuple[str, object, str, float, int]
"""A bandwidth limit, see `link_costs.ports`."""


class Chain(NamedTuple):
    """What one tensor costs: the arrays of `link_costs.Links` without their axis of tensors."""

    length: int
    first: Ints
    arrays: Ints
    unites: Bools
    energy: Floats
    again: Floats
    fresh: Ints
    bits: Floats
    share: Floats
    memory: Ints
    slot: Ints
    load: Floats
    held: Floats
    rate: Floats
    least: Floats
    rest_slope: Floats
    rest_base: Floats


def chain_costs(
    layer: Layer,
    architecture: Architecture,
    t: int,
    chain: tuple[int, ...],
    sp: Space,
    segment: list[int],
    limits: list[Port],
) -> Chain:
    """Return what a tensor costs that is stored in a chain of memories.

    Parameters
    ----------
    t : int
        Position of the tensor.
    chain : tuple of int
        Positions of the memories, from the outermost inward.
    segment : list of int
        How many arrays stand above each memory.
    limits : list of ports
        The bandwidth limits.
    """
    memories, arrays = architecture.memories, architecture.arrays
    tensor = layer.tensors[t]
    na, nl = len(arrays), len(memories)
    first = np.array([0] + [sum(segment[m] < s for m in chain) - 1 for s in range(1, na + 2)])
    unites = np.zeros(max(na, 1), np.bool_)
    unites[:na] = [array.reduction if tensor.is_output else array.multicast for array in arrays]
    crossed = np.zeros((nl, 2), np.int64)
    energy, again, fresh = np.zeros((nl, na + 1)), np.zeros(nl), np.zeros(nl, np.int64)
    bits, share = np.full(nl, -1.0), np.full(nl, np.inf)
    memory = np.full(nl, -1, np.int64)
    slot = np.zeros(nl, np.int64)
    load = np.zeros((len(limits), nl, na + 1))
    held = np.zeros((len(limits), nl))
    for link, m in enumerate(chain):
        a = memories[m]
        b = memories[chain[link + 1]] if link < len(chain) - 1 else None
        lo, hi = segment[m], segment[chain[link + 1]] if b is not None else na
        crossed[link] = lo, hi
        n = hi - lo
        reduces = all(array.reduction for array in arrays[lo:hi])
        # what neighbours pass on no memory sends: with windows the sender is free of charge, which
        # makes a bound; without them elements that work in step never hold what comes next
        passed = any(array.forwarding for array in arrays[lo:hi])
        passed = passed and b is not None and not tensor.is_output and sp.windows[t] >= 0
        if b is not None:
            memory[link] = chain[link + 1]
            slot[link] = segment[: chain[link + 1]].count(segment[chain[link + 1]])
            bits[link] = b.bits_held(tensor.name, tensor.bits)
            if b.tensor_bits is not None:
                share[link] = b.tensor_bits[tensor.role]
        hops = [array.hop_energy for array in arrays[lo:hi]]
        energy[link, 1 : n + 1] = hops
        if tensor.is_output:
            energy[link, 0] += write_cost(a, tensor)
            again[link] = read_cost(a, tensor)
            if b is not None:
                energy[link, n] += read_cost(b, tensor)
                fresh[link] = not reduces
                if reduces:
                    again[link] += write_cost(b, tensor)
                    again[link] += sum(hops)
        else:
            if not passed:
                energy[link, 0] += read_cost(a, tensor)
            if b is not None:
                energy[link, n] += write_cost(b, tensor)
        for r, limit in enumerate(limits):
            if not passed or limit[1] is b:
                own = held[r, link : link + 1]
                _add_load(load[r, link], own, limit, tensor, (a, b), (lo, hi), reduces)
    found = Chain(
        length=len(chain),
        first=first,
        arrays=crossed,
        unites=unites,
        energy=energy,
        again=again,
        fresh=fresh,
        bits=bits,
        share=share,
        memory=memory,
        slot=slot,
        load=load,
        held=held,
        rate=np.zeros(0),
        least=np.zeros(na),
        rest_slope=np.zeros(na),
        rest_base=np.zeros(na),
    )
    return across_arrays(found, layer, architecture, t, sp)


def across_arrays(
    chain: Chain, layer: Layer, architecture: Architecture, t: int, sp: Space
) -> Chain:
    """Return a chain with what crosses each array, and what is below it, at least."""
    arrays, tensor = architecture.arrays, layer.tensors[t]
    energy, again, unites, last = chain.energy, chain.again, chain.unites, chain.length - 1
    slope, base = inward(chain, layer, architecture, tensor)
    rates = []
    least, rest_slope, rest_base = np.zeros((3, len(arrays)))
    distinct = footprint(tensor, layer.bounds)
    for k in range(len(arrays)):
        own = slice(sp.unroll_start[k], sp.unroll_start[k + 1])
        link = next(i for i in range(chain.length) if chain.arrays[i, 1] > k)
        lo, hi = chain.arrays[link]
        cost = energy[link, : hi - lo + 1].copy()
        if tensor.is_output:
            if k == 0:
                # every word beyond the first entry is refetched
                cost[0] += again[link]
                rest_base[k] -= again[link] * distinct
            if link == last - 1:
                # entries from zero save reads at the compute unit, refetches do not
                cost[hi - lo] -= again[last]
                if k == 0 and not chain.fresh[link]:
                    cost[0] += again[last]
                    rest_base[k] -= again[last] * distinct
        shares = (sp.unroll_sharing if link == last else sp.unroll_reuse)[own, t]
        rate = rate_across(cost, arrays[lo:hi], unites[lo:hi], k - lo, shares, link == last)
        if link < last:
            rest_slope[k] += slope[link + 1]
            rest_base[k] += base[link + 1]
            if tensor.is_output and link == last - 1:
                adders = [a.elements if a.reduction else 1 for a in arrays[chain.arrays[last, 0] :]]
                rest_base[k] += again[last] * layer.operations / prod(adders)
        united = sp.unroll_reuse[own, t] if unites[k] else 1.0
        least[k] = (rate * united).min()
        rates.append(rate)
    rate = np.concatenate([np.zeros(0), *rates])
    return chain._replace(rate=rate, least=least, rest_slope=rest_slope, rest_base=rest_base)


def rate_across(
    cost: Floats, arrays: Sequence[Array], unites: Bools, own: int, shares: Floats, every: bool
) -> Floats:
    """Return the pJ per word that a link delivers, for every spatial choice of one of its arrays.

    Parameters
    ----------
    cost : array of cuts
        pJ per word of T_j.
    arrays : sequence of Array
        Those that the link crosses; elements of all but `own` share as much as they can.
    shares : array of choices
        How many elements of that one share a word.
    every : bool
        Whether words are those that all receivers get, as at the compute unit. Else they are those
        that pass the array, of which arrays further in make no fewer.
    """
    rate = np.zeros(len(shares))
    spread = np.ones(len(shares))
    for j in range(len(cost) - 1, -1, -1):
        rate += cost[j] * spread
        if j > 0 and unites[j - 1]:
            if j - 1 == own:
                spread = spread / shares
            elif every or j - 1 < own:
                spread = spread / arrays[j - 1].elements
    return rate


def _add_load(
    load: Floats,
    held: Floats,
    limit: Port,
    tensor: Tensor,
    memories: tuple[Memory, Memory | None],
    crossed: tuple[int, int],
    reduces: bool,
) -> None:
    """Add what a link from one memory to the other, through some arrays, asks of one port."""
    kind, level, direction, rate, above = limit
    (a, b), (lo, hi) = memories, crossed
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


def inward(
    chain: Chain, layer: Layer, architecture: Architecture, tensor: Tensor
) -> tuple[Floats, Floats]:
    """Return lower bounds of a tensor's links from each one inward: slope x words + base."""
    arrays, last = architecture.arrays, chain.length - 1
    most = [
        array.elements if unites else 1
        for array, unites in zip(arrays, chain.unites.tolist(), strict=False)
    ]
    slope, base = np.zeros((2, len(chain.again) + 1))
    for link in range(last, -1, -1):
        lo, hi = chain.arrays[link]
        n = hi - lo
        spread = [prod(most[lo + j : hi]) for j in range(n + 1)]
        slope[link], base[link] = slope[link + 1], base[link + 1]
        own = chain.energy[link, : n + 1].copy()
        if link == last:
            base[link] += sum(own[j] / spread[j] for j in range(n + 1)) * layer.operations
            continue
        if tensor.is_output and link == last - 1:
            # draining the innermost memory costs what entries from zero save at the compute unit
            own[n] -= chain.again[last]
            inside = prod(most[chain.arrays[last, 0] :])
            base[link] += chain.again[last] * layer.operations / inside
        slope[link] += sum(max(own[j], 0.0) / spread[j] for j in range(n + 1))
    return slope, base
