"""The search of groups of layers below shared loops: that of a segment, one level further down."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

from tilewright.mapper.fused.search.branch import BranchPoint
from tilewright.mapper.fused.search.candidate import Candidate
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.known import SolvedChunk
from tilewright.mapper.fused.space.around import Room
from tilewright.mapper.fused.space.groups import Unit, problem_of
from tilewright.mapper.fused.space.segment_problem import SegmentProblem, alike

if TYPE_CHECKING:
    from tilewright.mapper.fused.search.segment_search import SegmentSearch


class SolvedGroup:
    """A group below shared loops: the search of it, and what that has found for some rooms.

    A group begins each turn with nothing in memories of its own, as a layer does. So its best
    mapping is the best fused mapping of its layers with the bounds of a turn, in the room that is
    left, and groups that are alike below other loops have the same one.
    """

    def __init__(self, search: SegmentSearch, solved: SolvedChunk) -> None:
        self.search = search
        self.solved = solved

    def solve(self, room: Room, stop: Callable[[], bool], below: float) -> BranchPoint:
        """Return the best mapping in some room, if it is below a value."""
        search = self.search
        search.room = room
        best = search.solve(below, stop)
        if best.candidate is None:
            point = BranchPoint(inf, best.bound, room, (0.0,) * len(room), None)
        else:
            used = used_bits(search, best.candidate)
            point = BranchPoint(best.value, best.bound, room, used, None, best.candidate)
        self.solved.points.append(point)
        return point


def group_below(problem: SegmentProblem, head: Candidate, unit: Unit) -> SegmentProblem:
    """Return what a group of a candidate carries out in one turn.

    The candidate may be that of a segment that is alike, whose layers have other names.
    """
    sources = {
        problem.tiles[problem.tile_at[i, t]].name: source
        for i in unit
        for t, source in enumerate(head.sources[i])
        if source > 0
    }
    return problem_of(
        problem, unit, head.shape, tuple(sources.items()),
        tuple(head.fresh[i] for i in unit), tuple(head.begun[i] for i in unit),
    )  # fmt: skip


def used_bits(search: SegmentSearch, found: Candidate) -> Room:
    """Return what a mapping of a segment takes of each memory above the arrays."""
    need = search.reserved(found.places, found.shape, found.units)
    taken = [
        tuple(a + b + c for a, b, c in zip(found.holding.bits, bits, turns.point.used, strict=True))
        for bits, own in zip(need, found.turns, strict=True)
        for turns in own
        if turns.point is not None
    ]
    return tuple(max(bits) for bits in zip(*taken, strict=True))


def group_of(
    chunks: Chunks, problem: SegmentProblem, make: Callable[[], SegmentSearch]
) -> SolvedGroup:
    """Return what is known of a group; `make` begins its search."""
    around = problem.around
    assert around is not None
    key = (
        alike(problem.segment),
        tuple(tile.source for tile in problem.tiles),
        around.fresh,
        around.begun,
    )
    if key not in chunks.groups:
        chunks.groups[key] = SolvedGroup(
            make(), chunks.known.groups.setdefault(key, SolvedChunk([]))
        )
    return chunks.groups[key]
