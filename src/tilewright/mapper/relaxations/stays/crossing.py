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
from itertools import permutations
from math import inf, prod

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.windows.pairs import Windows

MOST_ORDERED = 4  # tensors whose orders are all looked at
MOST_DIVIDED = 4096  # words of a tile, above which the others are small next to it
MOST_SPLITS = 24
SINGLY = 6  # times that words are sent that are looked at one by one
EQUAL = 1e-9
# of words that the stay of a tile spans to those of a tile inside that slides, in ranges
RATIOS = ((1.0, 2.0), (2.0, 8.0), (8.0, 64.0), (64.0, inf))
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
    again : array of choices, optional
        Part of the price received that is for words sent. Without it, nothing is known of how many
        iterations of a window give a word while it is in a tile.
    sharing : array of choices, optional
        Instances along dimensions of windows that a word is sent to at most.
    place, bits : int, optional
        The memory whose room tiles share, and the bits of a word. By default each has room alone.
    whole : three arrays of choices, optional
        Where all words are sent anew for each round of irrelevant dimensions: operations that a
        word serves at most in one round, the price of a round for a price of 1 for each operation,
        and the share of all words that each word of a tile is, of which a round may find some.
    held : dict of str to array of choices, optional
        Iterations of each dimension in the tile at least.
    left : array of choices, optional
        Words of its tile at most, if those of others have the fewest that they can.
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
    again: Floats | None = None
    sharing: Floats | None = None
    place: int | None = None
    bits: int = 1
    whole: tuple[Floats, Floats, Floats] | None = None
    held: Mapping[str, Floats] | None = None
    left: Floats | None = None

    def along(self, dimensions: frozenset[str]) -> Floats:
        """Return the instances along some dimensions together, at most."""
        if self.most is not None:
            return self.most(dimensions)
        found = np.ones(len(self.sent))
        for d in sorted(dimensions):
            found = found * self.spread[d]
        return found

    @property
    def slides(self) -> bool:
        """Whether it is known how many iterations of a window give a word in a tile."""
        return self.again is not None and self.windows.most > 1

    def reused(self, words: float) -> float:
        """Return how many iterations of windows give a word at most in a tile, of those in all."""
        if not self.slides:
            return 1.0
        return self.windows.most_reuse(words) / self.windows.most


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
    return Crossing(stays, Orders(stays, bounds)).least([(1.0, 1.0)] * len(stays))


class Crossing:
    """Tensors that cross inward together, for a number of spatial choices.

    Parameters
    ----------
    stays : sequence of Stay
        Their prices may be multiplied later.
    ways : Orders
        Those of the stays.
    """

    def __init__(self, stays: Sequence[Stay], ways: Orders) -> None:
        one = np.ones(len(stays[0].sent))
        again = [0.0 * one if stay.again is None else stay.again for stay in stays]
        received = [stay.received - own for stay, own in zip(stays, again, strict=True)]
        sharing = [one if stay.sharing is None else stay.sharing for stay in stays]
        longest = [stay.longest * one for stay in stays]
        self.prices = np.array([[stay.sent for stay in stays], again, received])
        none = (0.0 * one, 0.0 * one, 0.0 * one)
        whole = [none if stay.whole is None else stay.whole for stay in stays]
        self.caps = np.array(
            [longest, [stay.instances * one for stay in stays], sharing, *zip(*whole, strict=True)]
        )
        self.limits = np.array([inside.limit(stays[i]) for i, inside in ways.insides])
        self.rooms = np.array([inside.room(stays[i]) for i, inside in ways.insides])
        self.ways = ways

    def least(self, times: Sequence[tuple[float, float]]) -> Floats:
        """Return the least total, with prices of what is sent and received multiplied."""
        sent, received = (np.array(own)[:, None] for own in zip(*times, strict=True))
        prices = self.prices * np.array([sent, sent, received])
        ways = self.ways
        places = ways.order, ways.start, ways.splits, ways.which
        return np.asarray(least_of_orders(prices, self.caps, self.limits, self.rooms, *places))


