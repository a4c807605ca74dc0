"""How few words can cross from one memory inward, whatever the loops and tile sizes.

A word that comes into a memory serves operations until it goes. Let Y be how many, in all instances
that share it: at most the iterations of the dimensions irrelevant to its tensor that its stay
spans, times the pairs of iterations in a sliding window that give the same word. The words that
cross are operations / Y in the mean. Of the tensors that cross, let one have the outermost tile.
The stays of the others lie inside it. The iterations that they span of dimensions relevant to it
are part of its tile, so that the product of their Y is limited by what this tile holds. Operations
of short chunks have tiles and stays of their own, within the same limits, and a mean over
operations is at least the least. Where instances that work together count alike, what one with less
work reuses beyond the others is left out: for that, Y is the operations in one instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations, product
from math import inf, prod

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.windows.pairs import Windows

MOST_ORDERED = 4  # tensors whose orders are all looked at
TINY, LEAST = 1e-30, 1e-300  # relative, and absolute


@dataclass(frozen=True)
class Stay:
    """A tensor whose words cross inward, for a number of spatial choices.

    Attributes
    ----------
    sent, received : array of choices
        Price of the words that are sent, and of those received in all instances, if there were one
        for each operation and for each operation in each instance that shares it.
    relevant, irrelevant : frozenset of str
        Its dimensions.
    windows : Windows
        Its sliding expressions.
    pairs : float
        How many of their iterations give the same word at most, where prices are not for each.
    longest : float or array of choices
        Most operations that a word serves, or for one order of tiles in all what words serve in the
        mean: they all cross once at least.
    room : float
        Words of its tile in one instance, at most.
    spread : dict of str to array of choices
        Instances along each dimension.
    instances : array of choices
        Instances along all irrelevant dimensions.
    most : callable, optional
        Most instances along some dimensions together; by default the product of those along each.
    """

    sent: Floats
    received: Floats
    relevant: frozenset[str]
    irrelevant: frozenset[str]
    windows: Windows
    pairs: float
    longest: float | Floats
    room: float
    spread: Mapping[str, Floats]
    instances: Floats
    most: Callable[[frozenset[str]], Floats] | None = None

    def along(self, dimensions: frozenset[str]) -> Floats:
        """Return the instances along some dimensions together, at most."""
        found = np.ones(len(self.sent))
        for d in sorted(dimensions):
            found = found * self.spread[d]
        return found if self.most is None else np.minimum(found, self.most(dimensions))

    def prices(self) -> list[tuple[Floats, Floats, Floats]]:
        """Return ways to see what the words cost: price, most, and what is added.

        Each is at most price / Y + added for every Y up to the most: however long they stay, all
        words are sent once.
        """
        both = self.sent + self.received
        if not self.received.any():
            return [(both, self.longest * np.ones(len(both)), np.zeros(len(both)))]
        most = self.longest * self.instances
        ways = [(both, most, np.zeros(len(both)))]
        if self.sent.any():
            ways.append((self.received, most, self.sent / self.longest))
        return ways


def least_crossing(stays: Sequence[Stay], bounds: Mapping[str, int]) -> Floats:
    """Return the least total price of tensors that cross inward together, for every choice.

    Parameters
    ----------
    stays : sequence of Stay
        At least one.
    bounds : mapping of str to int
        Iterations of every dimension.

    Returns
    -------
    array of choices
        Infinite when a tensor does not fit.
    """
    if any(stay.room == 0 for stay in stays):
        return np.full(len(stays[0].sent), inf)
    inside = Inside(bounds)
    known: list[Floats] = []
    shares: list[tuple[Floats, Floats, Floats]] = []
    which: list[tuple[int, Floats]] = []
    for n, (first, *rest) in enumerate(orders(stays)):
        known.append((first.sent + first.received / first.instances) / first.longest)
        if rest:
            limit = inside.most(first, rest)
            pairs = [inside.most(outer, [inner]) for outer, inner in pairwise((first, *rest))]
            for ways in product(*(stay.prices() for stay in rest)):
                prices, most, added = (np.array(own) for own in zip(*ways, strict=True))
                shares.append((prices, np.minimum(most, pairs), limit))
                which.append((n, added.sum(axis=0)))
    if not shares:
        return np.asarray(np.min(known, axis=0))
    # all at once
    prices, most, limits = (np.concatenate(own, axis=-1) for own in zip(*shares, strict=True))
    costs = np.split(shared(prices, most, limits).sum(axis=0), len(shares))
    most_costly = np.zeros((len(known), len(stays[0].sent)))
    for (n, added), cost in zip(which, costs, strict=True):
        most_costly[n] = np.maximum(most_costly[n], cost + added)
    return np.asarray((np.array(known) + most_costly).min(axis=0))


class Inside:
    """What `most_inside` says of some stays, each of which is looked at more than once."""

    def __init__(self, bounds: Mapping[str, int]) -> None:
        self.bounds = bounds
        self.known: dict[tuple[int, frozenset[int]], Floats] = {}

    def most(self, outer: Stay, stays: Sequence[Stay]) -> Floats:
        """Return the most that the product of Y can be for stays inside the tile of another one."""
        key = id(outer), frozenset(map(id, stays))
        if key not in self.known:
            self.known[key] = most_inside(outer, stays, self.bounds)
        return self.known[key]


def orders(stays: Sequence[Stay]) -> Iterable[Sequence[Stay]]:
    """Return the orders of the tiles, or of many tensors which one is outermost."""
    if len(stays) <= MOST_ORDERED:
        return permutations(stays)
    return [(stay, *(other for other in stays if other is not stay)) for stay in stays]


def most_inside(outer: Stay, stays: Sequence[Stay], bounds: Mapping[str, int]) -> Floats:
    """Return the most that the product of Y can be for stays inside the tile of another one.

    An iteration of a dimension relevant to the tile takes up room for one stay that spans it. What
    several stays span of a dimension, or any of an irrelevant one, may be the whole of it. A word
    of a window may come back after the stay of the outer tile, or slide on: it serves all pairs.
    """
    counts = dict.fromkeys(bounds, 0)
    for stay in stays:
        for d in stay.irrelevant:
            counts[d] += 1
    spanned = frozenset(d for d, count in counts.items() if count > 0)
    iterations = outer.windows.most_iterations(outer.room, spanned)
    limit = np.full(len(outer.sent), float(iterations) * prod(stay.pairs for stay in stays))
    takes_room = frozenset(d for d in spanned if d in outer.relevant)
    # what a tensor's stays gain by several instances is what `Stay.received` counts for it
    alone = frozenset(d for d in takes_room if counts[d] == 1)
    for own in (stay.irrelevant & alone for stay in stays):
        limit *= outer.along(own)
    for d in sorted(takes_room - alone):
        limit *= outer.along(frozenset((d,)))
    for d, count in counts.items():
        limit *= float(bounds[d]) ** (count - (d in takes_room))
    return limit


def shared(prices: Floats, most: Floats, limit: Floats) -> Floats:
    """Return price / y for the y of the least sum, where 1 <= y <= most and their product <= limit.

    In logarithms this divides a resource among convex functions, solved by fixing variables at
    their bounds (Bitran, Hax, Management Science 27, 1981).

    Parameters
    ----------
    prices, most : arrays of (variables, choices)
    limit : array of choices

    Returns
    -------
    array of (variables, choices)
    """
    limit = np.maximum(limit, 1.0)
    if len(prices) == 1:
        return np.asarray(prices / np.minimum(most, limit))
    if len(prices) == 2:
        (one, other), (top, last) = prices, most
        limit = np.minimum(limit, top * last)
        low, high = np.maximum(1.0, limit / last), np.minimum(top, limit)
        y = np.sqrt(limit * one / np.maximum(other, TINY * one + LEAST))
        y = np.clip(y, np.minimum(low, high), high)
        return np.array([one / y, other / np.minimum(last, limit / y)])
    tops = np.log(most)
    left = np.log(limit)
    wanted = np.log(np.maximum(prices, LEAST))
    size = tops.copy()
    free = np.broadcast_to(tops.sum(axis=0) > left, tops.shape).copy()
    left = left - np.where(free, 0.0, tops).sum(axis=0)
    for _ in range(len(prices)):
        count = np.maximum(free.sum(axis=0), 1)
        level = (np.where(free, wanted, 0.0).sum(axis=0) - left) / count
        size = np.where(free, wanted - level, size)
        over, under = free & (size > tops), free & (size < 0.0)
        above = np.where(over, size - tops, 0.0).sum(axis=0)
        below = np.where(under, -size, 0.0).sum(axis=0)
        fixed = np.where(above >= below, over, under)
        size = np.where(fixed, np.where(above >= below, tops, 0.0), size)
        left = left - np.where(fixed, size, 0.0).sum(axis=0)
        free &= ~fixed
        if not fixed.any():
            break
    return np.asarray(prices * np.exp(-size))
