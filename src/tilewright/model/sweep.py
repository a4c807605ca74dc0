"""Compiled kernel: validity, energy and cycles of many mappings, from the rows of the tables.

Mappings go through in blocks: each number of the program is read once per block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.model.combine import query_values
from tilewright.model.kernel import kernel
from tilewright.model.locate import BLOCK
from tilewright.model.program import Program
from tilewright.model.types import Bools, Floats, Ints

VALID, INVALID, UNEVEN = 0, 1, 2
NO_SUM = -1


class Costs(NamedTuple):
    """How counts make up validity, energy and cycles; sums are weighted sums of query values."""

    peaks: int  # the first queries are peaks: all that validity needs
    varying: int  # the last queries, from here on, do not depend on the tile sizes
    sum_start: Ints
    sum_query: Ints
    sum_weight: Ints
    axis_of_loop: Ints  # -1 for temporal loops
    axis_size: Ints
    limit_start: Ints  # capacities: sum of peak x bits <= limit
    limit_query: Ints
    limit_bits: Ints
    limit: Ints
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
    fits: Bools,
    several: Bools,
    base: Ints,
    energy: Floats,
    cycles: Floats,
    status: Ints,
    counts: Ints,
) -> None:
    """Cost mappings whose rows are known.

    Parameters
    ----------
    numbers : array
        The rows.
    fits, several, base : arrays
        As `locate` found them.
    energy, cycles, status : arrays of mappings
        Take the results, in pJ and cycles; status VALID, INVALID or UNEVEN (not computed).
    counts : array of (mappings or 0, sums)
        Takes the values of all sums, where they are wanted.
    """
    queries = len(program.query)
    values = np.zeros((queries, BLOCK), np.int64)
    sums = np.zeros((len(costs.sum_start), BLOCK), np.int64)  # the last stays zero: NO_SUM
    state = np.zeros((4, BLOCK), np.int64)
    live = np.arange(BLOCK)
    code = program.code
    begins = program.query
    for q in range(costs.varying, queries):
        query_values(
            code, begins[q], numbers, base[:, :BLOCK], several[:, :BLOCK], live, values[q], state
        )
    for begin in range(0, len(energy), BLOCK):
        end = min(begin + BLOCK, len(energy))
        energy[begin:end] = np.inf
        cycles[begin:end] = np.inf
        status[begin:end] = INVALID
        count = 0
        for m in range(begin, end):
            live[count] = m - begin
            count += fits[m]
        chosen = live[:count]
        of = base[:, begin:end]
        cut = several[:, begin:end]
        for q in range(costs.varying):
            if q == costs.peaks:
                chosen = live[: _holds(costs, values, chosen)]
            query_values(code, begins[q], numbers, of, cut, chosen, values[q], state)
        if costs.varying == costs.peaks:
            chosen = live[: _holds(costs, values, chosen)]
        for m in chosen:
            status[begin + m] = VALID
        for q in range(costs.peaks, costs.varying):
            if code[begins[q] + 2] > 0:
                for m in chosen:
                    if values[q, m] < 0:
                        status[begin + m] = UNEVEN
        _add_up(costs, values, chosen, sums)
        for m in chosen:
            row = begin + m
            if status[row] == VALID:
                cycles[row] = _cycles(costs, sums, m)
                energy[row] = _energy(costs, sums, m, cycles[row])
                if len(counts) > 0:
                    counts[row] = sums[:-1, m]


@kernel
def _holds(costs: Costs, values: Ints, live: Ints) -> int:
    """Keep the mappings whose tiles every capacity holds; return how many there are."""
    kept = 0
    for m in live:
        holds = True
        for c in range(len(costs.limit)):
            bits = 0
            for x in range(costs.limit_start[c], costs.limit_start[c + 1]):
                bits += values[costs.limit_query[x], m] * costs.limit_bits[x]
            holds = holds and bits <= costs.limit[c]
        live[kept] = m
        kept += holds
    return kept


@kernel
def _add_up(costs: Costs, values: Ints, live: Ints, sums: Ints) -> None:
    for s in range(len(sums) - 1):
        total = sums[s]
        total[:] = 0
        for x in range(costs.sum_start[s], costs.sum_start[s + 1]):
            weight = costs.sum_weight[x]
            value = values[costs.sum_query[x]]
            for m in live:
                total[m] += weight * value[m]


@kernel
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


@kernel
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
