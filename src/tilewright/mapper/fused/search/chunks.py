"""Branches of a segment: what their chunks cost, solved once for all rooms that have one answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, prod
from typing import TYPE_CHECKING

from tilewright.architecture.machine import Architecture
from tilewright.mapper.fused.search.branch import BranchPoint, BranchSearch
from tilewright.mapper.fused.search.known import Kind, KnownChunks, SolvedChunk, Sources
from tilewright.mapper.fused.space.around import NOTHING_BEGUN, Begun, Room
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.lattice import divisor_count
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.fused.search.groups import SolvedGroup


MOST_SHAPES = 1 << 22  # of all searches that are kept: tables take some hundred bytes for each


class Chunks:
    """Searches of chunks on one machine, with all that they have found.

    Parameters
    ----------
    known : KnownChunks, optional
        What is known already; what is found is added.
    searches : dict, optional
        Searches on this machine for this objective, from before; new ones are added.

    Attributes
    ----------
    searches : int
        How many were started.
    long : bool
        Whether the search of a chunk takes long: with several arrays. Then it is bounded first.
    tolerance : float
        By how much trees may be worse than the best ones, as a share of these.
    known : KnownChunks
        All that they have found.
    groups : dict
        The searches of groups of layers.
    """

    def __init__(
        self,
        architecture: Architecture,
        objective: Objective,
        known: KnownChunks | None = None,
        searches: dict[object, BranchSearch] | None = None,
    ) -> None:
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
        self.long = len(architecture.arrays) > 1
        self.tolerance = 0.0
        self.groups: dict[object, SolvedGroup] = {}
        self.known = KnownChunks() if known is None else known
        self._searches = {} if searches is None else searches

    @property
    def roughly(self) -> bool:
        """Whether chunks are only annealed: where their search takes longer."""
        return self.long and self.tolerance > 0.0

    def solved(self, kind: Kind) -> SolvedChunk:
        """Return what is known of a chunk."""
        return self.known.chunks.setdefault(kind, SolvedChunk([]))

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
    ) -> BranchPoint:
        """Return the best mapping of a chunk in some room, if it is below a value."""
        known = self.solved(kind)
        point = known.settled(room, roughly=self.roughly)
        if point is not None:
            return point
        if stop():  # to begin a search takes some time
            return BranchPoint(inf, known.bound(room), room, (0.0,) * len(room), None)
        if self.long:
            least = self.least(layer, kind, below)
            if least >= below:
                return BranchPoint(inf, least, room, (0.0,) * len(room), None)
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
        found = self._searches.pop(key, None)
        if found is None:
            machine = self.onchip if kind.free else self.architecture
            found = BranchSearch(layer, machine, kind.goal, kind.fresh)
            room = MOST_SHAPES - shapes_of(found) - sum(map(shapes_of, self._searches.values()))
            while room < 0 and self._searches:
                first = next(iter(self._searches))
                room += shapes_of(self._searches.pop(first))
        self._searches[key] = found  # the last one in the order of use
        return found


def shapes_of(search: BranchSearch) -> int:
    """Return how many tile shapes the layer of a search has."""
    return prod(map(divisor_count, search.layer.bounds.values()))
