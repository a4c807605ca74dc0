"""Energy against cycles with fused layers: limits of totals, and fronts."""

import json
from dataclasses import replace
from math import inf, isclose
from random import Random

import pytest

import tilewright
from fused_chains import machine, network
from fused_trees import random_costs
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.document import parse
from tilewright.errors import InputError, NoMappingError
from tilewright.fusion.evaluation import evaluate
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.fused.trade_offs.half_planes import HalfPlanes, union
from tilewright.mapper.fused.trade_offs.priced_search import PricedSearch
from tilewright.mapper.fused.trade_offs.priced_time import with_priced_time
from tilewright.mapping.fused import segment
from tilewright.mapping.fused.notation.files import parse_fused
from tilewright.model.energy import leakage_per_cycle
from tilewright.workload.network import parse_network


def problem(random):
    """Return a chain on a machine on which energy and cycles do not go together."""
    sizes = [random.choice((2, 3, 4, 6)) for _ in range(random.choice((3, 3, 4)))]
    found = network(random.choice((2, 4, 6)), sizes)
    target = machine(random)
    levels = [
        replace(
            level,
            read_bandwidth=random.choice((0.25, 0.5, 1.0)),
            write_bandwidth=random.choice((0.25, 0.5, 1.0)),
            leakage=random.choice((0.0, 0.0, 3e3)),
        )
        if isinstance(level, Memory) and level.name in ("DRAM", "GLB")
        else level
        for level in target.levels
    ]
    return found, replace(target, levels=tuple(levels))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_no_mapping_is_below_the_bounds_of_a_front(seed):
    random = Random(seed)
    found, target = problem(random)
    try:
        front = tilewright.pareto(found, target, fuse=True)
    except NoMappingError:
        pytest.skip("no layer fits")
    own = segment(found, [node.name for node in found.graph.nodes])
    for cost in random_costs(random, own, target, ["M"], 80):
        layers = cost.layers.values()
        energy, cycles = sum(la.energy_pj for la in layers), sum(la.cycles for la in layers)
        assert energy >= front.planes.least_energy(cycles) * (1 - 1e-12)
        assert cycles >= front.planes.cycles * (1 - 1e-12)
        points = zip(front.totals(), front.gaps, strict=True)
        least = min(e * (1 - gap) for (e, c), gap in points if c <= cycles * (1 + 1e-12))
        assert energy >= least * (1 - 1e-12)
    for energy, cycles in tilewright.pareto(found, target).totals():
        # never worse than without fusion
        assert any(
            e <= energy * (1 + 1e-12) and c <= cycles * (1 + 1e-12) for e, c in front.totals()
        )


BLOCKS = """
name: net
inputs: {x: [8, 8]}
layers:
- {name: up, op: matmul, M: 8, K: 8, N: 16, repeat: 12}
- {name: down, op: matmul, M: 8, K: 16, N: 8, repeat: 12}
graph:
- block: part
  repeat: 12
  inputs: {h: x}
  carry: {h: down}
  nodes:
  - {layer: up, name: up, tensors: {I: h}}
  - {layer: down, name: down, tensors: {I: up}}
"""


def blocks():
    """Return a block of two products that runs twelve times, and a machine with slow memories."""
    machine = Architecture(
        "slow",
        (
            Memory("DRAM", 16, read_energy=100.0, write_energy=100.0),
            Memory(
                "GLB", 16, capacity_bits=16 * 80, read_energy=6.0, write_energy=6.0,
                shared_bandwidth=0.75,
            ),
            Compute("MAC", energy=1.0),
        ),
    )  # fmt: skip
    return parse_network(parse(BLOCKS, "net")), machine


@pytest.mark.long
def test_runs_of_a_block_are_mapped_differently_within_a_limit():
    network, target = blocks()
    front = tilewright.pareto(network, target, fuse=True)
    (_, slow), (_, quick) = front.totals()[0], front.totals()[-1]
    limit = quick + 0.37 * (slow - quick)
    found = tilewright.map(network, target, f"energy, latency<={limit}", fuse=True)
    assert found.cycles <= limit
    assert found.value == pytest.approx(found.energy_pj)
    assert found.lower_bound <= found.value
    assert found.gap < 0.02
    runs = sum(len(s.names) * s.repeat for s in found.segments)
    assert runs + sum(u.repeat for u in found.unfused) == 24
    assert len(found.segments) + len(found.unfused) > 1
    # the file says how many runs take each mapping
    text = parse_fused(parse(found.mapping_file(), "mappings"), network, target)
    cost = sum(evaluate(own, target, tree).energy_pj * own.repeat for own, tree in text.segments)
    assert isclose(cost, sum(s.evaluation.energy_pj * s.repeat for s in found.segments))
    again = tilewright.evaluate_fused(network, target, parse(found.mapping_file(), "mappings"))
    assert isclose(again.energy_pj, found.energy_pj)
    assert isclose(again.cycles, found.cycles)
    assert not again.missing


