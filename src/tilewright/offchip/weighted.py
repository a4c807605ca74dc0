"""Finds the schedule with the least DRAM words plus a weight times the words of the array.

CNNFlow's Problem 0. A block moves each of its words at least once, whatever the registers retain
inside it. The first walk takes these words for those of the array: it ends at a bound on every
schedule. Where the array can work off the blocks of that nest without moving a word again, nothing
is better. Otherwise all nests are looked at whose bound is below the best value, as in `search`. If
the array cannot work off the best of them so, two walks like these follow whose bounds have the
words of an array that retains nothing; then schedules whose registers retain are counted.

A first walk begins below a limit that is raised until there is a nest: a bound that is compared
with a good value ends early.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf

import numpy as np

from tilewright.errors import NoMappingError
from tilewright.offchip.arrays.array import Batches, OnArray, batches_of, on_array
from tilewright.offchip.arrays.extents import Elements
from tilewright.offchip.arrays.registers import Schedule as Worked
from tilewright.offchip.arrays.retained import BUDGET as BUDGET_RETAINED
from tilewright.offchip.arrays.retained import Registers, batches_retained, least_retained
from tilewright.offchip.arrays.tables import DEEPEST, Inside, fewest, moved_words, once_per_block
from tilewright.offchip.joint import Joint, advance, loops_of, new_joint
from tilewright.offchip.nest import Array, Nest, block_sizes
from tilewright.offchip.search import (
    Evaluate,
    Found,
    Schedule,
    first_nest,
    keep,
    spills_from,
    whole_simulation,
)
from tilewright.offchip.spills.belady import Loops
from tilewright.offchip.spills.moves import Floats
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
    value, words : float
        Spills in DRAM words and weighted words of the array; these words alone.
    bound, box_bound : float
        What no schedule goes below, whatever the registers retain; and none whose registers hold
        the box at work alone.
    unknown : float
        Least bound of the nests of this walk that stay open.
    nodes, simulated : int
        Partial nests that were bounded, and nests that were simulated.
    """

    schedule: Schedule | None = None
    batches: Batches | None = None
    value: float = inf
    words: float = inf
    bound: float = 0.0
    box_bound: float = 0.0
    unknown: float = inf
    nodes: int = 0
    simulated: int = 0
    known: dict[tuple[object, ...], int] = field(default_factory=dict)

    @property
    def below(self) -> float:
        """What the bound of a better schedule is below."""
        return self.value * (1 - ROUNDING)


@dataclass(frozen=True, eq=False)
class Sought:
    """What is looked for.

    Attributes
    ----------
    nest : Nest
    room : Space
    weight : float
        DRAM words that a word between memory and array is worth.
    array : OnArray
        What the array can do when registers hold a box at a time.
    once, counted : Inside
        Each word of a block once; the same as it counts, which may be without outputs that are
        read back.
    """

    nest: Nest
    room: Space
    weight: float
    array: OnArray
    once: Inside
    counted: Inside

    def walk(self, inside: Inside) -> Joint:
        """Return what is known before a walk that takes such words for those of the array."""
        return new_joint(self.room, inside, self.weight)

    def places(self, loops: Loops) -> Array:
        """Return the places of blocks in their lists."""
        lists = self.once.lists
        places = np.array([len(sizes) - 1 for sizes in lists])
        for d, block in loops:
            places[d] = lists[d].index(block)
        return places


def least_words(inside: Inside, places: Array) -> tuple[float, int]:
    """Return the fewest words of some blocks, and the leaf that has them."""
    return fewest(places, inf, 0, np.zeros(DEEPEST, np.int64), inside.tables)


