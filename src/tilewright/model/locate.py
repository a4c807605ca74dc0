"""Compiled kernels: which rows of the tables belong to the tile sizes of many mappings.

Rows are kept: a component (dimensions that share index expressions, of any tensor) has one row per
distinct choice of its own tile sizes, and there are few of those however many mappings there are.
They are found by walking a tree: a node is a choice for the first loops of a component, its child
adds the tile size of the next loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilewright.model.kernel import kernel
from tilewright.model.program import Program
from tilewright.model.types import Bools, Ints

BLOCK = 128  # mappings that go through a kernel together: their state stays in the cache
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


@kernel
def locate(
    program: Program,
    components: Components,
    axis_of_loop: Ints,
    axis_size: Ints,
    memo: Memo,
    used: Ints,
    tiles: Ints,
    fits: Bools,
    several: Bools,
    base: Ints,
    work: Ints,
) -> int:
    """Find the rows that belong to the tile sizes of each mapping that fits its axes.

    Parameters
    ----------
    axis_of_loop, axis_size : arrays
        Axis that each loop spreads over, -1 for temporal ones, and elements along each axis.
    used : array of 3
        Nodes and numbers of the memo that are taken; rows that are to be computed.
    tiles : array of (mappings, loops)
        Tile sizes of the mappings' own loops.
    fits, several, base : arrays of mappings, (loops, mappings), (tables, mappings)
        Take whether tiles shrink inward and fit the axes, which loops have several chunks, and
        where the rows begin.
    work : array of (rows, 3)
        Takes the rows that are to be computed: table, place, mapping.

    Returns
    -------
    int
        How many mappings were found before the memo was full, or so; a block if it was empty.
    """
    loops = tiles.shape[1]
    own = np.ones((len(program.loop_dim), BLOCK), np.int64)
    extent = np.zeros((len(program.bounds), BLOCK), np.int64)
    taken = np.zeros((len(axis_size), BLOCK), np.int64)
    node = np.zeros(BLOCK, np.int64)
    live = np.zeros(BLOCK, np.int64)
    used[2] = 0
    for begin in range(0, len(tiles), BLOCK):
        end = min(begin + BLOCK, len(tiles))
        for m in range(begin, end):
            for i in range(loops):
                own[i, m - begin] = tiles[m, i]
        _fits(
            program,
            axis_of_loop,
            axis_size,
            own,
            fits[begin:end],
            several[:, begin:end],
            extent,
            taken,
        )
        count = 0
        for m in range(begin, end):
            live[count] = m - begin
            count += fits[m]
        found = _walk(
            program,
            components,
            memo,
            used,
            own,
            live[:count],
            base[:, begin:end],
            node,
            work,
            begin,
        )
        if found < count:
            return int(begin + live[found])
    return len(tiles)


@kernel
def _fits(
    program: Program,
    axis_of_loop: Ints,
    axis_size: Ints,
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
    for i in range(len(program.loop_dim)):
        left = extent[program.loop_dim[i]]
        axis = axis_of_loop[i]
        for m in range(len(fits)):
            tile = tiles[i, m]
            fits[m] = fits[m] and 1 <= tile <= left[m]
            several[i, m] = tile < left[m]
            if axis >= 0 and fits[m]:
                taken[axis, m] *= (left[m] + tile - 1) // tile
                fits[m] = taken[axis, m] <= axis_size[axis]
            left[m] = tile


@kernel
def _walk(
    program: Program,
    components: Components,
    memo: Memo,
    used: Ints,
    tiles: Ints,
    live: Ints,
    base: Ints,
    node: Ints,
    work: Ints,
    origin: int,
) -> int:
    """Walk the trees for a block of mappings; return how many found room."""
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
                final = components.table[last - 1]
                width = components.table_shift[final] + program.table_width[final]
                for k in range(done):
                    m = live[k]
                    at = begin + node[m]
                    if memo.places[at] < 0:
                        if used[1] + width > len(memo.numbers):
                            done = k
                            break
                        memo.places[at] = used[1]
                        for y in range(first, last):
                            t = components.table[y]
                            work[used[2], 0] = t
                            work[used[2], 1] = used[1] + components.table_shift[t]
                            work[used[2], 2] = origin + m
                            used[2] += 1
                        used[1] += width
                    for y in range(first, last):
                        t = components.table[y]
                        base[t, m] = memo.places[at] + components.table_shift[t]
            slot += 1
    return done


@kernel
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
