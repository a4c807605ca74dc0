"""Divisors of one number, and the number of divisors of many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.mapper.problem.lattice import divisor_counts, divisors, prime_factors


@given(n=st.integers(1, 5000))
def test_divisors_are_all_that_divide(n: int) -> None:
    assert divisors(n) == [d for d in range(1, n + 1) if n % d == 0]
    assert list(prime_factors(n)) == [
        p for p in divisors(n) if p > 1 and all(p % d for d in range(2, p))
    ]


@given(first=st.integers(1, 3000), more=st.integers(0, 60))
def test_divisors_are_counted_for_all_numbers_of_a_range(first: int, more: int) -> None:
    counted = divisor_counts(first, first + more).tolist()
    assert counted == [len(divisors(n)) for n in range(first, first + more + 1)]
