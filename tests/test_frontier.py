"""The least cost for every memory size is what a search at that size finds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tilewright
from tilewright.architecture.machine import Memory
from tilewright.errors import InputError
from tilewright.mapper.frontier import counting, least_cost, sized
from tilewright.mapper.solve import Search
from tilewright.workload.einsum import einsum

MACHINE = tilewright.load_architecture("simple")
LAYERS = {
    "matmul": einsum("O[M,N] += I[M,K] * W[K,N]", M=4, N=6, K=8),
    "conv": einsum("O[K,P] += I[C,P+R] * W[K,C,R]", K=4, C=2, P=6, R=3),
}


def small() -> tilewright.Architecture:
    """Return the machine with a 2 x 2 array, so that memories matter; its own are very small."""
    levels = tuple(
        replace(level, axes=dict.fromkeys(level.axes, 2)) if level.name == "PE" else level
        for level in MACHINE.levels
    )
    return sized(replace(MACHINE, levels=levels), ("GLB", "RF"), (64, 48))


CASES = [
    (name, over, traffic)
    for name in LAYERS
    for over, traffic in ((("GLB",), "DRAM"), (("RF",), None), (("GLB", "RF"), None))
]


@cache
def frontier_of(name: str, over: tuple[str, ...], traffic: str | None) -> tilewright.Frontier:
    return least_cost(LAYERS[name], small(), over, traffic=traffic)


@pytest.mark.parametrize("case", CASES)
@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_every_size_has_the_value_of_a_search_at_that_size(
    case: tuple[str, tuple[str, ...], str | None], data: st.DataObject
) -> None:
    name, over, traffic = case
    frontier = frontier_of(*case)
    edges = {name: sorted({p.bits[i] for p in frontier.points}) for i, name in enumerate(over)}
    sizes = {
        name: data.draw(
            st.sampled_from(edges[name]).flatmap(lambda b: st.integers(max(0, b - 20), b + 20))
        )
        for name in over
    }
    machine = small() if traffic is None else counting(small(), traffic)
    found = Search(LAYERS[name], sized(machine, over, list(sizes.values())), "energy").solve()
    point = frontier.at(**sizes)
    assert (inf if point is None else point.value) == pytest.approx(found.value, rel=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_no_point_is_as_good_as_another_that_is_no_larger(
    case: tuple[str, tuple[str, ...], str | None],
) -> None:
    points = frontier_of(*case).points
    assert frontier_of(*case).optimal
    for p in points:
        for other in points:
            smaller = all(a <= b for a, b in zip(other.bits, p.bits, strict=True))
            assert other is p or not (smaller and other.value <= p.value)


def test_a_point_needs_what_it_says() -> None:
    frontier = frontier_of("conv", ("GLB", "RF"), None)
    for point in frontier.points:
        machine = sized(small(), frontier.over, point.bits)
        cost = tilewright.evaluate(frontier.layer, machine, point.mapping)
        assert cost.energy_pj == point.value == point.evaluation.energy_pj


def test_frontier_is_a_table_json_and_a_plot() -> None:
    frontier = tilewright.frontier(LAYERS["matmul"], small(), ["GLB", "RF"])
    assert len(frontier.to_frame()) == len(frontier) == len(frontier.rows())
    assert "Proven" in frontier.text()
    assert '"GLB_bits"' in frontier.to_json()
    assert frontier.plot().data
    assert frontier._repr_html_()


@pytest.mark.parametrize(
    ("over", "traffic", "says"),
    [
        (["GLBB"], None, "did you mean 'GLB'?"),
        ([], None, "one or two memories"),
        (["GLB", "GLB"], None, "one or two memories"),
        (["DRAM"], None, "outermost"),
        (["GLB"], "DRM", "did you mean 'DRAM'?"),
    ],
)
def test_memories_that_cannot_vary_are_refused(
    over: list[str], traffic: str | None, says: str
) -> None:
    with pytest.raises(InputError) as failure:
        tilewright.frontier(LAYERS["matmul"], small(), over, traffic=traffic)
    assert says in str(failure.value)


def test_partitioned_memories_are_refused() -> None:
    levels = tuple(
        replace(level, capacity_bits=None, tensor_bits={"I": 64, "W": 64, "O": 64})
        if isinstance(level, Memory) and level.name == "RF"
        else level
        for level in MACHINE.levels
    )
    with pytest.raises(InputError, match="partitioned"):
        tilewright.frontier(LAYERS["matmul"], replace(MACHINE, levels=levels), ["RF"])
