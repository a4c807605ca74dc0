"""The search for the best execution method: compiled.

Methods are left out by what none with their tiles falls below (`bounds`).
"""

from __future__ import annotations

import numpy as np

from tilewright.interop.dmazerunner.bounds import most_reuse, pair_bound
from tilewright.interop.dmazerunner.method_cost import (
    least_value,
    method_cost,
    register_shape,
    trip_counts,
    value,
)
from tilewright.interop.dmazerunner.tables import Tables
from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Floats, Ints


@kernel
def best_method(
    t: Tables,
    goal: int,
    order: Ints,
    bounds: Floats,
    outer_energy: Floats,
    outer_cycles: Floats,
    least_energy: Floats,
    least_cycles: Floats,
) -> tuple[float, float, Ints, Ints]:
    """Return energy, cycles, tiles and orderings of the best execution method.

    Parameters
    ----------
    t : Tables
        The space.
    goal : int
        What is minimised: `EDP`, `CYCLES` or `ENERGY`.
    order, bounds : arrays
        The array's tiles, those with the least `array_bounds` first, and these bounds by shape.
    outer_energy, outer_cycles : arrays of shapes
        What `tile_bounds` returns.
    least_energy, least_cycles : arrays of shapes
        The least ones of the buffer tiles that hold each shape.

    Returns
    -------
    energy, cycles : float
        Infinite when there is no method.
    found : array of 6
        Register, spatial and buffer shape; positions of the inner and the outer ordering.
    work : array of 3
        Pairs of register and array tile that were looked at, buffer tiles, and methods evaluated.
    """
    dimensions = len(t.bounds)
    inner, outer = np.empty(dimensions, np.int64), np.empty(dimensions, np.int64)
    above, factors = np.empty(dimensions, np.int64), np.empty(t.stays.shape[1:])
    holders = np.empty(len(t.buffer), np.int64)
    best, second = np.inf, np.inf
    best_energy, best_cycles = np.inf, np.inf
    found, work = np.full(5, -1), np.zeros(3, np.int64)
    for a in order:
        if bounds[a] > best:
            break
        pattern = trip_counts(t, -1, a, above)
        passes = most_reuse(t, pattern, above, factors)
        own = factors[: t.orders[pattern]]
        number = -1
        for s in t.spatial:
            r = register_shape(t, a, s)
            if r < 0:
                continue
            used, different = t.used[s], t.different[s]
            energy, cycles = pair_bound(t, r, a, used, different, passes, own)
            work[0] += 1
            bound = max(cycles, least_cycles[a])
            least, then = least_value(goal, energy + least_energy[a], bound)
            if least > best or (least == best and then >= second):
                continue
            if number < 0:
                number = multiples(t, a, holders)
            for k in range(number):
                b = holders[k]
                bound = max(cycles, outer_cycles[b])
                least, then = least_value(goal, energy + outer_energy[b], bound)
                if least > best or (least == best and then >= second):
                    continue
                inner_pattern = trip_counts(t, b, a, inner)
                outer_pattern = trip_counts(t, -1, b, outer)
                work[1] += 1
                for i in range(t.orders[inner_pattern]):
                    for j in range(t.orders[outer_pattern]):
                        cost = method_cost(
                            t, r, a, b, used, different, inner, outer,
                            t.stays[inner_pattern, i], t.stays[outer_pattern, j],
                        )  # fmt: skip
                        work[2] += 1
                        reached, then = value(goal, cost[0], cost[1])
                        if reached < best or (reached == best and then < second):
                            best, second = reached, then
                            best_energy, best_cycles = cost
                            found[0], found[1], found[2] = r, s, b
                            found[3] = t.order[inner_pattern, i]
                            found[4] = t.order[outer_pattern, j]
    return best_energy, best_cycles, found, work


@part
def multiples(t: Tables, shape: int, found: Ints) -> int:
    """Write the tiles of the buffer that a shape divides, and return their number."""
    dimensions = len(t.bounds)
    digits = t.digits[shape].copy()
    number = 0
    while True:
        index = 0
        for d in range(dimensions):
            index += digits[d] * t.strides[d]
        if t.buffer[index]:
            found[number] = index
            number += 1
        d = dimensions - 1
        while d >= 0:
            digits[d] += 1
            while digits[d] < t.sizes[d] and t.quotient[d, digits[d], t.digits[shape, d]] < 0:
                digits[d] += 1
            if digits[d] < t.sizes[d]:
                break
            digits[d] = t.digits[shape, d]
            d -= 1
        if d < 0:
            return number
