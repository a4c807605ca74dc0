"""Memories between arrays: what lies there, and how a bypass choice fills it."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from tilewright.kernels.types import Ints
from tilewright.mapper.problem.bypass_choices import Keep
from tilewright.mapper.problem.link_costs import Links


@dataclass(frozen=True)
class Segment:
    """Memories between two arrays, and in which order one bypass choice can fill them.

    Attributes
    ----------
    place_memory : array of memories
        Position among the memories of the segment, or -1.
    stage_count : array of (stages, tensors)
        Store nodes that each tensor has already.
    stage_next : array of (stages, tensors)
        Stage after one more store node, or -1.
    first : array of tensors
        Links that end above the segment.
    """

    place_memory: Ints
    stage_count: Ints
    stage_next: Ints
    first: Ints


def segments(keep: Keep, lk: Links, of_memory: list[int], arrays: int) -> list[Segment]:
    """Return the stages of every segment for one bypass choice."""
    result = []
    nt = len(keep)
    for s in range(arrays + 1):
        need = [int(lk.first[s + 1, t] - lk.first[s, t]) for t in range(nt)]
        radix = [prod(n + 1 for n in need[t + 1 :]) for t in range(nt)]
        stages = prod(n + 1 for n in need)
        count = np.array(
            [[stage // radix[t] % (need[t] + 1) for t in range(nt)] for stage in range(stages)],
            np.int64,
        )
        following = np.where(
            count < np.array(need), np.arange(stages)[:, None] + np.array(radix), -1
        )
        slots = np.full(len(of_memory), -1, np.int64)
        inside = [m for m, segment in enumerate(of_memory) if segment == s]
        slots[inside] = np.arange(len(inside))
        result.append(Segment(slots, count, following.astype(np.int64), lk.first[s].copy()))
    return result
