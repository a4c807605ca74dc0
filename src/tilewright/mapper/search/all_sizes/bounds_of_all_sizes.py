"""Bounds for all tile sizes, before the best mapping is improved and after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices
from tilewright.mapper.relaxations.boxes.box_costs import BoxCosts, widest_of
from tilewright.mapper.relaxations.boxes.boxes_left import BoxesLeft
from tilewright.mapper.relaxations.boxes.halves import halves_of
from tilewright.mapper.relaxations.boxes.spatial_boxes import SpatialBoxes
from tilewright.mapper.relaxations.joint.joint_bound import JointBound
from tilewright.mapper.relaxations.nests.choices_left import choices_left
from tilewright.mapper.relaxations.stays.elements import Pays
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Layer

MOST_KEEPS = 512  # that are bounded for irregular mappings, too
HIGHER = 1.002  # than where the bound of all memories together began: enough to begin anew
MOST_PROGRAMS = 1 << 15  # for the bound of all memories together
ANEW = 1 << 13  # programs that it has at least, where it begins with single spatial choices
NEARLY = 0.95  # of the best value: an enumerated bound below it leaves too much to look at


def closed_form(
    layer: Layer,
    architecture: Architecture,
    objective: Objective,
    stop: Callable[[], bool] = lambda: False,
) -> SpatialBoxes:
    """Return the closed-form bound of regular mappings, to be raised by `SpatialBoxes.lower`.

    Parameters
    ----------
    layer : Layer
    architecture : Architecture
        Its constraints name the dimensions of the layer, see `bypass_choices.narrowed`.
    objective : Objective
    stop : callable, optional
        Whether to begin with less.
    """
    finer = partial(halves_of, layer, architecture, every=True)
    keeps = list(keep_choices(layer, architecture))
    return SpatialBoxes(box_costs(layer, architecture), keeps, objective, finer, stop)


class RegularBounds:
    """Bounds of regular mappings: of each memory alone, and of all memories together.

    Parameters
    ----------
    boxes : SpatialBoxes
    objective : Objective
    joint : bool
        Whether the second one is on.

    Attributes
    ----------
    boxes : SpatialBoxes
        Of each memory alone, by spatial choices.
    chosen : list of arrays of (1, dimensions)
        Single spatial choices that the bound of all memories together has begun with.
    """

    def __init__(self, boxes: SpatialBoxes, objective: Objective, joint: bool = True) -> None:
        self.boxes, self.objective = boxes, objective
        self.joint: JointBound | None = None
        self.reached, self.began = 0.0, 0.0  # by joint bounds before, and where this one begins
        self.on, self.left = joint, MOST_PROGRAMS if joint else 0
        self.chosen: list[Ints] = []
        self.is_last = False  # whether it has begun with single spatial choices

    @property
    def bound(self) -> float:
        """What all regular mappings cost at least, or the least ceiling so far."""
        return max(self.boxes.bound, self.reached, self.joint.bound if self.joint else 0.0)

    def lower_jointly(self, ceiling: float, stop: Callable[[], bool], most: int) -> None:
        """Raise the bound of all memories together.

        Parameters
        ----------
        ceiling : float
            The best value so far.
        stop : callable
            Whether to end with the bound so far.
        most : int
            Programs to solve, at most.
        """
        if self.left <= 0 or self.bound >= ceiling or stop():
            return
        joint = self.joint
        if joint is None or self.is_behind(joint):
            self.reached, self.began = self.bound, self.boxes.bound
            costs = self.boxes.costs
            least = costs.at(costs.boxes(1))
            self.joint = joint = JointBound(
                least, costs.halves, self.boxes.keeps(), self.objective, BoxesLeft(self.boxes)
            )
        self.left -= joint.lower(ceiling, stop, min(most, self.left))

    def begin_with_choices(self, bound: float, ceiling: float, stop: Callable[[], bool]) -> bool:
        """Let the bound of all memories together begin anew with single spatial choices.

        The enumerated bound leaves few of them where it is close to the best value, so that there
        is much less to look at. Nothing changes where it is not.

        Parameters
        ----------
        bound : float
            The enumerated bound.
        ceiling : float
            The best value so far.
        stop : callable
            Whether there is no time for that.

        Returns
        -------
        bool
            Whether it does.
        """
        if not self.on or bound < NEARLY * ceiling or max(bound, self.bound) >= ceiling:
            return False
        costs = self.boxes.costs
        least = costs.least.at(self.boxes.widest())
        left = choices_left(least, self.boxes.keeps(), self.objective, ceiling, stop)
        if left is None:
            return False
        self.reached = self.bound if left else ceiling
        keeps: dict[KeepChoice, float] = {}
        for own in left:
            keeps[own.keep] = min(own.value, keeps.get(own.keep, ceiling))
        every = costs.at(costs.boxes(1))
        bounds = [(own, keep) for keep, own in keeps.items()]
        if left:
            self.joint = JointBound(every, costs.halves, bounds, self.objective, chosen=left)
        self.chosen = [
            np.array([instances])
            for instances in dict.fromkeys(own.instances for own in sorted(left))
        ]
        self.left = ANEW
        self.is_last = True
        return True

    def allow(self, programs: int) -> None:
        """Let the bound of all memories together solve more programs than it has left."""
        self.left = max(self.left, programs)

    def is_behind(self, joint: JointBound) -> bool:
        """Whether it is better to begin anew with what boxes know now."""
        if self.is_last:
            return False
        # what is settled may have more to it with all spatial choices, see `SpatialBoxes.refine`
        refined = joint.settled and joint.halves is not self.boxes.halves
        return refined or self.boxes.bound > max(joint.bound, self.began * HIGHER)

    def mappings(self) -> Iterator[Mapping]:
        """Yield mappings that the bound of all memories together stands for, best ones first."""
        if self.joint is not None:
            yield from self.joint.mappings()


def box_costs(layer: Layer, architecture: Architecture) -> BoxCosts:
    """Return what boxes of spatial choices cost."""
    halves = halves_of(layer, architecture)
    whole = np.zeros((1, len(halves)), np.int64)
    widest = widest_of(layer, halves, whole, len(architecture.arrays))
    return BoxCosts(Least(layer, architecture, widest), halves)


def operations_alone(
    layer: Layer,
    architecture: Architecture,
    objective: Objective,
    boxes: SpatialBoxes | None = None,
) -> float:
    """Return what the operations cost at least; `boxes` are the bounds that are known, if any."""
    if len(architecture.arrays) == 1:
        least = Least(layer, architecture)
    else:
        costs = boxes.costs if boxes else box_costs(layer, architecture)
        least = costs.at(costs.boxes(1))
    return float(objective.values(np.full(len(least.cycles), least.work), least.cycles).min())


def bound_of_all(
    layer: Layer,
    architecture: Architecture,
    objective: Objective,
    first: Sequence[tuple[float, KeepChoice]],
    ceiling: float,
    stop: Callable[[], bool],
    shares: bool = True,
    boxes: SpatialBoxes | None = None,
) -> float:
    """Return a lower bound of all mappings below a ceiling, regular or not, or the ceiling.

    Where there are many bypass choices, or several arrays, it is that of the operations alone.

    Parameters
    ----------
    first : sequence of (float, bypass choice)
        Bypass choices that are looked at before others.
    shares : bool
        Whether it knows what each element pays of a word, too.
    boxes : SpatialBoxes, optional
        The bounds of regular mappings, where they are known.
    """
    keeps = [keep for _, keep in sorted(first)]
    known = set(keeps)
    keeps += [keep for keep in keep_choices(layer, architecture) if keep not in known]
    if len(architecture.arrays) > 1 or len(keeps) > MOST_KEEPS:
        return min(ceiling, operations_alone(layer, architecture, objective, boxes))
    least = Least(layer, architecture)
    alone = objective.values(np.full(len(least.cycles), least.work), least.cycles)
    bound = ceiling
    near = least.at(least.choices[alone < ceiling])
    if len(near.choices) == 0:
        return bound
    for keep in keeps:
        if stop():
            return min(bound, float(alone.min()))
        values = objective.values(*near.cost(keep, Pays.ALL))
        low = values < bound
        if shares and low.any():
            some = least.at(near.choices[low])
            either = objective.values(*some.cost(keep, Pays.EITHER, objective))
            values = np.maximum(values[low], either)
        bound = min(bound, float(values.min()))
    return bound
