"""The least words between a memory and an array: by simulation of every choice on small layers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import permutations, product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.offchip.arrays.array import Batches, batches_of, on_array
from tilewright.offchip.arrays.extents import Elements, spreads
from tilewright.offchip.arrays.tables import DEEPEST, NONE, fewest
from tilewright.offchip.nest import Nest, block_sizes, read_nest
from tilewright.offchip.search import best_division
from tilewright.offchip.spills.exact import NO_BLOCK, spills
from tilewright.offchip.weighted import search_weighted


def chunks(whole: range, size: int) -> list[range]:
    return [range(at, min(at + size, whole.stop)) for at in range(whole.start, whole.stop, size)]


def words(nest: Nest, tensor: int, box: list[range]) -> set[tuple[int, ...]]:
    indices = []
    for d, a, other, b in nest.expressions[tensor, : nest.axes[tensor]]:
        second = box[other] if other >= 0 else range(1)
        indices.append({int(a * i + b * j) for i in box[d] for j in second})
    return set(product(*indices))


def simulated(
    nest: Nest, blocks: tuple[int, ...], extents: tuple[int, ...], order: list[int]
) -> int:
    """Words of the array: they move when a loop advances over which the tensor does not stay."""
    total = 0
    dims = range(len(blocks))
    outer = []
    for t in range(len(nest.words)):
        inner = len(order)
        while inner > 0 and not nest.relevant[t, order[inner - 1]]:
            inner -= 1
        outer.append(order[:inner])
    for block in product(*(chunks(range(int(n)), blocks[d]) for d, n in enumerate(nest.bounds))):
        held: dict[int, tuple[range, ...]] = {}
        for step in product(*(chunks(block[d], extents[d]) for d in order)):
            place = dict(zip(order, step, strict=True))
            box = [place.get(d, block[d]) for d in dims]
            for t in range(len(nest.words)):
                own = tuple(box[d] for d in outer[t])
                if held.get(t) != own:
                    held[t] = own
                    total += int(nest.weights[t]) * len(words(nest, t, box))
    # the first time, an output is not read
    return total - sum(
        (int(weight) - 1) * int(size) for weight, size in zip(nest.weights, nest.words, strict=True)
    )


def spread_choices(dims: int, rows: int, columns: int) -> Iterator[tuple[int, ...]]:
    for tall in product(range(1, rows + 1), repeat=dims):
        for wide in product(range(1, columns + 1), repeat=dims):
            apart = all(a == 1 or b == 1 for a, b in zip(tall, wide, strict=True))
            if apart and prod(tall) <= rows and prod(wide) <= columns:
                yield tuple(a * b for a, b in zip(tall, wide, strict=True))


def exhaustive(nest: Nest, blocks: tuple[int, ...], elements: Elements) -> int:
    """Fewest words over every spread, every box of an element and every order of batches."""
    every = set()
    for box in product(*(range(1, block + 1) for block in blocks)):
        used = sum(len(words(nest, t, [range(n) for n in box])) for t in range(len(nest.words)))
        if used <= elements.registers:
            for spread in set(spread_choices(len(blocks), elements.rows, elements.columns)):
                every.add(tuple(min(b, n * p) for b, n, p in zip(blocks, box, spread, strict=True)))
    moving = [d for d, bound in enumerate(nest.bounds) if bound > 1]
    return min(
        simulated(nest, blocks, extents, list(order))
        for extents in every
        for order in permutations(moving)
    )


LAYERS = [
    pytest.param(tw.matmul(M=5, N=4, K=3), Elements(1, 2, 6), id="matmul"),
    pytest.param(tw.conv1d(K=2, C=2, P=4, R=2), Elements(2, 1, 6), id="window"),
    pytest.param(tw.conv1d(K=2, C=1, P=5, R=3, stride=2), Elements(1, 2, 7), id="stride"),
    pytest.param(tw.pooling(C=2, P=3, Q=2, R=2, S=1, stride=1), Elements(2, 2, 5), id="pooling"),
    pytest.param(tw.depthwise(G=3, P=3, Q=1, R=2, S=1), Elements(3, 1, 7), id="depthwise"),
    pytest.param(tw.einsum("O[i] += A[i,j] * B[k]", i=3, j=3, k=2), Elements(1, 2, 4), id="shared"),
]


def least(nest: Nest, blocks: tuple[int, ...], elements: Elements) -> tuple[float, Batches]:
    """Fewest words for some blocks, and what has them."""
    lists = [sorted({b, int(n)}) for b, n in zip(blocks, nest.bounds, strict=True)]
    array = on_array(nest, elements, lists)
    tables = array.inside.tables
    places = np.array([own.index(b) for own, b in zip(lists, blocks, strict=True)])
    waiting = np.zeros(DEEPEST, np.int64)
    value, leaf = fewest(places, np.inf, 0, waiting, tables)
    assert fewest(places, value, 0, waiting, tables) == (value, NONE)
    assert fewest(places, value + 1, leaf, waiting, tables) == (value, leaf)
    return value, batches_of(array, places, leaf)


@pytest.mark.parametrize(("layer", "elements"), LAYERS)
def test_array_words_equal_exhaustive_simulation(layer: tw.Layer, elements: Elements) -> None:
    nest = read_nest(layer)
    bounds = tuple(int(n) for n in nest.bounds)
    halves = tuple(max(1, -(-2 * n // 3)) for n in bounds)
    for blocks in (bounds, halves):
        value, found = least(nest, blocks, elements)
        assert value == sum(found.words) == exhaustive(nest, blocks, elements)
        # what is shown is what was counted
        assert (found.spread.prod(axis=1) <= (elements.rows, elements.columns)).all()
        box = [range(int(n)) for n in found.boxes]
        held = sum(len(words(nest, t, box)) for t in range(len(nest.words)))
        assert held <= elements.registers
        extents = np.minimum(blocks, found.boxes * found.spread.prod(axis=0))
        assert simulated(nest, blocks, tuple(extents.tolist()), list(found.order)) == value


def test_a_cut_block_never_moves_fewer_words_than_a_whole_one() -> None:
    nest = read_nest(tw.conv2d(K=12, C=8, P=14, Q=14, R=3, S=3, stride=2))
    lists = [block_sizes(int(bound)) for bound in nest.bounds]
    tables = on_array(nest, Elements(3, 4, 30), lists).inside.tables
    waiting = np.zeros(DEEPEST, np.int64)
    whole = np.array([len(own) - 1 for own in lists])
    for d, own in enumerate(lists):
        values = [
            fewest(np.where(np.arange(len(lists)) == d, place, whole), np.inf, 0, waiting, tables)[
                0
            ]
            for place in range(len(own))
        ]
        assert min(values) == values[-1]


def exhaustive_sum(
    nest: Nest,
    bank: int,
    banks: int,
    weight: float,
    array_words: Callable[[tuple[int, ...]], float],
) -> float:
    """Least spills and weighted words over every order, block size and division."""
    moving = [d for d, bound in enumerate(nest.bounds) if bound > 1]
    known: dict[tuple[int, ...], float] = {}
    best = np.inf
    for count in range(len(moving) + 1):
        for order in permutations(moving, count):
            for sizes in product(*(block_sizes(int(nest.bounds[d]))[:-1] for d in order)):
                loops = list(zip(order, sizes, strict=True))
                curves = np.full((len(nest.words), banks + 1), np.inf)
                for t in range(len(nest.words)):
                    for n in range(1, banks + 1):
                        spilled = spills(nest, t, loops, n * bank)
                        if spilled != NO_BLOCK:
                            curves[t, n] = nest.weights[t] * spilled
                value = best_division(curves)[0]
                if value < best:
                    chosen = dict(loops)
                    blocks = tuple(chosen.get(d, int(n)) for d, n in enumerate(nest.bounds))
                    if blocks not in known:
                        known[blocks] = array_words(blocks)
                    best = min(best, value + weight * known[blocks])
    return float(best)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("layer", "bank", "banks", "elements"),
    [
        pytest.param(tw.matmul(M=4, N=5, K=3), 2, 7, Elements(1, 2, 4), id="matmul"),
        pytest.param(tw.conv1d(K=2, C=2, P=4, R=2), 2, 6, Elements(2, 1, 5), id="window"),
    ],
)
@pytest.mark.parametrize("weight", [0.03, 0.5, 4.0])
def test_search_equals_exhaustive_search(
    layer: tw.Layer, bank: int, banks: int, elements: Elements, weight: float
) -> None:
    nest = read_nest(layer)
    found = search_weighted(nest, bank, banks, elements, weight, uses=0)
    expected = exhaustive_sum(
        nest, bank, banks, weight, lambda blocks: exhaustive(nest, blocks, elements)
    )
    assert found.value == pytest.approx(expected)
    assert found.box_bound == pytest.approx(expected)
    assert found.bound <= expected + 1e-9


def assert_least_of_all_blocks(
    layer: tw.Layer, bank: int, banks: int, elements: Elements, weight: float
) -> None:
    nest = read_nest(layer)
    found = search_weighted(nest, bank, banks, elements, weight, uses=0)
    expected = exhaustive_sum(
        nest, bank, banks, weight, lambda blocks: least(nest, blocks, elements)[0]
    )
    assert found.value == pytest.approx(expected)
    assert found.box_bound == pytest.approx(expected)
    assert found.bound <= expected + 1e-9


@pytest.mark.parametrize(
    ("layer", "bank", "banks", "elements", "weight"),
    [
        (tw.conv1d(K=3, C=1, P=9, R=3), 4, 4, Elements(1, 2, 6), 0.3),
        (tw.conv1d(K=1, C=4, P=6, R=3, stride=2), 1, 5, Elements(1, 2, 9), 0.05),
    ],
)
def test_smaller_blocks_may_move_fewer_words(
    layer: tw.Layer, bank: int, banks: int, elements: Elements, weight: float
) -> None:
    # blocks of 6: those of 2 have three batches of 2, those of 3 have four
    assert_least_of_all_blocks(layer, bank, banks, elements, weight)


@settings(max_examples=10, deadline=None)
@given(st.data())
def test_search_equals_exhaustive_search_of_blocks(data: st.DataObject) -> None:
    draw = data.draw
    first, second, third = (draw(st.integers(*ends)) for ends in ((5, 10), (1, 3), (1, 4)))
    layer = draw(
        st.sampled_from([
            tw.matmul(M=first, N=third, K=second),
            tw.conv1d(K=second, C=1, P=first, R=min(third, 3)),
            tw.conv1d(K=1, C=second, P=first, R=3, stride=2),
        ])
    )  # fmt: skip
    elements = Elements(*(draw(st.integers(*ends)) for ends in ((1, 2), (1, 3), (4, 9))))
    weight = draw(st.sampled_from([0.05, 0.3, 1.0, 3.0]))
    assert_least_of_all_blocks(
        layer, draw(st.integers(1, 4)), draw(st.integers(4, 9)), elements, weight
    )


def test_spread_uses_each_side_once() -> None:
    for tall, wide in spreads((5, 3, 2), 4, 6):
        assert np.prod(tall) <= 4
        assert np.prod(wide) <= 6
        assert not ((tall > 1) & (wide > 1)).any()


# --- what users call -----------------------------------------------------------------------------


def test_result_has_both_levels() -> None:
    layer = tw.conv1d(name="one", K=6, C=5, P=9, R=3)
    result = tw.least_traffic(
        layer, banks=6, bank="12 words", weight=0.1, elements=(2, 3), registers=9
    )
    (found,) = result.layers
    assert found.array is not None
    assert found.lower_bound <= found.value
    assert found.value == found.dram_words + 0.1 * found.array_words
    least = tw.least_traffic(layer, banks=6, bank="12 words").layers[0]
    assert least.array_words == 0
    assert least.dram_words <= found.dram_words
    data = json.loads(result.to_json())
    assert data["layers"][0]["array"]["words"] == found.array_words
    assert "words of the array" in str(result)
    assert result.to_frame()["array_words"].sum() == found.array_words
    assert "array words" in result._repr_html_()


def test_stopped_search_has_a_bound() -> None:
    layer = tw.conv2d(K=64, C=64, P=14, Q=14, R=3, S=3)
    found = tw.least_traffic(layer, weight=0.03, time_limit=1e-3).layers[0]
    assert found.lower_bound <= found.value
    assert found.gap < 0.9


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"weight": -1}, "0 or more"),
        ({"weight": float("nan")}, "0 or more"),
        ({"weight": 1, "elements": (0, 2)}, "at least 1"),
        ({"weight": 1, "elements": (1, 2, 3)}, "rows and columns"),
        ({"weight": 1, "elements": 5}, "rows and columns"),
        ({"weight": 1, "elements": (100, 2)}, "at most 64"),
        ({"weight": 1, "registers": 5000}, "at most 4096"),
    ],
)
def test_bad_input_is_refused(keys: dict, message: str) -> None:
    with pytest.raises(tw.InputError, match=message):
        tw.least_traffic(tw.matmul(M=2, N=2, K=2), **keys)


def test_too_few_registers() -> None:
    with pytest.raises(tw.NoMappingError, match="registers"):
        tw.least_traffic(tw.matmul(M=2, N=2, K=2), weight=1, registers=2)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    from tilewright.cli import main

    line = ["traffic", "alexnet", "--layer", "fc8", "--weight", "0.03", "--elements", "4", "4"]
    assert main([*line, "--registers", "64", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["layers"][0]["array"]["weight"] == 0.03
    assert main([*line, "--weight", "-1"]) == 2
    assert "--weight" in capsys.readouterr().err
