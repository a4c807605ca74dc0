"""The least cost for every memory size is what a search at that size finds."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import permutations
from math import inf
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import problems
import tilewright
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import InputError
from tilewright.mapper.engine.staircase import COLUMNS, ROW, VALUE, add_point, fitting
from tilewright.mapper.memory_sizes import ranges as frontier_ranges
from tilewright.mapper.memory_sizes import walks as frontier_walks
from tilewright.mapper.memory_sizes.frontier import (
    can_sweep,
    counting,
    least_cost,
    repeat,
    sized,
    sweep,
    undominated,
)
from tilewright.mapper.memory_sizes.ranges import ranges
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.search.search import Search
from tilewright.mapping.constraints import under
from tilewright.mapping.given import given_constraints
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


@pytest.mark.sampled(4)
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


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
def test_mappings_are_the_same_whatever_the_number_of_workers(
    case: tuple[str, tuple[str, ...], str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, over, traffic = case
    found = []
    for workers in (1, 3):
        monkeypatch.setattr(frontier_ranges, "processors", lambda workers=workers: workers)
        points = least_cost(LAYERS[name], small(), over, traffic=traffic).points
        found.append([(point.bits, point.value, point.mapping) for point in points])
    assert found[0] == found[1]


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
        ([], None, "one memory or two different ones"),
        (["GLB", "GLB"], None, "one memory or two different ones"),
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


def never() -> bool:
    return False


def quiet(count: int) -> None:
    pass


def drawn_problem(seed: int) -> tuple[tilewright.Layer, tilewright.Architecture, tuple[str, ...]]:
    """Return a layer, a machine and names of memories that one sweep can vary."""
    random = Random(seed)
    while True:
        layer, machine = problems.layer(random), problems.machine(random)
        search = Search(layer, machine, "energy")
        names = [m.name for m in machine.memories[1:] if m.tensor_bits is None]
        ones = [(name,) for name in names if can_sweep(search, (name,))]
        pairs = [pair for pair in permutations(names, 2) if can_sweep(search, pair)]
        if next(search.plans(), None) is not None and (ones or pairs):
            return layer, machine, random.choice(pairs or ones)


def swept_and_repeated(seed: int, objective: str, many: int) -> None:
    layer, machine, over = drawn_problem(seed)
    wanted = parse_objective(objective)
    found = []
    for find in (sweep, repeat):
        search = Search(layer, machine, objective)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(frontier_walks, "MANY", many)
            result = find(search, machine, over, wanted, never, quiet)
        assert result.finished
        found.append(undominated(result.known))
    assert [k.used for k in found[0]] == [k.used for k in found[1]]
    for one, other in zip(*found, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-9)
        cycles = [
            tilewright.evaluate(layer, sized(machine, over, k.used), k.mapping).cycles
            for k in (one, other)
        ]
        assert cycles[0] == pytest.approx(cycles[1], rel=1e-9)  # what decides between equals


# labels through an array for which bounds of what is below are asked
MANY = pytest.mark.parametrize("many", [0, frontier_walks.MANY])


@pytest.mark.long
@MANY
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), objective=st.sampled_from(["energy", "energy", "edp"]))
def test_one_sweep_finds_what_repeated_searches_find(many: int, seed: int, objective: str) -> None:
    swept_and_repeated(seed, objective, many)


@pytest.mark.long
def test_outputs_that_begin_anew_below_an_array_are_not_bounded_too_high() -> None:
    # partial sums of instances that an array does not sum all begin from zero
    swept_and_repeated(1044345, "energy", 0)


@MANY
@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    objective=st.sampled_from(["energy", "edp", "latency", "energy, latency<=100"]),
)
def test_one_sweep_finds_what_repeated_searches_find_often(
    many: int, seed: int, objective: str
) -> None:
    swept_and_repeated(seed, objective, many)


@pytest.mark.parametrize(
    ("over", "change"),
    [
        (("GLB", "LB"), {}),
        (("GLB",), {"constraints": "GLB.even=true"}),
        (("GLB",), {"forwarding": True}),
    ],
)
def test_where_one_sweep_cannot_searches_are_repeated(
    over: tuple[str, ...], change: dict[str, object]
) -> None:
    machine = small()
    levels = list(machine.levels)
    if "LB" in over:
        levels.insert(2, replace(machine.memories[1], name="LB", read_energy=3, write_energy=3))
    if "forwarding" in change:
        levels = [replace(x, forwarding=True) if x.name == "PE" else x for x in levels]
    machine = replace(machine, levels=tuple(levels))
    layer = einsum("O[M] += I[M,K]", M=2, K=2)
    if "constraints" in change:
        given_ones = given_constraints(str(change["constraints"]), machine, [layer])
        machine = under(machine, given_ones)
    search = Search(layer, machine, "energy")
    assert not can_sweep(search, over)
    frontier = least_cost(layer, machine, over)
    if "forwarding" not in change:  # of which the search proves nothing
        assert frontier.optimal
        best = Search(layer, sized(machine, over, [inf] * len(over)), "energy").solve()
        assert frontier.at().value == pytest.approx(best.value)


def test_a_stopped_sweep_keeps_what_it_has() -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 200

    frontier = least_cost(LAYERS["conv"], small(), ("GLB", "RF"), stop=stop)
    assert not frontier.optimal
    assert len(frontier.points) > 0
    whole = frontier_of("conv", ("GLB", "RF"), None)
    for point in frontier.points:
        sizes = dict(zip(frontier.over, point.bits, strict=True))
        assert point.value >= whole.at(**sizes).value * (1 - 1e-12)


def test_ctrl_c_keeps_what_a_sweep_has() -> None:
    def progress(count: int) -> None:
        if count > 20:
            raise KeyboardInterrupt

    frontier = least_cost(LAYERS["conv"], small(), ("GLB", "RF"), progress=progress)
    assert frontier.interrupted
    assert not frontier.optimal
    assert len(frontier.points) > 0


POINT = st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))


@given(drawn=st.lists(POINT, max_size=12), size=st.tuples(st.integers(0, 6), st.integers(0, 6)))
def test_points_are_those_that_no_other_one_reaches(
    drawn: list[tuple[int, int, int]], size: tuple[int, int]
) -> None:
    points, count = np.zeros((16, COLUMNS)), 0
    for row, (first, second, value) in enumerate(drawn):
        i = fitting(points, count, float(first), float(second))
        if i < 0 or points[i, VALUE] > value:
            count = add_point(points, count, float(first), float(second), float(value), 0.0, row)
    inside = [value for first, second, value in drawn if first <= size[0] and second <= size[1]]
    i = fitting(points, count, float(size[0]), float(size[1]))
    assert (points[i, VALUE] if i >= 0 else None) == min(inside, default=None)
    assert all(drawn[int(row)][2] == value for value, row in points[:count, [VALUE, ROW]])
    assert np.all(np.diff(points[:count, VALUE]) >= 0)


@given(
    uses=st.tuples(st.booleans(), st.booleans()),
    least=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    more=st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)),
    unit=st.tuples(st.sampled_from([1.0, 8.0, 16.0]), st.sampled_from([1.0, 8.0, 16.0])),
    data=st.data(),
)
def test_every_choice_of_sizes_is_in_one_range(
    uses: tuple[bool, bool],
    least: tuple[int, int],
    more: tuple[int, int],
    unit: tuple[float, float],
    data: st.DataObject,
) -> None:
    low = (least[0] * unit[0] * uses[0], least[1] * unit[1] * uses[1])
    high = (low[0] + more[0] * uses[0], low[1] + more[1] * uses[1])
    found = list(ranges(uses, low, high, unit))
    edges = [{low[m], high[m], *(b for r in found for b in (r.low[m], r.high[m]))} for m in (0, 1)]
    sizes = [data.draw(st.sampled_from(sorted(own))) for own in edges]
    inside = [r for r in found if all(r.low[m] <= sizes[m] <= r.high[m] for m in (0, 1))]
    assert len(inside) == 1
    # a range of both sizes has to beat those of one of them
    for one in ranges((True, False), (low[0], 0.0), (high[0], 0.0), unit):
        (other,) = inside
        overlap = one.low[0] <= other.high[0] and other.low[0] <= one.high[0]
        assert one.tells(other) == (uses == (True, True) and overlap)


@pytest.mark.long
def test_what_the_search_counts_too_little_is_valued_by_the_model() -> None:
    text = "O[K,P+R] += I[C,P+S] * W[K,C,R,S]"
    layer = tilewright.einsum(text, K=2, P=9, C=9, R=2, S=3)
    machine = Architecture(
        "windows",
        (
            Memory("M0", 16, read_energy=40.0, write_energy=40.0, read_bandwidth=0.5),
            Array("A0", {"X": 4}, multicast=False, reduction=False, bandwidth=2.0),
            Memory("M1", 8, 256, buffering=2, read_energy=1.0, write_energy=1.0,
                   shared_bandwidth=1.0),
            Array("A1", {"X": 2, "Y": 4}),
            Memory("M2", 16, 512, read_energy=2.0, write_energy=1.0, shared_bandwidth=0.5,
                   must_keep=frozenset("IWO")),
            Array("A2", {"X": 2}),
            Compute("MAC", energy=0.3, cycles=2.0),
        ),
    )  # fmt: skip
    found = tilewright.frontier(layer, machine, ["M2"], "latency", time_limit=20)
    assert not found.optimal
    for point in found.points:
        assert point.value == tilewright.evaluate(layer, machine, point.mapping).cycles
