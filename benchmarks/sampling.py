"""Random mappings: what a search without a proof finds in the same time."""

from __future__ import annotations

from math import inf
from time import process_time

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.mapper.lattice import divisors
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model import evaluate_batch
from tilewright.model.types import Ints
from tilewright.workload.layer import Layer

CHECKPOINTS = (1, 10, 30)
ROWS = 1000  # tile sizes that are drawn for each order of the nodes
MOST_SECONDS = 30.0


def random_structure(layer: Layer, architecture: Architecture, rng: np.random.Generator) -> Mapping:
    """Draw loops, bypasses and places of the store nodes; tile sizes are to be drawn besides.

    Every memory has a loop on each dimension above it, in random order; its store nodes, each
    with probability 1/2, stand anywhere among these loops. Each axis has one dimension.
    """
    names = [d for d in layer.dimensions if layer.bounds[d] > 1]
    nodes: list[Node] = [Store(architecture.memories[0].name, tuple(t.name for t in layer.tensors))]
    for level in architecture.levels[1:]:
        if isinstance(level, Array):
            chosen = rng.choice(names, len(level.axes), replace=len(names) < len(level.axes))
            nodes += [
                Spatial(str(d), 1, axis, level.name)
                for axis, d in zip(level.axes, chosen, strict=True)
            ]
        if not isinstance(level, Memory):
            continue
        block: list[Node] = [For(str(d), 1) for d in rng.permutation(names)]
        for tensor in layer.tensors:
            if level.may_store(tensor.role) and rng.random() < 1 / 2:
                block.insert(int(rng.integers(len(block) + 1)), Store(level.name, (tensor.name,)))
        nodes += block
    return Mapping(tuple(nodes))


def random_tiles(
    layer: Layer, architecture: Architecture, mapping: Mapping, rng: np.random.Generator
) -> Ints:
    """Draw tile sizes, in a random order of the loops, evenly among the factors that are left.

    Returns
    -------
    array of (ROWS, loops)
    """
    loops = [node for node in mapping.nodes if not isinstance(node, Store)]
    chunks = np.ones((ROWS, len(loops)), np.int64)
    left = {d: np.full(ROWS, bound) for d, bound in layer.bounds.items()}
    axes = {array.name: array.axes for array in architecture.arrays}
    # spatial loops first: factors that others have taken would leave the array idle
    order = sorted(rng.permutation(len(loops)), key=lambda i: isinstance(loops[i], For))
    for i in order:
        loop = loops[i]
        limit = axes[loop.array][loop.axis] if isinstance(loop, Spatial) else inf
        for extent in divisors(layer.bounds[loop.dimension]):
            rows = np.flatnonzero(left[loop.dimension] == extent)
            factors = [f for f in divisors(extent) if f <= limit]
            chunks[rows, i] = rng.choice(factors, len(rows))
        left[loop.dimension] = left[loop.dimension] // chunks[:, i]
    tiles = np.empty_like(chunks)
    extents = {d: np.full(ROWS, bound) for d, bound in layer.bounds.items()}
    for i, loop in enumerate(loops):
        extents[loop.dimension] = extents[loop.dimension] // chunks[:, i]
        tiles[:, i] = extents[loop.dimension]
    return tiles


def best_of_samples(
    layer: Layer, architecture: Architecture, objective: str, seconds: float, seed: int
) -> tuple[list[float], int]:
    """Evaluate random mappings.

    Parameters
    ----------
    seconds : float
        CPU time of evaluation that counts as one.

    Returns
    -------
    best : list of float
        Best value after each multiple of it in `CHECKPOINTS`; infinite when none was valid, the
        last one again where `MOST_SECONDS` end the run.
    count : int
        Mappings drawn.
    """
    rng = np.random.default_rng(seed)
    spent, best, count = 0.0, inf, 0
    reached: list[float] = []
    while len(reached) < len(CHECKPOINTS):
        mapping = random_structure(layer, architecture, rng)
        tiles = random_tiles(layer, architecture, mapping, rng)
        begin = process_time()
        batch = evaluate_batch(layer, architecture, mapping, tiles)
        values = {
            "energy": batch.energy_pj,
            "latency": batch.cycles,
            "edp": batch.edp,
        }[objective][batch.valid]
        spent += process_time() - begin
        count += ROWS
        while len(reached) < len(CHECKPOINTS) and spent > seconds * CHECKPOINTS[len(reached)]:
            reached.append(best)
        best = min([best, *values.tolist()]) if len(values) else best
        if spent > MOST_SECONDS:
            reached += [best] * (len(CHECKPOINTS) - len(reached))
    return reached, count
