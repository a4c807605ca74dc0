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

from tilewright.model.combine import Program, fill_row, query_value, scratch_space
from tilewright.model.types import Bools, Floats, Ints

VALID, INVALID, UNEVEN = 0, 1, 2
FOUND, MISSING, FULL = 0, 1, 2
NO_SUM = -1
HASH = -7046029254386353131  # 2^64 / golden ratio, odd: neighbouring keys land far apart


class Components(NamedTuple):
    """Which loops each component's tree follows, and the tables whose rows its nodes have."""

    start: Ints  # into `loop`, per component
    loop: Ints
    level_start: Ints  # tables per (component, loops walked): into `table`
    table: Ints
    table_shift: Ints  # per table: where its row begins within the node's numbers


class Memo(NamedTuple):
    """The trees of all components, and the numbers of their nodes.

    A component whose loops take few different tile sizes has its nodes counted through, by the
    ranks of its tile sizes; the nodes of others come last, and are found in a hash table.
    """

    radix: Ints  # per loop of `Components`: different tile sizes
    rank_start: Ints
    rank: Ints  # of tile size t of a loop: rank[rank_start + t]
    first_node: Ints  # per level: its first node when they are counted through, else -1
    keys: Ints  # hash table, of a power of two: parent node and tile size, -1 when free
    children: Ints  # node of each key
    places: Ints  # per node: where its numbers begin, -1 when not computed
    numbers: Ints


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


@njit(cache=True, inline="always")
def _fits(
    bounds: Ints,
    loop_dim: Ints,
    axis_of_loop: Ints,
    axis_size: Ints,
    tiles: Ints,
    extent: Ints,
    taken: Ints,
    several: Bools,
) -> bool:
    """Whether tiles shrink inward and spatial chunks fit their axes; which loops have chunks."""
    extent[:] = bounds
    taken[:] = 1
    for i in range(len(tiles)):
        d = loop_dim[i]
        tile = tiles[i]
        if tile < 1 or tile > extent[d]:
            return False
        several[i] = tile < extent[d]
        axis = axis_of_loop[i]
        if axis >= 0:
            taken[axis] *= (extent[d] + tile - 1) // tile
            if taken[axis] > axis_size[axis]:
                return False
        extent[d] = tile
    return True


@njit(cache=True, inline="always")
def _locate(
    components: Components,
    memo: Memo,
    used: Ints,
    tiles: Ints,
    base: Ints,
    missing: Ints,
) -> int:
    """Find the rows that belong to tile sizes.

    Returns FOUND; or FULL, when there is no room for another node; or MISSING, with the node that
    has no numbers yet and the range of its tables in `missing`.
    """
    mask = len(memo.keys) - 1
    slot = 0
    for c in range(len(components.start) - 1):
        counted = memo.first_node[slot] >= 0
        node = c
        choice = 0
        for x in range(components.start[c], components.start[c + 1] + 1):
            if x > components.start[c]:
                tile = tiles[components.loop[x - 1]]
                if counted:
                    rank = memo.rank[memo.rank_start[x - 1] + tile]
                    choice = choice * memo.radix[x - 1] + rank
                else:
                    key = (node << 32) | tile
                    h = ((key * HASH) >> 20) & mask
                    while memo.keys[h] != key and memo.keys[h] >= 0:
                        h = (h + 1) & mask
                    if memo.keys[h] < 0:
                        if used[0] >= len(memo.places):
                            return FULL
                        memo.keys[h] = key
                        memo.children[h] = used[0]
                        memo.places[used[0]] = -1
                        used[0] += 1
                    node = memo.children[h]
            first = components.level_start[slot]
            last = components.level_start[slot + 1]
            if first < last:
                at = memo.first_node[slot] + choice if counted else node
                place = memo.places[at]
                if place < 0:
                    missing[0] = at
                    missing[1] = first
                    missing[2] = last
                    return MISSING
                for y in range(first, last):
                    t = components.table[y]
                    base[t] = place + components.table_shift[t]
            slot += 1
    return FOUND


@njit(cache=True)
def _fill(
    program: Program,
    components: Components,
    memo: Memo,
    used: Ints,
    tiles: Ints,
    missing: Ints,
    scratch: Ints,
) -> bool:
    """Compute the numbers of a node; False when there is no room for them."""
    final = components.table[missing[2] - 1]
    width = components.table_shift[final] + program.table_width[final]
    if used[1] + width > len(memo.numbers):
        return False
    for y in range(missing[1], missing[2]):
        t = components.table[y]
        fill_row(program, t, tiles, memo.numbers, used[1] + components.table_shift[t], scratch)
    memo.places[missing[0]] = used[1]
    used[1] += width
    return True


@njit(cache=True, inline="always")
def _holds(
    limit: Ints, limit_start: Ints, limit_query: Ints, limit_bits: Ints, values: Ints
) -> bool:
    """Whether every capacity holds its tiles."""
    for m in range(len(limit)):
        bits = 0
        for x in range(limit_start[m], limit_start[m + 1]):
            bits += values[limit_query[x]] * limit_bits[x]
        if bits > limit[m]:
            return False
    return True


