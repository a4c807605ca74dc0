"""Finds the schedule with the least DRAM words plus a weight times the words of the array.

CNNFlow's Problem 0. Loop nests over blocks are walked from the outermost loop inwards, the least
bound first. Every beginning of a nest is a nest itself, in which other dimensions are whole. More
loops, or smaller blocks, never have fewer words between memory and array (`array`), so these words
of the beginning and the bound on its DRAM words hold for all nests that go on from it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

import numpy as np

from tilewright.errors import NoMappingError
from tilewright.model.kernel import kernel
from tilewright.offchip.array import Batches, Elements, all_words, least_words
from tilewright.offchip.belady import Loops
from tilewright.offchip.bound import INSIDE, Floats
from tilewright.offchip.nest import Array, Nest
from tilewright.offchip.search import Found, Schedule, keep, whole_simulation
from tilewright.offchip.walk import Space, State, add_loop, space, start

ROUNDING = 1e-9
RECENT = 30  # batches that are tried for the next block


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
    nodes, simulated : int
        Partial nests that were bounded, and nests that were simulated.
    """

    schedule: Schedule | None = None
    batches: Batches | None = None
    value: float = inf
    bound: float = 0.0
    nodes: int = 0
    simulated: int = 0


@kernel
def bound_children(
    loops: Array, weight: float, below: float, least: float, space: Space, state: State,
    found: Array, bounds: Floats,
) -> int:  # fmt: skip
    """Bound all nests with one more loop; return how many are below, write them and their bounds.

    `least` are the array's words of the nest without that loop. A bound on DRAM words is written
    beside the one on the weighted sum. The curves of the nest itself are left in the state.
    """
    depth = len(loops)
    state.place[:] = INSIDE
    state.order[:] = -1
    extents = space.bounds.copy()
    first = False
    for at in range(depth):
        add_loop(loops[at, 0], loops[at, 1], at, space, state)
        extents[loops[at, 0]] = loops[at, 1]
        first = first or space.twins[loops[at, 0]] == 1
    if depth == space.loops:
        return 0
    stays = np.ones(space.relevant.shape, np.bool_)
    work = np.zeros((4, 3), np.int64)
    count = 0
    for d in range(len(space.bounds)):
        if state.place[d] != INSIDE or (space.twins[d] == 2 and not first):
            continue
        for i in range(space.choices[d]):
            block = space.sizes[d, i]
            extents[d] = block
            words = all_words(
                extents, stays, extents, space.bounds, space.expressions, space.axes,
                space.relevant, space.words, space.weights, work,
            )  # fmt: skip
            if weight * words < below:
                spilled = add_loop(d, block, depth, space, state)
                bound = spilled + weight * max(words, least)
                if bound < below:
                    found[count, 0], found[count, 1] = d, block
                    bounds[count, 0], bounds[count, 1] = bound, spilled
                    count += 1
        extents[d] = space.bounds[d]
        state.place[d] = INSIDE
        state.order[depth] = -1
    return count


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
    """
    if banks < len(nest.words):
        raise NoMappingError(
            f"{banks} banks cannot hold {len(nest.words)} tensors: each takes one at least"
        )
    if elements.registers < len(nest.words):
        raise NoMappingError(
            f"{elements.registers} registers cannot hold a word of each of {len(nest.words)} "
            f"tensors"
        )
    found = found or WeightedFound()
    room = space(nest, bank, banks)
    state = start(room)
    wide = max(1, int(room.choices.sum()))
    children, bounds = np.zeros((wide, 2), np.int64), np.zeros((wide, 2))
    known: dict[tuple[object, ...], int] = {}
    inside: dict[tuple[int, ...], Batches] = {}
    recent: deque[Batches] = deque(maxlen=RECENT)
    unknown = inf
    # bound, tie, nest, bound on its spills, words of the array if they are known
    waiting: list[tuple[float, int, Loops, float, Batches | None]] = [(0.0, 0, (), 0.0, None)]
    ties = 0
    while waiting and waiting[0][0] < found.value * (1 - ROUNDING):
        found.bound = max(found.bound, min(waiting[0][0], unknown))
        if found.schedule is not None and stop():
            return found
        bound, _, loops, spilled, batches = heappop(waiting)
        if batches is None:
            blocks = nest.bounds.copy()
            for d, block in loops:
                blocks[d] = block
            key = tuple(blocks.tolist())
            words = inside.get(key)
            if words is None:
                words = least_words(
                    nest, blocks, elements, (found.value - spilled) / weight, recent
                )
                if words is None:
                    continue
                inside[key] = words
                recent.append(words)
            bound = max(bound, spilled + weight * sum(words.words))
            if bound < found.value:
                ties += 1
                heappush(waiting, (bound, ties, loops, spilled, words))
            continue
        least = float(sum(batches.words))
        count = bound_children(
            np.array(loops, np.int64).reshape(-1, 2), weight, found.value, least, room, state,
            children, bounds,
        )  # fmt: skip
        found.nodes += count
        # the nest itself
        alone = Found(value=found.value - weight * least)
        keep(nest, room, loops, state.curves[len(loops)], alone, known, whole_simulation)
        found.simulated += alone.simulated
        if alone.schedule is not None and len(alone.schedule.loops) == len(loops):
            found.value = alone.value + weight * least
            found.schedule, found.batches = alone.schedule, batches
        elif alone.unknown < inf:
            unknown = min(unknown, alone.unknown + weight * least)
        for at in range(count):
            if bounds[at, 0] < found.value:
                ties += 1
                d, block = (int(n) for n in children[at])
                heappush(
                    waiting,
                    (float(bounds[at, 0]), ties, (*loops, (d, block)), float(bounds[at, 1]), None),
                )
    found.bound = min(found.value, unknown)
    return found
