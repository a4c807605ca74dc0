"""Layers with more tile shapes than a search by labels has memory and time for."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from random import Random

from tilewright.architecture.machine import Architecture
from tilewright.errors import MappingError
from tilewright.mapper.heuristics.greedy import greedy_mapping
from tilewright.mapper.label.labels import objective_value
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.problem.lattice import divisors_of
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import closed_form
from tilewright.mapper.search.found import Found
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

MOST_SHAPES = 1 << 20  # about half a GiB of tables
STARTS = 8


def is_vast(layer: Layer) -> bool:
    """Whether a layer has too many tile shapes for tables of all."""
    return divisors_of(layer).shapes > MOST_SHAPES


def found_greedily(
    layer: Layer, architecture: Architecture, objective: str, stop: Callable[[], bool]
) -> Found:
    """Return the best mapping of some greedy ones, and a lower bound of all in closed form."""
    architecture = narrowed(architecture, layer)
    wanted = parse_objective(objective)
    goal = wanted.goal()

    def cost(mapping: Mapping, _: float) -> float:
        try:
            check(mapping, layer, architecture)
        except MappingError:
            return inf
        result = evaluate(layer, architecture, mapping, check=False)
        return float(objective_value(goal, result.energy_pj, float(result.cycles))[0])

    found = Found()
    for seed in range(STARTS):
        if stop():
            break
        mapping = greedy_mapping(layer, architecture, cost, Random(seed), stop)
        if mapping is not None and (value := cost(mapping, inf)) < found.value:
            found.mapping, found.value = mapping, value
    found.closed_form = closed_form(layer, architecture, wanted, stop)
    found.closed_form.lower(found.value, stop)
    found.bound = found.closed_form.bound
    return found
