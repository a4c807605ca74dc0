"""Energy, cycles and statistics of a mapping, by hand and as properties."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings

from strategies import cases
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.errors import MappingError
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.model.evaluate import assess, evaluate
from tilewright.reference.simulate import simulate
from tilewright.workload.layer import Layer, Tensor, Term

Case = tuple[Layer, Architecture, Mapping]
relaxed = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

LAYER = Layer(
    "matmul",
    {"M": 4, "N": 4, "K": 2},
    (
        Tensor("A", ((Term(1, "M"),), (Term(1, "K"),)), "I"),
        Tensor("B", ((Term(1, "K"),), (Term(1, "N"),)), "W"),
        Tensor("C", ((Term(1, "M"),), (Term(1, "N"),)), "O"),
    ),
)
ALL = ("A", "B", "C")
DRAM = Memory("DRAM", 16, read_energy=200.0, write_energy=200.0, shared_bandwidth=1.0)
GLB = Memory("GLB", 16, capacity_bits=14 * 16, read_energy=6.0, write_energy=7.0)
MACHINE = Architecture("two memories", (DRAM, GLB, Compute("MAC", 1.0)))
# A moves 4 tiles of 2 x 1, B 4 tiles of 1 x 4, C 2 tiles of 2 x 4, each of them once
MAPPING = Mapping((Store("DRAM", ALL), For("M", 2), For("K", 1), Store("GLB", ALL)))


def test_evaluation_of_a_matrix_product_worked_by_hand() -> None:
    result = evaluate(LAYER, MACHINE, MAPPING)
    dram, glb = result.memories["DRAM"], result.memories["GLB"]
    assert [(t.reads, t.writes) for t in dram.tensors.values()] == [(8, 0), (16, 0), (0, 16)]
    # C: 32 updates, 16 of them on a new word; 16 words leave
    assert [(t.reads, t.writes) for t in glb.tensors.values()] == [(32, 8), (32, 16), (32, 32)]
    assert dram.energy_pj == 40 * 200
    assert glb.energy_pj == 96 * 6 + 56 * 7
    assert result.compute.energy_pj == 32
    assert result.energy_pj == 9000
    assert result.compute.steps == 32
    assert (result.bound, result.cycles) == ("DRAM", 40)
    assert result.edp_pj_cycles == 360_000
    assert result.spatial_utilization == 1
    assert result.utilization == 32 / 40
    assert result.intensity == 32 / 40
    assert result.intensity_per_byte == 32 / 80
    assert result.roofline == 32 / 40
    assert glb.capacity_share == 1
    assert glb.bandwidth_demand == (96 + 56) / 40
    assert [t.reuse for t in glb.tensors.values()] == [4, 2, 1]


def test_cycles_are_whole_when_compute_sets_them() -> None:
    quick = replace(MACHINE, levels=(replace(DRAM, shared_bandwidth=None), *MACHINE.levels[1:]))
    result = evaluate(LAYER, quick, MAPPING)
    assert result.bound == "MAC"
    assert result.cycles == 32
    assert isinstance(result.cycles, int)
    assert result.roofline == 1


def test_an_element_of_half_a_word_costs_half_a_word() -> None:
    narrow = replace(LAYER, tensors=tuple(replace(t, bits=8) for t in LAYER.tensors))
    whole, half = evaluate(LAYER, MACHINE, MAPPING), evaluate(narrow, MACHINE, MAPPING)
    for name in ("DRAM", "GLB"):
        assert half.memories[name].energy_pj == whole.memories[name].energy_pj / 2
        assert half.memories[name].bandwidth_demand * half.cycles == pytest.approx(
            whole.memories[name].bandwidth_demand * whole.cycles / 2
        )
    assert half.memories["DRAM"].cycles == 20
    assert half.memories["GLB"].occupied_bits == whole.memories["GLB"].occupied_bits / 2
    assert half.counts == whole.counts


def test_gated_compute_spends_energy_where_no_input_is_zero() -> None:
    density = (0.5, 0.25, 1.0)
    sparse = replace(
        LAYER,
        tensors=tuple(replace(t, density=d) for t, d in zip(LAYER.tensors, density, strict=True)),
    )
    gated = replace(MACHINE, levels=(DRAM, GLB, Compute("MAC", 1.0, gated=True)))
    assert evaluate(sparse, MACHINE, MAPPING).compute.energy_pj == 32
    assert evaluate(sparse, gated, MAPPING).compute.energy_pj == 4


def test_leakage_is_power_times_time_of_all_instances() -> None:
    levels = (DRAM, Array("PE", {"X": 3}), replace(GLB, leakage=2.0), Compute("MAC", leakage=0.5))
    machine = Architecture("leaky", levels, clock_hz=5e8)
    result = evaluate(LAYER, machine, MAPPING)
    # 3 x 2.5 mW over 40 cycles of 2 ns
    assert result.leakage_pj == pytest.approx(7.5 * 40 * 2)
    assert result.spatial_utilization == pytest.approx(1 / 3)
    assert result.utilization == pytest.approx(32 / (40 * 3))


def test_network_hops_cost_energy_and_words_cost_cycles() -> None:
    array = Array("PE", {"X": 4}, hop_energy=0.5, bandwidth=0.25)
    roomy = replace(DRAM, shared_bandwidth=None)
    machine = Architecture("array", (roomy, array, GLB, Compute("MAC")))
    mapping = Mapping((Store("DRAM", ALL), Spatial("M", 1, "X", "PE"), Store("GLB", ALL)))
    result = evaluate(LAYER, machine, mapping)
    network = result.networks["PE"]
    # every element receives its row of A and all of B, and returns its row of C
    assert network.words == {"A": 8, "B": 8, "C": 16}
    assert network.hops == {"A": 8, "B": 32, "C": 16}
    assert network.energy_pj == 56 * 0.5
    assert network.cycles == 32 / 0.25
    assert (result.bound, result.cycles) == ("PE", 128)
    assert network.elements_used == 4


def test_a_mapping_that_does_not_fit_is_refused_unless_unchecked() -> None:
    small = replace(MACHINE, levels=(DRAM, replace(GLB, capacity_bits=13 * 16), Compute("MAC")))
    with pytest.raises(MappingError, match="GLB"):
        evaluate(LAYER, small, MAPPING)
    assert evaluate(LAYER, small, MAPPING, check=False).memories["GLB"].capacity_share > 1


def test_json_has_the_documented_keys_and_exact_integers() -> None:
    data = json.loads(evaluate(LAYER, MACHINE, MAPPING).to_json())
    assert data["layer"] == "matmul"
    assert data["architecture"] == "two memories"
    assert {"operations", "cycles", "energy_pj", "edp_pj_cycles", "utilization"} <= set(data)
    glb = data["memories"]["GLB"]
    assert glb["peak_words"] == {"A": 2, "B": 4, "C": 8}
    assert glb["tensors"]["C"]["reads"] == 32
    assert {"instances_used", "cycles", "energy_pj"} <= set(glb)
    assert data["compute"]["steps"] == 32
    assert {"instances_used", "energy_pj"} <= set(data["compute"])


def test_tables_and_text_show_every_memory_and_tensor() -> None:
    result = evaluate(LAYER, MACHINE, MAPPING)
    frame = result.to_frame()
    assert list(zip(frame["memory"], frame["tensor"], strict=True)) == [
        (memory, tensor) for memory in ("DRAM", "GLB") for tensor in ALL
    ]
    assert frame["energy_pj"].sum() == 8968
    assert "bound by DRAM" in result.text()
    assert "9,000 pJ" in result.text()
    assert "<table" in result._repr_html_()
    assert len(repr(result).splitlines()) == 1


@relaxed
@given(case=cases())
def test_energy_is_the_sum_of_its_parts_and_cycles_the_largest(case: Case) -> None:
    result = evaluate(*case)
    parts = [m.energy_pj for m in result.memories.values()]
    parts += [n.energy_pj for n in result.networks.values()]
    assert result.energy_pj == pytest.approx(
        sum(parts) + result.compute.energy_pj + result.leakage_pj
    )
    for memory in result.memories.values():
        assert memory.energy_pj == pytest.approx(sum(t.energy_pj for t in memory.tensors.values()))
    bounds = [m.cycles for m in result.memories.values()]
    bounds += [n.cycles for n in result.networks.values()]
    assert result.cycles == max([*bounds, result.compute.cycles])
    assert 0 < result.utilization <= 1
    assert result.operations_per_cycle <= result.roofline * (1 + 1e-12)


@relaxed
@given(case=cases())
def test_evaluation_of_simulated_counts_is_the_same(case: Case) -> None:
    layer, architecture, mapping = case
    simulated = assess(layer, architecture, mapping, simulate(layer, architecture, mapping))
    assert simulated.to_dict() == evaluate(layer, architecture, mapping).to_dict()
