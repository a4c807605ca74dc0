"""In which order tiles lie inside each other, and how they divide the room that they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import permutations
from math import inf

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.stays.stay import Inside, Stay

MOST_ORDERED = 4  # tensors whose orders are all looked at
MOST_DIVIDED = 4096  # words of a tile, above which the others are small next to it
MOST_SPLITS = 24
# of words that the stay of a tile spans to those of a tile inside that slides, in ranges
RATIOS = ((1.0, 2.0), (2.0, 8.0), (8.0, 64.0), (64.0, inf))


class Orders:
    """All orders of the tiles of some stays, or of many ones which is outermost.

    Parameters
    ----------
    stays : sequence of Stay
    bounds : mapping of str to int
        Iterations of every dimension.

    Attributes
    ----------
    insides : list of (int, Inside, int)
        What limits stays, with the positions of the one that is outside and of the one inside it
        whose instances count, if any.
    order : array of (orders, stays)
    start : array of orders + 1
        First row of each order in `splits`.
    splits : array of (splits, 7, stays)
        See `Order`.
    which : array of (orders, stays, 3)
        Positions in `insides`.
    """

    def __init__(self, stays: Sequence[Stay], bounds: Mapping[str, int]) -> None:
        count = len(stays)
        every: Iterable[tuple[int, ...]] = permutations(range(count))
        if count > MOST_ORDERED:
            every = [(i, *(j for j in range(count) if j != i)) for i in range(count)]
        ways = [Order(stays, own, bounds) for own in every]
        found: dict[tuple[int, Inside, int], int] = {}
        self.which = np.array(
            [
                [[found.setdefault(own, len(found)) for own in row] for row in way.insides]
                for way in ways
            ]
        )
        self.insides = list(found)
        self.order = np.array([way.order for way in ways])
        self.start = np.cumsum([0, *(len(way.splits) for way in ways)])
        self.splits = np.concatenate([way.splits for way in ways])


class Order:
    """An order of tiles, from the outermost one on, and ways to divide the room among them.

    Of a tile that slides, let the stay of the tile outside span x times the words that it has. A
    stay of that tile begins with no more words than the sliding tile has. So at least 1 - 1 / x of
    all words that the stay spans come in: they serve iterations of windows that the tile outside
    spans as well. And while x is small, the tile outside does not stay for long.

    Parameters
    ----------
    stays : sequence of Stay
    order : tuple of int
        Their positions.
    bounds : mapping of str to int
        Iterations of every dimension.

    Attributes
    ----------
    order : tuple of int
    splits : array of (splits, 7, stays)
        For each way to divide the room, by stay:

        - iterations that it may span of the tile outside, for the first one all others together;
        - iterations of windows that give a word while it is in its tile, relative to the most;
        - how many times a word comes in for that reason, if it stays for all other iterations;
        - iterations that it may span of the tile outside, with those of windows;
        - of the tile of the next one, words that its own stay may span;
        - iterations of windows that give a word which is sent to several elements, see
          `Stay.shared`;
        - words of its tile.
    """

    def __init__(
        self, stays: Sequence[Stay], order: tuple[int, ...], bounds: Mapping[str, int]
    ) -> None:
        self.order = order
        own = [stays[i] for i in order]
        # of many tensors it is not known which one is inside of which
        chained = len(own) <= MOST_ORDERED
        self.outer = [order[0], *(order[:-1] if chained else order[:1] * (len(own) - 1))]
        outer = [stays[i] for i in self.outer]
        inner = [own[1:], *([each] for each in own[1:])]
        self.inside = [Inside.of(*pair, bounds) for pair in zip(outer, inner, strict=True)]
        slides = [n for n in range(1, len(own)) if own[n].slides and chained][:1]
        self.within = [
            Inside.of(outer[n], [own[n]], bounds, windows=True) if n in slides else None
            for n in range(len(own))
        ]
        self.stay = [
            Inside.spanned_by(own[n], own[n + 1], bounds) if n + 1 in slides else None
            for n in range(len(own))
        ]
        rows = []
        for rooms in divided_room(own):
            room = dict(zip(order, rooms, strict=True))
            for low, high in RATIOS if slides else [(1.0, inf)]:
                more = inf if low == 1.0 else low / (low - 1)
                row = np.full((7, len(own)), inf)
                for n, each in enumerate(own):
                    spans = outer[n].windows.most_iterations
                    row[0, n] = spans(room[self.outer[n]], self.inside[n].spanned)
                    row[1, n] = each.reused(rooms[n])
                    row[5, n] = each.shared(rooms[n])
                    row[6, n] = rooms[n] if each.slides else 1.0
                    row[2, n] = each.windows.mean / (each.windows.most * row[1, n])
                    if (within := self.within[n]) is not None:
                        row[3, n] = more * spans(room[self.outer[n]], within.spanned)
                    if n + 1 in slides:
                        row[4, n] = high * rooms[n + 1]
                rows.append(row)
        self.splits = undominated(np.array(rows))
        none = Inside(frozenset(), 1.0, frozenset(), ())
        following = [*order[1:], order[-1]]
        self.insides = [
            [
                (self.outer[n], self.inside[n], self.outer[n]),
                (self.outer[n], self.within[n] or none, order[n]),
                (order[n], self.stay[n] or none, following[n]),
            ]
            for n in range(len(own))
        ]


def undominated(splits: Floats) -> Floats:
    """Return splits without those that allow for no more than another one in any respect."""
    rows = splits.reshape(len(splits), -1)
    rows, first = np.unique(rows, axis=0, return_index=True)
    # how often a word comes in follows from how many iterations give it
    more = np.delete(rows, np.s_[2 * splits.shape[2] : 3 * splits.shape[2]], axis=1)
    covers = (more[:, None] >= more[None]).all(axis=2) & ~np.eye(len(more), dtype=bool)
    return splits[np.sort(first[~covers.any(axis=0)])]


def divided_room(own: Sequence[Stay]) -> list[list[float]]:
    """Return the most words of each tile, for all ways to divide the room of the first one.

    Tiles in the same memory share its room. Each range of sizes of the first tile leaves to others
    what its least size does.
    """
    first = own[0]
    room = [each.room for each in own]
    others = [n for n, each in enumerate(own) if n and each.place == first.place]
    matters = len(own) > 2 or any(each.slides for each in own[1:])
    if first.place is None or not others or not matters or first.room > MOST_DIVIDED:
        return [room]
    # each room leaves a word to all others, and less than a word over
    total = (first.room + 1) * first.bits - 1 + sum(own[n].bits for n in others)
    most = int(first.room)
    ends = set(range(1, most + 1))
    if most > MOST_SPLITS:
        steps = np.geomspace(1, most / 2, MOST_SPLITS // 2).astype(int).tolist()
        ends = {*steps, *(most - w for w in steps), most}
    ways = []
    least = 1
    for end in sorted(ends):
        words = [float(end), *room[1:]]
        for n in others:
            left = total - least * first.bits - sum(own[k].bits for k in others if k != n)
            words[n] = min(room[n], float(left // own[n].bits))
        ways.append(words)
        least = end + 1
    return ways
