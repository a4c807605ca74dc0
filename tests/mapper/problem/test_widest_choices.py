"""Spatial choices with any factors: one at least as wide as each that constraints allow."""

from __future__ import annotations

from itertools import product
from math import prod

from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.architecture.constraints.constraint import ALL, Constraint, Limits
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.mapper.problem.widest_choices import axes_of, widest_choices
from tilewright.mapping.constraints import array_fault
from tilewright.workload.layer import Layer

LAYER = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=3, N=4, K=5)


def machine_of(size: int, constraints: tuple[Constraint, ...], other: int = 1) -> Architecture:
    levels = (Memory("DRAM", 8), Array("PE", {"X": size, "Y": other}), Compute("MAC"))
    return Architecture("one", levels, constraints=constraints)


@st.composite
def demands(draw: st.DrawFn) -> tuple[Constraint, ...]:
    some = st.frozensets(st.sampled_from("MNK"), min_size=1)
    low, high = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    limits = draw(st.sampled_from([Limits(low, max(low, high)), Limits(low), Limits(ALL, ALL)]))
    kinds = st.sampled_from([
        Constraint("PE", "X", max_dims=draw(st.integers(0, 3))),
        Constraint("PE", max_dims=draw(st.integers(1, 3))),
        Constraint("PE", "X", dims=draw(some)),
        Constraint("PE", "X", require=draw(some)),
        Constraint("PE", "X", factor=((draw(st.sampled_from("MNK")), limits),)),
    ])  # fmt: skip
    return tuple(draw(st.lists(kinds, max_size=3)))


def allowed(choice: tuple[int, ...], machine: Architecture, layer: Layer) -> bool:
    """Whether an axis may have so many elements along each dimension."""
    factors = dict(zip(layer.bounds, choice, strict=True))
    (array,) = machine.arrays
    return prod(choice) <= array.axes["X"] and not any(
        array_fault(own, factors, layer.bounds, array.elements) for own in machine.statements
    )


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 12), demands())
def test_some_choice_is_as_wide_as_any(size: int, constraints: tuple[Constraint, ...]) -> None:
    machine = machine_of(size, constraints)
    every = product(*(range(1, bound + 1) for bound in LAYER.bounds.values()))
    some = [own for own in every if allowed(own, machine, LAYER)]
    axis = axes_of(LAYER, machine)[0][0]
    choices, widest = axis.choices(), axis.widest()
    if some:
        assert set(some) <= set(choices)
        assert set(widest) <= set(choices)
    for own in some:
        assert any(all(map(int.__le__, own, wide)) for wide in widest)


def test_an_axis_of_one_dimension_has_one() -> None:
    machine = machine_of(6, (Constraint("PE", "X", max_dims=1),), 4)
    ((axis, other),) = axes_of(LAYER, machine)
    assert sorted(axis.widest()) == [(1, 1, 5), (1, 4, 1), (3, 1, 1)]
    assert (2, 2, 1) not in axis.choices() and (2, 2, 1) in other.choices()
    # a bound over all of them does not count on more
    assert widest_choices(LAYER, machine).prod(axis=(1, 2)).max() == 20


def test_a_fixed_factor_is_no_more() -> None:
    machine = machine_of(12, (Constraint("PE", "X", factor=(("N", Limits(2, 2)),)),))
    assert {own[1] for own in axes_of(LAYER, machine)[0][0].widest()} == {2}
