"""What the sweep of a frontier knows of the loops below an array before it walks them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import problems
import tilewright
from tilewright.architecture.machine import Architecture
from tilewright.mapper.bounds.tables.above_array import STEPS, StepArrays
from tilewright.mapper.bounds.tables.below_array import lower
from tilewright.mapper.engine.staircase import VALUE
from tilewright.mapper.memory_sizes import walks as frontier_walks
from tilewright.mapper.memory_sizes.choice_bounds import BypassBounds
from tilewright.mapper.memory_sizes.frontier import sized
from tilewright.mapper.memory_sizes.shared_words import least_parts
from tilewright.mapper.memory_sizes.sweep import Sweep
from tilewright.mapper.memory_sizes.walks import Walks
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import whole_bits
from tilewright.mapper.search.search import Search
from tilewright.workload.einsum import einsum


def never() -> bool:
    return False


def quiet(count: int) -> None:
    pass


def one_memory_below(random: Random) -> tuple[tilewright.Layer, Architecture]:
    """Return a layer, and a machine of an array with one memory above and one below."""
    layer = problems.layer(random)
    levels = (
        problems.memory(random, "M0", True),
        problems.array(random, "A"),
        replace(problems.memory(random, "M1", False), tensor_bits=None),
    )
    levels = tuple(replace(x, forwarding=False) if hasattr(x, "axes") else x for x in levels)
    compute = tilewright.load_architecture("simple").compute
    return layer, Architecture("machine", (*levels, compute), 1e9)


def points_with_and_without_tables(
    layer: tilewright.Layer, machine: Architecture
) -> list[list[list[tuple[float, float]]]]:
    """Return size and least cost of the points of each bypass choice, with tables and without."""
    search = Search(layer, machine, "energy")
    wanted = parse_objective("energy")
    search.loop_anywhere()
    most = float(whole_bits(layer.tensors, layer, machine.memories[1]))
    search.aim(wanted, sized(machine, ["M1"], [most]))
    choices = BypassBounds(search.space, search.tables.slides, 1)
    choices.up_to(most)
    found = []
    for plan in search.plans():
        if not choices.are_known(plan):
            continue
        both = []
        for known in (choices, BypassBounds(search.space, search.tables.slides, -1)):
            walks = Walks(search, (-1, 1), known, never, quiet)
            sweep = Sweep(
                search, wanted, lambda sizes: sized(machine, ["M1"], [sizes[1]]), (0.0, most),
                (0.0, 1.0), walks,
            )  # fmt: skip
            for choice in sweep.prepared([sweep.bypass(plan)], (0.0, 0.0), (0.0, most)):
                walks.walk(choice)
            both.append([(point[1], point[VALUE]) for point in walks.points[: walks.count]])
        found.append(both)
    return found


@pytest.fixture
def every_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for the tables of every spatial choice, however few labels go through it."""
    monkeypatch.setattr(frontier_walks, "MANY", 0)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10**6))
def test_tables_lose_no_size(every_table: None, seed: int) -> None:
    found = points_with_and_without_tables(*one_memory_below(Random(seed)))
    assume(found)
    for known, unknown in found:
        assert np.allclose(known, unknown, rtol=1e-9)


@settings(
    max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10**6))
