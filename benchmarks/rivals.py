"""Another search, to test the mapper against: random mappings, improved by annealing.

It knows nothing of the mapper. A mapping is a list of nodes; a step changes the list in some way
and tries many tile sizes for it at once, which `evaluate_batch` prices. Whatever is best is
confirmed by `evaluate`, so that a value below a proven optimum is a fault of the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, gcd, inf, log
from random import Random
from time import perf_counter

import numpy as np

from benchmarks.rival_moves import random_rows
from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.errors import MappingError
from tilewright.kernels.types import Floats, Ints
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model.batch import evaluate_batch
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

ROWS = 256  # tile sizes that are tried for a changed list
FIRST = 1024  # and for a new one
MOST_ROUNDS = 8  # in which they are improved
ROUND = 3.0  # seconds in which the temperature falls
HOT, COLD = 0.3, 0.003  # of the logarithm of the value
MOST_LOOPS = 36


@dataclass(frozen=True)
class Found:
    """A mapping and what it costs.

    Attributes
    ----------
    value : float
        Of the objective; infinite where there is no mapping.
    mapping : Mapping or None
    evaluated : int
        Mappings that were priced.
    """

    value: float
    mapping: Mapping | None
    evaluated: int


class Rival:
    """Random mappings and annealing.

    Parameters
    ----------
    layer, machine
        What is computed, and on what.
    objective : str
        ``"energy"``, ``"latency"`` or ``"edp"``.
    tiles : str
        ``"divisors"`` or ``"all"``.
    seed : int
    """

    def __init__(
        self, layer: Layer, machine: Architecture, objective: str, tiles: str, seed: int = 0
    ) -> None:
        self.layer, self.machine, self.objective = layer, machine, objective
        self.divides = tiles == "divisors"
        self.rng = Random(seed)
        self.best = Found(inf, None, 0)
        self.evaluated = 0

    def search(self, seconds: float, enough: float = 0.0) -> Found:
        """Search for some time, or until a value is reached, and return the best mapping."""
        begin = perf_counter()
        spent = 0.0
        current, value = self.start()
        last_start, coldest = 0.0, log(HOT / COLD)
        while spent < seconds and self.best.value > enough:
            if value == inf or spent - last_start > ROUND:
                last_start = spent
                current, value = self.restart()
            progress = min(1.0, (spent - last_start) / ROUND)
            temperature = HOT * exp(-coldest * progress)
            changed, new = self.tried(self.changed(current))
            if new < inf and (
                new <= value or self.rng.random() < exp((log(value) - log(new)) / temperature)
            ):
                current, value = changed, new
            spent = perf_counter() - begin
        return Found(self.best.value, self.best.mapping, self.evaluated)

    # --- starts ----------------------------------------------------------------------------------

    def start(self) -> tuple[tuple[Node, ...], float]:
        """Return the best of a few random mappings."""
        found = [self.tried(self.random_nodes(), starts=True) for _ in range(8)]
        return min(found, key=lambda pair: pair[1])

    def restart(self) -> tuple[tuple[Node, ...], float]:
        """Return a new mapping, or the best one so far."""
        if self.best.mapping is None or self.rng.random() < 0.5:
            return self.start()
        return self.best.mapping.nodes, self.best.value

    def random_nodes(self) -> tuple[Node, ...]:
        """Return a list of nodes whose loops have one chunk each, but for the outermost ones."""
        rng, bounds = self.rng, self.layer.bounds
        nodes: list[Node] = []
        for level in self.machine.levels:
            if isinstance(level, Memory):
                nodes += self.random_stores(level, outermost=not nodes)
                dims = [d for d in bounds if bounds[d] > 1 and rng.random() < 0.7]
                rng.shuffle(dims)
                nodes += [For(d, bounds[d]) for d in dims]
            elif isinstance(level, Array):
                nodes += self.random_unrolling(level)
        loops = [i for i, node in enumerate(nodes) if not isinstance(node, Store)]
        for i in sorted(rng.sample(loops, max(0, len(loops) - MOST_LOOPS)), reverse=True):
            del nodes[i]
        inner = [For(d, 1) for d in bounds]
        return self.reduced((*nodes[:1], *inner, *nodes[1:]))

    def reduced(self, nodes: Sequence[Node]) -> tuple[Node, ...]:
        """Return nodes with no tile larger than what the loops above leave."""
        left = dict(self.layer.bounds)
        result: list[Node] = []
        for node in nodes:
            if not isinstance(node, Store):
                above = left[node.dimension]
                tile = gcd(node.tile, above) if self.divides else min(node.tile, above)
                left[node.dimension] = tile
            result.append(node if isinstance(node, Store) else retiled(node, tile))
        return tuple(result)

    def random_stores(self, memory: Memory, *, outermost: bool) -> list[Node]:
        names = [tensor.name for tensor in self.layer.tensors]
        if outermost:
            return [Store(memory.name, tuple(names))]
        kept = [
            tensor.name
            for tensor in self.layer.tensors
            if memory.may_store(tensor.role)
            and (tensor.role in memory.must_keep or self.rng.random() < 0.75)
        ]
        return [Store(memory.name, (name,)) for name in kept]

    def random_unrolling(self, array: Array) -> list[Node]:
        nodes: list[Node] = []
        for axis in array.axes:
            allowed = self.allowed(array, axis)
            for dimension in self.rng.sample(allowed, min(len(allowed), self.rng.choice((1, 2)))):
                nodes.append(Spatial(dimension, self.layer.bounds[dimension], axis, array.name))
        return nodes

    def allowed(self, array: Array, axis: str) -> list[str]:
        """Return the dimensions that an axis may unroll."""
        named = self.machine.allowed_dimensions(array.name, axis)
        bounds = self.layer.bounds
        return [d for d in bounds if bounds[d] > 1 and (named is None or d in named)]

    # --- tile sizes ------------------------------------------------------------------------------

    def tried(
        self, nodes: tuple[Node, ...], starts: bool = False
    ) -> tuple[tuple[Node, ...], float]:
        """Return the best of many tile sizes for a list of nodes, and its value."""
        value, count = inf, FIRST if starts else ROWS
        for _ in range(MOST_ROUNDS):
            tiles, values = self.priced(nodes, count, starts)
            if not len(values):
                break
            row = int(values.argmin())
            if not values[row] < value:
                break
            chosen = with_tiles(nodes, tiles[row].tolist())
            if values[row] < self.best.value and not self.confirm(chosen):
                break
            nodes, value, count, starts = chosen, float(values[row]), ROWS, False
        return compact(nodes, self.layer), value

    def priced(self, nodes: tuple[Node, ...], count: int, starts: bool) -> tuple[Ints, Floats]:
        """Return tile sizes near those of some nodes, with values unless they are no mapping."""
        loops = [node for node in nodes if not isinstance(node, Store)]
        order = list(self.layer.bounds)
        rows = random_rows(
            np.array([node.tile for node in loops], np.int64),
            np.array([order.index(node.dimension) for node in loops], np.int64),
            np.array([self.layer.bounds[d] for d in order], np.int64),
            count, 16 if starts else 4, starts, self.divides, self.rng.randrange(1 << 30),
        )  # fmt: skip
        try:
            batch = evaluate_batch(self.layer, self.machine, Mapping(nodes), rows)
        except MappingError:
            return rows, np.empty(0)
        self.evaluated += len(rows)
        values = {"energy": batch.energy_pj, "latency": batch.cycles}
        return rows, values.get(self.objective, batch.edp)

    def confirm(self, nodes: tuple[Node, ...]) -> bool:
        """Keep a mapping as the best one if it is valid; return whether it is."""
        try:
            cost = evaluate(self.layer, self.machine, Mapping(nodes))
        except MappingError:
            return False
        value = {"energy": cost.energy_pj, "latency": cost.cycles, "edp": cost.edp_pj_cycles}
        self.best = Found(value[self.objective], Mapping(nodes), self.evaluated)
        return True

    # --- steps -----------------------------------------------------------------------------------

    def changed(self, nodes: tuple[Node, ...]) -> tuple[Node, ...]:
        """Return a list of nodes near another one."""
        result = list(nodes)
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            change = self.rng.choice((self.moved, self.moved, self.toggled, self.unrolled))
            change(result)
        for _ in range(self.rng.choice((1, 2, 4))):
            self.insert(result)
        return self.reduced(result)

    def moved(self, nodes: list[Node]) -> None:
        """Move a node to another place."""
        source = self.rng.randrange(1, len(nodes)) if len(nodes) > 1 else 0
        if source:
            node = nodes.pop(source)
            near = self.rng.random() < 0.6
            place = (
                source + self.rng.choice((-2, -1, 1, 2))
                if near
                else self.rng.randrange(1, len(nodes) + 1)
            )
            nodes.insert(min(max(place, 1), len(nodes)), node)

    def toggled(self, nodes: list[Node]) -> None:
        """Store a tensor in a memory, or not."""
        if len(self.machine.memories) == 1:
            return
        memory = self.rng.choice(self.machine.memories[1:])
        tensor = self.rng.choice(self.layer.tensors)
        node = Store(memory.name, (tensor.name,))
        if node in nodes:
            nodes.remove(node)
        elif memory.may_store(tensor.role):
            nodes.insert(self.rng.randrange(1, len(nodes) + 1), node)

    def unrolled(self, nodes: list[Node]) -> None:
        """Unroll another dimension on an axis, beside or in place of one."""
        if not self.machine.arrays:
            return
        array = self.rng.choice(self.machine.arrays)
        axis = self.rng.choice(list(array.axes))
        allowed = self.allowed(array, axis)
        own = [i for i, x in enumerate(nodes) if isinstance(x, Spatial) and x.array == array.name]
        if not allowed:
            return
        bounds = self.layer.bounds
        dimension = self.rng.choice(allowed)
        fresh = Spatial(dimension, bounds[dimension], axis, array.name)
        if own and self.rng.random() < 0.6:
            place = self.rng.choice(own)
            old = nodes[place]
            nodes[place] = fresh
            assert isinstance(old, Spatial)
            nodes.insert(1, For(old.dimension, old.tile))
        else:
            nodes.insert(
                self.rng.choice(own) if own else self.rng.randrange(1, len(nodes) + 1), fresh
            )

    def insert(self, nodes: list[Node]) -> None:
        """Insert a loop of one chunk, for others to leave something to."""
        if len(nodes) < MOST_LOOPS + 3 * len(self.machine.memories):
            dimension = self.rng.choice(self.layer.dimensions)
            place = self.rng.randrange(1, len(nodes) + 1)
            nodes.insert(place, For(dimension, self.layer.bounds[dimension]))


def retiled(node: For | Spatial, tile: int) -> For | Spatial:
    """Return a loop with another tile size."""
    if isinstance(node, For):
        return For(node.dimension, tile)
    return Spatial(node.dimension, tile, node.axis, node.array)


def with_tiles(nodes: Sequence[Node], tiles: Sequence[int]) -> tuple[Node, ...]:
    """Return nodes with these tile sizes."""
    left = iter(tiles)
    return tuple(node if isinstance(node, Store) else retiled(node, next(left)) for node in nodes)


def compact(nodes: Sequence[Node], layer: Layer) -> tuple[Node, ...]:
    """Return nodes without loops of one chunk."""
    left = dict(layer.bounds)
    result: list[Node] = []
    for node in nodes:
        if not isinstance(node, Store):
            if left[node.dimension] == node.tile:
                continue
            left[node.dimension] = node.tile
        result.append(node)
    return tuple(result)


def rival(
    layer: Layer,
    machine: Architecture,
    objective: str,
    seconds: float,
    tiles: str,
    *,
    enough: float = 0.0,
    seed: int = 0,
) -> Found:
    """Return the best mapping that random changes find in some seconds.

    Parameters
    ----------
    layer, machine
        What is computed, and on what.
    objective : str
        ``"energy"``, ``"latency"`` or ``"edp"``.
    seconds : float
        How long to search.
    tiles : str
        ``"divisors"``: tile sizes divide; ``"all"``: any.
    enough : float
        A value at which the search ends sooner.
    seed : int
        Of the random changes.
    """
    return Rival(layer, machine, objective, tiles, seed).search(seconds, enough)
