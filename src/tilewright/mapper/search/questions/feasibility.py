"""Whether any mapping satisfies capacities and constraints, whatever it costs."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from tilewright.architecture.machine import Architecture
from tilewright.mapper.heuristics.annealing import CHUNK
from tilewright.mapper.problem.bypass_choices import about_memories, keep_choices
from tilewright.mapper.problem.link_costs import Links
from tilewright.mapper.search.label_walk import walk_labels
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Layer

WALKS = 2  # that are annealed first
NOT_COSTS = ("capacity", "bits", "share")


def some_mapping(layer: Layer, architecture: Architecture) -> Mapping | None:
    """Return a mapping that fits a machine and satisfies its constraints, None if there is none.

    Annealing finds one in no time where that is not hard. Then comes the search for the best one,
    where all cost the same: the first that is found ends it, and labels that can be completed alike
    are one.
    """
    search = Search(layer, architecture, "energy")
    if not np.diff(search.space.unroll_start).all():
        return None
    # the fewest store nodes come first, and are all that has to be tried unless more can help
    choices = list(keep_choices(layer, search.architecture))[::-1]
    if not choices:
        return None
    if (found := annealed(search)) is not None:
        return found
    statements = about_memories(search.architecture)
    if not any(s.order or s.innermost or s.min_utilization for s in statements):
        choices = choices[:1]
    for keep in choices:
        plan = search.plan(keep)
        plan.lk = without_costs(plan.lk)
        walk_labels(search, plan, inf, lambda: False)
        if search.found.mapping is not None:
            return search.found.mapping
    return None


def annealed(search: Search) -> Mapping | None:
    """Return the first mapping that a few walks find."""
    search.anneal(WALKS, CHUNK, lambda: search.found.mapping is not None)
    return search.found.mapping


def without_costs(lk: Links) -> Links:
    """Return a bypass choice where no mapping costs more than another."""
    free: dict[str, Any] = {
        name: np.zeros_like(value)
        for name, value in lk._asdict().items()
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and name not in NOT_COSTS
    }
    return lk._replace(**free, cycles=0.0, leakage=0.0, reach=True)
