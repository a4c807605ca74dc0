"""What crosses inward at least where each element of an array is looked at by itself.

Elements with less work than others have tiles and stays of their own, so that no order of tiles
holds for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import inf, prod
from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.crossing import Stay, least_crossing
from tilewright.mapper.lattice import Floats
from tilewright.mapper.mixed import MOST_MIXED, least_mixed

if TYPE_CHECKING:
    from tilewright.mapper.least import Least, Link, Price

CLOSE = 1e-12


class Pays(Enum):
    """Who pays for a word that is sent to several elements of an array, see `by_element`.

    Each of them its share, all together for all words once, or whichever costs more.
    """

    EACH = auto()
    ALL = auto()
    EITHER = auto()


@dataclass(frozen=True)
class Pace:
    """How long mappings may take that are looked at.

    Attributes
    ----------
    slower : array of choices
        How many times the fewest cycles, before more cost what they may save, or are too many.
    floor : array of choices
        What all mappings need at least besides what crosses inward, in pJ.
    limited : bool
        Whether more cycles are too many.
    """

    slower: Floats
    floor: Floats
    limited: bool

    def key(self) -> bytes:
        """Return what tells it from others."""
        return self.slower.tobytes() + self.floor.tobytes() + bytes([self.limited])


def by_element(
    least: Least,
    m: int,
    priced: tuple[tuple[Link, Price], ...],
    links: Sequence[Link],
    pays: Pays,
    pace: Pace | None,
) -> Floats:
    """Return what links cost at least that cross inward to memory m.

    Stays are those that each instance of a receiver has for itself. Where all together pay for all
    words once and windows overlap, these are received once as well: some serve fewer operations
    than others.
    """
    levels = [least.segment[link.receiver] for link, _ in priced]
    if (
        min(levels) == 0 < max(levels)
        and len(levels) <= MOST_MIXED
        and all(least.unites(k, 0) and not least.windows[k.tensor] for k, _ in priced)
    ):
        return mixed(least, m, priced, links, pace)
    if pays is Pays.EITHER:
        ways = (Pays.EACH, Pays.ALL)
        return np.maximum(*(by_element(least, m, priced, links, way, pace) for way in ways))
    # a memory further in may have the smaller part of what those outside of it stay through
    room = tuple(
        inf if level > min(levels) else least.room(link, links)
        for (link, _), level in zip(priced, levels, strict=True)
    )
    key = pays, m, priced, room, None if pace is None else pace.key()
    if key not in least.known:
        outside = least.segment[m - 1]
        operations = float(least.layer.operations)
        one = np.ones(len(least.cycles))
        alone = dict.fromkeys(least.layer.bounds, one)
        once = 0.0
        stays = []
        for (link, price), free in zip(priced, room, strict=True):
            t = link.tensor
            each = price.received * one
            longest = least.longest[t] * one
            if pays is Pays.EACH or not least.unites(link, outside):
                sharing = least.sharing(link, outside, least.segment[link.receiver], tiles=True)
                each = each + price.sent / sharing
                if pace is not None and least.segment[link.receiver] > 0:
                    longest = longest_in_one(least, link, pace)
            elif least.windows[t]:
                once += (price.sent + price.received) * least.words[t]
                each = 0.0 * one
            else:
                once += price.sent * least.words[t]
            stay = Stay(
                operations * each, 0.0 * one, least.relevant[t], least.irrelevant[t],
                least.windows[t], longest, free, alone, one,
            )  # fmt: skip
            stays.append(stay)
        least.known[key] = least_crossing(stays, least.layer.bounds) + once
    return least.known[key]


def mixed(
    least: Least,
    m: int,
    priced: tuple[tuple[Link, Price], ...],
    links: Sequence[Link],
    pace: Pace | None,
) -> Floats:
    """Return it where words for memories above the arrays cross with words for the elements."""
    room = tuple(least.room(link, links) for link, _ in priced)
    key = m, priced, room, None if pace is None else pace.key()
    if key not in least.known:
        operations = float(least.layer.operations)
        one = np.ones(len(least.cycles))
        near: list[Stay] = []
        far: list[Stay] = []
        for (link, price), free in zip(priced, room, strict=True):
            t = link.tensor
            inside = least.segment[link.receiver]
            spread = dict(zip(least.layer.bounds, least.spread[:inside].prod(axis=0), strict=True))
            stay = Stay(
                operations * (price.sent + price.received) * one, 0.0 * one, least.relevant[t],
                least.irrelevant[t], (), least.longest[t] * one, free, spread, one,
            )  # fmt: skip
            (far if inside else near).append(stay)
        idle = floor = None
        if pace is not None:
            elements = least.spread.prod(axis=(0, 1))
            cycles = operations * least.architecture.compute.cycles / elements
            idle = np.maximum(pace.slower * least.cycles / cycles - 1, 0.0)
            # each of the memories that this may be asked for has its part
            floor = pace.floor / least.segment[1 : least.compute].count(0)
        least.known[key] = least_mixed(near, far, least.layer.bounds, idle, floor)
    return least.known[key]


def longest_in_one(least: Least, link: Link, pace: Pace) -> Floats:
    """Return how many operations a word serves at most in one instance of its receiver.

    The element that has most work takes all steps. It has no less of any dimension than there is
    for each, and no more than the steps leave to it. If what all mappings need were negative, more
    cycles could make up for it.
    """
    t = link.tensor
    cycles = least.architecture.compute.cycles * least.extents.prod(axis=0)
    slower = np.maximum(pace.slower * least.cycles / cycles, 1.0)
    slower = np.where((pace.floor >= 0) | pace.limited, slower, inf)
    names = list(least.layer.bounds)
    further = least.spread[least.segment[link.receiver] :].prod(axis=0)
    extents = dict(zip(names, least.extents * further, strict=True))
    longest = slower * prod(pairs for _, pairs in least.windows[t])
    for d in least.irrelevant[t]:
        longest *= extents[d]
    return np.minimum(longest * (1 + CLOSE), least.longest[t])
