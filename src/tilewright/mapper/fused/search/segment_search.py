"""The best fused mapping of a segment: candidates by their bound, branches solved where it matters.

A candidate says what shared loops hold, which memories hold the intermediate tensors, and what one
iteration works on. Its value is a sum over the branches: each costs the number of iterations times
the best mapping of its chunk in the room that is left, with what held tiles move on its behalf.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush, heapreplace
from math import inf, prod

import numpy as np

from tilewright.fusion.evaluation import evaluate
from tilewright.kernels.types import Bools
from tilewright.mapper.fused.search.branch_bounds import BranchBounds
from tilewright.mapper.fused.search.candidate import Candidate
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.group_candidates import GroupCandidates
from tilewright.mapper.fused.search.known import Sources
from tilewright.mapper.fused.search.trees import tree_of
from tilewright.mapper.fused.search.turn_search import TurnSearch
from tilewright.mapper.fused.search.window_candidates import Opened, WindowCandidates
from tilewright.mapper.fused.space.around import NOTHING_BEGUN, Begun, Room
from tilewright.mapper.fused.space.groups import (
    PRIVATE,
    Grouping,
    Unit,
    flat,
)
from tilewright.mapper.fused.space.holding import Holding, holdings
from tilewright.mapper.fused.space.segment_problem import SegmentProblem, Shape
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.lattice import divisors


@dataclass(frozen=True)
class BestTree:
    """The best candidate that is better than some value.

    Attributes
    ----------
    candidate : Candidate or None
    value : float
        What it costs, or that value.
    bound : float
        What no candidate undercuts, up to that.
    left : tuple of Candidate or Opened
        Those that may be better, if the search was stopped.
    rest : float
        What all others cost at least, up to the value.
    """

    candidate: Candidate | None
    value: float
    bound: float
    left: tuple[Candidate | Opened, ...] = ()
    rest: float = inf


class SegmentSearch:
    """The search for the best fused mapping of one segment.

    Parameters
    ----------
    floor : float
        What is known that no fused mapping undercuts.

    Attributes
    ----------
    apart : float
        What the layers cost at least with exchanged tensors on chip but nothing else in common, pJ.
    candidates : int
        How many had to be looked at.
    least : float
        What no fused mapping undercuts, also where that is more than the value that `solve` is
        given; infinite where none fits.
    """

    def __init__(
        self,
        problem: SegmentProblem,
        chunks: Chunks,
        floor: float = 0.0,
    ) -> None:
        self.problem = problem
        self.chunks = chunks
        self.floor = floor
        self.apart = -inf
        self.candidates = 0
        self.least = inf
        # the largest first: of equals the one with fewer loops is taken
        self.shapes = sorted(
            itertools.product(*(divisors(b) for b in problem.bounds)), key=prod, reverse=True
        )
        self.iterations = np.array([problem.iterations(shape) for shape in self.shapes])
        self.power = sum(chunks.objective.powers)
        self.bounds = BranchBounds(problem, chunks, self.shapes, self.iterations)
        self.room = chunks.capacity
        self.flat = flat(problem)
        self._below: dict[Shape, Bools] = {}
        self.windows = WindowCandidates(self)
        self.groups = GroupCandidates(self)
        self.turns = TurnSearch(self)

    @property
    def close(self) -> float:
        """What a bound is a share of a value at most, where something better is looked for."""
        return 1 - max(TIE, self.chunks.tolerance)

    def sources(
        self, held: dict[int, int], private: frozenset[int] = frozenset()
    ) -> tuple[Sources, ...]:
        """Return where the tensors of every layer come from, given which tiles are held where."""
        p = self.problem
        source = {t: PRIVATE if t in private else tile.source for t, tile in enumerate(p.tiles)}
        source.update(held)
        return tuple(
            tuple(source[p.tile_at[i, t]] for t in range(len(layer.tensors)))
            for i, layer in enumerate(p.layers)
        )

    def fresh(self, shape: Shape) -> tuple[float, ...]:
        """Return the share of partial sums from zero in the branches of a chunk."""
        p = self.problem
        result = []
        for i, layer in enumerate(p.layers):
            relevant = p.tiles[p.tile_at[i, len(layer.tensors) - 1]].relevant
            counts = zip(relevant, p.bounds, shape, strict=True)
            result.append(p.fresh(i) / prod(1 if own else b // n for own, b, n in counts))
        return tuple(result)

    def begun(self, holding: Holding, iterations: int) -> tuple[Begun, ...]:
        """Return what held tiles move on behalf of one chunk of each layer."""
        if self.bounds.additive:
            return (NOTHING_BEGUN,) * len(self.problem.layers)
        energy, loads = self.bounds.held(holding)
        return tuple(
            (pj / iterations, tuple(cycles / iterations for cycles in own))
            for pj, own in zip(energy, loads, strict=True)
        )

    def candidates_below(
        self,
        places: dict[int, int],
        most: float,
        stop: Callable[[], bool],
        fewest: bool,
        grouping: Grouping | None = None,
    ) -> Iterator[Candidate]:
        """Yield what may cost less than some value; with `fewest`, only what holds no tiles."""
        p = self.problem
        grouping = grouping or self.flat
        units = grouping.units
        capacity = np.array(self.room)
        taken = places if grouping.crowded else {}
        need = np.array([self.reserved(taken, shape, units) for shape in self.shapes])
        if not (need <= capacity).all(axis=(1, 2)).any():
            return  # bounds take searches
        apart_at_least = -inf if self.groups.hold(units) else self.apart
        most *= self.close
        bound_of = self.bounds.least(places, stop, again=len(units) < len(p.layers))

        def least(holding: Holding) -> float:
            bound = max(bound_of(holding), apart_at_least - self.bounds.saved_by(holding))
            if bound >= most:
                self.least = min(self.least, bound)
            return bound

        for holding in holdings(p, self.room, least, most, stop):
            if stop() or (fewest and holding.held):
                return
            held = {**places, **{h.tile: h.memory for h in holding.held}}
            sources = self.sources(held, grouping.private)
            rooms = capacity - np.array(holding.bits) - need
            fits = (rooms >= 0).all(axis=(1, 2)) & self.below(holding.shape)
            if not fits.any():
                continue
            branches = self.bounds.of_branches(holding, sources, stop, units)
            floor = apart_at_least - self.bounds.saved_by(holding)
            apart = holding.energy if self.bounds.additive else 0.0
            bounds = np.maximum(np.sum(branches, axis=0) + apart, floor)
            self.least = float(bounds[fits & (bounds >= most)].min(initial=self.least))
            fits &= bounds < most
            for at in np.flatnonzero(fits).tolist():
                self.candidates += 1
                shape, iterations = self.shapes[at], int(self.iterations[at])
                yield Candidate(
                    holding=holding,
                    places=places,
                    shape=shape,
                    iterations=iterations,
                    units=units,
                    sources=sources,
                    fresh=self.fresh(shape),
                    begun=self.begun(holding, iterations),
                    rooms=tuple(tuple(row) for row in rooms[at].tolist()),
                    apart=apart,
                    bounds=[float(own[at]) for own in branches],
                    floor=floor,
                )

    def below(self, shape: Shape) -> Bools:
        """Return which shapes divide one."""
        if shape not in self._below:
            rest = np.array(shape, np.int64) % np.array(self.shapes, np.int64).reshape(
                len(self.shapes), -1
            )
            self._below[shape] = (rest == 0).all(axis=1)
        return self._below[shape]

    def reserved(
        self, places: dict[int, int], shape: Shape, units: Sequence[Unit] | None = None
    ) -> list[Room]:
        """Return the bits that intermediate tiles take of each memory while each branch runs."""
        p = self.problem
        units = units or self.flat.units
        unit_of = {i: u for u, unit in enumerate(units) for i in unit}
        result = []
        for u in range(len(units)):
            bits = [0.0] * len(self.room)
            for tile, memory in places.items():
                users = [unit_of[use[0]] for use in p.tiles[tile].uses]
                if min(users) <= u <= max(users):
                    bits[memory] += p.bits(tile, shape, memory)
            result.append(tuple(bits))
        return result

    def smallest_rooms(self) -> list[Room]:
        """Return the bits of each memory that the smallest exchanged tiles take, in each way."""
        shape = self.shapes[-1]
        every: Iterator[Sequence[Sequence[float]]] = itertools.chain(
            (self.reserved(places, shape) for places in self.problem.places()),
            self.windows.smallest(shape),
        )
        return [tuple(max(bits) for bits in zip(*own, strict=True)) for own in every]

    def solve(
        self,
        most: float,
        stop: Callable[[], bool],
        soon: Callable[[], bool] | None = None,
    ) -> BestTree:
        """Return the best candidate that costs less than some value, and a bound of all.

        The bound is that value where there is none and none was left out. `soon` tells when to
        leave the candidates with windows for a while, to list those with groups: without a list
        there is no bound.
        """
        best = BestTree(None, most, most)
        if self.enough(most):
            return self.unfinished(best)
        # first what holds nothing: its value leaves out most of the rest
        for fewest in (True, False):
            self.least = inf
            found: list[Candidate] = []
            for places in self.problem.places():
                found += self.candidates_below(places, best.value, stop, fewest)
            cut = stop()
            better = self.best_of(found, best.value, stop)
            best = better if better.candidate else replace(best, bound=better.bound)
            if cut or self.enough(best.value):
                return self.unfinished(best)
        best = replace(best, rest=best.bound, left=())
        if self.problem.windows.loops:
            opened = list(self.windows.below(best.value, stop))
            if stop():
                return self.unfinished(best)
            better = self.best_of(opened, best.value, soon or stop)
            rest = min(best.rest, better.rest)
            best = replace(better if better.candidate else best, rest=rest, left=better.left)
        best = self.grouped(best, stop)
        if self.chunks.tolerance > 0.0:
            best = replace(best, bound=min(best.bound, self.least))  # some were left out
        return best

    def unfinished(self, best: BestTree) -> BestTree:
        """Return the best so far, where candidates that were not listed may be better."""
        self.least = self.floor
        return replace(best, bound=self.floor)

    def grouped(self, best: BestTree, stop: Callable[[], bool]) -> BestTree:
        """Return the best candidate, with groups of layers that share more loops among them.

        And with those that were left for these.
        """
        found = list(self.groups.below(best.value, stop))
        if stop():
            return self.unfinished(best)
        better = self.best_of((*best.left, *found), best.value, stop)
        self.least = min([self.least, *(each.bound for each in better.left)])
        bound = min(best.rest, better.bound)
        return replace(better if better.candidate else best, bound=bound)

    def enough(self, value: float) -> bool:
        """Whether nothing can be better than a value by more than the tolerance."""
        return self.chunks.tolerance > 0.0 and self.floor >= value * self.close

    def best_of(
        self, candidates: Sequence[Candidate | Opened], most: float, stop: Callable[[], bool]
    ) -> BestTree:
        """Return the best of some candidates that costs less than some value, and a bound."""
        order = itertools.count()
        heap: list[tuple[float, int, Candidate | Opened]] = [
            (c.bound, next(order), c) for c in candidates
        ]
        heapify(heap)
        best: Candidate | None = None
        value = bound = most
        while heap and not stop() and not self.enough(value):
            least, _, head = heap[0]
            if least >= value * self.close:
                self.least = min(self.least, least)
                heap.clear()
                break
            if isinstance(head, Opened):
                found = list(self.windows.candidates(head))
                heapreplace(heap, (head.bound, next(order), head))
                for each in found:
                    heappush(heap, (each.bound, next(order), each))
                continue
            self.turns.refine(head, value, stop)
            if head.bound > least * (1 + TIE):
                heapreplace(heap, (head.bound, next(order), head))
            elif head.solved and head.groupings:
                heappop(heap)
                for own in self.groups.candidates(head):
                    heappush(heap, (own.bound, next(order), own))
            elif head.solved:
                heappop(heap)
                self.least = min(self.least, head.bound)
                cost = self.cost(head)
                if cost < value:
                    best, value = head, cost
                if cost > head.bound * (1 + TIE):
                    bound = min(bound, head.bound)  # the search of a chunk was given up
        rest = min(value, bound)
        left = tuple(entry[2] for entry in heap)
        least = min((each.bound for each in left), default=inf)
        return BestTree(best, value, min(rest, least), left, rest)

    def cost(self, head: Candidate) -> float:
        """Return what a candidate costs whose branches are solved."""
        if head.windowed is None or self.bounds.additive or not head.mapped:
            return head.value(self.power)
        tree = tree_of(self.problem, head)
        found = evaluate(self.problem.segment, self.problem.architecture, tree, check=False)
        goal = self.chunks.objective
        return sum(goal.value(one.energy_pj, one.cycles) for one in found.layers.values())
