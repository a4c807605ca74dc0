"""What the search of a segment has found, and where its exchanged tensors live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from tilewright.mapper.fused.results.segment_result import ExchangedTile
from tilewright.mapper.fused.search.candidate import Candidate
from tilewright.mapper.fused.search.groups import group_below
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.workload.footprint import expression_words
from tilewright.workload.layer import Layer


@dataclass(frozen=True)
class Outcome:
    """What the search of a segment has found.

    Attributes
    ----------
    best : Candidate or None
        None where no fused mapping is better than the layers otherwise.
    value, bound : float
        Of the best, infinite without one; and what no fused mapping undercuts, infinite where none
        is better than smaller segments.
    least : float
        What no fused mapping undercuts, also where none is better than smaller segments.
    searched : bool
        Whether the search has ended.
    candidates, searches : int
        Ways to share loops that had to be looked at, and chunks that were searched.
    seconds : float
    """

    best: Candidate | None
    value: float
    bound: float
    least: float = inf
    searched: bool = True
    candidates: int = 0
    searches: int = 0
    seconds: float = 0.0


def exchanged(problem: SegmentProblem, best: Candidate) -> Iterator[ExchangedTile]:
    """Yield where exchanged tensors live."""
    unit_of = {i: u for u, unit in enumerate(best.units) for i in unit}
    for tile, memory in best.places.items():
        i, t = problem.tiles[tile].uses[0]
        work = best.turns[unit_of[i]][0].work
        extents = problem.chunk(i, best.shape).bounds
        if isinstance(work, Layer):
            extents = work.bounds
        tensor = problem.layers[i].tensors[t]
        yield ExchangedTile(
            problem.tiles[tile].name,
            problem.architecture.memories[memory].name,
            tuple(expression_words(terms, extents) for terms in tensor.expressions),
            problem.words(tile, problem.bounds),
        )
    for unit, own in zip(best.units, best.turns, strict=True):
        point = own[0].point
        if point is not None and point.group is not None:
            for inside in exchanged(group_below(problem, best, unit), point.group):
                whole = next(t for t, o in enumerate(problem.tiles) if o.name == inside.tensor)
                yield replace(inside, words=problem.words(whole, problem.bounds))
