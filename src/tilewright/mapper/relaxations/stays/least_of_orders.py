"""The least cost of words that cross inward together, over all orders of their tiles."""

from __future__ import annotations

import numpy as np

from tilewright.kernels.kernel import kernel, leaf
from tilewright.kernels.types import Floats, Ints

SINGLY = 6  # times that words are sent that are looked at one by one
EQUAL = 1e-9
MANY = 1e18  # words where there is no limit


@kernel
def least_of_orders(
    prices: Floats,
    caps: Floats,
    tiles: Floats,
    elements: Floats,
    order: Ints,
    start: Ints,
    splits: Floats,
    which: Ints,
) -> Floats:
    """Return the least total price over all orders and ways to divide the room, for every choice.

    Parameters
    ----------
    prices : array of (sent, sent to each, received, or sent once; stays; choices)
        The last ones are those of a round in which all words are sent.
    caps : array of (longest, instances, sharing, whole, most in a round, or across; stays; choices)
    tiles : array of (insides, 3, choices)
        What iterations in a tile count for, how many it has at most, and how many at least of those
        that no stay spans.
    elements : array of (stays, expressions, 3, choices)
        Of `sent_at_once`.
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
                sharing = min(caps[2, i, c], sent_at_once(elements[i, :, :, c], split[6, 0]))
                given = min(split[1, 0] * sharing, split[5, 0] * caps[5, i, c])
                some = max(1.0, split[2, 0] * split[1, 0] / given)
                first = (sent * some + (again * some + received * often) / caps[1, i, c]) * words
                stay = split[4, 0] * tiles[which[o, 0, 2], 0, c]
                first = max(first, (sent + again + received) / stay)
                if first >= best:
                    continue
                # what is left if each has the most that it may have, whatever the others have
                least = first
                for n in range(1, count):
                    k = order[o, n]
                    share = split[1, n]
                    sharing = min(caps[2, k, c], sent_at_once(elements[k, :, :, c], split[6, n]))
                    longest = caps[0, k, c]
                    each = longest * caps[1, k, c]
                    u = which[o, n, 1]
                    within = tiles[u, 2, c] / (split[3, n] * tiles[u, 0, c])
                    # of all iterations that could give a word, those of all that it is sent to
                    given = min(share * sharing, split[5, n] * caps[5, k, c])
                    gain = max(1.0, 1.0 / given)
                    some = max(1.0, split[2, n] * share / given)
                    all_sent = max(some / each, within / sharing)
                    cost = costs[n - 1]
                    cost[0] = prices[0, k, c] * gain
                    cost[1] = prices[1, k, c] * gain + prices[2, k, c] / share
                    cost[2] = prices[0, k, c] * max(some / longest, within / sharing)
                    cost[3] = prices[1, k, c] * all_sent
                    cost[3] += prices[2, k, c] * max(max(1.0, split[2, n]) / each, within)
                    u = which[o, n, 0]
                    most = tiles[u, 0, c] * spanned(split[0, n], tiles[u, :, c])
                    cost[4] = max(1.0, min(most, split[4, n] * tiles[which[o, n, 2], 0, c]))
                    least += max(cost[0] / cost[4], cost[2]) + max(cost[1] / cost[4], cost[3])
                if least >= best:
                    continue
                u = which[o, 0, 0]
                limit = max(1.0, tiles[u, 0, c] * spanned(split[0, 0], tiles[u, :, c]))
                for n in range(1, count):
                    k = order[o, n]
                    whole = caps[3, k, c]
                    costs[n - 1, 5] = caps[4, k, c]
                    costs[n - 1, 6] = prices[3, k, c] / whole if whole > 0.0 else 0.0
                # the Y of several stays are the iterations of one dimension or another
                whole_numbers = tiles[u, 0, c] == 1.0
                rest_of_it = least_of_whole(costs, points, sizes, limit, whole_numbers)
                best = min(best, first + rest_of_it)
        found[c] = best
    return found


@leaf
def spanned(iterations: float, tile: Floats) -> float:
    """Return how many iterations stays may span of a tile at most: a whole number.

    It is a product of the iterations of some dimensions.
    """
    most = min(iterations, tile[1]) / tile[2]
    found: float = np.floor(most * (1 + EQUAL)) if most < MANY else most
    return found


@leaf
def sent_at_once(elements: Floats, words: float) -> float:
    """Return how many elements a word of a window is sent to at once, in the mean, at most.

    A x B elements have tiles of one expression that lie apart by the tiles of one element or more,
    along both dimensions. When they change, each gets s of its w words. If these are a row, all get
    at least  s min(A, B) + max(A, B) - 1  different ones; in general  s + max(A, B) - 1  (a set of
    m and one of n numbers have m + n - 1 sums or more). What each gets of several expressions is a
    product, or all of one and what is new of another.

    Parameters
    ----------
    elements : array of (expressions, 3)
        The smaller one of A and B, the larger one, and what s is multiplied by.
    words : float
        Of the tile of an element, at most.
    """
    if words == np.inf:
        words = MANY
    first, product, several = -1, 1.0, 0
    for e in range(len(elements)):
        own = elements[e]
        if own[1] == 1.0:
            continue
        several += 1
        if several != 2:
            product *= own[0] * own[1] / (own[2] + (own[1] - 1.0) / words)
        else:
            # the words of both are those of the tile, in the best way
            other = elements[first]
            more, rest = other[1] - 1.0, own[1] - 1.0
            part = min(max(1.0, np.sqrt(own[2] * more * words / (other[2] * rest))), words)
            product = other[0] * other[1] / (other[2] + more / part)
            product *= own[0] * own[1] / (own[2] + rest * part / words)
        first = e
    return float(product)


@kernel
def least_sums(prices: Floats, most: Floats, limits: Floats) -> Floats:
    """Return the least sum of price / y for every choice, where y is limited and their product is.

    Parameters
    ----------
    prices, most : arrays of (stays, choices)
    limits : array of choices
    """
    count, number = prices.shape
    found = np.empty(number)
    costs = np.zeros((count, 5))
    points = np.empty(4 * count)
    sizes = np.empty((2, count))
    for c in range(number):
        for n in range(count):
            costs[n, 0], costs[n, 4] = prices[n, c], max(1.0, most[n, c])
        found[c] = least_shared(costs, points, sizes, max(1.0, limits[c]))
    return found


@leaf
def least_of_whole(
    costs: Floats, points: Floats, sizes: Floats, limit: float, whole_numbers: bool
) -> float:
    """Return the least sum of costs where words are sent a whole number of times.

    Few times are looked at one by one, and more as if they were no whole numbers.

    Parameters
    ----------
    costs, points, sizes, limit
        As for `least_shared`. The last two of each of the costs are how many operations a word
        serves at most that is sent once, or 0 where that is not known, and what it costs to send
        all words once.
    whole_numbers : bool
        Whether the sizes are no larger than whole numbers whose product is limited.
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
            left = limit / y
            if whole_numbers:
                left = np.floor(limit / np.ceil(y * (1 - EQUAL)) * (1 + EQUAL))
            best = min(best, own + whole_cost(other, min(left, other[4])))
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
    total: float = sent + max(cost[1] / y, cost[3])
    return total


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
    found: float = min(max(1.0, y), most)
    return found


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
