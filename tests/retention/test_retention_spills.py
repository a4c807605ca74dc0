"""Spills under optimal retention: kernel, closed form and curve equal the definition."""

from __future__ import annotations

import json
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accesses import accesses, convolution
from tilewright.errors import InputError
from tilewright.reference.belady import missing, simulated_spills
from tilewright.retention.spills.access import Access
from tilewright.retention.spills.classes import classify
from tilewright.retention.spills.count import SpillCounter
from tilewright.retention.spills.curve import spill_curve
from tilewright.retention.spills.walk import count_spills

KNOWN = json.loads((Path(__file__).parents[1] / "data" / "cnnflow_spills.json").read_text())
quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
many = settings(quick, max_examples=3000)


def known_access(case: dict[str, Any]) -> Access:
    """Return the access of a case."""
    tensor, bounds, tiles = case["tensor"], case["layer"], case["block"]
    access = convolution(tensor, bounds, case["order_outer_to_inner"], tiles, case["stride"])
    if tensor == "I" and access.block_words != case["block_elements"]:
        # this block counts the words between those that a stride of 2 touches: x and y stand for
        # all of them
        assert (bounds["x"], tiles["x"], tiles["m"], case["stride"]) == (4, 4, 1, 2)
        return convolution(tensor, bounds | {"x": 7, "y": 7}, case["order_outer_to_inner"],
                           tiles | {"x": 7, "y": 7})  # fmt: skip
    return access


@pytest.mark.parametrize("case", KNOWN["cases"], ids=lambda case: case["order_outer_to_inner"])
def test_known_spills(case: dict[str, Any]) -> None:
    access = known_access(case)
    capacity, spills = case["M_elements"], case["sim_spills"]
    assert access.block_words == case["block_elements"]
    assert access.words == case["distinct_elements"]
    assert simulated_spills(access.blocks(), capacity) == spills
    assert count_spills(classify(*access.arrays()), capacity, 0) == spills
    assert SpillCounter(access)(capacity) == spills


def test_weights_and_outputs_have_a_closed_form() -> None:
    for case in KNOWN["cases"]:
        counter = SpillCounter(known_access(case))
        assert counter.in_groups or case["tensor"] == "I"


def equal_to_the_definition(access: Access, part: float) -> None:
    blocks = list(access.blocks())
    assert access.block_words == max(map(len, blocks))
    assert access.words == len(frozenset().union(*blocks))
    counter, classes = SpillCounter(access), classify(*access.arrays())
    between = access.block_words + round(part * (access.words - access.block_words))
    for capacity in {access.block_words, between, access.words}:
        spills = simulated_spills(blocks, capacity)
        assert counter(capacity) == spills
        assert count_spills(classes, capacity, 0) == spills


@quick
@given(access=accesses(), part=st.floats(0, 1))
def test_kernel_equals_definition(access: Access, part: float) -> None:
    equal_to_the_definition(access, part)


@quick
@given(access=accesses(windows=False), part=st.floats(0, 1))
def test_closed_form_equals_definition(access: Access, part: float) -> None:
    assert SpillCounter(access).in_groups
    equal_to_the_definition(access, part)


@pytest.mark.slow
@many
@given(access=accesses(steps=3000, words=800), part=st.floats(0, 1))
def test_kernel_equals_definition_often(access: Access, part: float) -> None:
    equal_to_the_definition(access, part)


@pytest.mark.slow
@many
@given(access=accesses(steps=3000, words=800, windows=False), part=st.floats(0, 1))
def test_closed_form_equals_definition_often(access: Access, part: float) -> None:
    equal_to_the_definition(access, part)


