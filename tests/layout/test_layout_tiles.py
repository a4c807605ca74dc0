"""Off-chip tiles of least data-movement cost: the search equals trying every tile."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marvel
from strategies import layers
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture, Compute, Memory
from tilewright.errors import NoMappingError
from tilewright.layout.choose import reordered, tiles_of
from tilewright.layout.dmc import BOX, WORDS, Cost, inner_choices
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

MARVEL = load_architecture("marvel-p1")
FILTER = ("R", "S")


def machine(words: int, block: int = 4, buffering: int = 1) -> Architecture:
    """Return a machine of two memories with bytes as words."""
    return Architecture(
        "small",
        (
            Memory("DRAM", 8, block_bytes=block),
            Memory("L2", 8, capacity_bits=8 * words, buffering=buffering),
            Compute("MAC"),
        ),
    )


def tried(cost: Cost, integers: bool) -> float:
    """Return the least cost of all tiles and layouts, by trying each of them."""
    bounds = cost.layer.bounds
    sizes = [[t for t in range(1, n + 1) if integers or n % t == 0] for n in bounds.values()]
    names = [t.name for t in cost.tensors]
    axes = [inner_choices(t, bounds) if t.expressions else [None] for t in cost.tensors]
    inners = [dict(zip(names, chosen, strict=True)) for chosen in product(*axes)]
    best = inf
    for chosen in product(*sizes):
        tile = dict(zip(bounds, chosen, strict=True))
        if cost.fits(tile):
            best = min(best, *(cost.value(inner, tile) for inner in inners))
    return best


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    layer=layers(operations=120, largest=9),
    words=st.integers(3, 80),
    block=st.sampled_from([4, 8, 12]),
    integers=st.booleans(),
    extents=st.sampled_from([WORDS, WORDS, BOX]),
    output=st.sampled_from([1.0, 2.0]),
)
def test_search_equals_trying_every_tile(
    layer: Layer, words: int, block: int, integers: bool, extents: str, output: float
) -> None:
    layer = replace(layer, tensors=tuple(replace(t, bits=None) for t in layer.tensors))
    cost = Cost(layer, machine(words, block), output, extents)
    best = tried(cost, integers)
    if best == inf:
        with pytest.raises(NoMappingError, match="no tile"):
            tiles_of(cost, integers=integers).best()
        return
    found = tiles_of(cost, integers=integers).best()
    assert found.value == best
    assert cost.fits(found.tile)
    assert cost.value(found.inner, found.tile) == best


@pytest.mark.parametrize("name", marvel.ROWS)
def test_table_3_of_marvel_is_optimal(name: str) -> None:
    row = marvel.ROWS[name]
    cost = Cost(marvel.layer(name), MARVEL)
    found = tiles_of(cost, whole=FILTER).best()
    assert found.value == pytest.approx(row["optimum"], rel=1e-12)
    assert found.ties == row["ties"]
    assert tiles_of(cost, whole=FILTER).count() == row["divisor_tiles"]
    # the tile of the table with the layouts of the table
    axes = {"K": 0, "C": 1, "R": 2, "S": 3}, {"C": 1, "Y": 2, "X": 3}, {"K": 1, "Q": 2, "P": 3}
    w, i, o = (own[axis] for own, axis in zip(axes, row["layout"], strict=True))
    if len(cost.layer.tensors[1].expressions) == 3:
        w -= 1
    inner = {"I": i, "W": w, "O": o}
    assert cost.value(inner, marvel.tile(name)) == pytest.approx(row["dmc"], rel=1e-12)
    assert cost.value(inner, marvel.tile(name)) == found.value


@pytest.mark.parametrize("name", ["L1", "L7", "L9", "L12", "L15"])
def test_integer_tiles_of_marvels_layers(name: str) -> None:
    row = marvel.ROWS[name]
    cost = Cost(marvel.layer(name), MARVEL)
    assert tiles_of(cost, integers=True, whole=FILTER).best().value == pytest.approx(
        row["integer_optimum"], rel=1e-12
    )
    assert tiles_of(cost, integers=True, whole=FILTER).count() == row["integer_tiles"]


@pytest.mark.parametrize("name", ["L6", "L14"])
def test_with_the_box_of_its_stride_a_table_tile_does_not_fit(name: str) -> None:
    strided = marvel.layer(name, stride=2)
    assert not Cost(strided, MARVEL, extents=BOX).fits(marvel.tile(name))
    assert Cost(strided, MARVEL, extents=WORDS).fits(marvel.tile(name))
    once = tiles_of(Cost(strided, MARVEL, 1.0, BOX), whole=FILTER).best()
    assert once.value == pytest.approx(marvel.ROWS[name]["box_optimum_output_once"], rel=1e-12)


def test_one_layout_at_a_time_has_the_same_optimum() -> None:
    cost = Cost(marvel.layer("L8"), MARVEL)
    every = [found.value for _, found in tiles_of(cost, whole=FILTER).each_layout()]
    assert len(every) == 36
    assert min(every) == tiles_of(cost, whole=FILTER).best().value


def test_slopes_are_the_derivatives() -> None:
    layer = einsum("O[K,P] += I[C,2*P+R] * W[K,C,R]", K=64, C=96, P=128, R=3)
    cost = Cost(layer, machine(10_000, 1))
    tile = {"K": 8, "C": 16, "P": 32, "R": 3}
    inner = {"I": 0, "W": 1, "O": 0}

    def smooth(d: str, step: float) -> float:
        at = {name: float(size) for name, size in tile.items()}
        at[d] += step
        k, p, c, r = at["K"], at["P"], at["C"], at["R"]
        image = c * (1 + 2 * (p - 1) + (r - 1))
        return (image + k * c * r + 2 * k * p) / (k * p * c * r)

    for d, slope in cost.slopes(inner, tile).items():
        assert slope == pytest.approx((smooth(d, 1e-4) - smooth(d, -1e-4)) / 2e-4, rel=1e-5)


def test_the_loop_order_is_at_best_the_exact_one() -> None:
    found = tiles_of(Cost(marvel.layer("L12"), MARVEL), whole=FILTER).best()
    exact = reordered(found)
    assert exact.total_blocks <= found.total_blocks
    assert set(exact.order) == set(found.order)