@pytest.mark.long
def test_the_fewest_cycles_within_an_energy():
    network, target = blocks()
    front = tilewright.pareto(network, target, fuse=True)
    least, most = front.totals()[0][0], front.totals()[-1][0]
    limit = (least + most) / 2
    found = tilewright.map(network, target, f"latency, energy<={limit}", fuse=True)
    assert found.energy_pj <= limit
    assert found.value == pytest.approx(found.cycles)
    assert front.planes.fewest_cycles(limit) <= found.value
    # every point of the front is such a mapping
    assert all(
        point.energy_pj == pytest.approx(energy) and point.cycles == pytest.approx(cycles)
        for point, (energy, cycles) in zip(front, front.totals(), strict=True)
    )


def test_a_limit_that_leaves_all_mappings_changes_nothing():
    network, target = blocks()
    free = tilewright.map(network, target, fuse=True)
    found = tilewright.map(network, target, f"energy, latency<={free.cycles}", fuse=True)
    assert found.optimal
    assert found.value == pytest.approx(free.value)


@pytest.mark.long
def test_limits_that_nothing_keeps_say_what_there_is():
    network, target = blocks()
    with pytest.raises(NoMappingError, match=r"^no mapping of network 'net'.* 10 cycles in total"):
        tilewright.map(network, target, "energy, latency<=10", fuse=True)
    with pytest.raises(NoMappingError, match="the least energy that was found is"):
        tilewright.pareto(network, target, "energy, energy<=10", fuse=True)


@pytest.mark.parametrize(
    ("objective", "options", "key"),
    [
        ("edp, latency<=1e6", {}, "objective"),
        ("energy, latency<=1e6", {"tiles": "all"}, "tiles"),
    ],
)
def test_limits_without_a_search_are_refused(objective, options, key):
    network, target = blocks()
    with pytest.raises(InputError) as caught:
        tilewright.map(network, target, objective, fuse=True, **options)
    assert caught.value.key == key


def test_a_cycle_costs_its_price():
    _, target = blocks()
    priced = with_priced_time(target, 12.5)
    assert leakage_per_cycle(priced) - leakage_per_cycle(target) == pytest.approx(12.5)


def test_bounds_lie_on_lines_between_prices():
    planes = HalfPlanes({0.0: 10.0, 2.0: 20.0}, 4.0)
    assert planes.at(1.0) == 15.0
    assert planes.at(3.0) == 24.0  # every mapping has 4 cycles
    assert planes.at(inf) == 4.0
    assert planes.least_energy(4.0) == 12.0
    assert planes.least_energy(3.9) == inf
    assert planes.least_energy(inf) == 10.0
    assert planes.fewest_cycles(12.0) == 4.0
    assert planes.fewest_cycles(9.9) == inf
    both = union([planes, HalfPlanes({0.0: 8.0, 1.0: 30.0}, 5.0)])
    assert both.lines == {0.0: 8.0, 1.0: 15.0, 2.0: 20.0}
    assert both.cycles == 4.0


def test_a_limited_time_leaves_a_front_that_holds():
    network, target = tilewright.load_workload("bert_base"), "eyeriss"
    front = tilewright.pareto(network, target, fuse=True, time_limit=3.0)
    assert front.seconds < 6.0
    assert 0.0 <= max(front.gaps) <= 1.0
    assert "No mapping" in front.statement() or "Mappings may" in front.statement()


def two_arrays(random):
    """Return a machine of two arrays that leaks."""
    return Architecture(
        "two-arrays",
        (
            Memory("DRAM", 16, read_energy=100.0, write_energy=100.0, shared_bandwidth=0.5),
            Memory(
                "GLB", 16, capacity_bits=16 * random.choice((24, 40, 80)), read_energy=6.0,
                write_energy=6.0, shared_bandwidth=random.choice((1.0, 2.0)), leakage=2e3,
            ),
            Array("PE", {"X": 2}, hop_energy=0.5),
            Memory("RF", 16, capacity_bits=16 * 4, read_energy=1.0, write_energy=1.0),
            Array("SIMD", {"X": 2}),
            Compute("MAC", energy=1.0, leakage=random.choice((0.0, 4e3))),
        ),
    )  # fmt: skip


