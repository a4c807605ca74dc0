"""Bypass choices best first: which one is looked at next, and how far above its bound.

Bounds come from those that take no time to those of a search. See "Bypass choices, best first" in
docs/mapper.md for why nothing is left that is better when the queue is empty.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tilewright.mapper.bounds.combinations import combinations
from tilewright.mapper.bounds.plan import MOST_SLACK, Plan, weigh
from tilewright.mapper.bounds.root import First
from tilewright.mapper.bounds.spatial_choices import SpatialBounds
from tilewright.mapper.label import labels
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import closed_form
from tilewright.mapper.search.label_walk import walk_labels

if TYPE_CHECKING:
    from tilewright.mapper.search.search import Search

LONG = 100000  # labels after which bypass choices get a bound in closed form, too
WIDE = 1000  # shapes of layers whose tables take longer than that bound
DIVES = (1.02, 1.05)  # how far above their bounds bypass choices dive for a first mapping
FURTHER = (1.2, 1.5, 2.0, 4.0, 16.0, 256.0, inf)  # where labels were too many without any
HARD = 50000  # labels of a search that has to anneal for a mapping; then eight times as many
WALKS, STEPS = 16, 1000  # of the first round of that
FAR = 0.9  # of the best value: with several arrays and a bound below it, an eighth of the labels
LARGE = 30000  # shapes of layers whose tables take too long to begin with
STEP = 200  # labels that take as long as a step of the queue, about
MOST_BYTES = 1 << 28  # of the labels of a bypass choice
MOST_TABLES = 1 << 28  # bytes of the tables of all bypass choices
LEAST_SLACK = 1.0002  # a bypass choice is given up where labels that little above it are too many
EASY = 2000  # labels of a search after which the next one may go twice as far
DIVIDED = 10000  # labels of a search after which its spatial choices are divided
MOST_PARTS = 16  # that they are divided into
SUMS = 1 << 14  # of the first round of bounds over all spatial choices; of products a quarter
EQUAL = 1 + 1e-6  # bypass choices whose bounds are that much above the best value hold no equal one
CLOSE = 1 + 1e-9


def explore(
    search: Search,
    stop: Callable[[], bool],
    progress: Callable[[float, float], None],
    plans: Iterable[Plan] | None,
) -> tuple[list[First | Plan], list[tuple[tuple[float, float], int, First | Plan]]]:
    """Search bypass choices, those of the least bound first.

    Returns
    -------
    two lists
        Those that hold nothing better than the best mapping, and those that may.
    """
    order = itertools.count()
    rounds = steps = 0
    on = search.settings
    wide = len(search.tiles.repeats) >= (WIDE if search.na > 1 else LARGE)
    small = search.is_small()
    given = None if plans is None else list(plans)
    firsts = search.first(search.keeps() if given is None else [plan.keep for plan in given])
    queue: list[tuple[tuple[float, float], int, First | Plan]] = []
    passed: list[First | Plan] = []  # bypass choices that hold nothing better
    stuck: list[tuple[tuple[float, float], int, First | Plan]] = []
    filled = 0  # bytes of tables since it was last seen how many there are
    for i, first in enumerate(firsts):
        bound = labels.objective_value(search.goal, first.energy, first.cycles)
        plan = None if given is None else given[i]
        if plan is not None:
            # more may be known of it already
            bound = max(bound, plan.bound)
            plan.energy, plan.cycles, plan.bound = first.energy, first.cycles, bound
        heappush(queue, (bound, next(order), plan or first))
    if queue:
        search.found.bound = queue[0][0][0]
    while queue and not stop():
        bound, _, head = queue[0]
        if labels.worse(*bound, float(search.best[0]), float(search.best[1])):
            passed.append(heappop(queue)[2])
            continue
        plan = head if isinstance(head, Plan) else search.plan(head.keep)
        if isinstance(head, First):
            plan.energy, plan.cycles, plan.bound = head.energy, head.cycles, bound
        if given is None and on.annealing and is_hard(search, rounds, steps, bound[0]):
            # without windows a step takes a fraction of the time
            longer = rounds if (search.space.windows >= 0).any() else max(rounds, 1)
            search.anneal(WALKS << rounds, STEPS << longer, stop)
            rounds += 1
            if on.closed_form and search.best[0] < inf:
                sums = SUMS >> 2 if search.is_product() else SUMS
                queue = weighed_together(search, queue, stop, sums << 2 * rounds)
            continue
        if not plan.combined and combine(search, plan, given is None):
            pass
        elif (
            on.closed_form
            and not plan.weighed
            and (wide or (search.found.labels > LONG and not small))
        ):
            weigh_closely(search, plan)
        elif on.dives and not plan.begun and search.best[0] == inf:
            begin_above(search, plan, stop)
        elif not plan.known:
            search.prepare(plan, search.ceiling(plan))
        else:
            anneals = given is None and on.annealing and rounds == 0
            advance(search, plan, stop, HARD - search.found.labels if anneals else inf)
        heappop(queue)
        steps += 1
        filled += plan.table_bytes
        if filled > MOST_TABLES:
            waiting = [*(entry[2] for entry in sorted(queue + stuck)), *passed]
            filled = empty_some([each for each in waiting if isinstance(each, Plan)])
        for each in divided(search, plan) or [plan]:
            entry = each.bound, next(order), each
            if each.stuck:
                stuck.append(entry)
            else:
                heappush(queue, entry)
        left = (entry[0][0] for entry in (*queue[:1], *stuck))
        search.found.bound = min(float(search.best[0]), *left)
        progress(float(search.best[0]), search.found.bound)
    # a better mapping may have been found since they were given up
    best = float(search.best[0]), float(search.best[1])
    return passed, queue + [entry for entry in stuck if not labels.worse(*entry[0], *best)]


def weighed_together(
    search: Search,
    queue: list[tuple[tuple[float, float], int, First | Plan]],
    stop: Callable[[], bool],
    most: int,
) -> list[tuple[tuple[float, float], int, First | Plan]]:
    """Raise the bounds of all bypass choices to those of regular mappings of all tile sizes.

    Most of them hold nothing as good as the best mapping so far. They are left out.
    """
    best = float(search.best[0]) * EQUAL
    found = search.found.closed_form
    if found is None:
        found = closed_form(search.layer, search.architecture, search.objective, stop)
        search.found.closed_form = found
    found.lower(best, stop, most)
    bounds = {keep: bound / CLOSE for bound, keep in found.keeps()}
    raised = []
    for bound, at, each in queue:
        if each.keep not in bounds:
            continue
        own = max(bound, (bounds[each.keep], 0.0))
        if isinstance(each, Plan):
            each.bound, each.weighed = own, True
        raised.append((own, at, each))
    heapify(raised)
    return raised


def empty_some(waiting: Iterable[Plan]) -> int:
    """Give up the tables of bypass choices that will not be needed soon, where they are too large.

    Parameters
    ----------
    waiting : iterable of Plan
        Those whose turn comes next first.

    Returns
    -------
    int
        Bytes of the tables that are left.
    """
    left = 0
    for plan in waiting:
        size = plan.table_bytes
        if left + size > MOST_TABLES // 2:
            plan.empty_tables()
        else:
            left += size
    return left


def combine(search: Search, plan: Plan, whole: bool) -> bool:
    """Bound a bypass choice by combinations of spatial choices, where that is worth it.

    Of a search of the `whole` space it leaves out what is worse than the best mapping.
    """
    if not search.settings.combinations or search.na == 0:
        return False
    if search.na == 1 and search.found.labels < EASY:
        return False
    if search.together is None:
        found = combinations(search.space)
        if found is None:
            return False
        search.together = SpatialBounds(
            search.layer, search.architecture, search.space, search.operations_energy(),
            search.chains, found,
        )  # fmt: skip
        spread = np.cumprod(found.product[:, ::-1], axis=1)[:, ::-1].max(axis=0)
        search.spread_left = [*map(float, spread), 1.0]
    # who gives bypass choices may search them again below a higher value
    if whole and not search.together.reduced and search.best[0] < inf:
        search.together.reduce(search.keeps(), search.goal, float(search.best[0]))
    search.together.weigh(plan, search.goal)
    return True


def weigh_closely(search: Search, plan: Plan) -> None:
    """Bound a bypass choice in closed form, in combinations of spatial choices where known."""
    if search.together is not None and search.together.may_tighten():
        search.together.tighten(plan, search.goal, float(search.best[0]))
        plan.weighed = True
        return
    search.least = search.least or Least(search.layer, search.architecture)
    weigh(plan, search.goal, search.least)


def divided(search: Search, plan: Plan) -> list[Plan]:
    """Return a bypass choice in parts of its spatial choices, where its last search was long.

    The parts hold all that is better than the best mapping, and the whole is done with.
    """
    value, together = float(search.best[0]), search.together
    # without energy, labels of many spatial choices are alike, and parts repeat one search
    if search.goal[0] == 0.0:
        return []
    if plan.labels < DIVIDED or together is None or not together.reduced or value == inf:
        return []
    plan.labels = 0
    parts = together.parts(plan, search.goal, value)
    if not 1 < len(parts) <= MOST_PARTS:
        return []
    found = []
    for part in parts:
        own = search.plan(plan.keep)
        own.part, own.energy, own.cycles, own.bound = part, plan.energy, plan.cycles, plan.bound
        own.weighed = own.begun = True
        together.weigh(own, search.goal)
        found.append(own)
    return found


def is_hard(search: Search, rounds: int, steps: int, bound: float) -> bool:
    """Whether it is time to anneal, after some rounds of that and steps of the queue."""
    best = float(search.best[0])
    shapes = len(search.tiles.repeats)
    # constraints about memories leave nothing in the tables, and dives look no further
    blind = search.constrained and shapes >= WIDE
    if rounds == 0 and (search.na > 1 or blind or (best == inf and shapes >= LARGE)):
        return True
    if search.is_small() and best < inf:
        return False  # what annealing may find is searched sooner
    at = HARD * 8.0**rounds
    if best == inf:
        at /= 10
    elif search.na > 1 and bound < FAR * best:
        at /= 8
    labels = search.found.labels + (STEP * steps if search.na > 1 else 0)
    return bool(labels > at)


def begin_above(search: Search, plan: Plan, stop: Callable[[], bool]) -> None:
    """Look for a first mapping a little above the bound of a bypass choice."""
    plan.begun = True
    while not plan.known and plan.bound[0] < inf and not stop():
        search.prepare(plan, search.ceiling(plan))
    dive(search, plan, DIVES, stop)


def dive(search: Search, plan: Plan, slacks: tuple[float, ...], stop: Callable[[], bool]) -> None:
    """Dive below one value after the other, multiples of a bound, until there is a mapping."""
    for slack in slacks:
        if search.best[0] == inf and 0.0 < plan.bound[0] < inf and not stop():
            search.dive(plan, plan.bound[0] * slack, stop)


def advance(search: Search, plan: Plan, stop: Callable[[], bool], soon: float = inf) -> None:
    """Search a bypass choice a little above its bound, which rises to there or to the end.

    After `soon` labels it is broken off, for annealing may find a mapping below which few are left.
    A search whose labels take too much memory is broken off, and raises nothing. Where there is no
    mapping yet, one is looked for further up: with it, labels that are no better are dropped.
    """
    ceiling = search.ceiling(plan)
    below = plan.bound
    search.prepare(plan, ceiling)
    if plan.bound > below:
        if plan.combined:
            # its tables are filled anew for every ceiling, and may hold nothing below any
            plan.slack = min(plan.slack**2.0, MOST_SLACK)
        return
    before = search.found.labels
    most = MOST_BYTES // (8 * search.columns)
    done = walk_labels(search, plan, ceiling, stop, most=min(most, soon))
    plan.labels = search.found.labels - before
    if done:
        plan.bound = (inf, inf)
        plan.labels = 0
    elif search.found.labels - before > most:
        dive(search, plan, FURTHER, stop)
        plan.slack **= 0.5
        plan.stuck = plan.slack < LEAST_SLACK
        return
    elif stop() or plan.labels > soon:
        return
    else:
        growth = 2.0 if plan.labels < EASY else 1.25
        plan.slack = min(plan.slack**growth, MOST_SLACK)
    if plan.bound[0] < inf:
        plan.bound = max(plan.bound, (ceiling, 0.0))
