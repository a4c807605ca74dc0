"""Programs of torch.export: files and objects give the same network, and nothing is dropped."""

from __future__ import annotations

import json
import operator
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from fuzzing import damaged
from tilewright.errors import InputError
from tilewright.frontends.accounting import account, not_understood
from tilewright.frontends.load import load_model
from tilewright.frontends.torch.export import load_program, read_program
from tilewright.frontends.torch.program import Sizes
from tilewright.workload import Network
from tilewright.workload.graphs.graph_checks import check
from torch_files import Exported, small_network


def macs(network: Network) -> int:
    return sum(x.operations * x.repeat for x in network.layers if x.operation == "mac")


def fates(network: Network) -> dict[str, str]:
    return {row.operator.removeprefix("aten."): row.status for row in account(network)}


EXPECTED = 32 * 3 * 9 * 256 + 64 * 32 * 96 + 2 * 4 * 64 * 64 * 8 + 10 * 32


@pytest.mark.parametrize("legacy", [True, False])
def test_a_file_gives_the_operations_of_its_network(tmp_path: Path, legacy: bool) -> None:
    network = load_program(small_network().save(tmp_path / "net.pt2", legacy))
    assert macs(network) == EXPECTED
    assert network.graph is not None
    check(network.graph, {layer.name: layer for layer in network.layers})
    # what batch normalisation has measured is no parameter
    assert network.graph.parameters == 32 * 27 + 32 + 64 + 96 * 32 + 330


def test_every_call_is_accounted_for(tmp_path: Path) -> None:
    network = load_program(small_network().save(tmp_path / "net.pt2"))
    assert fates(network) == {
        "conv2d": "mapped", "linear": "mapped", "scaled_dot_product_attention": "mapped",
        "softmax": "mapped", "relu_": "mapped", "max_pool2d": "mapped", "add": "mapped",
        "mean": "mapped", "addmm": "mapped", "batch_norm": "folded", "flatten": "moves data",
        "permute": "moves data", "split": "moves data", "view": "moves data",
        "transpose": "moves data", "reshape": "moves data", "t": "moves data",
    }  # fmt: skip


def test_symbolic_dimensions_are_bound(tmp_path: Path) -> None:
    path = small_network("s0").save(tmp_path / "net.pt2")
    assert macs(load_program(path, bind={"s0": 6})) == 6 * EXPECTED
    with pytest.raises(InputError, match=r"net.pt2: dimension 's0' has no size.*--bind s0="):
        load_program(path)
    with pytest.raises(InputError, match=r"bind: no symbolic dimension 's1'.*did you mean 's0'"):
        load_program(path, bind={"s0": 1, "s1": 2})


def test_what_is_not_understood_is_named_and_counted(tmp_path: Path) -> None:
    e = Exported()
    x = e.input("x", 4, 8)
    y = e.call("linear.default", [4, 8], input=x, weight=e.parameter("w", 8, 8))
    y = e.call("fft_fft.default", [4, 8], self=y)
    e.outputs.append(e.call("relu.default", [4, 8], self=y))
    network = load_program(e.save(tmp_path / "net.pt2"))
    (row,) = (row for row in account(network) if row.status == "not understood")
    assert (row.operator, row.names, row.operations) == ("aten.fft_fft", ("fft_fft_1",), 32)
    assert fates(network)["relu"] == "mapped"


def test_constants_are_no_operations_of_the_network(tmp_path: Path) -> None:
    e = Exported()
    x = e.input("x", 4, 4)
    mask = e.call("arange.default", [4], end=4)
    mask = e.call("ge.Scalar", [4], self=mask, other=2)
    e.outputs.append(e.call("masked_fill.Scalar", [4, 4], self=x, mask=mask, value=0.0))
    network = load_program(e.save(tmp_path / "net.pt2"))
    assert fates(network) == {"arange": "folded", "ge": "folded", "masked_fill": "mapped"}


