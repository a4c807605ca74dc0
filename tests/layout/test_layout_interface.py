"""Data layouts from Python and from the command line."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli import main
from tilewright.errors import InputError
from tilewright.layout.evaluate import BlockEvaluation
from tilewright.mapping.files import dump_mappings
from tilewright.workload.network import dump_network, load_network

LAYER = tw.conv2d(name="conv", K=96, C=100, P=15, Q=15, R=3, S=3)
NETWORK = tw.Network("two", (LAYER, tw.depthwise(name="dw", G=96, P=14, Q=14, R=3, S=3)))


def test_whole_blocks_set_traffic_energy_and_cycles() -> None:
    machine = tw.load_architecture("marvel-p1")
    choice = tw.best_layout(LAYER, machine).choices[0]
    plain = tw.evaluate(LAYER, machine, choice.mapping)
    found = tw.evaluate(LAYER, machine, choice.mapping, layouts={"I": "N,C,P,Q"})
    assert isinstance(found, BlockEvaluation)
    for name, counts in found.blocks.items():
        moved = found.memories["DRAM"].tensors[name]
        assert moved.reads == counts.reads * 64
        assert moved.writes == counts.writes * 64
        assert moved.reads + moved.writes >= found.touched[name]
    more = found.memories["DRAM"].energy_pj - plain.memories["DRAM"].energy_pj
    assert more > 0
    assert found.energy_pj == pytest.approx(plain.energy_pj + more)
    assert found.counts.memories["L2"] == plain.counts.memories["L2"]


def test_best_layouts_move_the_fewest_blocks() -> None:
    machine = tw.load_architecture("marvel-p1")
    choice = tw.best_layout(LAYER, machine).choices[0]
    best = tw.evaluate(LAYER, machine, choice.mapping, layouts="best")
    assert isinstance(best, BlockEvaluation)
    for own in ({}, {"I": "Q,P,C,N", "W": "R,S,C,K"}, {"O": "N,P,Q,K"}):
        other = tw.evaluate(LAYER, machine, choice.mapping, layouts=own)
        assert best.energy_pj <= other.energy_pj
    assert best.to_dict()["blocks"]["W"]["words_per_block"] == 64
    assert "blocks of DRAM" in best.text()


def test_bad_layouts_name_what_is_accepted() -> None:
    machine = tw.load_architecture("marvel-p1")
    mapping = tw.best_layout(LAYER, machine).choices[0].mapping
    for layouts, message in (
        ({"X": "N"}, "unknown tensor 'X'"),
        ("bets", "expected one layout per tensor"),
        ({"O": "N,K,P"}, "leaves out Q"),
    ):
        with pytest.raises(InputError, match=message):
            tw.evaluate(LAYER, machine, mapping, layouts=layouts)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="has no block"):
        tw.best_layout(LAYER, "eyeriss")
    with pytest.raises(InputError, match="no layer has a dimension 'X'"):
        tw.best_layout(LAYER, machine, whole=["X"])
    with pytest.raises(InputError, match="expected 'words' or 'box'"):
        tw.best_layout(LAYER, machine, extents="boxes")


def test_a_uniform_layout_costs_at_least_as_much() -> None:
    found = tw.best_layout(NETWORK, "marvel-p1", uniform=True)
    assert found.uniform is not None
    assert found.penalty is not None and found.penalty >= 0
    assert set(found.uniform.axes) == {"I", "W", "O"}
    assert "One layout for all layers" in found.text()
    assert len(found.to_frame()) == 2
    assert found["dw"].cost.layer.name == "dw"


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["layout", "alexnet", "marvel-p1", "--layer", "conv3", "--json", "-"]) == 0
    data = json.loads(capsys.readouterr().out)
    (layer,) = data["layers"]
    assert layer["blocks"]["I"]["reads"] > 0
    machine = tw.load_architecture("marvel-p1")
    choice = tw.best_layout("alexnet", machine, layer="conv3").choices[0]
    file = tmp_path / "mapping.yaml"
    file.write_text(dump_mappings([(choice.cost.layer, choice.mapping)], "marvel-p1", "alexnet"))
    command = ["evaluate", "alexnet", "marvel-p1", str(file), "--layer", "conv3"]
    assert main([*command, "--layout", "best"]) == 0
    assert "blocks of DRAM" in capsys.readouterr().out
    assert main([*command, "--layout", "I=N,P,Q,C", "--layout", "W"]) == 2
    assert "expected a tensor and its axes" in capsys.readouterr().err
    assert main(["layout", "alexnet", "marvel-p1", "--whole", "X"]) == 2
    assert "--whole" in capsys.readouterr().err


LAID = """
name: two
layers:
  - {name: conv, op: conv2d, K: 4, C: 6, P: 5, Q: 5, R: 3, S: 3,
     layout: {I: "N,P,Q,C", W: "S,R,C,K"}}
  - {name: fc, op: fully_connected, K: 10, C: 12}
