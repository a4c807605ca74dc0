"""One branch below shared loops: the search of a layer, some of whose tensors are on chip.

In every iteration of the shared loops a branch works on a *chunk* of its layer, and begins with
empty memories of its own. That is the search of a layer with the bounds of the chunk, but for three
things: a tensor that a memory holds already is taken from there, not from the outermost memory;
what shared tiles take of a memory is not free; and an output that shared loops return to finds
partial sums where it left them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.kernel import interruptible
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.bounds.combinations import combinations
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.bounds.spatial_choices import SpatialBounds
from tilewright.mapper.canonical.polish import occupied
from tilewright.mapper.fused.space.around import NOTHING_BEGUN, Begun, Room
from tilewright.mapper.heuristics.annealing import Annealing
from tilewright.mapper.label import labels
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice, worth_walking
from tilewright.mapper.search.best_first import explore
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.fused.search.candidate import Candidate

WALKS, STEPS = 16, 1000  # of annealing, where there are several arrays


@dataclass(frozen=True)
class BranchPoint:
    """The best mapping of a chunk for some room, of one layer or of a group of them.

    Attributes
    ----------
    value : float
        Its objective; infinite without one.
    bound : float
        What no mapping of the room undercuts.
    room, used : tuple of float
        Bits of each memory that it was searched for, and that it takes: it is the best for all
        rooms between them.
    mapping : Mapping or None
        Of a layer, without the store nodes of where its tensors come from.
    group : Candidate or None
        Of a group of layers.
    """

    value: float
    bound: float
    room: Room
    used: Room
    mapping: Mapping | None
    group: Candidate | None = None

    @property
    def found(self) -> bool:
        """Whether there is a mapping."""
        return self.mapping is not None or self.group is not None


class BranchSearch(Search):
    """Search of a chunk of a layer, whose tensors come from given memories.

    Parameters
    ----------
    layer : Layer
        With the bounds of the chunk.
    fresh : float
        Which share of the output's words starts from zero, on the average of all chunks.
    """

    def __init__(
        self, layer: Layer, architecture: Architecture, objective: Objective, fresh: float
    ) -> None:
        self.fresh = fresh
        self.begun: Begun = NOTHING_BEGUN
        super().__init__(layer, architecture, str(objective))
        capacities = [m.capacity_bits for m in architecture.memories]
        self.capacity = np.array([inf if c is None else c for c in capacities], np.float64)
        self.left = self.capacity
        self.widest = self.spread_left

    def begin_anew(self) -> None:
        """Forget what has been found, and what combinations of spatial choices told."""
        super().begin_anew()
        self.spread_left = self.widest

    def roots(self, shapes: Ints, room: int = 0) -> tuple[Ints, Floats]:
        """Return tables of labels as for a whole layer, with fewer partial sums from zero."""
        it, fl = super().roots(shapes, room)
        first = fl[: len(shapes)]
        first[:, [labels.ZERO, labels.FIRST]] *= self.fresh
        energy, loads = self.begun
        first[:, labels.ENERGY] += energy
        for r, cycles in enumerate(loads):
            first[:, labels.LOADS + r] += cycles
        return it, fl

    def plan(self, keep: KeepChoice) -> Plan:
        """Return a bypass choice in the room that is left."""
        plan = super().plan(keep)
        plan.lk = plan.lk._replace(capacity=self.left)
        # the closed form takes all tensors from the outermost memory
        plan.weighed = True
        return plan

    def improve(self, keeps: list[KeepChoice], stop: Callable[[], bool]) -> None:
        """Take the best mapping that annealing finds as the best so far, if it is better."""
        top = np.array([len(self.space.repeats) - 1])
        it, fl = self.roots(top, 1)
        annealing = Annealing(
            self.layer, self.architecture, self.tiles, self.space, self.unrollings, self.goal,
            self.operations_energy(), keeps=keeps, first=(it[0], fl[0]), capacity=self.left,
        )  # fmt: skip
        for walk in annealing.rounds(WALKS, STEPS, stop):
            if labels.worse(walk.value, walk.tie, float(self.best[0]), float(self.best[1])):
                continue
            self.best = np.array([walk.value, walk.tie, inf, inf])
            self.found.mapping = annealing.mapping(walk)

    def combine(self, keeps: list[KeepChoice]) -> None:
        """Leave out combinations of spatial choices in which nothing is better than the best.

        Their bounds take as many partial sums from zero as a layer by itself has, at least as many
        as a chunk.
        """
        combined = combinations(self.space)
        if combined is not None:
            self.together = SpatialBounds(
                self.layer, self.architecture, self.space, self.operations_energy(), self.chains,
                combined,
            )  # fmt: skip
            self.together.reduce(keeps, self.goal, float(self.best[0]))

    def best_in(
        self,
        sources: tuple[int, ...],
        room: Room,
        stop: Callable[[], bool],
        below: float = inf,
        begun: Begun = NOTHING_BEGUN,
        *,
        roughly: bool = False,
        through: tuple[int, ...] = (),
    ) -> BranchPoint:
        """Return the best mapping in some room.

        Parameters
        ----------
        sources : tuple of int
            Positions of the memories that the tensors come from.
        room : tuple of float
            Bits that are left of each memory.
        below : float
            Mappings of this value and more are of no interest.
        begun : (float, tuple of float)
            What moves on behalf of the chunk outside of it; counted in what is returned.
        roughly : bool
            Whether to anneal for a mapping only, and to bound all of them without a search.
        through : tuple of int
            Positions of memories that the tensors have to be stored in; the outermost one asks for
            nothing.
        """
        self.begin_anew()
        self.begun = begun
        self.chains = {}
        self.left = np.array(room, np.float64)
        if not np.diff(self.space.unroll_start).all():
            return BranchPoint(inf, inf, room, room, None)
        if below < inf:
            self.best[:2] = below, -inf
        keeps = keeps_of(self.layer, self.architecture, sources)
        if through:
            keeps = [
                keep
                for keep in keeps
                if all(m == 0 or m in chain for m, chain in zip(through, keep, strict=True))
            ]

        with interruptible():
            if self.na > 1 or roughly:
                self.improve(keeps, stop)
                self.combine(keeps)
                bound, keeps = self.least_of(keeps)
            if roughly:
                return self.point(room, bound)
            plans = [self.plan(keep) for keep in keeps]
            _, queue = explore(self, stop, lambda best, bound: None, plans)
        # without a queue nothing is left, and the best is what is to be undercut or a mapping
        return self.point(room, self.found.bound if queue else float(self.best[0]))

    def bound_of(self, sources: tuple[int, ...], below: float) -> float:
        """Return what no mapping in any room undercuts, or a value if that is less.

        It takes a small part of the time of `best_in`.
        """
        self.begin_anew()
        self.chains = {}
        if not np.diff(self.space.unroll_start).all():
            return inf
        if below < inf:
            self.best[:2] = below, -inf
        keeps = keeps_of(self.layer, self.architecture, sources)
        self.combine(keeps)
        return self.least_of(keeps)[0]

    def least_of(self, keeps: list[KeepChoice]) -> tuple[float, list[KeepChoice]]:
        """Return what no mapping of some bypass choices undercuts, or the best value if less.

        And the bypass choices that may hold something better than that.
        """
        best = float(self.best[0])
        least, left = best, []
        for first in self.first(keeps):
            bound = float(labels.objective_value(self.goal, first.energy, first.cycles)[0])
            if self.together is not None and bound < best:
                bound = max(bound, self.together.value_of(first.keep, self.goal))
            least = min(least, bound)
            if bound <= best:
                left.append(first.keep)
        return least, left

    def point(self, room: Room, bound: float) -> BranchPoint:
        """Return what has been found in some room."""
        mapping, value = self.found.mapping, float(self.best[0])
        if mapping is None:
            return BranchPoint(inf, bound, room, (0.0,) * len(room), None)
        bits = occupied(mapping, self.layer, self.architecture)
        # the room of the outermost memory, and of those below an array, is always the same
        used = tuple(
            float(n) if m > 0 and self.of_memory[m] == 0 else 0.0 for m, n in enumerate(bits)
        )
        return BranchPoint(value, bound, room, used, mapping)


def keeps_of(
    layer: Layer, architecture: Architecture, sources: tuple[int, ...]
) -> list[KeepChoice]:
    """Return every way to store tensors in the memories inside of where they come from."""
    memories = architecture.memories
    per_tensor = []
    for tensor, source in zip(layer.tensors, sources, strict=True):
        options: list[tuple[bool, ...]] = []
        for memory in memories[source + 1 :]:
            stored = (True,) if memory.may_store(tensor.role) else ()
            bypassed = () if tensor.role in memory.must_keep else (False,)
            options.append((*stored, *bypassed))
        inside = range(source + 1, len(memories))
        per_tensor.append(
            [
                (source, *(m for m, kept in zip(inside, choice, strict=True) if kept))
                for choice in product(*options)
            ]
        )
    keeps = [k for k in product(*per_tensor) if worth_walking(layer, architecture, k)]
    return sorted(keeps, key=lambda k: (-sum(map(len, k)), k))
