"""Compiled kernels: the costs of many tile choices of one mapping structure.

Rows of a table are kept: a component (dimensions that share index expressions, of any tensor) has
one row per distinct choice of its own tile sizes, and there are few of those however many mappings
there are. They are found by walking a tree: a node is a choice for the first loops of a component,
its child adds the tile size of the next loop. The tree is a hash table from (node, tile) to child.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from tilewright.model.combine import Program, fill_row, query_value, several_chunks
from tilewright.model.types import Floats, Ints

VALID, INVALID, UNEVEN = 0, 1, 2
NO_SUM = -1


class Components(NamedTuple):
    """Which loops each component's tree follows, and the tables whose rows its nodes have."""

    start: Ints  # into `loop`, per component
    loop: Ints
    level_start: Ints  # tables per (component, loops walked): into `table`
    table: Ints
    table_shift: Ints  # per table: where its row begins within the node's numbers


class Costs(NamedTuple):
    """How counts make up validity, energy and cycles; sums are weighted sums of query values."""

    peaks: int  # the first queries are peaks: all that validity needs
    sum_start: Ints
    sum_query: Ints
    sum_weight: Ints
    axis_of_loop: Ints  # -1 for temporal loops
    axis_size: Ints
    limit_start: Ints  # capacities: sum of peak x bits <= limit
    limit_sum: Ints
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


@njit(cache=True)
def _fits(program: Program, costs: Costs, tiles: Ints, extent: Ints, used: Ints) -> bool:
    """Whether tiles shrink inward and spatial chunks fit their axes."""
    for d in range(len(extent)):
        extent[d] = program.bounds[d]
    for a in range(len(used)):
        used[a] = 1
    for i in range(len(tiles)):
        d = program.loop_dim[i]
        if tiles[i] < 1 or tiles[i] > extent[d]:
            return False
        axis = costs.axis_of_loop[i]
        if axis >= 0:
            used[axis] *= (extent[d] + tiles[i] - 1) // tiles[i]
            if used[axis] > costs.axis_size[axis]:
                return False
        extent[d] = tiles[i]
    return True


@njit(cache=True)
def _locate(
    program: Program,
    components: Components,
    tiles: Ints,
    keys: Ints,
    children: Ints,
    places: Ints,
    numbers: Ints,
    used: Ints,
    base: Ints,
) -> bool:
    """Find, or compute, the rows that belong to tile sizes; False when there is no more room.

    ``used`` counts the nodes and the numbers that are taken.
    """
    mask = len(keys) - 1
    slot = 0
    for c in range(len(components.start) - 1):
        node = c
        for x in range(components.start[c], components.start[c + 1] + 1):
            if x > components.start[c]:
                tile = tiles[components.loop[x - 1]]
                key = (node << 32) | tile
                h = (key * -7046029254386353131) >> 20 & mask
                while keys[h] != key and keys[h] >= 0:
                    h = (h + 1) & mask
                if keys[h] < 0:
                    if used[0] >= len(places) or 2 * used[0] > mask:
                        return False
                    keys[h] = key
                    children[h] = used[0]
                    places[used[0]] = -1
                    used[0] += 1
                node = children[h]
            first = components.level_start[slot]
            last = components.level_start[slot + 1]
            slot += 1
            if first == last:
                continue
            if places[node] < 0:
                final = components.table[last - 1]
                width = components.table_shift[final] + program.table_width[final]
                if used[1] + width > len(numbers):
                    return False
                for y in range(first, last):
                    t = components.table[y]
                    fill_row(program, t, tiles, numbers, used[1] + components.table_shift[t])
                places[node] = used[1]
                used[1] += width
            for y in range(first, last):
                t = components.table[y]
                base[t] = places[node] + components.table_shift[t]
    return True


@njit(cache=True)
def _total(costs: Costs, which: int, values: Ints) -> int:
    total = 0
    if which != NO_SUM:
        for x in range(costs.sum_start[which], costs.sum_start[which + 1]):
            total += costs.sum_weight[x] * values[costs.sum_query[x]]
    return total


@njit(cache=True)
def _holds(costs: Costs, values: Ints) -> bool:
    for m in range(len(costs.limit)):
        bits = 0
        for x in range(costs.limit_start[m], costs.limit_start[m + 1]):
            bits += _total(costs, costs.limit_sum[x], values) * costs.limit_bits[x]
        if bits > costs.limit[m]:
            return False
    return True