def test_recurrent_layers_are_blocks_of_steps(tmp_path: Path) -> None:
    e = Exported()
    x, h, c = e.input("x", 2, 5, 8), e.input("h", 2, 2, 16), e.input("c", 2, 2, 16)
    params = []
    for layer, width in enumerate((8, 16)):
        params += [e.parameter(f"wi{layer}", 64, width), e.parameter(f"wh{layer}", 64, 16),
                   e.parameter(f"bi{layer}", 64), e.parameter(f"bh{layer}", 64)]  # fmt: skip
    name = "lstm_0"
    outputs = [e.tensor(f"{name}_{i}", *s) for i, s in enumerate(([2, 5, 16], [2, 2, 16]))]
    e._node(name, "lstm.input", [{"as_tensor": {"name": n}} for n in outputs],
            {"input": x, "hx": [h, c], "params": params, "has_biases": True, "num_layers": 2,
             "dropout": 0.0, "train": False, "bidirectional": False,
             "batch_first": True})  # fmt: skip
    e.outputs.append(outputs[0])
    network = load_program(e.save(tmp_path / "net.pt2"))
    assert macs(network) == 2 * 5 * 64 * (8 + 16 + 16 + 16)
    assert network.graph is not None
    check(network.graph.unrolled(), {layer.name: layer for layer in network.layers})


class Target:
    """An operator as torch shows it."""

    def __init__(self, name: str, *arguments: str) -> None:
        self.name = name
        self._schema = SimpleNamespace(arguments=[SimpleNamespace(name=a) for a in arguments])

    def __str__(self) -> str:
        return self.name


def node(name: str, op: str, shape: tuple[Any, ...], target: Any = None, *args: Any) -> Any:
    meta = {"val": SimpleNamespace(shape=shape)}
    return SimpleNamespace(name=name, op=op, meta=meta, target=target, args=args, kwargs={})


def test_an_object_gives_the_same_network_as_a_file(tmp_path: Path) -> None:
    e = Exported()
    w = e.parameter("p_w", 16, 8)
    y = e.call("linear.default", [4, 16], input=e.input("x", 4, 8), weight=w)
    e.outputs.append(e.call("relu.default", [4, 16], self=y))
    a, b = node("p_w", "placeholder", (16, 8)), node("x", "placeholder", (4, 8))
    product = node("linear_0", "call_function", (4, 16),
                   Target("aten.linear.default", "input", "weight", "bias"), b, a)  # fmt: skip
    relu = node("relu_1", "call_function", (4, 16), Target("aten.relu.default", "self"), product)
    kinds = {
        name: SimpleNamespace(name=name) for name in ("PARAMETER", "USER_INPUT", "USER_OUTPUT")
    }
    specs = [
        SimpleNamespace(arg=SimpleNamespace(name="p_w"), kind=kinds["PARAMETER"], target="p.w"),
        SimpleNamespace(arg=SimpleNamespace(name="x"), kind=kinds["USER_INPUT"], target=None),
    ]
    outputs = [SimpleNamespace(arg=SimpleNamespace(name="relu_1"), kind=kinds["USER_OUTPUT"])]
    graph = SimpleNamespace(nodes=[a, b, product, relu])
    exported = SimpleNamespace(
        graph_module=SimpleNamespace(graph=graph, _get_name=lambda: "net"),
        graph_signature=SimpleNamespace(input_specs=specs, output_specs=outputs),
    )
    file = load_program(e.save(tmp_path / "net.pt2"))
    network = read_program(exported)
    assert (network.layers, network.graph) == (file.layers, file.graph)
    assert load_model(exported) == network


def test_choices_of_live_programs_are_followed() -> None:
    x = node("x", "placeholder", (4, 8))
    target = Target("aten.split.Tensor", "self", "split_size", "dim")
    parts = node("split", "call_function", (), target, x, 4, 1)
    parts.meta["val"] = [SimpleNamespace(shape=(4, 4)), SimpleNamespace(shape=(4, 4))]
    one = node("getitem", "call_function", (4, 4), operator.getitem, parts, 1)
    fill = node("fill", "call_function", (4, 4), Target("aten.full_like.default", "self"), one)
    total = node("add", "call_function", (4, 4),
                 Target("aten.add.Tensor", "self", "other"), one, fill)  # fmt: skip
    kinds = SimpleNamespace(name="USER_INPUT"), SimpleNamespace(name="USER_OUTPUT")
    exported = SimpleNamespace(
        graph_module=SimpleNamespace(graph=SimpleNamespace(nodes=[x, parts, one, fill, total])),
        graph_signature=SimpleNamespace(
            input_specs=[SimpleNamespace(arg=SimpleNamespace(name="x"), kind=kinds[0])],
            output_specs=[SimpleNamespace(arg=SimpleNamespace(name="add"), kind=kinds[1])],
        ),
    )
    network = read_program(exported)
    assert [layer.operations for layer in network.layers] == [16]
    assert not not_understood(network)


