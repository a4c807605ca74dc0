"""Decoupled search, as MARVEL does it: the off-chip tile first, then the mapping of that tile.

P. Chatarasi et al., "MARVEL", section 3: the tile of the outer memory with the least data-movement
cost is chosen first, with the order of the loops over tiles. Then all mappings of that tile are
tried: spatial factors, tiles of the inner memory and orders of the loops in between. Both steps are
exact; what they find together need not be the best mapping.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter

import numpy as np

from tilewright.architecture.machine import Architecture, Array, Memory
from tilewright.errors import InputError, NoMappingError
from tilewright.interop.dmazerunner.orderings import (
    covering_orderings,
    reuse_and_slide,
    useful_orderings,
)
from tilewright.interop.dmazerunner.space import Pruning, Space, stored
from tilewright.kernels.types import Bools, Ints
from tilewright.layout.choose import Choice, reordered, tiles_of
from tilewright.layout.dmc import Cost
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model.evaluate import evaluate
from tilewright.model.results.result import Evaluation
from tilewright.strategies.candidates.even import Nest
from tilewright.strategies.steps import Problem, Step, tried
from tilewright.workload.layer import Layer, Tensor, Term

BLOCK_BYTES = 64  # where the machine names none: MARVEL, Table 1
MOST_ROWS = 1 << 15  # tilings that are evaluated together
SWAPS = {"P": "Q", "Q": "P", "R": "S", "S": "R"}


@dataclass(frozen=True)
class Decoupling:
    """What a decoupled search found.

    Attributes
    ----------
    choice : Choice
        The off-chip tile, with the layouts and the order of the loops over tiles.
    evaluation : Evaluation
        The whole mapping and what it costs.
    value : float
        Its objective.
    evaluated : int
        Mappings of the tile that were tried.
    seconds : float
        Time of both steps.
    """

    choice: Choice
    evaluation: Evaluation
    value: float
    evaluated: int
    seconds: float


@dataclass(frozen=True)
class Decoupled:
    """Off-chip tile of least data-movement cost, then the best mapping of that tile.

    Attributes
    ----------
    integers : int
        1: off-chip tiles of any size, short last ones included; 0: tiles that divide evenly.
    unrolled : int
        1: no loops over filters (R and S) outside the array; 0: any.
    batch : int
        Most images (N) in an off-chip tile; 0: any number.
    utilization : float
        Least share of the array that is used, 0 to 1.
    symmetry : int
        1: of mappings that differ by height and width changing places, where a tile is square and
        both cost the same, one is tried; 0: both.
    exact : int
        1: the loops over tiles in the order that moves the fewest blocks, counted exactly; 0: in
        MARVEL's order, by partial derivatives of the cost.
    """

    integers: int = 0
    unrolled: int = 0
    batch: int = 0
    utilization: float = 0.0
    symmetry: int = 1
    exact: int = 0

    def check(self, problem: Problem) -> None:
        """Refuse machines but those of two memories, an array and a third memory."""
        machine = problem.architecture
        kinds = [type(level) for level in machine.levels[:-1]]
        if kinds != [Memory, Memory, Array, Memory]:
            chain = " > ".join(level.name for level in machine.levels)
            raise InputError(
                "decoupled covers machines of two memories, an array and a third memory above "
                f"the compute unit; '{machine.name}' is {chain}",
                key="strategy",
            )
        tile = machine.memories[1]
        for tensor in problem.layer.tensors:
            if not tile.may_store(tensor.role):
                raise InputError(
                    f"decoupled keeps a tile of every tensor in '{tile.name}', which may not store "
                    f"{tensor.name}",
                    key="strategy",
                )
        for statement in machine.statements:
            if statement.keys != ("dims",):
                raise InputError(
                    "decoupled covers constraints on what an array unrolls, not that "
                    f"{statement.words()}",
                    key="strategy",
                )
        if not 0 <= self.utilization <= 1:
            raise InputError(
                f"utilization must be from 0 to 1, found {self.utilization:g}", key="strategy"
            )

    def steps(self, problem: Problem, seed: int) -> Iterator[Step]:
        """Yield a step for each order of loops and some thousand tilings; no seed matters."""
        self.check(problem)
        yield from self.onchip(problem, self.offchip(problem.layer, problem.architecture))

    def search(self, problem: Problem, choice: Choice | None = None) -> Decoupling:
        """Search both steps.

        Parameters
        ----------
        problem : Problem
            What is mapped onto what.
        choice : Choice, optional
            The result of the first step, where it is known.

        Raises
        ------
        NoMappingError
            When no tile fits, or no mapping of the tile does.
        """
        self.check(problem)
        start = perf_counter()
        if choice is None:
            choice = self.offchip(problem.layer, problem.architecture)
        best, evaluated = Step(), 0
        for step in self.onchip(problem, choice):
            evaluated += step.evaluated
            if step.value < best.value:
                best = step
        if best.mapping is None:
            raise NoMappingError(
                f"no mapping of the off-chip tile of layer '{problem.layer.name}' fits "
                f"'{problem.architecture.name}'"
            )
        return Decoupling(
            choice,
            evaluate(problem.layer, problem.architecture, best.mapping),
            best.value,
            evaluated,
            perf_counter() - start,
        )

    def offchip(self, layer: Layer, architecture: Architecture) -> Choice:
        """Return the off-chip tile."""
        outer = architecture.memories[0]
        if outer.block_bytes is None:
            outer = replace(outer, block_bytes=BLOCK_BYTES)
        machine = replace(architecture, levels=(outer, *architecture.levels[1:]))
        whole = [d for d in ("R", "S") if self.unrolled and d in layer.dimensions]
        tiles = tiles_of(
            Cost(layer, machine),
            integers=bool(self.integers),
            whole=whole,
            most={"N": self.batch or inf},
        )
        return reordered(tiles.best()) if self.exact else tiles.best()

    def onchip(self, problem: Problem, choice: Choice) -> Iterator[Step]:
        """Yield a step for each order of the loops over what the array works on at a time.

        Orders are tried that differ in the loops over which a tile stays or along which it slides.
        """
        tile = replace(problem.layer, bounds=choice.tile)
        nest = Nest(tile, problem.architecture)
        names = nest.tiles.dimensions
        bounds = nest.shapes[nest.tiles.top]
        middle, spatial = self.tilings(nest)
        patterns, which = np.unique(bounds // middle > 1, axis=0, return_inverse=True)
        orderings = covering_orderings(tile, reuse_and_slide)
        wanted = np.zeros((len(patterns), len(orderings)), np.bool_)
        for k, pattern in enumerate(patterns):
            looping = frozenset(d for d, some in zip(names, pattern, strict=True) if some)
            useful = useful_orderings(tile, looping, False, reuse_and_slide)
            wanted[k, list(useful)] = True
        tries: Bools = wanted[which.reshape(-1)]
        for i, ordering in enumerate(orderings):
            rows = np.flatnonzero(tries[:, i])
            for part in np.split(rows, range(MOST_ROWS, len(rows), MOST_ROWS)):
                if len(part):
                    yield self.tried(problem, choice, nest, ordering, middle[part], spatial[part])

    def tilings(self, nest: Nest) -> tuple[Ints, Ints]:
        """Return what the array works on at a time, and the spatial choice that divides it."""
        tiles, shapes = nest.tiles, nest.shapes
        bounds = shapes[tiles.top]
        local = nest.architecture.memories[2]
        _, fits = Space(nest.layer, nest.architecture, Pruning(opt=())).occupied(local)
        inner = shapes[fits]
        swap = symmetric(nest.layer) if self.symmetry else None
        filters = [i for i, d in enumerate(tiles.dimensions) if d in ("R", "S")]
        middles, spatial = [], []
        for choice, factors in enumerate(nest.spatial_factors):
            if factors.prod() < self.utilization * nest.array.elements:
                continue
            middle = inner * factors
            kept = (bounds % middle == 0).all(axis=1)
            if self.unrolled:
                kept &= (middle[:, filters] == bounds[filters]).all(axis=1)
            if swap is not None:
                p, q = (tiles.dimensions.index(d) for d in swap)
                kept &= (middle[:, p] > middle[:, q]) | (
                    (middle[:, p] == middle[:, q]) & (factors[p] >= factors[q])
                )
            middles.append(middle[kept])
            spatial.append(np.full(int(kept.sum()), choice))
        if not middles:
            return np.empty((0, len(bounds)), np.int64), np.empty(0, np.int64)
        return np.concatenate(middles), np.concatenate(spatial)

    def tried(
        self,
        problem: Problem,
        choice: Choice,
        nest: Nest,
        ordering: tuple[str, ...],
        middle: Ints,
        spatial: Ints,
    ) -> Step:
        """Evaluate mappings of the tile that have one order of loops."""
        position = {d: i for i, d in enumerate(nest.tiles.dimensions)}
        columns = [np.full(len(middle), choice.tile[d]) for d in choice.order]
        columns += [middle[:, position[d]] for d in ordering]
        nodes: list[Node] = [*choice.mapping.nodes, *(For(d, 1) for d in ordering)]
        extents, chunks = middle.copy(), nest.spatial_chunks[spatial]
        for i, (axis, d) in enumerate(nest.spatial_loops):
            extents[:, position[d]] //= chunks[:, i]
            columns.append(extents[:, position[d]].copy())
            nodes.append(Spatial(d, 1, axis, nest.array.name))
        local = nest.architecture.memories[2]
        held = tuple(tensor.name for tensor in stored(local, nest.layer))
        if held:
            nodes.append(Store(local.name, held))
        return tried(problem, Mapping(tuple(nodes)), np.stack(columns, axis=1))


def symmetric(layer: Layer) -> tuple[str, str] | None:
    """Return height and width where they may change places without a change of the layer."""
    if layer.bounds.get("P", 1) == 1 or layer.bounds.get("Q", 1) == 1:
        return None
    if any(layer.bounds[d] != layer.bounds.get(e) for d, e in SWAPS.items() if d in layer.bounds):
        return None

    def axes(tensor: Tensor, names: dict[str, str]) -> set[frozenset[Term]]:
        return {
            frozenset(Term(t.coefficient, names.get(t.dimension, t.dimension)) for t in terms)
            for terms in tensor.expressions
        }

    same = all(axes(tensor, SWAPS) == axes(tensor, {}) for tensor in layer.tensors)
    return ("P", "Q") if same else None
