"""Random structures: loops, bypasses, places of store nodes, and what is spatial."""

from __future__ import annotations

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.mapper.problem.space_size import memories_between_arrays
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.relevance import in_letters
from tilewright.workload.layer import Layer


def random_structure(layer: Layer, architecture: Architecture, rng: np.random.Generator) -> Mapping:
    """Draw the nodes of a mapping; tile sizes are to be drawn besides and are 1 here.

    Each memory but the outermost has a loop on every dimension, in random order, and may be
    bypassed by each tensor with probability 1/2. The store nodes stand anywhere among the loops of
    the memories between the same two arrays. An axis has one random dimension, with probability
    1/2 a second one, and so on; the spatial loops stand anywhere above the first store node below.
    """
    architecture = in_letters(architecture, layer)
    names = [d for d in layer.dimensions if layer.bounds[d] > 1]
    nodes: list[Node] = [Store(architecture.memories[0].name, tuple(t.name for t in layer.tensors))]
    for above, memories in enumerate(memories_between_arrays(architecture)):
        loops: list[Node] = [
            For(str(d), 1) for _ in memories for d in rng.permutation(np.array(names, np.str_))
        ]
        places = store_places(layer, memories, len(loops), rng)
        block: list[Node] = []
        for depth in range(len(loops) + 1):
            block += [Store(memory, (tensor,)) for at, memory, tensor in places if at == depth]
            block += loops[depth : depth + 1]
        if above:
            first = min([len(loops), *(at for at, _, _ in places)])
            cut = int(rng.integers(first + 1))
            block[cut:cut] = spatial_nodes(architecture, architecture.arrays[above - 1], names, rng)
        nodes += block
    return Mapping(tuple(nodes))


def store_places(
    layer: Layer, memories: list[Memory], loops: int, rng: np.random.Generator
) -> list[tuple[int, str, str]]:
    """Draw (loops above it, memory, tensor) of each store node, outermost first for a tensor."""
    places = []
    for tensor in layer.tensors:
        kept = [
            memory.name
            for memory in memories
            if tensor.role in memory.must_keep
            or (memory.may_store(tensor.role) and rng.random() < 1 / 2)
        ]
        depths = sorted(rng.integers(loops + 1, size=len(kept)).tolist())
        places += [(at, memory, tensor.name) for at, memory in zip(depths, kept, strict=True)]
    return places


def spatial_nodes(
    architecture: Architecture, array: Array, names: list[str], rng: np.random.Generator
) -> list[Node]:
    """Draw the dimensions of each axis among those that it may unroll."""
    nodes: list[Node] = []
    for axis in array.axes:
        allowed = architecture.allowed_dimensions(array.name, axis)
        able = [d for d in names if allowed is None or d in allowed]
        count = min(len(able), int(rng.geometric(1 / 2)))
        chosen = rng.permutation(np.array(able, np.str_))[:count]
        nodes += [Spatial(str(d), 1, axis, array.name) for d in chosen]
    return nodes
