"""What links bring into a memory, by tensor, chain of memories and way to count.

What a link sends that passes memories may count at any of those that it reaches, or a share of it
at each: every word is counted once. Some ways to count give higher bounds than others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.links import Link, Price

Priced = tuple[tuple[Link, Price], ...]
CrossingCost = Callable[[int, Priced, Sequence[Link]], Floats]

# Shares of what is sent that count at one of the memories that a link reaches, whereas the rest
# counts at all others alike. A small share is enough where words are sent once.
MAIN_SHARES = (1.0, 0.96, 0.8)


class CountWays:
    """Ways to count what a link sends: at which memory, with which share, or at all alike.

    Parameters
    ----------
    memories : int

    Attributes
    ----------
    plain : int
        How many of them count all at one memory. They come first.
    """

    def __init__(self, memories: int) -> None:
        self.each = [(m, share) for share in MAIN_SHARES for m in range(1, memories)]
        self.plain = memories - 1

    def __len__(self) -> int:
        return len(self.each) + 1

    def share(self, way: int, m: int, places: Sequence[int]) -> float:
        """Return the share that counts at a memory, of what may count at some places."""
        if way == len(self.each):
            return 1.0 / len(places)
        place, most = self.each[way]
        # the nearest one that the link reaches
        place = min(places, key=lambda own: (abs(own - place), own))
        if len(places) == 1:
            return 1.0
        return most if m == place else (1.0 - most) / (len(places) - 1)


class IntoMemory:
    """What may cross into a memory, by tensor, chain and way to count.

    Parameters
    ----------
    least, links, price
        As for `Cost`.
    m : int
        The memory.
    ways : CountWays

    Attributes
    ----------
    entries : list of lists of (link and price, link)
        For each tensor what may cross, and which link ends here, or None.
    index : list of arrays of (chains, ways)
        Which of these it is.
    """

    def __init__(
        self,
        least: Least,
        links: Sequence[Sequence[Sequence[Link]]],
        price: Callable[[Link], Price],
        m: int,
        ways: CountWays,
    ) -> None:
        self.m = m
        self.known: dict[int, tuple[Priced, list[Link]]] = {}
        self.entries: list[list[tuple[tuple[Link, Price] | None, Link | None]]] = []
        self.index = []
        for own in links:
            rows = [entries(least, price, each, m, ways) for each in own]
            found = list(dict.fromkeys(one for row in rows for one in row))
            self.entries.append(found)
            self.index.append(np.array([[found.index(one) for one in row] for row in rows]))

    @property
    def free(self) -> bool:
        """Whether nothing that crosses costs anything."""
        return all(priced is None for own in self.entries for priced, _ in own)

    def different(self, which: Ints, way: Ints) -> tuple[list[tuple[Priced, list[Link]]], Ints]:
        """Return what crosses, and which of these it is for each bypass choice."""
        codes = np.zeros(len(which), np.int64)
        for t, index in enumerate(self.index):
            codes = codes * len(self.entries[t]) + index[which[:, t], way[:, t]]
        every, position = np.unique(codes, return_inverse=True)
        return [self.crossing(code) for code in every.tolist()], position

    def of_keep(
        self, chains: Sequence[int], crossing: CrossingCost
    ) -> Callable[[Sequence[int]], float]:
        """Return what gives the cost of a bypass choice, by the way to count each tensor."""
        rows = [index[chain].tolist() for index, chain in zip(self.index, chains, strict=True)]
        known: dict[int, float] = {}

        def cost(way: Sequence[int]) -> float:
            code = 0
            for row, own, n in zip(rows, self.entries, way, strict=True):
                code = code * len(own) + row[n]
            if code not in known:
                key = self.crossing(code)
                known[code] = float(crossing(self.m, *key)[0]) if key[0] else 0.0
            return known[code]

        return cost

    def crossing(self, code: int) -> tuple[Priced, list[Link]]:
        """Return what crosses, and the links that end here."""
        if code not in self.known:
            left, parts = code, []
            for own in reversed(self.entries):
                left, at = divmod(left, len(own))
                parts.append(own[at])
            parts.reverse()
            priced = tuple(one for one, _ in parts if one is not None)
            self.known[code] = priced, [link for _, link in parts if link is not None]
        return self.known[code]


def entries(
    least: Least,
    price: Callable[[Link], Price],
    links: Sequence[Link],
    m: int,
    ways: CountWays,
) -> list[tuple[tuple[Link, Price] | None, Link | None]]:
    """Return the link of a tensor that brings words into a memory, and the one that ends there.

    There is one of each for every way to count.
    """
    for link in links:
        if not link.sender < m <= link.receiver or link.receiver == least.compute:
            continue
        ends = link if link.receiver == m else None
        # also behind arrays: those that share a word there are sent it once
        places = range(link.sender + 1, link.receiver + 1)
        cost = price(link)
        received, passed = (cost.received, cost.passed) if ends else (0.0, ())
        found: list[tuple[tuple[Link, Price] | None, Link | None]] = []
        for way in range(len(ways)):
            share = ways.share(way, m, places)
            here = Price(cost.sent * share, received, passed=passed)
            found.append(((link, here) if here.on_the_way or here.received else None, ends))
        return found
    return [(None, None)] * len(ways)
