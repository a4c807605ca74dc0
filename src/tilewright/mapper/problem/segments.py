"""Memories between arrays: what lies there, and how a bypass choice fills it."""

from __future__ import annotations

from math import inf, prod
from typing import NamedTuple

import numpy as np

from tilewright.kernels.record import record
from tilewright.kernels.types import Ints
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.problem.link_costs import Links


@record
class Segment(NamedTuple):
    """Memories between two arrays, and in which order one bypass choice can fill them.

    Attributes
    ----------
    number : int
        Position among the segments; the array of that number follows it.
    place_memory : array of memories
        Where labels count the bits of each memory of the segment, -1 for other memories.
    stage_count : array of (stages, tensors)
        Store nodes that each tensor has already.
    stage_next : array of (stages, tensors)
        Stage after one more store node, or -1.
    first : array of tensors
        Links that end above the segment.
    ports : int
        Bandwidth limits that lower bounds count, the first ones.
    spread_left : float
        The most that the arrays to come can multiply the spatial product by.
    """

    number: int
    place_memory: Ints
    stage_count: Ints
    stage_next: Ints
    first: Ints
    ports: int
    spread_left: float


def segments(keep: KeepChoice, lk: Links, of_memory: list[int], arrays: int) -> list[Segment]:
    """Return the stages of every segment for one bypass choice, with any arrays to come."""
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
        result.append(
            Segment(
                number=s,
                place_memory=slots,
                stage_count=count,
                stage_next=following.astype(np.int64),
                first=lk.first[s].copy(),
                ports=len(lk.load_arrays),
                spread_left=inf,
            )
        )
    return result