class Orders:
    """All orders of the tiles of some stays, or of many ones which is outermost.

    Parameters
    ----------
    stays : sequence of Stay
    bounds : mapping of str to int
        Iterations of every dimension.

    Attributes
    ----------
    insides : list of (int, Inside)
        What limits stays, with the position of the one that is outside.
    order : array of (orders, stays)
    start : array of orders + 1
        First row of each order in `splits`.
    splits : array of (splits, 6, stays)
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
        found: dict[tuple[int, Inside], int] = {}
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
    splits : array of (splits, 6, stays)
        For each way to divide the room, by stay:

        - iterations that it may span of the tile outside, for the first one all others together;
        - iterations of windows that give a word while it is in its tile, relative to the most;
        - how many times a word comes in for that reason, if it stays for all other iterations;
        - iterations that it may span of the tile outside, with those of windows;
        - of the tile of the next one, words that its own stay may span;
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
                row = np.full((6, len(own)), inf)
                for n, each in enumerate(own):
                    spans = outer[n].windows.most_iterations
                    row[0, n] = spans(room[self.outer[n]], self.inside[n].spanned)
                    row[1, n] = each.reused(rooms[n])
                    row[5, n] = rooms[n]
                    row[2, n] = each.windows.mean / (each.windows.most * row[1, n])
                    if (within := self.within[n]) is not None:
                        row[3, n] = more * spans(room[self.outer[n]], within.spanned)
                    if n + 1 in slides:
                        row[4, n] = high * rooms[n + 1]
                rows.append(row)
        self.splits = undominated(np.array(rows))
        none = Inside(frozenset(), 1.0, frozenset(), ())
        self.insides = [
            [
                (self.outer[n], self.inside[n]),
                (self.outer[n], self.within[n] or none),
                (order[n], self.stay[n] or none),
            ]
            for n in range(len(own))
        ]


def undominated(splits: Floats) -> Floats:
    """Return splits without those that allow for no more than another one in any respect."""
    rows = splits.reshape(len(splits), -1)
    rows, first = np.unique(rows, axis=0, return_index=True)
    # how often a word comes in follows from how many iterations give it
    more = np.delete(rows, np.s_[2 * splits.shape[2] : 3 * splits.shape[2]], axis=1)
    covers = (more[:, None] >= more[None]).all(axis=2)
    np.fill_diagonal(covers, False)
    return splits[np.sort(first[~covers.any(axis=0)])]


@dataclass(frozen=True)
class Inside:
    """What limits the product of Y of stays inside the tile of another one.

    Attributes
    ----------
    spanned : frozenset of str
        Dimensions of which the stays span several iterations.
    most : float
        The limit, of one iteration in the tile and one instance.
    held : frozenset of str
        Other dimensions of the outer tile, of which it has iterations for all elements further in.
    together : tuple of frozensets of str
        Dimensions, the instances along each of which together multiply the limit.
    """

    spanned: frozenset[str]
    most: float
    held: frozenset[str]
    together: tuple[frozenset[str], ...]

    @classmethod
    def of(
        cls,
        outer: Stay,
        stays: Sequence[Stay],
        bounds: Mapping[str, int],
        windows: bool = False,
    ) -> Inside:
        """Return that of some stays.

        An iteration of a dimension relevant to the tile takes up room for one stay that spans it.
        What several stays span of a dimension, or any of an irrelevant one, may be the whole of it.
        A word of a window may come back after the stay of the outer tile, or slide on: it serves
        all pairs. With `windows`, it serves as many as the outer tile spans in one instance.
        """
        counts = dict.fromkeys(bounds, 0)
        pairs = 1.0
        for stay in stays:
            for d in stay.irrelevant:
                counts[d] += 1
            for e, dimensions in enumerate(stay.windows.dimensions):
                shared = sorted(dimensions & outer.relevant)
                if windows and len(shared) == len(dimensions) - 1:
                    for d in shared:
                        counts[d] += 1
                else:
                    pairs *= stay.windows.pairs[e] if windows else 1.0
            pairs *= 1.0 if windows else stay.pairs
        spanned = frozenset(d for d, count in counts.items() if count > 0)
        takes_room = frozenset(d for d in spanned if d in outer.relevant)
        most = pairs
        for d, count in counts.items():
            most *= float(bounds[d]) ** (count - (d in takes_room))
        # what a tensor's stays gain by several instances is what `Stay.received` counts for it
        alone = frozenset(d for d in takes_room if counts[d] == 1)
        together = [stay.irrelevant & alone for stay in stays]
        together += [frozenset((d,)) for d in sorted(takes_room - alone)]
        # what fits a tile that slides is no product
        held = frozenset() if outer.windows else outer.relevant - spanned
        return cls(spanned, most, held, tuple(own for own in together if own))

    @classmethod
    def spanned_by(cls, outer: Stay, inner: Stay, bounds: Mapping[str, int]) -> Inside:
        """Return what limits Y of a stay of which another tensor spans a number of words."""
        free = outer.irrelevant & inner.irrelevant
        most = outer.pairs * prod(float(bounds[d]) for d in free)
        spanned = outer.irrelevant - free
        return cls(spanned, most, frozenset(), (spanned,) if spanned else ())

    def limit(self, outer: Stay) -> Floats:
        """Return the limit of one iteration in the tile, for every choice."""
        limit = np.full(len(outer.sent), self.most)
        for own in self.together:
            limit = limit * outer.along(own)
        if outer.held is not None:
            for d in sorted(self.held):
                limit = limit / outer.held[d]
        return limit

    def room(self, outer: Stay) -> Floats:
        """Return the most iterations in the tile, for every choice."""
        if outer.left is None or outer.windows:
            return np.full(len(outer.sent), inf)
        return outer.left


def most_inside(outer: Stay, stays: Sequence[Stay], bounds: Mapping[str, int]) -> Floats:
    """Return the most that the product of Y can be for stays inside the tile of another one."""
    inside = Inside.of(outer, stays, bounds)
    return outer.windows.most_iterations(outer.room, inside.spanned) * inside.limit(outer)


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
    # each room leaves a word to all others
    total = first.room * first.bits + sum(own[n].bits for n in others)
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


@kernel
def least_of_orders(
    prices: Floats,
    caps: Floats,
    limits: Floats,
    rooms: Floats,
    order: Ints,
    start: Ints,
    splits: Floats,
    which: Ints,
) -> Floats:
    """Return the least total price over all orders and ways to divide the room, for every choice.

    Parameters
    ----------
    prices : array of (sent, sent to each, or received; stays; choices)
    caps : array of (longest, instances, sharing, or three of `whole`; stays; choices)
    limits, rooms : arrays of (insides, choices)
        What iterations in a tile are multiplied by, and how many these are at most.
    order, start, splits, which : arrays
        Of `Orders`.
    """
    count, number = prices.shape[1], prices.shape[2]
    found = np.empty(number)
    rest = count - 1
    costs = np.empty((rest, 7))
    points = np.empty(4 * rest)
    sizes = np.empty((2, rest))
    for c in range(number):
        best = np.inf
        for o in range(len(order)):
            i = order[o, 0]
            sent, again, received = prices[0, i, c], prices[1, i, c], prices[2, i, c]
            words = 1.0 / caps[0, i, c]
            for s in range(start[o], start[o + 1]):
                split = splits[s]
                often = max(1.0, split[2, 0])
                some = max(1.0, split[2, 0] / caps[2, i, c])
                first = (sent * some + (again * some + received * often) / caps[1, i, c]) * words
                stay = split[4, 0] * limits[which[o, 0, 2], c]
                first = max(first, (sent + again + received) / stay)
                if first >= best:
                    continue
                # what is left if each has the most that it may have, whatever the others have
                least = first
                for n in range(1, count):
                    k = order[o, n]
                    share, sharing = split[1, n], caps[2, k, c]
                    longest = caps[0, k, c]
                    each = longest * caps[1, k, c]
                    within = 1.0 / (split[3, n] * limits[which[o, n, 1], c])
                    gain = max(1.0, 1.0 / (share * sharing))
                    some = max(1.0, split[2, n] / sharing)
                    all_sent = max(some / each, within / sharing)
                    cost = costs[n - 1]
                    cost[0] = prices[0, k, c] * gain
                    cost[1] = prices[1, k, c] * gain + prices[2, k, c] / share
                    cost[2] = prices[0, k, c] * max(some / longest, within / sharing)
                    cost[3] = prices[1, k, c] * all_sent
                    cost[3] += prices[2, k, c] * max(max(1.0, split[2, n]) / each, within)
                    u = which[o, n, 0]
                    most = limits[u, c] * min(split[0, n], rooms[u, c])
                    cost[4] = max(1.0, min(most, split[4, n] * limits[which[o, n, 2], c]))
                    least += max(cost[0] / cost[4], cost[2]) + max(cost[1] / cost[4], cost[3])
                if least >= best:
                    continue
                u = which[o, 0, 0]
                limit = max(1.0, limits[u, c] * min(split[0, 0], rooms[u, c]))
                for n in range(1, count):
                    k = order[o, n]
                    costs[n - 1, 5] = caps[3, k, c]
                    anew = max(0.0, 1.0 - split[5, n] * caps[5, k, c])
                    costs[n - 1, 6] = prices[0, k, c] * caps[4, k, c] * anew
                best = min(best, first + least_of_whole(costs, points, sizes, limit))
        found[c] = best
    return found


@leaf
def least_of_whole(costs: Floats, points: Floats, sizes: Floats, limit: float) -> float:
    """Return the least sum of costs where words are sent a whole number of times.

    Few times are looked at one by one, and more as if they were no whole numbers.

    Parameters
    ----------
    costs, points, sizes, limit
        As for `least_shared`. The last two of each of the costs are how many operations a word
        serves at most that is sent once, or 0 where that is not known, and what it costs to send
        all words once.
    """
    rest = len(costs)
    if rest == 0:
        return 0.0
    if rest == 1:
        return whole_cost(costs[0], min(limit, costs[0, 4]))
    if rest > 2:
        return least_shared(costs, points, sizes, limit)
    best = np.inf
    for n in range(2):
        cost, other = costs[n], costs[1 - n]
        once = cost[5]
        if once == 0.0 or cost[0] == 0.0:
            continue
        for times in range(1, SINGLY + 1):
            y = once / times
            if y < 1.0:
                break
            if y > min(cost[4], limit) * (1 + EQUAL):
                continue
            # others may be almost as few as if it were sent once less
            most = max(y, cost[4])
            if times > 1:
                most = min(most, max(1.0, once / (times - 1)))
            own = max(cost[0] / most, times * cost[6], cost[2]) + max(cost[1] / most, cost[3])
            best = min(best, own + whole_cost(other, min(limit / y, other[4])))
        # from here on, more often
        cost[4] = max(1.0, min(cost[4], once / SINGLY))
        cost[2] = max(cost[2], cost[6] * (SINGLY + 1))
    return min(best, least_shared(costs, points, sizes, limit))


@leaf
def whole_cost(cost: Floats, y: float) -> float:
    """Return what words cost that are sent a whole number of times, with at most this y."""
    y = max(1.0, y)
    sent = max(cost[0] / y, cost[2])
    if cost[5] > 0.0:
        sent = max(sent, cost[6] * np.ceil(cost[5] / y * (1 - EQUAL)))
    return sent + max(cost[1] / y, cost[3])


@leaf
def least_shared(costs: Floats, points: Floats, sizes: Floats, limit: float) -> float:
    """Return the least sum of costs of sizes y from 1 on, whose product is limited.

    A cost is  max(a / y, least a) + max(b / y, least b),  with y up to a most. It is convex in
    log y. All that can still grow have the same slope where the sum is least: the level of slopes
    is lowered until the product reaches its limit (Bitran, Hax, Management Science 27, 1981).

    Parameters
    ----------
    costs : array of (stays, 5)
        a, b, least a, least b, most y.
    points, sizes : arrays of 4 x stays, (2, stays)
        Room to work in.
    """
    rest = len(costs)
    size, last = sizes[0], sizes[1]
    if rest == 1:
        size[0] = min(limit, costs[0, 4])
    elif rest > 1:
        for n in range(rest):
            size[n] = last[n] = 1.0
            slopes(costs[n], points, 4 * n)
        sort_down(points)
        before = 1.0
        for p in range(len(points)):
            level = points[p]
            if level <= 0.0:
                break
            product = 1.0
            for n in range(rest):
                size[n] = size_at(costs[n], level)
                product *= size[n]
            if product > limit:
                growing = 0
                for n in range(rest):
                    growing += size[n] > last[n]
                more = (limit / before) ** (1.0 / growing)
                for n in range(rest):
                    if size[n] > last[n]:
                        size[n] = last[n] * more
                break
            before = product
            for n in range(rest):
                last[n] = size[n]
    total = 0.0
    for n in range(rest):
        total += max(costs[n, 0] / size[n], costs[n, 2]) + max(costs[n, 1] / size[n], costs[n, 3])
    return total


@leaf
def slopes(cost: Floats, points: Floats, start: int) -> None:
    """Put the slopes at which a cost changes into points, and limit its most y to where it ends."""
    a, b, least_a, least_b, most = cost[0], cost[1], cost[2], cost[3], cost[4]
    # how far each of the two falls
    end_a = 1.0 if a == 0.0 else most if least_a == 0.0 else min(max(1.0, a / least_a), most)
    end_b = 1.0 if b == 0.0 else most if least_b == 0.0 else min(max(1.0, b / least_b), most)
    both = min(end_a, end_b)
    cost[4] = max(end_a, end_b)
    alone = a if end_a > end_b else b
    points[start] = a + b
    points[start + 1] = (a + b) / both
    points[start + 2] = alone / both
    points[start + 3] = alone / cost[4]


@leaf
def size_at(cost: Floats, level: float) -> float:
    """Return the size at which the slope of a cost has fallen to a level."""
    a, b, least_a, least_b, most = cost[0], cost[1], cost[2], cost[3], cost[4]
    # the costs that still fall at the size where both have this slope, or one of them
    y = (a + b) / level
    if a < least_a * y or b < least_b * y:
        end_a = most if least_a == 0.0 else a / least_a
        end_b = most if least_b == 0.0 else b / least_b
        alone = a if end_a > end_b else b
        y = max(min(y, end_a, end_b), alone / level)
    return min(max(1.0, y), most)


@leaf
def sort_down(points: Floats) -> None:
    """Sort a few numbers, the greatest first."""
    for k in range(1, len(points)):
        point = points[k]
        i = k
        while i > 0 and points[i - 1] < point:
            points[i] = points[i - 1]
            i -= 1
        points[i] = point


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
