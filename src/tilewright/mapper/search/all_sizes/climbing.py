"""Tile sizes of one mapping changed one or two at a time, as long as that helps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.errors import MappingError
from tilewright.mapper.heuristics.open_loops import closed, in_any_order, opened
from tilewright.mapper.heuristics.size_steps import neighbours
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapping.nodes import Mapping, Store
from tilewright.mapping.validity import check
from tilewright.model.batch import evaluate_batch
from tilewright.workload.layer import Layer

PROMISING = 32  # of the better mappings of a step, those checked against constraints


def climb(
    layer: Layer,
    architecture: Architecture,
    objective: Objective,
    start: Mapping,
    stop: Callable[[], bool],
    pairs: bool = True,
    orders: bool = False,
) -> tuple[Mapping, float]:
    """Change one tile size at a time, or two, as long as the objective falls.

    With `orders` loops may come in any order besides.
    """
    structure = opened(start, layer, architecture)
    if orders:
        structure = in_any_order(structure, layer)
    loops = [node for node in structure.nodes if not isinstance(node, Store)]
    tiles = np.array([node.tile for node in loops], np.int64)
    bounds = np.array([layer.bounds[node.dimension] for node in loops], np.int64)
    outer, inner = np.full((2, len(loops)), -1, np.int64)
    last: dict[str, int] = {}
    for i, node in enumerate(loops):
        if node.dimension in last:
            outer[i], inner[last[node.dimension]] = last[node.dimension], i
        last[node.dimension] = i

    begin = evaluate_batch(layer, architecture, structure, tiles[None])
    value = float(objective.values(begin.energy_pj, begin.cycles)[0])

    def step(i: int, pairs: bool) -> bool:
        """Take the best change of a loop, if there is one that helps."""
        nonlocal tiles, value
        rows = neighbours(tiles, i, outer, inner, bounds, pairs)
        costs = evaluate_batch(layer, architecture, structure, rows)
        reached = objective.values(costs.energy_pj, costs.cycles)
        for at in np.argsort(reached, kind="stable")[:PROMISING].tolist():
            if not reached[at] < value * (1 - TIE):
                return False
            if architecture.statements and not allowed(
                closed(structure, rows[at], layer), layer, architecture
            ):
                continue
            tiles, value = rows[at], float(reached[at])
            return True
        return False

    unchanged = i = 0
    # loops one by one, then each with any other one
    while unchanged < (1 + pairs) * len(loops) and not stop():
        unchanged = 0 if step(i, unchanged >= len(loops)) else unchanged + 1
        i = (i + 1) % len(loops)
    return closed(structure, tiles, layer), value


def allowed(mapping: Mapping, layer: Layer, architecture: Architecture) -> bool:
    """Whether a mapping fits and satisfies the constraints of the machine."""
    try:
        check(mapping, layer, architecture)
    except MappingError:
        return False
    return True
