"""Loop orderings of unique reuse: as many as brute force over all orders finds."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dmazerunner_cases import ORDERINGS
from strategies import EINSUMS, dimensions_of, layer_of
from tilewright.errors import InputError
from tilewright.interop.dmazerunner.orderings import (
    covering_orderings,
    distinct_orderings,
    reuse,
    reuse_factors,
    unique_orderings,
    useful_orderings,
)
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

LETTERS = {"n": "N", "m": "M", "c": "C", "y": "Y", "x": "X", "f": "F", "g": "G"}


def convolution(trips: dict[str, int]) -> tuple[Layer, dict[str, int]]:
    """Return a convolution and the trip counts of its loops."""
    named = {LETTERS[d]: count for d, count in trips.items()}
    layer = einsum("O[N,M,Y,X] += I[N,C,Y+F,X+G] * W[M,C,F,G]", **named)
    return layer, named


def vectors(layer: Layer, trips: dict[str, int]) -> set[tuple[int, ...]]:
    """Return the reuse factors of the unique orderings."""
    orderings = unique_orderings(layer, trips)
    found = {reuse_factors(ordering, layer, trips) for ordering in orderings}
    assert len(found) == len(orderings)
    return found


def test_a_convolution_has_the_orderings_of_the_paper() -> None:
    layer, trips = convolution(ORDERINGS["conv7_primes"]["trip_counts"])
    stated = {tuple(row["vector"][t] for t in "IWO") for row in ORDERINGS["conv7_table"]}
    assert vectors(layer, trips) == stated
    assert len(stated) == 15
    everything = frozenset(layer.dimensions)
    found = {
        tuple("".join(sorted(own)) for own in stays)
        for stays in distinct_orderings(layer, everything)
    }
    # Table 2 of the paper, as (I, W, O)
    inputs = {("M", "", "")}
    weights = {("", "".join(s), "") for n in (1, 2, 3) for s in combinations("NXY", n)}
    outputs = {("", "", "".join(s)) for n in (1, 2, 3) for s in combinations("CFG", n)}
    assert found == inputs | weights | outputs
    assert len(covering_orderings(layer)) == 15
    assert len(useful_orderings(layer, everything, maximal=True)) == 3


def test_equal_trip_counts_make_orderings_one() -> None:
    given = ORDERINGS["conv7_square"]
    layer, trips = convolution(given["trip_counts"])
    assert len(unique_orderings(layer, trips)) == given["n_unique_vectors"] == 11


def test_every_pattern_of_unit_loops_has_its_number_of_orderings() -> None:
    primes = ORDERINGS["conv7_primes"]["trip_counts"]
    stated = ORDERINGS["conv7_unique_by_unit_loops"]
    assert len(stated) == 128
    for unit, number in stated.items():
        layer, trips = convolution({d: 1 if d in unit else count for d, count in primes.items()})
        assert len(unique_orderings(layer, trips)) == number, unit


def test_the_example_of_four_loops_has_five() -> None:
    given = ORDERINGS["fig6_4deep"]
    trips = {d.upper(): count for d, count in given["trip_counts"].items()}
    layer = einsum("O[N,M] += I[N,C,F] * W[M,C,F]", **trips)
    found = vectors(layer, trips)
    assert found == {tuple(own[t] for t in "IWO") for own in given["vectors"]}
    assert len(found) == 5
    accesses = {tuple(given["iterations"] // factor for factor in own) for own in found}
    assert accesses == {tuple(own[t] for t in "IWO") for own in given["accesses"]}


@pytest.mark.parametrize("kind", EINSUMS)
def test_every_reuse_of_every_pattern_of_loops_has_one_ordering(kind: str) -> None:
    names = dimensions_of(kind)[:6]
    layer = layer_of(kind, dict.fromkeys(dimensions_of(kind), 1) | dict.fromkeys(names, 2))
    for n in range(len(names) + 1):
        for some in combinations(names, n):
            looping = frozenset(some)
            every = {reuse(p, layer, looping) for p in permutations(some)}
            assert set(distinct_orderings(layer, looping)) == every
            orders = useful_orderings(layer, looping, False)
            found = [reuse(covering_orderings(layer)[i], layer, looping) for i in orders]
            assert len(found) == len(set(found))
            assert set(found) == every


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(list(EINSUMS)), st.data())
def test_unique_orderings_reach_the_factors_of_all_orders(kind: str, data: st.DataObject) -> None:
    names = dimensions_of(kind)[:5]
    trips = {d: data.draw(st.integers(1, 4)) for d in names}
    layer = layer_of(kind, dict.fromkeys(dimensions_of(kind), 1) | trips)
    every = {reuse_factors(order, layer, trips) for order in permutations(names)}
    assert vectors(layer, trips) == every


def test_wrong_trip_counts_are_refused() -> None:
    layer = einsum("O[M,N] += I[M,K] * W[K,N]", M=2, N=2, K=2)
    with pytest.raises(InputError, match="no dimension 'Q'; accepted: M, N, K"):
        unique_orderings(layer, {"Q": 2})
    with pytest.raises(InputError, match="trip count of M must be at least 1; found 0"):
        unique_orderings(layer, {"M": 0})