"""
TILES = [{"store": "DRAM"}, {"for": "C", "tile": 2}, {"store": "L2"}, {"for": "K", "tile": 1}]


def test_layouts_of_a_workload_file_are_those_of_evaluate_and_simulate(tmp_path: Path) -> None:
    file = tmp_path / "laid.yaml"
    file.write_text(LAID)
    machine = tw.load_architecture("marvel-p1")
    own = tw.evaluate(file, machine, TILES, layer="conv")
    assert isinstance(own, BlockEvaluation)
    given = {"I": "N,P,Q,C", "W": "S,R,C,K"}
    bare = tw.conv2d(name="conv", K=4, C=6, P=5, Q=5, R=3, S=3)
    assert own.blocks == tw.evaluate(bare, machine, TILES, layouts=given).blocks  # type: ignore[attr-defined]
    simulated = tw.simulate(file, machine, TILES, layer="conv")
    assert isinstance(simulated, BlockEvaluation)
    assert simulated.blocks == own.blocks
    assert simulated.energy_pj == own.energy_pj
    # what is given comes first, and what it leaves out is as the workload says
    other = tw.evaluate(file, machine, TILES, layer="conv", layouts={"I": "N,C,P,Q"})
    assert isinstance(other, BlockEvaluation)
    assert other.layout_text("I") == "N,C,P,Q"
    assert other.layout_text("W") == "S,R,C,K"
    # without layouts, or without blocks, words are counted
    plain = tw.evaluate(bare, machine, TILES)
    assert not isinstance(plain, BlockEvaluation)
    outer = replace(machine.memories[0], block_bytes=None)
    machine = replace(machine, levels=(outer, *machine.levels[1:]))
    assert tw.evaluate(file, machine, TILES, layer="conv").energy_pj == plain.energy_pj


def test_layouts_of_a_workload_are_written_and_read_back(tmp_path: Path) -> None:
    file = tmp_path / "laid.yaml"
    file.write_text(LAID)
    network = load_network(file)
    again = tmp_path / "again.yaml"
    again.write_text(dump_network(network))
    assert load_network(again) == network
    assert network.layers[0].tensors[1].layout == "S,R,C,K"
    assert "layout" not in dump_network(tw.Network("fc", network.layers[1:]))


def test_simulate_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    net, mapping = tmp_path / "laid.yaml", tmp_path / "mapping.json"
    net.write_text(LAID)
    mapping.write_text(json.dumps({"mapping": TILES}))
    command = [str(net), "marvel-p1", str(mapping), "--layer", "conv", "--json", "-"]
    found = []
    for verb in ("evaluate", "simulate"):
        assert main([verb, *command, "--layout", "O=N,P,Q,K"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["blocks"] == found[1]["blocks"]
    assert found[0]["layouts"] == {"I": "N,P,Q,C", "W": "S,R,C,K", "O": "N,P,Q,K"}
