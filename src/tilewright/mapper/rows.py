"""The label of the whole nest, and the mapping that the last label of a walk stands for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapper import labels
from tilewright.mapper.lattice import Floats, Ints, Lattice
from tilewright.mapper.links import Keep
from tilewright.mapper.problem import Space, Unrolling
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer


def root(sp: Space, resources: int, memories: int, energy: float) -> tuple[Ints, Floats]:
    """Return tables that hold the label of the whole nest.

    `memories` is the most between two arrays, `energy` that of the operations in pJ.
    """
    nt = len(sp.relevant)
    na = len(sp.unroll_start) - 1
    nw = sp.members.shape[0]
    it = np.zeros((1 << 12, labels.OPEN + nt + 2 * na + labels.WINDOW_COLUMNS * nw), np.int64)
    fl = np.zeros((1 << 12, labels.LOADS + resources + memories + (labels.ENTRIES + 1) * nw))
    top = len(sp.repeats) - 1
    it[0, labels.SHAPE] = top
    it[0, labels.LAST] = it[0, labels.PARENT] = it[0, labels.NEXT] = -1
    it[0, labels.OPEN : labels.OPEN + nt] = top
    for w in range(nw):
        it[0, labels.OPEN + nt + 2 * na + labels.WINDOW_COLUMNS * w] = -1
    fl[0, labels.ZERO] = fl[0, labels.FIRST] = sp.words[nt - 1, top]
    fl[0, labels.SPREAD] = 1.0
    fl[0, labels.ENERGY] = energy
    return it, fl


def rebuild(
    layer: Layer,
    architecture: Architecture,
    tiles: Lattice,
    unrollings: list[Unrolling],
    keep: Keep,
    it: Ints,
    row: int,
) -> Mapping:
    """Return the mapping that a label stands for."""
    path = []
    while it[row, labels.PARENT] >= 0:
        path.append(row)
        row = int(it[row, labels.PARENT])
    memories = architecture.memories
    nodes: list[Node] = [Store(memories[0].name, tuple(t.name for t in layer.tensors))]
    stored = [1] * len(layer.tensors)
    array = 0
    for before, after in pairwise([row, *reversed(path)]):
        move = int(it[after, labels.MOVE])
        shape = it[after, labels.SHAPE]
        if (
            move == it[before, labels.MOVE]
            and shape == it[before, labels.SHAPE]
            and after == path[0]
        ):
            continue
        if move >= labels.CROSS:
            extents = {
                d: int(tiles.values[i, tiles.digits[it[before, labels.SHAPE], i]])
                for i, d in enumerate(tiles.dimensions)
            }
            for axis, d, factor in unrollings[move - labels.CROSS].factors:
                extents[d] = -(-extents[d] // factor)
                nodes.append(Spatial(d, extents[d], axis, architecture.arrays[array].name))
            array += 1
        elif move >= labels.PLACE:
            t = move - labels.PLACE
            memory = memories[keep[t][stored[t]]].name
            stored[t] += 1
            last = nodes[-1]
            if isinstance(last, Store) and last.memory == memory and len(nodes) > 1:
                nodes[-1] = Store(memory, (*last.tensors, layer.tensors[t].name))
            else:
                nodes.append(Store(memory, (layer.tensors[t].name,)))
        else:
            i = int(tiles.moves[move, 0])
            node = For(tiles.dimensions[i], int(tiles.values[i, tiles.digits[shape, i]]))
            last = nodes[-1]
            if isinstance(last, For) and last.dimension == node.dimension:
                nodes[-1] = node
            else:
                nodes.append(node)
    return Mapping(tuple(nodes))