@quick
@given(access=accesses(words=150))
def test_curve_is_convex_and_exact(access: Access) -> None:
    curve, counter = spill_curve(access), SpillCounter(access)
    capacities = range(access.block_words, access.words + 2)
    spills = [counter(capacity) for capacity in capacities]
    assert [curve(capacity) for capacity in capacities] == spills
    saved = [more - less for more, less in pairwise(spills)]
    assert all(before >= after >= 0 for before, after in pairwise(saved))
    assert curve.least == access.block_words
    assert curve.spill_free is not None
    free = curve.spill_free - curve.least
    assert spills[free] == 0
    assert free == 0 or spills[free - 1] > 0


@quick
@given(access=accesses(words=150), part=st.floats(0, 1))
def test_curve_may_end_early(access: Access, part: float) -> None:
    most = access.block_words + round(part * (access.words - access.block_words))
    whole, curve = spill_curve(access), spill_curve(access, most)
    capacities = range(access.block_words, most + 1)
    assert [curve(capacity) for capacity in capacities] == [whole(c) for c in capacities]
    assert (curve.spill_free is None) == (whole(most) > 0)
    if curve.spill_free is None:
        with pytest.raises(ValueError, match=f"to {most} words, not {most + 1}"):
            curve(most + 1)


@quick
@given(access=accesses(steps=9, words=60), part=st.floats(0, 1))
def test_fills_are_the_words_of_the_best_phases(access: Access, part: float) -> None:
    """Fills = the most that phases touch, less one memory for each phase but the first."""
    blocks = list(access.blocks())
    capacity = access.block_words + round(part * (access.words - access.block_words))
    last = len(blocks) - 1
    best = 0
    for count in range(len(blocks)):
        for cuts in combinations(range(1, last + 1), count):
            touched = sum(
                len(frozenset().union(*blocks[a : b + 1])) for a, b in pairwise((0, *cuts, last))
            )
            best = max(best, touched - count * capacity)
    assert best == access.words + simulated_spills(blocks, capacity)


def test_words_with_the_nearest_next_use_stay() -> None:
    a, b, c, d = (frozenset([(i,)]) for i in range(4))
    blocks = [a, b, c, d, a, b, c, d]
    moved = [bool(words) for words in missing(blocks, 3)]
    # a and b stay while c and d pass; then d stays, and a and b are of no more use
    assert moved == [True, True, True, True, False, False, True, False]


def test_a_block_must_fit() -> None:
    access = convolution("W", {"k": 4, "c": 4, "x": 3}, "xkc", {"k": 2, "c": 2, "x": 1})
    with pytest.raises(InputError, match="a block has 4 words; the memory holds 3"):
        SpillCounter(access)(3)
    with pytest.raises(InputError, match="a block has 4 words; the memory holds 3"):
        list(missing(access.blocks(), 3))
    with pytest.raises(ValueError, match="covers 4 to 16 words, not 3"):
        spill_curve(access)(3)


def test_equal_consecutive_blocks_are_free() -> None:
    access = convolution("W", {"k": 4, "x": 9, "y": 9}, "kxy", {"k": 2, "x": 1, "y": 2})
    assert access.loops == ((1, 2),)
    assert SpillCounter(access)(2) == 0


@pytest.mark.parametrize("capacity", range(4, 31))
def test_one_subgroup_alone_does_not_fit(capacity: int) -> None:
    access = convolution(
        "W", {"x": 3, "k": 5, "y": 4, "c": 6}, "xkyc", {"x": 1, "k": 4, "y": 1, "c": 1}
    )
    counter = SpillCounter(access)
    assert counter.in_groups
    assert counter(capacity) == simulated_spills(access.blocks(), capacity)


@pytest.mark.parametrize("order", ["kxyc", "cxky", "xkcy", "kckxy"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.9])
def test_rounds_that_are_skipped_count(order: str, share: float) -> None:
    bounds = {"k": 40, "c": 3, "x": 7, "y": 5, "m": 3}
    access = convolution("I", bounds, order, {"k": 1, "c": 1, "x": 2, "y": 2, "m": 3})
    capacity = access.block_words + int(share * (access.words - access.block_words))
    spills = simulated_spills(access.blocks(), capacity)
    assert SpillCounter(access)(capacity) == spills
