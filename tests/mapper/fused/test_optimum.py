"""The best fused mapping of small segments is the cheapest of all trees, made one by one."""

from math import inf
from random import Random

import pytest

from fused_chains import chain, machine
from fused_trees import TooManyError, Trees
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.objective.objective import parse_objective

FEW = (0, 4, 11, 12, 16)  # none of them has too many branches


def check(seed: int, most: int) -> None:
    """Compare the search with all trees; skip segments with more branches than some."""
    random = Random(seed)
    (found, shared), target = chain(random), machine(random)
    try:
        least = Trees(found, target, most).cheapest(shared)
    except TooManyError:
        pytest.skip("too many branches")
    problem = SegmentProblem(found, target)
    search = SegmentSearch(problem, Chunks(target, parse_objective("energy")))
    best = search.solve(inf, lambda: False)
    assert best.value == pytest.approx(least, rel=1e-12)
    assert best.bound == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize(
    "seed", [*FEW, *(pytest.param(s, marks=pytest.mark.slow) for s in range(20) if s not in FEW)]
)
def test_the_best_tree_is_the_cheapest_of_all(seed):
    check(seed, most=400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 200))
def test_the_best_tree_is_the_cheapest_of_many(seed):
    check(seed, most=2000)
