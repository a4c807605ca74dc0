"""Bounds for all tile sizes, before the best mapping is improved and after it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices
from tilewright.mapper.relaxations.boxes.box_costs import BoxCosts, widest_of
from tilewright.mapper.relaxations.boxes.halves import halves_of
from tilewright.mapper.relaxations.boxes.spatial_boxes import SpatialBoxes
from tilewright.mapper.relaxations.stays.elements import Pays
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.workload.layer import Layer

MOST_KEEPS = 512  # that are bounded for irregular mappings, too


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
