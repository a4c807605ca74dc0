"""Compiled kernels: which rows of the tables belong to the tile sizes of many mappings.

Rows of tables that take long to compute, and those of which there are few, are kept: a table has
one row per distinct choice of the tile sizes of its own loops. They are found by walking a tree: a
node is a choice for the first loops of the tree, its child adds the tile size of the next loop. The
other rows are computed for each mapping anew.
"""

from __future__ import annotations

from typing import NamedTuple

from tilewright.kernels.kernel import kernel, part
from tilewright.kernels.record import record
from tilewright.kernels.types import Bools, Ints
from tilewright.model.closed_form.queries.program import Program

HASH = -7046029254386353131  # 2^64 / golden ratio, odd: neighbouring keys land far apart
HASHED, ANEW = -1, -2  # instead of the first node of a level


@record
class Trees(NamedTuple):
    """Which loops each tree follows, and the tables whose rows its nodes have."""

    start: Ints  # into `loop`, per tree
    loop: Ints
    level_start: Ints  # tables per (tree, loops walked): into `table`
    table: Ints
    table_shift: Ints  # per table: where its row begins within the node's numbers


@record
class Memo(NamedTuple):
    """The nodes of all trees, and their numbers.

    Where the loops of a tree take few different tile sizes its nodes are counted through, by the
    ranks of its tile sizes; the nodes of others come last, and are found in a hash table.
    """

    radix: Ints  # per loop: different tile sizes
    rank_start: Ints
    rank: Ints  # of tile size t of a loop: rank[rank_start + t]
    first_node: Ints  # per level: its first node when they are counted through; HASHED or ANEW
    anew: Ints  # per table: where the rows of all mappings begin when they are computed anew
    keys: Ints  # hash table, of a power of two: parent node and tile size, -1 when free
    children: Ints  # node of each key
    places: Ints  # per node: where its numbers begin, -1 when not computed
    numbers: Ints


@kernel
def locate(
    program: Program,
    trees: Trees,
    memo: Memo,
    used: Ints,
    tiles: Ints,
    size: int,
    several: Bools,
    base: Ints,
    work: Ints,
    todo: Ints,
) -> int:
    """Find the rows that belong to the tile sizes of each mapping.

    Parameters
    ----------
    used : array of 2
        Nodes and numbers of the memo that are taken.
    tiles : array of (loops, mappings)
        Tile sizes, those of the loops at the compute unit included.
    size : int
        How many mappings there are, at most as many as the arrays have room for.
    several, base : arrays of (loops, mappings), (tables, mappings)
        Take which loops have several chunks, and where the rows begin.
    work, todo : arrays of (tables, mappings, 2), tables
        Take the rows that are to be computed (place, mapping) and how many there are.

    Returns
    -------
    int
        How many mappings were found before the memo was full; all of them if it was empty.
    """
    _cut(program, tiles, size, several)
    todo[:] = 0
    slot = 0
    node = base[len(base) - 1]  # the row of no table
    for tree in range(len(trees.start) - 1):
        node[:size] = tree if memo.first_node[slot] == HASHED else 0
        for x in range(trees.start[tree], trees.start[tree + 1] + 1):
            kind = memo.first_node[slot]
            if x > trees.start[tree]:
                i = trees.loop[x - 1]
                if kind == HASHED:
                    size = _follow(memo, used, tiles[i, :size], node)
                elif kind != ANEW:
                    ranks = memo.rank_start[i]
                    for m in range(size):
                        node[m] = node[m] * memo.radix[i] + memo.rank[ranks + tiles[i, m]]
            first = trees.level_start[slot]
            last = trees.level_start[slot + 1]
            if kind == ANEW:
                for y in range(first, last):
                    t = trees.table[y]
                    for m in range(size):
                        base[t, m] = memo.anew[t] + m * program.table_width[t]
                        _put(work, todo, t, base[t, m], m)
            elif first < last:
                begin = max(kind, 0)
                tables = trees.table[first:last]
                size = _keep(
                    program, trees, memo, used, tables, begin, node, size, base, work, todo
                )
            slot += 1
    return size


@part
def _cut(program: Program, tiles: Ints, size: int, several: Bools) -> None:
    """Say which loops have several chunks."""
    outer = program.bounds.copy()
    for d in range(len(outer)):
        outer[d] = -1
    for i in range(len(program.loop_dim)):
        d = program.loop_dim[i]
        for m in range(size):
            left = tiles[outer[d], m] if outer[d] >= 0 else program.bounds[d]
            several[i, m] = tiles[i, m] < left
        outer[d] = i


@part
def _put(work: Ints, todo: Ints, table: int, place: int, mapping: int) -> None:
    work[table, todo[table], 0] = place
    work[table, todo[table], 1] = mapping
    todo[table] += 1


@part
def _keep(
    program: Program,
    trees: Trees,
    memo: Memo,
    used: Ints,
    tables: Ints,
    begin: int,
    node: Ints,
    size: int,
    base: Ints,
    work: Ints,
    todo: Ints,
) -> int:
    """Take the rows of a level's tables from the nodes; return how many mappings found room."""
    final = tables[len(tables) - 1]
    width = trees.table_shift[final] + program.table_width[final]
    for m in range(size):
        at = begin + node[m]
        if memo.places[at] < 0:
            if used[1] + width > len(memo.numbers):
                return m
            memo.places[at] = used[1]
            for t in tables:
                _put(work, todo, t, used[1] + trees.table_shift[t], m)
            used[1] += width
        for t in tables:
            base[t, m] = memo.places[at] + trees.table_shift[t]
    return size


@part
def _follow(memo: Memo, used: Ints, chosen: Ints, node: Ints) -> int:
    """Go to the child that a tile size leads to; return how many mappings found room for it."""
    mask = len(memo.keys) - 1
    for m in range(len(chosen)):
        key = (node[m] << 32) | chosen[m]
        h = ((key * HASH) >> 20) & mask
        while memo.keys[h] != key and memo.keys[h] >= 0:
            h = (h + 1) & mask
        if memo.keys[h] < 0:
            if used[0] >= len(memo.places):
                return m
            memo.keys[h] = key
            memo.children[h] = used[0]
            memo.places[used[0]] = -1
            used[0] += 1
        node[m] = memo.children[h]
    return len(chosen)
