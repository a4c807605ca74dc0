"""Bounds of whole workloads from those of their layers."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, inf, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tilewright.kernels.kernel import leaf, leaf_kernel

if TYPE_CHECKING:
    from tilewright.kernels.types import Floats, Ints

STEPS = 48
STEP = 1.0005
WIDEST = 64
NEAR = 1e-6
# what sums in another order, and the end of a search for a minimum, may differ by; less than what
# counts as equal (`front.ROUNDING`), so that the bound of a design of equal costs closes it
SAFE = 1 - 5e-13


class Runs:
    """The layers of all workloads, and how much each counts.

    Parameters
    ----------
    weights : sequence of float
        Of each workload.
    repeats : sequence of sequence of int
        Of the layers of each workload.
    maximum : bool
        Whether the worst workload counts instead of their weighted sum.
    """

    def __init__(
        self, weights: Sequence[float], repeats: Sequence[Sequence[int]], maximum: bool
    ) -> None:
        ends = np.cumsum([0, *map(len, repeats)])
        self._parts = [
            (slice(int(a), int(b)), np.array(own, np.float64) * (1.0 if maximum else weight))
            for a, b, weight, own in zip(ends, ends[1:], weights, repeats, strict=False)
        ]
        self._maximum = maximum
        self._weights = np.concatenate([own for _, own in self._parts])

    def least(self, floors: Floats, corners: Corners | None = None) -> dict[str, float]:
        """Return what no sums are below.

        Parameters
        ----------
        floors : array of (layers, 3)
            Least energy (pJ) and time (s) of each layer, and the least product of both.
        corners : Corners, optional
            Of each layer.
        """
        if not self._maximum:
            return _least(floors, corners, self._weights)
        found = [
            _least(floors[own], None if corners is None else corners.of(own), weights)
            for own, weights in self._parts
        ]
        return {name: max(each[name] for each in found) for name in found[0]}


class Corners(NamedTuple):
    """What each layer costs at least: one of some triples, or a product.

    Attributes
    ----------
    triples : array of (layers, triples, 3)
        Energies (pJ), times (s) and their products, which may be above those of the two.
    filled : array of layers
        How many there are.
    others : array of layers
        Every mapping that has less than one of each triple has at least this product.
    """

    triples: Floats
    filled: Ints
    others: Floats

    def of(self, layers: slice) -> Corners:
        """Return those of some layers."""
        return Corners(self.triples[layers], self.filled[layers], self.others[layers])

    def only(self, layer: int, product: float) -> tuple[float, float] | None:
        """Return energy and time of the one triple of the least product; None when there are more.

        A mapping of that product costs as much as they say.
        """
        own = self.triples[layer, : self.filled[layer]]
        near = np.flatnonzero(own[:, 2] <= product * (1 + NEAR))
        if len(near) != 1 or self.others[layer] <= product * (1 + NEAR):
            return None
        if own[near[0], 2] > own[near[0], 0] * own[near[0], 1] * (1 + NEAR):
            return None  # no mapping costs so little
        return float(own[near[0], 0]), float(own[near[0], 1])

    def raise_to(self, layer: int, floor: Floats) -> None:
        """Take over the least energy, time and product of a layer."""
        own = self.triples[layer, : self.filled[layer]]
        own[:] = np.maximum(own, floor)
        own[:, 2] = np.maximum(own[:, 2], own[:, 0] * own[:, 1])
        self.others[layer] = max(self.others[layer], floor[2])

    def learn(self, layer: int, floor: Floats, *, exact: bool) -> None:
        """Take over what is known of a layer: all of it if `exact`, else the least product."""
        if exact:
            self.filled[layer] = 0
            self.others[layer] = floor[2]
        else:
            self.raise_to(layer, floor)


def _least(floors: Floats, corners: Corners | None, weights: Floats) -> dict[str, float]:
    product = least_product(floors, weights)
    if corners is not None and 0.0 < product < inf:
        product = max(product, product_of_corners(floors, *corners, weights, STEP))
    return {
        "energy": float(floors[:, 0] @ weights) * SAFE,
        "latency": float(floors[:, 1] @ weights) * SAFE,
        "edp": product * SAFE,
    }


@leaf
def least_sum(energy: float, time: float, product: float, low: float, high: float) -> float:
    """Return the least low x energy + time / high of all that have at least these three."""
    if energy * time < product:
        time = max(time, sqrt(product * low * high))
        if energy > 0.0:
            time = min(time, product / energy)
        energy = product / time
    return low * energy + time / high


@leaf
def at(floors: Floats, weights: Floats, scale: float) -> float:
    """Return the least sum of scale x energy + time / scale."""
    total = 0.0
    for i in range(len(floors)):
        energy, time, product = floors[i, 0], floors[i, 1], floors[i, 2]
        total += weights[i] * least_sum(energy, time, product, scale, scale)
    return total


@leaf_kernel
def least_product(floors: Floats, weights: Floats) -> float:
    """Return what the product of the sums of energy and time is never below.

    Each layer has at least its least energy, its least time, and its least product of both. With
    any scale, (scale x energy + time / scale)^2 / 4 is at least the product, and equal to it for
    one. Its least value over all layers is convex in the logarithm of the scale, as that of each
    layer falls, stays, and rises; so the least over all scales is found by cutting an interval.
    """
    for i in range(len(floors)):
        if floors[i, 2] == inf:
            return inf
    scale = best_scale(floors, weights)
    if scale == 0.0:
        return 0.0
    least = at(floors, weights, scale)
    return least * least / 4


@leaf
def best_scale(floors: Floats, weights: Floats) -> float:
    """Return the scale of `least_product`; 0 when nothing is known."""
    low, high = inf, 0.0
    for i in range(len(floors)):
        energy, time, product = floors[i, 0], floors[i, 1], floors[i, 2]
        if product <= 0.0:
            # nothing is known of this layer
            if energy <= 0.0 or time <= 0.0:
                continue
            product = energy * time
        root = sqrt(product)
        # where its own sum is least
        low = min(low, time / root if time > 0.0 else low)
        low = min(low, root / energy if energy > 0.0 else low)
        high = max(high, root / energy if energy > 0.0 else high)
        high = max(high, time / root if time > 0.0 else high)
    if low == inf or high == 0.0:
        return 0.0
    left, right = log(low) - 1.0, log(high) + 1.0
    golden = (sqrt(5.0) - 1) / 2
    a, b = right - golden * (right - left), left + golden * (right - left)
    of_a, of_b = at(floors, weights, exp(a)), at(floors, weights, exp(b))
    for _ in range(STEPS):
        if of_a < of_b:
            right, b, of_b = b, a, of_a
            a = right - golden * (right - left)
            of_a = at(floors, weights, exp(a))
        else:
            left, a, of_a = a, b, of_b
            b = left + golden * (right - left)
            of_b = at(floors, weights, exp(b))
    return exp(a) if of_a < of_b else exp(b)


@leaf
def of_corners(
    floors: Floats,
    triples: Floats,
    count: Ints,
    others: Floats,
    weights: Floats,
    low: float,
    high: float,
) -> float:
    """Return what no sum of scale x energy + time / scale is below, for scales in an interval.

    Where one point is the best of a layer for all of these scales, its sum is known for each. Of
    the other layers the least terms of both ends count.
    """
    rest = energies = times = 0.0
    for i in range(len(floors)):
        least = least_sum(floors[i, 0], floors[i, 1], others[i], low, high)
        best, at_low, at_high = -1, inf, inf
        # the last one stands for all others
        for j in range(count[i] + 1):
            energy, time, product = option(floors, triples, count, others, i, j)
            least = min(least, least_sum(energy, time, product, low, high))
            own = low * energy + time / low
            if energy * time >= product * (1 - NEAR) and own < at_low:
                best, at_low, at_high = j, own, high * energy + time / high
        single = best >= 0
        for j in range(count[i] + 1):
            energy, time, product = option(floors, triples, count, others, i, j)
            if j == best or not single:
                continue
            single = low * energy + time / low >= at_low and high * energy + time / high >= at_high
            # it may cost more than both terms say
            most = max(at_low, at_high)
            single = single or least_sum(energy, time, product, low, high) >= most
        if single:
            energy, time, product = option(floors, triples, count, others, i, best)
            energies += weights[i] * energy
            times += weights[i] * time
        else:
            rest += weights[i] * least
    scale = low
    if energies > 0.0:
        scale = min(max(sqrt(times / energies), low), high)
    elif times > 0.0:
        scale = high
    return rest + scale * energies + times / scale


@leaf
def option(
    floors: Floats, triples: Floats, count: Ints, others: Floats, i: int, j: int
) -> tuple[float, float, float]:
    """Return a triple of a layer, or after the last one what all others have at least."""
    if j < count[i]:
        return triples[i, j, 0], triples[i, j, 1], triples[i, j, 2]
    return floors[i, 0], floors[i, 1], others[i]


@leaf_kernel
def product_of_corners(
    floors: Floats, triples: Floats, count: Ints, others: Floats, weights: Floats, step: float
) -> float:
    """Return what the product of the sums of energy and time is never below, by corners.

    As `least_product`, but each layer costs at least one of some triples, or a product larger than
    the least. The sum is no more convex in the scale, so intervals of scales are looked at one
    by one, as far as `least_product` does not tell more. They are `step` wide, or several of them
    are one where that tells enough.
    """
    middle = best_scale(floors, weights)
    if middle == 0.0:
        return 0.0
    least = of_corners(floors, triples, count, others, weights, middle, middle)
    for direction in range(2):
        near, wide = middle, 1
        while True:
            ratio = step**wide
            far = near * ratio if direction == 0 else near / ratio
            low, high = min(near, far), max(near, far)
            own = of_corners(floors, triples, count, others, weights, low, high)
            if own < least and wide > 1:
                wide //= 2
                continue
            least = min(least, own)
            near, wide = far, min(2 * wide, WIDEST)
            if at(floors, weights, near) >= least:
                break
    return least * least / 4
