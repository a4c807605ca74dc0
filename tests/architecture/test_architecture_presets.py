"""The machines that ship have the numbers of their publications."""

import pytest

from tilewright.architecture import load_architecture, parse_architecture, preset_names
from tilewright.architecture.files import FOLDER
from tilewright.architecture.writing import dump_architecture
from tilewright.document import parse

KIB = 8 * 1024
MIB = 1024 * KIB

# Per level, as published (docs/reference/presets.md cites each number): for a memory its size in
# bits, in all or per tensor, word, energy per read and write, words per cycle read and written
# together, and what it keeps; for an array its axes, energy per hop and words per cycle; for the
# compute unit its energy.
PUBLISHED = {
    "simple": (
        1e9,
        [
            ("DRAM", None, 16, 200, 16, None),
            ("GLB", 65536 * 16, 16, 6, 64, None),
            ("PE", {"X": 16, "Y": 16}, 0, None),
            ("RF", 256 * 16, 16, 1, None, None),
            ("MAC", 1),
        ],
    ),
    "eyeriss": (
        200e6,
        [
            ("DRAM", None, 16, 200, None, None),
            ("GLB", 108 * KIB, 16, 6, None, "IO"),
            ("PE", {"X": 14, "Y": 12}, 2, None),
            ("RF", {"I": 12 * 16, "W": 224 * 16, "O": 24 * 16}, 16, 1, None, None),
            ("MAC", 1),
        ],
    ),
    "eyeriss-256": (
        1e9,
        [
            ("DRAM", None, 16, 200, None, None),
            ("GBuf", 128 * KIB, 16, 6, None, None),
            ("PE", {"X": 16, "Y": 16}, 2, None),
            ("RFile", 256 * 16, 16, 1, None, None),
            ("MAC", 1),
        ],
    ),
    "dmazerunner-256": (
        500e6,
        [
            ("DRAM", None, 16, 200, pytest.approx(3.2e9 / 0.24 / 2 / 500e6), None),
            ("SPM", 128 * KIB, 16, 13.5, None, None),
            ("PE", {"X": 16, "Y": 16}, 2, 5),
            ("RF", 512 * 8, 16, 0.96, None, None),
            ("MAC", 0.075),
        ],
    ),
    "maestro-256": (
        1e9,
        [
            ("L2", None, 8, 18.61, None, None),
            ("PE", {"X": 256}, 0, 32),
            ("L1", 2 * KIB, 8, 1.68, None, None),
            ("MAC", 1),
        ],
    ),
    "marvel-p1": (
        200e6,
        [
            ("DRAM", None, 8, 200, None, None),
            ("L2", 108 * KIB, 8, 18.61, None, None),
            ("PE", {"X": 168}, 0, 2.4e9 / 200e6),
            ("L1", 512 * 8, 8, 1.68, None, None),
            ("MAC", 1),
        ],
    ),
    "marvel-p2": (
        200e6,
        [
            ("DRAM", None, 8, 200, None, None),
            ("L2", 108 * KIB, 8, 18.61, None, None),
            ("PE", {"X": 1024}, 0, 25.6e9 / 200e6),
            ("L1", 512 * 8, 8, 1.68, None, None),
            ("MAC", 1),
        ],
    ),
    "nvdla-1024": (
        1e9,
        [
            ("DRAM", None, 8, 200 / 2, 15, None),
            ("CBUF", 256 * KIB, 8, 30.375 / 2, None, "IW"),
            ("CACC", 512 * 34, 34, pytest.approx(9 / 1.5**3.91 * 34 / 16, rel=0.01), None, "O"),
            ("CMAC", {"X": 64, "Y": 16}, 0.035 / 2, None),
            ("WREG", 2 * 8, 8, pytest.approx(0.015 / 4 / 2), None, "W"),
            ("MAC", pytest.approx(0.075 / 4)),
        ],
    ),
    "diannao": (
        980e6,
        [
            ("DRAM", None, 16, 200, pytest.approx(250e9 / 2 / 980e6), None),
            ("BUFFERS", {"I": 2 * KIB, "W": 32 * KIB, "O": 2 * KIB}, 16, 6, None, None),
            ("NFU", {"X": 16, "Y": 16}, 0, None),
            ("MAC", 1),
        ],
    ),
    "shidiannao": (
        1e9,
        [
            ("DRAM", None, 16, 200, None, None),
            ("BUFFERS", {"I": 64 * KIB, "W": 128 * KIB, "O": 64 * KIB}, 16, 6, None, None),
            ("NFU", {"X": 8, "Y": 8}, 2, None),
            ("REG", {"I": 16, "O": 16}, 16, 1, None, None),
            ("MAC", 1),
        ],
    ),
    "tpu-v1": (
        700e6,
        [
            ("DRAM", None, 8, 1950 / 8, pytest.approx(34e9 / 700e6), None),
            ("UB", 24 * MIB, 8, 100 / 8, None, "IO"),
            ("FIFO", 4 * 64 * KIB, 8, pytest.approx(20 * 5**0.6 / 8), None, "W"),
            ("ACC", 4096 * 256 * 32, 32, 100 / 2, None, "O"),
            ("MXU", {"X": 256, "Y": 256}, 0, None),
            ("WREG", 2 * 8, 8, 0, None, "W"),
            ("MAC", 0.03 + 0.2),
        ],
    ),
    "four-level": (
        1e9,
        [
            ("DRAM", None, 16, 200, 12.8, None),
            ("L2", MIB, 16, pytest.approx(30.375 * 1.5**2), 64, None),
            ("L1", 64 * KIB, 16, 13.5, 128, None),
            ("PE", {"X": 16, "Y": 16}, 0.035, None),
            ("RF", 128 * 8, 16, 0.24, None, None),
            ("MAC", 0.075),
        ],
    ),
}

