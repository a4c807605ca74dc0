"""Data layouts from Python and from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.cli import main
from tilewright.errors import InputError
from tilewright.layout.evaluate import BlockEvaluation
from tilewright.mapping.files import dump_mappings

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
