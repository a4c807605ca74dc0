"""Segments with windows: the best tree is the cheapest of all, and none is below the bound."""

from math import inf
from random import Random

import pytest

from fused_trees import TooManyError
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.objective.objective import parse_objective
from window_chains import buffered, windows
from window_trees import WindowTrees


def check(seed: int, objective: str, most: int) -> bool:
    """Compare the search with all trees; return whether it was proven."""
    random = Random(seed)
    found, goal = windows(random), parse_objective(objective)
    target = buffered(random, limited=objective != "energy")
    problem = SegmentProblem(found, target)
    last = found.layers[-1].name
    plain = {f"{last}.{d.names[-1]}": d.bound for d in problem.shared}
    loops = {loop.name: loop.bound for loop in problem.windows.loops}
    try:
        least = WindowTrees(found, target, goal, most).cheapest(plain, loops)
    except TooManyError:
        pytest.skip("too many trees")
    search = SegmentSearch(problem, Chunks(target, goal))
    best = search.solve(inf, lambda: False)
    assert best.bound <= least * (1 + 1e-12)
    assert best.value >= least * (1 - 1e-12)
    proven = best.bound >= best.value * (1 - 1e-12)
    if objective == "energy":
        assert proven
        assert best.value == pytest.approx(least, rel=1e-12)
    return proven


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(16))
def test_the_best_tree_is_the_cheapest_of_all(seed):
    check(seed, "energy", most=1500)


@pytest.mark.long
@pytest.mark.parametrize("objective", ["latency", "edp", "energy*latency^0.5"])
def test_no_tree_is_better_in_other_terms(objective, whole):
    seeds = (0, 2, 4, 5, 6, 8) if whole else (0, 4, 6)
    proven = [check(seed, objective, most=3000) for seed in seeds]
    assert any(proven)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 200))
def test_the_best_tree_is_the_cheapest_of_many(seed):
    check(seed, "energy", most=20000)
