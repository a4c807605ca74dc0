"""ZigZag's workloads, hardware and mappings: the same loops, levels and unrolling."""

from __future__ import annotations

from pathlib import Path

import pytest

import tilewright as tw
from other_files import LEVELS, ZIGZAG_MAPPING, ZIGZAG_WORKLOAD, zigzag_hardware
from tilewright.cli import main
from tilewright.workload.graph import Node
from tilewright.workload.graphs.graph_checks import check
from tilewright.workload.view import Pad


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("net", ZIGZAG_WORKLOAD),
        ("machine", zigzag_hardware()),
        ("mapping", ZIGZAG_MAPPING),
    ):
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_layers_have_the_loops_of_the_equations(folder: Path) -> None:
    network = tw.load_workload("net.yaml")
    first, pool, total = network.layers
    assert first.einsum == "O[N,K,P,Q] += I[N,C,2*P+R,2*Q+S] * W[K,C,R,S]"
    assert first.bounds == {"N": 1, "K": 64, "C": 3, "P": 12, "Q": 12, "R": 7, "S": 7}
    assert [t.bits for t in first.tensors] == [8, 8, 16]
    assert pool.einsum == "O[N,G,P,Q] += I[N,G,2*P+R,2*Q+S]"
    assert pool.operations == 64 * 36 * 9
    assert (total.name, total.operation) == ("sum", "add")


def test_sources_connect_the_layers(folder: Path) -> None:
    network = tw.load_workload("net.yaml")
    graph = network.graph
    assert graph is not None
    check(graph, {layer.name: layer for layer in network.layers})
    _, pool, total = graph.nodes
    assert isinstance(pool, Node)
    assert isinstance(total, Node)
    # the window reaches one row beyond the 12 that are made: that is padding
    assert list(pool.inputs["I"].tensors()) == ["Conv_0"]
    assert pool.inputs["I"].steps == (Pad(((0, 0), (0, 0), (0, 1), (0, 1))),)
    assert {name: list(view.tensors()) for name, view in total.inputs.items()} == {
        "I": ["Pooling_1"], "W": ["Pooling_1"],
    }  # fmt: skip


def test_nested_memories_are_levels_of_a_chain(folder: Path) -> None:
    result = tw.map("net.yaml", "machine.yaml", layer="Conv_0", constraints="mapping.yaml",
                    tiles="divisors")  # fmt: skip
    machine = result.architecture
    assert [level.name for level in machine.levels] == [
        "dram", "sram", "D2", "sums", "D1", "weights", "MAC",
    ]  # fmt: skip
    assert machine.instances("sums") == 4
    assert machine.instances("weights") == 32
    assert [m.must_keep for m in machine.memories] == [frozenset(), {"I", "O"}, {"O"}, {"W"}]
    sram = machine.memories[1]
    # a word is what a port reads; two writes of half of it
    assert (sram.word_bits, sram.read_energy, sram.write_energy) == (64, 9, 6)
    assert (sram.read_bandwidth, sram.write_bandwidth) == (1, 0.5)
    assert machine.compute.energy == 0.04
    unrolled = {
        (node.axis, node.dimension)
        for node in result.layers[0].mapping.nodes
        if isinstance(node, tw.Spatial)
    }
    assert unrolled <= {("D1", "C"), ("D2", "K")}


@pytest.mark.long
def test_memories_across_the_chain_become_copies_of_the_same_energy(folder: Path) -> None:
    # inputs along one dimension, sums along the other: neither is inside the other
    levels = (*LEVELS[:1], ("rows", 8, 8, 8, 0.5, "I1", "D2"), *LEVELS[1:])
    (folder / "machine.yaml").write_text(zigzag_hardware(levels))
    found = tw.map("net.yaml", "machine.yaml", layer="Conv_0", tiles="divisors", time_limit=5)
    machine = found.architecture
    assert any("sums serves D1" in note or "rows serves D2" in note for note in machine.notes)
    copied = next(m for m in machine.memories if f"{m.name} serves" in " ".join(machine.notes))
    original = {level[0]: level for level in levels}[copied.name]
    copies = {"D1": 8, "D2": 4}[str(original[6])]
    assert copied.read_energy == pytest.approx(float(str(original[4])) / copies)


def test_the_command_names_what_is_not_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = ZIGZAG_MAPPING + "  temporal_ordering: [[K, 4]]\n- name: Add\n  core_allocation: [1]\n"
    (folder / "mapping.yaml").write_text(text.replace("C, 8", "G, 8"))
    words = ["map", "net.yaml", "machine.yaml", "--layer", "sum", "--tiles", "divisors"]
    (folder / "mapping.yaml").write_text(
        (folder / "mapping.yaml").read_text().replace("C, 8", "G, 8")
    )
    assert main([*words, "--constraint", "mapping.yaml"]) == 0
    said = capsys.readouterr().err
    assert "mapping.yaml:7: [0].temporal_ordering is not read" in said
    assert "mapping.yaml:8: of mappings, 'default' is read, not 'Add'" in said


@pytest.mark.parametrize(
    ("file", "old", "new", "says"),
    [
        ("net", "ix=2*ox+1*fx, iy=2*oy+1*fy]\n  loop_dims: [B, K", "ix=ox]\n  loop_dims: [B, K",
         "net.yaml:4: [0].dimension_relations"),
        ("net", "[1, 64, 3, 12, 12, 7, 7]", "[1, 64, 3, 12, 12, 7]", "7 loop_dims have 6"),
        ("net", "+=W[k][c][fy][fx]*I", "+=W[k][c][fy][fx]I", "expected an equation such as"),
        ("net", "equation: O[b][k]", "equation: O[b][z]", "index 'z' of O is neither a loop"),
        ("net", "operand_source: {W: 1, I: 1}", "operand_source: {W: 9, I: 1}", "not before it"),
        ("net", "id: 7", "id: 1", "id 1 occurs twice"),
        ("net", "  loop_sizes: [1, 64, 6, 6]", "  loop_sises: [1, 64, 6, 6]", "did you mean 'loop"),
        ("machine", "[8, 4]", "[8]", "as many 'sizes' as 'dimensions'"),
        ("machine", "served_dimensions: [D1]", "served_dimensions: [D3]", "no dimension 'D3'"),
        ("machine", "operands: [I2]", "operands: [I3]", "expected operands among I1, I2, O"),
        ("machine", "size: 8192", "size: big", "memories.sram.size: expected a number"),
        ("mapping", "D2:", "D9:", "has no axis 'D9'; it has D2, D1"),
        ("mapping", '"K, 4"', '"4"', "expected a loop and its size"),
        ("mapping", "W: I2, I: I1", "W: I1, I: I2", "memory_operand_links"),
    ],
)  # fmt: skip
def test_bad_files_are_told_with_their_place(
    folder: Path, file: str, old: str, new: str, says: str
) -> None:
    text = (folder / f"{file}.yaml").read_text()
    assert old in text
    (folder / f"{file}.yaml").write_text(text.replace(old, new, 1))
    with pytest.raises(tw.InputError) as failure:
        tw.map("net.yaml", "machine.yaml", constraints="mapping.yaml")
    assert says in str(failure.value)
    assert f"{file}.yaml:" in str(failure.value)
