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

of the operations, and the limit is the one of `crossing.most_inside`. A mean over all operations is
at least the least of one such way through the loops. With v = 1 / Y of the near word that goes
first, what all words cost is linear in v, and in the logarithms of Y along the border of what fits.
So it is least in one of these:

- all elements keep the tile of a far tensor through the stays of the others, as in `crossing`;
- the near word stays longest, and some elements keep far tiles: what they save is at most
  max(price x limit) / product of all Y.

Where energy counts for no more than cycles, there is less to save. If all elements together can
keep x of a far tensor, and the tiles that are kept have the share s of the operations, then others
work for longer: there are (1 - s) / (1 - s / x) times the cycles that all of them need together,
which is at least 1 + z with z = s (1 / x - 1). With any weight for z, energy + weight x z has a
least value A as above, and energy >= A - weight x z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

import numpy as np

from tilewright.mapper.crossing import Stay, most_inside
from tilewright.mapper.lattice import Floats

MOST_MIXED = 3  # tensors
TINY = 1e-30
WEIGHTS = (1.5, 2.5, 5.0, 10.0, 20.0, 50.0, inf)  # of more cycles, times what elements save


def least_mixed(
    near: Sequence[Stay],
    far: Sequence[Stay],
    bounds: Mapping[str, int],
    idle: Floats | None = None,
    floor: Floats | None = None,
) -> Floats:
    """Return the least total price of near and far words, for every spatial choice.

    Parameters
    ----------
    near, far : sequences of Stay
        At least one of each, at most `MOST_MIXED` together, without windows. All prices are for
        words sent.
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
    stays = [*near, *far]
    best = np.full(len(stays[0].sent), inf)
    if any(stay.room == 0 for stay in stays):
        return best
    limits = {}
    for f in far:
        others = [stay for stay in stays if stay is not f]
        most = np.prod(np.array([stay.longest for stay in others]), axis=0)
        limits[id(f)] = np.minimum(most_inside(f, others, bounds), most)
    for first in far:
        rest = [stay for stay in stays if stay is not first]
        limit = limits[id(first)]
        cost, parts = inside(rest, [stay.longest for stay in rest], limit)
        for stay, part in zip(rest, parts, strict=True):
            if id(stay) in limits:
                saved = stay.sent * limits[id(stay)] / (first.longest * limit)
                cost = cost - np.minimum(part, saved)
        best = np.minimum(best, first.sent / first.longest + cost)
    # with v between its least and most values
    ways = [
        Outermost(first, served, stays, limits, bounds)
        for first in near
        for served in (first.longest * np.ones(len(best)), np.ones(len(best)))
    ]
    some = [way.least() for way in ways]
    # what costs least where all elements keep a far word, or near words serve an operation
    ends = np.min([best, *some[1::2]], axis=0)
    best = np.min([best, *some], axis=0)
    if idle is None or floor is None:
        return np.asarray(best)
    # what costs least if no element kept anything for longer than others
    alike = np.min([ends, *(way.cost for way in ways)], axis=0)
    # with more cycles than this allows for, what is certain without them is more
    energy = np.maximum(floor + best, 0.0)
    heaviest = energy**2 / np.maximum(2 * (1 + idle) * (floor + alike) - energy, TINY)
    saved = np.maximum(alike - best, TINY * alike)
    for times in WEIGHTS:
        weight = np.minimum(times * saved, heaviest) if times < inf else heaviest
        least = np.min([alike, *(way.weighted(weight, ends) for way in ways)], axis=0)
        best = np.maximum(best, least - weight * idle)
    return np.asarray(best)


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
        self.limit = most_inside(first, self.rest, bounds)
        self.most = [
            np.minimum(stay.longest, most_inside(first, [stay], bounds)) for stay in self.rest
        ]
        self.base = first.sent / served
        self.cost = self.base + inside(self.rest, self.most, self.limit)[0]
        # of each far tensor, all elements can keep this much for each word of the other one
        self.kept = {f: limits[id(s)] / served for f, s in enumerate(self.rest) if id(s) in limits}
        self.floor = self.base + sum(
            stay.sent / (stay.longest if f in self.kept else most)
            for f, (stay, most) in enumerate(zip(self.rest, self.most, strict=True))
        )

    def least(self) -> Floats:
        """Return the least cost of all words, where some elements keep words.

        It is infinite where they all keep them.
        """
        none = np.zeros(len(self.cost))
        if len(self.kept) > 1:
            highest = np.max([self.rest[f].sent * kept for f, kept in self.kept.items()], axis=0)
        else:
            highest = None
        return self.where_some_keep(none, highest)

    def weighted(self, weight: Floats, ends: Floats) -> Floats:
        """Return the least cost of all words and more cycles, where some elements keep words.

        Both of two far tensors may save as much as fits, until that is more than they save
        together: there is that way towards what `ends` is the least cost of.
        """
        best = self.where_some_keep(weight, None)
        if len(self.kept) > 1:
            ahead = np.maximum(ends - (self.cost - self.base), 0.0)
            more = ends - ahead * ends / (2 * weight + ends)
            best = np.minimum(best, more)
        return best

    def where_some_keep(self, weight: Floats, highest: Floats | None) -> Floats:
        """Return the least cost of all words and weighted cycles, where some elements keep words.

        What they save is what each far tensor costs without, times the share that is kept, or for
        two of them the sum of price x kept, or the highest of these, over the product of both Y.
        """
        best = np.full(len(weight), inf)
        for f, kept in self.kept.items():
            stay = self.rest[f]
            if len(self.rest) == 1:
                y = np.minimum(self.most[f], np.maximum(self.limit, 1.0))
                price = stay.sent / y - stay.sent / stay.longest
                cost = self.base + stay.sent / y - kept * price + weight * (1 - kept)
                best = np.where(kept < 1, np.minimum(best, cost), best)
                continue
            other, other_kept = self.rest[1 - f], self.kept.get(1 - f, np.zeros(len(weight)))
            once = stay.sent / stay.longest
            saved = kept * stay.sent
            if len(self.kept) > 1:
                once = np.zeros(len(weight))
                saved = saved + other_kept * other.sent if highest is None else highest
            # along the border of what fits, or where neither is limited
            price = other.sent - (weight - once) * kept
            rest = list(self.rest)
            rest[1 - f] = replace(other, sent=np.maximum(price, TINY * other.sent))
            _, parts = inside(rest, self.most, self.limit)
            y = rest[1 - f].sent / parts[1 - f]
            cost = self.base + price / y + parts[f] - saved * parts[f] / stay.sent / y + weight
            some = (kept < y) & (other_kept * parts[f] < stay.sent)
            best = np.where(some, np.minimum(best, cost), best)
            # where the other word serves an operation, and the far one as many as it may or one
            longest = np.minimum(self.most[f], np.maximum(self.limit, 1.0))
            for y in (longest, np.ones(len(weight))) if len(self.kept) > 1 else (longest,):
                cost = self.base + price + (stay.sent - saved) / y + weight
                best = np.where((kept < 1) & (other_kept < y), np.minimum(best, cost), best)
        return np.asarray(np.maximum(best, self.floor))


def inside(
    stays: Sequence[Stay], most: Sequence[Floats | float], limit: Floats
) -> tuple[Floats, list[Floats]]:
    """Return the least sum of sent / y of one or two stays, where 1 <= y <= most, and its parts.

    The product of all y is at most the limit.
    """
    limit = np.maximum(limit, 1.0)
    highest = [np.maximum(own, 1.0) for own in most]
    if len(stays) == 1:
        parts = [stays[0].sent / np.minimum(highest[0], limit)]
    else:
        one, other = stays
        low = np.maximum(1.0, limit / highest[1])
        high = np.minimum(highest[0], limit)
        y = np.sqrt(limit * one.sent / np.maximum(other.sent, TINY * one.sent))
        y = np.clip(y, np.minimum(low, high), high)
        parts = [one.sent / y, other.sent / np.minimum(highest[1], limit / y)]
    return np.sum(parts, axis=0), parts
