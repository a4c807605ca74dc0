"""Mappings of any tile sizes and any latency are tidied: they cost no more and need no more."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import tilewright as tw
from problems import problem
from strategies import cases
from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture
from tilewright.mapper.canonical.polish import Cost, beyond, costs, occupied
from tilewright.mapper.canonical.tidy import is_even, neighbours, tidied
from tilewright.mapper.heuristics.neighbourhood import items_of, mapping_of
from tilewright.mapper.pipelined.best_even import EvenSearch
from tilewright.mapper.search.all_sizes.all_tile_sizes import with_all_sizes
from tilewright.mapper.search.search import Search
from tilewright.mapping.constraints import under, violations
from tilewright.mapping.given import given_constraints
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.mapping.validity import check
from tilewright.model.evaluate import evaluate
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

Case = tuple[Layer, Architecture, Mapping]


def tidy(mapping: Mapping, layer: Layer, machine: Architecture) -> Mapping:
    return tidied(mapping, layer, machine, lambda one: costs(one, layer, machine))


def loops(mapping: Mapping) -> int:
    return sum(isinstance(node, For) for node in mapping.nodes)


@given(cases())
@settings(max_examples=25, deadline=None)
def test_nothing_costs_more_and_nothing_needs_more(case: Case) -> None:
    layer, machine, mapping = case
    after = tidy(mapping, layer, machine)
    check(after, layer, machine)
    assert not beyond(costs(after, layer, machine), costs(mapping, layer, machine))
    needs = [(occupied(m, layer, machine), loops(m)) for m in (after, mapping)]
    assert needs == sorted(needs)
    assert tidy(after, layer, machine) == after


@given(cases())
@settings(max_examples=50, deadline=None)
def test_loops_and_stores_are_the_mapping_again(case: Case) -> None:
    """Apart from loops below the last store node, and from tiles that differ in size."""
    layer, _, mapping = case
    once = mapping_of(items_of(mapping, layer), layer)
    assert mapping_of(items_of(once, layer), layer) == once


def test_a_tile_is_stored_inside_the_loops_that_it_does_not_stay_through() -> None:
    layer, machine = einsum("O[M] += I[M,K] * W[K]", M=7, K=5), load_architecture("simple")
    everything = Store("DRAM", ("I", "W", "O"))
    # the inputs come once, whatever loops are around them
    early = Mapping((everything, Store("GLB", ("I",)), For("M", 3), Store("RF", ("O",))))
    found = tidy(early, layer, machine)
    assert occupied(early, layer, machine)[1:] == [35 * 16, 3 * 16]
    assert occupied(found, layer, machine)[1:] == [16, 16]


def test_a_loop_leaves_its_chunks_to_another_one() -> None:
    layer, machine = einsum("O[M] += I[M,K] * W[K]", M=8, K=5), load_architecture("simple")
    everything = Store("DRAM", ("I", "W", "O"))
    many = Mapping((everything, For("M", 4), For("M", 2), For("M", 1), Store("RF", ("O",))))
    assert tidy(many, layer, machine).nodes == (everything, For("M", 1), Store("RF", ("O",)))


def test_neighbours_cut_loops_into_factors() -> None:
    layer = einsum("O[M] += I[M,K] * W[K]", M=6, K=1)
    everything, inside = Store("DRAM", ("I", "W", "O")), Store("RF", ("O",))
    mapping = Mapping((everything, For("M", 1), inside))
    found = {one for _, one in neighbours(mapping, layer)}
    for factor in (2, 3):
        assert Mapping((everything, For("M", factor), inside)) in found
    assert Mapping((everything, inside)) in found


def test_what_constraints_demand_stays() -> None:
    layer = einsum("O[M] += I[M,K] * W[K]", M=8, K=5)
    plain = load_architecture("simple")
    machine = under(plain, given_constraints("RF.tile.M=4", plain, [layer]))
    everything = Store("DRAM", ("I", "W", "O"))
    mapping = Mapping((everything, For("M", 4), Store("RF", ("O",))))
    assert not violations(mapping, layer, machine)
    assert occupied(tidy(mapping, layer, plain), layer, plain)[2] == 16
    assert occupied(tidy(mapping, layer, machine), layer, machine)[2] == 4 * 16


@pytest.mark.parametrize("seed", [327, 371])
def test_all_tile_sizes_end_with_it(seed: int) -> None:
    layer, machine = problem(seed)
    before = with_all_sizes(layer, machine, "energy", Search(layer, machine, "energy").solve())
    assert before.mapping is not None
    result = tw.map(layer, machine, tiles="all", cache=False).layers[0]
    assert result.proof.value <= before.value
    assert not result.proof.least_memory
    bits = occupied(before.mapping, layer, machine)
    assert occupied(result.mapping, layer, machine) < bits
    assert tidy(result.mapping, layer, machine) == result.mapping


def test_an_even_mapping_stays_even_under_pipelined_latency() -> None:
    layer, machine = einsum("O[M,N] += I[M,K] * W[K,N]", M=4, N=6, K=4), load_architecture("simple")

    def price(mapping: Mapping) -> Cost:
        cost = evaluate(layer, machine, mapping, latency="pipelined")
        return cost.energy_pj, float(cost.cycles)

    even = EvenSearch(layer, machine, "energy").solve().mapping
    assert even is not None
    assert is_even(even)
    found = tidied(even, layer, machine, price, even=True)
    assert is_even(found)
    assert price(found) == price(even)
    result = tw.map(layer, machine, latency="pipelined", cache=False).layers[0]
    assert not beyond(price(result.mapping), price(found))


def test_even_mappings_have_one_loop_of_a_dimension_and_one_place_of_a_memory() -> None:
    everything = Store("DRAM", ("I", "W", "O"))
    spatial = Spatial("N", 1, "X", "PE")
    even = (everything, For("M", 2), For("N", 2), spatial, Store("RF", ("I", "W")))
    assert is_even(Mapping(even))
    assert not is_even(Mapping((*even, Store("RF", ("O",)))))
    assert not is_even(Mapping((everything, For("M", 2), For("N", 2), For("M", 1))))
    assert not is_even(Mapping((everything, spatial, For("M", 2), Store("RF", ("I",)))))
