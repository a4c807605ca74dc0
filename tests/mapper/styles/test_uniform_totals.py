"""What totals are at least: no choice of energies and cycles within the bounds is below it."""

from __future__ import annotations

from math import isclose
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.styles.style import Style
from tilewright.mapper.styles.totals import StyleCandidate, Totals, least_product, times

POWERS = st.sampled_from([(1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 2.0), (1.0, 0.5), (3.0, 1.0)])
POSITIVE = st.floats(1e-3, 1e6)
TERMS = st.lists(st.tuples(POSITIVE, POSITIVE, st.floats(0.5, 1e5)), min_size=1, max_size=4)


@settings(max_examples=200, deadline=None)
@given(powers=POWERS, terms=TERMS, seed=st.integers(0, 2**32 - 1))
def test_no_totals_are_below_the_bound(
    powers: tuple[float, float], terms: list[tuple[float, float, float]], seed: int
) -> None:
    a, b = powers
    energy, cycles, above = np.array(terms).T
    values = energy**a * cycles**b * above
    bound = least_product(powers, energy, cycles, values)
    random = np.random.default_rng(seed)
    for _ in range(20):
        # on the curve of equal values between the least energy and the fewest cycles, or beyond
        share = random.choice([0.0, 1.0, random.random()], size=len(terms))
        most = np.maximum(above, 1.0) ** share
        e = energy * most ** (1 / a) if a else energy
        c = np.maximum(cycles, (values / e**a) ** (1 / b)) if b else cycles
        e = e if b else np.maximum(e, values ** (1 / a))
        assert times(powers, e.sum(), c.sum()) >= bound * (1 - 1e-9)


@given(powers=POWERS, terms=TERMS)
def test_the_bound_is_exact_where_energy_and_cycles_are_known(
    powers: tuple[float, float], terms: list[tuple[float, float, float]]
) -> None:
    energy, cycles, _ = np.array(terms).T
    values = energy ** powers[0] * cycles ** powers[1]
    exact = times(powers, energy.sum(), cycles.sum())
    assert isclose(least_product(powers, energy, cycles, values), exact, rel_tol=1e-12)


@pytest.mark.parametrize("powers", [(1.0, 1.0), (1.0, 2.0), (2.0, 0.5)])
def test_the_bound_of_two_terms_is_close_to_the_least_product(powers: tuple[float, float]) -> None:
    a, b = powers
    energy, cycles = np.array([1.0, 5.0]), np.array([40.0, 1.0])
    values = energy**a * cycles**b * np.array([30.0, 3.0])
    steps = np.linspace(0, 1, 2001)
    e = [low * m ** (steps / a) for low, m in zip(energy, (30.0, 3.0), strict=True)]
    c = [(v / x**a) ** (1 / b) for v, x in zip(values, e, strict=True)]
    sums = [np.add.outer(*pair) for pair in (e, c)]
    least = float((sums[0] ** a * sums[1] ** b).min())
    assert 0.995 * least <= least_product(powers, energy, cycles, values) <= least * (1 + 1e-9)


def test_several_styles_together_are_not_bounded_by_their_best_mappings() -> None:
    def part(value: float) -> Any:
        energy, cycles = 1.0, value
        return SimpleNamespace(pair=(1.0, 1.0), known_pair=(energy, cycles), bound=value)

    totals = Totals(parse_objective("edp"), [1, 1])
    style = Style(())
    # a style whose second layer has 50 x 2.01, which is more than 1 x 100, is better in total
    parts = (part(1.0), part(100.0))
    assert totals.least(StyleCandidate(style, parts, whole=True, order=0)) == 2 * 101
    assert totals.least(StyleCandidate(style, parts, whole=False, order=0)) <= 51 * 3.01