class Module:
    """What makes a module one, without torch."""

    def forward(self, x: Any) -> Any:
        return x

    def state_dict(self) -> dict[str, Any]:
        return {}

    def named_parameters(self) -> list[Any]:
        return []


def test_modules_are_exported_with_example_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tw.InputError, match="torch is not imported"):
        tw.load_workload(Module(), example_inputs=[(4, 8)])
    given: list[Any] = []

    def export(module: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        given.append((arguments, named))
        shape = arguments[0].shape
        if len(shape) != 2:
            raise RuntimeError("two axes\nare needed")
        relu = Target("aten.relu.default", "self")
        nodes = [node("x", "placeholder", shape), node("y", "call_function", shape, relu)]
        nodes[1].args = (nodes[0],)
        kinds = SimpleNamespace(name="USER_INPUT"), SimpleNamespace(name="USER_OUTPUT")
        return SimpleNamespace(
            graph_module=SimpleNamespace(graph=SimpleNamespace(nodes=nodes)),
            graph_signature=SimpleNamespace(
                input_specs=[SimpleNamespace(arg=SimpleNamespace(name="x"), kind=kinds[0])],
                output_specs=[SimpleNamespace(arg=SimpleNamespace(name="y"), kind=kinds[1])],
            ),
        )

    one = SimpleNamespace(expand=lambda *sizes: SimpleNamespace(shape=sizes))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(empty=lambda _: one))
    monkeypatch.setitem(sys.modules, "torch.export", SimpleNamespace(export=export))
    network = tw.load_workload(Module(), example_inputs=[(4, 8)])
    assert network.name == "Module"
    assert network.operations == 32
    result = tw.map(Module(), "simple", example_inputs=(4, 8), tiles="divisors")
    assert result.network.operations == 32
    assert all(not named for _, named in given)
    with pytest.raises(tw.InputError, match="known with example_inputs"):
        tw.map(Module(), "simple")
    with pytest.raises(tw.InputError, match=r"exported by torch: RuntimeError: two axes$"):
        tw.map(Module(), "simple", example_inputs=[(4, 8, 2)])
    with pytest.raises(tw.InputError, match="example_inputs: expected a shape"):
        tw.map(Module(), "simple", example_inputs=[(4, 0)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [("s0", 5), ("2*s0 + 1", 11), ("((s0 - 1)//2) + 1", 3), ("Mod(s0, 2)", 1), ("Max(1, s0)", 5),
     ("floor(s0/2)", 2), ("s0**2", 25), ("-s0 + 7", 2)],
)  # fmt: skip
def test_expressions_of_sizes_are_computed(text: str, expected: int) -> None:
    assert Sizes({"s0": 5}).value(text) == expected


@pytest.mark.parametrize("text", ["__import__('os')", "s0.x", "9**9**9", "f(s0)", "(", "s0/0"])
def test_other_expressions_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="cannot compute the size"):
        Sizes({"s0": 5}).value(text)


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.pt2"
    with pytest.raises(InputError, match=r"net.pt2: cannot be read: No such file"):
        load_program(path)
    path.write_text("no zip")
    with pytest.raises(InputError, match=r"is no file of torch\.export\.save"):
        load_program(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights.txt", "x")
    with pytest.raises(InputError, match="it has no model"):
        load_program(path)
    small_network().save(path, major=99)
    with pytest.raises(InputError, match=r"has version 99.2 .* versions 5 to 8 are read"):
        load_program(path)


@settings(max_examples=150, deadline=None)
@given(st.builds(small_network).flatmap(lambda model: damaged(model.data())))
def test_damaged_files_are_answered_with_one_message(
    tmp_path_factory: pytest.TempPathFactory, tree: Any
) -> None:
    file = tmp_path_factory.mktemp("damaged") / "net.pt2"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("net/models/model.json", json.dumps(tree))
    try:
        load_program(file)
    except InputError as failure:
        assert str(failure)
