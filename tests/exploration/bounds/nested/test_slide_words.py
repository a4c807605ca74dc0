"""Words of windows are the least of all orders of the loops above a tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations, product

import pytest
from tests.exploration.bounds.test_quick_bounds import space as drawn_space

from tilewright.architecture.machine import Array
from tilewright.exploration.bounds.nested.slide_words import Slides, slides_of, words_inside
from tilewright.kernels.kernel import kernel
from tilewright.mapper.problem.lattice import Lattice, lattice
from tilewright.mapper.problem.space import Space, space
from tilewright.workload.layer import Layer
from tilewright.workload.operators import conv1d

Loop = tuple[str, int]
LAYERS = (
    conv1d(K=2, C=2, P=4, R=2, name="a"),
    conv1d(K=3, C=1, P=6, R=3, name="b"),
    conv1d(K=2, C=2, P=4, R=3, stride=2, name="stride"),
    conv1d(K=1, C=2, P=6, R=2, stride=3, name="apart"),
    conv1d(K=4, C=1, P=4, R=2, name="c"),
)
INPUT = 0


def primes(n: int) -> list[int]:
    found = []
    p = 2
    while n > 1:
        if n % p == 0:
            found.append(p)
            n //= p
        else:
            p += 1
    return found


def words(layer: Layer, tile: dict[str, int], begin: dict[str, int]) -> frozenset[tuple[int, ...]]:
    """The words of the input that a tile at some place has."""
    axes = []
    for terms in layer.tensors[INPUT].expressions:
        values = {0}
        for term in terms:
            at = range(begin[term.dimension], begin[term.dimension] + tile[term.dimension])
            values = {v + term.coefficient * i for v in values for i in at}
        axes.append(sorted(values))
    return frozenset(product(*axes))


def simulated(layer: Layer, tile: dict[str, int], loops: Sequence[Loop]) -> int:
    """Words that come in when loops stand above a tile, the innermost first."""
    steps, reached = [], dict(tile)
    for d, times in loops:
        steps.append((d, times, reached[d]))
        reached[d] *= times
    run = sliding_run(layer, loops)
    total, before, last = 0, frozenset[tuple[int, ...]](), (-1,) * len(loops)
    for at in product(*(range(times) for _, times, _ in reversed(steps))):
        begin = dict.fromkeys(tile, 0)
        for i, (d, _, step) in zip(at, reversed(steps), strict=True):
            begin[d] += i * step
        now = words(layer, tile, begin)
        outermost = next((k for k in range(len(at)) if at[k] != last[k]), 0)
        if len(loops) - 1 - outermost in run:
            total += len(now - before)
        elif now != before:
            total += len(now)
        before, last = now, at
    return total


def sliding_run(layer: Layer, loops: Sequence[Loop]) -> set[int]:
    """The loops along which words stay: those on the dimension of the innermost relevant one."""
    relevant = layer.tensors[INPUT].dimensions
    own = [i for i, (d, _) in enumerate(loops) if d in relevant]
    found = set[int]()
    for i in own:
        if loops[i][0] != loops[own[0]][0]:
            break
        found.add(i)
    return found


def shapes(layer: Layer, tiles: Lattice) -> Iterator[tuple[int, dict[str, int]]]:
    for shape in range(tiles.shapes):
        tile = dict.fromkeys(layer.dimensions, 1)
        for k, d in enumerate(tiles.dimensions):
            tile[d] = int(tiles.values[k, tiles.digits[shape, k]])
        yield shape, tile


def around(layer: Layer, inner: dict[str, int], outer: dict[str, int]) -> list[Loop]:
    return [(d, p) for d in layer.dimensions for p in primes(outer[d] // inner[d])]


def orders(layer: Layer, loops: list[Loop]) -> Iterator[tuple[Loop, ...]]:
    """All orders in which no irrelevant loop stands right outside of the tile."""
    relevant = layer.tensors[INPUT].dimensions
    for order in sorted(set(permutations(loops))):
        if not order or order[0][0] in relevant:
            yield order


def slides(layer: Layer) -> tuple[Lattice, Space, Slides]:
    machine = drawn_space("no array").design(0)
    levels = tuple(level for level in machine.levels if not isinstance(level, Array))
    tiles = lattice(layer)
    whole, _ = space(layer, tiles, replace(machine, levels=levels))
    found = slides_of(whole, INPUT)
    assert found is not None
    return tiles, whole, found


@kernel
def inside(sp: Space, found: Slides, tile: int, near: int) -> float:
    """Let Python call a part of a kernel."""
    return words_inside(sp, found, tile, near)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
def test_the_least_of_all_orders(layer: Layer) -> None:
    tiles, _, found = slides(layer)
    state = tiles.digits[:, found.dims] @ found.strides
    other = tiles.digits[:, found.others] @ found.other_strides
    compared = 0
    for shape, tile in shapes(layer, tiles):
        loops = around(layer, tile, dict(layer.bounds))
        counts = [simulated(layer, tile, order) for order in orders(layer, loops)]
        if counts and len(loops) <= 6:
            repeats = tiles.repeats[shape] / (found.left[state[shape]] * found.around[other[shape]])
            own = found.after[state[shape], other[shape], state[shape], 1]
            assert tiles.words[INPUT, shape] * repeats * own == pytest.approx(min(counts))
            compared += 1
    assert compared > 8


@pytest.mark.parametrize(
    "layer", [own for own in LAYERS if own.bounds["C"] == 2], ids=lambda layer: layer.name
)
def test_the_least_of_all_orders_where_a_loop_ends_the_run(layer: Layer) -> None:
    tiles, whole, found = slides(layer)
    compared = saved = 0
    for (shape, tile), (other, near) in product(shapes(layer, tiles), repeat=2):
        if any(near[d] % tile[d] or (near[d] > tile[d] and d not in "PR") for d in near):
            continue
        runs = around(layer, tile, near)
        others = around(layer, near, dict(layer.bounds))
        if len(runs) > 3 or len(others) > 4 or "C" not in dict(others):
            continue
        counts = [
            simulated(layer, tile, [*first, ("C", 2), *rest])
            for first in set(permutations(runs))
            for rest in set(permutations([loop for loop in others if loop[0] != "C"]))
        ]
        state, until = (
            int(tiles.digits[each, found.dims] @ found.strides) for each in (shape, other)
        )
        repeats = tiles.repeats[shape] / found.left[state]
        own = tiles.words[INPUT, shape] * repeats * inside(whole, found, state, until)
        assert own == pytest.approx(min(counts)), (tile, near)
        compared += 1
        saved += own < tiles.words[INPUT, shape] * tiles.repeats[shape]
    assert compared > 8
    assert saved > 2 or layer.name == "apart"
