"""Finds the schedule with the least DRAM words plus a weight times the words of the array.

CNNFlow's Problem 0. As in `search` there are two walks: the first looks at bounds alone and ends
at the nest with the least one; only when its simulation has more spills, the second one simulates
every nest whose bound is below the best value. The first walk begins below a limit that is raised
until there is a nest: a bound that is compared with a good value ends early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from tilewright.errors import NoMappingError
from tilewright.offchip.array import DEEPEST, Batches, Inside, batches_of, fewest, read_inside
from tilewright.offchip.belady import Loops
from tilewright.offchip.bound import Floats
from tilewright.offchip.extents import Elements
from tilewright.offchip.joint import Joint, advance, loops_of, new_joint
from tilewright.offchip.nest import Nest, block_sizes
from tilewright.offchip.search import (
    Evaluate,
    Found,
    Schedule,
    first_nest,
    keep,
    spills_from,
    whole_simulation,
)
from tilewright.offchip.walk import (
    AT_NEST,
    DEPTH,
    ENDED,
    NODES,
    Space,
    nest_bound,
    open_bound,
    space,
    start,
)

BUDGET = 500
ROUNDING = 1e-9
HIGHER = 1.5  # by how much a limit is raised when there is no nest below it


@dataclass
class WeightedFound:
    """What a search knows.

    Attributes
    ----------
    schedule : Schedule or None
        The best one so far.
    batches : Batches or None
        How its blocks are worked off on the array.
    value, bound : float
        Spills in DRAM words and weighted words of the array, and what no schedule goes below.
    unknown : float
        Least bound of the nests that were too long to simulate.
    nodes, simulated : int
        Partial nests that were bounded, and nests that were simulated.
    """

    schedule: Schedule | None = None
    batches: Batches | None = None
    value: float = inf
    bound: float = 0.0
    unknown: float = inf
    nodes: int = 0
    simulated: int = 0
    known: dict[tuple[object, ...], int] = field(default_factory=dict)


def search_weighted(
    nest: Nest,
    bank: int,
    banks: int,
    elements: Elements,
    weight: float,
    stop: Callable[[], bool] = lambda: False,
    found: WeightedFound | None = None,
) -> WeightedFound:
    """Return the schedule with the least weighted sum; when stopped, the best one so far.

    Parameters
    ----------
    nest : Nest
    bank, banks : int
        Words of a bank, and how many there are.
    elements : Elements
    weight : float
        DRAM words that a word between memory and array is worth.
    stop : callable
        Asked now and then whether to end.
    found : WeightedFound, optional
        Where the results go as they are found.

    Raises
    ------
    NoMappingError
        When banks or registers do not suffice for one word of each tensor.
    InputError
        When the layer has too many extents of batches for a table.
    """
    if banks < len(nest.words):
        raise NoMappingError(
            f"{banks} banks cannot hold {len(nest.words)} tensors: each takes one at least"
        )
    found = found or WeightedFound()
    room = space(nest, bank, banks)
    inside = read_inside(nest, elements, [block_sizes(int(bound)) for bound in nest.bounds])
    joint = new_joint(room, inside, weight)
    chosen = least_bound(room, joint, inside, found, stop)
    if chosen is None:
        chosen = first_nest(nest, room)[1:]
    keep_weighted(nest, room, inside, weight, *chosen, found, spills_from)
    if found.bound < found.value * (1 - ROUNDING):
        second_walk(nest, room, joint, inside, found, stop)
    return found


def least_bound(
    room: Space, joint: Joint, inside: Inside, found: WeightedFound, stop: Callable[[], bool]
) -> tuple[Loops, Floats] | None:
    """Return the nest of the least bound, and its bounds on spills; the best one when stopped."""
    nodes, chosen = 0, None
    # what the array moves in any case
    words, _ = fewest(joint.last, inf, 0, joint.waiting, inside.tables)
    limit = max(HIGHER * joint.weight * words, 1.0)
    while chosen is None:
        state = start(room)
        best = limit
        while (status := advance(best, BUDGET, room, state, joint, inside.tables)) != ENDED:
            found.nodes = nodes + int(state.flags[NODES])
            if status == AT_NEST:
                best = nest_bound(state)
                chosen = loops_of(state), state.curves[state.flags[DEPTH]].copy()
            elif stop():
                found.bound = max(found.bound, min(open_bound(state), best))
                return chosen
        nodes = found.nodes = nodes + int(state.flags[NODES])
        found.bound = best
        limit *= HIGHER
    return chosen


def second_walk(
    nest: Nest,
    room: Space,
    joint: Joint,
    inside: Inside,
    found: WeightedFound,
    stop: Callable[[], bool],
) -> None:
    """Simulate every nest whose bound is below the best value."""
    nodes, state = found.nodes, start(room)
    while True:
        limit = found.value * (1 - ROUNDING)
        status = advance(limit, BUDGET, room, state, joint, inside.tables)
        found.nodes = nodes + int(state.flags[NODES])
        if status == ENDED:
            break
        here = nest_bound(state) if status == AT_NEST else inf
        found.bound = max(found.bound, min(open_bound(state), here, found.unknown, found.value))
        if stop():
            return
        if status == AT_NEST:
            bounds = state.curves[state.flags[DEPTH]].copy()
            keep_weighted(
                nest, room, inside, joint.weight, loops_of(state), bounds, found, whole_simulation
            )
    found.bound = max(found.bound, min(found.value, found.unknown))


def keep_weighted(
    nest: Nest,
    room: Space,
    inside: Inside,
    weight: float,
    loops: Loops,
    bounds: Floats,
    found: WeightedFound,
    evaluate: Evaluate,
) -> None:
    """Simulate a nest as far as its bounds leave it open, and keep it if it is better."""
    places = np.array([len(sizes) - 1 for sizes in inside.lists])
    for d, block in loops:
        places[d] = inside.lists[d].index(block)
    words, leaf = fewest(places, inf, 0, np.zeros(DEEPEST, np.int64), inside.tables)
    alone = Found(value=found.value - weight * words)
    keep(nest, room, loops, bounds, alone, found.known, evaluate)
    found.simulated += alone.simulated
    found.unknown = min(found.unknown, alone.unknown + weight * words)
    if alone.schedule is not None and len(alone.schedule.loops) == len(loops):
        found.schedule, found.batches = alone.schedule, batches_of(inside, places, leaf)
        found.value = alone.value + weight * sum(found.batches.words)
