"""What has been decided of the stays of a bypass choice, and what it costs then at least."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.relaxations.boxes.boxes_left import Floors
from tilewright.mapper.relaxations.joint.assumption import Assumption
from tilewright.mapper.relaxations.joint.extents import Extents
from tilewright.mapper.relaxations.joint.interior_point import least_value
from tilewright.mapper.relaxations.joint.program import NodeLimits, span
from tilewright.mapper.relaxations.joint.ranges import (
    PartLimits,
    Ratios,
    Times,
    Total,
    line_places,
)
from tilewright.mapper.relaxations.joint.windows.words import Slide

EMPTY = 1e-9
BEYOND = 60.0  # logarithm of more steps than there are
WHOLE = 1e-6  # of a number that may be whole but for rounding


class BoundNode(NamedTuple):
    """What has been decided, and the solution.

    Attributes
    ----------
    bound : float
        Logarithm of what mappings of this kind cost at least.
    ranges : array of (2, variables)
    inside, runs : sets
        As for `Assumption`.
    slides : dict of int to Slide
    parts : tuple of int
        The part of each of the halves.
    point : array of variables
        Logarithms, where the bound is reached.
    """

    bound: float
    ranges: Floats
    inside: frozenset[tuple[int, int]]
    runs: frozenset[tuple[int, int, bool]]
    slides: dict[int, Slide]
    parts: tuple[int, ...]
    point: Floats


class Nodes:
    """The nodes of one bypass choice.

    Parameters
    ----------
    extents : Extents
    ceiling : float
        A value above which nothing is of interest.
    floors : Floors
        What parts of spatial choices cost at least, as far as that is known.

    Attributes
    ----------
    none : BoundNode or None
        Where nothing is decided or known, unless no mapping costs less than the ceiling.
    ceiling : float
        Its logarithm, of what the program minimises.
    solved : int
        How many programs were solved.
    """

    def __init__(self, extents: Extents, ceiling: float, floors: Floors) -> None:
        self.extents, self.floors = extents, floors
        self.first = extents.limits.first.tolist()
        self.start = extents.limits.start.tolist()
        self.powers = np.zeros(len(extents.program.low))
        energy, cycles = extents.objective.powers
        self.powers[extents.energy], self.powers[extents.cycles] = energy, cycles
        self.solved = 0
        self.ceiling = self.logarithm(ceiling)
        self.of_parts: dict[tuple[int, int], PartLimits] = {}
        self.times = Times.of(extents)
        self.ratios = Ratios(extents)
        self.lines = [(own, *line_places(extents, own)) for own in extents.negative]
        less = {own.limit: own for own in extents.negative}
        self.totals = [
            Total(extents, variable, limit, less.get(limit))
            for variable in (extents.cycles, extents.energy)
            for limit in extents.sums[variable]
        ]
        self.none = self.begin()

    def lower(self, ceiling: float) -> None:
        """Let nothing above a lower ceiling be of interest."""
        self.ceiling = min(self.ceiling, self.logarithm(ceiling))

    def logarithm(self, value: float) -> float:
        """Return what a value is in the program."""
        power, less = self.extents.objective.powers[0], self.extents.less
        if less:
            return float(power * np.log(value ** (1 / power) + less))
        return float(np.log(value))

    def value(self, bound: float) -> float:
        """Return the value of a bound."""
        power, less = self.extents.objective.powers[0], self.extents.less
        if less:
            return float(max(0.0, np.exp(bound / power) - less) ** power)
        return float(np.exp(bound))

    def begin(self) -> BoundNode | None:
        """Return the node of all mappings, with the ranges of energy and cycles."""
        extents = self.extents
        ranges = np.array([extents.program.low, extents.program.high])
        self.limit(ranges)
        none = BoundNode(
            bound=-inf,
            ranges=ranges,
            inside=frozenset(),
            runs=frozenset(),
            slides={},
            parts=(0,) * len(extents.halves),
            point=ranges[0],
        )
        if (ranges[0] > ranges[1] + EMPTY).any():
            return None
        both = extents.energy, extents.cycles
        for one in (*both, *both):
            if self.powers[one] == 0.0:
                continue
            goal = np.zeros(len(self.powers))
            goal[one] = 1.0
            bound = self.solve(none, goal, inf).bound
            ranges[0, one] = max(ranges[0, one], bound)
            self.limit(ranges)
            if (ranges[0] > ranges[1] + EMPTY).any():
                return None
        return none

    def limit(self, ranges: Floats) -> None:
        """Set the most energy and cycles that the ceiling, limits and leakage leave possible."""
        extents, objective = self.extents, self.extents.objective
        energy, cycles = extents.energy, extents.cycles
        for one, other in ((energy, cycles), (cycles, energy)):
            if self.powers[one] > 0:
                taken = self.powers[other] * ranges[0, other]
                ranges[1, one] = min(ranges[1, one], (self.ceiling - taken) / self.powers[one])
        if objective.most_energy < inf:
            most = np.log(objective.most_energy + extents.less)
            ranges[1, energy] = min(ranges[1, energy], most)
        if objective.most_cycles < inf:
            ranges[1, cycles] = min(ranges[1, cycles], np.log(objective.most_cycles))
        if extents.leakage > 0 and (self.powers[energy] > 0 or objective.most_energy < inf):
            # what leaks is a part of the energy
            most = ranges[1, energy] - np.log(extents.leakage)
            ranges[1, cycles] = min(ranges[1, cycles], most)

    def child(self, node: BoundNode, way: Assumption) -> BoundNode | None:
        """Return a node where something more is decided, or None if nothing there costs less."""
        ranges = node.ranges
        if way.ranges:
            ranges = ranges.copy()
            for i, low, high in way.ranges:
                ranges[0, i], ranges[1, i] = max(ranges[0, i], low), min(ranges[1, i], high)
            if (ranges[0] > ranges[1] + EMPTY).any():
                return None
        parts = list(node.parts)
        for k, part in way.part:
            parts[k] = part
        new = node._replace(
            ranges=ranges,
            inside=node.inside.union(way.inside),
            runs=node.runs.union(way.run),
            slides=node.slides | dict(way.slide),
            parts=tuple(parts),
        )
        floor = node.bound
        if way.part or floor == -inf:
            least = self.floors.least(parts)
            if least == inf:
                return None
            floor = max(floor, self.logarithm(least) if least > 0 else -inf)
            if floor >= self.ceiling - EMPTY:
                return None
        new = self.solve(new, self.powers, self.ceiling)
        bound = max(new.bound, floor)
        return new._replace(bound=bound) if bound < self.ceiling - EMPTY else None

    def solve(self, node: BoundNode, goal: Floats, ceiling: float) -> BoundNode:
        """Return a node with what a sum of variables is at least, where, and in which ranges."""
        extents, nothing = self.extents, node._replace(bound=inf)
        ranges, limits = node.ranges.copy(), extents.limits
        powers, logs, active = limits.powers.copy(), extents.logs.copy(), extents.always.copy()
        if not self.divide_arrays(node.parts, ranges, logs):
            return nothing
        if not self.ratios.narrow(ranges):
            return nothing
        inside = node.inside | extents.inside
        if not all(own.settle(inside, node.parts, ranges) for own in extents.chunks):
            return nothing
        chunks: dict[str, tuple[int, ...]] = {}
        for each in extents.chunks:
            found = each.of_elements(node.parts, ranges)
            if found is not None:
                chunks[each.d] = found
        if () in chunks.values():
            return nothing
        for pair in node.inside:
            active[extents.within[pair]] = True
        here = NodeLimits(
            low=ranges[0].tolist(),
            high=ranges[1].tolist(),
            logs=logs,
            powers=powers,
            active=active,
            first=self.first,
            start=self.start,
            widest={
                v: n for own in enumerate(node.parts) for v, n in self.of_parts[own].widest.items()
            },
            chunks=chunks,
        )
        extents.windows.settle(here, node.slides)
        for i, k, part in node.runs:
            active[extents.windows.of_run(i, k, node.slides[i], part)] = True
        ranges = np.array([here.low, here.high])
        if (ranges[0] > ranges[1] + EMPTY).any():
            return nothing
        for total in self.totals:
            least = total.least(logs, ranges)
            ranges[0, total.variable] = max(ranges[0, total.variable], least)
        self.tighten(ranges)
        least = float(goal @ ranges[0])
        if least >= ceiling or (ranges[0] > ranges[1] + EMPTY).any():
            return nothing
        self.draw_chords(here._replace(low=ranges[0].tolist(), high=ranges[1].tolist()))
        np.maximum(ranges[0], ranges[1], out=ranges[1])
        self.solved += 1
        limits = limits._replace(powers=powers)
        bound, point = least_value(limits, logs, active, ranges, goal, ceiling)
        return node._replace(bound=max(bound, least), point=point, ranges=ranges)

    def tighten(self, ranges: Floats) -> None:
        """Raise the elements at work: few cycles, which the ceiling leaves, take many of them.

        Energy and cycles keep their ranges. Programs with narrow ones take longer to solve.
        """
        times, (low, high) = self.times, ranges
        steps = times.steps
        if len(steps) == 0:
            return
        left = ranges.copy()
        self.limit(left)
        most_cycles = left[1, self.extents.cycles] - times.of_one - low[steps].sum() + EMPTY
        most = np.floor(np.exp(np.minimum(most_cycles + low[steps], BEYOND)) + WHOLE)
        left[1, steps] = np.minimum(high[steps], np.log(np.maximum(most, 1.0)))
        for bound, step, elements in times.divided:
            for v in elements:
                others = sum(high[w] for w in elements if w != v)
                low[v] = max(low[v], bound - left[1, step] - others - EMPTY)

    def divide_arrays(self, parts: Sequence[int], ranges: Floats, logs: Floats) -> bool:
        """Set the elements of parts of spatial choices; False if there are none."""
        low, high = ranges
        for own in enumerate(parts):
            if own not in self.of_parts:
                self.of_parts[own] = PartLimits.of(self.extents, *own, self.first)
            limits = self.of_parts[own]
            variables = limits.variables
            low[variables] = np.maximum(low[variables], limits.low)
            high[variables] = np.minimum(high[variables], limits.high)
            logs[limits.terms] = limits.logs
        times = self.times
        # a whole number, and more with few elements, or a short stay
        fewest = np.ceil(np.exp(times.bounds - times.reduced @ high) - WHOLE)
        low[times.variables] = np.maximum(low[times.variables], np.log(np.maximum(fewest, 1.0)))
        low[times.more] = np.maximum(low[times.more], low[times.rounds])
        return bool((low <= high + EMPTY).all())

    def draw_chords(self, here: NodeLimits) -> None:
        """Put lines above what is convex in the ranges of its variables."""
        for own, terms, powers in self.lines:
            number, slope = own.chord(*span(own.product, here.low, here.high))
            here.logs[terms] -= number
            here.powers[powers] *= slope
