"""What the links inside an array cost together: a bound that no mapping undercuts."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import pytest

import problems
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.bounds.inside_array import worth_solving
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import Keep
from tilewright.mapper.search.search import Search
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer


def deep_problem(seed: int) -> tuple[object, Architecture] | None:
    """Return a random problem with memories below an array that cost something together."""
    random = Random(seed)
    layer, machine = problems.layer(random), problems.machine(random)
    machine = replace(
        machine,
        levels=tuple(
            replace(level, forwarding=False) if isinstance(level, Array) else level
            for level in machine.levels
        ),
    )
    deep = any(worth_solving(machine, k) for k in range(len(machine.arrays)))
    return (layer, machine) if deep else None


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("seed", range(150))
def test_bounds_are_never_above_the_best_mapping_of_a_bypass_choice(
    seed: int, objective: str
) -> None:
    drawn = deep_problem(seed)
    if drawn is None:
        return
    layer, machine = drawn
    bounded = Search(layer, machine, objective)
    plain = Search(layer, machine, objective)
    plain.within = {}
    for keep in bounded.keeps()[:: 1 + len(bounded.keeps()) // 12]:
        plain.begin_anew()
        best = plain.solve(plans=[plain.plan(keep)]).value
        for whole in (True, False):
            plan = bounded.plan(keep, whole)
            for jointly in (False, True):
                plan.known = jointly
                bounded.prepare(plan, inf)
            assert plan.bound[0] <= best * (1 + 1e-9), (keep, whole)


@pytest.mark.parametrize("seed", range(150))
def test_optima_are_the_same_without_them(seed: int) -> None:
    drawn = deep_problem(seed)
    if drawn is None:
        return
    bounded, plain = Search(*drawn, "edp"), Search(*drawn, "edp")
    plain.within = {}
    mine, theirs = bounded.solve(), plain.solve()
    assert mine.finished and theirs.finished
    assert mine.value == pytest.approx(theirs.value, rel=1e-9)


def gap(layer: Layer, machine: Architecture, keep: Keep) -> tuple[float, float]:
    """Return the bound of a bypass choice, and its best mapping, in pJ."""
    plain = Search(layer, machine, "energy")
    plain.within = {}
    search = Search(layer, machine, "energy")
    plan = search.plan(keep)
    plan.known = True
    search.prepare(plan, inf)
    return plan.bound[0], plain.solve(plans=[plain.plan(keep)]).value


def test_partial_sums_start_from_zero_more_often_than_there_are_words() -> None:
    # without reduction each of the four elements of A starts its own sum of a word
    layer = einsum("O[P] += I[P,S] * W[S]", P=6, S=4)
    machine = Architecture(
        "no sums across",
        (
            Memory("M0", 16, read_energy=1.0, write_energy=1.0),
            Array("A", {"X": 4}, multicast=False, reduction=False),
            Memory("M1", 16, read_energy=0.5, write_energy=0.5, must_keep=frozenset("WO")),
            Memory(
                "M2", 16, None, {"W": 16, "O": 16}, 30.0, 100.0,
                keep=frozenset("WO"), must_keep=frozenset("WO"),
            ),
            Array("B", {"X": 2}, multicast=False, reduction=True),
            Compute("MAC", 0.0),
        ),
    )  # fmt: skip
    for keep in Search(layer, machine, "energy").keeps():
        bound, best = gap(layer, machine, keep)
        assert bound <= best * (1 + 1e-9), keep


def test_windows_that_an_array_cuts_slide_by_more_than_below_it() -> None:
    # S is spatial by 1 and temporal by 2 outside, as far as Q moves a window: words come back
    layer = einsum("O[Q] += I[2*Q+S]", Q=6, S=4)
    machine = Architecture(
        "cut windows",
        (
            Memory("M0", 16, read_energy=64.0, write_energy=64.0),
            Array("A", {"X": 2}, hop_energy=20.0),
            Memory("M1", 16, 2 * 16, read_energy=0.5, write_energy=0.5, keep=frozenset("I")),
            Memory("M2", 16, 1 * 16, read_energy=30.0, write_energy=30.0, keep=frozenset("I")),
            Compute("MAC", 0.0),
        ),
    )
    bound, best = gap(layer, machine, ((0, 1, 2), (0,)))
    assert bound <= best * (1 + 1e-9)


def test_searches_for_larger_memories_look_inside_those() -> None:
    layer = einsum("O[M,N] += I[M,K] * W[K,N]", M=8, N=8, K=8)

    def machine(words: int) -> Architecture:
        return Architecture(
            "sizes",
            (
                Memory("M0", 16, read_energy=64.0, write_energy=64.0),
                Array("A", {"X": 2}),
                Memory("M1", 16, read_energy=8.0, write_energy=8.0),
                Memory("M2", 16, words * 16, read_energy=1.0, write_energy=1.0),
                Compute("MAC", 0.0),
            ),
        )

    search = Search(layer, machine(3), "energy")
    search.solve()
    search.aim(parse_objective("energy"), machine(64))
    assert search.solve().value == Search(layer, machine(64), "energy").solve().value