@njit(cache=True)
def _cycles(costs: Costs, values: Ints) -> float:
    cycles = np.ceil(_total(costs, costs.steps, values) * costs.cycles_per_step)
    for m in range(len(costs.word_start) - 1):
        reads = 0.0
        writes = 0.0
        for x in range(costs.word_start[m], costs.word_start[m + 1]):
            reads += _total(costs, costs.word_read[x], values) * costs.word_ratio[x]
            writes += _total(costs, costs.word_write[x], values) * costs.word_ratio[x]
        cycles = max(cycles, reads / costs.bandwidth[m, 0])
        cycles = max(cycles, writes / costs.bandwidth[m, 1])
        cycles = max(cycles, (reads + writes) / costs.bandwidth[m, 2])
    for a in range(len(costs.network_bandwidth)):
        words = 0
        for x in range(costs.network_start[a], costs.network_start[a + 1]):
            words += _total(costs, costs.network_sum[x], values)
        cycles = max(cycles, words / costs.network_bandwidth[a])
    return cycles


@njit(cache=True)
def _energy(costs: Costs, values: Ints, cycles: float) -> float:
    """Return the energy, added up in the order in which `evaluate` does: equal to the last bit."""
    total = 0.0
    for m in range(len(costs.energy_start) - 1):
        part = 0.0
        for x in range(costs.energy_start[m], costs.energy_start[m + 1]):
            reads = _total(costs, costs.energy_read[x], values) * costs.energy_read_cost[x]
            part += reads + _total(costs, costs.energy_write[x], values) * costs.energy_write_cost[x]
        total += part
    return total + costs.operations_energy + cycles * costs.leakage_per_cycle


@njit(cache=True, nogil=True)
def sweep(
    program: Program,
    components: Components,
    costs: Costs,
    tiles: Ints,
    residual: int,
    begin: int,
    keys: Ints,
    children: Ints,
    places: Ints,
    numbers: Ints,
    energy: Floats,
    cycles: Floats,
    status: Ints,
    counts: Ints,
) -> int:
    """Cost the mappings from row `begin`; return how far it came before the memory was full.

    Parameters
    ----------
    tiles : array of (mappings, loops)
        Tile sizes of the mapping's own loops.
    keys, children, places, numbers : arrays
        Space for the trees: hash table, place of each node's numbers, the numbers.
    energy, cycles, status : arrays of mappings
        Results, in pJ and cycles; status VALID, INVALID or UNEVEN (not computed).
    counts : array of (mappings or 0, sums)
        Values of all sums, where they are wanted.
    """
    loops = tiles.shape[1]
    own = np.ones(loops + residual, np.int64)
    extent = np.empty(len(program.bounds), np.int64)
    axis_used = np.empty(len(costs.axis_size), np.int64)
    base = np.zeros(len(program.table_width), np.int64)
    several = np.zeros(loops + residual, np.bool_)
    depth = np.empty(len(program.group_table) + 1, np.int64)
    queries = len(program.query_scale)
    values = np.zeros(queries, np.int64)
    used = np.zeros(2, np.int64)
    keys[:] = -1
    used[0] = len(components.start) - 1
    for c in range(used[0]):
        places[c] = -1
    for row in range(begin, len(tiles)):
        for i in range(loops):
            own[i] = tiles[row, i]
        energy[row] = np.inf
        cycles[row] = np.inf
        status[row] = INVALID
        if not _fits(program, costs, own, extent, axis_used):
            continue
        if not _locate(
            program, components, own, keys, children, places, numbers, used, base
        ):
            return row
        for q in range(costs.peaks):
            values[q] = query_value(program, q, numbers, base, several, depth)
        if not _holds(costs, values):
            continue
        status[row] = VALID
        several_chunks(program, own, several, extent)
        for q in range(costs.peaks, queries):
            values[q] = query_value(program, q, numbers, base, several, depth)
            if values[q] < 0:
                status[row] = UNEVEN
        if status[row] == UNEVEN:
            continue
        cycles[row] = _cycles(costs, values)
        energy[row] = _energy(costs, values, cycles[row])
        if len(counts) > 0:
            for s in range(counts.shape[1]):
                counts[row, s] = _total(costs, s, values)
    return len(tiles)