DOUBLE_BUFFERED = {
    "dmazerunner-256": {"SPM"},
    "maestro-256": {"L1"},
    "marvel-p1": {"L2", "L1"},
    "marvel-p2": {"L2", "L1"},
    "nvdla-1024": {"WREG"},
    "tpu-v1": {"ACC", "WREG"},
}

# Elements of all arrays together, as the publications count them.
ELEMENTS = {
    "simple": 256,
    "eyeriss": 168,
    "eyeriss-256": 256,
    "dmazerunner-256": 256,
    "maestro-256": 256,
    "marvel-p1": 168,
    "marvel-p2": 1024,
    "nvdla-1024": 1024,
    "diannao": 256,
    "shidiannao": 64,
    "tpu-v1": 65536,
    "four-level": 256,
}

# Dimensions that each axis may unroll, where the hardware is rigid; and what may not be bypassed.
RIGID = {
    "nvdla-1024": {"X": {"I&W not sliding"}, "Y": {"W&O"}},
    "diannao": {"X": {"I&W not sliding"}, "Y": {"W&O"}},
    "shidiannao": {"X": {"I&O columns", "W&O"}, "Y": {"I&O rows", "W&O"}},
    "tpu-v1": {"X": {"I&W"}, "Y": {"W&O"}},
}
MUST_KEEP = {
    "nvdla-1024": {"CBUF": "IW", "CACC": "O", "WREG": "W"},
    "diannao": {"BUFFERS": "IWO"},
    "shidiannao": {"BUFFERS": "IWO", "REG": "O"},
    "tpu-v1": {"UB": "I", "FIFO": "W", "ACC": "O", "WREG": "W"},
}


def test_every_machine_that_ships_is_tested() -> None:
    assert preset_names() == sorted(PUBLISHED) == sorted(ELEMENTS)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_number_is_the_published_one(name: str) -> None:
    clock, published = PUBLISHED[name]
    machine = load_architecture(name)
    assert machine.name == name
    assert machine.clock_hz == clock
    assert [level.name for level in machine.levels] == [level[0] for level in published]
    expected = {level[0]: level[1:] for level in published}
    for memory in machine.memories:
        size, word, energy, bandwidth, kept = expected[memory.name]
        if isinstance(size, dict):
            assert memory.tensor_bits == size
        else:
            assert (memory.tensor_bits, memory.capacity_bits) == (None, size)
        assert memory.word_bits == word
        assert memory.read_energy == energy
        assert memory.write_energy == energy
        assert memory.shared_bandwidth == bandwidth
        assert (memory.read_bandwidth, memory.write_bandwidth) == (None, None)
        assert memory.keep == (None if kept is None else frozenset(kept))
        assert (memory.buffering == 2) == (memory.name in DOUBLE_BUFFERED.get(name, ()))
    for array in machine.arrays:
        assert (array.axes, array.hop_energy, array.bandwidth) == expected[array.name]
    assert (machine.compute.energy,) == expected[machine.compute.name]
    assert machine.compute.cycles == 1


@pytest.mark.parametrize("name", ELEMENTS)
def test_the_number_of_elements_is_the_published_one(name: str) -> None:
    machine = load_architecture(name)
    assert machine.instances(machine.compute.name) == ELEMENTS[name]


@pytest.mark.parametrize("name", PUBLISHED)
def test_only_rigid_machines_are_constrained(name: str) -> None:
    machine = load_architecture(name)
    assert {s.axis: s.dims for s in machine.statements} == RIGID.get(name, {})
    must_keep = {m.name: m.must_keep for m in machine.memories if m.must_keep}
    assert must_keep == {m: frozenset(roles) for m, roles in MUST_KEEP.get(name, {}).items()}


def test_special_features_are_the_published_ones() -> None:
    assert load_architecture("dmazerunner-256").memories[1].banks == 64
    assert load_architecture("marvel-p1").memories[0].block_bytes == 64
    assert load_architecture("marvel-p2").memories[0].block_bytes == 64
    forwarding = load_architecture("shidiannao").arrays[0]
    assert (forwarding.forwarding, forwarding.reduction) == (True, False)


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_machine_names_its_sources_and_reads_back(name: str) -> None:
    machine = load_architecture(name)
    assert machine.source
    assert parse_architecture(parse(dump_architecture(machine))) == machine


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_machine_can_hold_every_layer(name: str) -> None:
    machine = load_architecture(name)
    assert all(machine.memories[0].may_store(role) for role in "IWO")


def test_every_preset_is_named_after_its_file() -> None:
    for path in FOLDER.glob("*.yaml"):
        assert load_architecture(path).name == path.stem
