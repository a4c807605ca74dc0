"""Energy and cycles of an execution method: compiled.

`method_cost` computes what `counting.Passes` does.
"""

from __future__ import annotations

import numpy as np

from tilewright.interop.dmazerunner.tables import Tables
from tilewright.kernels.kernel import part
from tilewright.kernels.types import Ints

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
