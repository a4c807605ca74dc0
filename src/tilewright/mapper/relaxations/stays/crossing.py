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

from collections.abc import Mapping, Sequence
from math import inf

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.stays.least_of_orders import least_of_orders
from tilewright.mapper.relaxations.stays.orders import Orders
from tilewright.mapper.relaxations.stays.stay import Stay


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
    return Crossing(stays, Orders(stays, bounds)).least([(1.0, 1.0, 1.0)] * len(stays))


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
        across = [np.inf * one if stay.across is None else stay.across for stay in stays]
        longest = [stay.longest * one for stay in stays]
        self.prices = np.array([[stay.sent for stay in stays], again, received])
        whole = [0.0 * one if stay.whole is None else stay.whole for stay in stays]
        # operations in a round for each word, of a word with as many pairs of a window as possible
        most = [
            stay.pairs / stay.windows.mean * own for stay, own in zip(stays, whole, strict=True)
        ]
        instances = [stay.instances * one for stay in stays]
        self.caps = np.array([longest, instances, sharing, whole, most, across])
        self.tiles = np.array(
            [
                [own.limit(stays[i], stays[k]), own.room(stays[i]), own.others(stays[i])]
                for i, own, k in ways.insides
            ]
        )
        expressions = max(len(stay.elements) for stay in stays)
        self.elements = np.ones((len(stays), expressions, 3, len(one)))
        for stay, to in zip(stays, self.elements, strict=True):
            for e, along in enumerate(stay.elements):
                to[e, 0], to[e, 1] = np.minimum(*along), np.maximum(*along)
                to[e, 2] = np.where(stay.windows.in_rows(e), to[e, 0], 1.0)
        self.ways = ways

    @property
    def nbytes(self) -> int:
        """Bytes of its arrays."""
        arrays = self.prices, self.caps, self.tiles, self.elements
        return sum(own.nbytes for own in arrays)

    def least(self, times: Sequence[tuple[float, Floats | float, float]]) -> Floats:
        """Return the least total, with prices multiplied.

        Parameters
        ----------
        times : sequence of (float, array of choices or float, float)
            Of each stay, what is sent costs so much, what is sent and comes through arrays on the
            way so much, and what is received.
        """
        sent, passing, received = (
            np.array(np.broadcast_arrays(*own)) for own in zip(*times, strict=True)
        )
        prices = np.array(
            [
                self.prices[0] * passing.reshape(len(times), -1),
                self.prices[1] * passing.reshape(len(times), -1),
                self.prices[2] * received[:, None],
                self.prices[0] * sent[:, None],
            ]
        )
        ways = self.ways
        places = ways.order, ways.start, ways.splits, ways.which
        return np.asarray(least_of_orders(prices, self.caps, self.tiles, self.elements, *places))
