"""The checker says of a mapping which constraints it violates, and by how much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strategies import layer_of
from tilewright.architecture import Architecture, Array, Compute, Memory
from tilewright.architecture.constraints.files import parse_text
from tilewright.errors import MappingError
from tilewright.mapping import For, Mapping, Spatial, Store, check, under, violations

ALL = ("I", "W", "O")
LAYER = layer_of("matmul", {"M": 8, "N": 6, "K": 10})
MACHINE = Architecture(
    "machine",
    (
        Memory("DRAM", 16),
        Memory("GLB", 16, capacity_bits=4096),
        Array("PE", {"X": 4, "Y": 2}),
        Memory("RF", 16, capacity_bits=256),
        Compute("MAC"),
    ),
)
# PE unrolls N by 3 on X and K by 2 on Y; RF holds I at M 1, W at M 4
MAPPING = Mapping(
    (
        Store("DRAM", ALL),
        For("M", 4),
        For("K", 10),
        Store("GLB", ("I", "O")),
        For("K", 2),
        For("N", 3),
        Spatial("N", 1, "X", "PE"),
        Spatial("K", 1, "Y", "PE"),
        Store("RF", ("W",)),
        For("M", 1),
        Store("RF", ("I",)),
    )
)


def fault(text: str, mapping: Mapping = MAPPING) -> str:
    found = violations(mapping, LAYER, MACHINE, parse_text(text))
    assert len(found) <= 1
    return found[0] if found else ""


@pytest.mark.parametrize(
    "text",
    [
        "PE.dims=N,K",
        "PE.X.dims=N",
        "PE.require=N,K",
        "PE.Y.require=K",
        "PE.require=R",
        "PE.factor.N=3",
        "PE.X.factor.N=2..4; PE.X.factor.K=1; PE.Y.factor.K=2..",
        "PE.factor.R=4",
        "PE.max_dims=2; PE.X.max_dims=1",
        "PE.min_utilization=0.75; PE.Y.min_utilization=1",
        "RF.tile.N=1; RF.tile.M=1..4; RF.I.tile.M=1; RF.W.tile.M=4",
        "GLB.tile.N=all; GLB.tile.N=6; GLB.tile.N=100; GLB.tile.R=100; GLB.W.tile.N=1",
        "RF.keep=W,I; GLB.bypass=W",
        "RF.bypass=weight_of_another_layer",
        "DRAM.order=M,K; GLB.order=K,N; GLB.order=N; GLB.order=M,K,N,R; RF.order=N,M",
        "DRAM.innermost=M; GLB.innermost=N,K; RF.innermost=N",
        "GLB.min_utilization=0.25; RF.min_utilization=0.125",
        "GLB.even=true",
    ],
)
def test_constraints_that_hold_are_not_violated(text: str) -> None:
    assert violations(MAPPING, LAYER, MACHINE, parse_text(text)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PE.dims=N", "PE unrolls only N, but this mapping unrolls K by 2"),
        ("PE.X.dims=", "PE.X unrolls only nothing, but this mapping unrolls N by 3"),
        ("PE.require=M", "PE unrolls M, but this mapping unrolls N by 3, K by 2"),
        ("PE.X.require=K", "PE.X unrolls K, but this mapping unrolls N by 3"),
        ("PE.factor.N=2", "PE unrolls N by 2, but this mapping unrolls N by 3"),
        ("PE.X.factor.K=2", "PE.X unrolls K by 2, but this mapping unrolls K by 1"),
        ("PE.factor.N=all", "PE unrolls all of N, but this mapping unrolls N by 3"),
        ("PE.factor.N=4..", "PE unrolls N by at least 4, but this mapping unrolls N by 3"),
        ("PE.max_dims=1", "at most 1 dimension, but this mapping unrolls N by 3, K by 2"),
        ("PE.min_utilization=0.8", "80% of PE is used, but this mapping uses 75.0% (6 of 8 elem"),
        ("PE.X.min_utilization=1", "100% of PE.X is used, but this mapping uses 75.0% (3 of 4"),
        ("RF.tile.M=1", "tiles in RF have M = 1, but the tile of W there has M = 4"),
        ("RF.I.tile.M=2..", "tiles of I in RF have M of at least 2, but the tile of I there has"),
        ("GLB.tile.K=..4", "tiles in GLB have K of at most 4, but the tile of I there has K = 10"),
        ("RF.keep=O", "RF stores O, but this mapping does not store O there"),
        ("GLB.bypass=I", "GLB does not store I, but this mapping stores I there"),
        ("GLB.order=N,K", "GLB are in the order N, K, but there they are on K, N, outermost first"),
        ("DRAM.innermost=K", "the innermost loop at DRAM is on K, but there it is on M"),
        ("GLB.innermost=K", "the innermost loop at GLB is on K, but there it is on N"),
        # I 1 x 1 and W 1 x 1 words of 16 bits in 256 bits
        ("RF.min_utilization=0.5", "at least 50% of RF is used, but this mapping uses 12.5% (32 "),
        ("RF.even=true", "stores all its tensors at one point, but there are loops on M between"),
        ("even=true", "RF stores all its tensors at one point, but there are loops on M between"),
    ],
)
def test_a_violation_says_what_was_found_instead(text: str, message: str) -> None:
    if text == "RF.min_utilization=0.5":
        assert "(32 of 256 bits)" in fault(text)
    assert message in fault(text)


def test_loops_of_one_chunk_are_no_loops() -> None:
    nodes = list(MAPPING.nodes)
    nodes[6:6] = [For("M", 4), For("K", 2), Spatial("M", 4, "X", "PE")]
    nodes[-1:-1] = [For("N", 1)]
    mapping = Mapping(tuple(nodes))
    check(mapping, LAYER, MACHINE)
    text = "GLB.innermost=N; GLB.order=K,N; PE.dims=N,K; PE.X.max_dims=1"
    assert violations(mapping, LAYER, MACHINE, parse_text(text)) == []


def test_a_block_ends_at_the_first_node_further_in() -> None:
    upper = (Store("DRAM", ALL), Store("GLB", ("I",)), For("K", 5), For("N", 3))
    lower = (Store("RF", ("W",)), For("M", 4), Store("GLB", ("O",)), For("N", 1))
    mapping = Mapping((*upper, *lower))
    machine = replace(MACHINE, levels=tuple(x for x in MACHINE.levels if x.name != "PE"))
    check(mapping, LAYER, machine)
    # the last node of GLB stands below the first one of RF: its block is empty
    for text, holds in [("GLB.innermost=K", True), ("RF.innermost=M", False)]:
        assert (not violations(mapping, LAYER, machine, parse_text(text))) == holds


def test_a_mapping_must_satisfy_the_constraints_of_its_machine() -> None:
    check(MAPPING, LAYER, under(MACHINE, parse_text("GLB.innermost=N")))
    with pytest.raises(MappingError, match="'machine' the innermost loop at GLB is on K, but"):
        check(MAPPING, LAYER, under(MACHINE, parse_text("GLB.innermost=K")))


def test_no_constraints_leave_the_machine_as_it_is() -> None:
    assert under(MACHINE, ()) is MACHINE
