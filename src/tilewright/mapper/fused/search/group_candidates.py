"""Candidates in which groups of layers share more loops below those of the segment.

Most of them are never looked at: branches in which exchanged tiles take no room cost no more than
any groups below the same loops, so one candidate with such branches bounds all of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.fused.search.candidate import Candidate
from tilewright.mapper.fused.search.groups import SolvedGroup, group_of
from tilewright.mapper.fused.space.groups import Unit, groupings
from tilewright.mapper.fused.space.segment_problem import SegmentProblem

if TYPE_CHECKING:
    from tilewright.mapper.fused.search.segment_search import SegmentSearch


class GroupCandidates:
    """Candidates with groups, of one segment.

    Attributes
    ----------
    relaxed : tuple of Grouping
        Those that branches without groups bound.
    holding : tuple of Grouping
        Those in which a group may hold a tensor for several of its layers.
    """

    def __init__(self, search: SegmentSearch) -> None:
        self.search = search
        every = list(groupings(search.problem))
        self.holding = tuple(own for own in every if self.hold(own.units))
        self.relaxed = tuple(own for own in every if own not in self.holding)
        self.before: set[object] = set()

    def below(self, most: float, stop: Callable[[], bool]) -> Iterator[Candidate]:
        """Yield what may cost less than some value."""
        search = self.search
        self.before.clear()
        if self.relaxed:
            roomy = replace(search.flat, crowded=False)
            for places in search.problem.places():
                for own in search.candidates_below(places, most, stop, False, roomy):
                    yield replace(own, groupings=self.relaxed)
        for grouping in self.holding:
            for places in search.problem.places(grouping.private):
                yield from search.candidates_below(places, most, stop, False, grouping)

    def candidates(self, head: Candidate) -> Iterator[Candidate]:
        """Yield candidates with groups, given one in whose bounds exchanged tiles take no room.

        A layer of a group costs at least what it costs without: its branch may have the loops of
        the group and hold what these hold, and moves the same words or fewer. That is so unless the
        group holds a tensor for several of its layers.
        """
        search = self.search
        held = {h.tile: h.memory for h in head.holding.held}
        for grouping in head.groupings:
            places = {t: m for t, m in head.places.items() if t not in grouping.private}
            key = head.holding.held, head.shape, tuple(places.items()), grouping
            if key in self.before:
                continue  # with a lower bound
            self.before.add(key)
            need = np.array(search.reserved(places, head.shape, grouping.units))
            rooms = np.array(search.room) - np.array(head.holding.bits) - need
            if (rooms < 0).any():
                continue
            search.candidates += 1
            yield replace(
                head,
                places=places,
                units=grouping.units,
                sources=search.sources({**places, **held}, grouping.private),
                rooms=tuple(tuple(row) for row in rooms.tolist()),
                bounds=[sum(head.bounds[i] for i in unit) for unit in grouping.units],
                turns=[],
                groupings=(),
            )

    def hold(self, units: Sequence[Unit]) -> bool:
        """Whether a group may hold a tensor for several of its layers that read it."""
        p = self.search.problem
        # exchanged tiles are in a memory already: a group would need another one further inward
        places = [min(t.memories, default=0) if t.intermediate else t.source for t in p.tiles]
        readers = [
            {i for i, _ in tile.uses[tile.made :]}
            for tile, place in zip(p.tiles, places, strict=True)
            if any(p.further(use, place) for use in tile.uses[tile.made :])
        ]
        return any(len(own & set(unit)) > 1 for own in readers for unit in units)

    def known(self, problem: SegmentProblem) -> SolvedGroup:
        """Return what is known of a group."""
        search = self.search
        return group_of(search.chunks, problem, lambda: type(search)(problem, search.chunks))
