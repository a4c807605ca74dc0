"""Trees of tile choices: which tables stand where, and how the nodes are numbered."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import mul

import numpy as np

from tilewright.kernels.types import Bools, Ints
from tilewright.model.closed_form.queries.locate import ANEW, HASHED, Memo, Trees
from tilewright.model.closed_form.queries.plan import Compiled
from tilewright.model.closed_form.queries.program import CHAIN, PEAK, TOTAL, Program
from tilewright.workload.layer import Layer

FIRST_NODES = 2**13
MOST_NODES = 2**19
MOST_QUICK_NODES = 2**14  # beyond these, computing a row takes no longer than finding it
NUMBERS_PER_NODE = 24


def trees_of(layer: Layer, compiled: Compiled) -> tuple[Trees, Bools]:
    """Return the trees of tile choices, and which of them have rows that are quickly computed.

    There is one tree per dimension, for what depends on that dimension alone, and one per set of
    dimensions that share index expressions. A table stands at the node that has chosen the last
    loop that its rows depend on.
    """
    number = {name: d for d, name in enumerate(layer.dimensions)}
    owner = list(range(len(number)))
    for tensor in layer.tensors:
        for terms in tensor.expressions:
            joined = {owner[number[t.dimension]] for t in terms if layer.bounds[t.dimension] > 1}
            owner = [min(joined) if o in joined else o for o in owner]
    loop_dim = compiled.program.loop_dim.tolist()
    own = len(loop_dim) - compiled.residual
    members: dict[tuple[bool, frozenset[int]], list[int]] = {}
    for t, loops in enumerate(compiled.tables):
        dims = {loop_dim[i] for i in loops}
        quick = len(dims) <= 1 and _is_quick(compiled.program, t)
        shared = {d for d in number.values() if any(owner[d] == owner[e] for e in dims)}
        members.setdefault((quick, frozenset(dims if quick else shared)), []).append(t)
    start, loop, level_start, table = [0], [], [0], []
    shift = [0] * len(compiled.tables)
    for (_, followed), tables in members.items():
        walked = [i for i in range(own) if loop_dim[i] in followed]
        ends: dict[int, list[int]] = {}
        for t in tables:
            last = max(compiled.tables[t], default=-1)
            ends.setdefault(sum(i <= last for i in walked), []).append(t)
        for level in range(max(ends) + 1):
            width = 0
            for t in ends.get(level, ()):
                shift[t] = width
                width += int(compiled.program.table_width[t])
                table.append(t)
            level_start.append(len(table))
        loop.extend(walked[: max(ends)])
        start.append(len(loop))
    arrays = (np.array(values, np.int64) for values in (start, loop, level_start, table, shift))
    return Trees(*arrays), np.array([quick for quick, _ in members], np.bool_)


def _is_quick(program: Program, table: int) -> bool:
    factors = slice(program.table_factor_start[table], program.table_factor_start[table + 1])
    return bool(np.isin(program.factor_kind[factors], (CHAIN, TOTAL, PEAK)).all())


@dataclass(frozen=True)
class Nodes:
    """How the nodes of all trees are numbered.

    Attributes
    ----------
    radix, rank_start, rank, first_node, anew
        See `Memo`.
    counted : int
        Nodes that are counted through, and roots of the trees whose nodes are not.
    taken : int
        Numbers of the rows that are computed anew.
    widest : int
        Numbers of the other rows of one mapping.
    hashed : int
        Steps from node to node that take a look into the hash table.
    """

    radix: Ints
    rank_start: Ints
    rank: Ints
    first_node: Ints
    anew: Ints
    counted: int
    taken: int
    widest: int
    hashed: int

    def memo(self, nodes: int, mappings: int) -> Memo:
        """Return empty space for so many nodes besides, at least for so many mappings.

        Parameters
        ----------
        nodes : int
            A power of two.
        mappings : int
            How many are located together.
        """
        while nodes < mappings * self.hashed:
            nodes *= 2
        places = nodes if self.hashed else 0
        return Memo(
            radix=self.radix,
            rank_start=self.rank_start,
            rank=self.rank,
            first_node=self.first_node,
            anew=self.anew,
            keys=np.full(4 * places, -1, np.int64),
            children=np.empty(4 * places, np.int64),
            places=np.full(self.counted + places, -1, np.int64),
            numbers=np.empty(
                self.taken + max(NUMBERS_PER_NODE * nodes, mappings * self.widest), np.int64
            ),
        )

    def used(self) -> Ints:
        """Return what `locate` counts, for an empty memo."""
        return np.array([self.counted, self.taken], np.int64)


def number_nodes(
    trees: Trees,
    quick: Bools,
    program: Program,
    rank_start: Ints,
    seen: Bools,
    valid: int,
    mappings: int,
) -> Nodes:
    """Decide which nodes are counted through, which are looked up, and what is computed anew.

    Parameters
    ----------
    quick : array of bool
        Which trees have rows that are quickly computed.
    rank_start, seen : arrays
        Which tile sizes each loop has, see `which_fit`.
    valid : int
        Mappings that are to be evaluated.
    mappings : int
        How many of them are located together.
    """
    radix = np.ones(len(rank_start) - 1, np.int64)
    rank = np.empty(len(seen), np.int64)
    for i, (begin, end) in enumerate(pairwise(rank_start.tolist())):
        ranks = np.cumsum(seen[begin:end])
        radix[i] = max(1, ranks[-1])
        rank[begin:end] = ranks - seen[begin:end]
    most = min(MOST_NODES, 4 * valid + FIRST_NODES)
    counted = len(quick)
    taken = widest = hashed = 0
    anew = np.zeros(len(program.table_width), np.int64)
    first_node: list[int] = []
    for tree, (begin, end) in enumerate(pairwise(trees.start.tolist())):
        sizes = list(accumulate(radix[trees.loop[begin:end]].tolist(), mul, initial=1))
        small = sum(sizes) <= most
        hashed += 0 if small or quick[tree] else len(sizes)
        for size in sizes:
            level = len(first_node)
            tables = trees.table[trees.level_start[level] : trees.level_start[level + 1]]
            widths = program.table_width[tables]
            if small if not quick[tree] else size <= min(most, MOST_QUICK_NODES):
                first_node.append(counted)
                counted += size
                widest += int(widths.sum())
            elif not quick[tree]:
                first_node.append(HASHED)
                widest += int(widths.sum())
            else:
                first_node.append(ANEW)
                anew[tables] = taken + mappings * (np.cumsum(widths) - widths)
                taken += mappings * int(widths.sum())
    return Nodes(
        radix=radix,
        rank_start=rank_start,
        rank=rank,
        first_node=np.array(first_node, np.int64),
        anew=anew,
        counted=counted,
        taken=taken,
        widest=widest,
        hashed=hashed,
    )
