"""Tile sizes that do not divide: never worse, exactly valued, above a bound of every mapping."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isclose
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import tilewright as tw
from problems import problem
from strategies import cases
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import InputError
from tilewright.mapper.heuristics.open_loops import closed, opened
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.bypass_choices import keep_choices, narrowed
from tilewright.mapper.problem.widest_choices import different, widest_choices
from tilewright.mapper.relaxations.boxes.spatial_boxes import SpatialBoxes
from tilewright.mapper.relaxations.stays.least_cost import Least
from tilewright.mapper.relaxations.stays.least_of_orders import least_sums
from tilewright.mapper.search.all_sizes.all_tile_sizes import BestOfAllSizes, with_all_sizes
from tilewright.mapper.search.all_sizes.bounds_of_all_sizes import RegularBounds, closed_form
from tilewright.mapper.search.all_sizes.rounder_layers import cut_down, rounder
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import For, Mapping, Store
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate

Case = tuple[tw.Layer, tw.Architecture, tw.Mapping]
AWKWARD = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=29, N=31, K=7)


def bypass_choice(
    mapping: tw.Mapping, layer: tw.Layer, machine: tw.Architecture
) -> tuple[tuple[int, ...], ...]:
    """Return the positions of the memories that store each tensor."""
    stores = [node for node in mapping.nodes if isinstance(node, Store)]
    return tuple(
        tuple(
            m
            for m, memory in enumerate(machine.memories)
            if any(s.memory == memory.name and tensor.name in s.tensors for s in stores)
        )
        for tensor in layer.tensors
    )


def test_an_annealed_mapping_of_a_rounder_layer_is_one_of_the_layer_itself() -> None:
    machine = tw.Architecture(
        "clusters",
        (
            Memory("DRAM", 16, read_energy=100.0, write_energy=100.0),
            Array("Cluster", {"X": 2}),
            Memory("L1", 16, capacity_bits=16 * 512, read_energy=4.0, write_energy=4.0),
            Array("PE", {"X": 4, "Y": 4}),
            Memory("RF", 16, capacity_bits=16 * 16, read_energy=1.0, write_energy=1.0),
            Compute("MAC", energy=1.0),
        ),
    )
    even = Search(AWKWARD, machine, "edp").solve()
    assert even.mapping is not None
    around = replace(AWKWARD, bounds={"M": 32, "N": 32, "K": 8})
    best = even.mapping
    cut = cut_down(around, AWKWARD, machine, "edp", best, lambda: False, annealed=True)
    assert cut is not None
    check(cut, AWKWARD, machine)
    cost = evaluate(AWKWARD, machine, cut)
    assert cost.energy_pj * cost.cycles < 0.5 * even.value


@settings(max_examples=100, deadline=None)
@given(cases())
def test_no_mapping_costs_less_than_the_bound(case: Case) -> None:
    layer, machine, mapping = case
    least = Least(layer, machine)
    cost = evaluate(layer, machine, mapping)
    energy, cycles = least.cost(bypass_choice(mapping, layer, machine))
    assert energy.min() <= cost.energy_pj * (1 + 1e-12)
    assert cycles.min() <= cost.cycles * (1 + 1e-12)
    assert (energy * cycles).min() <= cost.energy_pj * cost.cycles * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_loops_of_one_chunk_cost_nothing(case: Case) -> None:
    layer, machine, mapping = case
    wider = opened(mapping, layer, machine)
    assert len(wider) >= len(mapping)
    before, after = evaluate(layer, machine, mapping), evaluate(layer, machine, wider)
    assert (after.energy_pj, after.cycles) == (before.energy_pj, before.cycles)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
@pytest.mark.parametrize("machine", ["simple", "eyeriss"])
def test_all_sizes_are_better_for_awkward_bounds(objective: str, machine: str) -> None:
    even = tw.map(AWKWARD, machine, objective, cache=False, tiles="divisors").layers[0]
    free = tw.map(AWKWARD, machine, objective, cache=False, tiles="all").layers[0]
    assert free.proof.value <= even.proof.value
    assert free.proof.lower_bound <= free.proof.value
    assert free.proof.tiles == "all"
    if objective != "energy":
        assert free.proof.value < 0.5 * even.proof.value
    check(free.mapping, AWKWARD, tw.load_architecture(machine))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_no_tile_size_makes_it_worse_than_divisors(seed: int) -> None:
    layer, machine = problem(seed)
    even = tw.map(layer, machine, "edp", cache=False, tiles="divisors").layers[0]
    free = tw.map(layer, machine, "edp", cache=False, tiles="all").layers[0]
    assert free.proof.value <= even.proof.value * (1 + 1e-9)
    again = tw.map(layer, machine, "edp", cache=False, tiles="all", workers=1).layers[0]
    assert again.mapping == free.mapping


def test_bounds_of_two_are_proven_by_divisors() -> None:
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=2, N=2, K=2)
    assert tw.map(layer, "simple", cache=False, tiles="all").optimal


def test_constraints_hold_for_all_sizes() -> None:
    free = tw.map(
        AWKWARD, "simple", "latency", cache=False, tiles="all", constraints="PE.X.dims=M"
    ).layers[0]
    spatial = [n for n in free.mapping.nodes if getattr(n, "axis", None) == "X"]
    assert {node.dimension for node in spatial} <= {"M"}


def test_closed_leaves_out_what_does_nothing() -> None:
    machine = tw.load_architecture("simple")
    mapping = tw.map(AWKWARD, machine, cache=False, tiles="divisors").layers[0].mapping
    wider = opened(mapping, AWKWARD, machine)
    sizes = [node.tile for node in wider.nodes if not isinstance(node, Store)]
    narrow = closed(wider, np.array(sizes), AWKWARD)
    cost, own = evaluate(AWKWARD, machine, narrow), evaluate(AWKWARD, machine, mapping)
    assert isclose(cost.energy_pj, own.energy_pj)
    assert sum(isinstance(n, For) for n in narrow.nodes) <= sum(
        isinstance(n, For) for n in mapping.nodes
    )


def test_rounder_bounds_have_more_divisors() -> None:
    assert [rounder(n, 99) for n in (1, 2, 64, 127, 7)] == [1, 2, 64, 132, 8]
    # with fewer divisors where more are too many
    assert rounder(50257, 40) == 50320


def test_other_words_for_tile_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="divisors or all"):
        tw.map(AWKWARD, "simple", tiles="every")


@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_all_tile_sizes_of_a_convolution_are_proven(objective: str) -> None:
    layer = tw.einsum("O[K,P,Q] += I[C,P,Q] * W[K,C]", K=1024, C=256, P=14, Q=14)
    found = tw.map(layer, "simple", objective, cache=False, tiles="all").layers[0]
    assert found.proof.optimal
    assert found.proof.tiles == "all"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(20))
def test_bound_of_every_tile_size_is_at_most_the_optimum_of_divisors(seed: int) -> None:
    layer, machine = problem(seed)
    least = Least(layer, narrowed(machine, layer))
    for objective in ("energy", "latency", "edp"):
        best = Search(layer, machine, objective).solve()
        values = [parse_objective(objective).values(*cost).min() for _, *cost in least.all_costs()]
        assert min(values) <= best.value * (1 + 1e-12)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_resource_is_shared_at_the_least_cost(count: int) -> None:
    """Against all whole-number splits: the least is below them, and near the best."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        prices, most = rng.uniform(0.1, 9, count), rng.integers(1, 60, count).astype(float)
        limit = float(rng.integers(1, 5000))
        least = float(least_sums(prices[:, None], most[:, None], np.array([limit]))[0])
        for scale, allowed in (
            ([np.arange(1, m + 1) for m in most], limit),
            ([np.geomspace(1, m, 120) for m in most], limit * (1 + 1e-9)),
        ):
            grids = np.array(np.meshgrid(*scale, indexing="ij")).reshape(count, -1)
            costs = (prices[:, None] / grids).sum(axis=0)
            best = costs[grids.prod(axis=0) <= allowed].min()
            assert least <= best * (1 + 2e-9)
        assert best <= least * 1.06


