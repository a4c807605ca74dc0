"""What memories, operations and networks cost by their parameters, and what is said of the rest."""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.architecture import (
    Architecture,
    load_technology,
    parse_architecture,
    register_technology,
)
from tilewright.architecture.technology.asked import (
    Answer,
    Asked,
    Link,
    LinkCost,
    Operation,
    OperationCost,
    Storage,
    StorageCost,
)
from tilewright.architecture.technology.files import VARIABLE, load_model
from tilewright.architecture.technology.memory_table import OutOfTableError
from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.model.energy import area, areas, without_area

KIB = 8 * 1024
NODES = (22, 32, 45, 65, 90)
LEFT_OUT = Path(__file__).parents[2] / "data" / "cacti7_left_out.csv"


def sram(bits: int, width: int, ports: int = 1, banks: int = 1) -> Storage:
    return Storage("sram", bits, width, width, ports, banks)


def cost(technology: str, asked: Asked) -> Answer:
    return load_model(technology)(asked)


def machine(levels: str, technology: str = "cacti7-45nm") -> Architecture:
    return parse_architecture(
        parse(f"{{name: m, technology: {technology}, levels: [{levels}]}}", "m.yaml")
    )


# CACTI 7 of hwcomponents-cacti 1.0.40: node, bytes, width, area mm2, leakage mW, read, write pJ.
# Memories of 16 bits, and of fewer than 64 words, are scaled there by rules of HWComponents.
@pytest.mark.parametrize(
    ("node", "size", "width", "mm2", "mw", "read", "write"),
    [
        (22, 64, 16, 6.28858e-05, 2.46028e-05, 0.0542559, 0.0906372),
        (22, 16384, 16, 0.0145651, 0.00289652, 1.65581, 1.25213),
        (22, 4194304, 64, 3.08024, 0.551579, 43.8552, 37.8885),
        (32, 256, 64, 0.00054396, 1.76064e-05, 0.433918, 0.711326),
        (45, 131072, 64, 0.429589, 0.00334055, 32.2859, 26.065),
        (45, 4194304, 16, 12.2892, 0.0998065, 106.119, 93.368),
        (65, 32768, 64, 0.197934, 0.00611551, 30.1022, 28.6907),
        # by CACTI itself: HWComponents 1.0.40 scales 90 * 1e-9 m from 22 nm by mistake
        (90, 131072, 64, 1.54994, 0.0111535, 123.62, 95.0914),
    ],
)
def test_memories_cost_what_cacti_says(
    node: int, size: int, width: int, mm2: float, mw: float, read: float, write: float
) -> None:
    found = cost(f"cacti7-{node}nm", sram(8 * size, width))
    assert isinstance(found, StorageCost)
    told = (found.area, found.leakage, found.read, found.write)
    assert told == pytest.approx((mm2, mw, read, write), rel=1e-4)


def left_out() -> Iterator[tuple[int, int, int, dict[str, float]]]:
    with LEFT_OUT.open() as lines:
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            values = {name: float(row[name]) for name in list(row)[3:]}
            yield int(row["node_nm"]), int(row["bytes"]), int(row["width_bits"]), values


def test_sizes_between_the_points_are_as_close_as_the_page_says() -> None:
    errors: dict[str, list[float]] = {}
    for node, size, width, values in left_out():
        found = cost(f"cacti7-{node}nm", sram(8 * size, width))
        assert isinstance(found, StorageCost)
        told = {
            "read_pj": found.read, "write_pj": found.write,
            "area_mm2": found.area, "leakage_mw": found.leakage,
        }  # fmt: skip
        for name, value in values.items():
            errors.setdefault(name, []).append(abs((told[name] or 0) / value - 1))
    page = Path(__file__).parents[3] / "docs" / "reference" / "technologies.md"
    for name, found_errors in errors.items():
        ordered = sorted(found_errors)
        shown = f"| `{name}` | {ordered[len(ordered) // 2]:.1%} | {ordered[-1]:.1%} |"
        assert shown in page.read_text(encoding="utf-8"), shown


@given(
    st.sampled_from(NODES), st.integers(64, 2**22), st.sampled_from([8, 16, 32, 64, 100, 256, 512])
)
def test_costs_of_all_memories_within_the_table_are_positive(
    node: int, size: int, width: int
) -> None:
    found = cost(f"cacti7-{node}nm", sram(8 * size, width))
    assert isinstance(found, StorageCost)
    assert min(found.read, found.write, found.area or 0, found.leakage) > 0


