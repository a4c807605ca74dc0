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
from math import inf, log2

import numpy as np

from tilewright.errors import NoMappingError
from tilewright.model.kernel import kernel
from tilewright.offchip.array import Batches, Elements, all_words, least_words
from tilewright.offchip.belady import Loops
from tilewright.offchip.bound import INSIDE, Floats, block_words, divide
from tilewright.offchip.nest import Array, Nest
from tilewright.offchip.search import Found, Schedule, keep, whole_simulation
from tilewright.offchip.walk import Space, State, add_loop, space, start

ROUNDING = 1e-9
TOO_LARGE = 0.3  # a block twice as large as the memory is not likely to begin a good nest
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

    `least` are the array's words of the nest without that loop. Beside the bound on the weighted
    sum are written the one on DRAM words, and by how much the sum seems to be larger without more
    loops. The curves of the nest itself are left in the state.
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
    banks = np.ones(len(space.axes), np.int64)
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
                    needed = 0
                    for t in range(len(banks)):
                        own = block_words(t, extents, space.expressions, space.axes)
                        banks[t] = -(-own // space.bank)
                        needed += banks[t]
                    if needed > space.banks:
                        guess = (1 + TOO_LARGE * log2(needed / space.banks)) * bound
                    else:
                        alone = divide(state.curves[depth + 1], banks, state.shares)
                        guess = alone + bound - spilled
                    bounds[count, 2] = guess
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
    children, bounds = np.zeros((wide, 2), np.int64), np.zeros((wide, 3))
    known: dict[tuple[object, ...], int] = {}
    inside: dict[tuple[int, ...], Batches] = {}
    above: dict[tuple[int, ...], float] = {}
    recent: deque[Batches] = deque(maxlen=RECENT)
    unknown = inf
    seen: set[Loops] = set()
    # by bound, and by a guess of the value: good schedules early, and none is left out
    waiting: list[tuple[float, Loops, float]] = [(0.0, (), 0.0)]
    guesses: list[tuple[float, Loops, float]] = [(0.0, (), 0.0)]
    guessed = False
    while waiting and waiting[0][0] < found.value * (1 - ROUNDING):
        if waiting[0][1] in seen:
            heappop(waiting)
            continue
        found.bound = max(found.bound, min(waiting[0][0], unknown))
        if found.schedule is not None and stop():
            return found
        guessed = not guessed and bool(guesses)
        _, loops, spilled = heappop(guesses if guessed else waiting)
        if loops in seen:
            continue
        blocks = nest.bounds.copy()
        for d, block in loops:
            blocks[d] = block
        key = tuple(blocks.tolist())
        below = (found.value - spilled) / weight
        if key not in inside:
            if above.get(key, 0.0) >= below:
                seen.add(loops)
                continue
            batches = least_words(nest, blocks, elements, below, recent)
            if batches is None:
                above[key] = below
                seen.add(loops)
                continue
            inside[key] = batches
            recent.append(batches)
        batches = inside[key]
        least = float(sum(batches.words))
        bound = spilled + weight * least
        if not guessed and waiting and waiting[0][0] < bound < found.value:
            heappush(waiting, (bound, loops, spilled))
            continue
        seen.add(loops)
        if bound >= found.value:
            continue
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
        unknown = min(unknown, alone.unknown + weight * least)
        for at in range(count):
            low, spilled, guess = bounds[at].tolist()
            if low < found.value:
                d, block = children[at].tolist()
                longer = (*loops, (d, block))
                heappush(waiting, (low, longer, spilled))
                heappush(guesses, (guess, longer, spilled))
    found.bound = min(found.value, unknown)
    return found
