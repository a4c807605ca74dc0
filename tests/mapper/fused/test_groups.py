"""Groups of layers that share more loops: the best tree is the cheapest of all with such groups."""

from itertools import permutations
from math import inf
from random import Random

import pytest

from fused_chains import machine, network
from fused_trees import Nodes, TooManyError, Trees
from layers_apart import least_of_layers
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.document import Document
from tilewright.fusion.evaluation import evaluate
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.fused.search.segment_search import BestTree, SegmentSearch
from tilewright.mapper.fused.search.trees import tree_of
from tilewright.mapper.fused.space.groups import groupings
from tilewright.mapper.fused.space.segment_problem import SegmentProblem
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.fused import Segment, segment
from tilewright.workload.network import parse_network
from window_chains import buffered

GROUPS = ((("l0", "l1"), ["M", "B"]), (("l1", "l2"), ["M", "C"]))


def never():
    return False


def chain(random: Random, count: int = 3) -> Segment:
    """Return a chain of products whose middle tensors are wide."""
    sizes = [random.choice((1, 1, 2)) for _ in range(count + 1)]
    sizes[random.choice(range(1, count))] = random.choice((2, 2, 3))
    found = network(random.choice((2, 2, 3)), sizes)
    return segment(found, [f"l{i}" for i in range(count)])


def best_of(found: Segment, target, objective: str = "energy") -> tuple[SegmentProblem, BestTree]:
    """Return the best tree of a segment."""
    problem = SegmentProblem(found, target)
    search = SegmentSearch(problem, Chunks(target, parse_objective(objective)))
    return problem, search.solve(inf, never)


def check(seed: int, samples: int) -> bool:
    """Compare the search with trees in which groups share more loops.

    Returns
    -------
    bool
        Whether the best tree has a group.
    """
    random = Random(seed)
    found = chain(random)
    target = next(m for m in iter(lambda: machine(random), None) if not m.arrays)
    problem, best = best_of(found, target)
    trees = Trees(found, target, most=1500)
    whole = True

    def some(lists: list[Nodes]) -> list[Nodes]:
        nonlocal whole
        whole = whole and len(lists) <= samples
        return lists if len(lists) <= samples else random.sample(lists, samples)

    try:
        least = min(trees.with_group(["M"], *own, some) for own in GROUPS)
        least = min(least, trees.cheapest(["M"])) if whole else least
    except TooManyError:
        pytest.skip("too many branches")
    if least < inf:
        assert best.bound <= least * (1 + 1e-12)
        assert least_of_layers(problem) <= least * (1 + 1e-12)
    if whole:
        assert best.value == pytest.approx(least, rel=1e-12)
    return best.candidate is not None and len(best.candidate.units) == 2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_the_best_tree_is_the_cheapest_of_all(seed):
    check(seed, samples=25)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(6, 126, 10))
def test_the_best_tree_is_the_cheapest_of_many(first):
    assert any([check(seed, samples=80) for seed in range(first, first + 10)])


@pytest.mark.parametrize("seed", range(12))
def test_no_tree_of_another_objective_is_better(seed):
    random = Random(seed)
    found, target = chain(random, random.choice((3, 4))), buffered(random, limited=True)
    every = {}
    for objective in ("energy", "latency", "edp"):
        problem, best = best_of(found, target, objective)
        if best.candidate is None:
            continue
        assert best.bound == pytest.approx(best.value, rel=1e-12)
        cost = evaluate(found, target, tree_of(problem, best.candidate))
        goal = parse_objective(objective)
        values = [goal.value(one.energy_pj, one.cycles) for one in cost.layers.values()]
        assert sum(values) == pytest.approx(best.value, rel=1e-9)
        every[objective] = best, cost
    for (one, (best, _)), (_, (_, cost)) in permutations(every.items(), 2):
        goal = parse_objective(one)
        other = sum(goal.value(each.energy_pj, each.cycles) for each in cost.layers.values())
        assert best.value <= other * (1 + 1e-9)


def test_groups_have_layers_that_follow_each_other():
    random = Random(0)
    found = chain(random, 4)
    problem = SegmentProblem(found, buffered(random))
    every = [own.units for own in groupings(problem)]
    assert len(set(every)) == len(every) == 6
    for units in every:
        assert [i for unit in units for i in unit] == [0, 1, 2, 3]
        assert 1 < len(units) < 4


