"""The simulation, which defines the counts."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import EINSUMS, cases, layer_of
from tilewright.architecture import Architecture, Array, Compute, Memory, parse_architecture
from tilewright.counts import Counts, NetworkCounts, TensorCounts
from tilewright.document import Document
from tilewright.errors import InputError, MappingError
from tilewright.mapping import For, Mapping, Spatial, Store, parse_mapping, resolve
from tilewright.reference.simulate import LIMIT, simulate
from tilewright.workload import footprint, parse_network

REFERENCE = json.loads((Path(__file__).parents[1] / "data" / "counts_small.json").read_text())

properties = settings(max_examples=80, deadline=None, derandomize=True)


@pytest.mark.long
@pytest.mark.sampled(4)
@pytest.mark.parametrize("start", range(0, len(REFERENCE), 50))
def test_counts_equal_the_reference(start):
    for case in REFERENCE[start : start + 50]:
        layer = parse_network(Document(case["workload"], "workload")).layers[0]
        architecture = parse_architecture(Document(case["architecture"], "architecture"))
        mapping = parse_mapping(case["mapping"], layer, architecture)
        counts = simulate(layer, architecture, mapping)
        expected = case["expected"]
        assert counts.operations == expected["operations"]
        assert counts.steps == expected["steps"], case["seed"]
        for memory, tensors in expected["memories"].items():
            for tensor, numbers in tensors.items():
                found = counts.memories[memory][tensor]
                assert found == TensorCounts(**numbers), (case["seed"], memory, tensor)


@properties
@given(cases(), st.data())
def test_cutting_a_loop_in_two_changes_no_count(case, data):
    layer, architecture, mapping = case
    loops = [i for i, node in enumerate(mapping.nodes) if not isinstance(node, Store)]
    extents = dict(layer.bounds)
    cuts = []
    for i in loops:
        node = mapping.nodes[i]
        extent, extents[node.dimension] = extents[node.dimension], node.tile
        if isinstance(node, For):
            cuts += [(i, tile) for tile in range(node.tile, extent + 1, node.tile)]
    if not cuts:
        return
    i, tile = data.draw(st.sampled_from(cuts))
    outer = replace(mapping.nodes[i], tile=tile)
    nodes = (*mapping.nodes[:i], outer, *mapping.nodes[i:])
    whole = simulate(layer, architecture, mapping)
    assert simulate(layer, architecture, Mapping(nodes)) == whole


@properties
@given(cases())
def test_a_link_without_an_array_delivers_what_is_sent(case):
    layer, architecture, mapping = case
    counts = simulate(layer, architecture, mapping)
    for tensor in layer.inputs:
        for link in resolve(mapping, layer, architecture).links[tensor.name]:
            if link.child != "MAC" and not link.arrays:
                sent = counts.memories[link.parent][tensor.name].reads
                assert sent == counts.memories[link.child][tensor.name].writes


@properties
@given(cases())
def test_networks_carry_what_is_read_above_and_written_below(case):
    layer, architecture, mapping = case
    counts = simulate(layer, architecture, mapping)
    for tensor in layer.inputs:
        for link in resolve(mapping, layer, architecture).links[tensor.name]:
            if not link.arrays:
                continue
            read = counts.memories[link.parent][tensor.name].reads
            crossed = [counts.networks[array.name][tensor.name] for array in link.arrays]
            assert crossed[0].words == read
            for outer, inner in pairwise(crossed):
                assert inner.words <= outer.hops
            assert all(network.words <= network.hops for network in crossed)
            if link.child == "MAC":
                assert crossed[-1].hops == layer.operations
            else:
                assert crossed[-1].hops == counts.memories[link.child][tensor.name].writes


@properties
@given(cases())
def test_every_word_of_the_output_that_enters_also_leaves(case):
    layer, architecture, mapping = case
    counts = simulate(layer, architecture, mapping)
    name = layer.output.name
    outermost, *inner = (counts.memories[memory.name][name] for memory in architecture.memories)
    assert outermost.writes - outermost.reads == footprint(layer.output, layer.bounds)
    for memory in inner:
        assert memory.reads == memory.writes


@properties
@given(cases(kinds=tuple(kind for kind in EINSUMS if kind != "scatter")))
def test_the_first_instance_is_the_busiest(case):
    layer, architecture, mapping = case
    counts = simulate(layer, architecture, mapping)
    for memory in architecture.memories:
        instances = counts.instances[memory.name]
        assert 1 <= instances <= architecture.instances(memory.name)
        for tensor in layer.tensors:
            total = counts.memories[memory.name][tensor.name]
            first = counts.busiest[memory.name][tensor.name]
            assert first.reads <= total.reads <= first.reads * instances
            assert first.writes <= total.writes <= first.writes * instances


@properties
@given(cases())
def test_a_single_instance_is_the_busiest(case):
    layer, architecture, mapping = case
    counts = simulate(layer, architecture, mapping)
    assert counts.memories["DRAM"] == counts.busiest["DRAM"]
    for memory in architecture.memories:
        if not any(isinstance(node, Spatial) for node in mapping.nodes):
            assert counts.memories[memory.name] == counts.busiest[memory.name]
            assert counts.instances[memory.name] == 1


@properties
@given(cases())
def test_steps_and_compute_units_bound_the_operations(case):
    layer, architecture, mapping = case
    counts = simulate(layer, architecture, mapping)
    assert counts.steps <= layer.operations <= counts.steps * counts.instances["MAC"]
    if not any(isinstance(node, Spatial) for node in mapping.nodes):
        assert counts.steps == layer.operations


# A convolution with 10 outputs and 3 taps on 4 elements; its input has 12 words.

CONVOLUTION = layer_of("conv1d", {"K": 2, "C": 1, "P": 10, "R": 3})
BY_CHUNKS = (For("P", 4), Spatial("P", 1, "X", "PE"))
BY_STRIPS = (Spatial("P", 3, "X", "PE"), For("P", 1))


def row(**network) -> Architecture:
    levels = (Memory("DRAM", 16), Array("PE", {"X": 4}, **network), Memory("RF", 16))
    return Architecture("row", (*levels, Compute("MAC")))


def convolve(loops, **network) -> Counts:
    stores = (Store("DRAM", ("I", "W", "O")), *loops, Store("RF", ("I", "W", "O")))
    return simulate(CONVOLUTION, row(**network), Mapping(stores))


@pytest.mark.parametrize(
    ("loops", "multicast", "forwarding", "read"),
    [
        (BY_CHUNKS, False, False, 30),
        (BY_CHUNKS, True, False, 16),
        (BY_CHUNKS, True, True, 12),
        (BY_STRIPS, False, False, 18),
        (BY_STRIPS, True, False, 18),
        (BY_STRIPS, True, True, 12),
    ],
)
def test_the_network_decides_what_is_read_again(loops, multicast, forwarding, read):
    counts = convolve(loops, multicast=multicast, forwarding=forwarding)
    delivered = 30 if loops is BY_CHUNKS else 18
    assert counts.memories["DRAM"]["I"].reads == read
    assert counts.memories["RF"]["I"].writes == delivered
    assert counts.networks["PE"]["I"] == NetworkCounts(words=read, hops=delivered)
    assert counts.busiest["RF"]["I"].writes == (9 if loops is BY_CHUNKS else 5)


@pytest.mark.parametrize(
    ("outer", "inner", "words", "hops"),
    [
        (True, True, (1, 2), (2, 4)),
        (True, False, (2, 4), (4, 4)),
        (False, True, (2, 2), (2, 4)),
        (False, False, (4, 4), (4, 4)),
    ],
)
def test_each_array_multicasts_on_its_own(outer, inner, words, hops):
    # one weight, needed by all of 2 x 2 elements
    layer = layer_of("conv1d", {"K": 1, "C": 1, "P": 4, "R": 1})
    arrays = (Array("A", {"X": 2}, multicast=outer), Array("B", {"X": 2}, multicast=inner))
    levels = (Memory("DRAM", 16), *arrays, Memory("RF", 16), Compute("MAC"))
    loops = (Spatial("P", 2, "X", "A"), Spatial("P", 1, "X", "B"))
    nodes = (Store("DRAM", ("I", "W", "O")), *loops, Store("RF", ("W",)))
    counts = simulate(layer, Architecture("two arrays", levels), Mapping(nodes))
    assert counts.memories["DRAM"]["W"].reads == words[0]
    assert counts.memories["RF"]["W"].writes == 4
    for array, carried, delivered in zip("AB", words, hops, strict=True):
        assert counts.networks[array]["W"] == NetworkCounts(carried, delivered)


def product(reduction: bool) -> Counts:
    """O[2,3] += I[2,8] * W[8,3], its sum spread over four elements in two chunks."""
    layer = layer_of("matmul", {"M": 2, "N": 3, "K": 8})
    everything = ("I", "W", "O")
    loops = (For("K", 4), Spatial("K", 1, "X", "PE"))
    nodes = (Store("DRAM", everything), *loops, Store("RF", everything))
    return simulate(layer, row(reduction=reduction), Mapping(nodes))


def test_an_array_adds_up_partial_sums():
    counts = product(reduction=True)
    assert counts.memories["DRAM"]["O"] == TensorCounts(reads=0, writes=6, peak=6)
    assert counts.memories["RF"]["O"] == TensorCounts(reads=48, writes=48, peak=6)
    assert counts.networks["PE"]["O"] == NetworkCounts(words=6, hops=24)


def test_without_reduction_the_outer_memory_adds_up_what_arrives():
    counts = product(reduction=False)
    assert counts.memories["DRAM"]["O"] == TensorCounts(reads=18, writes=24, peak=6)
    assert counts.memories["RF"]["O"] == TensorCounts(reads=48, writes=48, peak=6)
    assert counts.networks["PE"]["O"] == NetworkCounts(words=24, hops=24)


def test_refetched_partial_sums_go_to_one_element_of_a_reducing_group():
    layer = layer_of("matmul", {"M": 1, "N": 2, "K": 8})
    everything = ("I", "W", "O")
    loops = (For("K", 4), For("N", 1), Spatial("K", 1, "X", "PE"))
    nodes = (Store("DRAM", everything), *loops, Store("RF", everything))
    counts = simulate(layer, row(), Mapping(nodes))
    # the tile changes in all four steps: of 16 entries, united to 4, the last two are refetched
    assert counts.memories["DRAM"]["O"] == TensorCounts(reads=2, writes=4, peak=2)
    assert counts.memories["RF"]["O"] == TensorCounts(reads=16 + 2, writes=2 + 16, peak=1)
    assert counts.networks["PE"]["O"] == NetworkCounts(words=4 + 2, hops=16 + 2)
    assert counts.busiest["RF"]["O"] == TensorCounts(reads=4 + 2, writes=2 + 4, peak=1)


def test_an_idle_instance_keeps_its_tile():
    # 3 outputs on 2 elements: the second has nothing in the short last chunk
    layer = layer_of("conv1d", {"K": 1, "C": 2, "P": 3, "R": 1})
    loops = (For("C", 1), For("P", 2), Spatial("P", 1, "X", "PE"))
    nodes = (Store("DRAM", ("I", "W", "O")), *loops, Store("RF", ("O",)))
    counts = simulate(layer, row(), Mapping(nodes))
    assert counts.steps == 4
    assert counts.instances == {"DRAM": 1, "PE": 1, "RF": 2, "MAC": 2}
    # the first element goes through words 0, 2, 0, 2; the second keeps word 1 to the end
    assert counts.memories["DRAM"]["O"] == TensorCounts(reads=2, writes=5, peak=3)


def test_a_layer_of_too_many_operations_is_refused():
    layer = layer_of("matmul", {"M": 128, "N": 128, "K": 128})
    with pytest.raises(InputError, match=str(LIMIT)):
        simulate(layer, row(), Mapping((Store("DRAM", ("I", "W", "O")),)))


def test_an_invalid_mapping_is_refused():
    with pytest.raises(MappingError, match="DRAM"):
        simulate(CONVOLUTION, row(), Mapping((Store("RF", ("I", "W", "O")),)))
