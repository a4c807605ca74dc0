"""Turns of branches: what is known of them, and the search of the one that matters most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tilewright.mapper.fused.search.branch import BranchPoint
from tilewright.mapper.fused.search.candidate import Candidate, Turns
from tilewright.mapper.fused.search.groups import group_below
from tilewright.mapper.fused.search.known import Kind, SolvedChunk
from tilewright.mapper.fused.space.around import Room
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.objective.tolerances import TIE
from tilewright.workload.layer import Layer

if TYPE_CHECKING:
    from tilewright.mapper.fused.search.segment_search import SegmentSearch


class TurnSearch:
    """The search of the turns of a segment's branches."""

    def __init__(self, search: SegmentSearch) -> None:
        self.search = search
        self.problem = search.problem
        self.chunks = search.chunks
        self.power = search.power
        self.additive = search.bounds.additive

    def turns(self, head: Candidate) -> list[list[Turns]]:
        """Return the turns of every branch of a candidate."""
        if head.windowed is not None:
            return self.search.windows.turns(head)
        return [[Turns(head.iterations, self.work(head, u))] for u in range(len(head.units))]

    def work(self, head: Candidate, u: int) -> Layer | SegmentProblem:
        """Return what a branch carries out in one turn without windows."""
        p, unit = self.problem, head.units[u]
        if len(unit) == 1:
            return p.chunk(unit[0], head.shape)
        return group_below(p, head, unit)

    def known(self, head: Candidate, u: int, turns: Turns) -> SolvedChunk:
        """Return what is known of a turn of a branch."""
        if isinstance(turns.work, SegmentProblem):
            return self.search.groups.known(turns.work).solved
        return self.chunks.solved(self.kind(head, u, turns.work))

    def kind(self, head: Candidate, u: int, layer: Layer) -> Kind:
        """Return what tells a turn of a layer from others."""
        (i,) = head.units[u]
        return self.chunks.kind(layer, head.fresh[i], head.sources[i], head.begun[i])

    def solve_turn(
        self,
        head: Candidate,
        u: int,
        turns: Turns,
        room: Room,
        stop: Callable[[], bool],
        below: float,
    ) -> BranchPoint:
        """Return the best mapping of a turn of a branch in some room, if it is below a value."""
        if isinstance(turns.work, SegmentProblem):
            return self.search.groups.known(turns.work).solve(room, stop, below)
        return self.chunks.solve(turns.work, self.kind(head, u, turns.work), room, stop, below)

    def total(self, own: Sequence[Turns], least: float, but: Turns | None = None) -> float:
        """Return what turns of one layer cost at least, or all but some of them.

        What those of different extents cost adds up for energy; otherwise nothing is undercut that
        any of them cost alone.
        """
        parts = [turns.least * turns.times**self.power for turns in own if turns is not but]
        whole = sum(parts) if self.additive or len(own) == 1 else max(parts, default=0.0)
        if but is not None:
            return whole if self.additive else 0.0
        return max(least, whole)

    def refine(self, head: Candidate, value: float, stop: Callable[[], bool]) -> None:
        """Raise the bound of a candidate: by what is known of its branches, or by solving one."""
        before = head.bound
        head.turns = head.turns or self.turns(head)
        open_ = [
            (u, turns, self.known(head, u, turns))
            for u, own in enumerate(head.turns)
            for turns in own
            if turns.point is None
        ]
        for u, turns, known in open_:
            turns.point = point = known.settled(head.rooms[u], roughly=self.chunks.roughly)
            turns.least = max(turns.least, point.bound if point else known.bound(head.rooms[u]))
        for u, own in enumerate(head.turns):
            head.bounds[u] = self.total(own, head.bounds[u])
        if head.bound > before * (1 + TIE):
            return
        for u, turns, known in sorted(open_, key=lambda each: -each[1].times):
            if turns.point is None:
                own = head.turns[u]
                rest = head.apart + sum(head.bounds) - head.bounds[u]
                rest += self.total(own, 0.0, but=turns)
                below = (value - rest) / turns.times**self.power
                room = head.rooms[u]
                many = len(head.units[u]) > 1 or bool(head.windowed or self.search.groups.relaxed)
                if many and not known.points:
                    # many candidates have this turn, each with another room: first without a limit
                    room = self.chunks.capacity
                point = self.solve_turn(head, u, turns, room, stop, below)
                if room != head.rooms[u]:
                    turns.point = known.settled(head.rooms[u], roughly=self.chunks.roughly)
                else:
                    turns.point = point
                turns.least = max(turns.least, point.bound)
                head.bounds[u] = self.total(own, head.bounds[u])
                return
