"""The best fused mapping of small segments is the cheapest of all trees, made one by one."""

from math import inf
from random import Random

import pytest

from fused_trees import TooManyError, Trees
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.document import Document
from tilewright.mapper.fused.choices import SegmentProblem
from tilewright.mapper.fused.chunks import Chunks
from tilewright.mapper.fused.segment_search import SegmentSearch
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapping.fused import Segment, segment
from tilewright.workload.network import parse_network


def chain(random: Random) -> tuple[Segment, list[str]]:
    """Return a chain of products, and the dimensions that run through all of them."""
    count = random.choice((2, 2, 2, 3))
    m = random.choice((2, 2, 3, 4))
    sizes = [random.choice((1, 2, 2, 3)) for _ in range(count + 1)]
    layers = [
        {
            "name": f"l{i}",
            "einsum": f"O[M,{'ABCD'[i + 1]}] += I[M,{'ABCD'[i]}] * W[{'ABCD'[i]},{'ABCD'[i + 1]}]",
            "bounds": {"M": m, "ABCD"[i]: sizes[i], "ABCD"[i + 1]: sizes[i + 1]},
            "tensors": {"I": f"T{i}", "O": f"T{i + 1}"},
        }
        for i in range(count)
    ]
    data = {"name": "net", "layers": layers, "inputs": {"T0": [m, sizes[0]]}}
    found = segment(parse_network(Document(data, "net")), [f"l{i}" for i in range(count)])
    return found, ["M", "B"] if count == 2 else ["M"]


def machine(random: Random) -> Architecture:
    """Return a machine with a small buffer, with or without an array of two and registers."""
    kept = frozenset(random.choice(("IWO", "W", "")))
    buffer = Memory(
        "GLB", 16, capacity_bits=16 * random.choice((4, 6, 8, 10, 14, 20)), read_energy=6.0,
        write_energy=random.choice((6.0, 9.0)), must_keep=kept,
        buffering=random.choice((1, 1, 2)),
    )  # fmt: skip
    inside: tuple[Array | Memory, ...] = ()
    if random.random() < 0.4:
        array = Array("PE", {"X": 2}, hop_energy=0.5, reduction=random.random() < 0.7)
        inside = (
            array,
            Memory(
                "RF",
                16,
                capacity_bits=16 * 3,
                read_energy=1.0,
                write_energy=1.0,
                must_keep=frozenset(random.choice(("", "O"))),
            ),
        )
    outermost = Memory("DRAM", 16, read_energy=100.0, write_energy=random.choice((100.0, 80.0)))
    return Architecture("small", (outermost, buffer, *inside, Compute("MAC", energy=1.0)))


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
    best, bound = search.solve(inf, lambda: False)
    value = inf if best is None else best.bound
    assert value == pytest.approx(least, rel=1e-12)
    assert bound == pytest.approx(least, rel=1e-12)


@pytest.mark.parametrize("seed", range(16))
def test_the_best_tree_is_the_cheapest_of_all(seed):
    check(seed, most=300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 200))
def test_the_best_tree_is_the_cheapest_of_many(seed):
    check(seed, most=2000)
