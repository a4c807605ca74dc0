"""What elements have of a dimension in one step: the sets are those of all loops that there are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from every_size import is_regular
from tilewright.mapper.windows.step_sets import MOST_REGULAR, fewest_listed, fewest_remainders
from tilewright.mapping.nodes import For, Spatial


def every_loop(bound: int) -> Iterator[list[For | Spatial]]:
    """Yield the loops over a dimension, but for those that the compute unit runs."""
    for count in range(bound):
        for tiles in combinations(range(bound - 1, 0, -1), count):
            for over in product((False, True), repeat=count):
                yield [
                    Spatial("P", tile, "X", "A") if spatial else For("P", tile)
                    for tile, spatial in zip(tiles, over, strict=True)
                ]


def sets_of(loops: list[For | Spatial], bound: int) -> list[list[int]]:
    """Return which iterations all elements have in each step."""
    found: dict[tuple[int, ...], list[int]] = {}
    for iteration in range(bound):
        left, step = iteration, []
        for loop in loops:
            if isinstance(loop, For):
                step.append(left // loop.tile)
            left %= loop.tile
        found.setdefault((*step, left), []).append(iteration)
    return list(found.values())


@pytest.mark.parametrize("bound", [2, 3, 5, 6, 7])
@pytest.mark.parametrize("modulus", [2, 3])
@pytest.mark.parametrize("regular", [True, False])
def test_remainders_are_those_of_all_loops(bound: int, modulus: int, regular: bool) -> None:
    layer = tw.einsum("O[P] += I[P] * W[P]", P=bound)
    least = np.full((bound + 1, bound + 1), inf)
    for loops in every_loop(bound):
        if regular and not is_regular(tuple(loops), layer):
            continue
        sets = sets_of(loops, bound)
        place = max(map(len, sets)), len(sets)
        remainders = sum(len({i % modulus for i in own}) for own in sets)
        least[place] = min(least[place], remainders)
    least = np.minimum.accumulate(np.minimum.accumulate(least, axis=0), axis=1)
    assert np.array_equal(fewest_listed(bound, modulus, regular=regular), least)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_no_sets_of_many_iterations_have_fewer_remainders(data: st.DataObject) -> None:
    bound = data.draw(st.integers(MOST_REGULAR + 1, 24))
    modulus = data.draw(st.integers(1, 6))
    # those of one remainder are often together
    order = data.draw(st.permutations(range(bound)))
    if data.draw(st.booleans()):
        order = sorted(order, key=lambda i: (i % modulus, i))
    sets: list[list[int]] = []
    while sum(map(len, sets)) < bound:
        begin = sum(map(len, sets))
        sets.append(order[begin : begin + data.draw(st.integers(1, bound))])
    remainders = sum(len({i % modulus for i in own}) for own in sets)
    found = fewest_remainders(
        bound, modulus, np.array([float(max(map(len, sets)))]), np.array([float(len(sets))]),
        np.array([False]),
    )  # fmt: skip
    assert found[0] <= remainders


def test_few_elements_and_few_steps_have_more_remainders() -> None:
    two, three = np.full(2, 2.0), np.full(2, 3.0)
    # {0, 3}, {1, 4} and {2} in regular loops; {0, 2}, {1, 3} and {4} in others
    some = fewest_remainders(5, 2, two, three, np.array([True, False]))
    assert some.tolist() == [5.0, 3.0]
    # of 13 in fives, no three sets have the four remainders for 4 in turn
    thirteen = fewest_remainders(
        13, 4, np.array([5.0, 4.0]), np.array([3.0, 4.0]), np.array([False, False])
    )
    assert thirteen.tolist() == [5.0, 4.0]