def test_a_group_makes_a_wide_tensor_smaller():
    # the tensor between the first two layers does not fit beside what all three share
    found = segment(network(2, [1, 3, 2, 1]), ["l0", "l1", "l2"])
    better = 0
    for seed in range(16):
        target = machine(Random(seed))
        if target.arrays:
            continue
        problem, best = best_of(found, target)
        search = SegmentSearch(problem, Chunks(target, parse_objective("energy")))
        search.grouped = lambda best, stop: best
        plain = search.solve(inf, never)
        assert best.value <= plain.value
        better += best.value < plain.value
    assert better


def test_segments_that_are_alike_have_the_same_groups():
    layers = [
        {"name": f"{s}{i}", "op": "matmul", "M": 64, "K": k, "N": n,
         "tensors": {"I": f"{s}T{i}", "O": f"{s}T{i + 1}"}}
        for s in "ab"
        for i, (k, n) in enumerate(((16, 128), (128, 16), (16, 128)))
    ]  # fmt: skip
    data = {"name": "net", "layers": layers, "inputs": {"aT0": [64, 16], "bT0": [64, 16]}}
    found = map_fused(parse_network(Document(data, "net")), two_levels(1024), "energy")
    assert found.optimal
    assert [s.names for s in found.segments] == [("a0", "a1", "a2"), ("b0", "b1", "b2")]
    for one in found.segments:
        assert one.mapping.fuse.branches[0].layer is None
        assert one.value == found.segments[0].value
        assert {tile.tensor[1:] for tile in one.exchanged} == {"T1", "T2"}


def two_levels(words: int) -> Architecture:
    return Architecture(
        "two",
        (
            Memory("DRAM", 16, read_energy=200.0, write_energy=200.0),
            Memory(
                "GLB", 16, capacity_bits=16 * words, read_energy=6.0, write_energy=6.0,
                must_keep=frozenset("IWO"),
            ),
            Compute("MAC", energy=1.0),
        ),
    )  # fmt: skip


@pytest.mark.slow
def test_a_group_may_hold_again_what_several_of_its_layers_read():
    # the first memory keeps the exchanged tensor that two layers of a group read; a second one,
    # which may not hold it for all layers, holds it for these two
    layers = [
        {"name": "a", "einsum": "O[M,N] += I[M,K] * W[K,N]", "bounds": {"M": 2, "N": 2, "K": 2},
         "tensors": {"I": "x"}},
        {"name": "b", "einsum": "O[M,N] += I[M,N] * W[N]", "bounds": {"M": 2, "N": 2},
         "tensors": {"I": "a"}},
        {"name": "sum", "einsum": "O[M,N] += I[M,N] * J[M,N]", "bounds": {"M": 2, "N": 2},
         "tensors": {"I": "a", "J": "b"}},
        {"name": "last", "einsum": "O[M,L] += I[M,N] * W[N,L]",
         "bounds": {"M": 2, "N": 2, "L": 2}, "tensors": {"I": "sum"}},
    ]  # fmt: skip
    data = {"name": "net", "layers": layers, "inputs": {"x": [2, 2]}}
    found = segment(parse_network(Document(data, "net")), ["a", "b", "sum", "last"])
    for kept in ("O",):
        target = Architecture(
            "three",
            (
                Memory("DRAM", 16, read_energy=100.0, write_energy=80.0),
                Memory("L2", 16, capacity_bits=16 * 24, read_energy=12.0, write_energy=10.0,
                       must_keep=frozenset(kept)),
                Memory("L1", 16, capacity_bits=16 * 6, read_energy=3.0, write_energy=2.0),
                Compute("MAC", energy=1.0),
            ),
        )  # fmt: skip
        problem = SegmentProblem(found, target)
        chunks = Chunks(target, parse_objective("energy"))
        search = SegmentSearch(problem, chunks)
        assert search.groups.holding
        best = search.solve(inf, never)
        direct = SegmentSearch(problem, Chunks(target, parse_objective("energy")))
        groups = direct.groups
        groups.holding, groups.relaxed = (*groups.holding, *groups.relaxed), ()
        assert best.value == pytest.approx(direct.solve(inf, never).value, rel=1e-12)
