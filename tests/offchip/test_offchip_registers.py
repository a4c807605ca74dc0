"""Registers that retain: what moves, by sets of words in every element, and the least of it."""

from __future__ import annotations

from itertools import permutations, product
from math import inf, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from test_offchip_array import chunks, exhaustive_sum, spread_choices, words
from tilewright.offchip.arrays.extents import Elements
from tilewright.offchip.arrays.registers import NO_ROOM, Schedule, array_words
from tilewright.offchip.nest import Nest, read_nest
from tilewright.offchip.search import best_division
from tilewright.offchip.weighted import search_weighted

Word = tuple[int, ...]


def needs(nest: Nest, tensor: int, schedule: Schedule, block: list[range]) -> list[list[set[Word]]]:
    """What each element needs in each step of a block."""
    dims = range(len(block))
    loops = [chunks(block[d], schedule.extents[d]) for d in schedule.order]
    steps = []
    for batch in product(*loops):
        at = dict(zip(schedule.order, batch, strict=True))
        own = []
        for place in product(*map(range, schedule.elements)):
            box = []
            for d in dims:
                whole = at.get(d, block[d])
                begin = whole.start + place[d] * schedule.box[d]
                box.append(range(begin, max(begin, min(begin + schedule.box[d], whole.stop))))
            own.append(words(nest, tensor, box))
        steps.append(own)
    return steps


def next_use(word: Word, trace: list[set[Word]], after: int) -> int:
    return next((s for s in range(after + 1, len(trace)) if word in trace[s]), len(trace))


def simulated(nest: Nest, tensor: int, schedule: Schedule, share: int) -> int:
    """Words between memory and array, element by element and step by step."""
    came = 0
    whole = [chunks(range(int(n)), b) for n, b in zip(nest.bounds, schedule.blocks, strict=True)]
    for block in product(*whole):
        steps = needs(nest, tensor, schedule, list(block))
        if any(len(own) > share for step in steps for own in step):
            return NO_ROOM
        traces = list(zip(*steps, strict=True))
        held: list[set[Word]] = [set() for _ in traces]
        for step, all_needs in enumerate(steps):
            union: set[Word] = set()
            for at, need in enumerate(all_needs):
                own, trace = held[at], list(traces[at])
                union |= need - own
                leaving = sorted(
                    own - need, key=lambda w: (next_use(w, trace, step), w), reverse=True
                )
                excess = max(0, len(own | need) - share)
                held[at] = own.difference(leaving[:excess]) | need
            came += len(union)
    weight = int(nest.weights[tensor])
    return weight * came - (weight - 1) * int(nest.words[tensor])


LAYERS = [
    tw.matmul(M=5, N=3, K=3),
    tw.conv1d(K=2, C=2, P=5, R=3),
    tw.conv1d(K=2, C=1, P=5, R=3, stride=2),
    tw.conv1d(K=1, C=3, P=4, R=2, stride=3),
    tw.pooling(C=2, P=3, Q=2, R=2, S=2, stride=1),
    tw.einsum("O[i] += A[i,j] * B[k]", i=3, j=4, k=2),
]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_count_equals_simulation_with_sets(data: st.DataObject) -> None:
    draw = data.draw
    nest = read_nest(draw(st.sampled_from(LAYERS)))
    blocks = tuple(draw(st.integers(1, int(n))) for n in nest.bounds)
    elements = tuple(draw(st.integers(1, min(3, n))) for n in blocks)
    box = tuple(draw(st.integers(1, n)) for n in blocks)
    order = tuple(draw(st.permutations(range(len(blocks)))))
    schedule = Schedule(blocks, elements, box, order)
    tensor = draw(st.integers(0, len(nest.words) - 1))
    share = draw(st.integers(1, 12))
    assert array_words(nest, tensor, schedule, share) == simulated(nest, tensor, schedule, share)


def test_elements_along_a_dimension_have_whole_and_short_boxes_and_none() -> None:
    nest = read_nest(tw.matmul(M=8, N=2, K=2))
    for blocks, elements, box in (((8, 2, 2), 2, 3), ((5, 2, 2), 2, 3), ((7, 2, 2), 4, 2)):
        schedule = Schedule(blocks, (elements, 1, 1), (box, 1, 1), (2, 0, 1))
        for tensor, share in product(range(3), (3, 4)):
            moved = array_words(nest, tensor, schedule, share)
            assert moved == simulated(nest, tensor, schedule, share)


def test_a_window_is_retained_in_each_element() -> None:
    # the element takes a filter tap at a time; two registers keep what the window takes again
    nest = read_nest(tw.conv1d(K=1, C=1, P=4, R=3))
    window = Schedule(tuple(int(n) for n in nest.bounds), (1,) * 5, (1,) * 5, (3, 4))
    tensor = [t.name for t in nest.layer.tensors].index("I")
    assert array_words(nest, tensor, window, 2) == 6
    assert array_words(nest, tensor, window, 1) == 12