def search_weighted(
    nest: Nest,
    bank: int,
    banks: int,
    elements: Elements,
    weight: float,
    stop: Callable[[], bool] = lambda: False,
    found: WeightedFound | None = None,
    reread: bool = True,
    uses: int = BUDGET_RETAINED,
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
    reread : bool
        Whether it counts that an output which an earlier block has begun is read. CNNFlow's
        Equation 2 leaves that out.
    uses : int
        Uses of words that are simulated at most for registers that retain.

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
    lists = [block_sizes(int(bound)) for bound in nest.bounds]
    once = once_per_block(nest, lists)
    sought = Sought(
        nest, space(nest, bank, banks), float(weight), on_array(nest, elements, lists), once,
        once if reread else once_per_block(nest, lists, reread=False),
    )  # fmt: skip
    chosen, found.bound = least_bound(sought, sought.counted, found, stop)
    if chosen is None:
        chosen = first_nest(nest, sought.room)[1:]
    keep_weighted(sought, sought.counted, *chosen, found, spills_from)
    if found.bound < found.below and not stop():
        found.bound = second_walk(sought, sought.counted, found.bound, found, stop)
    found.box_bound = found.bound
    if reread and found.bound < found.below and not stop():
        boxes = sought.array.inside
        chosen, found.box_bound = least_bound(sought, boxes, found, stop)
        if chosen is not None:
            keep_weighted(sought, boxes, *chosen, found, spills_from)
        if found.box_bound < found.below and not stop():
            found.box_bound = second_walk(sought, boxes, found.box_bound, found, stop)
        retaining = Retaining(Registers(nest, elements, uses), stop)
        if retaining.improve(sought, found) and not stop():
            found.bound = second_walk(sought, once, found.bound, found, stop, retaining)
    return found


def least_bound(
    sought: Sought, inside: Inside, found: WeightedFound, stop: Callable[[], bool]
) -> tuple[tuple[Loops, Floats] | None, float]:
    """Return the nest of the least bound that is below the best value, with its bounds on spills.

    Beside it stands what no nest goes below; when stopped the nest is the best one so far.
    """
    room, joint = sought.room, sought.walk(inside)
    before, chosen = found.nodes, None
    # what the array moves in any case
    words, _ = least_words(inside, joint.last)
    limit = max(HIGHER * sought.weight * words, 1.0)
    while True:
        state = start(room)
        best = limit = min(limit, found.below)
        while (status := advance(best, BUDGET, room, state, joint, inside.tables)) != ENDED:
            found.nodes = before + int(state.flags[NODES])
            if status == AT_NEST:
                best = nest_bound(state)
                chosen = loops_of(state), state.curves[state.flags[DEPTH]].copy()
            elif stop():
                return chosen, min(open_bound(state), best)
        before = found.nodes = before + int(state.flags[NODES])
        if chosen is not None or limit >= found.below:
            return chosen, min(best, found.value)
        limit *= HIGHER


def second_walk(
    sought: Sought,
    inside: Inside,
    bound: float,
    found: WeightedFound,
    stop: Callable[[], bool],
    retaining: Retaining | None = None,
) -> float:
    """Simulate every nest whose bound is below the best value, and return the new bound.

    Once it stays open whether a nest can be worked off with as few words as its bound has, only
    nests with a lower bound than that matter.
    """
    room, joint = sought.room, sought.walk(inside)
    before, state = found.nodes, start(room)
    found.unknown = inf
    while True:
        limit = min(found.below, found.unknown * (1 - ROUNDING))
        status = advance(limit, BUDGET, room, state, joint, inside.tables)
        found.nodes = before + int(state.flags[NODES])
        if status == ENDED:
            return max(bound, min(found.value, found.unknown))
        here = nest_bound(state) if status == AT_NEST else inf
        bound = max(bound, min(open_bound(state), here, found.unknown, found.value))
        if stop():
            return bound
        if status == AT_NEST:
            bounds = state.curves[state.flags[DEPTH]].copy()
            keep_weighted(
                sought, inside, loops_of(state), bounds, found, whole_simulation, retaining
            )


def keep_weighted(
    sought: Sought,
    inside: Inside,
    loops: Loops,
    bounds: Floats,
    found: WeightedFound,
    evaluate: Evaluate,
    retaining: Retaining | None = None,
) -> None:
    """Simulate a nest as far as its bounds leave it open, and keep it if it is better."""
    places, weight = sought.places(loops), sought.weight
    least, _ = least_words(inside, places)
    alone = Found(value=min(found.value, found.unknown) - weight * least)
    keep(sought.nest, sought.room, loops, bounds, alone, found.known, evaluate)
    found.simulated += alone.simulated
    found.unknown = min(found.unknown, alone.unknown + weight * least)
    if alone.schedule is None or len(alone.schedule.loops) < len(loops):
        return
    words, leaf = least_words(sought.array.inside, places)
    if sought.counted is not sought.once:
        words -= least_words(sought.once, places)[0] - least_words(sought.counted, places)[0]
    if alone.value + weight * words < found.value:
        found.schedule, found.batches = alone.schedule, batches_of(sought.array, places, leaf)
        found.value, found.words = alone.value + weight * words, words
    low = alone.value + weight * least
    if low >= found.below:
        return
    if retaining is None or not retaining.keep(sought, alone.schedule, alone.value, found):
        found.unknown = min(found.unknown, low)


@dataclass
class Retaining:
    """Looks for fewer words with registers that retain.

    Attributes
    ----------
    registers : Registers
    stop : callable
        Asked now and then whether to end.
    """

    registers: Registers
    stop: Callable[[], bool]

    def improve(self, sought: Sought, found: WeightedFound) -> bool:
        """Look at the blocks of the best schedule again; say whether there is none better left."""
        if found.schedule is None:
            return False
        spilled = found.value - sought.weight * found.words
        return self.keep(sought, found.schedule, spilled, found)

    def keep(
        self, sought: Sought, schedule: Schedule, spilled: float, found: WeightedFound
    ) -> bool:
        """Keep the best way to work off the blocks of a schedule if it is better.

        Say whether there is none better still.
        """
        nest, places = sought.nest, sought.places(schedule.loops)
        boxed = batches_of(sought.array, places, least_words(sought.array.inside, places)[1])
        least = moved_words(0, places, sought.once.tables) - (nest.weights - 1) * nest.words
        blocks = tuple(sizes[at] for sizes, at in zip(sought.once.lists, places, strict=True))
        best, every = least_retained(
            self.registers, blocks, least, (found.below - spilled) / sought.weight,
            Worked(blocks, tuple(boxed.spread.prod(axis=0).tolist()),
                   tuple(boxed.boxes.tolist()), boxed.order), self.stop,
        )  # fmt: skip
        if best is not None:
            found.schedule, found.batches = (
                schedule,
                batches_retained(self.registers.elements, best),
            )
            found.words = float(sum(best.words))
            found.value = spilled + sought.weight * found.words
        return every