def test_tables_lose_no_size_where_two_tensors_slide(every_table: None, seed: int) -> None:
    layer = einsum("O[K,P] += A[K,P+R] * B[P+R]", K=2, P=4, R=3)
    found = points_with_and_without_tables(layer, one_memory_below(Random(seed))[1])
    assume(found)
    for known, unknown in found:
        assert np.allclose(known, unknown, rtol=1e-9)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_shared_tables_are_those_of_every_bypass_choice(seed: int) -> None:
    random = Random(seed)
    layer, machine = one_memory_below(random)
    search = Search(layer, machine, "energy")
    search.loop_anywhere()
    alone, shared = (BypassBounds(search.space, search.tables.slides, 1) for _ in range(2))
    plans = [plan for plan in search.plans() if alone.are_known(plan)]
    assume(plans)
    shared.share(plans)
    for choices in (alone, shared):
        choices.up_to(float(whole_bits(layer.tensors, layer, machine.memories[1])))
    for plan in plans:
        c = random.randrange(len(search.space.unroll))
        one, other = (choices.bound(plan, c) for choices in (alone, shared))
        assert one.tail == other.tail
        for row, stage, flag in product(range(one.row.max() + 1), one.stage, range(len(one.kind))):
            functions = []
            for below in (one, other):
                states = len(below.stage_next) * len(below.kind)
                at = row * states + int(below.stage[stage]) * len(below.kind) + flag
                steps = slice(below.begin[at], below.begin[at + 1])
                functions.append(np.stack([below.bits[steps], below.cost[steps]]))
            assert np.array_equal(*functions)


WINDOWS = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))


@settings(max_examples=40, deadline=None)
@given(coefs=st.tuples(st.integers(1, 3), st.integers(1, 3)), tile=WINDOWS, data=st.data())
def test_instances_share_no_more_words_than_counted(
    coefs: tuple[int, int], tile: tuple[int, int, int, int], data: st.DataObject
) -> None:
    extents, factors = np.array(tile[:2]), np.array(tile[2:])
    times = np.array(data.draw(st.lists(st.tuples(*[st.integers(1, 3)] * 2), min_size=1)))
    steps = extents * times
    union, missing = np.ones(1), np.ones((1, 2))
    least_parts(
        np.array(coefs), extents[None], steps, factors[None], np.empty(2, np.int64),
        np.empty(2, np.int64), np.empty((1, 2), np.int64), np.empty(400, np.int64), union, missing,
    )  # fmt: skip

    def words(corner: tuple[int, int]) -> set[int]:
        ranges = [range(c, c + m) for c, m in zip(corner, extents.tolist(), strict=True)]
        return {coefs[0] * i + coefs[1] * j for i, j in product(*ranges)}

    own = len(words((0, 0)))
    whole = own * int(factors.prod())
    unions, news = [], []
    for step in steps.tolist():
        corners = [
            (i * step[0], j * step[1]) for i, j in product(range(factors[0]), range(factors[1]))
        ]
        unions.append(len(set().union(*map(words, corners))) / whole)
        for d, far in product(range(2), (False, True)):
            shift = extents[d] + far * (factors[d] - 1) * step[d]
            more = [
                words((a + shift * (d == 0), b + shift * (d == 1))) - words((a, b))
                for a, b in corners
            ]
            news.append((d, len(set().union(*more)) / whole))
    assert union[0] == pytest.approx(min(unions))
    assert missing[0] == pytest.approx([min(v for d, v in news if d == k) for k in range(2)])


@given(
    functions=st.lists(
        st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6), max_size=4
    ),
    limit=st.integers(0, 20),
)
def test_a_step_function_is_lowered_to_another_one(
    functions: list[list[tuple[int, int]]], limit: int
) -> None:
    bits, cost, n = np.empty(64), np.empty(64), 0
    for function in functions:
        steps = [
            (b, c)
            for b, c in sorted(set(function))
            if all(d > c for a, d in function if a <= b and (a, d) != (b, c))
        ]
        other = StepArrays(*np.array(steps, np.float64).reshape(-1, 2).T)
        span = 0, len(other.bits)
        n = lower.py_func(StepArrays(bits, cost), n, other, span, (1.0, 2.0), float(limit))
    for size in range(25):
        values = [c + 2 for f in functions for b, c in f if b + 1 <= min(size, limit)]
        found = min((c for b, c in zip(bits[:n], cost[:n], strict=True) if b <= size), default=inf)
        if n < STEPS:
            assert found == min(values, default=inf)
        assert found <= min(values, default=inf)
    assert np.all(np.diff(bits[:n]) > 0)
    assert np.all(np.diff(cost[:n]) < 0)
