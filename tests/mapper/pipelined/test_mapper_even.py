"""Even mappings under pipelined latency: the search finds the best of all, and bounds hold."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from even_mappings import all_even, even_mappings, even_problem
from tilewright.kernels.kernel import kernel
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.pipelined.best_even import EvenSearch
from tilewright.mapper.pipelined.even_cost import even_cost
from tilewright.mapper.pipelined.even_count import even_mappings as number_of
from tilewright.mapper.pipelined.word_costs import UNIT
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate

EXACT = 1e-9


@kernel
def cost_of(
    tb: Any, ch: Any, outer: int, choice: int, inner: int, above: Any, below: Any, alone: int
) -> tuple[float, float]:
    """Return what an even mapping costs."""
    return even_cost(tb, ch, outer, choice, inner, above, below, alone)


@cache
def costs_of_all(seed: int) -> list[tuple[float, float]]:
    """Return what every even mapping costs."""
    layer, machine = even_problem(seed)
    costs = (
        evaluate(layer, machine, mapping, check=False, latency="pipelined")
        for mapping in even_mappings(layer, machine)
    )
    return [(cost.energy_pj, cost.cycles) for cost in costs]


def best_of_all(seed: int, objective: str) -> tuple[float, EvenSearch]:
    """Return the value of the best even mapping, by trying all, and what the search finds."""
    goal = parse_objective(objective)
    search = EvenSearch(*even_problem(seed), objective)
    search.solve()
    return min(goal.value(*cost) for cost in costs_of_all(seed)), search


def check_optimum(seed: int, objective: str) -> bool:
    """Compare a search with the best of all mappings; return whether it has proven something."""
    best, search = best_of_all(seed, objective)
    found = search.found
    assert found.mapping is not None
    check(found.mapping, search.layer, search.architecture)
    assert found.bound <= best * (1 + EXACT)
    assert found.value >= best * (1 - EXACT)
    if found.proven:
        assert found.value == pytest.approx(best, rel=EXACT)
    return found.proven


@pytest.mark.long
@pytest.mark.parametrize("objective", ["edp", "latency", "energy"])
def test_the_optimum_is_that_of_all_even_mappings(objective: str) -> None:
    assert sum(check_optimum(seed, objective) for seed in range(3)) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_the_optimum_is_that_of_all_even_mappings_of_more_problems(seed: int) -> None:
    check_optimum(seed, "edp")


def check_bounds(seed: int, rows: int) -> int:
    """Compare bounds of random even mappings with the model; return how many there are."""
    layer, machine = even_problem(seed)
    search = EvenSearch(layer, machine, "edp")
    tb = search.tables
    random = Random(seed)
    tried = 0
    bypasses = list(search.bypasses())
    shapes = len(tb.extents)
    for _ in range(rows):
        bypass = random.choice(bypasses)
        own = bypass.chain
        outer = int(random.choice(bypass.outer)) if len(bypass.used) > 1 else shapes - 1
        inner = random.randrange(shapes) if bypass.used else shapes - 1
        choice = random.randrange(len(tb.elements))
        row = np.array(
            [outer, choice, inner, *(random.randrange(len(search.orders)) for _ in "oi")]
        )
        energy, cycles = cost_of(
            tb, own, outer, choice, inner, search.orders[row[3]], search.orders[row[4]], UNIT
        )
        spread = own.array == UNIT and (tb.extents[inner] % tb.factors[choice]).any()
        if energy == np.inf or spread:
            continue
        cost = evaluate(
            layer, machine, search.mapping(bypass, row), check=False, latency="pipelined"
        )
        leaked = cost.cycles * own.leakage
        assert energy + own.operations == pytest.approx(cost.energy_pj - leaked, rel=EXACT)
        assert cycles <= cost.cycles * (1 + EXACT)
        tried += 1
    return tried


def test_energy_is_exact_and_cycles_are_a_bound() -> None:
    assert sum(check_bounds(seed, 60) for seed in range(3)) > 50


@pytest.mark.parametrize("seed", range(2))
def test_even_mappings_are_counted(seed: int) -> None:
    layer, machine = even_problem(seed)
    search = EvenSearch(layer, machine, "edp")
    allowed = {
        memory.name: {t.name for t in layer.tensors if memory.may_store(t.role)}
        for memory in machine.memories
    }
    needed = {
        memory.name: {t.name for t in layer.tensors if t.role in memory.must_keep}
        for memory in machine.memories
    }

    def possible(mapping: tw.Mapping) -> bool:
        kept = {m.name: set() for m in machine.memories}
        for node in mapping.nodes:
            if isinstance(node, tw.Store):
                kept[node.memory] |= set(node.tensors)
        return all(needed[m] <= own <= allowed[m] for m, own in kept.items())

    assert number_of(search) == len(set(filter(possible, all_even(layer, machine))))


def test_a_layer_of_one_operation_has_one_even_mapping_for_each_bypass() -> None:
    layer = tw.matmul(name="m", M=1, N=1, K=1)
    search = EvenSearch(layer, tw.load_architecture("dmazerunner-256"), "edp")
    assert search.solve().proven
    assert number_of(search) == 2**6


def test_no_more_than_a_bound_is_stated_when_the_search_is_stopped() -> None:
    layer = tw.matmul(name="m", M=8, N=8, K=8)
    found = EvenSearch(layer, tw.load_architecture("dmazerunner-256"), "edp").solve(lambda: True)
    assert not found.proven
