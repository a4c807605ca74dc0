"""The bound of all regular mappings, bypass choice by bypass choice and node by node."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import NamedTuple

import numpy as np

from tilewright.kernels.kernel import interruptible
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.relaxations.boxes.boxes_left import BoxesLeft, Floors
from tilewright.mapper.relaxations.boxes.halves import Halves
from tilewright.mapper.relaxations.joint.assumption import Assumption, Decision
from tilewright.mapper.relaxations.joint.decisions import Decisions
from tilewright.mapper.relaxations.joint.extents import Extents
from tilewright.mapper.relaxations.joint.node import BoundNode, Nodes
from tilewright.mapper.relaxations.joint.to_mapping import mappings_of
from tilewright.mapper.relaxations.nests.choices_left import ChoiceLeft
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapping.nodes import Mapping

MOST_BEGUN = 64  # parts of spatial choices to begin with
TRIED = 3  # decisions at a node of which the best is taken
KNOWN = 2  # times that one was tried, before it is known what it is worth
CLOSE = 1e-9
NEAR = 1e-4  # to the ceiling, as a logarithm


class Gains(NamedTuple):
    """By how much a decision raised bounds where it was tried.

    Attributes
    ----------
    gain, worth : float
        All together: that, and what had been estimated.
    tried : int
    """

    gain: float
    worth: float
    tried: int


UNKNOWN = Gains(0.0, 0.0, 0)


class JointBound:
    """A search for the least bound, from all mappings on to those of which nothing is open.

    Parameters
    ----------
    least : Least
        The layer and the machine, with all spatial choices at once.
    halves : sequence of Halves
    keeps : sequence of (float, bypass choice)
        With what they cost at least, as far as that is known.
    objective : Objective
    left : BoxesLeft, optional
        The parts of spatial choices that may be below the ceiling, with what is known of them.
    chosen : sequence of ChoiceLeft, optional
        Single spatial choices, of which one may be below the ceiling, in their place.

    Attributes
    ----------
    bound : float
        What all mappings cost at least, or the ceiling.
    settled : bool
        Whether nothing is open of those with the least bound.
    """

    def __init__(
        self,
        least: Least,
        halves: Sequence[Halves],
        keeps: Sequence[tuple[float, KeepChoice]],
        objective: Objective,
        left: BoxesLeft | None = None,
        chosen: Sequence[ChoiceLeft] = (),
    ) -> None:
        self.least, self.halves, self.objective, self.left = least, halves, objective, left
        self.chosen: dict[KeepChoice, list[ChoiceLeft]] = {}
        for own in chosen:
            self.chosen.setdefault(own.keep, []).append(own)
        self.bound, self.settled = min((bound for bound, _ in keeps), default=inf), False
        self.last: Open | None = None
        self.serial = count()
        self.waiting: list[tuple[float, int, KeepChoice | Begin | Open]] = [
            (bound, next(self.serial), keep) for bound, keep in keeps
        ]
        heapq.heapify(self.waiting)

    @interruptible()
    def lower(self, ceiling: float, stop: Callable[[], bool], most: int) -> int:
        """Go on until all that may be below a ceiling is settled; return how much it took.

        Parameters
        ----------
        ceiling : float
            The best value so far; what costs more is of no interest.
        stop : callable
            Whether to end with the bound so far.
        most : int
            Programs to solve, about.

        Returns
        -------
        int
            Programs that were solved.
        """
        solved = 0
        while self.waiting and not self.settled:
            self.bound = min(ceiling, max(self.bound, self.waiting[0][0]))
            if self.bound >= ceiling * (1 - CLOSE) or solved >= most or stop():
                return solved
            least, _, own = heapq.heappop(self.waiting)
            if isinstance(own, Open):
                solved += self.divide(own, least, ceiling, stop)
            elif isinstance(own, Begin):
                solved += self.open(own, least, ceiling)
            else:
                solved += self.begin(own, least, ceiling)
        if not self.waiting:
            self.bound = ceiling
        return solved

    def begin(self, keep: KeepChoice, least: float, ceiling: float) -> int:
        """Begin with a bypass choice, and return how many programs that took."""
        # where single choices are known to cost more, decisions are taken by what programs say
        floor = 0.0 if keep in self.chosen else least
        floors = Floors(self.halves, np.zeros((1, len(self.halves)), np.int64), np.array([floor]))
        if self.left is not None:
            floors = self.left.of(keep, ceiling)
        if len(floors.values) == 0:
            return 0
        nodes = Nodes(Extents(self.least, self.halves, keep, self.objective), ceiling, floors)
        if nodes.none is not None and keep in self.chosen:
            for own in self.chosen[keep]:
                way = Assumption(ranges=nodes.extents.ranges_of(own.instances))
                self.add(Begin(nodes, nodes.none, way), max(least, own.value))
        elif nodes.none is not None:
            if len(floors.values) <= MOST_BEGUN:
                boxes, values = floors.boxes.tolist(), floors.values.tolist()
            else:
                boxes, values = [[0] * len(self.halves)], [float(floors.values.min())]
            for parts, value in zip(boxes, values, strict=True):
                way = Assumption(part=tuple(enumerate(parts)))
                self.add(Begin(nodes, nodes.none, way), max(least, value))
        return nodes.solved

    def open(self, own: Begin, least: float, ceiling: float) -> int:
        """Solve the program of some spatial choices, and return how many that took."""
        before = own.nodes.solved
        own.nodes.lower(ceiling)
        node = own.nodes.child(own.none, own.way)
        if node is not None:
            self.add(Open(own.nodes, node, {}), max(least, own.nodes.value(node.bound)))
        return own.nodes.solved - before

    def divide(self, own: Open, least: float, ceiling: float, stop: Callable[[], bool]) -> int:
        """Divide a node, or settle it; return how many programs that took."""
        before = own.nodes.solved
        own.nodes.lower(ceiling)
        children = own.divided(stop)
        if children is None:
            self.add(own, least)
            self.settled, self.last = not stop(), own
            return 0
        for child in children:
            # its mappings cost no less than those that it is a part of
            self.add(child, max(least, child.nodes.value(child.node.bound)))
        return own.nodes.solved - before

    def mappings(self) -> Iterator[Mapping]:
        """Yield mappings that nodes stand for, that of the bound first, then by their bounds."""
        nodes = [(at, own) for _, at, own in self.waiting if isinstance(own, Open)]
        nodes.sort(key=lambda p: (p[1] is not self.last, p[1].nodes.value(p[1].node.bound), p[0]))
        yield from mappings_of((own.nodes.extents, own.node) for _, own in nodes)

    def add(self, own: Begin | Open, least: float) -> None:
        """Add what costs no less than that."""
        heapq.heappush(self.waiting, (least, next(self.serial), own))


@dataclass(frozen=True)
class Begin:
    """Some spatial choices of which nothing is solved yet.

    Attributes
    ----------
    nodes : Nodes
    none : BoundNode
        Where nothing is decided.
    way : Assumption
        The parts of spatial choices.
    """

    nodes: Nodes
    none: BoundNode
    way: Assumption


class Open:
    """A node of which something may be open.

    Parameters
    ----------
    nodes : Nodes
    node : BoundNode
    gains : dict of hashable to Gains
        Of decisions, by name.
    """

    def __init__(self, nodes: Nodes, node: BoundNode, gains: dict[Hashable, Gains]) -> None:
        self.nodes, self.node, self.gains = nodes, node, gains

    def divided(self, stop: Callable[[], bool]) -> list[Open] | None:
        """Return the nodes of the decision that raises the bound most; None if nothing is open."""
        best: list[BoundNode] = []
        most, tried = -1.0, 0
        close = self.nodes.ceiling - self.node.bound < NEAR
        decisions = Decisions(self.nodes.extents, self.node).open(close)
        for decision in sorted(decisions, key=lambda own: -self.expected(own)):
            known = self.gains.get(decision.name, UNKNOWN)
            if tried and (tried >= TRIED or known.tried >= KNOWN):
                continue
            if tried and stop():
                break
            own = [self.nodes.child(self.node, way) for way in decision.ways]
            left = [node for node in own if node is not None]
            gain = self.gain(left)
            self.gains[decision.name] = Gains(
                known.gain + gain, known.worth + decision.worth, known.tried + 1
            )
            tried += 1
            if tried == 1 or gain > most:
                most, best = gain, left
            if not left:
                break
        if not tried:
            # the solution may be known better, closer to a ceiling that is lower now
            again = self.nodes.child(self.node, Assumption())
            best = [] if again is None else [again]
            if again is not None and again.bound <= self.node.bound + CLOSE:
                return None
        return [Open(self.nodes, node, self.gains) for node in best]

    def expected(self, decision: Decision) -> float:
        """Return what a decision may raise the bound by, in proportion to what it did before."""
        known = self.gains.get(decision.name, UNKNOWN)
        return decision.worth * known.gain / known.worth if known.tried else decision.worth

    def gain(self, left: Sequence[BoundNode]) -> float:
        """Return what nodes raise the bound by: the least of them, and a little of the most."""
        if self.node.bound == -inf:
            return 0.0
        gains = [node.bound - self.node.bound for node in left]
        if len(gains) < 2:
            gains.append(self.nodes.ceiling - self.node.bound)
        return min(gains) + 0.1 * max(gains)
