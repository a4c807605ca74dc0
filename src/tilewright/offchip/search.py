"""Finds the loop nest, block sizes and banks with the fewest spills, and proves that none has less.

Two walks. The first looks at bounds alone and ends at the nest with the least one. The value of
that nest, simulated, is often its bound: then nothing is better. Otherwise the second walk
simulates every nest whose bound is below the best value so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf

import numpy as np

from tilewright.errors import InputError, NoMappingError
from tilewright.offchip.nest import Array, Nest
from tilewright.offchip.spills.belady import Loops
from tilewright.offchip.spills.exact import NO_BLOCK, box_words, collapsed, least_spills, spills
from tilewright.offchip.spills.moves import Floats, block_words
from tilewright.offchip.walk import (
    AT_NEST,
    ENDED,
    NODES,
    Space,
    State,
    advance,
    nest_bound,
    nest_loops,
    open_bound,
    skip,
    space,
    start,
)

BUDGET = 5_000
LESS = 0.5  # values are whole numbers

Evaluate = Callable[[Nest, int, Loops, int, int], int]


@dataclass(frozen=True)
class Schedule:
    """A loop nest over blocks and the banks of each tensor.

    Attributes
    ----------
    loops : tuple of (dimension, block size)
        From outermost to innermost, by number; other dimensions are whole in every block.
    banks : tuple of int
        Banks of each tensor.
    spills : tuple of int
        Spilled words of each tensor.
    """

    loops: tuple[tuple[int, int], ...]
    banks: tuple[int, ...]
    spills: tuple[int, ...]


@dataclass
class Found:
    """What a search knows.

    Attributes
    ----------
    schedule : Schedule or None
        The best one so far.
    value, bound : float
        Its spills in DRAM words (twice those of the output), and what no schedule goes below.
    unknown : float
        Least bound of the nests that were too long to simulate.
    nodes, simulated : int
        Partial nests that were bounded, and nests that were simulated.
    """

    schedule: Schedule | None = None
    value: float = inf
    bound: float = 0.0
    unknown: float = inf
    nodes: int = 0
    simulated: int = 0


def search(
    nest: Nest,
    bank: int,
    banks: int,
    stop: Callable[[], bool] = lambda: False,
    told: Callable[[float, float], None] = lambda value, bound: None,
    found: Found | None = None,
    whole: Sequence[int] = (),
) -> Found:
    """Return the schedule with the fewest spills; when stopped, the best one so far.

    Parameters
    ----------
    nest : Nest
    bank, banks : int
        Words of a bank, and how many there are.
    stop : callable
        Asked now and then whether to end.
    told : callable
        Told the best value and the bound whenever one of them improves.
    found : Found, optional
        Where the results go as they are found, for whoever interrupts the search.
    whole : sequence of int
        Dimensions that have no loop.

    Raises
    ------
    NoMappingError
        When the banks do not suffice for one word of each tensor.
    """
    found = found or Found()
    if banks < len(nest.words):
        raise NoMappingError(
            f"{banks} banks cannot hold {len(nest.words)} tensors: each takes one at least"
        )
    known: dict[tuple[object, ...], int] = {}
    room = space(nest, bank, banks, whole)
    if room.loops == 0:
        keep(nest, room, (), first_nest(nest, room)[2], found, known, spills_from)
        found.bound = found.value
        return found
    state = start(room)
    chosen: tuple[float, Loops, Floats] | None = None
    while (status := advance(least_so_far(chosen), BUDGET, room, state)) != ENDED:
        found.nodes = int(state.flags[NODES])
        if status == AT_NEST:
            chosen = nest_bound(state), nest_loops(state), state.curves[room.loops].copy()
        elif stop():
            found.bound = min(open_bound(state), least_so_far(chosen))
            chosen = chosen or first_nest(nest, room)
            keep(nest, room, chosen[1], chosen[2], found, known, spills_from)
            told(found.value, found.bound)
            return found
    if chosen is None:
        return found
    found.bound = rounded_up(chosen[0])
    keep(nest, room, chosen[1], chosen[2], found, known, spills_from)
    told(found.value, found.bound)
    if found.value <= found.bound:
        return found
    nodes = found.nodes
    # every nest below the value comes again
    found.unknown = inf
    held: dict[Loops, float] = {}
    state = start(room)
    while (status := advance(found.value - LESS, BUDGET, room, state)) != ENDED:
        found.nodes = nodes + int(state.flags[NODES])
        below = min(open_bound(state), nest_bound(state) if status == AT_NEST else inf)
        found.bound = min(max(found.bound, rounded_up(below)), found.value)
        if stop():
            return found
        if status == AT_NEST:
            loops = nest_loops(state)
            hopeless = hopeless_loops(nest, room, loops, state, found.value - LESS, held)
            if hopeless < len(loops):
                skip(state, hopeless)
                continue
            bounds = state.curves[room.loops].copy()
            keep(nest, room, loops, bounds, found, known, whole_simulation)
            told(found.value, found.bound)
    found.bound = min(found.value, max(found.bound, rounded_up(found.unknown)))
    return found


def hopeless_loops(
    nest: Nest, room: Space, loops: Loops, state: State, limit: float, known: dict[Loops, float]
) -> int:
    """Return with how many of its loops a nest begins that no nest below the limit begins with.

    All of them when there is no such beginning. The last but one is not looked at: to simulate it
    takes as long as to simulate the nest.
    """
    for depth in range(1, len(loops) - 1):
        outer = loops[:depth]
        if outer not in known:
            known[outer] = held_bound(nest, room, outer, state.curves[depth], limit)
        if known[outer] >= limit:
            return depth
    return len(loops)


def held_bound(nest: Nest, room: Space, loops: Loops, bounds: Floats, limit: float) -> float:
    """Return what no nest goes below that begins with some loops, or something from the limit up.

    What is held between the steps of these loops is simulated as far as it matters.
    """
    curves = bounds.copy()
    curves[:, 0] = inf
    simulated: set[tuple[int, int]] = set()
    while True:
        value, shares = best_division(curves)
        left = [(t, share) for t, share in enumerate(shares) if (t, share) not in simulated]
        if value >= limit or not left:
            return value
        t, share = left[0]
        try:
            spilled = least_spills(nest, t, loops, share * room.bank)
        except InputError:
            return value
        simulated.add((t, share))
        curves[t, share] = max(curves[t, share], nest.weights[t] * spilled)


def least_so_far(chosen: tuple[float, Loops, Floats] | None) -> float:
    """Return what the bound of a better nest is below."""
    return inf if chosen is None else chosen[0] - LESS


def rounded_up(bound: float) -> float:
    """Return a bound on whole numbers as one, floating-point rounding aside."""
    return bound if bound == inf else float(ceil(bound - 1e-6 * max(1.0, bound * 1e-6)))


def first_nest(nest: Nest, room: Space) -> tuple[float, Loops, Floats]:
    """Return a nest of large blocks that fit: what there is when there was no time.

    Blocks are cut, step by step, along the dimension that leaves the smallest ones.
    """
    places = room.choices.copy()
    blocks = nest.bounds.copy()

    def needed() -> tuple[int, int]:
        words = [
            int(block_words(t, blocks, nest.expressions, nest.axes)) for t in range(len(nest.words))
        ]
        return sum(-(-each // room.bank) for each in words), sum(words)

    while needed()[0] > room.banks:
        cuts = []
        for d in np.flatnonzero(places).tolist():
            before = int(blocks[d])
            blocks[d] = room.sizes[d, places[d] - 1]
            cuts.append((needed(), d))
            blocks[d] = before
        _, d = min(cuts)
        places[d] -= 1
        blocks[d] = room.sizes[d, places[d]]
    loops = tuple((d, int(blocks[d])) for d in range(len(blocks)) if blocks[d] < nest.bounds[d])
    return 0.0, loops, np.zeros((len(nest.words), room.banks + 1))


def keep(
    nest: Nest,
    room: Space,
    loops: Loops,
    bounds: Floats,
    found: Found,
    known: dict[tuple[object, ...], int],
    evaluate: Evaluate,
) -> None:
    """Simulate a nest as far as its bounds leave it open, and keep it if it is better.

    Banks are divided by what is known: bounds, and spills where they have been simulated. Once
    the best division is one of simulated spills alone, no division of this nest is better.
    """
    curves = bounds.copy()
    for t, words in enumerate(block_sizes_of(nest, loops)):
        curves[t, : -(-words // room.bank)] = inf
    found.simulated += 1
    exact: dict[tuple[int, int], int] = {}
    # inputs that slide take longest to simulate
    order = sorted(range(len(curves)), key=lambda t: bool(nest.sliding[t].any()))
    while True:
        value, shares = best_division(curves)
        if value >= found.value:
            return
        open_ones = [t for t in order if (t, shares[t]) not in exact]
        if not open_ones:
            break
        t = open_ones[0]
        share = shares[t]
        least = round(curves[t, share] / nest.weights[t])
        key = (t, share, tuple(collapsed(nest, t, loops, share * room.bank, nest.bounds)))
        if key not in known:
            try:
                known[key] = evaluate(nest, t, loops, share * room.bank, least)
            except InputError:
                # without its innermost loop it is shorter, and not better
                found.unknown = min(found.unknown, value)
                keep(nest, room, loops[:-1], bounds, found, known, evaluate)
                return
        exact[t, share] = known[key]
        spilled = known[key]
        curves[t, share] = inf if spilled == NO_BLOCK else spilled * nest.weights[t]
    found.value = float(value)
    found.schedule = Schedule(
        tuple((int(d), int(b)) for d, b in loops),
        tuple(shares),
        tuple(exact[t, share] for t, share in enumerate(shares)),
    )


def block_sizes_of(nest: Nest, loops: Loops) -> list[int]:
    """Return the words of the largest block of each tensor."""
    return [box_words(nest, t, loops, len(loops), nest.bounds) for t in range(len(nest.words))]


def spills_from(nest: Nest, tensor: int, loops: Loops, capacity: int, least: int) -> int:
    """Return the spills of a tensor, of which a lower bound is known.

    Leaving inner loops out, so that their dimensions are whole in the block, never makes spills
    fewer: where that reaches the bound, the longer simulation is not needed.
    """
    for depth in range(1, len(loops)):
        outer = loops[:depth]
        if box_words(nest, tensor, outer, depth, nest.bounds) <= capacity:
            spilled = spills(nest, tensor, outer, capacity)
            if spilled == least:
                return spilled
    return spills(nest, tensor, loops, capacity)


def whole_simulation(nest: Nest, tensor: int, loops: Loops, capacity: int, least: int) -> int:
    """Return the spills of a tensor whose bound is not expected to be reached."""
    return spills(nest, tensor, loops, capacity)


def best_division(curves: Floats) -> tuple[float, list[int]]:
    """Divide banks among tensors: the least sum of any curves, one bank or more for each."""
    total = curves.shape[1] - 1
    sums = np.full(total + 1, inf)
    sums[1:] = curves[0, 1:]
    choices: list[Array] = []
    for curve in curves[1:]:
        more = np.full(total + 1, inf)
        choice = np.ones(total + 1, np.int64)
        for banks in range(2, total + 1):
            options = sums[banks - 1 : 0 : -1] + curve[1:banks]
            at = int(np.argmin(options))
            more[banks], choice[banks] = options[at], at + 1
        sums = more
        choices.append(choice)
    shares, left = [], total
    value = float(sums[total])
    for choice in reversed(choices):
        shares.append(int(choice[left]))
        left -= shares[-1]
    return value, [left, *reversed(shares)]


def simplified(nest: Nest, schedule: Schedule, bank: int) -> Schedule:
    """Return a schedule with the same spills and as few inner loops as possible."""
    for depth in range(len(schedule.loops)):
        loops = schedule.loops[:depth]
        sizes = block_sizes_of(nest, loops)
        if all(w <= n * bank for w, n in zip(sizes, schedule.banks, strict=True)):
            try:
                spilled = tuple(
                    spills(nest, t, loops, n * bank) for t, n in enumerate(schedule.banks)
                )
            except InputError:
                # larger blocks may take longer to simulate
                continue
            if spilled == schedule.spills:
                return Schedule(loops, schedule.banks, spilled)
    return schedule
