"""The bound of a geometric program is below every point that keeps to its limits."""

from __future__ import annotations

from math import inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.mapper.relaxations.joint.interior_point import least_value
from tilewright.mapper.relaxations.joint.program import Program, Term

numbers = st.floats(-3.0, 3.0)
powers = st.dictionaries(st.integers(0, 3), st.sampled_from([-2.0, -1.0, 1.0, 2.0]), min_size=1)
sums = st.lists(st.builds(Term, numbers, powers), min_size=1, max_size=3)


@settings(deadline=None, max_examples=60)
@given(st.lists(sums, min_size=1, max_size=4), st.lists(numbers, min_size=4, max_size=4))
def test_no_point_within_the_limits_is_below_the_bound(
    limits: list[list[Term]], goal: list[float]
) -> None:
    program = Program()
    for _ in range(4):
        program.variable(0.0, 3.0)
    for terms in limits:
        program.limit(*terms)
    compiled, logs, active = program.compiled()
    ranges = np.array([program.low, program.high])
    bound, point = least_value(compiled, logs, active, ranges, np.array(goal), 1e6)
    assert ((point >= 0.0) & (point <= 3.0)).all()
    rng = np.random.default_rng(0)
    points = np.concatenate((rng.uniform(0.0, 3.0, (4000, 4)), point[None]))
    allowed = np.ones(len(points), bool)
    for terms in limits:
        values = [t.log + sum(p * points[:, i] for i, p in t.powers.items()) for t in terms]
        allowed &= np.exp(values).sum(axis=0) <= 1.0
    values = points[allowed] @ np.array(goal)
    assert (values >= bound - 1e-9).all()


def test_a_program_with_a_known_solution() -> None:
    """The least x + y with 1 / x + 1 / y of at most 1 is 2 log 2, at x = y = 2."""
    program = Program()
    x, y = program.variable(0.0, 5.0), program.variable(0.0, 5.0)
    program.limit(Term(0.0, {x: -1.0}), Term(0.0, {y: -1.0}))
    compiled, logs, active = program.compiled()
    ranges = np.array([program.low, program.high])
    bound, point = least_value(compiled, logs, active, ranges, np.ones(2), inf)
    assert bound == pytest.approx(2 * log(2), abs=1e-4)
    assert bound <= 2 * log(2)
    assert point == pytest.approx([log(2), log(2)], abs=1e-2)


def test_a_program_without_a_solution_reaches_any_ceiling() -> None:
    program = Program()
    x = program.variable(0.0, 1.0)
    program.limit(Term(2.0, {x: -1.0}))
    compiled, logs, active = program.compiled()
    bound, _ = least_value(compiled, logs, active, np.array([[0.0], [1.0]]), np.ones(1), 50.0)
    assert bound >= 50.0