def test_a_technology_between_two_nodes_is_their_geometric_mean() -> None:
    low, mid, high = (
        cost(f"cacti7-{node}nm", sram(64 * KIB, 64)) for node in (32, (32 * 45) ** 0.5, 45)
    )
    assert isinstance(low, StorageCost) and isinstance(high, StorageCost)
    assert isinstance(mid, StorageCost)
    assert mid.read == pytest.approx((low.read * high.read) ** 0.5, rel=1e-6)
    assert mid.area == pytest.approx(((low.area or 0) * (high.area or 0)) ** 0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (sram(64 * 1024 * KIB, 64), "4 times the largest memory of the table"),
        (sram(64 * KIB, 1024), "2 times the widest access"),
        (sram(64 * KIB, 64, ports=8), "8 ports are 2 times those of the table"),
        (sram(64 * KIB, 64, banks=64), "64 banks are 2 times those of the table"),
    ],
)
def test_nothing_is_extrapolated_beyond_the_memories_of_a_table(asked: Asked, message: str) -> None:
    with pytest.raises(OutOfTableError, match=message):
        cost("cacti7-45nm", asked)


def test_a_memory_beyond_its_table_is_an_error_in_the_file_unless_its_energy_is_given() -> None:
    rest = "{memory: D, word: 16 bits}, {memory: B, word: 16 bits, size: 1 GiB%s}, {compute: M}"
    with pytest.raises(InputError, match=r"m\.yaml:1: levels\[1\].*times the largest memory"):
        machine(rest % "")
    found = machine(rest % ", energy: 5")
    assert without_area(found) == ["D", "B"]
    assert any("no area" in note for note in found.notes)


def test_a_node_beyond_the_tables_is_an_error_that_says_how_far() -> None:
    with pytest.raises(InputError, match=r"7 nm is 1/3\.14 of 22 nm"):
        load_model("cacti7-7nm")


def test_multipliers_scale_with_the_square_of_the_width_and_adders_linearly() -> None:
    found = cost("aladdin-40nm", Operation(8))
    assert isinstance(found, OperationCost)
    assert found.energy == pytest.approx(0.21 / 4 + 12.68 / 16)
    assert found.area == pytest.approx((278 / 4 + 6350 / 16) / 1e6)
    assert "1/4 of the smallest that was published (32 bits)" in found.notes[0]


def test_formats_name_arithmetic_and_width() -> None:
    levels = "{memory: D, word: 32 bits}, {compute: M, arithmetic: %s}"
    energies = {name: machine(levels % name).compute.energy for name in ("int8", "bf16", "fp16")}
    assert energies["int8"] == 0.23
    assert energies["fp16"] == pytest.approx(1.5)
    assert energies["bf16"] == pytest.approx(0.4 * 8 / 11 + 1.1 * (8 / 11) ** 2)


def test_a_hop_goes_as_far_as_an_element_is_wide() -> None:
    found = machine(
        "{memory: D, word: 16 bits}, {array: A, axes: {X: 4}}, "
        "{memory: R, word: 16 bits, size: 512 B}, {compute: M}"
    )
    element = found.memories[1].area + found.compute.area
    assert found.arrays[0].hop_energy == pytest.approx(0.098 * 16 * element**0.5)
    assert area(found) == pytest.approx(4 * element)
    assert areas(found)["A"] == 0
    assert without_area(found) == ["D", "A"]


def test_a_wider_access_is_shared_by_the_words_that_it_brings() -> None:
    levels = "{memory: D, word: 16 bits}, {memory: B, word: 16 bits, size: 64 KiB%s}, {compute: M}"
    wide = machine(levels % ", width: 64 bits").memories[1]
    assert wide.read_energy == pytest.approx(25.8695 / 4, rel=1e-4)
    with pytest.raises(InputError, match="not a whole number of words"):
        machine(levels % ", width: 40 bits")


def test_an_address_generator_costs_the_logarithm_of_the_words() -> None:
    levels = "{memory: D, word: 16 bits}, {memory: B, word: 16 bits, size: 2 KiB%s}, {compute: M}"
    plain, with_it = (machine(levels % also) for also in ("", ", address_generator: true"))
    more = with_it.memories[1].read_energy - plain.memories[1].read_energy
    assert more == pytest.approx(10 * 0.21 / 32)
    assert with_it.memories[1].area - plain.memories[1].area == pytest.approx(10 * 278e-6 / 32)


def test_dram_of_a_kind_has_its_energy_per_bit_and_bandwidth_per_channel() -> None:
    levels = "{memory: D, word: 16 bits, kind: %s, channels: 2}, {compute: M}"
    hbm = machine(levels % "HBM2").memories[0]
    assert hbm.read_energy == 16 * 6.25
    assert hbm.shared_bandwidth == 2 * 32e9 / 2 / 1e9
    with pytest.raises(InputError, match="did you mean 'LPDDR4'"):
        machine(levels % "LPDDR5")


def test_buses_are_linear_and_arbiters_quadratic() -> None:
    def um2(elements: int) -> float:
        found = cost("maestro-28nm", Link(8, 0.1, elements))
        assert isinstance(found, LinkCost) and found.area is not None
        return found.area * 1e6

    bus = 101.7938 * (28.895 + 14.662 * 256)
    assert um2(256) == pytest.approx(bus + 395.473 * (1.2886 * 256**2 + 5.5814 * 256 - 23.711))


