"""How few words can cross inward where some stay above the arrays and others go through them.

A *near* word is for the memory above the arrays, a *far* one for elements below. Elements with less
work than others may keep a far tile while those change theirs, so that no order of tiles holds for
all. But of the elements that share far words, the first one along the dimensions irrelevant to them
takes part in every step of the others: what it receives is all that is sent to them.

Take the loops around an operation, from the inside, and let Y be how many operations a word of each
tensor would serve if it stayed through them: Y grows with every loop. A near word goes at the last
loop where all that is spanned fits its memory. A far word stays beyond where the tiles of all
elements hold that only in those elements that have little of it. Tiles of so many words have

    share <= limit / product of Y of the other tensors

of the operations, and the limit is the one of `stay.most_inside`. A mean over all operations is
at least the least of one such way through the loops. With v = 1 / Y of the near word that stays
longest and the other Y as they are there, what all words cost is linear in v. It is least

- where all elements keep the tile of a far tensor through the stays of the others, as in
  `crossing`;
- where v is as small as can be, or 1. Some elements keep far tiles then: first those of one tensor,
  whose words they need once; then, if there are two, those of the other one.

Where energy counts for no more than cycles, there is less to save. If all elements together can
keep x of a far tensor, and the tiles that are kept have the share s of the operations, then others
work for longer: there are (1 - s) / (1 - s / x) times the cycles that all of them need together,
which is at least 1 + z with z = s (1 / x - 1). So s is at most t x, with t (1 - x) <= z for the
largest x and t <= 1. With any weight for z, energy + weight x z has a least value A, which is that
of t = 0 or t = 1, and energy >= A - weight x z. Two far tensors have a t each, and half of the
weight.

Words of a window serve all iterations that give them, but stay as a tile only inside of loops on
irrelevant dimensions: Y is that of these, and prices are for each iteration that gives the word.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.stays.least_of_orders import least_sums
from tilewright.mapper.relaxations.stays.stay import Stay, most_inside

TINY = 1e-30
MOST_MIXED = 3  # tensors
WEIGHTS = (1.5, 2.5, 5.0, 10.0, 20.0, 50.0, inf)  # of more cycles, times what elements save


def least_mixed(
    groups: Sequence[OperationShare],
    bounds: Mapping[str, int],
    idle: Floats | None = None,
    floor: Floats | None = None,
) -> Floats:
    """Return the least total price of near and far words, for every spatial choice.

    Parameters
    ----------
    groups : sequence of OperationShare
        Operations that differ in prices. Each has the same tensors, at least one near, and one far
        or direct, at most `MOST_MIXED` together.
    bounds : mapping of str to int
        Iterations of every dimension.
    idle : array of choices, optional
        How many more cycles than full use of all elements takes there may be before they cost what
        they save, relative to those.
    floor : array of choices, optional
        What all mappings cost besides, where there is `idle`.

    Returns
    -------
    array of choices
        Infinite when a tensor does not fit.
    """
    first = groups[0]
    if any(stay.room == 0 for stay in (*first.near, *first.far)):
        return np.full(len(first.near[0].sent), inf)
    ways = [(group.share, ShareCosts(group, bounds)) for group in groups]
    none = np.zeros(len(first.near[0].sent))
    best = np.sum([share * own.least(none) for share, own in ways], axis=0)
    if idle is None or floor is None or not first.far:
        return np.asarray(best)
    # what costs least if no element kept anything for longer than others
    alike = np.sum([share * own.alike for share, own in ways], axis=0)
    # with more cycles than this allows for, what is certain without them is more
    energy = np.maximum(floor + best, 0.0)
    heaviest = energy**2 / np.maximum(2 * (1 + idle) * (floor + alike) - energy, TINY)
    saved = np.maximum(alike - best, TINY * alike)
    for times in WEIGHTS:
        weight = np.minimum(times * saved, heaviest) if times < inf else heaviest
        least = np.sum([share * own.least(weight / len(first.far)) for share, own in ways], axis=0)
        best = np.maximum(best, least - weight * idle)
    return np.asarray(best)


@dataclass(frozen=True)
class OperationShare:
    """A share of all operations, and the near and far words for them.

    Others go from the memory outside directly to operations, in several elements at a time. Prices
    of the stays are for words sent, if all operations were such.
    """

    share: float
    near: Sequence[Stay]
    far: Sequence[Stay]
    direct: Sequence[Stay] = ()


class ShareCosts:
    """What words of a group cost at least.

    Attributes
    ----------
    alike : array of choices
        If no element kept anything for longer than others.
    """

    def __init__(self, group: OperationShare, bounds: Mapping[str, int]) -> None:
        stays = [*group.near, *group.far, *group.direct]
        limits = {}
        for f in group.far:
            others = [stay for stay in stays if stay is not f]
            most = np.prod(np.array([stay.longest for stay in others]), axis=0)
            limits[id(f)] = np.minimum(most_inside(f, others, bounds), most)
        one = np.ones(len(stays[0].sent))
        self.kept = [
            KeptTile(first, [stay for stay in stays if stay is not first], limits)
            for first in group.far
        ]
        # with v at its least and at its most
        self.outermost = [
            Outermost(first, served, stays, limits, bounds)
            for first in group.near
            for served in (first.longest * one, one)
        ]
        costs = [way.cost for way in self.kept] + [way.cost for way in self.outermost]
        self.alike = np.asarray(np.min(costs, axis=0))

    def least(self, weight: Floats) -> Floats:
        """Return the least cost of all words and, for each far tensor, of weighted cycles."""
        kept = [way.least(weight) for way in self.kept]
        return np.asarray(
            np.min([self.alike, *kept, *(way.least(weight) for way in self.outermost)], axis=0)
        )


class KeptTile:
    """A far tensor whose tile all elements keep through the stays of the others.

    Parameters
    ----------
    first : Stay
        Of the far tensor.
    rest : sequence of Stay
        One or two others, one of them near.
    limits : mapping of int to array of choices
        By the id of each far one.

    Attributes
    ----------
    cost : array of choices
        Of all words, if elements kept none for longer than others.
    """

    def __init__(self, first: Stay, rest: Sequence[Stay], limits: Mapping[int, Floats]) -> None:
        self.limit = limits[id(first)]
        self.base = first.sent / first.longest
        # another far one comes first
        self.rest = sorted(rest, key=lambda stay: id(stay) not in limits)
        self.most = [np.maximum(stay.longest * np.ones(len(self.base)), 1.0) for stay in self.rest]
        self.cost = self.base + shared_by(self.rest, self.most, self.limit)
        # of that one, all elements can keep this much for each iteration of its stay
        kept = limits.get(id(self.rest[0]))
        self.share = None if kept is None else kept / (first.longest * self.limit)

    def least(self, weight: Floats) -> Floats:
        """Return the least cost of all words and weighted cycles, where some keep two of them."""
        if self.share is None:
            return np.asarray(self.cost)
        one, other = (stay.sent for stay in self.rest)
        top, last = self.most
        limit = np.minimum(np.maximum(self.limit, 1.0), top * last)
        # beyond, all elements keep both
        low = np.maximum(1.0, limit / last)
        high = np.minimum(np.minimum(top, limit), 1 / self.share)
        once = one / top
        rising = other / limit - (weight - once) * self.share
        y = np.sqrt(one / np.maximum(rising, TINY * one))
        y = np.array([low, np.clip(y, np.minimum(low, high), high), high])
        costs = one * (1 / y - self.share) + rising * y
        return np.asarray(np.where(low <= high, self.base + weight + costs.min(axis=0), inf))


class Outermost:
    """A near word that stays longest, and what elements save that keep far words beyond.

    Parameters
    ----------
    first : Stay
        Of the near word.
    served : array of choices
        Operations that it serves.
    stays : sequence of Stay
        All of them.
    limits : mapping of int to array of choices
        By the id of each far one.
    bounds : mapping of str to int
        Iterations of every dimension.

    Attributes
    ----------
    cost : array of choices
        Of all words, if elements kept none for longer than others.
    """

    def __init__(
        self,
        first: Stay,
        served: Floats,
        stays: Sequence[Stay],
        limits: Mapping[int, Floats],
        bounds: Mapping[str, int],
    ) -> None:
        self.rest = [stay for stay in stays if stay is not first]
        self.limit = np.maximum(most_inside(first, self.rest, bounds), 1.0)
        self.most = [
            np.maximum(np.minimum(stay.longest, most_inside(first, [stay], bounds)), 1.0)
            for stay in self.rest
        ]
        self.base = first.sent / served
        self.cost = self.base + shared_by(self.rest, self.most, self.limit)
        # of each far tensor, all elements can keep this much for each word of the other one
        self.kept = {f: limits[id(s)] / served for f, s in enumerate(self.rest) if id(s) in limits}
        self.floor = self.base + sum(
            stay.sent / (stay.longest if f in self.kept else most)
            for f, (stay, most) in enumerate(zip(self.rest, self.most, strict=True))
        )

    def least(self, weight: Floats) -> Floats:
        """Return the least cost of all words and weighted cycles, where some elements keep words.

        It is infinite where they all keep them.
        """
        best = np.full(len(weight), inf)
        for f, kept in self.kept.items():
            if len(self.rest) == 1:
                stay = self.rest[f]
                once = stay.sent / stay.longest
                each = stay.sent / np.minimum(self.most[f], self.limit)
                cost = self.base + each - kept * (each - once) + weight * (1 - kept)
                best = np.where(kept < 1, np.minimum(best, cost), best)
                continue
            best = np.minimum(best, self.first_of_two(f, weight, later=False))
            if 1 - f in self.kept:
                best = np.minimum(best, self.first_of_two(f, weight, later=True))
        return np.asarray(np.maximum(best, self.floor))

    def first_of_two(self, f: int, weight: Floats, later: bool) -> Floats:
        """Return it where words of one tensor are kept first, with all stays of the other.

        With `later`, those of the other one are kept then, where elements have all of these.
        """
        stay, other, kept = self.rest[f], self.rest[1 - f], self.kept[f]
        most, most_other = self.most[f], self.most[1 - f]
        share = others = 0.0 * kept
        if later:
            others = self.kept[1 - f]
            share = np.minimum(1.0, others / stay.longest)
        base = self.base + weight + share * other.sent / other.longest
        # with a = 1 / Y of the other one, and u = 1 / Y of this one
        rising = other.sent * (1 - share) - (weight - stay.sent / stay.longest) * kept
        low = 1 / np.minimum(most_other, self.limit)
        high = np.minimum(1.0, 1 / np.maximum(kept, TINY))
        falling = np.array([stay.sent, stay.sent - weight * others]) / self.limit
        inner = np.sqrt(np.maximum(falling, 0.0) / np.maximum(rising, TINY * other.sent))
        alone = np.minimum(1.0, 1 / np.maximum(others, TINY))
        a = np.array([low, high, most / self.limit, 1 / (self.limit * alone), *inner])
        a = np.clip(a, low, np.maximum(low, high))
        least = np.maximum(1 / most, 1 / (self.limit * a))
        cost = np.full(len(weight), inf)
        for u in (least, np.maximum(least, alone)):
            own = a * rising + stay.sent * u * (1 - kept * a)
            if later:
                own = own + weight * np.maximum(0.0, 1 - others * u)
            cost = np.minimum(cost, own.min(axis=0))
        return np.asarray(np.where(low <= high, base + cost, inf))


def shared_by(stays: Sequence[Stay], most: Sequence[Floats], limit: Floats) -> Floats:
    """Return what words of some stays cost at least in all."""
    one = np.ones(len(limit))
    prices = np.array([stay.sent * one for stay in stays])
    return np.asarray(least_sums(prices, np.array([own * one for own in most]), limit))
