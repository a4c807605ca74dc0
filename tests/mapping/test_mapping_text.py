"""Mappings as indented loop nests."""

import pytest
from hypothesis import given, settings

from strategies import cases
from test_mapping_files import LAYER, MACHINE, MAPPING
from tilewright.errors import InputError, MappingError
from tilewright.mapping import Mapping, Spatial, Store, mapping_text, parse_text

TEXT = """\
DRAM stores I, W, O
  for K in 5 x 13 (last 9)
    GLB stores W
      for P in 4 x 4 (last 2)
        GLB stores I, O
          spatial K in 4 x 4 (last 1) on PE.X
            for C in 8 x 1
              RF stores I, W
                MAC computes K 4, P 4, R 3
"""


def test_a_mapping_is_written_as_a_loop_nest():
    assert mapping_text(MAPPING, LAYER, MACHINE) == TEXT


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cases(operations=60))
def test_what_is_written_reads_back_equal(case):
    layer, architecture, mapping = case
    text = mapping_text(mapping, layer, architecture)
    assert parse_text(text, layer, architecture) == mapping
    flat = "\n".join(line.strip() for line in text.splitlines()[:-1])
    assert parse_text(flat, layer, architecture) == mapping


def test_chunks_last_chunk_comments_and_roles_are_optional():
    text = """
    # weights stay
    DRAM stores all
    for K in 13
    GLB stores weights   # one tile
    for P in 4
    GLB stores outputs, inputs
    spatial K in 4 on PE.X
    for C in 1
    RF stores all
    """
    assert parse_text(text, LAYER, MACHINE) == MAPPING


def test_the_place_of_a_spatial_loop_may_be_left_out_where_there_is_no_choice():
    levels = [level for level in MACHINE.levels if level.name != "PE"]
    machine = type(MACHINE)(
        "line", (*levels[:2], type(MACHINE.arrays[0])("L", {"X": 5}), *levels[2:])
    )
    for place in ("", " on L", " on L.X"):
        mapping = parse_text(f"DRAM stores all\nspatial K in 13{place}", LAYER, machine)
        assert mapping == Mapping((Store("DRAM", ("I", "W", "O")), Spatial("K", 13, "X", "L")))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nonsense", "expected 'MEMORY stores TENSOR.*found 'nonsense'"),
        ("for Z in 3", "no dimension 'Z'.*accepted: K, C, P, R"),
        ("for K in 4 x 13", "5 chunks of 13, not 4"),
        ("for K in 13 (last 13)", "has 9, not 13"),
        ("for K in 62", "from 1 to 61.*found 62"),
        ("for K in 0", "from 1 to 61.*found 0"),
        ("for K in 13 on PE.X", "only with 'spatial'"),
        ("GLV stores W", "no memory 'GLV'.*did you mean 'GLB'"),
        ("GLB stores W, V", "no tensor 'V'"),
        ("GLB stores W, W", "twice"),
        ("spatial K in 16", "'axis' is needed"),
        ("spatial K in 16 on PE.Z", "no axis 'Z'"),
        ("spatial K in 16 on PX.X", "no array 'PX.X'.*accepted: PE"),
        ("spatial K in 10 on PE.X", "need 7 elements, it has 4"),
        ("MAC computes K 3", "leave 'K 61, C 8, P 14, R 3'.*not 'K 3'"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(line, message):
    with pytest.raises(InputError, match=message) as failure:
        parse_text(f"DRAM stores all\n\n{line}\n", LAYER, MACHINE, source="nest.txt")
    assert (failure.value.source, failure.value.line) == ("nest.txt", 3)


def test_nothing_follows_the_compute_unit():
    with pytest.raises(InputError, match="nothing may follow"):
        parse_text(TEXT + "RF stores O", LAYER, MACHINE)


def test_validity_is_checked_unless_it_is_not_wanted():
    text = "DRAM stores all\nRF stores all"
    with pytest.raises(MappingError, match="'RF' need"):
        parse_text(text, LAYER, MACHINE)
    assert len(parse_text(text, LAYER, MACHINE, check=False)) == 2
