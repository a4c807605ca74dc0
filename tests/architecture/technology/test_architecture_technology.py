"""Technology tables: published numbers, and what lies between and beyond them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.architecture import Technology, load_technology, technology_names
from tilewright.architecture.technology.files import parse_technology
from tilewright.document import parse
from tilewright.errors import InputError

KIB = 8 * 1024
TABLES = st.sampled_from(technology_names()).map(load_technology)


# Energy per access of the stated width, as published (see `source` of each table).
@pytest.mark.parametrize(
    ("table", "kind", "size_bits", "word_bits", "energy"),
    [
        ("eyeriss-65nm", "dram", None, 16, 200),
        ("eyeriss-65nm", "sram", 108 * KIB, 16, 6),
        ("eyeriss-65nm", "registers", KIB // 2, 16, 1),
        ("horowitz-45nm", "sram", 8 * KIB, 64, 10),
        ("horowitz-45nm", "sram", 32 * KIB, 64, 20),
        ("horowitz-45nm", "sram", 1024 * KIB, 64, 100),
        ("interstellar-28nm", "dram", None, 16, 200),
        *[("interstellar-28nm", "registers", 64 * 2**i, 16, 0.015 * 2**i) for i in range(7)],
        ("interstellar-28nm", "sram", 32 * KIB, 16, 9),
        ("interstellar-28nm", "sram", 64 * KIB, 16, 13.5),
        ("interstellar-28nm", "sram", 128 * KIB, 16, 20.25),
        ("interstellar-28nm", "sram", 256 * KIB, 16, 30.375),
        ("dmazerunner", "dram", None, 16, 200),
        *[("dmazerunner", "registers", 128 * 2**i, 16, 0.03 * 2**i) for i in range(7)],
        ("dmazerunner", "sram", 16 * KIB, 16, 4),
        ("dmazerunner", "sram", 32 * KIB, 16, 6),
        ("dmazerunner", "sram", 64 * KIB, 16, 9),
        ("dmazerunner", "sram", 128 * KIB, 16, 13.5),
        ("dmazerunner", "sram", 256 * KIB, 16, 20.25),
        ("dmazerunner", "sram", 512 * KIB, 16, 30.375),
        ("dmazerunner", "sram", 1024 * KIB, 16, 45.5625),
        ("maestro-28nm", "registers", 2 * KIB, 8, 1.68),
        ("maestro-28nm", "sram", 1024 * KIB, 8, 18.61),
    ],
)
def test_memory_energies_are_the_published_ones(
    table: str, kind: str, size_bits: int | None, word_bits: int, energy: float
) -> None:
    assert load_technology(table).memory_energy(kind, size_bits, word_bits) == energy


@pytest.mark.parametrize(
    ("table", "word_bits", "arithmetic", "energy"),
    [
        ("eyeriss-65nm", 16, "integer", 1),
        ("horowitz-45nm", 8, "integer", 0.03 + 0.2),
        ("horowitz-45nm", 32, "integer", 0.1 + 3.1),
        ("horowitz-45nm", 16, "float", 0.4 + 1.1),
        ("horowitz-45nm", 32, "float", 0.9 + 3.7),
        ("interstellar-28nm", 16, "integer", 0.075),
        ("dmazerunner", 16, "integer", 0.075),
        ("maestro-28nm", 8, "integer", 1),
    ],
)
def test_operation_energies_are_the_published_ones(
    table: str, word_bits: int, arithmetic: str, energy: float
) -> None:
    assert load_technology(table).mac_energy(word_bits, arithmetic) == energy


@pytest.mark.parametrize(
    ("table", "energy"),
    [
        ("eyeriss-65nm", 2),
        ("horowitz-45nm", 0),
        ("interstellar-28nm", 0.035),
        ("dmazerunner", 2),
        ("maestro-28nm", 0),
    ],
)
def test_hop_energies_are_the_published_ones(table: str, energy: float) -> None:
    assert load_technology(table).hop_energy(16) == energy


@pytest.mark.parametrize("name", technology_names())
def test_every_table_names_its_publication_and_itself(name: str) -> None:
    table = load_technology(name)
    assert table.name == name
    assert any(str(year) in table.source for year in range(2010, 2030))


def test_an_8_bit_access_costs_half_of_16_bits() -> None:
    table = load_technology("interstellar-28nm")
    assert table.memory_energy("sram", 64 * KIB, 8) == 13.5 / 2
    assert table.hop_energy(8) == 0.035 / 2


def test_energies_continue_by_the_published_factor() -> None:
    table = load_technology("interstellar-28nm")
    assert table.memory_energy("sram", 512 * KIB, 16) == pytest.approx(30.375 * 1.5)
    assert table.memory_energy("sram", 16 * KIB, 16) == pytest.approx(9 / 1.5)
    assert table.memory_energy("registers", 8 * KIB, 16) == pytest.approx(0.96 * 16)


def test_energies_stay_constant_where_no_factor_was_published() -> None:
    table = load_technology("horowitz-45nm")
    assert table.memory_energy("sram", KIB, 64) == 10
    assert table.memory_energy("sram", 64 * 1024 * KIB, 64) == 100


def test_half_way_in_logarithms_is_the_geometric_mean() -> None:
    table = load_technology("horowitz-45nm")
    assert table.memory_energy("sram", 16 * KIB, 64) == pytest.approx((10 * 20) ** 0.5)
    assert table.mac_energy(16) == pytest.approx((0.03 * 0.1) ** 0.5 + (0.2 * 3.1) ** 0.5)


def test_operations_beyond_published_widths_grow_with_the_square() -> None:
    table = load_technology("interstellar-28nm")
    assert table.mac_energy(8) == pytest.approx(0.075 / 4)
    assert table.mac_energy(32) == pytest.approx(0.075 * 4)


@given(TABLES, st.sampled_from(["sram", "registers"]), st.integers(1, 2**40), st.integers(1, 2**40))
def test_a_larger_memory_never_costs_less_per_word(
    table: Technology, kind: str, a: int, b: int
) -> None:
    if kind not in table.memories:
        assert table.memory_energy(kind, a, 16) is None
        return
    small, large = (table.memory_energy(kind, size, 16) for size in sorted((a, b)))
    assert 0 < small <= large * (1 + 1e-12)
    assert large <= table.memory_energy("dram", None, 16) if "dram" in table.memories else True


def test_what_was_not_published_is_not_invented() -> None:
    assert load_technology("horowitz-45nm").memory_energy("registers", 4096, 16) is None
    assert load_technology("eyeriss-65nm").mac_energy(16, "float") is None


def test_an_unknown_table_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="did you mean 'horowitz-45nm'"):
        load_technology("horowitz-45")


def test_a_table_of_ones_own_is_a_file(tmp_path: Path) -> None:
    text = "{name: own, source: me, access: 32 bits, memories: {dram: {energy: 64}}, hop: 1}"
    (tmp_path / "own.yaml").write_text(text)
    table = load_technology("own.yaml", tmp_path)
    assert table.memory_energy("dram", None, 16) == 32
    assert table.unit == "pJ"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{name: t, source: s}", "missing key 'access'"),
        ("{name: t, source: s, access: 16}", "16 has no unit"),
        ("{name: t, source: s, access: 16 bits, memories: {cache: {energy: 1}}}", "'dram'"),
        ("{name: t, source: s, access: 16 bits, memories: {sram: {}}}", "'energy' or 'points'"),
        ("{name: t, source: s, access: 16 bits, memories: {sram: {points: {}}}}", "points"),
        ("{name: t, source: s, access: 16 bits, memories: {sram: {points: {8 KB: 1}}}}", "KiB"),
        ("{name: t, source: s, access: 16 bits, operations: {integer: {add: {8 bits: 1}}}}", "mul"),
    ],
)
def test_a_malformed_table_is_rejected(text: str, message: str) -> None:
    with pytest.raises(InputError, match=r"table\.yaml:1") as failure:
        parse_technology(parse(text, "table.yaml"))
    assert message in str(failure.value)
