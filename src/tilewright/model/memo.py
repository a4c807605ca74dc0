"""Trees of tile choices: which tables stand where, and how the nodes are numbered."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import mul

import numpy as np

from tilewright.model.locate import BLOCK, Components, Memo
from tilewright.model.plan import Compiled
from tilewright.model.program import Program
from tilewright.model.types import Ints
from tilewright.workload.layer import Layer

FIRST_NODES = 2**13
MOST_NODES = 2**19
NUMBERS_PER_NODE = 24


def components_of(layer: Layer, compiled: Compiled) -> Components:
    """Return the trees of tile choices: one per set of dimensions that share index expressions.

    A table stands at the node that has chosen the last loop that its rows depend on.
    """
    number = {name: d for d, name in enumerate(layer.dimensions)}
    owner = list(range(len(number)))
    for tensor in layer.tensors:
        for terms in tensor.expressions:
            joined = {owner[number[t.dimension]] for t in terms if layer.bounds[t.dimension] > 1}
            owner = [min(joined) if o in joined else o for o in owner]
    loop_dim = compiled.program.loop_dim.tolist()
    chosen = loop_dim[: len(loop_dim) - compiled.residual]
    start, loop, level_start, table = [0], [], [0], []
    shift = [0] * len(compiled.tables)
    free = [t for t, loops in enumerate(compiled.tables) if not loops]
    for component in sorted(set(owner)):
        own = [i for i, d in enumerate(chosen) if owner[d] == component]
        ends: dict[int, list[int]] = {0: free}
        free = []
        for t, loops in enumerate(compiled.tables):
            if loops and owner[loop_dim[loops[-1]]] == component:
                ends.setdefault(sum(i <= loops[-1] for i in own), []).append(t)
        last = max(ends)
        for walked in range(last + 1):
            width = 0
            for t in ends.get(walked, ()):
                shift[t] = width
                width += int(compiled.program.table_width[t])
                table.append(t)
            level_start.append(len(table))
        loop.extend(own[:last])
        start.append(len(loop))
    return Components(
        *(np.array(values, np.int64) for values in (start, loop, level_start, table, shift))
    )


@dataclass(frozen=True)
class Counted:
    """Components of few tile choices, whose nodes are counted through."""

    radix: Ints
    rank_start: Ints
    rank: Ints
    first_node: Ints
    nodes: int

    def memo(self, nodes: int, widest: int) -> Memo:
        """Return empty space for so many nodes besides, at least for a block of mappings.

        Parameters
        ----------
        nodes : int
            A power of two.
        widest : int
            Numbers that one mapping needs at most.
        """
        while nodes < BLOCK * len(self.radix):
            nodes *= 2
        return Memo(
            self.radix,
            self.rank_start,
            self.rank,
            self.first_node,
            np.full(4 * nodes, -1, np.int64),
            np.empty(4 * nodes, np.int64),
            np.full(self.nodes + nodes, -1, np.int64),
            np.empty(max(NUMBERS_PER_NODE * nodes, BLOCK * widest), np.int64),
        )


def count_through(components: Components, program: Program, tiles: Ints) -> Counted:
    """Return the ranks of the tile sizes of each loop, and which components have few choices."""
    bounds = program.bounds[program.loop_dim[components.loop]]
    rank_start = np.concatenate(([0], np.cumsum(bounds + 1)))
    rank = np.zeros(rank_start[-1], np.int64)
    radix = np.ones(len(bounds), np.int64)
    for x, loop in enumerate(components.loop.tolist()):
        seen = np.zeros(bounds[x] + 1, np.bool_)
        column = tiles[:, loop]
        seen[column[(column > 0) & (column <= bounds[x])]] = True
        radix[x] = max(1, seen.sum())
        rank[rank_start[x] : rank_start[x + 1]] = np.cumsum(seen) - seen
    roots = len(components.start) - 1
    most = min(MOST_NODES, 4 * len(tiles) + FIRST_NODES)
    nodes = roots
    first_node: list[int] = []
    for begin, end in pairwise(components.start.tolist()):
        sizes = list(accumulate(radix[begin:end].tolist(), mul, initial=1))
        small = sum(sizes) <= most
        for size in sizes:
            first_node.append(nodes if small else -1)
            nodes += size if small else 0
    return Counted(radix, rank_start, rank, np.array(first_node, np.int64), nodes)
