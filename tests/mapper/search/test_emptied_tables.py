"""Tables that are given up: a search without room for them ends as one with room."""

import pytest

import tilewright as tw
from problems import problem
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.search import best_first
from tilewright.mapper.search.search import Search

LAYER = tw.conv2d(K=8, C=6, P=6, Q=4, R=3, S=2, stride=2)


def solved(seed):
    search = Search(*problem(seed), ("energy", "edp", "latency")[seed % 3])
    found = search.solve()
    return found.value, found.bound, found.labels, found.mapping, found.least_memory


@pytest.mark.parametrize("seeds", [range(6), pytest.param(range(6, 60), marks=pytest.mark.slow)])
def test_the_result_does_not_depend_on_room_for_tables(seeds, monkeypatch):
    roomy = [solved(seed) for seed in seeds]
    given_up = []
    empty = Plan.empty_tables
    monkeypatch.setattr(best_first, "MOST_TABLES", 0)
    monkeypatch.setattr(Plan, "empty_tables", lambda plan: (given_up.append(plan), empty(plan)))
    assert [solved(seed) for seed in seeds] == roomy
    assert len(given_up) > len(seeds)


def test_tables_beyond_the_room_are_given_up_the_last_first():
    search = Search(LAYER, tw.load_architecture("four-level"), "energy")
    search.begin(lambda: False)
    plans = list(search.plans(search.keeps()[:6]))
    for plan in plans:
        search.prepare(plan, float(search.best[0]))
    sizes = [plan.table_bytes for plan in plans]
    assert all(sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_first, "MOST_TABLES", 2 * sum(sizes[:3]))
        assert best_first.empty_some(plans) == sum(sizes[:3])
    assert [not plan.emptied for plan in plans] == [True] * 3 + [False] * 3
    bounds = [plan.bound for plan in plans]
    for plan, size, bound in zip(plans, sizes, bounds, strict=True):
        search.refill(plan)
        assert (plan.table_bytes, plan.bound) == (size, bound)
