"""The bound of all regular mappings, bypass choice by bypass choice and node by node."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import count
from math import inf
from typing import NamedTuple

from tilewright.kernels.kernel import interruptible
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.relaxations.boxes.halves import Halves
from tilewright.mapper.relaxations.joint.decisions import Decision, Decisions
from tilewright.mapper.relaxations.joint.extents import Extents
from tilewright.mapper.relaxations.joint.node import Assumption, BoundNode, Nodes
from tilewright.mapper.relaxations.joint.to_mapping import mappings_of
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapping.nodes import Mapping

TRIED = 6  # decisions at a node of which the best is taken
KNOWN = 4  # times that one was tried, before it is known what it is worth
CLOSE = 1e-9


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
    ) -> None:
        self.least, self.halves, self.objective = least, halves, objective
        self.bound, self.settled = min((own for own, _ in keeps), default=inf), False
        self.last: Open | None = None
        self.serial = count()
        self.waiting: list[tuple[float, int, KeepChoice | Open]] = [
            (own, next(self.serial), keep) for own, keep in keeps
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
            if not isinstance(own, Open):
                extents = Extents(self.least, self.halves, own, self.objective)
                nodes = Nodes(extents, ceiling)
                solved += nodes.solved
                if nodes.root is not None:
                    self.add(Open(nodes, nodes.root, {}), least)
                continue
            own.nodes.lower(ceiling)
            before = own.nodes.solved
            children = own.divided(stop)
            if children is None:
                heapq.heappush(self.waiting, (least, next(self.serial), own))
                self.settled, self.last = not stop(), own
                continue
            solved += own.nodes.solved - before
            for child in children:
                self.add(child, least)
        if not self.waiting:
            self.bound = ceiling
        return solved

    def mappings(self) -> Iterator[Mapping]:
        """Yield mappings that nodes stand for, that of the bound first, then by their bounds."""
        nodes = [(at, own) for _, at, own in self.waiting if isinstance(own, Open)]
        nodes.sort(key=lambda p: (p[1] is not self.last, p[1].nodes.value(p[1].node.bound), p[0]))
        yield from mappings_of((own.nodes.extents, own.node) for _, own in nodes)

    def add(self, own: Open, least: float) -> None:
        """Add a node, whose mappings cost no less than those that it is a part of."""
        value = max(least, own.nodes.value(own.node.bound))
        heapq.heappush(self.waiting, (value, next(self.serial), own))


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
        decisions = Decisions(self.nodes.extents, self.node).open()
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