def test_wider_choices_exceed_every_other_one() -> None:
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=5, N=3, K=40)
    machine = tw.load_architecture("eyeriss")
    wide = widest_choices(layer, machine)[:, 0]
    sizes = list(machine.arrays[0].axes.values())
    ways = [(m, n, k) for m in range(1, 6) for n in range(1, 4) for k in range(1, 15)]
    first = [way for way in ways if np.prod(way) <= sizes[0]]
    second = [way for way in ways if np.prod(way) <= sizes[1]]
    for a in first:
        for b in second:
            both = np.minimum(np.array(a) * np.array(b), [5, 3, 40])
            assert (wide >= both).all(axis=1).any()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("sizes", [(64, 64, 64), (512, 512, 512), (48, 1024, 96)])
def test_bound_of_a_bypass_choice_is_at_most_its_optimum(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=m, N=n, K=k)
    machine = tw.load_architecture("eyeriss")
    least = Least(layer, machine)
    bounds, optima = [], []
    for keep in keep_choices(layer, machine):
        search = Search(layer, machine, "energy")
        optima.append(search.solve(plans=search.plans([keep])).value)
        bounds.append(least.cost(keep)[0].min())
        assert bounds[-1] <= optima[-1] * (1 + 1e-12), keep
    assert min(bounds) > 0.88 * min(optima)


@pytest.mark.parametrize("tiles", ["divisors", "all"])
def test_one_operation_is_mapped_within_a_time_limit(tiles: str) -> None:
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=1, N=1, K=1)
    assert tw.map(layer, "simple", cache=False, tiles=tiles, time_limit=5).optimal


