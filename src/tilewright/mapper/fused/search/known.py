"""What is known of chunks and of groups of layers: points for some rooms, and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from tilewright.mapper.fused.search.branch import BranchPoint
from tilewright.mapper.fused.space.around import Begun, Room
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.objective.objective import Objective
from tilewright.workload.layer import Layer

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
class SolvedChunk:
    """What is known of a chunk with given sources: points for some rooms, and bounds.

    Attributes
    ----------
    points : list of BranchPoint
    least : float
        What it costs at least in any room.
    raised : float
        A value below which `least` was looked for.
    """

    points: list[BranchPoint]
    least: float = 0.0
    raised: float = -inf

    def settled(self, room: Room, *, roughly: bool) -> BranchPoint | None:
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

    def copy(self) -> SolvedChunk:
        """Return the same, for more to be added."""
        return SolvedChunk(list(self.points), self.least, self.raised)

    def add(self, found: SolvedChunk) -> None:
        """Add what has been found."""
        self.points += found.points
        self.least, self.raised = max(self.least, found.least), max(self.raised, found.raised)

    def bound(self, room: Room) -> float:
        """Return what no mapping in some room undercuts."""
        return max((self.least, *(p.bound for p in self.points if within(room, p.room))))


def within(first: Room, second: Room) -> bool:
    """Whether one room is nowhere larger than another."""
    return all(a <= b for a, b in zip(first, second, strict=True))


@dataclass(frozen=True)
class KnownChunks:
    """What is known of chunks and of groups of layers.

    Attributes
    ----------
    chunks : dict
        By their `Kind`.
    groups : dict
        By what tells groups apart, see `groups.group_of`.
    """

    chunks: dict[Kind, SolvedChunk] = field(default_factory=dict)
    groups: dict[Any, SolvedChunk] = field(default_factory=dict)

    def copy(self) -> KnownChunks:
        """Return the same, for more to be added."""
        return KnownChunks(
            {kind: solved.copy() for kind, solved in self.chunks.items()},
            {key: solved.copy() for key, solved in self.groups.items()},
        )

    def beyond(self, earlier: KnownChunks) -> KnownChunks:
        """Return what is not known from earlier."""
        return KnownChunks(
            newer(self.chunks, earlier.chunks),
            newer(self.groups, earlier.groups),
        )


def newer(own: dict[Any, SolvedChunk], earlier: dict[Any, SolvedChunk]) -> dict[Any, SolvedChunk]:
    """Return what is known of chunks or groups but not from earlier."""
    found = {}
    for key, solved in own.items():
        before = earlier.get(key, SolvedChunk([]))
        points = solved.points[len(before.points) :]
        if points or solved.raised > before.raised:
            found[key] = SolvedChunk(points, solved.least, solved.raised)
    return found


class KnownOfLayers:
    """What is known of chunks of some layers, and of groups of these.

    Parameters
    ----------
    layers : sequence of Layer
        Chunks of other layers are of no use.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.whole = list(dict.fromkeys(map(likeness, layers)))
        self.chunks: list[dict[Kind, SolvedChunk]] = [{} for _ in self.whole]
        self.groups: dict[Any, tuple[list[set[int]], SolvedChunk]] = {}

    def about(self, layers: Sequence[Layer]) -> KnownChunks:
        """Return a copy of what is known of chunks of some layers, and of groups of these."""
        own = {self.whole.index(likeness(layer)) for layer in layers}
        return KnownChunks(
            {kind: solved.copy() for w in sorted(own) for kind, solved in self.chunks[w].items()},
            {
                key: solved.copy()
                for key, (wholes, solved) in self.groups.items()
                if all(each & own for each in wholes)
            },
        )

    def add(self, found: KnownChunks) -> None:
        """Add what has been found."""
        for kind, solved in found.chunks.items():
            for w in self.of(kind.layer):
                self.chunks[w].setdefault(kind, SolvedChunk([])).add(solved)
        for key, solved in found.groups.items():
            (layers, *_), *_ = key
            if key not in self.groups:
                self.groups[key] = [self.of(layer) for layer in layers], SolvedChunk([])
            self.groups[key][1].add(solved)

    def of(self, chunk: Any) -> set[int]:
        """Return the layers that a chunk may be one of, by its `likeness`."""
        return {w for w, whole in enumerate(self.whole) if is_part(chunk, whole)}


def is_part(chunk: Any, whole: Any) -> bool:
    """Whether something may be a chunk of a layer, by the `likeness` of both."""
    return (
        len(chunk[0]) == len(whole[0])
        and all(
            name == other and bound % extent == 0
            for (name, extent), (other, bound) in zip(chunk[0], whole[0], strict=True)
        )
        and chunk[1:] == whole[1:]
    )