def test_what_is_too_long_is_refused() -> None:
    nest = read_nest(tw.matmul(M=300, N=300, K=300))
    whole = tuple(int(n) for n in nest.bounds)
    try:
        array_words(nest, 0, Schedule(whole, (1,) * 3, (1,) * 3, (0, 1, 2)), 5)
    except tw.InputError as refused:
        assert "too many to simulate" in str(refused)
    else:
        raise AssertionError


# --- the search ----------------------------------------------------------------------------------


def exhaustive(nest: Nest, blocks: tuple[int, ...], elements: Elements) -> float:
    """Fewest words over every spread, box, order of loops and division of the registers."""
    best = inf
    moving = [d for d, n in enumerate(blocks) if n > 1]
    sides = elements.rows, elements.columns
    for many in set(spread_choices(len(blocks), *sides)):
        for box in product(*(range(1, -(-b // n) + 1) for b, n in zip(blocks, many, strict=True))):
            for order in permutations(moving):
                schedule = Schedule(blocks, many, box, order)
                curves = np.full((len(nest.words), elements.registers + 1), inf)
                for t, share in product(range(len(nest.words)), range(1, elements.registers + 1)):
                    moved = array_words(nest, t, schedule, share)
                    if moved != NO_ROOM:
                        curves[t, share] = moved
                best = min(best, best_division(curves)[0])
    return best


@pytest.mark.long
@pytest.mark.parametrize(
    ("layer", "bank", "banks", "elements", "weight", "retaining"),
    [
        pytest.param(tw.matmul(M=3, N=3, K=2), 2, 6, Elements(1, 2, 4), 0.3, False, id="matmul"),
        pytest.param(
            tw.conv1d(K=2, C=1, P=4, R=3), 2, 7, Elements(1, 1, 5), 0.5, True, id="window"
        ),
        pytest.param(
            tw.conv1d(K=1, C=2, P=3, R=3), 3, 5, Elements(2, 1, 5), 2.0, True, id="spread"
        ),
        pytest.param(
            tw.conv1d(K=1, C=2, P=3, R=2, stride=2),
            2,
            6,
            Elements(1, 2, 4),
            1.0,
            False,
            id="stride",
        ),
    ],
)
def test_search_equals_exhaustive_search_with_registers_that_retain(
    layer: tw.Layer, bank: int, banks: int, elements: Elements, weight: float, retaining: bool
) -> None:
    nest = read_nest(layer)
    found = search_weighted(nest, bank, banks, elements, weight)
    expected = exhaustive_sum(
        nest, bank, banks, weight, lambda blocks: exhaustive(nest, blocks, elements)
    )
    assert found.value == pytest.approx(expected)
    assert found.bound == pytest.approx(expected)
    # what registers retain saves words, here in two of four
    assert (found.box_bound > found.bound * 1.1) == retaining
    assert found.batches is not None
    assert found.batches.retains == retaining
    assert sum(found.batches.shares) <= elements.registers


SMALL = [
    tw.matmul(M=4, N=2, K=3),
    tw.conv1d(K=2, C=1, P=3, R=2),
    tw.conv1d(K=1, C=2, P=4, R=3),
    tw.conv1d(K=1, C=2, P=3, R=2, stride=2),
    tw.pooling(C=2, P=2, Q=2, R=2, S=1, stride=1),
]


@pytest.mark.long
@settings(max_examples=6, deadline=None)
@given(st.data())
def test_search_equals_exhaustive_search_of_small_layers(data: st.DataObject) -> None:
    draw = data.draw
    nest = read_nest(draw(st.sampled_from(SMALL)))
    elements = Elements(*(draw(st.integers(*ends)) for ends in ((1, 2), (1, 2), (3, 6))))
    bank, banks = draw(st.integers(1, 3)), draw(st.integers(4, 9))
    weight = draw(st.sampled_from([0.05, 0.3, 1.0, 3.0]))
    found = search_weighted(nest, bank, banks, elements, weight)
    expected = exhaustive_sum(
        nest, bank, banks, weight, lambda blocks: exhaustive(nest, blocks, elements)
    )
    assert found.value == pytest.approx(expected)
    assert found.bound == pytest.approx(expected)


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize("registers", [5, 12])
@pytest.mark.parametrize("layer", SMALL[:3], ids=["matmul", "filters", "window"])
def test_outputs_that_are_not_read_back(layer: tw.Layer, registers: int) -> None:
    nest, elements = read_nest(layer), Elements(1, 2, registers)
    output = int(np.argmax(nest.weights))

    def words(blocks: tuple[int, ...]) -> float:
        rounds = prod(
            -(-int(n) // blocks[d])
            for d, n in enumerate(nest.bounds)
            if not nest.relevant[output, d]
        )
        return exhaustive(nest, blocks, elements) - int(nest.words[output]) * (rounds - 1)

    found = search_weighted(nest, 2, 7, elements, 0.5, reread=False)
    expected = exhaustive_sum(nest, 2, 7, 0.5, words)
    assert found.bound <= expected * (1 + 1e-9)
    assert found.value >= expected * (1 - 1e-9)
    if registers == 12:
        assert found.bound == pytest.approx(expected)
        assert found.value == pytest.approx(expected)
