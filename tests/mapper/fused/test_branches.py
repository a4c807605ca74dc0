"""Chunks on machines of several arrays: annealing and combined bounds change no optimum."""

from dataclasses import replace
from math import inf
from random import Random

import pytest

from several_arrays import several_arrays
from tilewright.document import Document
from tilewright.mapper.fused.search.branch import BranchSearch
from tilewright.mapper.fused.search.chunks import Chunks
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.settings import EVERY_PART
from tilewright.workload.network import parse_network

OBJECTIVES = ["energy", "latency", "edp"]


def never():
    return False


def chunk(random):
    """Return a small product, or one whose input slides."""
    bounds = {d: random.choice((1, 2, 3, 4, 6)) for d in "MNK"}
    einsum = random.choice(
        ("O[M,N] += I[M,K] * W[K,N]", "O[N,M] += I[K,M+R] * W[N,K,R]", "O[M,N] += I[M+N,K] * W[K]")
    )
    if "R" in einsum:
        bounds["R"] = random.choice((2, 3))
    data = {"name": "n", "layers": [{"name": "l", "einsum": einsum, "bounds": bounds}]}
    return parse_network(Document(data, "n")).layers[0]


@pytest.mark.long
@pytest.mark.sampled(15)
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_of_a_chunk_is_that_of_labels_alone(seed, objective):
    random = Random(seed)
    machine, layer = several_arrays(random), chunk(random)
    fresh = random.choice((1.0, 1.0, 0.5, 0.25))
    sources = tuple(random.choice((0, 0, 1)) for _ in layer.tensors)
    room = [inf if m.capacity_bits is None else m.capacity_bits for m in machine.memories]
    room[1] *= random.choice((1.0, 0.5))
    goal = parse_objective(objective)

    search = BranchSearch(layer, machine, goal, fresh)
    found = search.best_in(sources, tuple(room), never)
    rough = search.best_in(sources, tuple(room), never, roughly=True)
    least = search.bound_of(sources, inf)
    below = random.choice((0.5, 1.0, 2.0)) * least
    raised = search.bound_of(sources, below)

    plain = BranchSearch(layer, machine, goal, fresh)
    plain.settings = replace(EVERY_PART, combinations=False)
    plain.improve = plain.combine = lambda *_: None
    expected = plain.best_in(sources, tuple(room), never)

    assert found.value == pytest.approx(expected.value, rel=1e-9)
    assert (found.mapping is None) == (expected.mapping is None)
    assert found.bound >= found.value or found.mapping is None
    assert rough.bound <= expected.value * (1 + 1e-9)
    assert rough.value >= expected.value * (1 - 1e-9)
    assert least <= expected.value * (1 + 1e-9)
    assert min(least, below) * (1 - 1e-9) <= raised <= max(expected.value, below) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_chunk_of_one_operation_has_one_mapping(seed):
    random = Random(seed)
    data = {"name": "l", "einsum": "O[M,N] += I[M,K] * W[K,N]", "bounds": dict.fromkeys("MNK", 1)}
    (layer,) = parse_network(Document({"name": "n", "layers": [data]}, "n")).layers
    search = BranchSearch(layer, several_arrays(random), parse_objective("energy"), 1.0)
    found = search.best_in((0, 0, 0), tuple(search.capacity), never)
    rough = search.best_in((0, 0, 0), tuple(search.capacity), never, roughly=True)
    assert rough.value == found.value < inf
    assert rough.bound <= found.bound == found.value


def test_no_search_begins_once_it_is_stopped():
    random = Random(0)
    machine, layer = several_arrays(random), chunk(random)
    chunks = Chunks(machine, parse_objective("energy"))
    kind = chunks.kind(layer, 1.0, (0,) * len(layer.tensors))
    point = chunks.solve(layer, kind, chunks.capacity, lambda: True)
    assert point.mapping is None
    assert chunks.searches == 0
    found = chunks.solve(layer, kind, chunks.capacity, never)
    assert found.mapping is not None
    assert point.bound <= found.value
