"""Compiled kernel: energy and cycles of many valid mappings, from the rows of the tables.

Mappings go through in blocks: each number of the program is read once per block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.model.closed_form.fits import BLOCK
from tilewright.model.closed_form.queries.combine import query_values
from tilewright.model.closed_form.queries.program import Program

NO_SUM = -1


@record
class Costs(NamedTuple):
    """How counts make up energy and cycles; sums are weighted sums of query values."""

    varying: int  # the last queries, from here on, do not depend on the tile sizes
    sum_start: Ints
    sum_query: Ints
    sum_weight: Ints
    energy_start: Ints  # per memory and array: items of reads and writes
    energy_read: Ints
    energy_write: Ints
    energy_read_cost: Floats
    energy_write_cost: Floats
    operations_energy: float
    leakage_per_cycle: float
    steps: int  # the sum that counts the steps
    cycles_per_step: float
    word_start: Ints  # per memory with limited bandwidth: items in words of the memory
    word_read: Ints
    word_write: Ints
    word_ratio: Floats
    bandwidth: Floats  # (memories, 3): read, write, shared; inf when unlimited
    network_start: Ints
    network_sum: Ints
    network_bandwidth: Floats


@kernel
def cost(
    program: Program,
    costs: Costs,
    numbers: Ints,
    several: Bools,
    base: Ints,
    energy: Floats,
    cycles: Floats,
    uneven: Bools,
    counts: Ints,
) -> None:
    """Cost mappings whose rows are known.

    Parameters
    ----------
    numbers : array
        The rows.
    several, base : arrays
        As `locate` found them.
    energy, cycles, uneven : arrays of mappings
        Take the results, in pJ and cycles, and where there are none: where instances that forward
        words idle.
    counts : array of (mappings or 0, sums)
        Takes the values of all sums, where they are wanted.
    """
    queries = len(program.query)
    values = np.zeros((queries, BLOCK), np.int64)
    sums = np.zeros((len(costs.sum_start), BLOCK), np.int64)  # the last stays zero: NO_SUM
    state = np.zeros((4, BLOCK), np.int64)
    code = program.code
    for begin in range(0, len(energy), BLOCK):
        end = min(begin + BLOCK, len(energy))
        uneven[begin:end] = False
        for q in range(queries if begin == 0 else costs.varying):
            at = program.query[q]
            query_values(
                code, at, numbers, base[:, begin:end], several[:, begin:end],
                BLOCK if q >= costs.varying else end - begin, values[q], state,
            )  # fmt: skip
            if code[at + 2] > 0:
                for m in range(begin, end):
                    uneven[m] |= values[q, m - begin] < 0
        _add_up(costs, values, sums)
        for m in range(begin, end):
            cycles[m] = _cycles(costs, sums, m - begin)
            energy[m] = _energy(costs, sums, m - begin, cycles[m])
            if len(counts) > 0:
                for s in range(counts.shape[1]):
                    counts[m, s] = sums[s, m - begin]


@part
def _add_up(costs: Costs, values: Ints, sums: Ints) -> None:
    for s in range(len(sums) - 1):
        total = sums[s]
        total[:] = 0
        for x in range(costs.sum_start[s], costs.sum_start[s + 1]):
            weight = costs.sum_weight[x]
            value = values[costs.sum_query[x]]
            for m in range(BLOCK):
                total[m] += weight * value[m]


@part
def _cycles(costs: Costs, sums: Ints, m: int) -> float:
    cycles: float = np.ceil(sums[costs.steps, m] * costs.cycles_per_step)
    for c in range(len(costs.word_start) - 1):
        reads = 0.0
        writes = 0.0
        for x in range(costs.word_start[c], costs.word_start[c + 1]):
            reads += sums[costs.word_read[x], m] * costs.word_ratio[x]
            writes += sums[costs.word_write[x], m] * costs.word_ratio[x]
        if costs.bandwidth[c, 0] < np.inf:
            cycles = max(cycles, reads / costs.bandwidth[c, 0])
        if costs.bandwidth[c, 1] < np.inf:
            cycles = max(cycles, writes / costs.bandwidth[c, 1])
        if costs.bandwidth[c, 2] < np.inf:
            cycles = max(cycles, (reads + writes) / costs.bandwidth[c, 2])
    for a in range(len(costs.network_bandwidth)):
        words = 0
        for x in range(costs.network_start[a], costs.network_start[a + 1]):
            words += sums[costs.network_sum[x], m]
        cycles = max(cycles, words / costs.network_bandwidth[a])
    return cycles


@part
def _energy(costs: Costs, sums: Ints, m: int, cycles: float) -> float:
    """Return the energy, added up in the order in which `evaluate` does: equal to the last bit."""
    total = 0.0
    for c in range(len(costs.energy_start) - 1):
        part = 0.0
        for x in range(costs.energy_start[c], costs.energy_start[c + 1]):
            reads = sums[costs.energy_read[x], m] * costs.energy_read_cost[x]
            part += reads + sums[costs.energy_write[x], m] * costs.energy_write_cost[x]
        total += part
    return total + costs.operations_energy + cycles * costs.leakage_per_cycle
