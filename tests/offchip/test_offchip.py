"""The least off-chip traffic: the simulation, the bound below it, and the search."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from itertools import permutations, product
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.kernels.kernel import kernel
from tilewright.offchip.least import least_of_layer
from tilewright.offchip.nest import Nest, block_sizes, read_nest
from tilewright.offchip.result import Banks
from tilewright.offchip.search import Found, best_division, search
from tilewright.offchip.spills.belady import trace
from tilewright.offchip.spills.bound import raise_bound, raise_with_inner
from tilewright.offchip.spills.drift import raise_with_drift
from tilewright.offchip.spills.exact import NO_BLOCK, least_spills, spills


@kernel
def raised(
    way: int,
    t: int,
    level: int,
    inner: int,
    deeper: int,
    order: Any,
    blocks: Any,
    nest: Any,
    bank: int,
    curve: Any,
) -> None:
    """Raise a bound in one of three ways."""
    if way == 0:
        raise_bound(t, level, order, blocks, nest, bank, curve)
    elif way == 1:
        raise_with_inner(t, level, inner, order, blocks, nest, bank, curve)
    else:
        raise_with_drift(t, level, inner, deeper, order, blocks, nest, bank, curve)


# CNNFlow's names of the dimensions, and those of a conv2d
NAMES = {"f": "N", "k": "K", "c": "C", "x": "P", "y": "Q", "m": "R", "n": "S"}
# 115 simulated cases and 5 exhaustive optima, by a program of its own that shares no code with
# this one: element-level Belady with fixed partitions, for CNNFlow's loops f k c x y m n
TRUTH = json.loads((Path(__file__).parents[1] / "data" / "cnnflow_truth.json").read_text())


def conv(layer: dict[str, int], stride: int = 1) -> Nest:
    sizes = {NAMES[name]: size for name, size in layer.items()}
    return read_nest(tw.conv2d(**sizes, stride=stride))


def loops_of(nest: Nest, order: str, block: dict[str, int]) -> list[tuple[int, int]]:
    return [(nest.dimensions.index(NAMES[name]), block.get(name, 1)) for name in order]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("case", TRUTH["cases"], ids=lambda case: case["order_outer_to_inner"])
def test_simulation_equals_reference(case: dict) -> None:
    nest = conv(case["layer"], case["stride"])
    loops = loops_of(nest, case["order_outer_to_inner"], case["block"])
    # the reference moves whole intervals where a stride skips words
    uses = trace(nest, "IWO".index(case["tensor"]), loops, gaps=True)
    assert uses.spills(case["M_elements"]) == case["sim_spills"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", TRUTH["exhaustive_optima"], ids=lambda case: str(case["banks"]))
def test_search_reaches_exhaustive_optimum(case: dict) -> None:
    nest = conv(case["layer"])
    whole = [d for d, name in enumerate(nest.dimensions) if name in ("N", "R", "S")]
    found = search(nest, case["bank_elements"], case["banks"], whole=whole)
    assert found.value == found.bound == case["optimum_Ad_sim"]


# --- random layers -------------------------------------------------------------------------------


@st.composite
def nests(draw: st.DrawFn) -> Nest:
    kind = draw(st.sampled_from(["conv2d", "conv1d", "matmul", "grouped", "strided"]))
    size = st.integers(1, 4)
    if kind == "matmul":
        return read_nest(tw.matmul(M=draw(size) + 2, N=draw(size), K=draw(size) + 1))
    if kind == "conv1d":
        sizes = {d: draw(st.integers(1, 7)) for d in "NKCPR"}
        return read_nest(tw.conv1d(**sizes, stride=draw(st.integers(1, 3))))
    if kind == "grouped":
        sizes = {d: draw(size) for d in "NGKCPQRS"}
        return read_nest(tw.grouped(**sizes))
    sizes = {d: draw(size) for d in "NKCPQRS"}
    return read_nest(tw.conv2d(**sizes, stride=2 if kind == "strided" else 1))


@st.composite
def blocked(draw: st.DrawFn) -> tuple[Nest, int, list[tuple[int, int]], int]:
    """A nest, a tensor, loops over blocks, and a capacity."""
    nest = draw(nests().filter(lambda nest: (nest.bounds > 1).any()))
    order = draw(st.permutations([d for d, bound in enumerate(nest.bounds) if bound > 1]))
    order = order[: draw(st.integers(1, len(order)))]
    loops = [(d, draw(st.sampled_from(block_sizes(int(nest.bounds[d]))[:-1]))) for d in order]
    tensor = draw(st.integers(0, 2))
    return nest, tensor, loops, draw(st.integers(1, int(nest.words[tensor])))


def belady(nest: Nest, tensor: int, loops: list[tuple[int, int]], capacity: int) -> int:
    """Spills by the definition: one set of words per step, the furthest next use goes first."""
    steps = [set(words(nest, tensor, box)) for box in boxes(nest, loops)]
    steps = [step for at, step in enumerate(steps) if at == 0 or step != steps[at - 1]]
    if max(map(len, steps)) > capacity:
        return NO_BLOCK
    held: set[tuple[int, ...]] = set()
    seen: set[tuple[int, ...]] = set()
    spilled = 0
    for at, step in enumerate(steps):
        spilled += len((step & seen) - held)
        seen |= step
        later = {}
        for word in held - step:
            uses = [u for u in range(at + 1, len(steps)) if word in steps[u]]
            if uses:
                later[word] = uses[0]
        keep = sorted(later, key=later.__getitem__)[: capacity - len(step)]
        held = set(keep) | step
    return spilled


def boxes(nest: Nest, loops: list[tuple[int, int]]) -> Iterator[list[range]]:
    starts = [range(0, int(nest.bounds[d]), block) for d, block in loops]
    for begin in product(*starts):
        box = [range(int(bound)) for bound in nest.bounds]
        for (d, block), start in zip(loops, begin, strict=True):
            box[d] = range(start, min(start + block, int(nest.bounds[d])))
        yield box


def words(nest: Nest, tensor: int, box: list[range]) -> Iterator[tuple[int, ...]]:
    indices = []
    for d, a, other, b in nest.expressions[tensor, : nest.axes[tensor]]:
        second = box[other] if other >= 0 else range(1)
        indices.append({int(a * i + b * j) for i in box[d] for j in second})
    yield from product(*indices)


@settings(max_examples=60, deadline=None)
@given(blocked())
def test_simulation_is_belady(drawn: tuple[Nest, int, list[tuple[int, int]], int]) -> None:
    nest, tensor, loops, capacity = drawn
    assert spills(nest, tensor, loops, capacity) == belady(nest, tensor, loops, capacity)


@settings(max_examples=150, deadline=None)
@given(blocked())
def test_shortcuts_change_nothing(drawn: tuple[Nest, int, list[tuple[int, int]], int]) -> None:
    nest, tensor, loops, capacity = drawn
    assert spills(nest, tensor, loops, capacity) == trace(nest, tensor, loops).spills(capacity)


def bounds_of(nest: Nest, tensor: int, loops: list[tuple[int, int]]) -> np.ndarray:
    """Lower bound on the spills for every capacity, from all loops."""
    order = np.array([d for d, _ in loops])
    blocks = np.ones(len(nest.bounds), np.int64)
    for d, block in loops:
        blocks[d] = block
    unweighted = nest.arrays._replace(weights=np.ones_like(nest.weights))
    arrays = (order, blocks, unweighted, 1)
    curve = np.zeros(int(nest.words[tensor]) + 1)
    repeats = ~nest.relevant[tensor] | nest.sliding[tensor]
    for level, (d, _) in enumerate(loops):
        if repeats[d]:
            raised(0, tensor, level, 0, 0, *arrays, curve)
            for inner in range(level + 1, len(loops)):
                if not repeats[loops[inner][0]]:
                    continue
                if nest.relevant[tensor, d]:
                    raised(1, tensor, level, inner, 0, *arrays, curve)
                    continue
                raised(2, tensor, level, inner, -1, *arrays, curve)
                for deeper in range(inner + 1, len(loops)):
                    if repeats[loops[deeper][0]]:
                        raised(2, tensor, level, inner, deeper, *arrays, curve)
    return curve


@settings(max_examples=200, deadline=None)
@given(blocked())
def test_bound_is_below_simulation(drawn: tuple[Nest, int, list[tuple[int, int]], int]) -> None:
    nest, tensor, loops, capacity = drawn
    spilled = spills(nest, tensor, loops, capacity)
    if spilled != NO_BLOCK:
        assert bounds_of(nest, tensor, loops)[capacity] <= spilled + 1e-6


@settings(max_examples=60, deadline=None)
@given(blocked(), st.data())
def test_cutting_the_innermost_block_is_never_worse(
    drawn: tuple[Nest, int, list[tuple[int, int]], int], data: st.DataObject
) -> None:
    nest, tensor, loops, capacity = drawn
    coarse = spills(nest, tensor, loops, capacity)
    absent = [d for d, b in enumerate(nest.bounds) if b > 1 and d not in [d for d, _ in loops]]
    if absent and coarse != NO_BLOCK:
        finer = [*loops, (data.draw(st.sampled_from(absent)), 1)]
        assert 0 <= spills(nest, tensor, finer, capacity) <= coarse


@settings(max_examples=100, deadline=None)
@given(blocked(), st.data())
def test_what_is_held_between_steps_bounds_all_nests_that_begin_alike(
    drawn: tuple[Nest, int, list[tuple[int, int]], int], data: st.DataObject
) -> None:
    nest, tensor, loops, capacity = drawn
    spilled = spills(nest, tensor, loops, capacity)
    outer = loops[: data.draw(st.integers(0, len(loops)))]
    if spilled != NO_BLOCK:
        assert least_spills(nest, tensor, outer, capacity) <= spilled


@settings(max_examples=60, deadline=None)
@given(blocked())
def test_what_is_held_between_steps_of_single_words_is_all(
    drawn: tuple[Nest, int, list[tuple[int, int]], int],
) -> None:
    nest, tensor, loops, capacity = drawn
    whole = [(d, int(bound)) for d, bound in enumerate(nest.bounds) if d not in dict(loops)]
    ones = [(d, 1) for d, bound in whole if bound > 1]
    single = [(d, 1) for d, _ in loops] + ones
    assert trace(nest, tensor, single).least_spills(capacity) <= spills(
        nest, tensor, single, capacity
    )
    # a word that is alone in its step needs one place more than what is held
    if capacity > 1:
        assert spills(nest, tensor, single, capacity) <= trace(nest, tensor, single).least_spills(
            capacity - 1
        )


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 30), min_size=6, max_size=6), min_size=1, max_size=4))
def test_division_of_banks_is_the_least(curves: list[list[int]]) -> None:
    table = np.array([[np.inf, *curve] for curve in curves], float)
    value, shares = best_division(table)
    every = [
        sum(curve[n - 1] for curve, n in zip(curves, each, strict=True))
        for each in product(range(1, 7), repeat=len(curves))
        if sum(each) == 6
    ]
    assert value == min(every)
    assert sum(shares) == 6
    assert value == sum(curve[n - 1] for curve, n in zip(curves, shares, strict=True))


def exhaustive(
    nest: Nest, bank: int, banks: int, sizes_of: Callable[[int], list[int]] = block_sizes
) -> float:
    """Fewest spills over every order of every set of loops, block size and division."""
    moving = [d for d, bound in enumerate(nest.bounds) if bound > 1]
    best = np.inf
    for count in range(len(moving) + 1):
        for order in permutations(moving, count):
            for sizes in product(*(sizes_of(int(nest.bounds[d]))[:-1] for d in order)):
                loops = list(zip(order, sizes, strict=True))
                curves = np.full((len(nest.words), banks + 1), np.inf)
                for t in range(len(nest.words)):
                    for n in range(1, banks + 1):
                        spilled = spills(nest, t, loops, n * bank)
                        if spilled != NO_BLOCK:
                            curves[t, n] = nest.weights[t] * spilled
                best = min(best, best_division(curves)[0])
    return float(best)


SMALL = [
    pytest.param(tw.matmul(M=6, N=5, K=7), 2, 9, id="matmul"),
    pytest.param(tw.matmul(M=5, N=5, K=3), 1, 8, id="words for banks"),
    pytest.param(tw.conv1d(K=3, C=2, P=5, R=3), 3, 5, id="window"),
    pytest.param(tw.conv1d(C=2, K=2, P=6, R=3, stride=2), 2, 7, id="stride"),
    pytest.param(tw.pooling(C=1, P=4, Q=4, R=2, S=2, stride=1), 1, 6, id="two windows"),
]
LARGER = [
    pytest.param(tw.conv1d(K=3, C=4, P=5, R=3), 3, 6, id="channels"),
    pytest.param(tw.conv1d(N=2, K=3, C=2, P=4, R=2), 2, 7, id="batch"),
    pytest.param(tw.conv2d(K=2, C=2, P=3, Q=3, R=2, S=1), 4, 5, id="plane"),
    pytest.param(tw.depthwise(G=2, P=4, Q=4, R=2, S=2), 1, 8, id="depthwise"),
]


@pytest.mark.parametrize(
    ("layer", "bank", "banks"),
    [*SMALL, *(pytest.param(*each.values, id=each.id, marks=pytest.mark.slow) for each in LARGER)],
)
def test_search_equals_exhaustive_search(layer: tw.Layer, bank: int, banks: int) -> None:
    nest = read_nest(layer)
    found = search(nest, bank, banks)
    assert found.value == found.bound == exhaustive(nest, bank, banks)


@pytest.mark.parametrize(
    ("layer", "bank", "banks"),
    [
        pytest.param(tw.matmul(M=5, N=4, K=3), 1, 6, id="matmul"),
        pytest.param(tw.conv1d(K=2, C=1, P=6, R=2), 2, 4, id="window"),
        pytest.param(tw.matmul(M=7, N=7, K=5), 2, 7, id="large", marks=pytest.mark.slow),
        pytest.param(tw.conv1d(K=5, C=2, P=7, R=2), 3, 5, id="wide", marks=pytest.mark.slow),
    ],
)
def test_no_other_block_size_is_better(layer: tw.Layer, bank: int, banks: int) -> None:
    nest = read_nest(layer)
    every = exhaustive(nest, bank, banks, lambda bound: list(range(1, bound + 1)))
    assert search(nest, bank, banks).value == every


def test_stopped_search_has_a_schedule_and_a_bound() -> None:
    nest = read_nest(tw.conv2d(N=3, K=256, C=128, P=56, Q=56, R=3, S=3))
    found = search(nest, 2048, 27, stop=lambda: True)
    proven = search(nest, 2048, 27)
    assert found.schedule is not None
    assert found.bound <= proven.bound == proven.value <= found.value


def test_interrupted_search_has_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.offchip import least

    def interrupted(*args: object, stop: Callable[[], bool], found: Found) -> Found:
        Event().wait(0.2)  # until the main thread waits for this one
        os.kill(os.getpid(), signal.SIGINT)
        while not stop():
            pass
        return search(*args, stop=stop, found=found)

    monkeypatch.setattr(least, "search", interrupted)
    layer = tw.matmul(M=60, N=60, K=60)
    result, stopped = least_of_layer(layer, Banks(9, 1024, 16))
    assert stopped
    assert result.lower_bound <= result.dram_words


# --- what users call -----------------------------------------------------------------------------


def test_alexnet_conv5_is_proven() -> None:
    layer = tw.conv2d(name="conv5", N=4, K=256, C=192, P=13, Q=13, R=3, S=3)
    result = tw.least_traffic(layer)
    (found,) = result.layers
    assert found.optimal
    assert result.optimal
    assert found.dram_words == 1_282_048
    assert found.compulsory == 788_224
    assert sum(tensor.banks for tensor in found.tensors.values()) == 27
    # the schedule that is shown has the traffic that is shown
    nest = read_nest(layer)
    loops = [(nest.dimensions.index(loop.dimension), loop.block) for loop in found.loops]
    for t, tensor in enumerate(found.tensors.values()):
        assert trace(nest, t, loops).spills(tensor.banks * 2048) == tensor.spilled
    data = json.loads(result.to_json())
    assert data["total"]["dram_words"] == found.dram_words
    assert data["layers"][0]["proof"]["optimal"]
    assert len(result.to_frame()) == 3
    assert "proven least" in str(result)
    assert "1 of 1 layers proven" in repr(result)
    assert "<table" in result._repr_html_()
    assert result["conv5"] is found


def test_everything_fits() -> None:
    result = tw.least_traffic(tw.matmul(M=8, N=8, K=8), bank="64 words", banks=3)
    assert result.dram_words == 3 * 64


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"banks": 0}, "at least 1"),
        ({"banks": 5000}, "at most 4096"),
        ({"bank": "4 KB"}, "may mean 1000 or 1024"),
        ({"bank": "8 bits"}, "holds no word"),
        ({"word": "2 words"}, "unknown unit"),
        ({"time_limit": 0}, "greater than 0"),
    ],
)
def test_bad_input_is_refused(keys: dict, message: str) -> None:
    with pytest.raises(tw.InputError, match=message):
        tw.least_traffic(tw.matmul(M=2, N=2, K=2), **keys)


def test_three_terms_are_refused() -> None:
    layer = tw.einsum("O[P] += I[P+R+S] * W[R,S]", P=3, R=2, S=2)
    with pytest.raises(tw.InputError, match="at most 2"):
        tw.least_traffic(layer)


def test_too_few_banks() -> None:
    with pytest.raises(tw.NoMappingError, match="each takes one"):
        tw.least_traffic(tw.matmul(M=2, N=2, K=2), banks=2)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    from tilewright.cli import main

    assert main(["traffic", "alexnet", "--layer", "fc8", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["layers"][0]["proof"]["optimal"]
    assert main(["traffic", "alexnet", "--layer", "fc8", "--banks", "0"]) == 2
    assert "--banks" in capsys.readouterr().err
