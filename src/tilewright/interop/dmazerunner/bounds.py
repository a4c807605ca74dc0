"""What no execution method with some tiles falls below, in energy and cycles: compiled."""

from __future__ import annotations

import numpy as np

from tilewright.interop.dmazerunner.method_cost import (
    least_value,
    product,
    register_shape,
    trip_counts,
)
from tilewright.interop.dmazerunner.tables import Tables
from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.types import Floats, Ints


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
