"""Statistics equal what is seen when a mapping is carried out step by step."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.architecture.technology.components import component_names, load_components
from tilewright.errors import InputError
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.structure import resolve
from tilewright.model.evaluate import evaluate
from tilewright.model.results.network import NetworkEvaluation
from tilewright.reference.simulate import Simulation, count
from tilewright.workload.layer import Layer
from tilewright.workload.operators import conv2d, depthwise, matmul

TENSORS = ("I", "W", "O")
LAYERS = (
    conv2d(K=4, C=4, P=4, Q=4, R=3, S=2),
    conv2d(K=2, C=4, P=4, Q=6, R=2, S=2, stride=2),
    depthwise(G=6, P=4, Q=4, R=3, S=3),
    matmul(M=8, N=6, K=4),
)


def case(random: Random) -> tuple[Layer, Architecture, Mapping]:
    """Return a mapping with two arrays between two memories, and tiles that divide."""
    layer = random.choice(LAYERS)
    outer = Array("A", {"X": 4}, random.random() < 0.8, random.random() < 0.8, bandwidth=8)
    inner = Array("B", {"X": 3, "Y": 2}, random.random() < 0.8, random.random() < 0.8)
    levels = (Memory("L2", 8), outer, inner, Memory("L1", 8, 1 << 20, buffering=2), Compute("MAC"))
    extents = dict(layer.bounds)
    room = {("A", "X"): 4, ("B", "X"): 3, ("B", "Y"): 2}
    nodes: list[Node] = []
    for _ in range(random.randint(1, 6)):
        d = random.choice(list(extents))
        tile = random.choice([t for t in range(1, extents[d] + 1) if extents[d] % t == 0])
        place = random.choice(list(room))
        chunks = extents[d] // tile
        if random.random() < 0.4 and chunks <= room[place]:
            room[place] //= chunks
            nodes.append(Spatial(d, tile, place[1], place[0]))
        else:
            nodes.append(For(d, tile))
        extents[d] = tile
    machine = Architecture("two arrays", levels)
    return layer, machine, Mapping((Store("L2", TENSORS), *nodes, Store("L1", TENSORS)))


def seen_peak(layer: Layer, machine: Architecture, mapping: Mapping, array: Array) -> float:
    """Return the words per compute step of the step that needs most of an array's network."""
    structure = resolve(mapping, layer, machine)
    run = Simulation(layer, machine, structure)
    depth = structure.named
    cuts = [i for i in run.cuts if i < depth]
    alone = run.arrays_above(array.name)
    names = [a.name for a in machine.arrays]
    inward = frozenset(names[names.index(array.name) :])
    totals: dict[int, int] = {}
    for tensor in layer.tensors:
        (link, _) = structure.links[tensor.name]
        unites = {
            a.name
            for a in machine.arrays
            if a.name in inward and (a.reduction if tensor.is_output else a.multicast)
        }
        spatial = run.spatial(cuts)
        steps = list(run.moves(link, cuts, frozenset()))
        visited: dict[tuple[int, ...], set] = {}
        last: dict[tuple[int, ...], frozenset] = {}
        for number, (moved, _) in enumerate(steps):
            here = [
                (i, words)
                for i, words in moved
                if all(n == 0 for n, a in zip(i, spatial, strict=True) if a in alone)
            ]
            total = count(here, spatial, frozenset(unites))
            if tensor.is_output:
                group = [n for n, a in enumerate(spatial) if a not in unites]
                back = []
                for i, words in here:
                    seen = visited.setdefault(tuple(i[n] for n in group), set())
                    back.append((i, words & seen))
                for i, words in here:
                    visited[tuple(i[n] for n in group)] |= words
                    last[i] = words
                total += count(back, spatial, frozenset(unites))
            if number:
                totals[number] = totals.get(number, 0) + total
    period = prod(loop.chunks for loop in structure.loops[depth:] if loop.array is None)
    return max(totals.values(), default=0) / period


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_peak_bandwidth_is_that_of_the_step_that_needs_most(seed: int) -> None:
    layer, machine, mapping = case(Random(seed))
    found = evaluate(layer, machine, mapping).statistics
    for array in machine.arrays:
        assert found.bandwidth[array.name].peak == pytest.approx(
            seen_peak(layer, machine, mapping, array), rel=1e-12
        )
        assert found.bandwidth[array.name].given == array.bandwidth


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_staged_words_are_what_all_elements_hold_together(seed: int) -> None:
    layer, machine, mapping = case(Random(seed))
    structure = resolve(mapping, layer, machine)
    run = Simulation(layer, machine, structure)
    cuts = [i for i in run.cuts if i < structure.named]
    buffers = evaluate(layer, machine, mapping).statistics.buffers
    for tensor in layer.tensors:
        most = max(
            len(frozenset().union(*(words for _, words in run.tiles(tensor, active))))
            for _, active in run.steps(cuts, frozenset())
        )
        assert buffers["L2"].staged[tensor.name] == most
        assert buffers["L1"].held[tensor.name] == structure.tile_words("L1", tensor)
    assert buffers["L2"].bits == 2 * 8 * sum(buffers["L2"].staged.values())


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_reuse_factors_multiply_to_operations_per_word(seed: int) -> None:
    layer, machine, mapping = case(Random(seed))
    cost = evaluate(layer, machine, mapping)
    for tensor in layer.tensors:
        found = [r for r in cost.statistics.reuse if r.tensor == tensor.name]
        outer = cost.memories["L2"].tensors[tensor.name]
        moved = outer.writes if tensor.is_output else outer.reads
        assert prod(r.factor for r in found) == pytest.approx(layer.operations / moved)
        kinds = {"multicast", "reduction"} - {"reduction" if not tensor.is_output else "multicast"}
        assert {r.kind.split()[1] for r in found} == kinds
        for r in found:
            assert r.kind.split()[0] == ("temporal" if r.level == "L1" else "spatial")
            array = next((a for a in machine.arrays if a.name == r.level), None)
            if array is not None and not (array.reduction if tensor.is_output else array.multicast):
                continue
            assert r.factor >= 1


