"""Which of all mappings that cost the same is returned: one of the least memory.

The tables of a search hold for smaller memories, too: what they bound from below needs no less in a
smaller one. So a search that has ended looks once more through those bypass choices whose bound is
the optimum, in memories that are one bit smaller than the best mapping so far needs. In most of
them the bound of the whole nest is above the optimum then, and no label walks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tilewright.kernels.types import Floats
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.bounds.root import First
from tilewright.mapper.canonical.polish import Cost, alike, beyond, costs, occupied, polished
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.results.dataflow import dataflow
from tilewright.mapper.search.label_walk import walk_labels
from tilewright.mapping.nodes import Mapping

if TYPE_CHECKING:
    from tilewright.mapper.search.search import Search

FEW = 10000  # labels of ties, for a search of any length
SHARE = 0.1  # of the labels of a long one


def least_of_ties(
    search: Search, passed: Iterable[First | Plan], stop: Callable[[], bool]
) -> tuple[Mapping, bool]:
    """Return the mapping of the least memory among those that cost what the best one does.

    Less memory means fewer bits in the outermost memory in which two mappings differ. Among those
    that move the same words it is the simplest, see `polish.polished`.

    Parameters
    ----------
    search : Search
        It has ended with a mapping.
    passed : iterable of First or Plan
        Bypass choices that hold nothing better.
    stop : callable
        Asked every now and then whether to end.

    Returns
    -------
    Mapping, bool
        The mapping, and whether no mapping of the same energy and cycles needs less.
    """
    layer, machine = search.layer, search.architecture
    cost: Cost = float(search.best[2]), float(search.best[3])
    assert search.found.mapping is not None
    mapping = polished(search.found.mapping, layer, machine, search.space, cost)
    if not search.found.finished:
        return mapping, False
    look = copy(search)
    look.goal = Objective((1.0, 0.0), (0.0, 1.0), *cost).goal()
    plans = list(candidates(search, passed, cost, stop))
    if stop():
        return mapping, False
    most = search.most_tied + SHARE * search.found.labels
    used = occupied(mapping, layer, machine)
    room = np.array([inf if m.capacity_bits is None else m.capacity_bits for m in machine.memories])
    least = np.zeros(len(room))
    for m in range(1, len(room)):
        while used[m]:
            room[m] = used[m] - 1
            found, most = in_less_room(look, plans, room, least, cost, most, stop)
            if found is None:
                break
            if not alike(costs(found, layer, machine), cost):
                return mapping, False  # the search counts otherwise than the model, see `unproven`
            mapping = polished(found, layer, machine, search.space, cost)
            used = occupied(mapping, layer, machine)
        if most < 0:
            return mapping, False
        room[m] = least[m] = used[m]
    # where words move free of charge, mappings that move more of them may cost the same and need
    # less, and are not all looked at
    return mapping, all(m.read_energy > 0 and m.write_energy > 0 for m in machine.memories)


def polished_alike(search: Search) -> Mapping:
    """Return the polished mapping of a search unless other tensors are stationary in it.

    Given bypass choices may ask for that, which the machine does not know.
    """
    layer, machine, mapping = search.layer, search.architecture, search.found.mapping
    assert mapping is not None
    cost = float(search.best[2]), float(search.best[3])
    found = polished(mapping, layer, machine, search.space, cost)
    same = dataflow(found, layer, machine) == dataflow(mapping, layer, machine)
    return found if same else mapping


def candidates(
    search: Search, passed: Iterable[First | Plan], cost: Cost, stop: Callable[[], bool]
) -> Iterator[Plan]:
    """Yield the bypass choices that may hold mappings which cost what the best one does."""
    value = float(search.best[0])
    for head in passed:
        if stop():
            return
        if isinstance(head, Plan):
            plan = head
            # of one that was searched to its end the bound is infinite
            if value * (1 + TIE) < plan.bound[0] < inf:
                continue
        elif beyond((head.energy, head.cycles), cost):
            continue
        else:
            plan = search.plan(head.keep)
            plan.energy, plan.cycles = head.energy, head.cycles
        if plan.choices is None:
            search.prepare(plan, value)
        search.refill(plan)
        if beyond(search.bound(plan), cost):
            plan.empty_tables()  # in less room it costs no less
            continue
        yield plan


def in_less_room(
    look: Search,
    plans: Iterable[Plan],
    room: Floats,
    least: Floats,
    cost: Cost,
    most: float,
    stop: Callable[[], bool],
) -> tuple[Mapping | None, float]:
    """Search bypass choices for a mapping of the same cost in memories of these bits.

    Those that use less than `least` bits of a memory are known not to be.

    Returns
    -------
    Mapping or None, float
        What was found, and how many labels are left of `most`; fewer than none where it ended
        before.
    """
    for plan in plans:
        small = replace(plan, lk=plan.lk._replace(capacity=room.copy()))
        if beyond(look.bound(small), cost):
            continue
        look.found = replace(look.found, mapping=None, labels=0)
        look.best = np.array([cost[0], inf, inf, inf])
        emptier = least if least.any() else None
        done = walk_labels(look, small, cost[0], stop, most=most, least=emptier)
        most -= look.found.labels
        if look.found.mapping is not None:
            return look.found.mapping, max(most, 0.0)
        if not done:
            return None, -1.0
    return None, max(most, 0.0)
