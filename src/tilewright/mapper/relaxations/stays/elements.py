"""What crosses inward at least where each element of an array is looked at by itself.

Elements with less work than others have tiles and stays of their own, so that no order of tiles
holds for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.stays.crossing import least_crossing
from tilewright.mapper.relaxations.stays.mixed import MOST_MIXED, OperationShare, least_mixed
from tilewright.mapper.relaxations.stays.stay import Stay

if TYPE_CHECKING:
    from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price

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

    Stays are those that each instance of a receiver has for itself. Links may be among them that
    go on to operations directly, if they are bounded together with others, see `mixes`.
    """
    together = mixes(least, priced)
    direct = any(link.receiver == least.compute for link, _ in priced)
    if together and (direct or not any(least.windows[k.tensor].most > 1 for k, _ in priced)):
        return mixed(least, m, priced, links, pace)
    if pays is Pays.EITHER:
        ways = (Pays.EACH, Pays.ALL)
        best = np.maximum(*(by_element(least, m, priced, links, way, pace) for way in ways))
        return np.maximum(best, mixed(least, m, priced, links, pace)) if together else best
    levels = [least.segment[link.receiver] for link, _ in priced]
    room = tuple(least.rooms.words(link, links) for link, _ in priced)
    key = pays, m, priced, room, None if pace is None else pace.key()
    if key not in least.known:
        outside = least.segment[m - 1]
        operations = float(least.layer.operations)
        one = np.ones(len(least.cycles))
        alone = dict.fromkeys(least.layer.bounds, one)
        once = 0.0
        words: list[Words] = []
        for (link, price), own, level in zip(priced, room, levels, strict=True):
            t = link.tensor
            # a memory further in may have the smaller part of what those outside stay through
            free = own if level == min(levels) else inf
            longest = least.longest[t] / least.windows[t].most * one
            sent = price.sent
            if pays is Pays.ALL and least.unites(link, outside):
                once += sent * least.words[t]
                sent = 0.0
            elif pace is not None and least.segment[link.receiver] > 0:
                longest = longest_in_one(least, link, pace)
            each, single = prices(least, link, outside, own, sent, price.received)
            stay = Stay(
                sent=operations * each,
                received=0.0 * one,
                relevant=least.relevant[t],
                irrelevant=least.irrelevant[t],
                windows=least.windows[t],
                pairs=1.0,
                longest=longest,
                room=free,
                spread=alone,
                instances=one,
            )
            words.append(Words(stay, operations * single))
        parts = [share * least_crossing(own, least.layer.bounds) for share, own in by_pairs(words)]
        least.known[key] = np.asarray(np.sum(parts, axis=0)) + once
    return least.known[key]


def mixes(least: Least, priced: Sequence[tuple[Link, Price]]) -> bool:
    """Whether words for memories above the arrays are bounded together with others, see `mixed`."""
    levels = [least.segment[link.receiver] for link, _ in priced]
    return (
        min(levels) == 0 < max(levels)
        and len(levels) <= MOST_MIXED
        and all(least.unites(link, 0) for link, _ in priced)
        and not least.windows[-1]
        and all(k.receiver < least.compute or least.windows[k.tensor].most == 1 for k, _ in priced)
    )


def prices(
    least: Least, link: Link, outside: int, room: float, sent: float, received: float
) -> tuple[Floats, Floats]:
    """Return what an operation of an element pays for a word that serves no other one.

    It shares what is sent with elements that have other iterations of irrelevant dimensions. For
    windows, it pays that for all iterations that give the word, wherever they are, or for those of
    a stay in as many elements as may share that: whichever costs more in the mean.

    Returns
    -------
    two arrays of choices
        What does not depend on how many iterations give the word, and what is divided by that.
    """
    t = link.tensor
    windows = least.windows[t]
    arrays = outside, least.segment[link.receiver]
    sharing = least.unrolled.instances(t, least.irrelevant[t], arrays)
    one = np.ones(len(sharing))
    if windows.most == 1:
        return received + sent / sharing, 0.0 * one
    inside = windows.most_reuse(room) * one
    everywhere = inside.copy()
    for dimensions, pairs in zip(windows.dimensions, windows.pairs, strict=True):
        everywhere *= np.minimum(pairs, least.unrolled.sharing_windows(t, dimensions, arrays))
    each, single = np.zeros((2, len(sharing)))
    for cost, served in ((received * one, inside), (sent / sharing, everywhere)):
        few = served < windows.mean
        each = each + np.where(few, cost / served, 0.0)
        single = single + np.where(few, 0.0, cost)
    return each, single


