"""Mappings in which dimensions change places cost the same, and one of each two is searched."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from math import inf
from random import Random

import numpy as np
import pytest

import problems
from strategies import layer_of
from test_mapper_equals_enumeration import compare
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture, Array, Compute, Constraint, Memory
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem import space as problem
from tilewright.mapper.search import search as solve
from tilewright.mapper.search.questions.restricted import afresh, spatial_sets, unrolled
from tilewright.mapper.search.search import Search
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

CONV = "O[N,K,P,Q] += I[N,C,P+R,Q+S] * W[K,C,R,S]"
SQUARE = {"N": 1, "K": 4, "C": 2, "P": 6, "Q": 6, "R": 3, "S": 3}


def swapped(layer: Layer, machine: Architecture) -> set[frozenset[str]]:
    """Return the dimensions that change places in a search, two by two."""
    search = Search(layer, machine, "energy")
    names, other = search.tiles.dimensions, search.space.mirror_dimension
    return {frozenset((names[d], names[o])) for d, o in enumerate(other) if o != d}


def test_both_halves_of_a_square_window_change_places() -> None:
    machine = load_architecture("simple")
    square = einsum(CONV, **SQUARE)
    assert swapped(square, machine) == {frozenset("PQ"), frozenset("RS")}
    assert swapped(einsum(CONV, **{**SQUARE, "R": 1, "S": 1}), machine) == {frozenset("PQ")}
    for other in ({"S": 2}, {"Q": 12}):
        assert not swapped(einsum(CONV, **(SQUARE | other)), machine)
    assert not swapped(einsum(CONV.replace("Q+S", "2*Q+S"), **SQUARE), machine)
    assert not swapped(einsum("O[M,N] += I[M,K] * W[K,N]", M=8, N=8, K=8), machine)


def test_constraints_tell_dimensions_apart() -> None:
    machine = load_architecture("simple")
    array = machine.arrays[0].name
    only = Constraint(array, None, frozenset("KCP"))
    assert not swapped(einsum(CONV, **SQUARE), replace(machine, constraints=(only,)))


@pytest.mark.parametrize("seed", range(8))
def test_mirror_images_cost_the_same(seed: int) -> None:
    layer = einsum(CONV, **(SQUARE | {"K": 1, "C": 2}))
    sp = Search(layer, problems.machine(Random(seed)), "energy").space
    assert (sp.mirror[sp.mirror] == np.arange(len(sp.mirror))).all()
    assert (sp.words[:, sp.mirror] == sp.words).all()
    assert (sp.repeats[sp.mirror] == sp.repeats).all()
    for costs in (sp.unroll_product, sp.unroll_reuse, sp.unroll_sharing):
        assert (costs[sp.mirror_choice] == costs).all()


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_search_of_one_half_equals_that_of_both(
    seed: int, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    machine = problems.machine(random)
    bounds = SQUARE | {"K": random.choice([1, 2, 4]), "P": 8, "Q": 8}
    layer = einsum(CONV, **bounds)
    half = Search(layer, machine, objective).solve()
    monkeypatch.setattr(solve, "mirrored", lambda space: space)
    whole = Search(layer, machine, objective).solve()
    assert half.finished == whole.finished
    assert half.value == pytest.approx(whole.value, rel=1e-12)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(12))
def test_tables_of_one_half_are_those_of_both(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = problems.machine(Random(seed))
    layer = einsum(CONV, **(SQUARE | {"P": 12, "Q": 12}))
    half = Search(layer, machine, "energy")
    monkeypatch.setattr(solve, "mirrored", lambda space: space)
    whole = Search(layer, machine, "energy")
    pairs = zip(half.plans(), whole.plans(), strict=True)
    for mine, theirs in islice(pairs, 4):
        for jointly in (False, True):
            for search, plan in ((half, mine), (whole, theirs)):
                plan.known = jointly
                search.prepare(plan, inf)
            assert np.allclose(mine.lk.table, theirs.lk.table, rtol=1e-12)
            assert (mine.lk.matters == theirs.lk.matters).all()
            assert mine.bound == pytest.approx(theirs.bound, rel=1e-12)


def test_spatial_choices_alone_can_tell_dimensions_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_architecture("simple")
    only = Constraint(machine.arrays[0].name, None, frozenset("KCP"))
    machine = replace(machine, constraints=(only,))
    layer = einsum(CONV, **(SQUARE | {"P": 8, "Q": 8}))
    values = []
    for change in (solve.mirrored, lambda space: space):
        monkeypatch.setattr(solve, "mirrored", change)
        some = [[one for one in spatial_sets(Search(layer, machine, "edp")) if "P" not in one]]
        part = unrolled(Search(layer, machine, "edp"), some)
        assert part is not None
        values.append(afresh(part, parse_objective("edp"), inf).solve().value)
        assert part.space.side.any() == (len(values) == 1)
    assert values[0] == pytest.approx(values[1], rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_outermost_loops_on_dimensions_of_all_tensors_equal_loops_anywhere(
    seed: int, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    machine = problems.machine(random)
    layer = einsum("O[G,P] += I[G,P+R] * W[G,R]", G=12, P=random.choice([6, 8]), R=3)
    outermost = Search(layer, machine, objective)
    monkeypatch.setattr(problem, "loops_outermost", lambda layer, machine: False)
    anywhere = Search(layer, machine, objective)
    assert not len(anywhere.space.outermost)
    assert outermost.solve().value == pytest.approx(anywhere.solve().value, rel=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "p, r, words", [(2, 2, 3), (2, 3, 8), pytest.param(4, 2, 3, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("buffer", [False, True])
def test_search_of_one_half_equals_enumeration(p: int, r: int, words: int, buffer: bool) -> None:
    layer = layer_of("conv2d", {"N": 1, "K": 1, "C": 1, "P": p, "Q": p, "R": r, "S": r})
    above = (Memory("GLB", 16, 20 * 16, read_energy=6.0, write_energy=6.0),) if buffer else ()
    machine = Architecture(
        "square",
        (
            Memory("DRAM", 16, read_energy=64.0, write_energy=64.0, shared_bandwidth=0.5),
            *above,
            Array("PE", {"X": 2}),
            Memory("RF", 16, words * 16, read_energy=1.0, write_energy=1.0),
            Compute("MAC", 1.0),
        ),
    )
    assert swapped(layer, machine)
    compare(layer, machine)
