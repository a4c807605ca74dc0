"""Energy and cycles of execution methods, bounds of them, and the search for the best: compiled.

`method_cost` computes what `counting.Passes` does, `tile_bounds` and `pair_bound` what no method of
some tiles can fall below.
"""

from __future__ import annotations

import numpy as np

from tilewright.interop.dmazerunner.tables import Tables
from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Floats, Ints

EDP, CYCLES, ENERGY = range(3)
# a bound is rounded down by more than a sum of floats and the rounding of an energy can be off
SLACK, ROUNDED = 1e-12, 1.0


@part
def product(trips: Ints, some: int) -> float:
    """Return the product of the trip counts of the dimensions with these bits."""
    result = 1.0
    for d in range(len(trips)):
        if some >> d & 1:
            result *= trips[d]
    return result


@part
def trip_counts(t: Tables, large: int, small: int, trips: Ints) -> int:
    """Write how often each dimension of one shape holds another's, and return which loop.

    The pattern is -1 where some dimension does not divide. The shape -1 is the whole nest.
    """
    pattern = 0
    for d in range(len(t.bounds)):
        whole = t.bounds[d] if large < 0 else t.values[d, t.digits[large, d]]
        piece = t.values[d, t.digits[small, d]]
        if whole % piece:
            return -1
        trips[d] = whole // piece
        if trips[d] > 1:
            pattern |= 1 << d
    return pattern


@part
def register_shape(t: Tables, array: int, spatial: int) -> int:
    """Return the register tile that a spatial shape leaves of an array's tile, or -1."""
    shape = 0
    for d in range(len(t.bounds)):
        digit = t.quotient[d, t.digits[array, d], t.digits[spatial, d]]
        if digit < 0:
            return -1
        shape += digit * t.strides[d]
    return shape if t.registers[shape] else -1


@part
def method_cost(
    t: Tables, registers: int, array: int, buffer: int, used: float, different: float,
    inner: Ints, outer: Ints, inner_stays: Ints, outer_stays: Ints,
) -> tuple[float, float]:  # fmt: skip
    """Return energy and cycles of an execution method.

    Parameters
    ----------
    t : Tables
        The space.
    registers, array, buffer : int
        Shapes of the tiles.
    used, different : float
        Elements of the array, and those that hold different outputs.
    inner, outer : arrays of dimensions
        Trip counts of the loops of the buffer, and of DRAM.
    inner_stays, outer_stays : arrays of tensors
        Dimensions over whose loops each tensor stays.
    """
    tensors = len(inner_stays)
    last, everything = tensors - 1, (1 << len(inner)) - 1
    rf_passes, spm_passes = product(inner, everything), product(outer, everything)
    compute = t.used[registers] * t.cycles
    reduction = t.words[last, registers] * (used / different - 1) * different
    every_rf, every_spm = np.empty(tensors), np.empty(tensors)
    continues = np.zeros(tensors, np.bool_)
    energy = t.fixed
    for i in range(tensors):
        every_rf[i] = product(inner, inner_stays[i])
        every_spm[i] = product(outer, outer_stays[i])
        continues[i] = every_rf[i] == rf_passes and every_spm[i] > 1
        moves = spm_passes / every_spm[i]
        if not continues[i]:
            moves = rf_passes / every_rf[i] * spm_passes
        received, sent = t.words[i, registers] * used, t.send[i]
        changes = spm_passes / every_spm[i]
        energy += t.words[i, buffer] * t.fetch[i] * changes
        if i == last:
            received = t.words[i, registers] * different
            if not continues[i]:
                received *= 2
                sent += t.back[i]
            energy += reduction * t.reduce * moves
            if every_spm[i] != spm_passes:
                tiles = product(outer, t.output)
                energy += t.words[i, buffer] * t.again * (changes - tiles)
        energy += (received * t.hop + t.words[i, array] * sent) * moves
    # one SPM pass
    hidden = 0.0 if every_rf[last] == 1 and not continues[last] else compute
    busy = hidden * rf_passes
    before = 0.0
    while True:
        x = np.inf
        for i in range(tensors):
            if not continues[i] and before < every_rf[i] < x:
                x = every_rf[i]
        if x == np.inf:
            break
        before = x
        longest = 0.0
        for i in range(tensors):
            if not continues[i] and every_rf[i] == x:
                longest = max(longest, t.words[i, array])
        if longest > hidden:
            busy += np.trunc((longest - hidden) * rf_passes / x)
            hidden = longest
        if not continues[last] and every_rf[last] == x:
            busy += np.trunc((compute + reduction) * rf_passes / x)
    usual_dma, delivered = 0.0, 0.0
    for i in range(tensors):
        if every_spm[i] == 1:
            usual_dma += t.dma[i, buffer] * (2 if i == last else 1)
        if not continues[i] and every_rf[i] == 1:
            delivered = max(delivered, t.words[i, array])
    usual = max(usual_dma, busy)
    cycles = usual * spm_passes
    for i in range(tensors):
        x = every_spm[i]
        if x == 1:
            continue
        until, own = usual_dma, 0.0
        for j in range(tensors):
            if 1 < every_spm[j] <= x:
                until += t.dma[j, buffer]
            if every_spm[j] == x:
                own += t.dma[j, buffer]
        working = busy
        if continues[i] and i == last:
            working += reduction + compute
        extra = max(until, working, usual) - usual
        without = until if i == last else until - own
        late = max(t.words[i, array] - delivered, 0.0) if continues[i] else 0.0
        extra += max(without, busy + late, usual) - usual
        cycles += extra * spm_passes / x
    return np.rint(energy), cycles


