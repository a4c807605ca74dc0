"""The best fused mapping of small segments is the cheapest of all trees, made one by one."""

from collections.abc import Callable
from math import inf
from random import Random

import pytest

from fused_chains import chain, machine, reading_one
from fused_trees import TooManyError, Trees
from layers_apart import least_of_layers
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.segment_search import SegmentSearch
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.fused import Segment, segment

FEW = (0, 4, 11, 12, 16)  # none of them has too many branches


def check(graph: Callable[[Random], tuple[Segment, list[str]]], seed: int, most: int) -> None:
    """Compare the search with all trees; skip segments with more branches than some.

    Trees with groups have a test of their own.
    """
    random = Random(seed)
    (found, shared), target = graph(random), machine(random)
    try:
        least = Trees(found, target, most).cheapest(shared)
    except TooManyError:
        pytest.skip("too many branches")
    problem = SegmentProblem(found, target)
    search = SegmentSearch(problem, Chunks(target, parse_objective("energy")))
    grouped, search.grouped = search.grouped, lambda best, stop: best
    best = search.solve(inf, never)
    assert best.value == pytest.approx(least, rel=1e-12)
    assert best.bound == pytest.approx(least, rel=1e-12)
    assert grouped(best, never).value <= best.value
    assert least_of_layers(problem) <= least * (1 + 1e-12)


def one_input(random: Random) -> tuple[Segment, list[str]]:
    """Return a segment whose first two layers read the same tensor."""
    sizes = {d: random.choice((1, 2, 2)) for d in "MNKL"[: random.choice((3, 4))]}
    found, names = reading_one(["one", "two"], sizes)
    return segment(found, names), ["M", "N"]


def never() -> bool:
    return False


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [*FEW, *(pytest.param(s, marks=pytest.mark.slow) for s in range(20) if s not in FEW)]
)
def test_the_best_tree_is_the_cheapest_of_all(seed):
    check(chain, seed, most=400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 200))
def test_the_best_tree_is_the_cheapest_of_many(seed):
    check(chain, seed, most=2000)


@pytest.mark.long
@pytest.mark.parametrize(
    "seed", [0, 1, 3, *(pytest.param(s, marks=pytest.mark.slow) for s in range(4, 60))]
)
def test_the_best_tree_of_layers_that_read_one_tensor(seed):
    check(one_input, seed, most=400)
