"""Directives to mappings and back, at the command line, and from MAESTRO's own cases."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright
from tilewright.architecture.machine import Architecture, Array, Compute, Memory
from tilewright.cli import main
from tilewright.errors import InputError, MappingError
from tilewright.interop.maestro.express import express
from tilewright.interop.maestro.layers import network_of
from tilewright.interop.maestro.reader import parse_dataflow, parse_network_text
from tilewright.interop.maestro.styles import load_style, style_names
from tilewright.interop.maestro.translate import translate
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.structure import resolve_loops
from tilewright.model.evaluate import evaluate
from tilewright.reference.simulate import simulate
from tilewright.workload.layer import Layer
from tilewright.workload.network import load_network
from tilewright.workload.operators import conv2d, depthwise, matmul, transposed_conv2d

LAYER = conv2d(K=6, C=4, P=5, Q=4, R=3, S=2)
TENSORS = ("I", "W", "O")


def machine(x: int = 4, y: int = 3) -> Architecture:
    array = Array("PE", {"X": x, "Y": y}, hop_energy=1.0)
    levels = (Memory("L2", 8), array, Memory("L1", 8, 1 << 20), Compute("MAC"))
    return Architecture("two axes", levels)


def random_mapping(random: Random) -> tuple[Layer, Mapping]:
    """Return a mapping of the form that directives can say, with any tile sizes."""
    layer = random.choice(
        [
            LAYER,
            conv2d(K=3, C=3, P=4, Q=3, R=2, S=2, stride=2),
            depthwise(G=7, P=4, Q=3, R=2, S=2),
            matmul(M=7, N=6, K=5),
            transposed_conv2d(K=2, C=3, P=3, Q=3, R=2, S=3, stride=2),
        ]
    )
    extents = dict(layer.bounds)
    nodes: list[Node] = []
    room = {"X": 4, "Y": 3}
    for _ in range(random.randint(0, 7)):
        d = random.choice(list(extents))
        tile = random.randint(1, extents[d])
        axis = random.choice("XY")
        chunks = -(-extents[d] // tile)
        if random.random() < 0.4 and chunks <= room[axis]:
            room[axis] //= chunks
            nodes.append(Spatial(d, tile, axis, "PE"))
        else:
            nodes.append(For(d, tile))
        extents[d] = tile
    return layer, Mapping((Store("L2", TENSORS), *nodes, Store("L1", TENSORS)))


def shape(mapping: Mapping, layer: Layer) -> list[tuple[str, int, int, bool]]:
    """Return the loops that make chunks; where those in space stand does not matter."""
    loops = [x for x in resolve_loops(mapping.nodes, layer) if x.chunks > 1]
    loops = loops[: len(loops)]
    return [(x.dimension, x.extent, x.tile, x.array is None) for x in loops]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_mappings_survive_the_notation(seed: int) -> None:
    layer, mapping = random_mapping(Random(seed))
    said = express(mapping, layer, machine())
    text = str(said.dataflow)
    found = translate(parse_dataflow(text, "said.m") if text else said.dataflow, layer, machine())
    one = [x for x in shape(mapping, layer) if x[3]]
    other = [x for x in shape(found.mapping, layer) if x[3]]
    assert one == other
    assert sorted(shape(mapping, layer)) == sorted(shape(found.mapping, layer))
    counted = simulate(layer, machine(), mapping)
    again = simulate(layer, found.architecture, found.mapping)
    assert counted.memories == again.memories
    assert counted.steps == again.steps
    twice = express(found.mapping, layer, found.architecture)
    back = translate(twice.dataflow, layer, machine())
    assert shape(back.mapping, layer) == shape(found.mapping, layer)


@pytest.mark.parametrize("style", style_names())
def test_styles_translate_for_any_layer_and_back(style: str) -> None:
    pes = tilewright.load_architecture("maestro-256")
    for name in ("alexnet", "mobilenet_v2", "resnext50_32x4d", "unet", "bert_base"):
        for layer in load_network(name).layers[:4]:
            found = translate(load_style(style), layer, pes)
            cost = evaluate(layer, found.architecture, found.mapping)
            again = translate(
                express(found.mapping, layer, found.architecture).dataflow, layer, pes
            )
            assert evaluate(layer, again.architecture, again.mapping).counts.memories == (
                cost.counts.memories
            )


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ((For("K", 2), Store("L1", ("I", "W"))), "bypassed by O"),
        ((Store("L1", TENSORS), For("K", 2)), "of whose inside directives say nothing"),
        ((Store("L1", ("I",)), For("K", 2), Store("L1", ("W", "O"))), "several places|inside"),
    ],
)
def test_mappings_that_directives_cannot_say_are_refused(
    nodes: tuple[Node, ...], said: str
) -> None:
    with pytest.raises(MappingError, match=said):
        express(Mapping((Store("L2", TENSORS), *nodes)), LAYER, machine())


def test_three_memories_are_refused() -> None:
    levels = machine().levels
    three = Architecture("three", (Memory("DRAM", 8), Memory("L2", 8, 1 << 20), *levels[1:]))
    nodes = (Store("DRAM", TENSORS), For("K", 2), Store("L2", TENSORS), Store("L1", TENSORS))
    with pytest.raises(MappingError, match="whole tensors"):
        express(Mapping(nodes), LAYER, three)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("TemporalMap(2,1) K;", "computed twice"),
        ("TemporalMap(2,3) K;", "left out"),
        ("TemporalMap(1,1) Q1;", "no dimension 'Q1'"),
        ("TemporalMap(2,2) Y;", "less than the window of 3"),
        ("TemporalMap(Sz(R),2) Y;", "left out"),
        ("SpatialMap(1,1) K; SpatialMap(1,1) C;", "diagonal"),
        ("SpatialMap(1,1) R; TemporalMap(1,1) Y;", "use Y'"),
        ("TemporalMap(1,1) Y'; TemporalMap(3,1) Y;", "maps the same axis"),
        ("TemporalMap(1,1) K; TemporalMap(1,1) K;", "maps it already"),
        ("Cluster(13,P);", "has 12"),
        ("TemporalMap(1-Sz(R),1) K;", "at least 1"),
    ],
)
def test_directives_that_are_not_legal_are_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        translate(parse_dataflow(text, "flow.m"), LAYER, machine())
    assert caught.value.source == "flow.m"


def test_row_stationary_rows_move_with_the_filter() -> None:
    flow = parse_dataflow(
        "SpatialMap(Sz(R),1) Y; TemporalMap(Sz(S),1) X; Cluster(Sz(R),P);"
        "SpatialMap(1,1) Y; SpatialMap(1,1) R;"
    )
    found = translate(flow, LAYER, machine())
    assert found.units == (4, 3)
    loops = shape(found.mapping, LAYER)[:4]
    assert loops == [("P", 5, 4, True), ("P", 4, 1, False), ("Q", 4, 1, True), ("R", 3, 1, False)]


@pytest.mark.parametrize("case", sorted(Path(__file__).parents[2].glob("data/maestro/*.json")))
def test_counts_of_maestro_cases_differ_only_by_definition(case: Path) -> None:
    data = json.loads(case.read_text())
    dims = ", ".join(f"{d}: {n}" for d, n in data["layer"]["dims"].items())
    text = f"Network n {{ Layer a {{ Type: CONV Dimensions {{ {dims} }} }} }}"
    layer = network_of(parse_network_text(text)).layers[0]
    flow = "; ".join(data["mapping_directives"])
    found = tilewright.evaluate(layer, "maestro-256", flow)
    theirs, l2, l1 = data["csv_columns"], found.memories["L2"], found.memories["L1"]
    outputs = layer.bounds["K"] * layer.bounds["P"] * layer.bounds["Q"]
    passes = layer.bounds["C"] // 64  # over the partial sums
    assert found.operations == theirs["Num MACs"]
    assert found.statistics.buffers["L2"].bits / 8 == theirs["L2 SRAM Size Req (Bytes)"]
    # equal: filters, reads of operands, drains of partial sums
    assert l2.tensors["W"].reads == theirs["filter l2 read"]
    assert l1.tensors["W"].writes == theirs["filter l1 write"]
    assert l1.tensors["W"].reads == theirs["filter l1 read"]
    assert l1.tensors["I"].reads == theirs["input l1 read"]
    assert l2.tensors["O"].writes == theirs["output l2 write"]
    # theirs lacks the first window (64 channels, 3x3) after every advance of K
    again = layer.bounds["K"] // 4 - 1
    assert l2.tensors["I"].reads - theirs["input l2 read"] == again * 64 * 9
    # theirs writes a word that 4 clusters receive once
    assert l1.tensors["I"].writes == 4 * l2.tensors["I"].reads
    assert theirs["input l1 write"] == theirs["input l2 read"]
    # theirs never reads partial sums back; its reads of L2 are the way to DRAM
    assert l2.tensors["O"].reads == outputs * (passes - 1)
    assert theirs["output l2 read"] == outputs
    returned = l2.tensors["O"].reads
    assert l1.tensors["O"].writes == theirs["output l1 write"] + returned
    assert l1.tensors["O"].reads == theirs["output l1 read"] + returned


def test_a_style_at_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["evaluate", "alexnet", "maestro-256", "kc-p", "--json", "-", "--statistics"]
    assert main([*arguments, "--layer", "conv3"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["architecture"] == "maestro-256 (4 x 64)"
    assert data["statistics"]["bandwidth"]["Cluster1"]["given"] == 32
    assert main(["evaluate", "alexnet", "maestro-256", "YR-P"]) == 0
    assert "total" in capsys.readouterr().out


def test_conversions_at_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layers, flows, nodes, pes = (str(tmp_path / n) for n in ("w.yaml", "n.m", "m.yaml", "a.yaml"))
    chosen = ["--layer", "conv3"]
    assert main(["convert", "alexnet", "maestro-256", "kc-p", *chosen, "-o", nodes,
                 "--workload", layers, "--machine", pes]) == 0  # fmt: skip
    assert "spatial C in 64 x 1 on PE.X" in capsys.readouterr().out
    assert main(["convert", "alexnet", pes, nodes, *chosen, "-o", flows]) == 0
    text = Path(flows).read_text()
    assert "SpatialMap(1,1) C;" in text
    capsys.readouterr()
    energies = []
    for workload, arch, mapping in ((layers, pes, nodes), (flows, "maestro-256", flows)):
        assert main(["evaluate", workload, arch, mapping, "--json", "-"]) == 0
        energies.append(json.loads(capsys.readouterr().out)["energy_pj"])
    assert energies[0] == energies[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "alexnet", "maestro-256", "kcp", "--layer", "conv3"], "did you mean 'kc-p'?"),
        (["convert", "alexnet", "maestro-256", "kc-p", "--to", "directive"], "'directives'?"),
        (["convert", "none.m", "maestro-256", "kc-p"], "none.m: cannot be read"),
    ],
)
def test_bad_arguments(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