def test_energies_and_accesses_are_those_of_the_evaluation() -> None:
    cost = tilewright.evaluate("resnet50", "eyeriss-256", flat(), layer="conv3_2.3x3")
    found = cost.statistics
    energy = sum(sum(tensors.values()) for tensors in found.energy_pj.values())
    assert energy == pytest.approx(cost.energy_pj)
    assert sum(found.energy_per_operation_pj.values()) == pytest.approx(cost.energy_per_operation)
    assert found.accesses["GBuf"]["I"][0] == cost.memories["GBuf"].tensors["I"].reads
    assert found.spatial_utilization == cost.spatial_utilization
    assert found.intensity["DRAM"] == pytest.approx(cost.intensity)
    data = found.to_dict()
    assert data["buffers"]["DRAM"]["required_bits"] > 0
    assert "pJ/operation" in found.text()


def flat() -> list[dict[str, object]]:
    return [
        {"store": "DRAM"},
        {"for": "K", "tile": 16},
        {"for": "P", "tile": 7},
        {"for": "C", "tile": 16},
        {"store": "GBuf"},
        {"spatial": "K", "tile": 1, "axis": "X"},
        {"spatial": "C", "tile": 1, "axis": "Y"},
        {"for": "P", "tile": 1},
        {"for": "Q", "tile": 1},
        {"store": "RFile"},
    ]


def test_area_and_power_of_the_published_constants() -> None:
    # the published model's own area and power for 256 elements, 32 words per cycle, 54 and 5768 B
    assert component_names() == ["maestro-28nm"]
    machine = tilewright.load_architecture("maestro-256")
    from tilewright.architecture.technology.components import parts

    found = parts(load_components("maestro-28nm"), machine, {"L1": 54 * 8, "L2": 5768 * 8})
    assert found.total_area_mm2 == pytest.approx(46.3484, rel=1e-5)
    assert found.total_power_mw == pytest.approx(506.52, rel=1e-5)
    assert found.power_mw["PE"] == pytest.approx(126.019, rel=1e-5)
    assert "implausible" in found.warning
    with pytest.raises(InputError, match="accepted: maestro-28nm"):
        load_components("maestro-28")


def test_a_network_is_the_sum_of_its_layers() -> None:
    found = tilewright.evaluate_network("resnet50", "maestro-256", "kc-p")
    assert isinstance(found, NetworkEvaluation)
    alone = tilewright.evaluate("resnet50", "maestro-256", "kc-p", layer="fc")
    assert found["fc"].energy_pj == alone.energy_pj
    assert found.cycles == sum(e.cycles * e.layer.repeat for e in found.layers)
    assert found.to_dict()["total"]["energy_pj"] == found.energy_pj
    assert len(found.to_frame()) == len(found.layers)
    assert replace(found.layers[0], cycles=1.0).statistics.cycles == 1.0