@part
def least_outer(t: Tables, buffer: int, pattern: int, trips: Ints) -> tuple[float, float]:
    """Return the least energy of DRAM, and the least cycles of DMA, of a buffer tile."""
    tensors = t.stays.shape[2]
    last, passes = tensors - 1, product(trips, (1 << len(trips)) - 1)
    least_energy, least_cycles = np.inf, np.inf
    for k in range(t.orders[pattern]):
        energy, always, sometimes, staying = 0.0, 0.0, 0.0, 0
        for i in range(tensors):
            every = product(trips, t.stays[pattern, k, i])
            energy += t.words[i, buffer] * t.fetch[i] * passes / every
            if i == last and every != passes:
                again = passes / every - product(trips, t.output)
                energy += t.words[i, buffer] * t.again * again
            if every == 1:
                always += t.dma[i, buffer] * (2 if i == last else 1) * passes
            else:
                sometimes += t.dma[i, buffer] * passes / every
                staying += 1
        # the passes in which up to two tensors change are different ones
        cycles = always + sometimes if staying <= 2 else always
        least_energy, least_cycles = min(least_energy, energy), min(least_cycles, cycles)
    return least_energy, least_cycles


@kernel
def tile_bounds(t: Tables) -> tuple[Floats, Floats]:
    """Return `least_outer` for every shape; infinite where it is no tile of the buffer."""
    shapes = len(t.buffer)
    energy, cycles = np.full(shapes, np.inf), np.full(shapes, np.inf)
    trips = np.empty(len(t.bounds), np.int64)
    for b in range(shapes):
        if t.buffer[b]:
            pattern = trip_counts(t, -1, b, trips)
            energy[b], cycles[b] = least_outer(t, b, pattern, trips)
    return energy, cycles


@part
def most_reuse(t: Tables, pattern: int, trips: Ints, factors: Floats) -> float:
    """Write the reuse of every tensor in each ordering of some loops, and return their trips."""
    for k in range(t.orders[pattern]):
        for i in range(t.stays.shape[2]):
            factors[k, i] = product(trips, t.stays[pattern, k, i])
    return product(trips, (1 << len(trips)) - 1)


@part
def pair_bound(
    t: Tables, registers: int, array: int, used: float, different: float, passes: float,
    factors: Floats,
) -> tuple[float, float]:  # fmt: skip
    """Return what no method with these tiles falls below, whatever the buffer's tile.

    Parameters
    ----------
    t : Tables
        The space.
    registers, array : int
        Shapes of the tiles.
    used, different : float
        Elements of the array, and those that hold different outputs.
    passes : float
        RF passes of the whole nest.
    factors : array of (orderings, tensors)
        Reuse in the orderings of the loops above the array, those of the buffer and of DRAM in one.

    Returns
    -------
    energy : float
        All but that of DRAM. Over both levels no tensor stays longer than in the best order of
        loops that are not cut in two.
    cycles : float
        Where outputs change every RF pass, computation and delivery add up; elsewhere the longer
        one counts, and outputs are waited for whenever they change.
    """
    orderings, tensors = factors.shape
    last = tensors - 1
    compute = t.used[registers] * t.cycles
    reduction = t.words[last, registers] * (used / different - 1) * different
    least_energy, least_cycles = np.inf, np.inf
    for k in range(orderings):
        energy, delivered, stays = 0.0, 0.0, 1.0
        for i in range(tensors):
            every = factors[k, i]
            received, sent = t.words[i, registers] * used, t.send[i]
            if i < last:
                if every == 1:
                    delivered = max(delivered, t.words[i, array])
            else:
                stays = every
                received = t.words[i, registers] * different
                if every == 1:
                    received *= 2
                    sent += t.back[i]
                energy += reduction * t.reduce * passes / every
            energy += (received * t.hop + t.words[i, array] * sent) * passes / every
        waiting = passes * (compute + reduction + max(delivered, t.words[last, array]))
        if stays > 1:
            behind = passes * max(compute, delivered) + (compute + reduction) * passes / stays
            # some order in the buffer changes outputs every pass all the same
            waiting = min(behind, passes * (compute + reduction + delivered))
        least_energy, least_cycles = min(least_energy, energy), min(least_cycles, waiting)
    return least_energy + t.fixed, least_cycles


@part
def value(goal: int, energy: float, cycles: float) -> tuple[float, float]:
    """Return what is minimised, and what decides between equals."""
    if goal == EDP:
        return energy * cycles, energy
    if goal == CYCLES:
        return cycles, energy
    return energy, cycles


@part
def least_value(goal: int, energy: float, cycles: float) -> tuple[float, float]:
    """Return a value that bounds cannot exceed by rounding."""
    return value(goal, energy * (1 - SLACK) - ROUNDED, cycles * (1 - SLACK))


@kernel
def array_bounds(t: Tables, goal: int, least_energy: Floats, least_cycles: Floats) -> Floats:
    """Return the least value of the methods with each array's tile; infinite where there is none.

    `least_energy` and `least_cycles` are the least ones of the buffer tiles that hold it.
    """
    result = np.full(len(t.buffer), np.inf)
    trips, factors = np.empty(len(t.bounds), np.int64), np.empty(t.stays.shape[1:])
    for a in range(len(t.buffer)):
        if least_energy[a] == np.inf:
            continue
        pattern = trip_counts(t, -1, a, trips)
        passes = most_reuse(t, pattern, trips, factors)
        own = factors[: t.orders[pattern]]
        for s in t.spatial:
            r = register_shape(t, a, s)
            if r < 0:
                continue
            energy, cycles = pair_bound(t, r, a, t.used[s], t.different[s], passes, own)
            cycles = max(cycles, least_cycles[a])
            least, _ = least_value(goal, energy + least_energy[a], cycles)
            result[a] = min(result[a], least)
    return result


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
