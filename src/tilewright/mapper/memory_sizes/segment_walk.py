"""What the kernels of a sweep need of a segment: what is walked, and where its labels are filed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tilewright.kernels.record import record

if TYPE_CHECKING:
    from tilewright.kernels.types import Ints
    from tilewright.mapper.bounds.above_array import Outer
    from tilewright.mapper.memory_sizes.below_array import Below
    from tilewright.mapper.memory_sizes.points import Aim
    from tilewright.mapper.problem.link_costs import Links
    from tilewright.mapper.problem.space import Space


@record
class SegmentWalk(NamedTuple):
    """A segment of a bypass choice, with its labels by shape and stage.

    Attributes
    ----------
    sp, lk : Space, Links
        What is mapped onto what, and what the links of the bypass choice cost.
    outer, below : Outer, Below
        Bounds of what is above the first array, and below this one in its spatial choice.
    aim : Aim
        What labels are compared by.
    seg : int
        Number of the segment; the array of that number follows it.
    stage_count : array of (stages, tensors)
        Store nodes that each tensor has passed.
    stage_next : array of (stages, tensors)
        The stage after one more.
    first : array of tensors
        The first link of each tensor in the segment.
    spread_left : float
        The most that the arrays to come can multiply the spatial product by.
    heads : array of (shapes, stages)
        The latest label of each.
    buckets : array
        Labels by what they have in common, see `dominance.insert`.
    """

    sp: Space
    lk: Links
    outer: Outer
    below: Below
    aim: Aim
    seg: int
    stage_count: Ints
    stage_next: Ints
    first: Ints
    spread_left: float
    heads: Ints
    buckets: Ints
