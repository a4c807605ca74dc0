"""What the search of a segment has found, and where its exchanged tensors live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from tilewright.mapper.fused.results.segment_result import ExchangedTile
from tilewright.mapper.fused.search.candidate import Candidate
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.workload.footprint import expression_words


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
    for tile, memory in best.places.items():
        i, t = problem.tiles[tile].uses[0]
        extents = best.turns[i][0].layer.bounds
        tensor = problem.layers[i].tensors[t]
        yield ExchangedTile(
            problem.tiles[tile].name,
            problem.architecture.memories[memory].name,
            tuple(expression_words(terms, extents) for terms in tensor.expressions),
            problem.words(tile, problem.bounds),
        )
