"""What architecture files mean."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.architecture import load_architecture, parse_architecture
from tilewright.architecture.machine import Architecture, Array, Compute, Constraint, Memory
from tilewright.architecture.technology.files import parse_technology
from tilewright.architecture.technology.technology import Technology
from tilewright.document import Document, parse

DRAM = "- {memory: DRAM, word: 16 bits, energy: 200}"
GLB = "- {memory: GLB, size: 128 KiB, word: 16 bits, energy: 6}"
PE = "- {array: PE, axes: {X: 4, Y: 2}}"
RF = "- {memory: RF, size: 512 B, word: 16 bits, energy: 1}"
MAC = "- {compute: MAC, energy: 1}"


def read(*levels: str, head: str = "name: m", tail: str = "") -> Architecture:
    return parse_architecture(parse("\n".join([head, "levels:", *levels, tail]), "m.yaml"))


def test_every_key_reaches_its_place() -> None:
    machine = parse_architecture(
        parse("""
name: whole
clock: 200 MHz
source: a paper
levels:
  - memory: DRAM
    word: 16 bits
    energy: {read: 200, write: 210}
    bandwidth: 16
    block: 64 B
  - memory: GLB
    size: 128 KiB
    word: 32 bits
    banks: 64
    buffering: double
    keep: [inputs, outputs, Mask]
    must_keep: [output]
    energy: {read: 6, write: 7}
    bandwidth: {read: 64, write: 3.2 GB/s}
    leakage: 1.5
    area: 0.25
  - array: PE
    axes: {X: 16, Y: 8}
    network: {multicast: false, reduction: false, forwarding: true, energy: 2, bandwidth: 64}
  - memory: RF
    size: {I: 24 B, weights: 224 words, O: 48 B}
    word: 16 bits
    energy: 1
  - compute: MAC
    energy: 0.5
    cycles: 2
    gated: true
    leakage: 0.1
    area: 0.01
constraints:
  - {at: PE, axis: X, dims: [C, R]}
  - {at: PE, dims: [K]}
""")
    )
    assert machine == Architecture(
        name="whole",
        levels=(
            Memory(
                "DRAM", 16, read_energy=200, write_energy=210, shared_bandwidth=16, block_bytes=64
            ),
            Memory(
                "GLB",
                32,
                capacity_bits=2**20,
                read_energy=6,
                write_energy=7,
                read_bandwidth=64,
                write_bandwidth=4,
                buffering=2,
                banks=64,
                keep=frozenset({"I", "O", "Mask"}),
                must_keep=frozenset("O"),
                leakage=1.5,
                area=0.25,
            ),
            Array("PE", {"X": 16, "Y": 8}, False, False, True, hop_energy=2, bandwidth=64),
            Memory(
                "RF",
                16,
                capacity_bits=520 * 8,
                tensor_bits={"I": 192, "W": 3584, "O": 384},
                read_energy=1,
                write_energy=1,
            ),
            Compute("MAC", energy=0.5, cycles=2, leakage=0.1, area=0.01, gated=True),
        ),
        clock_hz=200e6,
        constraints=(
            Constraint("PE", "X", frozenset("CR")),
            Constraint("PE", None, frozenset("K")),
        ),
        source="a paper",
    )


def test_what_is_left_out_has_the_documented_default() -> None:
    machine = read(DRAM, PE, MAC)
    assert machine.clock_hz == 1e9
    assert machine.constraints == ()
    dram, pe, mac = machine.levels
    assert dram == Memory("DRAM", 16, read_energy=200, write_energy=200)
    assert pe == Array("PE", {"X": 4, "Y": 2}, True, True, False, 0.0, None)
    assert mac == Compute("MAC", energy=1.0, cycles=1.0)


def test_energies_follow_from_the_technology_the_place_and_the_size() -> None:
    machine = read(
        "- {memory: DRAM, word: 16 bits}",
        "- {memory: GLB, size: 64 KiB, word: 16 bits}",
        PE,
        "- {memory: RF, size: 512 B, word: 8 bits}",
        "- {compute: MAC, word: 16 bits}",
        head="name: m\ntechnology: interstellar-28nm",
    )
    assert [m.read_energy for m in machine.memories] == [200, 13.5, 0.48]
    assert [m.write_energy for m in machine.memories] == [200, 13.5, 0.48]
    assert machine.arrays[0].hop_energy == 0.035
    assert machine.compute.energy == 0.075


def test_a_given_energy_goes_before_the_technology() -> None:
    machine = read(
        "- {memory: DRAM, word: 16 bits, energy: {read: 100}}",
        "- {array: PE, axes: {X: 4}, network: {energy: 0}}",
        "- {compute: MAC, energy: 5}",
        head="name: m\ntechnology: eyeriss-65nm",
    )
    assert (machine.memories[0].read_energy, machine.memories[0].write_energy) == (100, 200)
    assert machine.arrays[0].hop_energy == 0
    assert machine.compute.energy == 5


def test_a_level_may_have_a_technology_and_a_kind_of_its_own() -> None:
    machine = read(
        "- {memory: DRAM, word: 16 bits, technology: horowitz-45nm}",
        "- {memory: GLB, size: 64 KiB, word: 16 bits}",
        "- {memory: SMALL, size: 256 B, word: 16 bits, kind: registers}",
        "- {compute: MAC}",
        head="name: m\ntechnology: interstellar-28nm",
    )
    assert [m.read_energy for m in machine.memories] == [1950 / 4, 13.5, 0.48]


def test_the_largest_part_stands_for_a_partitioned_memory() -> None:
    machine = read(
        "- {memory: DRAM, word: 16 bits}",
        "- {memory: GLB, size: {I: 32 KiB, W: 64 KiB, O: 32 KiB}, word: 16 bits}",
        "- {compute: MAC}",
        head="name: m\ntechnology: interstellar-28nm",
    )
    assert machine.memories[1].read_energy == 13.5


def test_a_file_may_bring_its_own_technology_table(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "{name: own, source: me, access: 16 bits, memories: {dram: {energy: 7}}}"
    )
    path = tmp_path / "machine.yaml"
    path.write_text(
        f"name: m\nlevels:\n- {{memory: D, word: 16 bits, technology: own.yaml}}\n{MAC}\n"
    )
    assert load_architecture(path).memories[0].read_energy == 7


@pytest.mark.parametrize(
    ("page", "read_example"),
    [("architectures.md", parse_architecture), ("technologies.md", parse_technology)],
)
def test_the_example_in_the_documentation_is_read(
    page: str, read_example: Callable[[Document], Architecture | Technology]
) -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / page).read_text()
    example = re.search(r"```yaml\n(.*?)```", text, re.DOTALL)
    assert example is not None
    assert read_example(parse(example[1])).name
