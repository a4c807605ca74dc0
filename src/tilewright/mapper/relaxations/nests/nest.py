"""A layer on a machine with one array, and one memory for each tensor on either side, as arrays.

Whatever its loops, a mapping has a few numbers: how many iterations of a dimension the tile of each
tensor stays through, how many instances there are along each dimension, and how large tiles are.
A tile that lies inside the tile of another tensor stays for no more than that one spans. What these
numbers cost at least takes no account of how loops lead from one to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.record import record
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import ports
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price
from tilewright.mapper.windows.pairs import most_pairs, sliding
from tilewright.model.energy import leakage_per_cycle

if TYPE_CHECKING:
    from tilewright.kernels.types import Bools, Floats, Ints

CLOSE = 1e-12

Side = tuple[int | None, ...]  # of each tensor, the memory on one side of the array that keeps it


@record
class Nest(NamedTuple):
    """One bypass choice of a layer on a machine.

    The *outer* memory of a tensor is the one above the array, the *inner* one is below it.

    Attributes
    ----------
    bounds : array of dimensions
    relevant : array of (tensors, dimensions)
    owner : array of dimensions
        The one tensor to which the dimension is irrelevant, or -1.
    words : array of tensors
        All words of a tensor.
    points : array of tensors
        Iterations of its relevant dimensions.
    terms : array of (tensors, expressions, 4)
        Dimension and coefficient of the one or two terms of each index expression; -1 where there
        is none.
    pairs : array of (tensors, expressions)
        How many iterations of an expression of two terms give the same word at most.
    window : int
        The only tensor with expressions of two terms, or -1.
    unites : array of tensors
        Whether the array brings a word to several elements.
    outside, inside : arrays of tensors
        Whether an outer and an inner memory keep the tensor.
    outer_bits, inner_bits : arrays of tensors
        Bits of a word, buffering included.
    outer_share, inner_share : arrays of tensors
        Bits that its tile may take.
    outer_group, inner_group : arrays of tensors
        Which of several memories on that side keeps the tensor.
    outer_room, inner_room : arrays of groups
        Bits that all tiles of a memory may take together.
    copies : array of (tensors, groups)
        Bits that a word of the outer tile takes in a memory further out, if that keeps the tensor
        as well: its tile there spans no less.
    price : array of (costs, tensors)
        Of a word that comes into the outer memory. Costs are pJ, then the cycles of each port of
        limited bandwidth.
    sent, received : arrays of (costs, tensors)
        Of a word that goes through the array: once for all elements that share it, and for each
        element.
    base : array of costs
        What all mappings cost.
    cycles : float
        Per operation.
    leakage : float
        pJ per cycle.
    inner_orders : array of (orders, tensors)
        Every order of the tiles in the inner memory, outermost first.
    outer_orders : array of (tensors, orders, tensors + 1)
        Every order of the tiles in the outer memory and of the tile of a tensor that is outermost
        in the inner one, for each such tensor (the first row, where there is none); its position is
        given as the number of tensors. Padded with -1.
    """

    bounds: Ints
    relevant: Bools
    owner: Ints
    words: Floats
    points: Floats
    terms: Ints
    pairs: Floats
    window: int
    unites: Bools
    outside: Bools
    inside: Bools
    outer_bits: Floats
    outer_share: Floats
    outer_group: Ints
    outer_room: Floats
    copies: Floats
    inner_bits: Floats
    inner_share: Floats
    inner_group: Ints
    inner_room: Floats
    price: Floats
    sent: Floats
    received: Floats
    base: Floats
    cycles: float
    leakage: float
    inner_orders: Ints
    outer_orders: Ints


def sides(least: Least, keep: KeepChoice) -> list[tuple[Side, Side]]:
    """Return which memories of a bypass choice may be the outer and the inner ones of a `Nest`.

    They are all where no tensor has several on a side of the array. Else they are the first ones,
    or the last.
    """
    found: list[list[Side]] = []
    for own in (0, 1):
        on_side = [[m for m in chain[1:] if least.segment[m] == own] for chain in keep]
        first = tuple(chain[0] if chain else None for chain in on_side)
        last = tuple(chain[-1] if chain else None for chain in on_side)
        found.append([last] if first == last else [last, first])
    return [(outer, inner) for outer in found[0] for inner in found[1]]


def nest(least: Least, keep: KeepChoice, memories: tuple[Side, Side] | None = None) -> Nest | None:
    """Return a bypass choice as arrays.

    It is None where there is another number of arrays than one, a dimension is irrelevant to
    several tensors, or an index expression has three terms.

    Parameters
    ----------
    memories : tuple, optional
        The outer and the inner memory of each tensor, one of `sides`. What comes into others is
        bounded for itself.
    """
    layer, machine = least.layer, least.architecture
    if not keep or len(machine.arrays) != 1 or machine.arrays[0].forwarding:
        return None
    bounds = np.array(list(layer.bounds.values()), np.int64)
    relevant = np.array([[d in own for d in layer.bounds] for own in least.relevant], np.bool_)
    irrelevant = ~relevant & (bounds > 1)
    if (irrelevant.sum(axis=0) > 1).any() or any(
        len(terms) > 2 for t in layer.tensors for terms in sliding(t, layer.bounds)
    ):
        return None
    outer, inner = sides(least, keep)[0] if memories is None else memories
    count = len(keep)
    outside, inside = (np.array([m is not None for m in side], np.bool_) for side in (outer, inner))
    terms, pairs = expressions(least)
    outer_bits, outer_share, outer_group, outer_room = room(least, outer)
    inner_bits, inner_share, inner_group, inner_room = room(least, inner)
    price, sent, received, base = prices(least, keep, outer, inner)
    inner_orders, outer_orders = orders(outside, inside)
    return Nest(
        bounds=bounds,
        relevant=relevant,
        owner=np.where(irrelevant.any(axis=0), irrelevant.argmax(axis=0), -1),
        words=np.array(least.words),
        points=np.where(relevant, bounds, 1).prod(axis=1).astype(np.float64),
        terms=terms,
        pairs=pairs,
        window=window_of(terms),
        unites=np.array([least.unrolled.shares(t, 0) for t in range(count)], np.bool_),
        outside=outside,
        inside=inside,
        outer_bits=outer_bits,
        outer_share=outer_share,
        outer_group=outer_group,
        outer_room=outer_room,
        copies=copies(least, keep, outer),
        inner_bits=inner_bits,
        inner_share=inner_share,
        inner_group=inner_group,
        inner_room=inner_room,
        price=price,
        sent=sent,
        received=received,
        base=base,
        cycles=float(machine.compute.cycles),
        leakage=float(leakage_per_cycle(machine)),
        inner_orders=inner_orders,
        outer_orders=outer_orders,
    )


def expressions(least: Least) -> tuple[Ints, Floats]:
    """Return `terms` and `pairs` of a `Nest`."""
    layer = least.layer
    position = {d: i for i, d in enumerate(layer.bounds)}
    most = max(len(tensor.expressions) for tensor in layer.tensors)
    terms = np.full((len(layer.tensors), most, 4), -1, np.int64)
    pairs = np.ones((len(layer.tensors), most))
    for t, tensor in enumerate(layer.tensors):
        for e, expression in enumerate(tensor.expressions):
            live = [term for term in expression if layer.bounds[term.dimension] > 1]
            for k, term in enumerate(live):
                terms[t, e, 2 * k : 2 * k + 2] = position[term.dimension], term.coefficient
            if len(live) > 1:
                pairs[t, e] = most_pairs(live, layer.bounds)
    return terms, pairs


def window_of(terms: Ints) -> int:
    """Return `window` of a `Nest`."""
    tensors = np.flatnonzero((terms[:, :, 2] >= 0).any(axis=1))
    return int(tensors[0]) if len(tensors) == 1 else -1


def room(least: Least, memories: Side) -> tuple[Floats, Floats, Ints, Floats]:
    """Return the bits of words in memories, the share of each tensor, groups, and their room."""
    tensors = least.layer.tensors
    bits, own = np.zeros(len(tensors)), np.full(len(tensors), inf)
    group = np.zeros(len(tensors), np.int64)
    different = sorted({m for m in memories if m is not None})
    rooms = np.full(max(len(different), 1), inf)
    for t, m in enumerate(memories):
        if m is None:
            continue
        level = least.architecture.memories[m]
        bits[t] = float(least.rooms.bits(Link(t, 0, m)))
        group[t] = different.index(m)
        if level.tensor_bits is not None:
            own[t] = float(level.tensor_bits.get(tensors[t].role, 0))
        elif level.capacity_bits is not None:
            rooms[group[t]] = float(level.capacity_bits)
    return bits, own, group, rooms


def copies(least: Least, keep: KeepChoice, memories: Side) -> Floats:
    """Return `copies` of a `Nest`."""
    different = sorted({m for m in memories if m is not None})
    found = np.zeros((len(keep), max(len(different), 1)))
    for t, (chain, own) in enumerate(zip(keep, memories, strict=True)):
        for group, m in enumerate(different):
            shared = least.architecture.memories[m].tensor_bits is None
            if own is not None and shared and m < own and m in chain[1:]:
                found[t, group] = float(least.rooms.bits(Link(t, 0, m)))
    return found


def prices(
    least: Least, keep: KeepChoice, outer: Side, inner: Side
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return `price`, `sent`, `received` and `base` of a `Nest`.

    What other memories receive is part of the base, in closed form.
    """
    limited = ports(least.architecture)
    price, sent, received = np.zeros((3, 1 + len(limited), len(keep)))
    base = np.zeros(1 + len(limited))
    base[0] = least.work
    links = [
        Link(t, *pair)
        for t, chain in enumerate(keep)
        for pair in zip(chain, (*chain[1:], least.compute), strict=True)
    ]
    others = [
        link
        for link in links
        if link.receiver not in (outer[link.tensor], inner[link.tensor], least.compute)
    ]
    for r in range(len(base)):
        costs = [
            least.prices.energy(k) if r == 0 else least.prices.load(k, *limited[r - 1])
            for k in links
        ]
        for link, own in zip(links, costs, strict=True):
            t = link.tensor
            below = least.segment[link.sender] == 1
            if link in others:
                continue
            base[r] += own.once
            if below and link.receiver == least.compute:
                base[r] += (own.sent + own.received) * least.layer.operations
            elif below:
                received[r, t] += own.sent + own.received
            elif link.receiver == outer[t]:
                price[r, t] += own.sent + own.received
            else:
                sent[r, t] += own.sent
                received[r, t] += own.received
        if others:
            rest = [own if k in others else Price() for k, own in zip(links, costs, strict=True)]
            base[r] += float(least.least(links, rest).min()) * (1 - CLOSE)
    return price, sent, received, base


def orders(outside: Bools, inside: Bools) -> tuple[Ints, Ints]:
    """Return `inner_orders` and `outer_orders` of a `Nest`."""
    count = len(outside)
    inner = list(permutations(np.flatnonzero(inside).tolist()))
    kept = np.flatnonzero(outside).tolist()

    def around(carried: int) -> Sequence[tuple[int, ...]]:
        """Return the orders with the tile of a tensor, which lies inside its own outer one."""
        return [
            order
            for order in permutations([*kept, count])
            if carried not in kept or order.index(carried) < order.index(count)
        ]

    found = [around(t) if inside[t] else [] for t in range(count)]
    if not inside.any():
        found[0] = list(permutations(kept))
    most = max(map(len, found))
    outer = np.full((count, most, count + 1), -1, np.int64)
    for t, own in enumerate(found):
        for o, order in enumerate(own):
            outer[t, o, : len(order)] = order
    return np.array(inner, np.int64).reshape(len(inner), -1), outer
