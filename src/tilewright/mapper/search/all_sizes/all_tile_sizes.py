"""Tile sizes that do not divide: from the best mappings whose sizes do, step by step.

The search among divisors gives mappings to begin with, for the layer itself and for some whose
awkward bounds are a little larger; others have the tiles for which the bound of regular mappings is
least. Loops of one chunk are added wherever a loop may stand, and one or two tile sizes at a time
are changed as long as that helps. What is reached is optimal where it equals a bound of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilewright.architecture.machine import Architecture
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.settings import EVERY_PART, Settings
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.relaxations.nests.regular_bound import tightened, tiles_below
from tilewright.mapper.relaxations.nests.tiles_to_mapping import BothSides
from tilewright.mapper.results.proof import UNTRIED
from tilewright.mapper.results.searched_space import ALL
from tilewright.mapper.search.all_sizes.best import (
    BOUNDED,
    CHOICES,
    EARLY,
    MORE,
    PROGRAMS,
    SUMS,
    BestOfAllSizes,
)
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import (
    MOST_PROGRAMS,
    NEARLY,
    RegularBounds,
    bound_of_all,
    closed_form,
    operations_alone,
)
from tilewright.mapper.search.all_sizes.rounder_layers import (
    has_few_divisors,
    rounded,
)
from tilewright.mapper.search.found import Found
from tilewright.workload.layer import Layer

HIGHER = 1.01  # than bounds by spatial choices: not worth it to divide these further
SMALL = 1 << 12  # operations of a layer whose loops are looked at in other orders at last
TINY = 1 << 9  # operations of a layer of which other bypass choices are looked at, too
OTHERS = 12  # bypass choices for which mappings of such a layer are drawn


def with_all_sizes(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    divided: Found,
    stop: Callable[[], bool] = lambda: False,
    settings: Settings = EVERY_PART,
) -> Found:
    """Return the best mapping found with any tile sizes, beginning with that of divisors.

    Parameters
    ----------
    layer, architecture, objective
        As for the search.
    divided : Found
        What the search among divisors ended with.
    stop : callable
        Whether to end with the best so far.
    settings : Settings
        The bounds that are on.

    Returns
    -------
    Found
        Its bound is that of all regular mappings, and it is finished where that is reached.
    """
    if divided.mapping is None:
        return Found(labels=divided.labels, tiles=ALL)
    if all(bound <= 2 for bound in layer.bounds.values()):
        # there are no other sizes
        return replace(divided, tiles=ALL, irregular_bound=divided.bound)
    machine = narrowed(architecture, layer)
    best = BestOfAllSizes(layer, architecture, objective, stop, divided.mapping, divided.value)
    wanted = best.goal
    best.climb_from(divided.mapping)
    if has_few_divisors(layer):
        # sizes that divide may be far off, and it takes less time than a bound
        best.climb_from_layers([rounded(layer)], 0.0, annealed=True)
    if stop() and divided.closed_form is None:
        least_memory = divided.least_memory and best.mapping == divided.mapping
        tried = replace(
            divided, mapping=best.mapping, value=best.value, least_memory=least_memory
        )  # fmt: skip
        return replace(untried(tried, layer, architecture, objective), reason="")
    boxes = divided.closed_form or closed_form(layer, machine, wanted, stop)
    bounds = RegularBounds(boxes, wanted, settings.joint_bound)
    several = len(architecture.arrays) > 1
    best.anneal_rounder(bounds, several)
    bound = bounds.bound
    least = boxes.costs.least.at(boxes.widest())
    keeps = boxes.keeps(apart=not several and not stop())
    before, tiles = best.value, list[BothSides]()
    if settings.regular_bound and not best.reaches(bound):
        higher, tiles = tightened(least, keeps, wanted, best.value, stop)
        bound = max(bound, higher)
        best.climb_from_tiles(tiles, bound)
    # with windows it takes long, and rounder layers come first
    few = PROGRAMS if any(least.windows) else MOST_PROGRAMS
    best.climb_from_joint_bound(bounds, bound, few, BOUNDED if several else MORE)
    bound = max(bound, bounds.bound)
    best.climb_from_rounder(bounds, bound)
    best.finish(bound)
    best.anneal_more(bounds, bound)
    settled = any(one.value <= bound for one in tiles)  # no mapping changes such a bound
    better = best.value < before * (1 - TIE) and not best.reaches(bound)
    if settings.regular_bound and better and not settled:
        # fewer tiles cost less than what is best now
        higher, tiles = tightened(least, keeps, wanted, best.value, stop)
        bound = max(bound, higher)
        best.climb_from_tiles(tiles, bound)
        best.finish(bound)
    if not best.reaches(bound):
        boxes.refine(best.value, stop, SUMS << 2, sized=bound <= boxes.bound * HIGHER)
        best.climb_from_choices(bounds, CHOICES if bound <= boxes.bound else EARLY)
        if settings.regular_bound and bound > NEARLY * best.value:
            tiles = tiles_below(least, keeps, wanted, best.value, stop)
            best.climb_from_tiles(tiles, bound)
        best.climb_by_pairs(tiles, bound)
        boxes.lower(best.value, stop, SUMS << 2)
        bound = best.settle_jointly(bounds, bound)
        if settings.regular_bound and bounds.begin_with_choices(bound, best.value, stop):
            best.anneal_choices(bounds.chosen, bound)
            bound = best.settle_jointly(bounds, bound)
    certain = bound_of_all(layer, machine, wanted, keeps, best.value, stop, settings.shares, boxes)
    if layer.operations <= SMALL and not best.reaches(certain) and not stop():
        others = sorted(keeps)[:OTHERS] if layer.operations <= TINY else []
        best.reorder()
        best.begin_anew([keep for _, keep in others])
    bound = max(bound, certain)
    proven = best.reaches(bound)
    return Found(
        best.mapping, best.value, best.value if proven else bound, proven, divided.labels,
        tiles=ALL, irregular_bound=certain,
    )  # fmt: skip


def untried(divided: Found, layer: Layer, architecture: Architecture, objective: str) -> Found:
    """Return what is known of all tile sizes when only those that divide were searched.

    The bound of divisors says nothing of other sizes. It is that of the operations alone, or what
    the search among divisors knows of regular mappings in closed form.
    """
    if divided.mapping is None:
        return Found(labels=divided.labels, tiles=ALL)
    machine = narrowed(architecture, layer)
    alone = operations_alone(layer, machine, parse_objective(objective), divided.closed_form)
    bound = max(alone, divided.closed_form.bound if divided.closed_form else 0.0)
    finished = bound >= divided.value * (1 - TIE)
    bound = min(bound, divided.value)
    return replace(
        divided, bound=bound, finished=finished, tiles=ALL, irregular_bound=min(alone, bound),
        reason="" if finished else UNTRIED,
    )  # fmt: skip
