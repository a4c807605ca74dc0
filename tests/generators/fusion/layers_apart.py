"""What layers of a segment cost at least in any fused mapping, each bounded by itself."""

from __future__ import annotations

from tilewright.mapper.fused.search.apart import layers_apart, least_apart
from tilewright.mapper.fused.space.segment_problem import SegmentProblem


def least_of_layers(problem: SegmentProblem) -> float:
    """Return the sum over the layers of a segment, in pJ."""
    return sum(
        min(least_apart(way, lambda: False) for way in ways) for ways in layers_apart(problem)
    )
