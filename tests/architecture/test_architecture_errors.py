"""What is said of architecture files that mean nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from tilewright.architecture import load_architecture, parse_architecture
from tilewright.architecture.machine import Architecture
from tilewright.document import Document, parse
from tilewright.errors import InputError

DRAM = "- {memory: DRAM, word: 16 bits, energy: 200}"
GLB = "- {memory: GLB, size: 128 KiB, word: 16 bits, energy: 6}"
PE = "- {array: PE, axes: {X: 4, Y: 2}}"
RF = "- {memory: RF, size: 512 B, word: 16 bits, energy: 1}"
MAC = "- {compute: MAC, energy: 1}"


def read(*levels: str, head: str = "name: m", tail: str = "") -> Architecture:
    return parse_architecture(parse("\n".join([head, "levels:", *levels, tail]), "m.yaml"))


# (the levels, what the message says, the line and key that it names)
WRONG_LEVELS = [
    ([GLB, PE, DRAM, MAC], "missing key 'size'", 5, "levels[2]"),
    ([DRAM, GLB, PE], "the last level must be the compute unit", 5, "levels[2]"),
    ([PE, DRAM, MAC], "the first level must be a memory", 3, "levels[0]"),
    ([DRAM, MAC, MAC.replace("MAC", "ALU")], "exactly one is accepted", 4, "levels[1]"),
    ([DRAM, GLB, GLB, MAC], "level name 'GLB' is taken by levels[1]", 5, "levels[2].memory"),
    ([DRAM, "- {memoyr: GLB}", MAC], "did you mean 'memory'?", 4, "levels[1]"),
    ([DRAM, "- {memory: A, compute: B}", MAC], "cannot be both 'memory'", 4, "levels[1]"),
    ([DRAM, "- GLB", MAC], "expected the keys of a level, found 'GLB'", 4, "levels[1]"),
    ([DRAM, GLB.replace("size", "sise"), MAC], "did you mean 'size'?", 4, "levels[1].sise"),
    ([DRAM, GLB.replace("KiB", "KB"), MAC], "write KiB", 4, "levels[1].size"),
    ([DRAM, GLB.replace("128 KiB", "128"), MAC], "has no unit", 4, "levels[1].size"),
    ([DRAM, GLB.replace("128 KiB", "{I: 1 B}"), MAC], "no word of 16", 4, "levels[1].size"),
    ([DRAM, GLB.replace("128 KiB", "{}"), MAC], "a size per tensor", 4, "levels[1].size"),
    ([DRAM, GLB.replace("128 KiB", "{I: 2 B, inputs: 2 B}"), MAC], "twice", 4, "size.inputs"),
    ([DRAM, GLB.replace("16 bits", "16"), MAC], "16 has no unit", 4, "levels[1].word"),
    ([DRAM, GLB.replace("word: 16 bits, ", ""), MAC], "missing key 'word'", 4, "levels[1]"),
    ([DRAM, GLB.replace("128 KiB", "1 word, buffering: double"), MAC], "twice for", 4, "size"),
    ([DRAM, GLB.replace("128 KiB", "9 B, banks: 5"), MAC], "do not divide", 4, "banks"),
    ([DRAM.replace("200", "200, banks: 4"), MAC], "'banks' needs a 'size'", 3, "banks"),
    ([DRAM.replace("200", "200, block: 3 B"), MAC], "a block of 3 B", 3, "levels[0].block"),
    ([DRAM, GLB.replace("6}", "-6}"), MAC], "at least 0", 4, "levels[1].energy"),
    ([DRAM, GLB.replace("6}", ".inf}"), MAC], "at least 0", 4, "levels[1].energy"),
    ([DRAM, GLB.replace("6}", "{read: -1, write: 1}}"), MAC], "greater", 4, "energy.read"),
    ([DRAM, GLB.replace("6}", "{raed: 1}}"), MAC], "did you mean 'read'?", 4, "energy.raed"),
    ([DRAM, GLB.replace("6}", "{read: 1}}"), MAC], "no write energy", 4, "levels[1]"),
    ([DRAM, GLB.replace("6}", "6, bandwidth: 0}"), MAC], "must be positive", 4, "bandwidth"),
    ([DRAM, GLB.replace("6}", "6, buffering: triple}"), MAC], "'double'", 4, "buffering"),
    ([DRAM, GLB.replace("6}", "6, keep: []}"), MAC], "keeps nothing", 4, "levels[1].keep"),
    ([DRAM, GLB.replace("6}", "6, keep: [I], must_keep: [W]}"), MAC], "may keep only I", 4, ""),
    ([DRAM, GLB.replace("128 KiB", "{I: 4 B}, must_keep: [W]"), MAC], "no part of", 4, "must_k"),
    ([DRAM, GLB.replace("128 KiB", "{I: 4 B}, keep: [W]"), MAC], "no part of", 4, "keep"),
    ([DRAM.replace("200", "200, keep: [I, W]"), MAC], "stores every tensor", 3, "keep"),
    ([DRAM, PE.replace("4", "0"), MAC], "greater than 0", 4, "levels[1].axes.X"),
    ([DRAM, PE.replace("4", "2.5"), MAC], "valid integer", 4, "levels[1].axes.X"),
    ([DRAM, PE.replace("{X: 4, Y: 2}", "{}"), MAC], "at least one axis", 4, "levels[1].axes"),
    ([DRAM, PE.replace("X: 4", "X.1: 4"), MAC], "a name is letters", 4, "axes.X.1"),
    ([DRAM, PE.replace("4", "1000000"), MAC], "2000000 elements", 4, "levels[1].axes"),
    ([DRAM, PE.replace("2}}", "2}, network: {energi: 1}}"), MAC], "'energy'?", 4, "network.energi"),
    ([DRAM, MAC.replace("energy: 1", "energy: 1, cycles: 0")], "greater", 4, "levels[1].cycles"),
    ([DRAM, MAC.replace("MAC", "'M AC'")], "a name is letters", 4, "levels[1].compute"),
    ([], "at least 1 item", 2, "levels"),
]


@pytest.mark.parametrize(("levels", "message", "line", "key"), WRONG_LEVELS)
def test_a_wrong_level_is_answered_with_its_place(
    levels: list[str], message: str, line: int, key: str
) -> None:
    head = "name: m"
    with pytest.raises(InputError) as failure:
        if levels:
            read(*levels, head=head)
        else:
            parse_architecture(parse(f"{head}\nlevels: []", "m.yaml"))
    assert message in str(failure.value)
    assert (failure.value.source, failure.value.line) == ("m.yaml", line)
    assert key in (failure.value.key or "")


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        (
            "{at: EP, dims: [C]}",
            "'EP' is not an array; accepted: PE, array",
        ),
        ("{at: DRAM, dims: [C]}", "'DRAM' is not an array"),
        (
            "{at: PE, axis: Z, dims: [C]}",
            "array 'PE' has no axis 'Z'; accepted: X, Y, first",
        ),
        ("{at: PE, axis: X}", "says nothing; accepted: dims, require"),
        ("{at: PE, axis: X, dim: [C]}", "did you mean 'dims'?"),
        ("PE", "expected keys"),
    ],
)
def test_a_wrong_constraint_is_answered_with_its_place(tail: str, message: str) -> None:
    with pytest.raises(InputError, match=r"m\.yaml:7: constraints\[0\]") as failure:
        read(DRAM, PE, MAC, tail=f"constraints:\n- {tail}")
    assert message in str(failure.value)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("name: m\nclock: 200", "m.yaml:2: clock: 200 has no unit"),
        ("name: m\ntechnolgy: x", "did you mean 'technology'?"),
        ("name: m\ntechnology: eyeris", "did you mean 'eyeriss-65nm'?"),
        ("name: m\ntechnology: gone.yaml", "gone.yaml: cannot be read"),
        ("clock: 1 GHz", "missing key 'name'"),
        ("name: ''", "at least 1 character"),
    ],
)
def test_a_wrong_machine_key_is_named(head: str, message: str) -> None:
    with pytest.raises(InputError) as failure:
        read(DRAM, MAC, head=head)
    assert message in str(failure.value)


def test_a_workload_in_place_of_a_machine_is_told_apart() -> None:
    with pytest.raises(InputError, match="describes a workload, not a machine") as failure:
        parse_architecture(parse("name: n\nlayers: []", "net.yaml"))
    assert (failure.value.source, failure.value.line, failure.value.key) == (
        "net.yaml",
        2,
        "layers",
    )


def test_a_missing_energy_is_answered_with_both_ways_out() -> None:
    with pytest.raises(InputError) as failure:
        read("- {memory: DRAM, word: 16 bits}", MAC)
    assert "energy: {read: 6, write: 6}" in str(failure.value)
    assert "'technology'" in str(failure.value)
    assert "horowitz-45nm" in str(failure.value)
    with pytest.raises(InputError, match="technology 'horowitz-45nm' has none for kind 'regi"):
        read(DRAM, PE, RF.replace(", energy: 1", ", technology: horowitz-45nm"), MAC)
    with pytest.raises(InputError, match="no energy per operation"):
        read(DRAM, "- {compute: MAC}")


def test_an_unknown_machine_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match="did you mean 'eyeriss'"):
        load_architecture("eyris")


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"nowhere/machine\.yaml: cannot be read"):
        load_architecture("nowhere/machine.yaml")


KEYS = [
    "name",
    "clock",
    "technology",
    "levels",
    "constraints",
    "memory",
    "array",
    "compute",
    "word",
    "size",
    "kind",
    "energy",
    "bandwidth",
    "buffering",
    "banks",
    "block",
    "keep",
    "must_keep",
    "axes",
    "network",
    "cycles",
    "at",
    "dims",
    "axis",
    "read",
    "multicast",
]
NUMBERS = [None, True, 0, -1, 3, 10**400, 2.5, float("inf"), float("nan")]
TEXTS = [
    "",
    "I",
    "16 bits",
    "1 KiB",
    "1 GB/s",
    "DRAM",
    "PE",
    "eyeriss-65nm",
    "dram",
    "double",
    "optimal",
]
VALUES = st.sampled_from([*NUMBERS, *TEXTS, [], {}, ["I"], {"I": "1 KiB"}])
ANYTHING = st.recursive(
    VALUES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5)
    ),
    max_leaves=8,
)
LEVEL_KEYS = {
    "memory": [
        "word",
        "size",
        "kind",
        "technology",
        "energy",
        "bandwidth",
        "banks",
        "block",
        "buffering",
        "retention",
        "keep",
        "must_keep",
        "leakage",
        "area",
    ],
    "array": ["axes", "network", "technology"],
    "compute": ["energy", "cycles", "gated", "word", "arithmetic", "technology"],
}


@st.composite
def corrupted_files(draw: st.DrawFn) -> dict[str, Any]:
    text = "\n".join(["name: m", "technology: eyeriss-65nm", "levels:", DRAM, GLB, PE, RF, MAC])
    data = YAML(typ="safe", pure=True).load(text)
    for _ in range(draw(st.integers(1, 3))):
        level = draw(st.sampled_from(data["levels"]))
        kind = next(iter(level))
        level[draw(st.sampled_from(LEVEL_KEYS.get(kind, ["word"])))] = draw(ANYTHING)
    if draw(st.booleans()):
        data[draw(st.sampled_from(KEYS))] = draw(ANYTHING)
    return dict(data)


@given(corrupted_files())
def test_any_file_is_a_machine_or_an_input_error(data: dict[str, Any]) -> None:
    try:
        parse_architecture(Document(data, "m.yaml"))
    except InputError as failure:
        assert "m.yaml" in str(failure)
