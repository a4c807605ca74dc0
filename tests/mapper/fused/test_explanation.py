"""What `explain --fuse` says of edges that stay unfused."""

import pytest

import tilewright as tw
from fused_chains import network
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import InputError


def machine(words, arrays=(), energy=6.0):
    """Return a machine with a buffer of so many words, whose accesses cost so many pJ."""
    memories = (
        Memory("DRAM", 16, read_energy=100.0, write_energy=90.0),
        Memory("GLB", 16, capacity_bits=16 * words, read_energy=energy, write_energy=energy),
    )
    return Architecture("small", (*memories, *arrays, Compute("MAC", energy=1.0)))


def test_an_edge_says_what_it_moves_and_what_it_takes():
    why = tw.explain(network(4, [3, 5, 2]), machine(2, energy=900.0), fuse=True)
    (edge,) = why.edges
    layers = {r.layer.name: r.evaluation.counts.memories["DRAM"] for r in why.result.layers}
    made, read = layers["l0"]["O"], layers["l1"]["I"]
    assert edge.outer_words == made.reads + made.writes + read.reads + read.writes
    assert edge.outer_words >= 2 * 20
    assert edge.outer_pj == 90.0 * made.writes + 100.0 * (made.reads + read.reads)
    # both dimensions of the tensor can be cut to one
    assert (edge.smallest_memory, edge.smallest_bits) == ("GLB", 16)
    assert f"{edge.outer_words:,}" in why.text()
    assert edge.because in str(why)


def test_nothing_is_explained_where_all_is_fused():
    why = tw.explain(network(4, [3, 5, 2]), machine(1000), fuse=True)
    assert not why.edges
    assert "None." in why.text()


@pytest.mark.parametrize("options", [{"layer": "l0"}, {"within": 0.1}, {"constraints": "PE: X=M"}])
def test_options_without_effect_are_refused(options):
    with pytest.raises(InputError, match="no effect with 'fuse'"):
        tw.explain(network(2, [2, 2, 2]), machine(8), fuse=True, **options)


def test_a_limited_time_never_makes_a_network_worse_than_its_layers():
    arrays = (Array("A", {"X": 2}), Array("B", {"X": 2}))
    net = network(3, [2, 3, 2])
    best = tw.map(net, machine(12, arrays), fuse=True, cache=False)
    assert best.optimal
    for limit in (0.05, 20.0):
        found = tw.map(net, machine(12, arrays), fuse=True, time_limit=limit, cache=False)
        if not found.unmapped:
            assert found.lower_bound <= best.value * (1 + 1e-9)
            assert best.value * (1 - 1e-9) <= found.value <= found.value_alone * (1 + 1e-9)
