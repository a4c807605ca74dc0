"""Decoupled search: an off-chip tile, then every mapping of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from math import inf

import numpy as np
import pytest

import tilewright as tw
from small import small_machine
from tilewright.architecture.constraints.dataflow import load_dataflow
from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapping.constraints import under
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.model.evaluate import evaluate
from tilewright.strategies.searches.decoupled import Decoupled, symmetric
from tilewright.strategies.steps import Problem, value
from tilewright.workload.layer import Layer

LAYER = tw.einsum("O[K,P] += I[C,P+R] * W[K,C,R]", K=4, C=2, P=4, R=2)
SQUARE = tw.conv2d(K=2, C=2, P=4, Q=4, R=2, S=2)


def tried(layer: Layer, machine: Architecture, objective: str, prefix: tuple[Node, ...]) -> float:
    """Return the least value of all mappings of an off-chip tile, one by one."""
    tile = layer.bounds | {n.dimension: n.tile for n in prefix if isinstance(n, For)}
    names = [d for d in layer.dimensions if tile[d] > 1]
    local = Store(machine.memories[2].name, tuple(t.name for t in layer.tensors))
    (array,) = machine.arrays
    best = inf
    for sizes in product(*(divisors(tile[d]) for d in names)):
        middle = dict(zip(names, sizes, strict=True))
        for cuts in product(*(product(divisors(n), repeat=2) for n in sizes)):
            if any(n % (x * y) for n, (x, y) in zip(sizes, cuts, strict=True)):
                continue
            spatial: list[Node] = []
            for d, (x, y) in zip(names, cuts, strict=True):
                spatial.append(Spatial(d, middle[d] // x, "X", array.name))
                spatial.append(Spatial(d, middle[d] // (x * y), "Y", array.name))
            looping = [d for d in names if middle[d] < tile[d]]
            for order in permutations(looping):
                nodes = (*prefix, *(For(d, middle[d]) for d in order), *spatial, local)
                try:
                    cost = evaluate(layer, machine, Mapping(nodes))
                except tw.MappingError:
                    continue
                own = value(objective, np.array([cost.energy_pj]), np.array([cost.cycles]))
                best = min(best, float(own[0]))
    return best


@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
def test_every_mapping_of_the_tile_is_covered(objective: str) -> None:
    machine = small_machine(registers=8, buffer=18)
    found = Decoupled().search(Problem(LAYER, machine, objective))
    prefix = found.choice.mapping.nodes
    assert found.value == pytest.approx(tried(LAYER, machine, objective, prefix))
    assert found.value >= tw.map(LAYER, machine, objective, workers=1).layers[0].proof.value


@pytest.mark.parametrize(("p", "q", "r", "s", "registers"), [(3, 4, 2, 3, 8), (4, 4, 2, 2, 6)])
def test_windows_slide_in_either_direction(
    p: int, q: int, r: int, s: int, registers: int
) -> None:  # fmt: skip
    layer = tw.einsum("O[P,Q] += I[P+R,Q+S] * W[R,S]", P=p, Q=q, R=r, S=s)
    machine = small_machine(registers=registers, buffer=90)
    found = Decoupled().search(Problem(layer, machine, "energy"))
    assert found.value == tried(layer, machine, "energy", found.choice.mapping.nodes)


def test_symmetry_loses_nothing() -> None:
    machine = small_machine(registers=12, buffer=200)
    assert symmetric(SQUARE) == ("P", "Q")
    assert symmetric(replace(SQUARE, bounds=SQUARE.bounds | {"Q": 2})) is None
    both, half = (Decoupled(symmetry=s).search(Problem(SQUARE, machine, "energy")) for s in (0, 1))
    assert half.value == both.value
    assert half.evaluated < both.evaluated


def test_options_prune() -> None:
    machine = small_machine(registers=20, buffer=200)
    every = Decoupled().search(Problem(SQUARE, machine, "energy"))
    pruned = Decoupled(unrolled=1, utilization=1.0, batch=1, exact=1)
    fewer = pruned.search(Problem(SQUARE, machine, "energy"))
    assert fewer.evaluated < every.evaluated
    assert fewer.value >= every.value
    assert fewer.evaluation.spatial_utilization == 1.0


def test_a_dataflow_confines_the_array() -> None:
    machine = under(tw.load_architecture("marvel-p1"), load_dataflow("kc-p"))
    layer = tw.conv2d(K=16, C=8, P=7, Q=7, R=3, S=3)
    found = Decoupled().search(Problem(layer, machine, "latency"))
    nodes = found.evaluation.mapping.nodes
    assert {n.dimension for n in nodes if isinstance(n, Spatial)} <= {"K", "C"}


def test_what_it_does_not_cover_is_refused() -> None:
    simple = tw.load_architecture("diannao")
    with pytest.raises(InputError, match="decoupled covers"):
        Decoupled().check(Problem(LAYER, simple, "energy"))
    machine = under(small_machine(), load_dataflow("weight-stationary"))
    with pytest.raises(InputError, match="covers constraints on what an array unrolls"):
        Decoupled().check(Problem(LAYER, machine, "energy"))
    with pytest.raises(InputError, match="from 0 to 1"):
        Decoupled(utilization=2.0).check(Problem(LAYER, small_machine(), "energy"))


def test_map_takes_a_strategy() -> None:
    machine = small_machine()
    found = tw.map(LAYER, machine, "energy", strategy="decoupled:exact=1")
    assert not found.layers[0].proof.optimal
    assert found.layers[0].evaluation.energy_pj == found.layers[0].proof.value
    with pytest.raises(InputError, match="time limit"):
        tw.map(LAYER, machine, "energy", strategy="random")
    assert tw.map(LAYER, machine, "energy", strategy="random", time_limit=0.2).layers
