"""Under constraints the search finds what trying every mapping that satisfies them finds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import count, islice
from math import inf, isclose
from pathlib import Path

import pytest

import tilewright as tw
from constrained import ConstrainedEnumeration, constrained_problem, history_problem
from strategies import layer_of
from tilewright import Constraint, Constraints, InputError, NoMappingError, conv2d
from tilewright.architecture import load_architecture
from tilewright.architecture.constraints.files import parse_text
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.search.found import Found
from tilewright.mapper.search.questions.feasibility import some_mapping
from tilewright.mapper.search.questions.infeasibility import demanding, demands, smallest_core
from tilewright.mapper.search.search import Search
from tilewright.mapping import under, violations
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

OBJECTIVES = ("energy", "latency", "edp")
FEW, MANY = range(50), range(50, 600)
# of these, 15 and 98 fail when dominance forgets the loops so far, or the bits
TELLING = (15, *range(8), 98)
PATIENCE = 50_000


def search(layer: Layer, machine: Architecture, objective: str) -> Found:
    asked = count()
    found = Search(layer, machine, objective).solve(lambda: next(asked) > PATIENCE)
    assert found.finished
    return found


def same(a: float, b: float) -> bool:
    return isclose(a, b, rel_tol=1e-9) or a == b == inf


def compare(layer: Layer, machine: Architecture) -> bool:
    """Compare all objectives; return whether there is any mapping."""
    every = ConstrainedEnumeration(layer, machine)
    for objective in OBJECTIVES:
        found = search(layer, machine, objective)
        best = every.best[objective]
        assert same(found.value, best.value), f"{objective}: {found.mapping}, but best is {best}"
        if found.mapping is None:
            continue
        check(found.mapping, layer, machine)
        cost = evaluate(layer, machine, found.mapping)
        value = {"energy": cost.energy_pj, "latency": cost.cycles, "edp": cost.edp_pj_cycles}
        assert same(found.value, value[objective])
        if objective == "energy":
            assert same(cost.cycles, best.cycles), f"{found.mapping} ties with {best}"
        if objective == "latency":
            assert same(cost.energy_pj, best.energy_pj), f"{found.mapping} ties with {best}"
    return every.best["energy"].mapping is not None


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", FEW)
def test_constrained_search_equals_enumeration(seed: int) -> None:
    compare(*constrained_problem(seed, most=20_000))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", TELLING)
def test_search_remembers_what_constraints_ask_of_loops_and_fill(seed: int) -> None:
    compare(*history_problem(seed, most=20_000))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kept", ["", "W", "I"])
@pytest.mark.parametrize("innermost", ["M", "N", "K"])
def test_a_loop_that_may_not_stand_above_an_array_stands_below_it(
    innermost: str, kept: str
) -> None:
    layer = layer_of("matmul", {"M": 4, "N": 2, "K": 4})
    machine = Architecture(
        "two words an element",
        (
            Memory("DRAM", 16, read_energy=64.0, write_energy=64.0),
            Array("A", {"X": 2}),
            Memory("RF", 16, 32, read_energy=1.0, write_energy=1.0, must_keep=frozenset(kept)),
            Compute("MAC", 1.0),
        ),
    )
    given = parse_text(f"DRAM.innermost={innermost}; A.dims=N; A.min_utilization=1")
    assert compare(layer, under(machine, given))


@pytest.mark.parametrize("innermost", ["P", "R", "K"])
@pytest.mark.parametrize("words", [0, 2])
def test_an_array_ends_a_block_as_a_store_node_does(innermost: str, words: int) -> None:
    layer = layer_of("conv1d", {"K": 2, "C": 1, "P": 4, "R": 2})
    levels = (
        Memory("DRAM", 16, read_energy=4.0, write_energy=4.0),
        Memory(
            "BUF", 16, 16 * max(words, 1), read_energy=1.0, keep=frozenset("W" if words else "")
        ),
        Array("A", {"X": 4}),
        Compute("MAC", 1.0),
    )
    given = parse_text(f"DRAM.innermost={innermost}")
    assert compare(layer, under(Architecture("an array alone", levels), given))


@pytest.mark.parametrize("innermost", ["K", "P", "C"])
def test_a_store_node_of_an_outer_memory_stands_in_a_block(innermost: str) -> None:
    layer = layer_of("conv1d", {"K": 2, "C": 4, "P": 2, "R": 1})
    levels = (
        Memory("DRAM", 16, read_energy=4.0, write_energy=4.0),
        Memory("W", 16, 16, read_energy=0.5, keep=frozenset("W"), must_keep=frozenset("W")),
        Memory("O", 16, 16, read_energy=0.5, keep=frozenset("O"), must_keep=frozenset("O")),
        Compute("MAC", 1.0),
    )
    given = parse_text(f"O.innermost={innermost}; W.tile.P=1")
    assert compare(layer, under(Architecture("apart", levels), given))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(300))
def test_search_remembers_it_on_many_problems(seed: int) -> None:
    compare(*history_problem(seed, most=20_000))


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_constrained_search_equals_enumeration_on_many_problems(seed: int) -> None:
    compare(*constrained_problem(seed))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(1000, 1020))
def test_a_constraint_less_never_makes_the_best_mapping_worse(seed: int) -> None:
    layer, machine = constrained_problem(seed, most=20_000)
    value = search(layer, machine, "edp").value
    for i in range(len(machine.constraints)):
        fewer = (*machine.constraints[:i], *machine.constraints[i + 1 :])
        assert search(layer, replace(machine, constraints=fewer), "edp").value <= value * (1 + 1e-9)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(2000, 2040))
def test_some_mapping_is_found_exactly_where_there_is_one(seed: int) -> None:
    layer, machine = constrained_problem(seed, most=20_000)
    found = some_mapping(layer, machine)
    assert (found is None) == (search(layer, machine, "energy").mapping is None)
    if found is not None:
        check(found, layer, machine)


@cache
def impossible() -> list[tuple[Layer, Architecture]]:
    """Problems that constraints make impossible."""
    drawn = (constrained_problem(seed, most=5000) for seed in range(3000, 3200))
    return list(islice(((layer, m) for layer, m in drawn if some_mapping(layer, m) is None), 15))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("i", range(15))
def test_what_excludes_every_mapping_is_a_smallest_set(i: int) -> None:
    layer, machine = impossible()[i]
    core = smallest_core(layer, machine, demands(machine))
    assert some_mapping(layer, demanding(machine, core)) is None
    for demand in core:
        rest = [other for other in core if other != demand]
        assert some_mapping(layer, demanding(machine, rest)) is not None


SIMPLE = load_architecture("simple")
LAYER = conv2d(name="conv", K=8, C=6, P=7, Q=7, R=3, S=3)
TINY = conv2d(name="tiny", K=4, C=3, P=4, Q=4, R=2, S=2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "PE.factor.C=4",
            "satisfies this: PE unrolls C by 4 (C has 6, in parts of 1, 2, 3, 6; 'PE' has 256 "
            "elements); it has to give",
        ),
        (
            "PE.X.dims=K; PE.Y.max_dims=0; PE.min_utilization=0.25; PE.Y.dims=K,C",
            "satisfies all of these: PE.Y unrolls at most 0 dimensions (axis Y has 16 elements); "
            "at least 25% of PE is used (at most 16 of its 256 elements can be); one of them has "
            "to give",
        ),
        (
            "RF.tile.K=all; RF.tile.P=all; RF.tile.Q=all; RF.keep=O; RF.keep=I; RF.tile.S=1",
            "'RF' needs 6272 bits, has 4096; tiles in RF have all of K (K has 8, in parts of 1, 2, "
            "4, 8); tiles in RF have all of P (P has 7, in parts of 1, 7); tiles in RF have all of "
            "Q (Q has 7, in parts of 1, 7); RF stores O; one of them has to give",
        ),
        (
            "RF.keep=W; RF.even=true; RF.bypass=W",
            "RF stores W; RF does not store W; one of them has to give",
        ),
        (
            "GLB.min_utilization=0.5",
            "satisfies this: at least 50% of GLB is used (all tensors take 20960 bits, 'GLB' has "
            "1048576); it has to give",
        ),
    ],
)
def test_an_answer_names_what_excludes_every_mapping(given: str, message: str) -> None:
    with pytest.raises(NoMappingError) as failure:
        tw.map(LAYER, SIMPLE, constraints=given)
    assert str(failure.value).startswith("no mapping of layer 'conv' on 'simple' satisfies ")
    assert str(failure.value).endswith(message)


def test_constraints_can_be_given_in_every_way(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text("- {at: array, dims: [K, C]}\n")
    ways = [
        "kc-p", "PE.dims=K,C", path, str(path), {"at": "PE", "dims": ["K", "C"]},
        [{"at": "array", "dims": ["C", "K"]}], Constraint("PE", dims=frozenset("KC")),
        Constraints((Constraint("PE", dims=frozenset("KC")),)), ["kc-p", "PE.dims=K,C,P"],
    ]  # fmt: skip
    free = tw.map(TINY, SIMPLE, "latency")
    results = [tw.map(TINY, SIMPLE, "latency", constraints=way) for way in ways]
    assert free.cycles < results[0].cycles
    assert len({result.layers[0].mapping for result in results}) == 1
    for result in results:
        assert result.optimal
        assert (
            violations(
                result.layers[0].mapping, TINY, SIMPLE, [Constraint("PE", dims=frozenset("KC"))]
            )
            == []
        )


def test_the_proof_states_the_constraints() -> None:
    proof = tw.map(TINY, SIMPLE, constraints=["kc-p", "even=true"]).layers[0].proof
    assert proof.space.endswith(
        "Only mappings in which PE unrolls only I&W not sliding, W&O; GLB stores all its tensors "
        "at one point; RF stores all its tensors at one point."
    )
    free = tw.map(TINY, SIMPLE).layers[0].proof
    assert "Only mappings" not in free.space
    assert proof.mappings_in_space < free.mappings_in_space


def test_a_misspelt_dimension_of_a_machine_is_an_error() -> None:
    machine = replace(SIMPLE, constraints=(Constraint("PE", "X", dims=frozenset(["Ch"])),))
    with pytest.raises(InputError, match="no layer and no operator has a dimension 'Ch'"):
        tw.map(LAYER, machine)
