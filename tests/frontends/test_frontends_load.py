"""Models are accepted wherever a workload is, with what is said about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tilewright as tw
from tilewright.cli import main
from tilewright.errors import InputError
from tilewright.frontends.accounting import account
from tilewright.frontends.configurations.configuration import MODELS
from tilewright.workload import load_network
from torch_files import small_network

onnx_models = pytest.importorskip("onnx_models")


def test_every_format_is_one_call(tmp_path: Path) -> None:
    onnx = onnx_models.alexnet().save(tmp_path / "alexnet.onnx")
    program = small_network().save(tmp_path / "net.pt2")
    config = tmp_path / "config.json"
    config.write_text((MODELS / "gpt2.json").read_text())
    assert tw.load_workload(onnx).name == "alexnet"
    assert tw.load_workload(str(program)).name == "net"
    for name in (config, f"hf:{config}", "hf:gpt2"):
        assert len(tw.load_workload(name, tokens=8).layers) == 12
    assert tw.load_workload("resnet50") == load_network("resnet50")


def test_options_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    onnx = onnx_models.alexnet().save(tmp_path / "alexnet.onnx")
    for name, option in (("resnet50", {"phase": "decode"}), (onnx, {"batch": 2}),
                         ("hf:gpt2", {"bind": {"x": 1}})):  # fmt: skip
        with pytest.raises(InputError, match="means nothing for this workload"):
            tw.load_workload(name, **option)
    with pytest.raises(InputError, match="means nothing for this workload"):
        tw.load_workload(load_network("alexnet"), batch=2)


def test_unknown_models_are_answered_with_the_nearest() -> None:
    with pytest.raises(InputError, match=r"no model 'llama-3-8'; .*did you mean 'llama-3-8b'"):
        tw.load_workload("hf:llama-3-8")


def test_a_layer_of_a_model_is_mapped_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx = onnx_models.alexnet().save(tmp_path / "alexnet.onnx")
    out = tmp_path / "out.json"
    name = next(x.name for x in tw.load_workload(onnx).layers if x.operations == 9216 * 4096)
    arguments = ["map", str(onnx), "eyeriss", "--layer", name, "--no-cache", "--json", str(out)]
    assert main([*arguments, "--only", "matmul", "--tiles", "divisors"]) == 0
    (layer,) = json.loads(out.read_text())["layers"]
    assert layer["operations"] == 9216 * 4096
    assert name in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["hf:gpt2", "--phase", "decode", "--context", "100"], 0, "Parameters: 124,439,808"),
        (["hf:gpt2", "--tokens", "x"], 2, "--tokens: expected a whole number, found 'x'"),
        (["hf:gpt2", "--phase", "dec"], 2, "--phase: no phase 'dec'"),
        (["hf:gpt2", "--bind", "a=1"], 2, "--bind: means nothing for this workload"),
        (["hf:gpt2", "--only", "conv2"], 2, "--only: no kind of operation 'conv2'"),
        (["MODEL", "--bind", "batch"], 2, "--bind: expected names and sizes"),
        (["MODEL"], 2, "--bind batch=1 gives it one"),
        (["MODEL", "--bind", "batch=2", "--only", "conv"], 0, "left out"),
        (["eyeriss", "--phase", "decode"], 2, "--phase: means nothing"),
    ],
)
def test_show_tells_what_became_of_every_operation(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    status: int,
    says: str,
) -> None:
    path = onnx_models.vgg16().save(tmp_path / "vgg.onnx")
    assert main(["show", *(a.replace("MODEL", str(path)) for a in arguments)]) == status
    shown = capsys.readouterr()
    assert says in shown.out + shown.err


def test_mapping_says_what_it_leaves_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = onnx_models.Model()
    x = model.add("Relu", model.input("x", (4, 8)))
    model.output(model.add("Det", model.add("Reshape", x, model.numbers(2, 4, 4))))
    path = model.save(tmp_path / "model.onnx")
    assert main(["map", str(path), "simple", "--no-cache"]) == 0
    assert "not understood, and not mapped: Det (Det2), at least 2 oper" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["resnet50", "llama2_7b_decode", "alexnet"])
def test_accounts_add_up(name: str) -> None:
    network = load_network(name)
    rows = account(network)
    mapped = [row for row in rows if row.status == "mapped"]
    assert sum(row.operations for row in mapped) == network.operations
    assert sum(row.nodes for row in mapped) == sum(layer.repeat for layer in network.layers)


def test_equal_layers_are_solved_once(tmp_path: Path) -> None:
    network = tw.load_workload("hf:llama-2-7b", phase="decode", only=["matmul"])
    graph: Any = network.graph
    assert len(network.layers) == 6
    assert sum(graph.uses().values()) == 32 * 9 + 1
