"""The search for one layer: bypass choices best first, their segments from outside in."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import inf, prod
from random import Random

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.errors import MappingError
from tilewright.kernels.kernel import interruptible
from tilewright.kernels.types import Floats, Ints
from tilewright.mapper.bounds.completion import least_of_roots
from tilewright.mapper.bounds.plan import (
    MOST_SLACK,
    ROUGHLY,
    Plan,
    choices_below,
    most_cycles,
    most_energy,
)
from tilewright.mapper.bounds.root import First, first_bounds
from tilewright.mapper.bounds.spatial_choices import SpatialBounds
from tilewright.mapper.bounds.tables.above_array import NO_PORT
from tilewright.mapper.bounds.tables.choice_tables import Slides, Tables, slides_above
from tilewright.mapper.bounds.tables.port_table import port_bounds
from tilewright.mapper.heuristics.annealing import CHUNK, Annealing
from tilewright.mapper.heuristics.greedy import greedy_mapping
from tilewright.mapper.label.labels import objective_value, worse
from tilewright.mapper.label.roots import first_shapes, roots
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.objective.settings import EVERY_PART, Settings
from tilewright.mapper.problem.bypass_choices import (
    KeepChoice,
    about_memories,
    keep_choices,
    narrowed,
)
from tilewright.mapper.problem.constraint_arrays import filling, most_words, walk_limits
from tilewright.mapper.problem.lattice import Lattice, lattice
from tilewright.mapper.problem.link_costs import Stored, links, ports, segment_of
from tilewright.mapper.problem.segments import Segment, segments
from tilewright.mapper.problem.space import Space, Unrolling, space
from tilewright.mapper.problem.symmetry import mirrored
from tilewright.mapper.problem.tensor_costs import Chain
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.results.proof import MEMORY
from tilewright.mapper.search.best_first import explore
from tilewright.mapper.search.found import Found
from tilewright.mapper.search.label_walk import walk_labels
from tilewright.mapper.search.ties import FEW, least_of_ties, polished_alike
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import check
from tilewright.model.energy import operation_cost
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

SMALL = 256  # shapes of such layers
ENOUGH = 1.002  # how far above its bound the tables of a bypass choice go before others are filled
SLACK = 1.01  # how far above its bound a bypass choice is searched at first
HARD_TO_PROVE = 20000  # labels after which ports get tables on machines with one array
NEAR = 1.1  # how far above its bound a bypass choice of products is searched to the end at once


class Search:
    """Search of one layer on one machine.

    Parameters
    ----------
    layer : Layer
    architecture : Architecture
    objective : str
        What is minimised, as for `parse_objective`.
    settings : Settings
        Parts of the search that are on. Without some it takes longer to the same value.
    """

    def __init__(
        self,
        layer: Layer,
        architecture: Architecture,
        objective: str,
        settings: Settings = EVERY_PART,
    ) -> None:
        self.layer = layer
        self.settings = settings
        self.architecture = architecture = narrowed(architecture, layer)
        self.constrained = bool(about_memories(architecture))
        self.objective = parse_objective(objective)
        self.goal = self.objective.goal()
        self.tiles: Lattice = lattice(layer)
        self.of_memory = segment_of(architecture)
        self.na = len(architecture.arrays)
        self.memories = max(self.of_memory.count(s) for s in range(self.na + 1))
        self.unroll(*space(layer, self.tiles, architecture))
        self.resources = len(ports(architecture))
        self.columns = sum(each.shape[1] for each in self.roots(self.first_shapes[:1]))
        self.least: Least | None = None
        self.level = 0.0  # bound of the last bypass choice that got one of tables
        self.best = np.array([inf, inf, inf, inf])
        self.found = Found()
        self.most_tied: float = FEW
        self.annealing: Annealing | None = None

    def unroll(self, sp: Space, unrollings: list[Unrolling], slides: Slides | None = None) -> None:
        """Take these spatial choices; those of each array come with the largest product first."""
        # constraints may tell dimensions apart
        mirrors = self.settings.symmetry and not self.constrained
        self.space = sp = mirrored(sp) if mirrors else sp
        self.unrollings = unrollings
        self.chains: dict[Stored, Chain] = {}
        self.together: SpatialBounds | None = None
        self.first_shapes = first_shapes(sp)
        self.tables = Tables(
            sp, self.of_memory, self.operations_energy(), slides or slides_above(sp), self.settings
        )
        pairs = itertools.pairwise(sp.unroll_start)
        most = [float(sp.unroll_product[a:b].max(initial=1.0)) for a, b in pairs]
        self.spread_left = [float(prod(most[s:])) for s in range(self.na + 1)]

    def loop_anywhere(self) -> None:
        """Let loops on all dimensions stand anywhere, also those that may stand outermost."""
        sp = self.space
        moves = np.concatenate((sp.moves, sp.outermost))
        self.space = sp._replace(moves=moves, outermost=sp.outermost[:0])
        self.first_shapes = first_shapes(self.space)
        self.tables = replace(self.tables, space=self.space, slides=slides_above(self.space))

    def aim(self, objective: Objective, architecture: Architecture | None = None) -> None:
        """Begin anew with another objective, or another machine that differs in capacities only."""
        self.objective, self.goal = objective, objective.goal()
        self.architecture = narrowed(architecture or self.architecture, self.layer)
        self.least = self.together = None
        self.chains = {}
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forget what has been found."""
        self.best = np.array([inf, inf, inf, inf])
        self.found = Found()
        self.level = 0.0
        self.annealing = self.together = None

    def begin_with(self, mapping: Mapping) -> None:
        """Take a mapping that is known to be valid as the best so far."""
        self.best = self.priced(mapping)
        self.found.mapping = mapping

    def only_below(self, energy_pj: float, cycles: float) -> None:
        """Search for mappings alone that are better than one of this energy and these cycles."""
        value, _ = objective_value(self.goal, energy_pj, float(cycles))
        self.best = np.array([value, -inf, energy_pj, cycles])

    def priced(self, mapping: Mapping, checked: bool = False) -> Floats:
        """Return objective, tie-break, energy (pJ) and cycles of a mapping."""
        cost = evaluate(self.layer, self.architecture, mapping, check=not checked)
        pair = float(cost.energy_pj), float(cost.cycles)
        return np.array([*objective_value(self.goal, *pair), *pair])

    def anneal(self, walks: int, steps: int, stop: Callable[[], bool]) -> None:
        """Take the best mapping that annealing finds as the best so far, if it is better."""
        if not self.settings.annealing:
            return
        if self.annealing is None:
            self.annealing = Annealing(
                self.layer, self.architecture, self.tiles, self.space, self.unrollings, self.goal,
                self.operations_energy(),
            )  # fmt: skip
        for walk in self.annealing.rounds(walks, steps, stop):
            if worse(walk.value, walk.tie, float(self.best[0]), float(self.best[1])):
                continue
            mapping = self.annealing.mapping(walk)
            priced = self.priced(mapping)
            value, tie = float(priced[0]), float(priced[1])
            if not worse(value, tie, float(self.best[0]), float(self.best[1])):
                self.best, self.found.mapping = priced, mapping

    def begin(self, stop: Callable[[], bool]) -> None:
        """Take a mapping that is made in no time as the best so far, if there is one."""
        self.anneal(1, CHUNK, stop)
        if self.found.mapping is not None:
            return

        def cost(mapping: Mapping, most: float) -> float:
            try:
                check(mapping, self.layer, self.architecture)
            except MappingError:
                return inf
            return float(self.priced(mapping, checked=True)[0])

        mapping = greedy_mapping(self.layer, self.architecture, cost, Random(0), stop)
        if mapping is not None:
            self.begin_with(mapping)

    def operations_energy(self) -> float:
        """Return the pJ of the operations themselves."""
        return float(self.layer.operations * operation_cost(self.architecture, self.layer))

    def keeps(self) -> list[KeepChoice]:
        """Return all bypass choices."""
        if not np.diff(self.space.unroll_start).all():
            return []  # an array has no spatial choice
        return list(keep_choices(self.layer, self.architecture))

    def plans(self, keeps: Iterable[KeepChoice] | None = None) -> Iterator[Plan]:
        """Yield bypass choices as they are before a search, by default all."""
        yield from map(self.plan, self.keeps() if keeps is None else keeps)

    def plan(self, keep: KeepChoice) -> Plan:
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
        lk = lk._replace(filling=filling(limits, self.of_memory))
        if not self.settings.dominance:
            lk = lk._replace(compared=0)
        return Plan(keep, lk, parts, limits)

    def first(self, keeps: Sequence[KeepChoice]) -> list[First]:
        """Return what bypass choices cost at least."""
        return first_bounds(
            self.layer, self.architecture, keeps, self.space, self.operations_energy(),
            self.chains, self.spread_left[0],
        )  # fmt: skip

    def roots(self, shapes: Ints, room: int = 0) -> tuple[Ints, Floats]:
        """Return tables of labels with the first ones of some shapes, and room for more."""
        energy = self.operations_energy()
        return roots(self.space, shapes, self.resources, self.memories, energy, room)

    def bound(self, plan: Plan) -> tuple[float, float]:
        """Return lower bounds of the energy and the cycles of one bypass choice."""
        if plan.choices is None:
            return self.first([plan.keep])[0][1:]
        return least_of_roots(
            self.space, plan.lk, plan.outer, self.part(plan, 0), *self.roots(self.first_shapes),
            np.empty(len(self.layer.tensors)),
        )  # fmt: skip

    def part(self, plan: Plan, s: int) -> Segment:
        """Return a segment of a bypass choice, with what the arrays to come can do."""
        return plan.parts[s]._replace(spread_left=self.spread_left[s])

    def prepare(self, plan: Plan, ceiling: float) -> None:
        """Fill the tables of a bypass choice for mappings below a ceiling, and raise its bound.

        A choice whose bound is not yet that of tables gets those that are filled in less time.
        """
        value, tie = float(self.best[0]), float(self.best[1])
        limit = (ceiling, inf) if ceiling < value else (value, tie)
        # the first tables tell what energy any spatial choice leaves possible
        choices = choices_below(plan, self.goal, self.space, ceiling if plan.known else inf)
        most = most_energy(plan, self.goal, limit)
        highest = min(ceiling, value)
        slowest = most_cycles(plan, self.goal, highest) if self.asks_ports() else -inf
        # without windows one table is the other, and few shapes take no time
        jointly = (plan.known or self.is_small()) and self.settings.joint_windows
        jointly = jointly or not (self.space.windows[:-1] >= 0).any()
        same = plan.choices is not None and (choices == plan.choices).all()
        fewer = plan.combined and highest > plan.combined_below
        same = same and not fewer
        if plan.choices is None or most > plan.most or fewer or (choices > plan.choices).any():
            plan.lk = plan.lk._replace(matters=np.ones_like(plan.lk.matters))
        # what the tables leave out is not below the ceiling, or no better than the best mapping
        left_out = (ceiling, 0.0) if ceiling < value else (inf, inf)
        same = same and slowest <= plan.slowest
        if same and jointly == plan.jointly and most <= plan.most:
            if not plan.known:
                plan.bound = max(plan.bound, left_out)  # they held nothing
            else:
                self.refill(plan)
            return
        if plan.combined and self.together is not None:
            self.together.restrict(plan, self.goal, highest)
        if not plan.limits.active:
            # a constraint may hold a store node below loops that are irrelevant to its tensor, or
            # among those that are not: what the tables take for granted
            self.fill(plan, choices, jointly, most, slowest)
        plan.choices, plan.most, plan.jointly, plan.slowest = choices, most, jointly, slowest
        plan.emptied = False
        energy, cycles = self.bound(plan)
        found = objective_value(self.goal, energy, cycles) if energy < inf else (inf, inf)
        plan.bound = max(plan.bound, min(found, left_out))
        plan.ceiling = ceiling if plan.known else 0.0
        most += plan.lk.leakage * plan.cycles
        if not plan.known:
            # the table of a port leaves out slow mappings, which may need less energy than others
            alone = replace(plan, outer=plan.outer._replace(scarce=NO_PORT))
            least = energy if plan.outer.scarce.port < 0 else self.bound(alone)[0]
            plan.energy = max(plan.energy, min(least, most))
        if energy > most or (slowest > 0.0 and found > left_out):
            plan.slack **= 2.0
        elif not plan.known:
            plan.known, plan.slack = True, self.first_slack()
            self.level = plan.bound[0]

    def fill(self, plan: Plan, choices: Ints, jointly: bool, most: float, slowest: float) -> None:
        """Fill the tables of a bypass choice for mappings of up to so many pJ, and cycles."""
        self.tables.fill(plan, choices, jointly, most)
        if slowest > 0.0:
            scarce = port_bounds(self.tables, plan, choices, jointly, slowest)
            plan.outer = plan.outer._replace(scarce=scarce)

    def refill(self, plan: Plan) -> None:
        """Fill the tables of a bypass choice as they were, if they were given up."""
        if plan.emptied and plan.choices is not None:
            self.fill(plan, plan.choices, plan.jointly, plan.most, plan.slowest)
            plan.emptied = False

    def asks_ports(self) -> bool:
        """Whether it is time for tables of ports: they take as long as those of energy."""
        if self.na == 0 or self.resources == 0 or self.goal[1] == 0.0 or self.is_small():
            return False
        if not self.settings.port_tables:
            return False
        return self.na > 1 or self.found.labels > HARD_TO_PROVE

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
        with interruptible():
            return self.search(stop, progress, plans)

    def search(
        self,
        stop: Callable[[], bool],
        progress: Callable[[float, float], None],
        plans: Iterable[Plan] | None,
    ) -> Found:
        """Search bypass choices, and say what is known of the best mapping."""
        passed, queue = explore(self, stop, progress, plans)
        given = plans
        # bypass choices whose labels took too much memory may hold a mapping of the same value
        stuck = bool(queue) and all(isinstance(p, Plan) and p.stuck for _, _, p in queue)
        equal = stuck and min(bound for (bound, _), _, _ in queue) >= self.best[0]
        self.found.finished, self.found.value = equal or not queue, float(self.best[0])
        self.found.reason = MEMORY if stuck and not equal else ""
        if self.found.finished:
            self.found.bound = self.found.value
        elif self.found.closed_form is not None:
            regular = min(self.found.closed_form.bound, self.found.value)
            self.found.bound = max(self.found.bound, regular)
        forwards = any(array.forwarding for array in self.architecture.arrays)
        if self.found.mapping and (forwards or (self.resources and self.space.windows[-1] >= 0)):
            self.found.correct_value(self.layer, self.architecture, self.goal)
        if not self.settings.canonical:
            return self.found
        if self.found.mapping and given is None:
            self.found.mapping, least = least_of_ties(self, passed, stop)
            self.found.least_memory = least and not stuck
        elif self.found.mapping:
            self.found.mapping = polished_alike(self)
        return self.found

    def dive(self, plan: Plan, ceiling: float, stop: Callable[[], bool]) -> None:
        """Follow the most promising labels of a bypass choice alone, to some good mapping."""
        self.prepare(plan, ceiling)
        if plan.bound[0] < ceiling:
            walk_labels(self, plan, ceiling, stop, dive=True)
        plan.ceiling = 0.0  # the search may begin below it

    def first_slack(self) -> float:
        """Return how far above the bound of its tables a bypass choice is searched at first."""
        return MOST_SLACK if self.is_small() and self.best[0] < inf else SLACK

    def is_small(self) -> bool:
        """Whether every bypass choice of a machine of several arrays is searched in no time."""
        return self.na > 1 and len(self.tiles.repeats) < SMALL

    def is_product(self) -> bool:
        """Whether no tensor has a window."""
        return not (self.space.windows >= 0).any()

    def ceiling(self, plan: Plan) -> float:
        """Return the value below which a bypass choice is searched next."""
        if plan.bound[0] <= 0.0 or plan.slack >= MOST_SLACK or not self.settings.ceilings:
            return float(self.best[0])
        if plan.jointly and plan.bound[0] < plan.ceiling / ENOUGH:
            return min(plan.ceiling, float(self.best[0]))
        if plan.known and self.na > 1 and self.best[0] < plan.bound[0] * NEAR and self.is_product():
            return float(self.best[0])
        level = 0.0 if plan.known else self.level * ROUGHLY
        return min(max(plan.bound[0] * plan.slack, level), float(self.best[0]))
