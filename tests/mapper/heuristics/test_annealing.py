"""Annealed mappings: what the walk is charged is what the model counts, and good ones are found."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import pytest

import problems
from constrained import constraint
from tilewright.architecture.files import load_architecture
from tilewright.mapper.heuristics.annealing import Annealing
from tilewright.mapper.objective.settings import EVERY_PART
from tilewright.mapper.search import best_first
from tilewright.mapper.search.search import Search
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate
from tilewright.workload.operators import conv2d, matmul


def annealing_of(search: Search) -> Annealing:
    return Annealing(
        search.layer, search.architecture, search.tiles, search.space, search.unrollings,
        search.goal, search.operations_energy(),
    )  # fmt: skip


def random_search(seed: int, objective: str) -> Search | None:
    """Return a search of a random problem, unless no walk can be made for it."""
    random = Random(seed)
    search = Search(problems.layer(random), problems.machine(random), objective)
    return search if search.keeps() else None


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(60))
def test_walks_cost_what_the_model_counts(seed: int) -> None:
    search = random_search(seed, "energy")
    if search is None:
        return
    annealing = annealing_of(search)
    forwards = any(array.forwarding for array in search.architecture.arrays)
    for walk in annealing.rounds(4, 50, lambda: False):
        mapping = annealing.mapping(walk)
        check(mapping, search.layer, search.architecture)
        cost = evaluate(search.layer, search.architecture, mapping)
        if not forwards:
            assert walk.value == pytest.approx(cost.energy_pj, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_walks_store_together_what_a_bypass_choice_stores(seed: int) -> None:
    layer, random = matmul(M=8, N=8, K=8), Random(seed)
    search = Search(layer, load_architecture("simple"), "energy")
    # as a constraint on what a memory stores together leaves them: not any chain with any other
    some = random.sample(search.keeps(), 3)
    annealing = Annealing(
        layer, search.architecture, search.tiles, search.space, search.unrollings, search.goal,
        search.operations_energy(), keeps=some,
    )  # fmt: skip
    allowed = {tuple(sum(1 << (m - 1) for m in own[1:]) for own in keep) for keep in some}
    stored = {tuple(walk.stored.tolist()) for walk in annealing.rounds(6, 200, lambda: False)}
    assert stored <= allowed


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(60))
def test_annealed_mappings_are_no_better_than_the_optimum_and_close_to_it(seed: int) -> None:
    search = random_search(seed, "energy")
    if search is None or any(array.forwarding for array in search.architecture.arrays):
        return
    best = min(walk.value for walk in annealing_of(search).rounds(8, 1000, lambda: False))
    optimum = search.solve()
    assert optimum.finished
    assert optimum.value * (1 - 1e-9) <= best <= optimum.value * 1.05


@pytest.mark.sampled(14)
@pytest.mark.parametrize("seed", range(200))
def test_walks_keep_to_constraints_and_come_close_to_the_optimum(seed: int) -> None:
    random = Random(f"annealed {seed}")
    layer, machine = problems.layer(random), problems.machine(random)
    own = tuple(constraint(random, layer, machine) for _ in range(random.choice((1, 2, 3))))
    machine = replace(machine, constraints=own)
    search = Search(layer, machine, "edp")
    if not search.constrained or not search.keeps():
        return
    annealing = annealing_of(search)
    best = inf
    for walk in annealing.rounds(8, 1000, lambda: False):
        check(annealing.mapping(walk), search.layer, search.architecture)
        best = min(best, walk.value)
    optimum = search.solve()
    assert optimum.finished
    if optimum.mapping is None:
        assert best == inf
    elif not any(array.forwarding for array in machine.arrays):
        assert optimum.value * (1 - 1e-9) <= best <= optimum.value * 1.1


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(60))
def test_a_search_that_is_broken_off_to_anneal_ends_with_the_same_optimum(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = random_search(seed, "edp")
    if search is None:
        return
    # without dives the first labels are those of a search
    again = Search(search.layer, search.architecture, "edp", replace(EVERY_PART, dives=False))
    optimum = search.solve()
    monkeypatch.setattr(best_first, "HARD", 8)
    monkeypatch.setattr(again, "anneal", lambda *_: None)
    found = again.solve()
    assert found.finished
    assert found.value == pytest.approx(optimum.value, rel=1e-9)


def test_equal_searches_anneal_to_equal_mappings() -> None:
    layer = conv2d(K=16, C=16, P=8, Q=8, R=3, S=3)
    found = []
    for _ in range(2):
        annealing = annealing_of(Search(layer, load_architecture("four-level"), "edp"))
        *_, last = annealing.rounds(4, 500, lambda: False)
        found.append((last.value, annealing.mapping(last)))
    assert found[0] == found[1]
