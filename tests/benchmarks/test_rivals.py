"""Another search finds nothing better than what is proven, and finds what is best where it can."""

import pytest

import tilewright as tw
from benchmarks.park.case import case
from benchmarks.rivals import Rival, compact, rival, with_tiles
from tilewright.mapping import check
from tilewright.mapping.structure import resolve_loops

SMALL = {
    "product": tw.matmul(M=12, N=16, K=8),
    "convolution": tw.conv2d(K=4, C=4, P=6, Q=6, R=3, S=1),
    "depthwise": tw.depthwise(G=6, P=8, Q=8, R=3, S=3, stride=2),
}
MACHINES = {
    "simple": tw.load_architecture("simple"),
    "eyeriss": tw.load_architecture("eyeriss"),
    "lanes": case("four-lanes.conv").machine,
    "apart": case("weights-apart.conv").machine,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("objective", ["energy", "latency", "edp"])
@pytest.mark.parametrize("machine", MACHINES)
def test_nothing_is_better_than_what_is_proven(machine, objective):
    layer = SMALL["convolution"]
    proven = tw.map(layer, MACHINES[machine], objective, tiles="divisors", cache=False)
    assert proven.optimal
    found = rival(layer, MACHINES[machine], objective, 1.0, "divisors")
    assert found.value >= proven.layers[0].proof.value * (1 - 1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", SMALL)
def test_what_is_found_for_a_small_layer_is_within_two_percent_of_the_best(name):
    machine = MACHINES["simple"]
    proven = tw.map(SMALL[name], machine, "energy", tiles="divisors", cache=False)
    best = proven.layers[0].proof.value
    found = rival(SMALL[name], machine, "energy", 60.0, "divisors", enough=best * 1.02)
    assert best * (1 - 1e-9) <= found.value <= best * 1.02


@pytest.mark.parametrize("tiles", ["divisors", "all"])
def test_what_is_found_is_valid_and_costs_what_is_said(tiles):
    layer, machine = SMALL["depthwise"], MACHINES["apart"]
    found = rival(layer, machine, "edp", 1.0, tiles)
    check(found.mapping, layer, machine)
    assert tw.evaluate(layer, machine, found.mapping).edp_pj_cycles == found.value
    if tiles == "divisors":
        loops = resolve_loops(found.mapping.nodes, layer)
        assert all(loop.extent % loop.tile == 0 for loop in loops)


def test_tile_sizes_divide_after_any_change():
    layer = tw.matmul(M=12, N=90, K=70)
    search = Rival(layer, case("npu.conv").machine, "edp", "divisors")
    nodes = search.random_nodes()
    for _ in range(300):
        nodes = search.changed(nodes)
        tiles, _ = search.priced(nodes, 20, starts=True)
        for row in tiles:
            loops = resolve_loops(with_tiles(nodes, row.tolist()), layer)
            assert all(loop.extent % loop.tile == 0 for loop in loops)
        nodes = compact(with_tiles(nodes, tiles[-1].tolist()), layer)
