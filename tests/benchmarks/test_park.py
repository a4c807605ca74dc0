"""Machines and layers of the park: what every one of them has to be."""

import pytest

from benchmarks.park.case import LAYERS, MACHINES, case
from benchmarks.park.known import Known
from benchmarks.park.layers import random_layer
from benchmarks.park.machines import random_machine
from tilewright.architecture import dump_architecture
from tilewright.architecture.reading import parse_architecture
from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.workload.layer import Network
from tilewright.workload.network import dump_network, parse_network

SEEDS = range(300)


def test_equal_seeds_give_equal_machines_and_layers():
    for seed in range(20):
        assert random_machine(seed) == random_machine(seed)
        assert random_layer(seed) == random_layer(seed)


def test_every_machine_and_layer_is_accepted_as_a_file_and_reads_back():
    for seed in range(60):
        machine, layer = random_machine(seed), random_layer(seed)
        assert parse_architecture(parse(dump_architecture(machine))) == machine
        assert parse_network(parse(dump_network(Network("park", (layer,))))).layers == (layer,)


def test_machines_cover_every_number_of_memories_and_arrays():
    machines = [random_machine(seed) for seed in SEEDS]
    assert {len(machine.memories) for machine in machines} == {2, 3, 4, 5}
    assert {len(machine.arrays) for machine in machines} == {0, 1, 2, 3}
    memories = [memory for machine in machines for memory in machine.memories]
    assert {memory.word_bits for memory in memories} == {8, 16, 32}
    assert any(memory.tensor_bits for memory in memories)
    assert any(memory.must_keep for memory in memories)
    assert any(memory.buffering == 2 for memory in memories)


def test_energies_rise_from_registers_to_dram():
    for seed in SEEDS:
        machine = random_machine(seed)
        outermost, *others = machine.memories
        assert 50 <= outermost.read_energy <= 200
        for memory in others:
            per_bit = memory.read_energy / memory.word_bits
            assert per_bit < outermost.read_energy / outermost.word_bits, (seed, memory)


def test_named_machines_run_every_named_layer():
    assert len(MACHINES) == 7
    for machine in MACHINES:
        for layer in LAYERS:
            assert case(f"{machine}.{layer}").text()
    with pytest.raises(InputError, match=r"npu\.conv"):
        case("npu.convolution")


def test_a_part_of_a_layer_is_small_and_keeps_the_rest():
    for seed in range(20):
        small, whole = case(f"small-{seed}"), case(str(seed))
        assert (small.machine, small.objective) == (whole.machine, whole.objective)
        assert small.layer.tensors == whole.layer.tensors
        assert max(small.layer.bounds.values()) <= 16


def test_the_least_value_is_kept_until_the_generator_changes(tmp_path):
    known, each = Known.read(tmp_path / "known.json"), case("3", "edp")
    known.add(each, "divisors", 5.0, "map")
    known.add(each, "divisors", 6.0, "map")
    known.add(each, "all", 4.0, "map")
    again = Known.read(tmp_path / "known.json")
    assert (again.best(each, "divisors"), again.best(each, "all")) == (5.0, 4.0)
    again.entries[each.key]["digest"] = "another"
    assert again.best(each, "all") == float("inf")
