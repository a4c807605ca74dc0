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
at least the least of one such way through the loops. With v = 1 / Y of the near word that stays
longest and the other Y as they are there, what all words cost is linear in v. It is least

- where all elements keep the tile of a far tensor through the stays of the others, as in
  `crossing`;
- where v is as small as can be, or 1. Some elements keep far tiles then: first those of one tensor,
  whose words they need once; then, if there are two, those of the other one.

Where energy counts for no more than cycles, there is less to save. If all elements together can
keep x of a far tensor, and the tiles that are kept have the share s of the operations, then others
work for longer: there are (1 - s) / (1 - s / x) times the cycles that all of them need together,
which is at least 1 + z with z = s (1 / x - 1). With any weight for z, energy + weight x z has a
least value A as above, and energy >= A - weight x z. This is done for one far tensor.
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
    # with v at its least and at its most
    ways = [
        Outermost(first, served, stays, limits, bounds)
        for first in near
        for served in (first.longest * np.ones(len(best)), np.ones(len(best)))
    ]
    # what costs least if no element kept anything for longer than others
    alike = np.min([best, *(way.cost for way in ways)], axis=0)
    kept_by_all = best
    best = np.min([best, *(way.least(np.zeros(len(best))) for way in ways)], axis=0)
    if idle is None or floor is None or len(far) > 1:
        return np.asarray(best)
    # with more cycles than this allows for, what is certain without them is more
    energy = np.maximum(floor + best, 0.0)
    heaviest = energy**2 / np.maximum(2 * (1 + idle) * (floor + alike) - energy, TINY)
    saved = np.maximum(alike - best, TINY * alike)
    for times in WEIGHTS:
        weight = np.minimum(times * saved, heaviest) if times < inf else heaviest
        least = np.min([alike, kept_by_all, *(way.least(weight) for way in ways)], axis=0)
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

    def least(self, weight: Floats) -> Floats:
        """Return the least cost of all words and weighted cycles, where some elements keep words.

        It is infinite where they all keep them.
        """
        best = np.full(len(weight), inf)
        for f, kept in self.kept.items():
            stay = self.rest[f]
            once = stay.sent / stay.longest
            if len(self.rest) == 1:
                each = stay.sent / np.minimum(self.most[f], np.maximum(self.limit, 1.0))
                cost = self.base + each - kept * (each - once) + weight * (1 - kept)
                best = np.where(kept < 1, np.minimum(best, cost), best)
                continue
            # these are kept first; then the other ones, where elements have all of these
            other = self.rest[1 - f]
            later = np.minimum(1.0, self.kept.get(1 - f, 0.0) / stay.longest)
            price = other.sent * (1 - later) - (weight - once) * kept
            rest = list(self.rest)
            rest[1 - f] = replace(other, sent=np.maximum(price, TINY * other.sent))
            base = self.base + weight + later * other.sent / other.longest
            # along the border of what fits, or where neither is limited
            _, parts = inside(rest, self.most, self.limit)
            y = rest[1 - f].sent / parts[1 - f]
            cost = base + price / y + parts[f] * (1 - kept / y)
            best = np.where(kept < y, np.minimum(best, cost), best)
            # where the other word serves an operation
            each = stay.sent / np.minimum(self.most[f], np.maximum(self.limit, 1.0))
            cost = base + price + each * (1 - kept)
            best = np.where(kept < 1, np.minimum(best, cost), best)
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
