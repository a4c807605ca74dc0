"""The best mapping of any tile sizes so far, and what else is tried to find a better one.

Mappings to begin with come from promising tiles of the enumerated bound, from what the bound of all
memories together stands for, and from layers with rounder bounds or one spatial choice, which are
annealed. Each is improved by changing one or two tile sizes at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import inf

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.kernels.types import Ints
from tilewright.mapper.heuristics.open_loops import closed, drawn, in_any_order, opened, storing
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.relaxations.nests.tiles_to_mapping import BothSides, mappings_of
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import (
    MOST_PROGRAMS,
    RegularBounds,
)
from tilewright.mapper.search.all_sizes.climbing import allowed, climb
from tilewright.mapper.search.all_sizes.rounder_layers import (
    cut_down,
    rounder_layers,
    with_a_choice,
)
from tilewright.mapping.nodes import Mapping
from tilewright.model.batch import evaluate_batch
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

STARTS = 3  # mappings with promising tiles that are improved, and as many that are too large
MOST_PROMISING, BY_PAIRS = 4, 2  # tiles, and mappings of each of which two sizes are changed
BOUNDED, MORE = 8, 40  # mappings that a bound stands for, and with one array or at the end
ROUNDER = 8  # layers with rounder bounds that are searched
CHOICES, EARLY = 8, 4  # spatial choices with which it is looked for, and the first of these
SUMS = 1 << 18  # of bounds, before other starting points are looked at
RISES = 1.0005  # times the bound before: as long as it does, more of these are solved
PROGRAMS = 1 << 8  # the same, for memories together
CLOSER = 0.05  # part of the way to the best value: as long as it does, more of these are solved
HALFWAY = 0.6  # from the joint bound to the best value: past a bound beyond that it seldom rises
NEAR = 0.99  # of the best value: a bound above it is not worth the time that takes
WORTH_ONE = 0.0004  # part of the best value that a bound is below it, for one more layer
MOST_AT_LAST = 128  # layers that are annealed for that
TURNS = 4  # that better mappings found for a bound make it worth to go on
FAR = 0.75  # of the best value: with a bound below it, other starting points may be much better
DRAWN = 1 << 12  # mappings for each
ANEW = 6  # of all that are drawn those that are improved


@dataclass
class BestOfAllSizes:
    """The best mapping so far, and from where it has been looked for."""

    layer: Layer
    architecture: Architecture
    objective: str
    stop: Callable[[], bool]
    mapping: Mapping
    value: float
    begun: set[Hashable] = field(default_factory=set)
    tried: set[tuple[int, ...]] = field(default_factory=set)  # rounder layers
    choices: set[bytes] = field(default_factory=set)  # spatial choices
    polished: Mapping | None = None  # the one of which two tile sizes at a time were changed last

    @cached_property
    def goal(self) -> Objective:
        """What is minimised."""
        return parse_objective(self.objective)

    def reaches(self, bound: float) -> bool:
        """Whether nothing can be better."""
        return bound >= self.value * (1 - TIE)

    def begin(self, start: Mapping) -> float:
        """Return the value of a mapping, which may be too large."""
        cost = evaluate(self.layer, self.architecture, start, check=False)
        return self.goal.value(cost.energy_pj, float(cost.cycles))

    def climb_from(self, start: Mapping, pairs: bool = False) -> bool:
        """Climb from another mapping, which may be too large, unless constraints exclude it.

        One of a value that has been tried, with axes in the same order, is the same with dimensions
        in each other's places: it is left out, and False is returned. But one that is too large may
        cost what one that fits does.
        """
        fits = allowed(start, self.layer, self.architecture)
        if self.architecture.statements and not fits:
            return False
        kinds = tuple(getattr(node, "axis", type(node)) for node in start.nodes)
        begin = self.begin(start), kinds, fits, pairs
        if begin in self.begun:
            return False
        self.begun.add(begin)
        self.climb(start, pairs)
        return True

    def climb_from_tiles(self, tiles: Sequence[BothSides], bound: float) -> None:
        """Climb from the best mappings with promising tiles, unless the best reaches a bound."""
        if self.reaches(bound) or self.stop():
            return
        starts = [
            (own, start)
            for own in tiles
            for start in mappings_of(own, self.layer, self.architecture)
        ]
        begun = [0, 0]
        for own, start in sorted(starts, key=lambda pair: self.begin(pair[1])):
            # its value is the least of such mappings
            better = own.value < self.value and not self.reaches(bound)
            # those that are too large cost less, and would take the place of others
            fits = allowed(start, self.layer, self.architecture)
            if better and not self.stop() and begun[fits] < STARTS:
                begun[fits] += self.climb_from(start)

    def climb_by_pairs(self, tiles: Sequence[BothSides], bound: float) -> None:
        """Change two tile sizes at a time of some mappings with the most promising tiles."""
        for own in tiles[:MOST_PROMISING]:
            begun = [0, 0]
            for start in mappings_of(own, self.layer, self.architecture):
                if self.reaches(bound) or self.stop():
                    return
                fits = allowed(start, self.layer, self.architecture)
                if begun[fits] < BY_PAIRS:
                    begun[fits] += self.climb_from(start, pairs=True)

    def anneal_rounder(self, bounds: RegularBounds, several: bool) -> None:
        """Anneal layers with rounder bounds and raise bounds, by turns, until they are final.

        Where bounds have few divisors, such mappings are much better, and less has to be bounded
        below them. With several arrays the first one is always worth its time.
        """
        boxes = bounds.boxes
        if several or boxes.bound < FAR * self.value:
            self.climb_from_rounder(bounds, boxes.bound, annealed=True, most=1)
        boxes.lower(self.value, self.stop, SUMS if several else SUMS >> 2)
        if several:
            self.climb_from_joint_bound(bounds, bounds.bound, PROGRAMS)
        if bounds.bound < FAR * self.value:
            self.climb_from_rounder(bounds, bounds.bound, annealed=True)
        boxes.lower(self.value, self.stop)
        if several and not self.reaches(bounds.bound):
            self.climb_from_choices(bounds, EARLY)
            self.finish(bounds.bound)
            before = 0.0
            while bounds.bound > before * RISES and not self.reaches(bounds.bound):
                before = bounds.bound
                self.climb_from_joint_bound(bounds, before, PROGRAMS << 4)
            if self.reaches(bounds.bound):
                return
            boxes.lower(self.value, self.stop)
            boxes.refine(self.value, self.stop, SUMS)
            self.climb_from_rounder(bounds, bounds.bound, annealed=True)
            boxes.lower(self.value, self.stop, SUMS)

    def climb_from_joint_bound(
        self, bounds: RegularBounds, bound: float, most: int = MOST_PROGRAMS, starts: int = BOUNDED
    ) -> None:
        """Raise the bound of all memories together, and climb from what it stands for, by turns."""
        for _ in range(TURNS):
            if self.reaches(bound):
                return
            bounds.lower_jointly(self.value, self.stop, most)
            bound = max(bound, bounds.bound)
            before = self.value
            for start in islice(bounds.mappings(), starts):
                if self.reaches(bound) or self.stop():
                    return
                self.climb_from(start)
            if self.value == before:
                return

    def settle_jointly(self, bounds: RegularBounds, bound: float) -> float:
        """Go on with the bound of all memories together while it comes closer; return it.

        Where it is far behind a bound that is near, it would take long to get there.
        """
        behind = bound > bounds.bound + HALFWAY * (self.value - bounds.bound)
        if behind and bound > NEAR * self.value:
            return bound
        while True:
            before = bounds.bound
            self.climb_from_joint_bound(bounds, bound, starts=MORE)
            bound = max(bound, bounds.bound)
            far = self.value - before
            if self.reaches(bound) or self.stop() or bounds.bound - before < CLOSER * far:
                return bound
            bounds.allow(PROGRAMS << 5)

    def climb_from_rounder(
        self, bounds: RegularBounds, bound: float, annealed: bool = False, most: int = ROUNDER
    ) -> None:
        """Climb from mappings of rounder layers until the best reaches a bound.

        Parameters
        ----------
        bounds : RegularBounds
            With the spatial choices whose instances rounder bounds are multiples of.
        annealed : bool
            Whether the layers are annealed: to search them takes long with several arrays.
        most : int
            Layers.
        """
        boxes = bounds.boxes
        least = boxes.costs.least.at(boxes.widest())
        rounder = rounder_layers(self.layer, least, boxes.values, annealed)
        self.climb_from_layers(islice(rounder, most), bound, annealed)

    def anneal_more(self, bounds: RegularBounds, bound: float) -> None:
        """Anneal more rounder layers, as many as the distance from a bound is worth."""
        far = max(0, int((1 - bound / self.value) / WORTH_ONE))
        self.climb_from_rounder(bounds, bound, annealed=True, most=min(far, MOST_AT_LAST))
        self.finish(bound)

    def climb_from_layers(self, rounder: Iterable[Layer], bound: float, annealed: bool) -> None:
        """Climb from mappings of some rounder layers until the best reaches a bound."""
        for layer in rounder:
            if self.reaches(bound) or self.stop():
                return
            tried = annealed, *layer.bounds.values()
            if tried in self.tried:
                continue
            self.tried.add(tried)
            cut = cut_down(
                layer, self.layer, self.architecture, self.objective, self.mapping, self.stop,
                annealed,
            )  # fmt: skip
            if cut is not None:
                self.climb_from(cut)

    def climb_from_choices(self, bounds: RegularBounds, most: int = CHOICES) -> None:
        """Climb from mappings with the spatial choices for which the bounds are least.

        Where a bound is not reached, one of these is often better than any that was found.
        """
        boxes = bounds.boxes
        widest = boxes.widest()
        order = np.argsort(boxes.values, kind="stable")
        single = order[boxes.are_single()[order]].tolist()
        self.anneal_choices((widest[i] for i in single), bounds.bound, most)

    def anneal_choices(self, choices: Iterable[Ints], bound: float, most: int = CHOICES) -> None:
        """Climb from mappings with spatial choices, those that are not tried yet.

        Parameters
        ----------
        choices : iterable of arrays of (arrays, dimensions)
            Elements of each array along each dimension.
        """
        for elements in choices:
            if most == 0 or self.reaches(bound) or self.stop():
                return
            tried = elements.tobytes()
            if tried in self.choices:
                continue
            self.choices.add(tried)
            most -= 1
            layer, machine = with_a_choice(self.layer, self.architecture, elements)
            cut = cut_down(
                layer, self.layer, machine, self.objective, self.mapping, self.stop, annealed=True
            )
            if cut is not None:
                self.climb_from(cut)

    def climb(self, start: Mapping, pairs: bool = True, orders: bool = False) -> None:
        """Keep what another mapping leads to if it is better."""
        mapping, value = climb(
            self.layer, self.architecture, self.goal, start, self.stop, pairs, orders
        )
        if value < self.value * (1 - TIE):
            self.mapping, self.value = mapping, value

    def finish(self, bound: float) -> None:
        """Change two tile sizes of the best mapping at a time."""
        if not self.reaches(bound) and not self.stop() and self.mapping is not self.polished:
            self.climb(self.mapping)
            self.polished = self.mapping

    def reorder(self) -> None:
        """Change two tile sizes at a time, of loops in any order: irregular mappings need that."""
        self.climb(self.mapping, orders=True)

    def begin_anew(self, keeps: Sequence[KeepChoice]) -> None:
        """Improve the best of many mappings with random tiles, which may unroll other dimensions.

        Some of them have bypass choices of their own.
        """
        rng = np.random.default_rng(0)
        own = [storing(keep, self.layer, self.architecture, rng) for keep in keeps]
        found: dict[float, Mapping] = {}
        before = self.value
        for start in (self.mapping, *own):
            if self.stop():
                return
            structure = opened(start, self.layer, self.architecture)
            structure = in_any_order(structure, self.layer)
            rows = drawn(structure, self.layer, DRAWN, rng)
            costs = evaluate_batch(self.layer, self.architecture, structure, rows)
            values = self.goal.values(costs.energy_pj, costs.cycles)
            for at in np.argsort(values, kind="stable")[:ANEW].tolist():
                if values[at] < inf:
                    found.setdefault(float(values[at]), closed(structure, rows[at], self.layer))
        starts = (found[value] for value in sorted(found))
        if self.architecture.statements:
            starts = (one for one in starts if allowed(one, self.layer, self.architecture))
        for start in islice(starts, ANEW):
            if self.stop():
                return
            self.climb(start, pairs=False, orders=True)
        if self.value < before:
            self.reorder()
