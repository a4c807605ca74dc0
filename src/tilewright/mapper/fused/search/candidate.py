"""A way to share loops, and what is known of the branches below."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from tilewright.mapper.fused.search.branch import BranchPoint
from tilewright.mapper.fused.search.known import Sources
from tilewright.mapper.fused.space.around import Begun, Room
from tilewright.mapper.fused.space.groups import Grouping, Unit
from tilewright.mapper.fused.space.holding import Holding
from tilewright.mapper.fused.space.segment_problem import SegmentProblem, Shape
from tilewright.mapper.fused.space.windows import Extents, Windowing
from tilewright.workload.layer import Layer


@dataclass
class Turns:
    """The turns of a branch that have the same extents.

    Attributes
    ----------
    times : int
        How many there are.
    work : Layer or SegmentProblem
        With the bounds of one of them; of a group, its space below the shared loops.
    extents : tuple of (str, int)
        Of the dimensions with windows.
    least : float
        What one costs at least.
    point : BranchPoint or None
        Its best mapping, where it is known.
    """

    times: int
    work: Layer | SegmentProblem
    extents: Extents = ()
    least: float = 0.0
    point: BranchPoint | None = None


@dataclass(frozen=True)
class Windowed:
    """Loops with windows: what they are, and which is outermost."""

    windowing: Windowing
    order: tuple[int, ...]


@dataclass
class Candidate:
    """Shared loops with what they hold, and what is known of the branches below.

    Attributes
    ----------
    holding : Holding
    places : dict of int to int
        Memory of each intermediate tile.
    shape : tuple of int
        Extents of the shared dimensions in one iteration.
    iterations : int
    units : tuple of tuple of int
        Positions of the layers of each branch: several, where a group of them shares more loops.
    sources : tuple
        Where the tensors of each layer come from.
    fresh : tuple of float
        Of each layer, see `BranchSearch`.
    begun : tuple
        What moves on behalf of a chunk of each layer outside of it.
    rooms : tuple
        Bits that are left to each branch.
    apart : float
        What is minimised of held tiles, where that is not part of the branches.
    bounds : list of float
        What each branch costs at least over all iterations.
    floor : float
        What the whole costs at least.
    windowed : Windowed or None
        What loops with windows do, if there are any.
    turns : list of list of Turns
        Of each branch its turns of different extents; found when they are needed.
    groupings : tuple of Grouping
        Not empty: it bounds all candidates with these groups, and is none itself.
    """

    holding: Holding
    places: dict[int, int]
    shape: Shape
    iterations: int
    units: tuple[Unit, ...]
    sources: tuple[Sources, ...]
    fresh: tuple[float, ...]
    begun: tuple[Begun, ...]
    rooms: tuple[Room, ...]
    apart: float
    bounds: list[float]
    floor: float = 0.0
    windowed: Windowed | None = None
    turns: list[list[Turns]] = field(default_factory=list)
    groupings: tuple[Grouping, ...] = ()

    @property
    def bound(self) -> float:
        """What the candidate costs at least."""
        return max(self.floor, self.apart + sum(self.bounds))

    @property
    def solved(self) -> bool:
        """Whether all branches have been searched."""
        return bool(self.turns) and all(
            turns.point is not None for own in self.turns for turns in own
        )

    @property
    def mapped(self) -> bool:
        """Whether all of them have a mapping."""
        return self.solved and all(
            turns.point is not None and turns.point.found for own in self.turns for turns in own
        )

    def value(self, power: float) -> float:
        """Return what it costs with the mappings that are known; infinite where one is not.

        What turns of different extents cost adds up for energy only.
        """
        values = (
            inf if turns.point is None else turns.point.value * turns.times**power
            for own in self.turns
            for turns in own
        )
        return self.apart + sum(values)
