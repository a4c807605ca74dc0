"""Fused mappings in files and as text: read back as they are, and refused with line and key."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from fused_cases import random_kind, random_machine, random_tree
from tilewright import InputError, evaluate_fused, simulate_fused
from tilewright.cli import main
from tilewright.document import parse
from tilewright.mapping.fused import (
    dump_fused,
    fused_text,
    parse_fused,
    parse_fused_text,
    segment,
)
from tilewright.workload.network import load_network

NETWORK = """\
name: ffn
layers:
  - {name: fc1, op: matmul, M: 8, N: 6, K: 4, tensors: {I: X, O: H}}
  - {name: fc2, op: matmul, M: 8, N: 5, K: 6, tensors: {I: H, O: Y}}
inputs: {X: [8, 4]}
"""
MACHINE = """\
name: small
clock: 200 MHz
levels:
  - {memory: DRAM, word: 16 bits, energy: {read: 200, write: 200}, bandwidth: 16}
  - {memory: GLB, size: 128 B, word: 16 bits, energy: {read: 6, write: 6}}
  - {array: PE, axes: {X: 4}}
  - {memory: RF, size: 16 B, word: 16 bits, energy: {read: 1, write: 1}}
  - {compute: MAC, energy: 1}
"""
MAPPING = """\
mapping:
  - {store: DRAM}
  - {for: M, tile: 2}
  - {store: GLB, tensors: [H]}
  - fuse:
      - layer: fc1
        nodes:
          - {spatial: N, tile: 2, axis: X}
          - {store: RF, tensors: [O]}
      - layer: fc2
        nodes:
          - {store: GLB, tensors: [W]}
          - {for: N, tile: 1}
