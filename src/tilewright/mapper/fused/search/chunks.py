"""Branches of a segment: what their chunks cost, solved once for all rooms that have one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from tilewright.architecture.machine import Architecture
from tilewright.mapper.fused.search.branch import BranchSearch, Point
from tilewright.mapper.fused.space.around import NOTHING_BEGUN, Begun, Room
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.objective.objective import Objective
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.fused.search.groups import Group

Sources = tuple[int, ...]


class Kind(NamedTuple):
    """What tells chunks apart: layers that are alike, where tensors come from, what is minimised.

    Attributes
    ----------
    layer : object
        The `likeness` of the layer with the bounds of the chunk.
    fresh : float
        See `BranchSearch`.
    sources : tuple of int
    begun : (float, tuple of float)
    goal : Objective
    free : bool
        Whether the outermost memory costs no energy.
    """

    layer: object
    fresh: float
    sources: Sources
    begun: Begun
    goal: Objective
    free: bool


@dataclass
class Solved:
    """What is known of a chunk with given sources: points for some rooms, and bounds.

    Attributes
    ----------
    points : list of Point
    least : float
        What it costs at least in any room.
    raised : float
        A value below which `least` was looked for.
    """

    points: list[Point]
    least: float = 0.0
    raised: float = -inf

    def settled(self, room: Room, *, roughly: bool) -> Point | None:
        """Return the best mapping in some room, or the best that is known, if there is one."""
        best = None
        for point in self.points:
            fits = within(point.used, room) and within(room, point.room)
            if not point.found or not fits:
                continue
            if point.bound >= point.value:
                return point
            if roughly and (best is None or point.value < best.value):
                best = point
        return best

    def bound(self, room: Room) -> float:
        """Return what no mapping in some room undercuts."""
        return max((self.least, *(p.bound for p in self.points if within(room, p.room))))


def within(first: Room, second: Room) -> bool:
    """Whether one room is nowhere larger than another."""
    return all(a <= b for a, b in zip(first, second, strict=True))


class Chunks:
    """Searches of chunks on one machine, with all that they have found.

    Attributes
    ----------
    searches : int
        How many were started.
    bounds_first : bool
        Whether chunks are bounded before they are searched: where searches take long.
    tolerance : float
        By how much mappings may be worse than the best ones, as a share of these. If at all, those
        of chunks are only annealed.
    groups : dict
        What is known of groups of layers.
    """

    def __init__(self, architecture: Architecture, objective: Objective) -> None:
        self.architecture = architecture
        self.objective = objective
        outermost = architecture.memories[0]
        free = replace(outermost, read_energy=0.0, write_energy=0.0)
        self.onchip = replace(
            architecture,
            levels=tuple(free if level is outermost else level for level in architecture.levels),
        )
        self.capacity: Room = tuple(
            inf if m.capacity_bits is None else float(m.capacity_bits)
            for m in architecture.memories
        )
        self.searches = 0
        self.bounds_first = len(architecture.arrays) > 1
        self.tolerance = 0.0
        self.groups: dict[object, Group] = {}
        self._searches: dict[object, BranchSearch] = {}
        self._solved: dict[object, Solved] = {}

    @property
    def roughly(self) -> bool:
        """Whether mappings of chunks need not be the best ones."""
        return self.tolerance > 0.0

    def solved(self, kind: Kind) -> Solved:
        """Return what is known of a chunk."""
        return self._solved.setdefault(kind, Solved([]))

    def kind(
        self,
        layer: Layer,
        fresh: float,
        sources: Sources,
        begun: Begun = NOTHING_BEGUN,
        goal: Objective | None = None,
        *,
        free: bool = False,
    ) -> Kind:
        """Return what tells chunks apart; with `free`, the outermost memory costs no energy."""
        return Kind(likeness(layer), fresh, sources, begun, goal or self.objective, free)

    def solve(
        self,
        layer: Layer,
        kind: Kind,
        room: Room,
        stop: Callable[[], bool],
        below: float = inf,
    ) -> Point:
        """Return the best mapping of a chunk in some room, if it is below a value."""
        known = self.solved(kind)
        point = known.settled(room, roughly=self.roughly)
        if point is not None:
            return point
        if self.bounds_first:
            least = self.least(layer, kind, below)
            if least >= below:
                return Point(inf, least, room, (0.0,) * len(room), None)
        self.searches += 1
        point = self.search(layer, kind).best_in(
            kind.sources, room, stop, below, kind.begun, roughly=self.roughly
        )
        known.points.append(point)
        return point

    def least(self, layer: Layer, kind: Kind, below: float = inf) -> float:
        """Return what a chunk costs at least in any room, without a search; up to a value."""
        known = self.solved(kind)
        if known.least < below and known.raised < below:
            known.least = self.search(layer, kind).bound_of(kind.sources, below)
            known.raised = below
        return known.least

    def search(self, layer: Layer, kind: Kind) -> BranchSearch:
        """Return the search of a chunk."""
        key = kind.layer, kind.fresh, kind.goal, kind.free
        if key not in self._searches:
            machine = self.onchip if kind.free else self.architecture
            self._searches[key] = BranchSearch(layer, machine, kind.goal, kind.fresh)
        return self._searches[key]
