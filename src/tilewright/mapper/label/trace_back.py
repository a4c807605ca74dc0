"""The mapping that the last label of a walk stands for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Ints
from tilewright.mapper.label import labels
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.lattice import Lattice
from tilewright.mapper.problem.space import Space, Unrolling
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.workload.layer import Layer


def rebuild(
    layer: Layer,
    architecture: Architecture,
    tiles: Lattice,
    sp: Space,
    unrollings: list[Unrolling],
    keep: KeepChoice,
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
    for i in np.unique(sp.outermost[:, 0]):
        digit = tiles.digits[it[row, labels.SHAPE], i]
        if digit < tiles.sizes[i] - 1:
            nodes.append(For(tiles.dimensions[i], int(tiles.values[i, digit])))
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
            i = int(sp.moves[move, 0])
            node = For(tiles.dimensions[i], int(tiles.values[i, tiles.digits[shape, i]]))
            last = nodes[-1]
            if isinstance(last, For) and last.dimension == node.dimension:
                nodes[-1] = node
            else:
                nodes.append(node)
    return Mapping(tuple(nodes))