"""
CASES = [
    ("store: GLB, tensors: [H]", "store: GLBB, tensors: [H]", 4, "no memory 'GLBB' in archi"),
    ("store: GLB, tensors: [H]", "store: RF, tensors: [H]", 4, "lies inside array 'PE'"),
    ("tensors: [H]", "tensors: [HH]", 4, "no tensor 'HH' in the segment; accepted: H, Y, X"),
    ("tensors: [H]", "tensors: [Y]", 1, "H has to be stored in a shared node, above what uses it"),
    ("for: M, tile: 2", "for: M, tile: 9", 3, "tile of M must be from 1 to 8"),
    ("for: M, tile: 2", "for: m, tile: 2", 3, "no dimension 'm' in the segment"),
    ("for: M, tile: 2", "for: N, tile: 2", 3, "'N' is ambiguous: fc1.N and fc2.N are not tied"),
    ("for: M, tile: 2", "for: fc1.K, tile: 2", 3, "layer 'fc2' has no dimension tied to fc1.K"),
    ("for: M, tile: 2", "spatial: M, tile: 2", 3, "do not share spatial loops"),
    ("layer: fc2", "layer: fc3", 10, "no layer 'fc3' in the graph; did you mean 'fc2'?"),
    ("layer: fc1", "layer: fc2", 10, "layer 'fc2' runs in two branches"),
    ("store: GLB, tensors: [W]", "store: GLB, tensors: [I]", 12, "'GLB' stores I below 'GLB'"),
    ("for: N, tile: 1", "for: N, tile: 7", 13, "tile of N must be from 1 to 5"),
    ("for: N, tile: 1", "fore: N, tile: 1", 13, "expected a node with one of the keys"),
    ("  - fuse:", "  - fues:", 5, "expected 'fuse' or 'pipeline' with a list of branches"),
    ("mapping:\n", "mapping:\nhalo: {}\n", None, "expected"),
    ("mapping:\n", "halos: {H: {M: keep}}\nmapping:\n", 1, "no mode 'keep' in halos"),
    ("mapping:\n", "halos: {H: {K: retain}}\nmapping:\n", 1, "no dimension 'K' in tensor 'H'"),
    ("mapping:\n", "halos: {X: {M: retain}}\nmapping:\n", 1, "no exchanged tensor 'X'"),
    ("mapping:\n", "halos: {H: {M: refetch}}\nmapping:\n", 1, "no memory stores it above"),
    ("{store: DRAM}", "{store: DRAM, tensors: [H, X, Y, fc1.W, fc2.W]}", 2, "'DRAM' stores H as"),
    ("- layer: fc2", "- turns: [{bounds: {M: 3}}]\n        layer: fc2", None, "its turns have M 2"),
    ("- layer: fc2", "- turns: [{bounds: {Q: 3}}]\n        layer: fc2", None, "no dimension 'Q'"),
    (
        "- layer: fc2",
        "- turns: [{nodes: []}]\n        layer: fc2",
        None,
        "expected a turn: {bounds",
    ),
    ("tensors: [H]", "tensors: [H, fc1.W, X]", 1, "while layer 'fc2' runs, the tiles in 'GLB'"),
]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "net.yaml").write_text(NETWORK)
    (tmp_path / "machine.yaml").write_text(MACHINE)
    (tmp_path / "fused.yaml").write_text(MAPPING)
    return tmp_path


def test_a_mapping_is_priced_from_its_file(files: Path) -> None:
    given = [files / name for name in ("net.yaml", "machine.yaml", "fused.yaml")]
    found, simulated = evaluate_fused(*given), simulate_fused(*given)
    assert found.to_dict() == simulated.to_dict()
    assert "fc1 + fc2 on small" in found.text()
    assert max(map(len, found.text().splitlines())) <= 80
    assert list(found.to_frame().columns) == ["memory", "tensor", "reads", "writes", "peak_words"]


def test_commands_take_fused_mappings(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(files / name) for name in ("net.yaml", "machine.yaml", "fused.yaml")]
    assert main(["evaluate", *words]) == 0
    shown = capsys.readouterr().out
    assert "GLB     H " in shown
    assert main(["simulate", *words]) == 0
    assert capsys.readouterr().out == shown
    assert main(["evaluate", *words, "--layer", "fc1"]) == 2
    assert "not with fused mappings" in capsys.readouterr().err


@pytest.mark.parametrize(("old", "new", "line", "says"), CASES)
def test_what_is_wrong_is_said_with_its_line(
    files: Path, old: str, new: str, line: int | None, says: str
) -> None:
    assert old in MAPPING
    (files / "fused.yaml").write_text(MAPPING.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        evaluate_fused(files / "net.yaml", files / "machine.yaml", files / "fused.yaml")
    assert says in caught.value.message
    assert caught.value.source is not None
    if line is not None:
        assert caught.value.line == line


def test_networks_have_several_segments_and_other_layers(files: Path) -> None:
    three = NETWORK.replace(
        "inputs", "  - {name: fc3, op: matmul, M: 8, N: 2, K: 5, tensors: {I: Y}}\ninputs"
    )
    (files / "net.yaml").write_text(three)
    inner = MAPPING.replace("\n", "\n    ").strip()
    alone = "mappings: {fc3: [{store: DRAM}]}\n"
    for rest, missing in ((alone, ()), ("", ("fc3",))):
        (files / "fused.yaml").write_text(f"segments:\n  - {inner}\n{rest}")
        given = [files / name for name in ("net.yaml", "machine.yaml", "fused.yaml")]
        found = evaluate_fused(*given)
        assert found.missing == missing
        parts = [each.energy_pj for each in found.segments]
        assert found.energy_pj == sum(parts) + sum(one.energy_pj for one, _ in found.layers)
        assert simulate_fused(*given).to_dict() == found.to_dict()


@pytest.mark.parametrize("seed", range(40))
def test_trees_read_back_as_they_were_written(seed: int) -> None:
    random = Random(seed)
    network = random_kind(random)
    found = segment(network, [layer.name for layer in network.layers])
    machine = random_machine(random)
    tree = random_tree(random, found, ("retain", "recompute"))
    written = dump_fused([(found, tree)], [], network, machine.name)
    assert parse_fused(parse(written), network, machine).segments == ((found, tree),)
    shown = fused_text(tree, found, machine)
    assert parse_fused_text(shown, network, machine) == (found, tree)


def test_views_of_graphs_tie_dimensions() -> None:
    attention = segment(load_network("bert_base"), ["layer.query", "layer.scores"])
    (exchange,) = attention.exchanges
    # of the 768 columns of the query, head b has those from 64 b on
    assert [(t.made, t.read, t.step, t.span) for t in exchange.ties] == [
        ("M", "M", 1, 1),
        ("N", "B", 64, 64),
    ]
    block = segment(load_network("resnet50"), ["conv3_2.reduce", "conv3_2.3x3", "conv3_2.expand"])
    assert block.repeat == 3
    # through the activation and the pad: row 0 of the window begins one row above the data
    assert [(t.made, t.span, t.offset) for t in block.exchanges[0].ties] == [
        ("K", 1, 0),
        ("P", 3, -1),
        ("Q", 3, -1),
    ]