@njit(cache=True, inline="always")
def _cycles(
    costs: Costs,
    sums: Ints,
) -> float:
    cycles: float = np.ceil(sums[costs.steps] * costs.cycles_per_step)
    for m in range(len(costs.word_start) - 1):
        reads = 0.0
        writes = 0.0
        for x in range(costs.word_start[m], costs.word_start[m + 1]):
            reads += sums[costs.word_read[x]] * costs.word_ratio[x]
            writes += sums[costs.word_write[x]] * costs.word_ratio[x]
        if costs.bandwidth[m, 0] < np.inf:
            cycles = max(cycles, reads / costs.bandwidth[m, 0])
        if costs.bandwidth[m, 1] < np.inf:
            cycles = max(cycles, writes / costs.bandwidth[m, 1])
        if costs.bandwidth[m, 2] < np.inf:
            cycles = max(cycles, (reads + writes) / costs.bandwidth[m, 2])
    for a in range(len(costs.network_bandwidth)):
        words = 0
        for x in range(costs.network_start[a], costs.network_start[a + 1]):
            words += sums[costs.network_sum[x]]
        cycles = max(cycles, words / costs.network_bandwidth[a])
    return cycles


@njit(cache=True, inline="always")
def _energy(costs: Costs, sums: Ints, cycles: float) -> float:
    """Return the energy, added up in the order in which `evaluate` does: equal to the last bit."""
    total = 0.0
    for m in range(len(costs.energy_start) - 1):
        part = 0.0
        for x in range(costs.energy_start[m], costs.energy_start[m + 1]):
            reads = sums[costs.energy_read[x]] * costs.energy_read_cost[x]
            part += reads + sums[costs.energy_write[x]] * costs.energy_write_cost[x]
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
    memo: Memo,
    counted_nodes: int,
    energy: Floats,
    cycles: Floats,
    status: Ints,
    counts: Ints,
) -> int:
    """Cost the mappings from row `begin`; return how far it came before the memo was full.

    Parameters
    ----------
    tiles : array of (mappings, loops)
        Tile sizes of the mapping's own loops.
    memo : Memo
        Space; what it holds is forgotten.
    counted_nodes : int
        Roots, and nodes that are counted through.
    energy, cycles, status : arrays of mappings
        Results, in pJ and cycles; status VALID, INVALID or UNEVEN (not computed).
    counts : array of (mappings or 0, sums)
        Values of all sums, where they are wanted.
    """
    loops = tiles.shape[1]
    own = np.ones(loops + residual, np.int64)
    extent = np.empty(len(program.bounds), np.int64)
    taken = np.empty(len(costs.axis_size), np.int64)
    base = np.zeros(len(program.table_width), np.int64)
    several = np.zeros(loops + residual, np.bool_)
    queries = len(program.query)
    values = np.zeros(queries, np.int64)
    for q in range(costs.varying, queries):
        values[q] = query_value(program.code, program.query[q], memo.numbers, base, several)
    sums = np.zeros(len(costs.sum_start), np.int64)  # the last one stays zero: NO_SUM
    missing = np.zeros(3, np.int64)
    scratch = scratch_space(program)
    used = np.zeros(2, np.int64)
    used[0] = counted_nodes
    memo.keys[:] = -1
    memo.places[:counted_nodes] = -1
    for row in range(begin, len(tiles)):
        for i in range(loops):
            own[i] = tiles[row, i]
        energy[row] = np.inf
        cycles[row] = np.inf
        status[row] = INVALID
        if not _fits(
            program.bounds, program.loop_dim, costs.axis_of_loop, costs.axis_size,
            own, extent, taken, several,
        ):  # fmt: skip
            continue
        found = _locate(components, memo, used, own, base, missing)
        while found == MISSING:
            if not _fill(program, components, memo, used, own, missing, scratch):
                return row
            found = _locate(components, memo, used, own, base, missing)
        if found == FULL:
            return row
        for q in range(costs.peaks):
            values[q] = query_value(program.code, program.query[q], memo.numbers, base, several)
        if not _holds(costs.limit, costs.limit_start, costs.limit_query, costs.limit_bits, values):
            continue
        status[row] = VALID
        for q in range(costs.peaks, costs.varying):
            values[q] = query_value(program.code, program.query[q], memo.numbers, base, several)
            if values[q] < 0:
                status[row] = UNEVEN
        if status[row] == UNEVEN:
            continue
        for s in range(len(sums) - 1):
            total = 0
            for x in range(costs.sum_start[s], costs.sum_start[s + 1]):
                total += costs.sum_weight[x] * values[costs.sum_query[x]]
            sums[s] = total
        cycles[row] = _cycles(costs, sums)
        energy[row] = _energy(costs, sums, cycles[row])
        if len(counts) > 0:
            counts[row] = sums[:-1]
    return len(tiles)
