"""The closed-form bound over all spatial choices of several arrays, box by box.

The ways to unroll dimensions on several arrays are too many to look at one by one. So the choices
of each array are halved again and again, or those of each of its axes where there are too many. A
*box* has a part of the choices of each. The bound of a box takes the most elements along each
dimension, and along dimensions together, of any choice in it, so that no mapping with these choices
costs less. The box of the least bound is divided, until it has one choice of each: its bound is
then that of all. With several arrays it is divided further, by the steps in time that dimensions
take and by how full elements are; with one array where no other bound is higher.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from tilewright.kernels.types import Bools, Floats, Ints
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.relaxations.boxes.box_costs import BoxCosts, widest_of
from tilewright.mapper.relaxations.boxes.every_keep import EveryKeep
from tilewright.mapper.relaxations.boxes.halves import Halves

FIRST, BATCH = 16, 256  # boxes that are divided at once: at first, and later
FEW = 4  # boxes whose best bypass choices are counted in a better way at once
SUMS = 1 << 15  # of a bypass choice in a box, about, before time is looked at again
MOST_BOXES = 1 << 18
FIRST_LOOKS = 30  # at the box of all spatial choices, before it is divided
FEW_ALIKE = 0.02  # of bypass choices that are better alike: when fewer are, not all are looked at
EVERY = 6  # times that boxes are divided, between looks at a better way to count for the best one
ALIKE = 128  # boxes that are bounded anew in that way
HIGHER = 1.001  # times the bound before: where it was better
SIZED = 64  # boxes whose sizes are divided at once, at most
NOT_KEPT = 1 << 11  # sums of boxes of which no prices are kept that take as long as `SUMS` others
STALLED = 96  # times that sizes are divided before the bound is higher
HIGHER_SIZES = 1.0001  # times the bound before: where it is worth it to divide sizes
NOW_AND_THEN = 8  # how often they are all the same: once in so many times
CLOSE = 1e-12


class SpatialBoxes:
    """The boxes that may hold something better than a ceiling, and their bounds.

    Parameters
    ----------
    costs : BoxCosts
        What boxes cost.
    keeps : sequence of bypass choices
    objective : Objective
        What is minimised.
    finer : callable, optional
        Returns all spatial choices, where the others are only those as wide as any.
    stop : callable, optional
        Whether to begin with the first way to count that there is.

    Attributes
    ----------
    bound : float
        What all mappings cost at least, or the least ceiling so far.
    values : array of boxes
        The bound of each.
    finished : bool
        Whether the box of the least bound has one choice of each axis.
    """

    def __init__(
        self,
        costs: BoxCosts,
        keeps: Sequence[KeepChoice],
        objective: Objective,
        finer: Callable[[], Sequence[Halves]] | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.every = EveryKeep(costs.least, keeps)
        self.objective = objective
        self.finer = finer
        # with one array, bounds by enumerated tiles are mostly higher
        self.sized = len(costs.least.architecture.arrays) > 1
        self.bound = 0.0
        every = np.arange(len(self.every.keeps))
        costs.count_plain(self.every, objective, costs.boxes(1), every, stop)
        self.of_keep = self.begin(costs, every)
        self.bound = float(self.values[0])

    def begin(self, costs: BoxCosts, alive: Ints) -> Floats:
        """Begin with one box of all spatial choices, and return the bounds of bypass choices."""
        self.halves, self.costs = costs.halves, costs
        self.boxes = costs.boxes(1)
        values = self.costs.values(self.every, self.objective, self.boxes, alive)[:, 0]
        self.values = np.maximum([values.min(initial=inf)], self.bound)
        self.alive = [alive]  # bypass choices that may be better in each box
        self.best = np.array([alive[values.argmin()] if len(alive) else 0])  # of these
        self.seen: set[bytes] = set()
        same: dict[int, list[int]] = {}
        for k, each in enumerate(self.halves):
            same.setdefault(id(each), []).append(k)
        self.exchanged = [own for own in same.values() if len(own) > 1]
        self.counted: set[tuple[int, ...]] = set()
        # bypass choices of boxes that were bounded again, with their bounds
        self.bounded: dict[tuple[int, ...], tuple[Ints, Floats]] = {}
        self.alike, self.looks = 1.0, 0  # the share that is better alike, and how often one looked
        self.finished = False
        return values

    def lower(self, ceiling: float, stop: Callable[[], bool], most: float = inf) -> None:
        """Divide boxes until the least bound is that of single choices, or all reach the ceiling.

        Parameters
        ----------
        ceiling : float
            The best value so far; what costs more is of no interest.
        stop : callable
            Whether to end with the bound so far.
        most : float
            Sums of a bypass choice in a box, at most, after which to end.
        """
        self.leave_out(ceiling)
        batch = FIRST
        rounds = stalled = 0
        raised = 0.0
        while len(self.boxes) and len(self.boxes) < MOST_BOXES and most > 0:
            order = np.argsort(self.values, kind="stable")
            single = self.are_single()
            if stop():
                break
            # first of all, with one box, many bypass choices are counted in a better way
            rounds += 1
            often = len(self.boxes) == 1 and self.looks < FIRST_LOOKS
            if single[order[0]] or often or rounds % EVERY == 0:
                if self.look_again(int(order[0]), ceiling, stop):
                    continue
                if single[order[0]]:
                    if self.values[order[0]] > raised * HIGHER:
                        raised, stalled = float(self.values[order[0]]), 0
                    stalled += 1
                    some = NOT_KEPT // max(1, len(self.alive[order[0]]))
                    alone = order[: min(SIZED, max(FEW, some))]
                    alone = alone[single[alone]]
                    wanted = self.sized and stalled < STALLED
                    sums = self.divide_sizes(alone, ceiling) if wanted else 0
                    most -= sums
                    if sums > 0:
                        continue
                    break
            self.count_better(order[:FEW][~single[order[:FEW]]], stop)
            few = max(FIRST, SUMS // max(1, len(self.alive[order[0]])))
            picked = [i for i in order[: min(batch, few)].tolist() if not single[i]]
            most -= self.divide(picked, ceiling)
            batch = min(2 * batch, BATCH)
        self.bound = min(ceiling, float(self.values.min(initial=inf)))
        self.finished = len(self.boxes) == 0 or bool(self.are_single()[self.values.argmin()])

    def refine(
        self, ceiling: float, stop: Callable[[], bool], most: float = inf, *, sized: bool = True
    ) -> None:
        """Go on with all spatial choices, if the bound is that of a single one.

        Tiles hold at least what arrays further in unroll. That is known of all choices, and not of
        those that stand for others.

        Parameters
        ----------
        sized : bool
            Whether to divide single choices with one array, too: where no other bound is higher.
        """
        self.sized |= sized
        if self.finished and len(self.boxes) and self.finer is not None and not stop():
            alive = np.unique(np.concatenate(self.alive))
            self.begin(BoxCosts(self.costs.least, self.finer()), alive)
            self.finer = None
        if self.finer is None:
            self.lower(ceiling, stop, most)

    def count_better(self, some: Ints, stop: Callable[[], bool]) -> None:
        """Find a better way to count for bypass choices as soon as they are best in some box."""
        for i in some.tolist():
            keep = int(self.best[i])
            if (keep,) not in self.counted:
                self.counted.add((keep,))
                self.costs.count_best(self.every, self.objective, self.boxes[i : i + 1], keep, stop)

    def look_again(self, i: int, ceiling: float, stop: Callable[[], bool]) -> bool:
        """Count the best bypass choice of a single box in the best way; False if it is already.

        Each choice has one way to count at a time, so its bound here is kept with the box.
        """
        box, keep = self.boxes[i : i + 1], int(self.best[i])
        place = tuple(box[0].tolist())
        # of parts by how full elements are, what is best for one is best for all
        alike = (int(each.choice[p]) for each, p in zip(self.halves, place, strict=False))
        key = *alike, *place[len(self.halves) :]
        if (keep, *key) in self.counted:
            return False
        self.counted.add((keep, *key))
        before = float(self.values[i])
        if place not in self.bounded:
            own = self.alive[i]
            values = self.costs.values(self.every, self.objective, box, own)[:, 0]
            self.bounded[place] = own, np.maximum(values, self.values[i])
        own, values = self.bounded[place]
        self.costs.count_best(self.every, self.objective, box, keep, stop)
        new = own == keep
        # what is better for one is often better for many others
        self.looks += 1
        if self.alike > FEW_ALIKE or self.looks % NOW_AND_THEN == 0:
            least = self.costs.at(box)
            better = self.every.count_alike(least, self.objective, own, keep, least.crossing)
            self.alike = (self.alike + better.mean()) / 2
            new |= better
        counted = self.costs.values(self.every, self.objective, box, own[new])[:, 0]
        values[new] = np.maximum(values[new], counted)
        self.values[i], self.best[i] = values.min(), own[values.argmin()]
        stays = values < ceiling
        self.alive[i] = own[stays]
        self.bounded[place] = own[stays], values[stays]
        if self.values[i] > before * HIGHER:
            self.spread(keep, float(self.values[i]), ceiling)
        self.leave_out(ceiling)
        return True

    def spread(self, keep: int, reached: float, ceiling: float) -> None:
        """Bound boxes anew that are best with a bypass choice which has another way to count.

        Those below the bound that a box reached with it come next, and are often like that one.
        """
        low = np.flatnonzero((self.best == keep) & (self.values < reached))
        low = low[np.argsort(self.values[low], kind="stable")]
        most = max((len(self.alive[i]) for i in low[:ALIKE].tolist()), default=1)
        some = low[: min(ALIKE, SUMS // max(1, most))]
        places = [tuple(box) for box in self.boxes[some].tolist()]
        some = some[[place not in self.bounded for place in places]]
        if len(some) == 0:
            return
        keeps = np.unique(np.concatenate([self.alive[i] for i in some]))
        values = self.costs.values(self.every, self.objective, self.boxes[some], keeps)
        for i, counted in zip(some.tolist(), values.T, strict=True):
            own = self.alive[i]
            new = np.maximum(counted[np.searchsorted(keeps, own)], self.values[i])
            self.values[i], self.best[i] = new.min(), own[new.argmin()]
            self.alive[i] = own[new < ceiling]

    def leave_out(self, ceiling: float) -> None:
        """Leave out the boxes that reach a ceiling."""
        low = self.values < ceiling * (1 - CLOSE)
        if low.all():
            return
        self.alive = [own for own, stays in zip(self.alive, low.tolist(), strict=True) if stays]
        self.boxes, self.values, self.best = self.boxes[low], self.values[low], self.best[low]

    def divide(self, picked: Sequence[int], ceiling: float) -> int:
        """Divide some boxes, leave out what reaches a ceiling, and return the number of sums."""
        children = divided(self.boxes[picked], self.halves)
        new = self.not_seen(children)
        if not new.any():
            self.values[picked] = inf
            self.leave_out(ceiling)
            return len(new)
        return self.replace(picked, np.repeat(picked, 2)[new], children[new], ceiling)

    def divide_sizes(self, some: Ints, ceiling: float) -> int:
        """Divide boxes of single choices by steps in time, or by how full elements are.

        Each is divided along its best dimension. Return the number of sums, or 0 where that does
        not raise the bound of the first one.
        """
        ways = [(i, two) for i in some.tolist() for two in self.costs.parts(self.boxes[i])]
        if not ways:
            return 0
        boxes = np.concatenate([two for _, two in ways])
        keeps = np.unique(self.best[some])
        values = self.costs.values(self.every, self.objective, boxes, keeps)
        own = np.array([i for i, _ in ways])
        values = values.reshape(len(keeps), len(ways), 2)
        values = values[np.searchsorted(keeps, self.best[own]), np.arange(len(ways))]
        values = np.minimum(np.maximum(values, self.values[own][:, None]), ceiling)
        picked, parts = [], []
        for i in some.tolist():
            # the one whose worse part is best, or whose better one is
            mine = np.flatnonzero(own == i)
            order = np.lexsort((-values[mine].max(axis=1), -values[mine].min(axis=1)))
            if len(mine) and values[mine[order[0]]].max() > self.values[i] * HIGHER_SIZES:
                picked.append(i)
                parts += [2 * mine[order[0]], 2 * mine[order[0]] + 1]
        if some[0] not in picked:
            return 0
        sums = self.replace(picked, np.repeat(picked, 2), boxes[parts], ceiling)
        return sums + len(boxes) * len(keeps)

    def replace(self, picked: Sequence[int], own: Ints, children: Ints, ceiling: float) -> int:
        """Bound parts of some boxes in their place, and return the number of sums.

        Parameters
        ----------
        picked : sequence of int
        own : array of parts
            The box of each.
        """
        some = np.unique(np.concatenate([self.alive[i] for i in picked]))
        values = self.costs.values(self.every, self.objective, children, some)
        values = np.maximum(values, self.values[own])
        self.values[picked] = inf
        self.boxes = np.concatenate((self.boxes, children))
        self.best = np.concatenate((self.best, some[values.argmin(axis=0)]))
        self.values = np.concatenate((self.values, values.min(axis=0)))
        self.alive += [some[values[:, i] < ceiling] for i in range(len(children))]
        self.leave_out(ceiling)
        return int(values.size)

    def not_seen(self, boxes: Ints) -> Bools:
        """Return which boxes are new, and not another one with the axes of an array exchanged."""
        rows = boxes.copy()
        for own in self.exchanged:
            rows[:, own] = np.sort(rows[:, own], axis=1)
        keys = [row.tobytes() for row in rows]
        # of boxes here that are alike, one is new
        last = {key: i for i, key in enumerate(keys) if key not in self.seen}
        self.seen.update(last)
        new = np.zeros(len(boxes), bool)
        new[list(last.values())] = True
        return new

    def are_single(self) -> Bools:
        """Return whether boxes have one choice of each axis."""
        ranges = [each.ranges[self.boxes[:, k]] for k, each in enumerate(self.halves)]
        single = np.array(ranges).reshape(len(self.halves), len(self.boxes)) == 0
        return np.asarray(single.all(axis=0))

    def keeps(self, apart: bool = False) -> list[tuple[float, KeepChoice]]:
        """Return the bypass choices that may be better than the ceiling, with their bounds.

        Parameters
        ----------
        apart : bool
            Whether each is bounded in all boxes that are left, which takes longer.
        """
        some = np.unique(np.concatenate([*self.alive, np.zeros(0, np.int64)])).astype(np.int64)
        if len(some) == 0:
            return []
        least = np.maximum(self.of_keep[some], self.bound)
        if apart:
            order = np.argsort(self.values, kind="stable")
            first, others = order[:BATCH], order[BATCH:]
            values = self.costs.values(self.every, self.objective, self.boxes[first], some)
            own = np.maximum(values, self.values[first]).min(axis=1)
            least = np.maximum(least, np.minimum(own, self.values[others].min(initial=inf)))
        keeps = [self.every.keeps[i] for i in some.tolist()]
        return list(zip(least.tolist(), keeps, strict=True))

    def widest(self) -> Ints:
        """Return the most elements along each dimension, box by box and array by array."""
        least = self.costs.least
        return widest_of(least.layer, self.halves, self.boxes, len(least.architecture.arrays))


def divided(boxes: Ints, halves: Sequence[Halves]) -> Ints:
    """Return the two parts of each box, along the axis whose choices differ most."""
    ranges = np.array([each.ranges[own] for each, own in zip(halves, boxes.T, strict=False)])
    parts = np.repeat(boxes, 2, axis=0)
    for i, k in enumerate(ranges.argmax(axis=0).tolist()):
        parts[2 * i : 2 * i + 2, k] = halves[k].children[boxes[i, k]]
    return parts
