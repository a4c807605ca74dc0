"""Groups of layers that share further loops below those of a segment: nested fuse nodes.

Layers that follow each other in a segment may be one branch of it. Below the shared loops of all
layers, a group is a segment of its own: its tensors come from what holds them above, and tensors
that only its layers use are held below loops of its own, in smaller tiles.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.mapper.fused.space.around import NOTHING_BEGUN, Around
from tilewright.mapper.fused.space.segment_problem import SegmentProblem, Shape
from tilewright.mapping.fused.connections.segments import Segment, SharedTensor

Unit = tuple[int, ...]
"""Positions of the layers of a branch."""

PRIVATE = -1
"""In the place of a memory: a group holds the tensor below its own loops."""


@dataclass(frozen=True)
class Grouping:
    """The branches of a segment, some of which are groups.

    Attributes
    ----------
    units : tuple of tuple of int
        Positions of the layers of each branch.
    private : frozenset of int
        Positions of the tiles that only layers of one group use.
    crowded : bool
        False: exchanged tiles take no room, as if some group held them in tiles as small as needed.
    """

    units: tuple[Unit, ...]
    private: frozenset[int] = frozenset()
    crowded: bool = True


def flat(problem: SegmentProblem) -> Grouping:
    """Return the branches of a segment without groups."""
    return Grouping(tuple((i,) for i in range(len(problem.layers))))


def groupings(problem: SegmentProblem) -> Iterator[Grouping]:
    """Yield the ways to make groups of layers that follow each other, those with fewer first."""
    count = len(problem.layers)
    known: dict[Unit, bool] = {}

    def may_group(unit: Unit) -> bool:
        if unit not in known:
            known[unit] = len(unit) == 1 or shares_loops(problem, unit)
        return known[unit]

    found = []
    for cuts in itertools.product((True, False), repeat=count - 1):
        if all(cuts) or not any(cuts):
            continue
        ends = [i + 1 for i, cut in enumerate(cuts) if cut]
        units = tuple(
            tuple(range(first, end)) for first, end in zip([0, *ends], [*ends, count], strict=True)
        )
        if all(may_group(unit) for unit in units):
            found.append(Grouping(units, frozenset(private_tiles(problem, units))))
    yield from sorted(found, key=lambda own: -len(own.units))


def private_tiles(problem: SegmentProblem, units: Sequence[Unit]) -> Iterator[int]:
    """Yield the intermediate tiles that only layers of one group use."""
    unit_of = {i: unit for unit in units for i in unit}
    for t in problem.intermediates:
        if len({unit_of[i] for i, _ in problem.tiles[t].uses}) == 1:
            yield t


def shares_loops(problem: SegmentProblem, unit: Unit) -> bool:
    """Whether layers are connected by tensors that only they use, and can share loops."""
    inside = set(private_tiles(problem, [unit, *others(problem, unit)]))
    reached, todo = {unit[0]}, [unit[0]]
    while todo:
        i = todo.pop()
        for t in inside:
            users = {own for own, _ in problem.tiles[t].uses}
            if i in users:
                todo += sorted(users - reached)
                reached |= users
    if reached != set(unit):
        return False
    group = problem_of(
        problem, unit, problem.bounds, (), (1.0,) * len(unit), (NOTHING_BEGUN,) * len(unit)
    )
    return bool(group.shared) and group.possible


def others(problem: SegmentProblem, unit: Unit) -> list[Unit]:
    """Return all layers outside of a group, each by itself."""
    return [(i,) for i in range(len(problem.layers)) if i not in unit]


def problem_of(
    problem: SegmentProblem,
    unit: Unit,
    shape: Shape,
    sources: tuple[tuple[str, int], ...],
    fresh: tuple[float, ...],
    begun: tuple[tuple[float, tuple[float, ...]], ...],
) -> SegmentProblem:
    """Return the space of a group below shared loops.

    Parameters
    ----------
    shape : tuple of int
        Extents of the shared dimensions below these loops.
    sources, fresh, begun
        See `Around`.
    """
    segment = segment_of_group(problem, unit, shape)
    return SegmentProblem(segment, problem.architecture, Around(sources, fresh, begun))


def segment_of_group(problem: SegmentProblem, unit: Unit, shape: Shape) -> Segment:
    """Return what the layers of a group compute in one iteration of shared loops."""
    whole = problem.segment
    layers = tuple(problem.chunk(i, shape) for i in unit)
    names = {layer.name for layer in layers}
    tensors = []
    for tensor in whole.tensors:
        readers = tuple(access for access in tensor.readers if access.layer in names)
        made = tensor.producer is not None and tensor.producer.layer in names
        if readers or made:
            wanted = made and (tensor.wanted or len(readers) < len(tensor.readers))
            producer = tensor.producer if made else None
            tensors.append(SharedTensor(tensor.name, producer, readers, wanted))
    exchanges = tuple(
        e for e in whole.exchanges if e.producer.layer in names and e.reader.layer in names
    )
    return Segment(layers, tuple(tensors), exchanges)
