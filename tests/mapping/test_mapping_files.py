"""Mappings in files."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from strategies import cases, layer_of
from tilewright.architecture import Architecture, Array, Compute, Memory, load_architecture
from tilewright.document import parse
from tilewright.errors import InputError, MappingError
from tilewright.mapping import (
    For,
    Mapping,
    Spatial,
    Store,
    check,
    dump_mapping,
    dump_mappings,
    load_mapping,
    mapping_data,
    mapping_text,
    parse_mapping,
)
from tilewright.workload import load_network, select

LAYER = layer_of("conv1d", {"K": 61, "C": 8, "P": 14, "R": 3})
MACHINE = Architecture(
    "machine",
    (
        Memory("DRAM", 16),
        Memory("GLB", 16, capacity_bits=1 << 20),
        Array("PE", {"X": 4, "Y": 4}),
        Memory("RF", 16, capacity_bits=1 << 10, keep=frozenset({"I", "W"})),
        Compute("MAC"),
    ),
)
TEXT = """\
mapping:
  - {store: DRAM}
  - {for: K, tile: 13}
  - {store: GLB, tensors: [W]}
  - {for: P, tile: 4}
  - {store: GLB, tensors: [I, O]}
  - {spatial: K, tile: 4, axis: X, array: PE}
  - {for: C, tile: 1}
  - {store: RF, tensors: [I, W]}
