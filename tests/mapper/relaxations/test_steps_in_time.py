"""Steps in time: what all elements have at a time, what tiles hold for that, and whole numbers."""

from __future__ import annotations

from itertools import product
from math import ceil, inf
from random import Random

import numpy as np
import pytest
from numba import njit

import tilewright as tw
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.kernels.types import Floats
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.relaxations.boxes import spatial_boxes
from tilewright.mapper.relaxations.boxes.steps import StepRanges
from tilewright.mapper.relaxations.stays.least_of_orders import least_of_whole
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import closed_form
from tilewright.mapping.nodes import For, Mapping, Spatial, Store

PRODUCT = "O[M,N] += I[M,K] * W[K,N]"


@pytest.mark.parametrize("seed", range(5))
def test_each_number_of_steps_is_in_one_range(seed: int) -> None:
    random = Random(seed)
    steps, leaves = StepRanges(), [0]
    for _ in range(20):
        part = random.choice(leaves)
        two = steps.divide(part, random.choice([1.0, 1.0, 3.0]))
        if two is not None:
            leaves.remove(part)
            leaves += two
    assert len(leaves) > 3
    for number in range(1, 200):
        inside = [p for p in leaves if steps.fewest[p] <= number <= steps.most[p]]
        assert len(inside) == 1


def steps_of(loops: list[tuple[int, bool]], extent: int) -> tuple[int, int]:
    """Return the steps in time of a dimension, and what all elements have at once at most."""
    if not loops:
        return 1, 1
    (tile, spatial), rest = loops[0], loops[1:]
    chunks = [min(tile, extent - begin) for begin in range(0, extent, tile)]
    ways = [steps_of(rest, own) for own in chunks]
    if spatial:
        # elements with less work wait
        return max(own[0] for own in ways), sum(own[1] for own in ways)
    return sum(own[0] for own in ways), max(own[1] for own in ways)


@pytest.mark.parametrize("seed", range(12))
def test_words_are_read_in_each_step_and_elements_have_the_rest(seed: int) -> None:
    random = Random(seed)
    bound = random.choice([5, 7, 9, 12])
    nodes, loops, extent = [], [], bound
    # elements of A are outside of those of B
    kinds = ["", "A", "", "B", ""]
    for kind in kinds:
        tile = random.randint(1, extent)
        if kind and ceil(extent / tile) > 4:
            tile = ceil(extent / 4)
        nodes.append(Spatial("N", tile, "X", kind) if kind else For("N", tile))
        loops.append((tile, bool(kind)))
        extent = tile
    loops.append((1, False))
    layer = tw.einsum(PRODUCT, M=2, N=bound, K=3)
    levels = (Memory("DRAM", 8, read_energy=1.0), Array("A", {"X": 4}), Array("B", {"X": 4}))
    machine = Architecture("steps", (*levels, Compute("MAC")))
    mapping = Mapping((Store("DRAM", ("I", "W", "O")), *nodes, For("N", 1), For("M", 1)))
    reads = tw.evaluate(layer, machine, mapping).memories["DRAM"].tensors["I"].reads
    steps, longest = steps_of(loops, bound)
    assert reads == 2 * 3 * steps
    assert longest >= ceil(bound / steps)


def bounds_of(
    layer: tw.Layer, machine: Architecture, value: float, monkeypatch: pytest.MonkeyPatch
) -> list[float]:
    """Return the bound of energy without dividing steps and with it."""
    found = []
    for most in (0, 96):
        monkeypatch.setattr(spatial_boxes, "STALLED", most)
        boxes = closed_form(layer, narrowed(machine, layer), parse_objective("energy"))
        boxes.lower(1.5 * value, lambda: False)
        found.append(boxes.bound)
    return found


def test_what_is_read_once_is_in_the_tiles_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of K at once leaves the tile of inputs few rows, so that weights come several times."""
    layer = tw.einsum(PRODUCT, M=8, N=6, K=6)
    levels = (
        Memory("DRAM", 8, read_energy=40.0, write_energy=40.0),
        Memory("L2", 8, 40 * 8, keep=frozenset("I"), must_keep=frozenset("I")),
        *(Array("A", {"X": 4}), Array("B", {"X": 2})),
        Memory("RF", 8, 2 * 8, keep=frozenset("W"), must_keep=frozenset("W")),
    )
    machine = Architecture("at once", (*levels, Compute("MAC")))
    value = tw.map(layer, machine, "energy", cache=False, time_limit=20).layers[0].proof.value
    without, bound = bounds_of(layer, machine, value, monkeypatch)
    assert without * 1.2 < bound == pytest.approx(value)


@njit
def in_whole_tiles(costs: Floats, limit: float) -> float:
    """Call a part of a kernel."""
    points, sizes = np.empty(4 * len(costs)), np.empty((2, len(costs)))
    found: float = least_of_whole(costs, points, sizes, limit, True)
    return found


def fewest_times(
    bounds: tuple[int, int], prices: tuple[float, float], limit: int
) -> tuple[float, float]:
    """Return the least cost with whole tiles, tried in full, and what the kernel says."""
    best = inf
    for tiles in product(*(range(1, bound + 1) for bound in bounds)):
        if tiles[0] * tiles[1] <= limit:
            pairs = zip(prices, bounds, tiles, strict=True)
            best = min(best, sum(price * ceil(bound / tile) for price, bound, tile in pairs))
    costs = np.zeros((2, 7))
    for cost, price, bound in zip(costs, prices, bounds, strict=True):
        cost[0], cost[2], cost[4], cost[5], cost[6] = price * bound, price, bound, bound, price
    return best, float(in_whole_tiles(costs, float(limit)))


def test_tiles_of_whole_numbers_are_never_cheaper() -> None:
    random = Random(0)
    for _ in range(300):
        bounds = random.randint(1, 30), random.randint(1, 30)
        prices = random.choice([0.1, 1.0, 7.0]), random.choice([0.1, 1.0, 7.0])
        best, bound = fewest_times(bounds, prices, random.randint(1, bounds[0] * bounds[1]))
        assert bound <= best * (1 + 1e-9), (bounds, prices)


def test_a_tile_has_a_whole_number_of_rows() -> None:
    # 9 rows of 4 in 13 words: three at a time, where 13 / 4 would make it 2.8 times
    best, bound = fewest_times((4, 13), (100.0, 1.0), 18)
    assert best == bound == 100.0 + ceil(13 / 4)
