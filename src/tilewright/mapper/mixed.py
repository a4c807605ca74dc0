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
    ways = [Outermost(first, stays, limits, bounds) for first in near]
    # what costs least if no element kept anything for longer than others
    alike = np.min([best, *(way.cost for way in ways)], axis=0)
    kept_by_all = best
    best = np.min([best, *(way.cost - way.saved for way in ways)], axis=0)
    if idle is None or floor is None:
        return np.asarray(best)
    saved = np.max([way.saved for way in ways], axis=0)
    # with more cycles than this allows for, what is certain without them is more
    energy = np.maximum(floor + best, 0.0)
    heaviest = energy**2 / np.maximum(2 * (1 + idle) * (floor + alike) - energy, TINY)
    for times in WEIGHTS:
        weight = np.minimum(times * saved, heaviest) if times < inf else heaviest
        least = np.min([alike, *(way.weighted(weight, kept_by_all) for way in ways)], axis=0)
        best = np.maximum(best, least - weight * idle)
    return np.asarray(best)


class Outermost:
    """A near word that stays longest, and what elements save that keep far words beyond.

    Attributes
    ----------
    cost : array of choices
        Of all words, if elements kept none for longer than others.
    saved : array of choices
        What they save of that at most.
    """

    def __init__(
        self,
        first: Stay,
        stays: Sequence[Stay],
        limits: Mapping[int, Floats],
        bounds: Mapping[str, int],
    ) -> None:
        self.first = first
        self.limits = limits
        self.rest = [stay for stay in stays if stay is not first]
        self.limit = most_inside(first, self.rest, bounds)
        self.most = [
            np.minimum(stay.longest, most_inside(first, [stay], bounds)) for stay in self.rest
        ]
        self.base = first.sent / first.longest
        self.cost = self.base + inside(self.rest, self.most, self.limit)[0]
        served = first.longest * np.minimum(self.limit, np.prod(self.most, axis=0))
        kept = [stay.sent * limits[id(stay)] for stay in self.rest if id(stay) in limits]
        least = self.base + sum(
            stay.sent / (stay.longest if id(stay) in limits else most)
            for stay, most in zip(self.rest, self.most, strict=True)
        )
        self.saved = np.minimum(np.max(kept, axis=0) / served, self.cost - least)
        self.both_saved = np.minimum(np.sum(kept, axis=0) / served, self.cost - least)
        self.several = len(kept) > 1

    def weighted(self, weight: Floats, kept_by_all: Floats) -> Floats:
        """Return the least cost of all words and more cycles, where some elements keep words.

        It is infinite where they all keep them, which costs so much at least. Both of two far
        tensors may save as much as fits, until that is more than they save together: there is that
        way towards all elements keeping one of them.
        """
        best = np.full(len(weight), inf)
        if self.several:
            ahead = np.maximum(kept_by_all - (self.cost - self.base), 0.0)
            best = kept_by_all - ahead * kept_by_all / (2 * weight + kept_by_all)
        for f, stay in enumerate(self.rest):
            if id(stay) not in self.limits:
                continue
            # of the tensor, all elements can keep this much for each word of the other one
            kept = self.limits[id(stay)] / self.first.longest
            if len(self.rest) == 1:
                cost, share = self.cost, kept
            else:
                other = self.rest[1 - f]
                price = other.sent - (weight - stay.sent / stay.longest) * kept
                rest = list(self.rest)
                rest[1 - f] = replace(other, sent=np.maximum(price, TINY))
                cost, parts = inside(rest, self.most, self.limit)
                cost = self.base + cost
                share = kept * parts[1 - f] / np.maximum(price, TINY)
                share = np.where(price > 0, share, 1.0)
            some = cost - self.both_saved + weight * (1.0 if len(self.rest) > 1 else 1 - share)
            best = np.where(share < 1, np.minimum(best, some), best)
        return best


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
