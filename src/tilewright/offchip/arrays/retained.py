"""Fewest words of an array whose registers retain, for given blocks.

Where there are few ways to work off a block all of them are counted. Otherwise the search goes from
one schedule to a better one beside it: another place of a loop, a dimension with more or fewer
batches, elements given from one dimension to another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, permutations, product
from math import inf

import numpy as np

from tilewright.offchip.arrays.array import Batches, box_words
from tilewright.offchip.arrays.extents import Elements, spread_vectors, spreads
from tilewright.offchip.arrays.registers import MOST_USES, Schedule, array_words, loops_of, uses
from tilewright.offchip.nest import Array, Nest
from tilewright.offchip.search import best_division
from tilewright.offchip.spills.moves import Floats

MOST_WAYS = 4_000  # to work off a block, that are all counted
MOST_TRIED = 1_000  # schedules that are counted where there are more
BUDGET = 100_000_000  # uses of words that a search simulates
OWN_COST = 2_000  # uses that take as long as a schedule takes besides


@dataclass(frozen=True)
class Retained:
    """How blocks are worked off, and what that moves.

    Attributes
    ----------
    schedule : Schedule
    shares : tuple of int
        Registers of each element for each tensor.
    words : tuple of int
        Words of each tensor between memory and array, in all blocks.
    """

    schedule: Schedule
    shares: tuple[int, ...]
    words: tuple[int, ...]


@dataclass
class Registers:
    """Counts schedules of one layer on one array, each of them once.

    Attributes
    ----------
    nest : Nest
    elements : Elements
    left : int
        Uses of words that may still be simulated.
    complete : bool
        Whether no schedule was too long to simulate.
    """

    nest: Nest
    elements: Elements
    left: int = BUDGET
    complete: bool = True
    counted: dict[tuple[object, ...], float] = field(default_factory=dict)

    def words(self, tensor: int, schedule: Schedule, share: int) -> float:
        """Return the words of a tensor that move; infinite when that is too long to simulate."""
        looping = loops_of(self.nest, tensor, schedule, np.array(schedule.blocks))
        relevant = np.flatnonzero(self.nest.relevant[tensor])
        key = (
            tensor, share, schedule.blocks, tuple(looping),
            tuple(schedule.extents[d] for d in looping),
            tuple((schedule.elements[d], schedule.box[d]) for d in relevant),
        )  # fmt: skip
        if key not in self.counted:
            many = uses(self.nest, tensor, schedule)
            words = inf
            if many <= min(self.left, MOST_USES):
                self.left -= many
                words = float(array_words(self.nest, tensor, schedule, share))
            else:
                self.complete = False
            self.counted[key] = words
        return self.counted[key]

    def boxes(self, box: tuple[int, ...]) -> list[int]:
        """Return the words of each tensor in a box."""
        return box_words(self.nest, np.array(box))

    def divided(
        self, schedule: Schedule, least: Floats, below: float, every: bool
    ) -> Retained | None:
        """Return a schedule with the best shares; none when it does not move fewer words.

        Parameters
        ----------
        schedule : Schedule
        least : array of float
            Words of each tensor that move in any case.
        below : float
            What the words of all tensors must be below.
        every : bool
            Whether to count every division that may be the best one. If not, a tensor never moves
            fewer words with fewer registers: that holds in each element, but elements along a
            window share what they miss.
        """
        self.left -= OWN_COST
        boxes = self.boxes(schedule.box)
        if sum(boxes) > self.elements.registers or least.sum() >= below:
            return None
        curves = np.repeat(least[:, None], self.elements.registers + 1, axis=1)
        for t, words in enumerate(boxes):
            curves[t, :words] = inf
        along = np.array(schedule.elements) > 1
        exact: set[tuple[int, int]] = set()
        while True:
            value, shares = best_division(curves)
            if value >= below:
                return None
            left = [(t, share) for t, share in enumerate(shares) if (t, share) not in exact]
            if not left:
                return Retained(
                    schedule, tuple(shares), tuple(int(curves[t, n]) for t, n in enumerate(shares))
                )
            t, share = left[0]
            moved = self.words(t, schedule, share)
            exact.add((t, share))
            if every and (self.nest.sliding[t] & along).any():
                curves[t, share] = moved
            else:
                np.maximum(curves[t, : share + 1], moved, out=curves[t, : share + 1])


def least_retained(
    registers: Registers,
    blocks: tuple[int, ...],
    least: Floats,
    below: float,
    begin: Schedule,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[Retained | None, bool]:
    """Return the best way to work off blocks that moves fewer words, and whether all were counted.

    Parameters
    ----------
    registers : Registers
    blocks : tuple of int
    least : array of float
        Words of each tensor that move in any case.
    below : float
        What the words of all tensors must be below.
    begin : Schedule
        Where to begin when there are too many ways.
    stop : callable
        Asked now and then whether to end.
    """
    best: Retained | None = None
    if registers.left <= 0:
        return None, False
    every = list(islice(ways(registers, blocks), MOST_WAYS + 1))
    if len(every) <= MOST_WAYS:
        for schedule in every:
            found = registers.divided(schedule, least, below, True)
            if found is not None:
                best, below = found, sum(found.words)
            if registers.left <= 0 or stop():
                return best, False
        return best, registers.complete
    tried, here = 0, begin
    found = registers.divided(begin, least, below, False)
    if found is not None:
        best, below = found, sum(found.words)
    while True:
        for schedule in beside(registers, here):
            tried += 1
            found = registers.divided(schedule, least, below, False)
            if found is not None:
                best, below, here = found, sum(found.words), schedule
                break
            if tried >= MOST_TRIED or registers.left <= 0 or stop():
                return best, False
        else:
            return best, False


def ways(registers: Registers, blocks: tuple[int, ...]) -> Iterator[Schedule]:
    """Yield every way to work off blocks: elements, boxes that fit, orders of loops."""
    elements, dims = registers.elements, range(len(blocks))
    seen: set[tuple[int, ...]] = set()
    for tall in spread_vectors(blocks, elements.rows):
        for wide in spread_vectors(blocks, elements.columns):
            many = tuple(a * b for a, b in zip(tall, wide, strict=True))
            if many in seen or any(a > 1 and b > 1 for a, b in zip(tall, wide, strict=True)):
                continue
            seen.add(many)
            for box in fitting(registers, [-(-b // n) for b, n in zip(blocks, many, strict=True)]):
                looping = [d for d in dims if many[d] * box[d] < blocks[d]]
                for order in permutations(looping):
                    yield Schedule(blocks, many, box, order)


def fitting(
    registers: Registers, most: Sequence[int], begin: tuple[int, ...] = ()
) -> Iterator[tuple[int, ...]]:
    """Yield the boxes that fit the registers, up to some sizes; a larger one takes more words."""
    if len(begin) == len(most):
        yield begin
        return
    for size in range(1, most[len(begin)] + 1):
        box = (*begin, size)
        if sum(registers.boxes(box + (1,) * (len(most) - len(box)))) > registers.elements.registers:
            break
        yield from fitting(registers, most, box)


def beside(registers: Registers, schedule: Schedule) -> Iterator[Schedule]:
    """Yield schedules that differ in one thing."""
    blocks, many, order = schedule.blocks, schedule.elements, schedule.order
    for at, d in enumerate(order):
        if schedule.extents[d] >= blocks[d]:
            continue
        others = order[:at] + order[at + 1 :]
        for place in range(len(order)):
            if place != at:
                yield replace(schedule, order=(*others[:place], d, *others[place:]))
    sizes = [nearby(blocks[d], many[d], schedule.box[d]) for d in range(len(blocks))]
    for d, (less, more) in enumerate(sizes):
        for size in (*more, *less):
            wider = changed(schedule, {d: size})
            yield wider
            if size > schedule.box[d]:
                for e, (other, _) in enumerate(sizes):
                    if e != d:
                        yield from (changed(wider, {e: fewer}) for fewer in other)
    elements = registers.elements
    side = max(elements.rows, elements.columns)
    most = tuple(min(b, side) for b in blocks)
    for both in spreads(most, elements.rows, elements.columns):
        spread = tuple(int(n) for n in both.prod(axis=0))
        if 0 < sum(a != b for a, b in zip(spread, many, strict=True)) <= 2:
            box = tuple(-(-e // n) for e, n in zip(schedule.extents, spread, strict=True))
            yield replace(schedule, elements=spread, box=box)


def nearby(block: int, many: int, box: int) -> tuple[list[int], list[int]]:
    """Return the next smaller and the next larger box with another number of batches."""
    share = -(-block // many)
    batches = -(-share // box)
    less = [-(-share // (batches + 1))] if box > 1 else []
    more = [-(-share // (batches - 1))] if batches > 1 else []
    return [min(size, box - 1) for size in less], more


def changed(schedule: Schedule, sizes: dict[int, int]) -> Schedule:
    """Return a schedule with other boxes."""
    return replace(schedule, box=tuple(sizes.get(d, n) for d, n in enumerate(schedule.box)))


def batches_retained(elements: Elements, found: Retained) -> Batches:
    """Return how blocks are worked off, with the dimensions on the sides of the array."""
    schedule = found.schedule
    many = np.array(schedule.elements)
    for rows in product((False, True), repeat=len(many)):
        sides: Array = np.array([np.where(rows, many, 1), np.where(rows, 1, many)])
        if (sides.prod(axis=1) <= (elements.rows, elements.columns)).all():
            break
    return Batches(
        found.words, sides, np.array(schedule.box), schedule.order, found.shares, retains=True
    )