"""
MAPPING = Mapping(
    (
        Store("DRAM", ("I", "W", "O")),
        For("K", 13),
        Store("GLB", ("W",)),
        For("P", 4),
        Store("GLB", ("I", "O")),
        Spatial("K", 4, "X", "PE"),
        For("C", 1),
        Store("RF", ("I", "W")),
    )
)


def read(text: str) -> Mapping:
    return parse_mapping(parse(text, "mapping.yaml"), LAYER, MACHINE)


def test_a_file_is_written_one_node_per_line():
    assert dump_mapping(MAPPING, LAYER) == TEXT
    assert read(TEXT) == MAPPING


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cases(operations=60))
def test_what_is_written_reads_back_equal(case):
    layer, architecture, mapping = case
    text = dump_mapping(mapping, layer)
    assert parse_mapping(parse(text), layer, architecture) == mapping
    data = json.loads(json.dumps(mapping_data(mapping, layer)))
    assert parse_mapping(data, layer, architecture) == mapping


def test_several_layers_stand_in_one_file(tmp_path):
    other = layer_of("matmul", {"M": 2, "N": 2, "K": 2})
    everything = Mapping((Store("DRAM", ("I", "W", "O")),))
    path = tmp_path / "mappings.yaml"
    path.write_text(dump_mappings([(LAYER, MAPPING), (other, everything)], "machine", "two"))
    assert load_mapping(path, LAYER, MACHINE) == MAPPING
    assert load_mapping(path, other, MACHINE) == everything
    assert load_mapping(path, LAYER, MACHINE, "matmul") == everything
    with pytest.raises(InputError, match=r"no mapping for layer 'matmull'.*did you mean 'matmul'"):
        load_mapping(path, LAYER, MACHINE, "matmull")


def test_tensors_are_named_by_name_or_role_in_any_order():
    for names in (["O", "I"], ["outputs", "inputs"], ["output", "I"]):
        data = [{"store": "DRAM"}, {"store": "GLB", "tensors": names}]
        assert parse_mapping(data, LAYER, MACHINE).nodes[1] == Store("GLB", ("I", "O"))


def test_a_store_that_names_no_tensor_has_all_that_its_memory_may_store():
    mapping = parse_mapping(
        [{"store": "DRAM"}, {"for": "K", "tile": 1}, {"for": "C", "tile": 1}, {"store": "RF"}],
        LAYER,
        MACHINE,
    )
    assert mapping.nodes[-1] == Store("RF", ("I", "W"))


def test_the_array_is_needed_only_where_there_are_several():
    nodes = [{"store": "DRAM"}, {"spatial": "K", "tile": 16, "axis": "Y"}]
    assert parse_mapping(nodes, LAYER, MACHINE).nodes[1] == Spatial("K", 16, "Y", "PE")
    levels = (*MACHINE.levels[:3], Array("LANE", {"X": 2}), *MACHINE.levels[3:])
    with pytest.raises(InputError, match="several: PE, LANE"):
        parse_mapping(nodes, LAYER, Architecture("two arrays", levels))


@pytest.mark.parametrize(
    ("text", "line", "key", "message"),
    [
        ("- {for: k, tile: 3}", 2, "[1].for", "no dimension 'k'.*did you mean 'K'"),
        ("- {store: GBL}", 2, "[1].store", "no memory 'GBL'.*DRAM, GLB, RF; did you mean 'GLB'"),
        ("- {store: GLB, tensors: [X]}", 2, "[1].tensors", "no tensor 'X'.*accepted: I, W, O"),
        ("- {store: GLB, tensors: [I, inputs]}", 2, "[1].tensors", "twice"),
        ("- {for: K, tile: 0}", 2, "[1].tile", "greater than or equal to 1, found 0"),
        ("- {for: K, tile: 2.5}", 2, "[1].tile", "integer, found 2.5"),
        ("- {for: K, tile: '2'}", 2, "[1].tile", "integer, found '2'"),
        ("- {for: K, tiles: 2}", 2, "[1].tiles", "unknown key.*did you mean 'tile'"),
        ("- {for: K}", 2, "[1]", "missing key 'tile'"),
        ("- {fro: K, tile: 2}", 2, "[1]", "'store', 'for', 'spatial'.*did you mean 'for'"),
        ("- {for: K, store: GLB}", 2, "[1]", "one of the keys"),
        ("- 3", 2, "[1]", "found 3"),
        ("- {spatial: K, tile: 16}", 2, "[1].spatial", "'axis' is needed.*X, Y"),
        ("- {spatial: K, tile: 16, axis: x}", 2, "[1].axis", "no axis 'x'.*did you mean 'X'"),
        ("- {spatial: K, tile: 16, axis: X, array: P}", 2, "[1].array", "did you mean 'PE'"),
        ("- {for: K, tile: 62}", 2, "[1]", "from 1 to 61"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text, line, key, message):
    with pytest.raises(InputError, match=message) as failure:
        read(f"- {{store: DRAM}}\n{text}\n")
    assert failure.value.source == "mapping.yaml"
    assert failure.value.line == line
    assert failure.value.key == key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("3", "expected a list of nodes or 'mapping:', found 3"),
        ("mapping: 3", "expected a list of nodes, found 3"),
        ("maping: []", "unknown key 'maping'.*did you mean 'mapping'"),
        ("{mapping: [], mappings: {}}", "'mapping' .* or 'mappings'"),
        ("mappings: []", "expected layer names"),
        ("mappings: {}", "there are: none"),
        ("[]", "does not store I"),
    ],
)
def test_a_file_without_a_mapping_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        read(text)


def test_plain_data_is_refused_with_its_key():
    with pytest.raises(InputError, match="integer") as failure:
        parse_mapping([{"store": "DRAM"}, {"for": "K", "tile": "2"}], LAYER, MACHINE)
    assert failure.value.key == "[1].tile"


def test_validity_is_checked_unless_it_is_not_wanted():
    nodes = [{"store": "DRAM"}, {"store": "RF"}]
    with pytest.raises(MappingError, match="'RF' need"):
        parse_mapping(nodes, LAYER, MACHINE)
    assert len(parse_mapping(nodes, LAYER, MACHINE, check=False)) == 2


PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "mappings.md").read_text("utf-8")


def example(title: str) -> str:
    found = re.search(rf'^```\w+ title="{title}"\n(.*?)^```', PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


def test_the_examples_of_the_documentation_are_one_mapping():
    layer = select(load_network("resnet50"), "conv4_2.3x3")
    simple = load_architecture("simple")
    mapping = parse_mapping(parse(example("conv4_2.3x3 on simple")), layer, simple)
    assert mapping_text(mapping, layer, simple) == example("the same as text")
    *above, loop, store = mapping.nodes[:6]
    with pytest.raises(MappingError) as failure:
        check(Mapping((*above, store, loop, *mapping.nodes[6:])), layer, simple)
    assert failure.value.message in " ".join(PAGE.split())