@pytest.mark.parametrize("largest", [3, 2**40])
def test_different_rows_come_in_order(largest: int) -> None:
    rows = np.random.default_rng(1).integers(1, largest, (50, 3), np.int64, endpoint=True)
    rows = np.concatenate([rows, rows[::2]])
    assert (different(rows) == np.unique(rows, axis=0)).all()


def test_limited_time_is_for_sizes_that_divide_first() -> None:
    layers = [tw.matmul(M=7, N=5, K=3, name="a"), tw.matmul(M=5, N=3, K=4, name="b")]
    network = tw.Network("two", tuple(layers))
    free = tw.map(network, "simple", "edp", cache=False)
    limited = tw.map(network, "simple", "edp", cache=False, time_limit=60)
    assert [layer.proof.value for layer in limited.layers] == [
        layer.proof.value for layer in free.layers
    ]
    assert all(layer.proof.tiles == "all" for layer in limited.layers)
    short = tw.map(network, "simple", "edp", cache=False, time_limit=1e-9)
    assert len(short.layers) + len(short.unmapped) == 2


def test_rounder_layers_come_before_bounds_that_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """53 and 59 have no divisors: what is best among these costs over four times as much."""
    layer = tw.einsum("O[K,P] += I[C,P] * W[K,C]", K=53, C=53, P=59)
    levels = (
        Memory("DRAM", 8, read_energy=40.0, write_energy=40.0),
        Memory("L2", 8, 8 * 4096, read_energy=8.0, write_energy=8.0),
        Array("PE", {"X": 8, "Y": 8}),
        Memory("RF", 8, 8 * 4, read_energy=0.1, write_energy=0.1),
    )
    machine = tw.Architecture("primes", (*levels, Compute("MAC")))
    even = Search(layer, machine, "energy").solve()
    ceilings = []
    lower = SpatialBoxes.lower

    def noted(boxes: SpatialBoxes, ceiling: float, *how: Any) -> None:
        ceilings.append(ceiling)
        lower(boxes, ceiling, *how)

    monkeypatch.setattr(SpatialBoxes, "lower", noted)
    found = with_all_sizes(layer, machine, "energy", even)
    assert found.finished
    assert found.value < even.value / 4
    assert ceilings[0] < found.value * 1.2


def test_spatial_choices_of_the_least_bounds_are_searched() -> None:
    # two of 35 columns, three of five columns of the filter, and two channels: only with them
    # do elements add up that many outputs, and sizes that divide have neither
    layer = tw.einsum("O[K,2*Q+S] += I[C,Q] * W[K,C,S]", K=48, C=160, Q=35, S=5)
    machine = tw.Architecture(
        "one",
        (
            Memory("DRAM", 8, read_energy=66.0, write_energy=66.0),
            Memory("L1", 8, 8192, read_energy=1.3, write_energy=2.0),
            Array("PE", {"X": 14}),
            Compute("MAC", 0.1),
        ),
    )
    goal = parse_objective("energy")
    divided = Search(layer, machine, "energy").solve(lambda: False)
    assert divided.mapping is not None
    best = BestOfAllSizes(layer, machine, "energy", lambda: False, divided.mapping, divided.value)
    best.climb_from(divided.mapping)
    boxes = closed_form(layer, machine, goal)
    boxes.lower(best.value, lambda: False)
    before = best.value
    best.climb_from_choices(RegularBounds(boxes, goal))
    assert boxes.bound <= best.value < 0.97 * before


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "value"), [("conv1_2", 1.315805600981975e17), ("conv2_1", 3.207198444355584e16)]
)
def test_windows_slide_in_either_direction_above_an_array(name: str, value: float) -> None:
    layer = next(own for own in tw.load_network("vgg16").layers if own.name == name)
    found = tw.map(layer, tw.load_architecture("eyeriss"), "edp", cache=False, workers=1).layers[0]
    assert found.proof.optimal
    assert found.proof.value == pytest.approx(value, rel=1e-12)


def test_a_mapping_that_fits_is_tried_after_one_that_is_too_large_and_costs_the_same() -> None:
    layer = tw.einsum("O[M,N] += I[M,K] * W[K,N]", M=4, N=2, K=2)
    machine = Architecture(
        "small",
        (Memory("DRAM", 8, read_energy=1.0), Memory("B", 8, capacity_bits=40), Compute("MAC")),
    )
    large, fits = (
        Mapping((Store("DRAM", ("I", "W", "O")), For("M", size), Store("B", ("I",)), For("M", 1)))
        for size in (3, 2)
    )
    best = BestOfAllSizes(layer, machine, "energy", lambda: False, fits, inf)
    assert best.begin(large) == best.begin(fits)
    assert best.climb_from(large)
    assert best.climb_from(fits)
    assert not best.climb_from(fits)