def test_a_network_that_takes_most_of_the_area_is_called_implausible() -> None:
    found = machine(
        "{memory: D, word: 8 bits, energy: 1}, {array: A, axes: {X: 256}}, "
        "{memory: R, word: 8 bits, size: 2 KiB}, {compute: M}",
        "maestro-28nm",
    )
    assert any("implausible" in note for note in found.notes)


class Flat:
    """A technology in Python: everything costs the same."""

    def __call__(self, asked: Asked) -> Answer:
        if isinstance(asked, Storage):
            return StorageCost(2.0, 3.0, 0.5, 0.25)
        return OperationCost(1.0, 0.125) if isinstance(asked, Operation) else LinkCost(0.5, 0.0625)


LEVELS = (
    "{memory: D, word: 8 bits}, {array: A, axes: {X: 2}}, "
    "{memory: R, word: 8 bits, size: 8 B}, {compute: M}"
)


def test_a_python_callable_is_a_technology_once_it_is_registered() -> None:
    register_technology("flat", Flat())
    found = machine(LEVELS, "flat")
    assert [m.write_energy for m in found.memories] == [3.0, 3.0]
    assert found.arrays[0].hop_energy == 0.5
    assert area(found) == 0.5 + 0.0625 + 2 * 0.5 + 2 * 0.125


def test_python_code_that_a_file_names_is_imported_only_when_it_is_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = f"{__name__}:Flat"
    with pytest.raises(InputError, match=f"{VARIABLE}={name}"):
        machine(LEVELS, name)
    monkeypatch.setenv(VARIABLE, name)
    assert machine(LEVELS, name).compute.energy == 1.0


def test_energies_beyond_a_publication_are_noted_with_how_far() -> None:
    found = machine(
        "{memory: D, word: 64 bits}, {memory: B, word: 64 bits, size: 4 MiB}, "
        "{compute: M, arithmetic: int8}",
        "horowitz-45nm",
    )
    assert found.notes == ("B: 4 times the largest that was published (1 MiB): its energy",)


def test_tables_of_memories_of_ones_own_are_csv_files(tmp_path: Path) -> None:
    header = "bytes,width_bits,ports,banks,read_pj,write_pj,area_mm2,leakage_mw"
    (tmp_path / "own.csv").write_text(
        f"# mine\n{header}\n1024,32,1,1,1,2,3,4\n2048,32,1,1,4,2,3,4\n"
    )
    text = "{name: own, source: me, access: 32 bits, memories: {sram: {table: own.csv}}}"
    (tmp_path / "own.yaml").write_text(text)
    found = load_technology("own.yaml", tmp_path)(sram(round(8 * 1024 * 2**0.5), 32))
    assert isinstance(found, StorageCost) and found.read == pytest.approx(2, rel=1e-3)
    (tmp_path / "own.csv").write_text(f"{header}\n1024,32,1,1,1,2,3\n")
    with pytest.raises(InputError, match=r"own\.csv:2: expected 8 positive numbers"):
        load_technology("own.yaml", tmp_path).storage(sram(KIB, 32))


class Part:
    """A model as HWComponents 1.0.113 returns it: J, m2 and W."""

    area, leak_power = 2e-9, 3e-6

    def __init__(self, attributes: dict[str, float]) -> None:
        self.attributes = attributes

    def read(self) -> SimpleNamespace:
        return SimpleNamespace(energy=4e-12)

    write = compute = read


def test_hwcomponents_is_a_technology_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = {}

    def get_model(component: str, attributes: dict[str, float]) -> Part:
        asked[component] = attributes
        if attributes.get("width") == 64:
            raise ValueError("no such width")
        return Part(attributes)

    monkeypatch.setitem(sys.modules, "hwcomponents", None)
    with pytest.raises(InputError, match=r"pip install 'tilewright\[hwcomponents\]'"):
        load_model("hwcomponents-90nm")
    monkeypatch.setitem(sys.modules, "hwcomponents", SimpleNamespace(get_model=get_model))
    levels = (
        "{memory: D, word: 16 bits, kind: LPDDR4}, "
        "{memory: B, word: 16 bits, size: 2 KiB, width: 32 bits}, {compute: M}"
    )
    found = machine(levels, "hwcomponents-90nm")
    buffer = found.memories[1]
    assert (buffer.read_energy, buffer.area) == pytest.approx((4 / 2, 2e-3))
    assert buffer.leakage == pytest.approx(3e-3)
    assert found.compute.energy == pytest.approx(4)
    assert asked["SRAM"] == {
        "tech_node": 90e-9, "width": 32, "size": 2 * KIB, "n_rw_ports": 1, "n_banks": 1
    }  # fmt: skip
    assert asked["SRAM"]["tech_node"] * 1e9 == 90
    with pytest.raises(InputError, match="HWComponents has no SRAM: no such width"):
        machine(levels.replace("32", "64"), "hwcomponents-90nm")