@pytest.mark.long
def test_a_front_of_a_machine_of_several_arrays_that_leaks():
    target = two_arrays(Random(2))
    found = network(4, [4, 6, 4])
    front = tilewright.pareto(found, target, fuse=True)
    least = map_fused(found, target, "energy")
    assert front.totals()[0][0] == pytest.approx(least.value)
    assert front.gaps[0] == 0.0


TWICE = """
name: net
inputs: {x: [8, 8], y: [8, 8]}
layers:
- {name: up, op: matmul, M: 8, K: 8, N: 16, repeat: 2}
- {name: down, op: matmul, M: 8, K: 16, N: 8, repeat: 2}
graph:
- {layer: up, name: one, tensors: {I: x}}
- {layer: down, name: two, tensors: {I: one}}
- {layer: up, name: three, tensors: {I: y}}
- {layer: down, name: four, tensors: {I: three}}
outputs: [two, four]
"""


def test_segments_that_are_alike_have_the_names_of_their_own_layers():
    network, (_, target) = parse_network(parse(TWICE, "net")), blocks()
    found = tilewright.map(network, target, "energy, latency<=1e9", fuse=True)
    names = {name for own in found.to_dict()["segments"] for name in own["layers"]}
    assert names <= {"one", "two", "three", "four"}
    assert len(found.segments) > 1
    assert {name for own in found.segments for name in own.evaluation.layers} == names
    table = found.text()
    assert "energy (uJ)" in table
    assert "saved" not in table


VARIANTS = """
name: net
variants:
  small:
    inputs: {x: [8, 8]}
    layers:
    - {name: up, op: matmul, M: 8, K: 8, N: 16, tensors: {I: x, O: h}}
    - {name: down, op: matmul, M: 8, K: 16, N: 8, tensors: {I: h, O: y}}
  large:
    inputs: {x: [8, 8]}
    layers:
    - {name: up, op: matmul, M: 8, K: 8, N: 32, tensors: {I: x, O: h}}
    - {name: down, op: matmul, M: 8, K: 32, N: 8, tensors: {I: h, O: y}}
"""


@pytest.mark.long
def test_a_variant_that_no_limit_allows_has_no_value():
    network, (_, target) = parse_network(parse(VARIANTS, "net")), blocks()
    fewest = [tilewright.map(own, target, "latency", fuse=True).value for own in network.variants]
    least, most = sorted(fewest)
    found = tilewright.map(network, target, f"energy, latency<={(least + most) / 2}", fuse=True)
    values = {own["name"]: own["value"] for own in json.loads(found.to_json())["variants"]}
    assert values["large"] is None
    assert values["small"] == found.value
    assert "large none" in found.text()
    # the file names the variant that it is of
    again = tilewright.evaluate_fused(network, target, parse(found.mapping_file(), "mappings"))
    assert again.energy_pj == pytest.approx(found.energy_pj)
    front = tilewright.pareto(network, target, fuse=True)
    assert front.to_dict()["points"][0]["variant"] in values


def test_a_variant_that_was_not_searched_leaves_no_bound(monkeypatch):
    network, (_, target) = parse_network(parse(VARIANTS, "net")), blocks()
    solve = PricedSearch.solve

    def only_first(self, price, run):
        found = solve(self, price, run)
        return replace(found, interrupted=True)

    monkeypatch.setattr(PricedSearch, "solve", only_first)
    found = tilewright.map(network, target, "energy, latency<=1e9", fuse=True)
    assert found.interrupted
    assert found.lower_bound == 0.0


def test_an_interrupted_search_that_has_nothing_says_so(monkeypatch):
    network, target = blocks()

    def stop(self, price, run):
        raise KeyboardInterrupt

    monkeypatch.setattr(PricedSearch, "solve", stop)
    with pytest.raises(KeyboardInterrupt):
        tilewright.pareto(network, target, fuse=True)


@pytest.mark.long
def test_a_limit_is_as_good_as_the_front():
    network, target = blocks()
    front = tilewright.pareto(network, target, fuse=True)
    for energy, cycles in front.totals()[:: max(1, len(front) // 3)]:
        found = tilewright.map(network, target, f"energy, latency<={cycles}", fuse=True)
        assert found.value <= energy * (1 + 1e-3)


def test_a_front_is_complete_where_nothing_can_be_fused():
    layers = "- {name: one, op: matmul, M: 8, K: 8, N: 16, tensors: {I: x, O: y}}"
    network = parse_network(parse(f"name: n\ninputs: {{x: [8, 8]}}\nlayers:\n{layers}", "net"))
    _, target = blocks()
    front = tilewright.pareto(network, target, fuse=True)
    assert front.optimal
    assert front.totals() == tilewright.pareto(network, target).totals()
