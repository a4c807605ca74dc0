"""Closed-form footprints count the words that an enumeration touches."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tilewright.workload import Tensor, Term, expression_words, footprint

DIMENSIONS = ("A", "B", "C")


@st.composite
def sums(draw: st.DrawFn) -> tuple[tuple[Term, ...], dict[str, int]]:
    names = DIMENSIONS[: draw(st.integers(1, 3))]
    terms = tuple(Term(draw(st.integers(1, 8)), name) for name in names)
    return terms, {name: draw(st.integers(1, 9)) for name in names}


def values(terms: tuple[Term, ...], extents: dict[str, int]) -> set[int]:
    ranges = [range(extents[term.dimension]) for term in terms]
    return {
        sum(t.coefficient * i for t, i in zip(terms, point, strict=True))
        for point in product(*ranges)
    }


@given(sums())
def test_expression_words_equal_enumeration(
    case: tuple[tuple[Term, ...], dict[str, int]],
) -> None:
    terms, extents = case
    assert expression_words(terms, extents) == len(values(terms, extents))


def test_footprint_is_the_product_over_axes() -> None:
    tensor = Tensor("I", ((Term(2, "P"), Term(1, "R")), (Term(1, "C"),)), "I")
    assert footprint(tensor, {"P": 4, "R": 3, "C": 5}) == 9 * 5
    assert footprint(tensor, {"P": 4, "R": 1, "C": 5}) == 4 * 5  # a 1x1 filter skips words
    assert footprint(Tensor("O", (), "O"), {"P": 4}) == 1