@dataclass(frozen=True)
class Words:
    """A stay, and what its words cost besides, divided by the iterations of windows that give one.

    Attributes
    ----------
    single : array of choices
        Price if there were a word for each operation.
    """

    stay: Stay
    single: Floats


def by_pairs(words: Sequence[Words]) -> list[tuple[float, list[Stay]]]:
    """Return groups of operations by how many iterations of windows give their word.

    The least cost is concave in prices. So its mean over words, for each of which the number is
    another one, is at least that of two kinds with the same mean price: of as many as can be, and
    of one. Where several tensors slide, that is done for the first of them.

    Returns
    -------
    list of (float, list of Stay)
        The share of all operations, and the stays with all of their prices.
    """
    slide = [i for i, own in enumerate(words) if own.single.any()]
    kinds: list[tuple[float, float]] = [(1.0, 1.0)]
    if slide:
        windows = words[slide[0]].stay.windows
        alone = (windows.most / windows.mean - 1) / (windows.most - 1)
        kinds = [(1 - alone, windows.most), (alone, 1.0)]
    groups = []
    for share, most in kinds:
        stays = []
        for i, own in enumerate(words):
            pairs = most if slide and i == slide[0] else own.stay.windows.most
            stays.append(replace(own.stay, sent=own.stay.sent + own.single / pairs))
        groups.append((share, stays))
    return groups


def mixed(
    least: Least,
    m: int,
    priced: tuple[tuple[Link, Price], ...],
    links: Sequence[Link],
    pace: Pace | None,
) -> Floats:
    """Return it where words for memories above the arrays cross with words for the elements."""
    room = tuple(
        least.rooms.words(link, links) if link.receiver < least.compute else inf
        for link, _ in priced
    )
    key = m, priced, room, None if pace is None else pace.key()
    if key not in least.known:
        operations = float(least.layer.operations)
        one = np.ones(len(least.cycles))
        kinds: tuple[list[Words], ...] = ([], [], [])
        for (link, price), free in zip(priced, room, strict=True):
            t = link.tensor
            inside = least.segment[link.receiver]
            spread = dict(zip(least.layer.bounds, least.spread[:inside].prod(axis=0), strict=True))
            windows = least.windows[t]
            direct = link.receiver == least.compute
            longest = least.longest[t] / windows.most * one
            if direct:
                longest = least.unrolled.instances(t, least.irrelevant[t], (0, inside))
            each, single = operations * (price.sent + price.received) * one, 0.0 * one
            if windows.most > 1:
                each, single = single, each
            stay = Stay(
                sent=each,
                received=0.0 * one,
                relevant=least.relevant[t],
                irrelevant=least.irrelevant[t],
                windows=windows,
                pairs=1.0,
                longest=longest,
                room=free,
                spread=spread,
                instances=one,
            )
            kinds[2 if direct else min(inside, 1)].append(Words(stay, single))
        idle = floor = None
        if pace is not None:
            elements = least.spread.prod(axis=(0, 1))
            cycles = operations * least.architecture.compute.cycles / elements
            idle = np.maximum(pace.slower * least.cycles / cycles - 1, 0.0)
            # each of the memories that this may be asked for has its part
            floor = pace.floor / least.segment[1 : least.compute].count(0)
        begin, end = len(kinds[0]), len(kinds[0]) + len(kinds[1])
        groups = [
            OperationShare(share, own[:begin], own[begin:end], own[end:])
            for share, own in by_pairs([words for kind in kinds for words in kind])
        ]
        least.known[key] = least_mixed(groups, least.layer.bounds, idle, floor)
    return least.known[key]


def longest_in_one(least: Least, link: Link, pace: Pace) -> Floats:
    """Return how many operations a word serves at most in one instance, for each pair of a window.

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
    longest = slower
    for d in least.irrelevant[t]:
        longest *= extents[d]
    return np.minimum(longest * (1 + CLOSE), least.longest[t] / least.windows[t].most)
