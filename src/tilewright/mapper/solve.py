"""The search for one layer: bypass choices best first, their segments from outside in."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from itertools import pairwise
from math import inf, prod
from random import Random

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.errors import MappingError
from tilewright.mapper import labels, walk
from tilewright.mapper.bounds import lower_bound
from tilewright.mapper.chain import Chain
from tilewright.mapper.greedy import greedy_mapping
from tilewright.mapper.lattice import Floats, Ints, Lattice, lattice
from tilewright.mapper.limits import Limits, filling, most_words, walk_limits
from tilewright.mapper.links import (
    Keep,
    Links,
    Stored,
    keep_choices,
    links,
    ports,
    segment_of,
)
from tilewright.mapper.narrow import narrowed
from tilewright.mapper.objective import Objective, parse_objective
from tilewright.mapper.outer import Outer
from tilewright.mapper.problem import Space, Unrolling, space
from tilewright.mapper.result import TOLERANCE
from tilewright.mapper.reuse import Reuse
from tilewright.mapper.rough import Fitting, Rough, rough_bound
from tilewright.mapper.tables import (
    NOTHING,
    Known,
    Segment,
    inner_bounds,
    outer_bounds,
    slides_above,
)
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.validity import check
from tilewright.model.energy import operation_cost
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

MOST_SLACK = 1e9
ROUGHLY = 1.05  # how far above its first bound a bypass choice gets its first tables
ENOUGH = 1.002  # how far above its bound the tables of a bypass choice go before others are filled
SLACK = 1.01  # how far above its bound a bypass choice is searched at first
HARD = 50000  # labels after which each bypass choice first dives for a mapping
WIDTH = 64  # shapes that a dive takes through an array
EASY = 2000  # labels of a search after which the next one may go twice as far
SLICES = 16
BUCKETS = 1 << 17


@dataclass
class Found:
    """Best mapping so far and what is known about better ones."""

    mapping: Mapping | None = None
    value: float = inf
    bound: float = 0.0
    finished: bool = False
    labels: int = 0


def segments(keep: Keep, lk: Links, of_memory: list[int], arrays: int) -> list[Segment]:
    """Return the stages of every segment for one bypass choice."""
    result = []
    nt = len(keep)
    for s in range(arrays + 1):
        need = [int(lk.first[s + 1, t] - lk.first[s, t]) for t in range(nt)]
        radix = [prod(n + 1 for n in need[t + 1 :]) for t in range(nt)]
        stages = prod(n + 1 for n in need)
        count = np.array(
            [[stage // radix[t] % (need[t] + 1) for t in range(nt)] for stage in range(stages)],
            np.int64,
        )
        following = np.where(
            count < np.array(need), np.arange(stages)[:, None] + np.array(radix), -1
        )
        slots = np.full(len(of_memory), -1, np.int64)
        inside = [m for m, segment in enumerate(of_memory) if segment == s]
        slots[inside] = np.arange(len(inside))
        result.append(Segment(slots, count, following.astype(np.int64), lk.first[s].copy()))
    return result


@dataclass
class Plan:
    """One bypass choice, and what is known of it."""

    keep: Keep
    lk: Links
    parts: list[Segment]
    limits: Limits
    bound: tuple[float, float] = (0.0, 0.0)
    outer: Outer = NOTHING
    energy: float = 0.0  # pJ at least, whatever the spatial choices
    cycles: float = 0.0  # at least
    choices: Ints | None = None  # spatial choices of each array that the tables consider
    most: float = -inf  # pJ of the mappings that they consider
    known: bool = False  # whether the bound is that of tables
    jointly: bool = False  # whether they bound the tiles of a memory jointly
    slack: float = ROUGHLY
    ceiling: float = 0.0  # value of the mappings that the tables consider
    dived: bool = False


class Search:
    """Search of one layer on one machine."""

    def __init__(self, layer: Layer, architecture: Architecture, objective: str) -> None:
        self.layer = layer
        self.architecture = architecture = narrowed(architecture, layer)
        self.goal = parse_objective(objective).goal()
        self.tiles: Lattice = lattice(layer)
        self.of_memory = segment_of(architecture)
        self.na = len(architecture.arrays)
        self.memories = max(self.of_memory.count(s) for s in range(self.na + 1))
        self.unroll(*space(layer, self.tiles, architecture))
        self.resources = len(ports(architecture))
        self.reuse = Reuse()
        self.inner: Known = {}
        self.slides = slides_above(self.space)
        self.fitting = Fitting()
        self.level = 0.0  # bound of the last bypass choice that got one of tables
        self.best = np.array([inf, inf, inf, inf])
        self.found = Found()

    def unroll(self, sp: Space, unrollings: list[Unrolling]) -> None:
        """Take these spatial choices; those of each array come with the largest product first."""
        self.space, self.unrollings = sp, unrollings
        self.chains: dict[Stored, Chain] = {}
        start = sp.unroll_start
        most = [
            float(sp.unroll_product[start[k] : start[k + 1]].max(initial=1.0))
            for k in range(self.na)
        ]
        self.spread_left = [float(prod(most[s:])) for s in range(self.na + 1)]

    def aim(self, objective: Objective, architecture: Architecture | None = None) -> None:
        """Begin anew with another objective, or another machine that differs in capacities only."""
        self.goal = objective.goal()
        self.architecture = narrowed(architecture or self.architecture, self.layer)
        self.best = np.array([inf, inf, inf, inf])
        self.found = Found()
        self.level = 0.0
        self.chains = {}

    def begin_with(self, mapping: Mapping) -> None:
        """Take a mapping that is known to be valid as the best so far."""
        cost = evaluate(self.layer, self.architecture, mapping)
        pair = float(cost.energy_pj), float(cost.cycles)
        value, tie = labels.objective_value(self.goal, *pair)
        self.best = np.array([value, tie, *pair])
        self.found.mapping = mapping

    def begin(self, stop: Callable[[], bool]) -> None:
        """Take a mapping that is made in no time as the best so far, if there is one."""

        def cost(mapping: Mapping, most: float) -> float:
            try:
                check(mapping, self.layer, self.architecture)
            except MappingError:
                return inf
            found = evaluate(self.layer, self.architecture, mapping, check=False)
            pair = float(found.energy_pj), float(found.cycles)
            return float(labels.objective_value(self.goal, *pair)[0])

        mapping = greedy_mapping(self.layer, self.architecture, cost, Random(0), stop)
        if mapping is not None:
            self.begin_with(mapping)

    def root(self) -> tuple[Ints, Floats]:
        """Return tables that hold the label of the whole nest."""
        nt = len(self.layer.tensors)
        nw = self.space.members.shape[0]
        it = np.zeros(
            (1 << 12, labels.OPEN + nt + 2 * self.na + labels.WINDOW_COLUMNS * nw), np.int64
        )
        fl = np.zeros(
            (1 << 12, labels.LOADS + self.resources + self.memories + (labels.ENTRIES + 1) * nw)
        )
        top = self.tiles.top
        it[0, labels.SHAPE] = top
        it[0, labels.LAST] = it[0, labels.PARENT] = it[0, labels.NEXT] = -1
        it[0, labels.OPEN : labels.OPEN + nt] = top
        for w in range(nw):
            it[0, labels.OPEN + nt + 2 * self.na + labels.WINDOW_COLUMNS * w] = -1
        fl[0, labels.ZERO] = fl[0, labels.FIRST] = self.space.words[nt - 1, top]
        fl[0, labels.SPREAD] = 1.0
        fl[0, labels.ENERGY] = self.operations_energy()
        return it, fl

    def operations_energy(self) -> float:
        """Return the pJ of the operations themselves."""
        return self.layer.operations * operation_cost(self.architecture, self.layer)

    def plans(self, keeps: Iterable[Keep] | None = None) -> Iterator[Plan]:
        """Yield bypass choices as they are before a search, by default all."""
        if not np.diff(self.space.unroll_start).all():
            return  # an array has no spatial choice
        for keep in keep_choices(self.layer, self.architecture) if keeps is None else keeps:
            yield self.plan(keep)

    def plan(self, keep: Keep) -> Plan:
        """Return a bypass choice with what it costs and what constraints ask of it."""
        lk = links(self.layer, self.architecture, keep, self.space, self.chains)
        parts = segments(keep, lk, self.of_memory, self.na)
        limits = walk_limits(
            self.layer, self.architecture, self.tiles, keep, self.of_memory,
            [part.stage_count for part in parts],
        )  # fmt: skip
        if limits.active:
            # bounds know capacities, so tell them what is left of those
            most = lk.bits * most_words(self.tiles, limits)
            lk = lk._replace(share=np.where(lk.memory < 0, lk.share, np.minimum(lk.share, most)))
        return Plan(keep, lk._replace(filling=filling(limits, self.of_memory)), parts, limits)

    def bound(self, plan: Plan) -> tuple[float, float]:
        """Return lower bounds of the energy and the cycles of one bypass choice."""
        it, fl = self.root()
        if plan.choices is None and self.na:
            # instead of the tables: all elements that share a word get it, or each operation does
            own = slice(0, self.space.unroll_start[1])
            delivered = self.space.words[:, self.tiles.top] * self.space.unroll_reuse[own]
            straight = plan.lk.arrays[np.arange(len(plan.keep)), plan.lk.length - 1, 0] == 0
            delivered[:, straight] = self.layer.operations
            fl[0, labels.ENERGY] += float((plan.lk.rate[own] * delivered).sum(axis=1).min())
        return lower_bound(
            self.space, plan.lk, it[0], fl[0], self.resources, 0, plan.lk.first[0],
            self.spread_left[0], plan.outer, int(plan.parts[0].place_memory[plan.outer.memory]),
            np.empty(len(self.layer.tensors)),
        )  # fmt: skip

    def choices_below(self, plan: Plan, ceiling: float) -> Ints:
        """Return how many spatial choices of each array can lead to a value up to a ceiling.

        They come with the largest product first; with fewer instances at work a mapping takes more
        cycles, and no less energy than any.
        """
        start, product = self.space.unroll_start, self.space.unroll_product
        most = [float(product[start[k]]) for k in range(self.na)]
        counts = []
        for k in range(self.na):
            others = prod(most) / most[k]
            least = [
                labels.objective_value(
                    self.goal,
                    plan.energy,
                    plan.lk.cycles * self.layer.operations / (others * float(p)),
                )[0]
                for p in product[start[k] : start[k + 1]]
            ]
            # a mapping of the same value may still win the tie
            highest = ceiling * (1 + labels.TIE)
            counts.append(max(1, sum(value <= highest for value in least)))
        return np.array(counts, np.int64)

    def most_energy(self, plan: Plan, ceiling: tuple[float, float]) -> float:
        """Return the pJ of the mappings of a bypass choice that matter below a ceiling."""
        goal = self.goal
        first, second = plan.cycles ** float(goal[1]), plan.cycles ** float(goal[3])
        most = float(goal[4])
        if goal[0] > 0:
            most = min(most, (ceiling[0] / first) ** (1 / goal[0])) if first > 0 else most
        elif first >= ceiling[0] * (1 - labels.TIE) and goal[2] > 0 and second > 0:
            # cycles cannot be fewer: only ties matter
            most = min(most, (ceiling[1] / second) ** (1 / goal[2]))
        return most * (1 + TOLERANCE) - plan.lk.leakage * plan.cycles

    def prepare(self, plan: Plan, ceiling: float) -> None:
        """Fill the tables of a bypass choice for mappings below a ceiling, and raise its bound.

        A choice whose bound is not yet that of tables gets those that are filled in less time.
        """
        value, tie = float(self.best[0]), float(self.best[1])
        limit = (ceiling, inf) if ceiling < value else (value, tie)
        choices, most = self.choices_below(plan, ceiling), self.most_energy(plan, limit)
        jointly = plan.known
        same = plan.choices is not None and (choices == plan.choices).all()
        if same and jointly == plan.jointly and most <= plan.most:
            return
        if not plan.limits.active:
            # a constraint may hold a store node below loops that are irrelevant to its tensor, or
            # among those that are not: what the tables take for granted
            rough = Rough(
                rough_bound(
                    self.space, plan.lk, plan.parts[0].stage_count, self.slides.least,
                    self.fitting, self.operations_energy(),
                ),
                most,
            )  # fmt: skip
            adds = self.reuse.extend if jointly else self.reuse.fill
            plan.lk = inner_bounds(
                self.space, adds(self.space, plan.lk), self.of_memory, choices, self.reuse,
                self.inner, jointly, rough,
            )  # fmt: skip
            plan.outer = outer_bounds(self.space, plan.lk, plan.parts[0], self.slides, rough)
        plan.choices, plan.most, plan.jointly = choices, most, jointly
        energy, cycles = self.bound(plan)
        found = labels.objective_value(self.goal, energy, cycles) if energy < inf else (inf, inf)
        # what the tables leave out is not below the ceiling
        plan.bound = max(plan.bound, min(found, (limit[0], 0.0) if limit[1] == inf else limit))
        plan.ceiling = ceiling
        most += plan.lk.leakage * plan.cycles
        plan.energy = max(plan.energy, min(energy, most))
        if energy > most:
            plan.slack **= 2.0
        elif not plan.known:
            plan.known, plan.slack = True, SLACK
            self.level = plan.bound[0]

    def run(
        self,
        plan: Plan,
        ceiling: float,
        stop: Callable[[], bool],
        dive: bool = False,
        most: float = inf,
    ) -> bool:
        """Search one bypass choice below a ceiling, or dive for some good mapping.

        With more than `most` labels it stops, too.

        Returns
        -------
        bool
            True when nothing better than the best mapping remains in it; False when the search was
            stopped, or when only the ceiling may have hidden mappings.
        """
        keep, lk, parts = plan.keep, plan.lk, plan.parts
        it, fl = self.root()
        n = 1
        top = self.tiles.top
        best = self.best.copy()
        hidden = ceiling < best[0]
        if hidden:
            best[0], best[1] = ceiling, inf
        heads = np.full((top + 1, len(parts[0].stage_count)), -1, np.int64)
        heads[top, 0] = 0
        buckets = np.full(BUCKETS, -1, np.int64)
        best_row = np.array([-1], np.int64)
        step = max(64, (top + 1) // SLICES)
        slices = [(high, max(0, high - step + 1)) for high in range(top, -1, -step)]
        for s, part in enumerate(parts):
            for high, low in slices:
                if stop() or n > most:
                    break
                it, fl, n = walk.expand(
                    self.space, lk, plan.limits, plan.outer, s, s == self.na, part.place_memory,
                    part.stage_count, part.stage_next, part.first, self.spread_left[s], it, fl, n,
                    heads, buckets, high, low, self.resources, self.memories, self.goal,
                    best, best_row, dive,
                )  # fmt: skip
            if s == self.na:
                break
            full = len(part.stage_count) - 1
            if dive:
                walk.narrow(it, fl, heads, full, self.goal, WIDTH)
            below = np.full((top + 1, len(parts[s + 1].stage_count)), -1, np.int64)
            buckets = np.full(BUCKETS, -1, np.int64)
            for high, low in slices:
                if stop() or n > most:
                    break
                it, fl, n = walk.cross(
                    self.space, lk, plan.outer, s, it, fl, n, heads, full, below, buckets, high,
                    low, parts[s + 1].first, self.spread_left[s + 1], self.resources,
                    self.memories, self.goal, best,
                )  # fmt: skip
            heads = below
        self.found.labels += n
        if best_row[0] >= 0:
            self.best = best
            self.found.mapping = self.rebuild(keep, it, int(best_row[0]))
            hidden = False
        return not (hidden or dive or stop() or n > most)

    def rebuild(self, keep: Keep, it: Ints, row: int) -> Mapping:
        """Return the mapping that a label stands for."""
        path = []
        while it[row, labels.PARENT] >= 0:
            path.append(row)
            row = int(it[row, labels.PARENT])
        layer, tiles = self.layer, self.tiles
        memories = self.architecture.memories
        nodes: list[Node] = [Store(memories[0].name, tuple(t.name for t in layer.tensors))]
        stored = [1] * len(layer.tensors)
        array = 0
        for before, after in pairwise([row, *reversed(path)]):
            move = int(it[after, labels.MOVE])
            shape = it[after, labels.SHAPE]
            if (
                move == it[before, labels.MOVE]
                and shape == it[before, labels.SHAPE]
                and after == path[0]
            ):
                continue
            if move >= labels.CROSS:
                extents = {
                    d: int(tiles.values[i, tiles.digits[it[before, labels.SHAPE], i]])
                    for i, d in enumerate(tiles.dimensions)
                }
                for axis, d, factor in self.unrollings[move - labels.CROSS].factors:
                    extents[d] = -(-extents[d] // factor)
                    nodes.append(Spatial(d, extents[d], axis, self.architecture.arrays[array].name))
                array += 1
            elif move >= labels.PLACE:
                t = move - labels.PLACE
                memory = memories[keep[t][stored[t]]].name
                stored[t] += 1
                last = nodes[-1]
                if isinstance(last, Store) and last.memory == memory and len(nodes) > 1:
                    nodes[-1] = Store(memory, (*last.tensors, layer.tensors[t].name))
                else:
                    nodes.append(Store(memory, (layer.tensors[t].name,)))
            else:
                i = int(tiles.moves[move, 0])
                node = For(tiles.dimensions[i], int(tiles.values[i, tiles.digits[shape, i]]))
                last = nodes[-1]
                if isinstance(last, For) and last.dimension == node.dimension:
                    nodes[-1] = node
                else:
                    nodes.append(node)
        return Mapping(tuple(nodes))

    def solve(
        self,
        stop: Callable[[], bool] = lambda: False,
        progress: Callable[[float, float], None] = lambda best, bound: None,
        plans: Iterable[Plan] | None = None,
    ) -> Found:
        """Search bypass choices, by default all; `stop` is asked now and then, `progress` told.

        Raises
        ------
        KeyboardInterrupt
            Also where Ctrl-C comes while a kernel runs.
        """
        try:
            return self.search(stop, progress, plans)
        except SystemError as failure:
            # how Python tells that a kernel has returned although there was Ctrl-C meanwhile
            if isinstance(failure.__cause__, KeyboardInterrupt):
                raise failure.__cause__ from None
            raise

    def search(
        self,
        stop: Callable[[], bool],
        progress: Callable[[float, float], None],
        plans: Iterable[Plan] | None,
    ) -> Found:
        """Search bypass choices, those of the least bound first."""
        order = itertools.count()
        begun = plans is not None  # some bypass choices alone: a mapping of others is none of these
        queue: list[tuple[tuple[float, float], int, Plan]] = []
        for plan in self.plans() if plans is None else plans:
            plan.energy, plan.cycles = self.bound(plan)
            plan.bound = labels.objective_value(self.goal, plan.energy, plan.cycles)
            heappush(queue, (plan.bound, next(order), plan))
        while queue and not stop():
            plan = queue[0][2]
            if labels.worse(*plan.bound, float(self.best[0]), float(self.best[1])):
                heappop(queue)
                continue
            if self.found.labels > HARD and self.best[0] == inf and not begun:
                begun = True
                self.begin(stop)
            if not plan.known:
                self.prepare(plan, self.ceiling(plan))
            elif self.found.labels > HARD and not plan.dived:
                plan.dived = True
                self.prepare(plan, float(self.best[0]))
                self.run(plan, float(self.best[0]), stop, dive=True)
            else:
                self.advance(plan, stop)
            heapreplace(queue, (plan.bound, next(order), plan))
            self.found.bound = min(float(self.best[0]), *(entry[0][0] for entry in queue))
            progress(float(self.best[0]), self.found.bound)
        self.found.finished = not queue
        if self.found.finished:
            self.found.bound = float(self.best[0])
        self.found.value = float(self.best[0])
        if self.found.mapping and any(array.forwarding for array in self.architecture.arrays):
            self.without_proof(self.found.mapping)
        elif self.found.mapping and self.resources and self.space.windows[-1] >= 0:
            self.check(self.found.mapping)
        return self.found

    def ceiling(self, plan: Plan) -> float:
        """Return the value below which a bypass choice is searched next."""
        if plan.bound[0] <= 0.0 or plan.slack >= MOST_SLACK:
            return float(self.best[0])
        if plan.jointly and plan.bound[0] < plan.ceiling / ENOUGH:
            return min(plan.ceiling, float(self.best[0]))
        level = 0.0 if plan.known else self.level * ROUGHLY
        return min(max(plan.bound[0] * plan.slack, level), float(self.best[0]))

    def advance(self, plan: Plan, stop: Callable[[], bool]) -> None:
        """Search a bypass choice a little above its bound, which rises to there or to the end."""
        ceiling = self.ceiling(plan)
        below = plan.bound
        self.prepare(plan, ceiling)
        if plan.bound > below:
            return
        before = self.found.labels
        # a long search that has nothing yet is broken off for a dive
        most = HARD if self.best[0] == inf and not plan.dived else inf
        if self.run(plan, ceiling, stop, most=most):
            plan.bound = (inf, inf)
        elif self.found.labels - before > most or stop():
            return
        else:
            growth = 2.0 if self.found.labels - before < EASY else 1.25
            plan.slack = min(plan.slack**growth, MOST_SLACK)
        if plan.bound[0] < inf:
            plan.bound = max(plan.bound, (ceiling, 0.0))

    def check(self, mapping: Mapping) -> None:
        """Take the value of the model where the search counts too few cycles, see `charge`.

        Of an output whose windows overlap among the instances of an array, it counts every entry as
        one from zero at ports of limited bandwidth.
        """
        result = evaluate(self.layer, self.architecture, mapping)
        value, _ = labels.objective_value(self.goal, result.energy_pj, float(result.cycles))
        if value > self.found.value * (1 + TOLERANCE):
            self.found.value, self.found.finished = value, False

    def without_proof(self, mapping: Mapping) -> None:
        """State what is known when neighbours forward words, which the search does not see."""
        result = evaluate(self.layer, self.architecture, mapping)
        operations = self.layer.operations
        cycles = operations * self.architecture.compute.cycles / self.spread_left[0]
        known = (result.energy_pj, float(result.cycles)), (self.operations_energy(), cycles)
        self.found.value, self.found.bound = (
            labels.objective_value(self.goal, *pair)[0] for pair in known
        )
        self.found.finished = False
