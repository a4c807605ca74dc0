"""Bounds whose tiles above an array contain those below are never above an optimum."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from tests.exploration.bounds.test_quick_bounds import (
    ROUNDING,
    above_some_corner,
    solved,
    space,
)

from tilewright import evaluate
from tilewright.document import parse
from tilewright.exploration import Box, Space, parse_space
from tilewright.exploration.bounds import words as all_words
from tilewright.exploration.bounds.nested import tiles
from tilewright.exploration.bounds.quick import QuickBounds
from tilewright.workload.layer import Layer
from tilewright.workload.operators import conv1d, conv2d, matmul

KINDS = (
    "one memory in each element", "two register files", "two memories in each element",
    "no multicast", "no reduction", "two memories above",
)  # fmt: skip


def drawn_layer(random: Random) -> Layer:
    """A small layer of some kind, with windows that overlap, touch or stand apart."""
    sizes = {d: random.choice((1, 2, 3, 4, 6)) for d in "KCMN"}
    stride = random.choice((1, 1, 2, 3))
    kind = random.randrange(3)
    if kind == 0:
        return matmul(M=sizes["M"], N=sizes["N"] * 2, K=sizes["K"] * 2, name="m")
    if kind == 1:
        return conv1d(
            K=sizes["K"], C=sizes["C"], P=random.choice((3, 4, 6, 8)), R=random.choice((2, 3, 4)),
            stride=stride, name="c",
        )  # fmt: skip
    return conv2d(
        K=random.choice((1, 2, 3)), C=random.choice((1, 2)), P=random.choice((2, 4)), Q=2,
        R=2, S=random.choice((1, 2)), stride=stride, name="d",
    )  # fmt: skip


def one_design(drawn: Space, random: Random) -> tuple[int, Box]:
    index = random.randrange(len(drawn))
    return index, Box(tuple((i, i + 1) for i in drawn.indices(index)))


@pytest.mark.long
@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(400))
def test_no_bound_is_above_an_optimum(seed: int) -> None:
    random = Random(seed)
    drawn, layer = space(random.choice(KINDS)), drawn_layer(random)
    quick = [QuickBounds(drawn, [layer], energy=energy) for energy in (False, True)]
    for _ in range(3):
        index, box = one_design(drawn, random)
        wide = Box(
            tuple(
                (random.randint(0, begin), random.randint(end, len(p.values)))
                for (begin, end), p in zip(box.ranges, drawn.parameters, strict=True)
            )
        )
        best = {each: solved(layer, drawn, index, each) for each in ("energy", "latency", "edp")}
        for own, each in ((a, b) for a in quick for b in (box, wide)):
            row = own.numbers.of(each)
            assert row is not None
            floors, corners = own.floors(row, lambda _: False)
            assert corners is not None
            for k, found in enumerate(best.values()):
                if found is not None:
                    value = (found[0], found[1], found[0] * found[1])[k]
                    assert floors[0, k] <= value * (1 + ROUNDING)
                    assert above_some_corner(corners, found)


@pytest.mark.parametrize("words", [11, 12])
@pytest.mark.parametrize("bounds", [(1, 8, 8), (2, 8, 6)], ids=["8x8", "8x6"])
def test_outputs_stay_while_a_run_brings_in_the_words_of_each_channel(
    bounds: tuple[int, int, int], words: int
) -> None:
    k, c, p = bounds
    layer = conv1d(K=k, C=c, P=p, R=3, name="c")
    drawn = small_space(words)
    quick = QuickBounds(drawn, [layer], energy=True)
    for index in range(len(drawn)):
        row = quick.numbers.of(Box(tuple((i, i + 1) for i in drawn.indices(index))))
        assert row is not None
        floors = quick.floors(row, lambda _: False)[0][0]
        for own, objective in ((0, "energy"), (2, "edp")):
            best = solved(layer, drawn, index, objective)
            assert best is not None
            assert floors[own] <= (best[0], best[1], best[0] * best[1])[own] * (1 + ROUNDING)


def small_space(words: int) -> Space:
    """Machines with a buffer of some words for inputs and outputs."""
    text = f"""
name: s
parameters: {{columns: [1, 2]}}
machine:
  levels:
    - {{memory: D, word: 16 bits, energy: 60}}
    - {{memory: B, word: 16 bits, size: {2 * words} B, energy: 1, keep: [input, output]}}
    - {{array: PE, axes: {{X: $columns}}}}
    - {{compute: M, energy: 1}}
"""
    return parse_space(parse(text, "space.yaml"))


@pytest.mark.long
@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(100, 112))
def test_no_bound_is_above_an_optimum_where_room_is_short(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles, "MOST_PAIRS", 2)
    monkeypatch.setattr(all_words, "MOST_CANDIDATES", 4)
    test_no_bound_is_above_an_optimum(seed)


@pytest.mark.long
@pytest.mark.parametrize(("objective", "lowest"), [("energy", 0.7), ("edp", 0.4)])
@pytest.mark.parametrize("kind", ["one memory in each element", "two register files"])
def test_bounds_often_equal_optima(kind: str, objective: str, lowest: float) -> None:
    random, drawn = Random(kind), space(kind)
    equal = []
    for layer in (matmul(M=6, N=8, K=8, name="m"), conv1d(K=4, C=4, P=6, R=3, name="c")):
        quick = QuickBounds(drawn, [layer], energy=objective == "energy")
        for _ in range(8):
            index, box = one_design(drawn, random)
            row, best = quick.numbers.of(box), solved(layer, drawn, index, objective)
            assert row is not None
            if best is not None:
                floors = quick.floors(row, lambda _: False)[0][0]
                energy = floors[0] / best[0]
                equal.append(energy if objective == "energy" else floors[2] / (best[0] * best[1]))
    assert sum(share > 1 - 1e-6 for share in equal) >= 6, sorted(equal)
    assert min(equal) > lowest, sorted(equal)


@pytest.mark.parametrize("kind", ["one memory in each element", "two register files"])
def test_tiles_of_bounds_make_mappings_and_some_cost_as_much(kind: str) -> None:
    random, drawn = Random(kind), space(kind)
    shares = []
    for layer in (matmul(M=6, N=8, K=8, name="m"), conv1d(K=4, C=4, P=6, R=3, name="c")):
        quick = QuickBounds(drawn, [layer], energy=True)
        for _ in range(6):
            index, box = one_design(drawn, random)
            row, machine = quick.numbers.of(box), drawn.design(index)
            assert row is not None
            floor = quick.floors(row, lambda _: False)[0][0, 2]
            costs = []
            for mapping in quick.mappings(row, 0, machine):
                found = evaluate(layer, machine, mapping)
                costs.append(found.energy_pj * found.cycles / machine.clock_hz / floor)
            assert min(costs, default=1.0) >= 1 - ROUNDING
            shares.append(min(costs, default=np.inf))
    assert sum(share < 1 + 1e-6 for share in shares) >= 2, sorted(shares)
