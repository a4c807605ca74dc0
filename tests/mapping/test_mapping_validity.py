"""Which mappings are accepted, and what is said about the others."""

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings

from strategies import cases, layer_of
from tilewright.architecture import Architecture, Array, Compute, Constraint, Memory
from tilewright.errors import MappingError
from tilewright.mapping import For, Mapping, Spatial, Store, check, resolve
from tilewright.workload import footprint

ALL = ("I", "W", "O")
LAYER = layer_of("matmul", {"M": 8, "N": 6, "K": 10})
MACHINE = Architecture(
    "machine",
    (
        Memory("DRAM", 16),
        Memory("GLB", 16, capacity_bits=4096, must_keep=frozenset("W")),
        Array("PE", {"X": 4, "Y": 2}),
        Memory("RF", 16, tensor_bits={"I": 160, "W": 64}),
        Compute("MAC"),
    ),
    constraints=(Constraint("PE", "Y", frozenset("NK")),),
)
DRAM, GLB = Store("DRAM", ALL), Store("GLB", ("W",))


def refusal(*nodes, layer=LAYER, machine=MACHINE) -> MappingError:
    with pytest.raises(MappingError) as failure:
        check(Mapping(nodes), layer, machine)
    return failure.value


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cases(operations=60))
def test_drawn_mappings_are_valid(case):
    layer, architecture, mapping = case
    check(mapping, layer, architecture)


def test_a_tile_as_large_as_the_extent_is_one_chunk():
    check(Mapping((DRAM, For("M", 8), GLB, For("M", 8))), LAYER, MACHINE)


@pytest.mark.parametrize(
    ("nodes", "node", "message"),
    [
        ((DRAM, Store("GLBB", ALL)), 1, "no memory 'GLBB'.*did you mean 'GLB'"),
        ((DRAM, Store("PE", ALL)), 1, "no memory 'PE'"),
        ((DRAM, Store("GLB", ("X",))), 1, "no tensor 'X'"),
        ((DRAM, GLB, For("Z", 1)), 2, "no dimension 'Z'"),
        ((DRAM, GLB, Spatial("M", 4, "X", "PEE")), 2, "no array 'PEE'.*did you mean 'PE'"),
        ((DRAM, GLB, Spatial("M", 4, "Z", "PE")), 2, "no axis 'Z'.*accepted: X, Y"),
        ((DRAM, For("M", 0), GLB), 1, "from 1 to 8.*found 0"),
        ((DRAM, For("M", 9), GLB), 1, "from 1 to 8.*found 9"),
        ((DRAM, For("M", 4), GLB, For("M", 5)), 3, "from 1 to 4.*found 5"),
        ((DRAM, GLB, Spatial("M", 1, "X", "PE")), 2, "need 8 elements, it has 4"),
        (
            (DRAM, GLB, Spatial("M", 4, "X", "PE"), Spatial("N", 2, "X", "PE")),
            3,
            "need 2 x 3 = 6 elements, it has 4",
        ),
        ((DRAM, GLB, Spatial("M", 4, "Y", "PE")), 2, "may not unroll M.*accepted: K, N"),
        ((DRAM, Store("GLB", ())), 1, "stores no tensor"),
        ((DRAM, GLB, For("M", 4), Store("GLB", ("W",))), 3, "stores W twice"),
        ((DRAM, Store("GLB", ("W", "W"))), 1, "stores W twice"),
        ((Store("DRAM", ("I",)), For("M", 4), Store("DRAM", ("W", "O"))), 2, "above every loop"),
        ((Store("DRAM", ("I",)), GLB), 1, "stores W before 'DRAM'"),
        ((DRAM, Store("RF", ("W",)), GLB), 2, "stores W below 'RF'.*DRAM, GLB, RF"),
        ((DRAM, GLB, Store("RF", ("O",))), 2, "may not store O; it keeps I, W"),
        ((Store("DRAM", ("I", "W")), GLB), None, "'DRAM', .*does not store O"),
        ((DRAM,), None, "'GLB' must keep W"),
        (
            (DRAM, GLB, Store("RF", ("I",)), Spatial("M", 4, "X", "PE")),
            3,
            r"stands below the store node of 'RF' \(mapping\[2\]\), which lies inside",
        ),
        (
            (DRAM, Spatial("M", 4, "X", "PE"), GLB),
            1,
            r"stands above the store node of 'GLB' \(mapping\[2\]\), which lies outside",
        ),
    ],
)
def test_what_cannot_be_carried_out_is_refused(nodes, node, message):
    failure = refusal(*nodes)
    assert failure.key == ("mapping" if node is None else f"mapping[{node}]")
    assert re.search(message, failure.message)


def test_an_overflow_says_where_by_how_much_and_what_fills_it():
    layer = layer_of("matmul", {"M": 8, "N": 16, "K": 16})
    layer = replace(
        layer, tensors=tuple(replace(t, bits=8) if t.is_output else t for t in layer.tensors)
    )
    message = refusal(DRAM, Store("GLB", ALL), layer=layer).message
    # W 16 x 16 x 16 bits, I 8 x 16 x 16 bits, O 8 x 16 x 8 bits
    assert "'GLB' need 7168 bits, 3072 more than the 4096" in message
    assert message.endswith("W 256 words of 16 bits, I 128 words of 16 bits, O 128 words of 8 bits")


def test_a_double_buffered_tile_takes_its_space_twice():
    glb = replace(MACHINE.levels[1], capacity_bits=1900)
    single = Architecture("machine", (*MACHINE.levels[:1], glb, *MACHINE.levels[2:]))
    double = Architecture(
        "machine", (*MACHINE.levels[:1], replace(glb, buffering=2), *MACHINE.levels[2:])
    )
    check(Mapping((DRAM, GLB)), LAYER, single)
    check(Mapping((DRAM, For("K", 5), GLB)), LAYER, double)
    message = refusal(DRAM, GLB, machine=double).message
    assert "need 1920 bits, 20 more than the 1900" in message
    assert message.endswith("W 60 words of 16 bits, twice (double buffering)")


def test_a_partitioned_memory_has_a_share_for_each_tensor():
    nodes = (DRAM, GLB, For("M", 1), Store("RF", ("I",)), For("K", 4), For("N", 1))
    check(Mapping((*nodes, Store("RF", ("W",)))), LAYER, MACHINE)
    message = refusal(*nodes[:-1], Store("RF", ("W",))).message
    assert "'RF' need 384 bits, 320 more than the 64 that it has for W" in message


@settings(max_examples=150, deadline=None, derandomize=True)
@given(cases(operations=100, small=True))
def test_what_is_accepted_fits(case):
    layer, architecture, mapping = case
    try:
        check(mapping, layer, architecture)
    except MappingError as failure:
        assert "more than the" in failure.message
        assume(False)
    structure = resolve(mapping, layer, architecture)
    for memory in architecture.memories[1:]:
        bits = {
            t.role: footprint(t, structure.extents(structure.depths[memory.name, t.name]))
            * (t.bits or memory.word_bits)
            * memory.buffering
            for t in layer.tensors
            if (memory.name, t.name) in structure.depths
        }
        if memory.capacity_bits is not None:
            assert sum(bits.values()) <= memory.capacity_bits
        if memory.tensor_bits is not None:
            assert all(bits[role] <= memory.tensor_bits[role] for role in bits)
