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

from tilewright.model.combine import Program, fill_row, query_values, scratch_space
from tilewright.model.types import Bools, Floats, Ints

VALID, INVALID, UNEVEN = 0, 1, 2
NO_SUM = -1
BLOCK = 128
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


@njit(cache=True)
def _fits(
    program: Program,
    costs: Costs,
    tiles: Ints,
    fits: Bools,
    several: Bools,
    extent: Ints,
    taken: Ints,
) -> None:
    """Say whose tiles shrink inward and whose spatial chunks fit their axes, and cut which loops.

    `tiles` and `several` are by loop and mapping, `extent` by dimension, `taken` by axis.
    """
    fits[:] = True
    taken[:] = 1
    for d in range(len(extent)):
        extent[d] = program.bounds[d]
    for i in range(len(tiles)):
        left = extent[program.loop_dim[i]]
        axis = costs.axis_of_loop[i]
        for m in range(len(fits)):
            tile = tiles[i, m]
            fits[m] = fits[m] and 1 <= tile <= left[m]
            several[i, m] = tile < left[m]
            if axis >= 0 and fits[m]:
                taken[axis, m] *= (left[m] + tile - 1) // tile
                fits[m] = taken[axis, m] <= costs.axis_size[axis]
            left[m] = tile


@njit(cache=True)
def _locate(
    program: Program,
    components: Components,
    memo: Memo,
    used: Ints,
    tiles: Ints,
    live: Ints,
    base: Ints,
    node: Ints,
    scratch: Ints,
) -> int:
    """Find, or compute, the rows that belong to tile sizes.

    Returns how many of the mappings `live` it found before there was no more room, or so.
    """
    done = len(live)
    slot = 0
    for c in range(len(components.start) - 1):
        counted = memo.first_node[slot] >= 0
        node[:] = 0 if counted else c
        for x in range(components.start[c], components.start[c + 1] + 1):
            if x > components.start[c]:
                chosen = tiles[components.loop[x - 1]]
                if counted:
                    rank = memo.rank[memo.rank_start[x - 1] : memo.rank_start[x]]
                    radix = memo.radix[x - 1]
                    for k in range(done):
                        m = live[k]
                        node[m] = node[m] * radix + rank[chosen[m]]
                else:
                    done = _follow(memo, used, chosen, live[:done], node)
            first = components.level_start[slot]
            last = components.level_start[slot + 1]
            if first < last:
                begin = memo.first_node[slot] if counted else 0
                for k in range(done):
                    m = live[k]
                    place = memo.places[begin + node[m]]
                    if place < 0:
                        at = begin + node[m]
                        if not _fill(
                            program, components, memo, used, tiles[:, m], at, first, last, scratch
                        ):
                            done = k
                            break
                        place = memo.places[at]
                    for y in range(first, last):
                        t = components.table[y]
                        base[t, m] = place + components.table_shift[t]
            slot += 1
    return done


@njit(cache=True)
def _follow(memo: Memo, used: Ints, chosen: Ints, live: Ints, node: Ints) -> int:
    """Go to the child that a tile size leads to; return how many mappings found room for it."""
    mask = len(memo.keys) - 1
    for k in range(len(live)):
        m = live[k]
        key = (node[m] << 32) | chosen[m]
        h = ((key * HASH) >> 20) & mask
        while memo.keys[h] != key and memo.keys[h] >= 0:
            h = (h + 1) & mask
        if memo.keys[h] < 0:
            if used[0] >= len(memo.places):
                return k
            memo.keys[h] = key
            memo.children[h] = used[0]
            memo.places[used[0]] = -1
            used[0] += 1
        node[m] = memo.children[h]
    return len(live)


@njit(cache=True)
def _fill(
    program: Program,
    components: Components,
    memo: Memo,
    used: Ints,
    tiles: Ints,
    node: int,
    first: int,
    last: int,
    scratch: Ints,
) -> bool:
    """Compute the numbers of a node; False when there is no room for them."""
    final = components.table[last - 1]
    width = components.table_shift[final] + program.table_width[final]
    if used[1] + width > len(memo.numbers):
        return False
    for y in range(first, last):
        t = components.table[y]
        place = used[1] + components.table_shift[t]
        fill_row(program, t, tiles, memo.numbers, place, scratch)
    memo.places[node] = used[1]
    used[1] += width
    return True


@njit(cache=True)
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


@njit(cache=True)
def _add_up(costs: Costs, values: Ints, live: Ints, sums: Ints) -> None:
    for s in range(len(sums) - 1):
        total = sums[s]
        total[:] = 0
        for x in range(costs.sum_start[s], costs.sum_start[s + 1]):
            weight = costs.sum_weight[x]
            value = values[costs.sum_query[x]]
            for m in live:
                total[m] += weight * value[m]


@njit(cache=True)
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


@njit(cache=True)
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

    Mappings go through in blocks: each number of the program is read once per block.

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
    queries = len(program.query)
    own = np.ones((loops + residual, BLOCK), np.int64)
    several = np.zeros((loops + residual, BLOCK), np.bool_)
    fits = np.zeros(BLOCK, np.bool_)
    extent = np.zeros((len(program.bounds), BLOCK), np.int64)
    taken = np.zeros((len(costs.axis_size), BLOCK), np.int64)
    base = np.zeros((len(program.table_width), BLOCK), np.int64)
    values = np.zeros((queries, BLOCK), np.int64)
    sums = np.zeros((len(costs.sum_start), BLOCK), np.int64)  # the last stays zero: NO_SUM
    node = np.zeros(BLOCK, np.int64)
    state = np.zeros((4, BLOCK), np.int64)
    live = np.arange(BLOCK)
    scratch = scratch_space(program)
    used = np.zeros(2, np.int64)
    used[0] = counted_nodes
    memo.keys[:] = -1
    memo.places[:counted_nodes] = -1
    for q in range(costs.varying, queries):
        query_values(
            program.code, program.query[q], memo.numbers, base, several, live, values[q], state
        )
    row = begin
    while row < len(tiles):
        block = min(BLOCK, len(tiles) - row)
        for m in range(block):
            for i in range(loops):
                own[i, m] = tiles[row + m, i]
        for m in range(block, BLOCK):
            own[:loops, m] = 0
        _fits(program, costs, own, fits, several, extent, taken)
        count = 0
        for m in range(block):
            live[count] = m
            count += fits[m]
        found = _locate(program, components, memo, used, own, live[:count], base, node, scratch)
        if found < count:
            block = live[found]
        if block == 0:
            return row
        energy[row : row + block] = np.inf
        cycles[row : row + block] = np.inf
        status[row : row + block] = INVALID
        chosen = live[:found]
        for q in range(costs.peaks):
            query_values(
                program.code, program.query[q], memo.numbers, base, several, chosen, values[q],
                state,
            )  # fmt: skip
        chosen = live[: _holds(costs, values, chosen)]
        for m in chosen:
            status[row + m] = VALID
        for q in range(costs.peaks, costs.varying):
            query_values(
                program.code, program.query[q], memo.numbers, base, several, chosen, values[q],
                state,
            )  # fmt: skip
            if program.code[program.query[q] + 2] > 0:
                for m in chosen:
                    if values[q, m] < 0:
                        status[row + m] = UNEVEN
        _add_up(costs, values, chosen, sums)
        for m in chosen:
            if status[row + m] == VALID:
                cycles[row + m] = _cycles(costs, sums, m)
                energy[row + m] = _energy(costs, sums, m, cycles[row + m])
                if len(counts) > 0:
                    counts[row + m] = sums[:-1, m]
        row += block
    return row
