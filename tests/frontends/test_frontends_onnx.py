"""ONNX files have the operations and the shapes that were published and that ONNX infers."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnx_models import (
    Model,
    TensorProto,
    alexnet,
    efficientnet_b0,
    helper,
    mobilenet_v2,
    onnx,
    resnet50,
    vgg16,
    vit_b16,
)
from tilewright.document import parse
from tilewright.errors import InputError
from tilewright.frontends.accounting import account
from tilewright.frontends.onnx.model import load_onnx
from tilewright.frontends.onnx.wire_format import without_weights
from tilewright.workload import Block, Network, dump_network, load_network, parse_network
from tilewright.workload.graphs.graph_checks import check

# Multiply-accumulates and the unit of the last printed digit: torchvision, *_Weights, "GFLOPS"
# (MobileNetV2, EfficientNet: the papers say the same); parameters where no normalisation is folded.
PUBLISHED: list[tuple[Callable[[], Model], float, float, int | None]] = [
    (resnet50, 4.09e9, 0.01e9, None),
    (mobilenet_v2, 0.300e9, 0.001e9, 3_504_872),
    (vgg16, 15.47e9, 0.01e9, 138_357_544),
    (alexnet, 0.71e9, 0.01e9, 61_100_840),
    (vit_b16, 17.56e9, 0.01e9, 86_567_656),
    (efficientnet_b0, 0.39e9, 0.01e9, None),
]


def read(tmp_path: Path, model: Model, **options: Any) -> Network:
    return load_onnx(model.save(tmp_path / "model.onnx"), **options)


def macs(network: Network) -> int:
    return sum(x.operations * x.repeat for x in network.layers if x.operation == "mac")


def shapes(network: Network) -> dict[str, tuple[int, ...]]:
    assert network.graph is not None
    check(network.graph, {layer.name: layer for layer in network.layers})
    return network.graph.unrolled().shapes()


@pytest.mark.parametrize(("build", "operations", "unit", "parameters"), PUBLISHED)
def test_networks_have_the_published_operations(
    tmp_path: Path,
    build: Callable[[], Model],
    operations: float,
    unit: float,
    parameters: int | None,
) -> None:
    bind = {"batch": 1} if build in (vgg16, vit_b16) else None
    network = read(tmp_path, build(), bind=bind)
    assert abs(macs(network) - operations) <= unit
    if parameters is not None:
        assert network.graph is not None
        assert network.graph.parameters == parameters
    assert not [row for row in account(network) if row.status == "not understood"]


@pytest.mark.parametrize("build", [resnet50, vit_b16])
def test_imported_graphs_read_back_equal(tmp_path: Path, build: Callable[[], Model]) -> None:
    network = read(tmp_path, build(), bind={"batch": 1} if build is vit_b16 else None)
    assert parse_network(parse(dump_network(network))) == network


@pytest.mark.parametrize(
    ("build", "name"), [(resnet50, "resnet50"), (mobilenet_v2, "mobilenet_v2")]
)
def test_imported_layers_equal_those_that_ship(
    tmp_path: Path, build: Callable[[], Model], name: str
) -> None:
    imported = read(tmp_path, build(), only=["conv", "matmul"])

    def shape(network: Network) -> Counter[Any]:
        return Counter({(x.einsum, tuple(x.bounds.items())): x.repeat for x in network.layers})

    assert shape(imported) == shape(load_network(build.__name__))


def test_only_what_is_asked_for_is_mapped_and_the_rest_is_on_record(tmp_path: Path) -> None:
    everything = read(tmp_path, resnet50())
    some = read(tmp_path, resnet50(), only=["conv"])
    assert {x.operation for x in some.layers} == {"mac"}
    left = {row.operator: row for row in account(some) if row.status == "left out"}
    assert set(left) == {"Relu", "MaxPool", "Add", "GlobalAveragePool", "Gemm"}
    assert left["Gemm"].operations == 2_048_000
    total = sum(row.operations for row in account(some))
    assert total == everything.operations == sum(row.operations for row in account(everything))


# Operator, input shapes, attributes, multiply-accumulates (None: no layer of these).
CASES: list[tuple[str, list[Any], dict[str, Any], int | None]] = [
    ("Conv", [(2, 4, 20), (6, 4, 3)], {}, 2 * 6 * 4 * 18 * 3),
    ("Conv", [(1, 4, 9, 9), (6, 2, 3, 3)], {"group": 2, "pads": [1, 0, 2, 1]}, 6 * 2 * 10 * 8 * 9),
    ("Conv", [(1, 4, 9, 9), (8, 1, 3, 3)], {"group": 4, "strides": [2, 3]}, 8 * 4 * 3 * 9),
    ("Conv", [(1, 4, 12, 9), (4, 4, 3, 2)], {"dilations": [3, 2]}, 16 * 6 * 7 * 6),
    ("Conv", [(1, 4, 11, 8), (4, 4, 4, 3)], {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
     16 * 6 * 4 * 12),
    ("Conv", [(1, 2, 6, 7, 8), (3, 2, 2, 3, 1)], {}, 6 * 5 * 5 * 8 * 6),
    ("ConvTranspose", [(1, 4, 5, 6), (4, 3, 3, 3)], {"strides": [2, 2], "pads": [1, 1, 0, 1]},
     12 * 30 * 9),
    ("ConvTranspose", [(1, 4, 5), (4, 3, 2)],
     {"strides": [3], "output_padding": [1], "group": 2}, 4 * 3 * 5 * 2),
    ("ConvTranspose", [(1, 4, 3, 4), (4, 1, 3, 2)], {"strides": [2, 3], "group": 2}, 4 * 12 * 6),
    ("ConvTranspose", [(1, 4, 5, 5), (4, 1, 3, 3)],
     {"strides": [2, 2], "output_shape": [10, 11], "group": 4}, 4 * 25 * 9),
    ("MatMul", [(5, 6), (6, 7)], {}, 210),
    ("MatMul", [(2, 3, 5, 6), (6, 7)], {}, 6 * 210),
    ("MatMul", [(2, 3, 5, 6), (3, 6, 7)], {}, 6 * 210),
    ("MatMul", [(5, 6), (2, 3, 6, 7)], {}, 6 * 210),
    ("MatMul", [(2, 1, 5, 6), (1, 3, 6, 7)], {}, 6 * 210),
    ("MatMul", [(4, 2, 1, 3, 5, 6), (2, 3, 1, 6, 7)], {}, None),
    ("MatMul", [(6,), (4, 6, 7)], {}, 4 * 42),
    ("MatMul", [(4, 5, 6), (6,)], {}, 120),
    ("Gemm", [(6, 5), (7, 6), (7,)], {"transA": 1, "transB": 1}, 210),
    ("Gemm", [(5, 6), (6, 7)], {}, 210),
    ("Einsum", [(2, 5, 6), (2, 6, 7)], {"equation": "bij,bjk->bik"}, 420),
    ("Einsum", [(2, 3, 5, 6), (6, 7)], {"equation": "...j,jk->...k"}, 6 * 210),
    ("Einsum", [(3, 5), (5, 4)], {"equation": "ij,jk"}, 60),
    ("Einsum", [(3, 5)], {"equation": "ij->j"}, 15),
    ("MaxPool", [(1, 4, 9, 9)], {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1}, 0),
    ("AveragePool", [(1, 4, 10)], {"kernel_shape": [3], "pads": [1, 1], "strides": [3]}, 0),
    ("GlobalMaxPool", [(1, 4, 5, 6)], {}, 0),
    ("Softmax", [(2, 3, 4)], {}, 0),
    ("LayerNormalization", [(2, 3, 8), (8,), (8,)], {}, 0),
    ("InstanceNormalization", [(2, 3, 8), (3,), (3,)], {}, 0),
    ("LRN", [(1, 4, 5, 5)], {"size": 3}, 0),
    ("Add", [(2, 1, 4), (3, 1)], {}, 0),
    ("Where", [(2, 3), (3,), (2, 1)], {}, 0),
    ("ReduceMean", [(2, 3, 4)], {"axes": [1, -1], "keepdims": 0}, 0),
    ("ArgMax", [(2, 3, 4)], {"axis": 1}, 0),
    ("Gelu", [(2, 3)], {}, 0),
    ("DepthToSpace", [(1, 8, 2, 3)], {"blocksize": 2}, None),
    ("DepthToSpace", [(1, 8, 2, 3)], {"blocksize": 2, "mode": "CRD"}, None),
    ("SpaceToDepth", [(1, 2, 4, 6)], {"blocksize": 2}, None),
    ("Flatten", [(2, 3, 4)], {"axis": 2}, None),
    ("Transpose", [(2, 3, 4)], {"perm": [2, 0, 1]}, None),
    ("Concat", [(2, 3), (2, 5)], {"axis": -1}, None),
    ("Split", [(2, 8)], {"axis": 1, "outputs": 2}, None),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "attributes", "operations"), CASES)
def test_operators_have_the_shapes_that_onnx_infers(
    tmp_path: Path,
    op: str,
    inputs: list[tuple[int, ...]],
    attributes: dict[str, Any],
    operations: int | None,
) -> None:
    opset = 20 if op == "Gelu" else 17
    model = Model(opset)
    kinds = [TensorProto.BOOL if op == "Where" and i == 0 else TensorProto.FLOAT for i in range(9)]
    names = [model.input(f"x{i}", shape, kinds[i]) for i, shape in enumerate(inputs)]
    made = model.add(op, *names, **attributes)
    made = made[-1] if isinstance(made, list) else made
    # something to map, and the shape of what was made
    last = model.add("Cast", made, to=TensorProto.FLOAT)
    model.output(model.add("Relu", last))
    network = read(tmp_path, model)
    inferred = onnx.shape_inference.infer_shapes(model.proto())
    (wanted,) = (v for v in inferred.graph.value_info if v.name == last)
    graph = network.graph
    assert graph is not None
    assert shapes(network)[graph.outputs[0]] == tuple(
        d.dim_value for d in wanted.type.tensor_type.shape.dim
    )
    if operations is not None:
        assert macs(network) == operations
    assert not [row for row in account(network) if row.status == "not understood"]


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_views_mean_what_the_operators_compute(tmp_path: Path, mode: str) -> None:
    from onnx.reference import ReferenceEvaluator

    model = Model()
    x = model.input("x", (1, 8, 3, 4))
    y = model.add("DepthToSpace", x, blocksize=2, mode=mode)
    y = model.add("Slice", y, model.numbers(1, 0), model.numbers(6, 99), model.numbers(2, 3),
                  model.numbers(2, 3))  # fmt: skip
    y = model.add("Pad", y, model.numbers(0, 0, 1, 0, 0, 0, 0, 2))
    y = model.add("Squeeze", model.add("Transpose", y, perm=[3, 0, 2, 1]), model.numbers(1))
    a, b = model.add("Split", y, model.numbers(1, 1), axis=-1, outputs=2)
    y = model.add("Concat", b, a, axis=0)
    model.output(model.add("Relu", y))
    network = read(tmp_path, model)
    graph = network.graph
    assert graph is not None
    (relu,) = (node for node, _ in graph.counted() if node.operator == "Relu")
    array = np.arange(96, dtype=np.float32).reshape(1, 8, 3, 4)
    (expected,) = ReferenceEvaluator(model.proto()).run(None, {"x": array})
    assert np.array_equal(relu.inputs["I"].apply({"x": array}), expected)


@pytest.mark.parametrize(("op", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_recurrent_layers_run_step_after_step(
    tmp_path: Path, op: str, gates: int, direction: str
) -> None:
    sides = 2 if direction == "bidirectional" else 1
    model = Model()
    x = model.input("x", (7, 2, 5))
    w, r = model.weight(sides, gates * 6, 5), model.weight(sides, gates * 6, 6)
    y, h = model.add(op, x, w, r, outputs=2, hidden_size=6, direction=direction)
    model.output(model.add("Relu", y))
    model.output(h)
    network = read(tmp_path, model)
    assert macs(network) == sides * 7 * 2 * gates * 6 * (5 + 6)
    graph = network.graph
    assert graph is not None
    blocks = [node for node in graph.nodes if isinstance(node, Block)]
    assert [block.repeat for block in blocks] == [7] * sides
    assert all(len(block.carry) == (2 if op == "LSTM" else 1) for block in blocks)
    assert shapes(network)[graph.outputs[0]] == (7, sides, 2, 6)
    assert parse_network(parse(dump_network(network))) == network


def test_attention_shares_keys_and_remembers(tmp_path: Path) -> None:
    model = Model(23)
    q, k, v = (model.input(name, (2, 8 if name == "q" else 4, 3 if name == "q" else 5, 16))
               for name in "qkv")  # fmt: skip
    past = [model.input(name, (2, 4, 10, 16)) for name in ("pk", "pv")]
    y = model.add("Attention", q, k, v, "", *past, outputs=3)[0]
    model.output(y)
    network = read(tmp_path, model)
    assert macs(network) == 2 * 2 * 8 * 3 * 15 * 16
    scores = next(x for x in network.layers if x.name.endswith(".scores"))
    assert dict(scores.bounds) == {"G": 8, "H": 2, "M": 3, "N": 15, "K": 16}


def test_what_is_not_understood_is_named_with_its_share(tmp_path: Path) -> None:
    model = Model()
    x = model.add("Conv", model.input("x", (1, 3, 8, 8)), model.weight(4, 3, 3, 3))
    boxes, scores = model.input("boxes", (1, 6, 4)), model.input("scores", (1, 1, 6))
    model.output(model.add("NonMaxSuppression", boxes, scores))
    y = model.add("Det", model.add("Reshape", x, model.numbers(4, 6, 6)))
    model.output(model.add("Relu", y))
    network = read(tmp_path, model)
    rows = {row.operator: row for row in account(network) if row.status == "not understood"}
    assert set(rows) == {"NonMaxSuppression", "Det"}
    assert rows["Det"].operations == 4
    assert rows["Det"].words == 4 * 36 + 4
    assert sum(row.nodes for row in account(network)) == 5


def test_what_is_done_with_weights_alone_is_folded(tmp_path: Path) -> None:
    model = Model()
    scale, zero = model.floats(0.5), model.floats(0.0)
    w = model.add("DequantizeLinear", model.weight(6, 5), scale, zero)
    w = model.add("Add", w, model.weight(5))
    x = model.add("DequantizeLinear", model.input("x", (4, 6)), scale, zero)
    model.output(model.add("MatMul", x, model.add("Transpose", w, perm=[0, 1])))
    network = read(tmp_path, model)
    fates = Counter((row.operator, row.status) for row in account(network))
    assert fates["DequantizeLinear", "folded"] == fates["DequantizeLinear", "mapped"] == 1
    assert fates["Add", "folded"] == 1
    assert fates["Add", "mapped"] == 0
    assert macs(network) == 120


def test_graphs_inside_of_nodes_are_not_understood(tmp_path: Path) -> None:
    model = Model()
    x = model.input("x", (4, 4))
    y = model.add("MatMul", x, model.weight(4, 4))
    branch = helper.make_graph(
        [helper.make_node("Neg", [y], ["z"])], "branch", [],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [4, 4])],
    )  # fmt: skip
    condition = model.input("condition", (), TensorProto.BOOL)
    model.output(model.add("If", condition, then_branch=branch, else_branch=branch))
    network = read(tmp_path, model)
    assert [r.operator for r in account(network) if r.status == "not understood"] == ["If"]


def test_functions_of_the_model_are_inlined(tmp_path: Path) -> None:
    proto = Model()
    x = proto.input("x", (4, 5))
    proto.nodes.append(helper.make_node("Twice", [x], ["y"], domain="own", name="twice"))
    proto.output("y")
    model = proto.proto()
    model.opset_import.append(helper.make_opsetid("own", 1))
    nodes = [helper.make_node("Relu", ["a"], ["b"]), helper.make_node("Add", ["b", "a"], ["c"])]
    model.functions.append(
        helper.make_function("own", "Twice", ["a"], ["c"], nodes,
                             [helper.make_opsetid("", 17)])
    )  # fmt: skip
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    assert {row.operator for row in account(load_onnx(path))} == {"Relu", "Add"}
    model.functions[0].node[0].CopyFrom(helper.make_node("Twice", ["a"], ["b"], domain="own"))
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match="function 'Twice' calls itself"):
        load_onnx(path)


def test_symbolic_dimensions_are_bound_by_name(tmp_path: Path) -> None:
    path = vgg16().save(tmp_path / "vgg.onnx")
    assert macs(load_onnx(path, bind={"batch": 3})) == 3 * 15_470_264_320
    with pytest.raises(InputError, match=r"vgg.onnx: dimension 'batch' of input 'image' has no "
                                         r"size: --bind batch=1"):  # fmt: skip
        load_onnx(path)
    with pytest.raises(
        InputError, match=r"bind: no symbolic dimension 'bach'.*did you mean 'batch'"
    ):
        load_onnx(path, bind={"bach": 1})
    with pytest.raises(InputError, match=r"bind: 'batch' must be a whole number"):
        load_onnx(path, bind={"batch": 0})


def small() -> Model:
    model = Model()
    x = model.add("Conv", model.input("x", (1, 3, 8, 8)), model.weight(4, 3, 3, 3))
    model.output(model.add("Relu", x))
    return model


def test_weights_need_not_be_there(tmp_path: Path) -> None:
    model = small()
    weight = model.weights[0]
    weight.data_location = TensorProto.EXTERNAL
    entry = weight.external_data.add()
    entry.key, entry.value = "location", "weights.bin"
    assert macs(read(tmp_path, model)) == 4 * 3 * 9 * 36
    for location in ("../weights.bin", "/etc/passwd", "a/../../b", "..\\b", "c:\\b"):
        entry.value = location
        with pytest.raises(InputError, match="outside of the folder of the model"):
            read(tmp_path, model)


def test_large_weights_are_dropped(tmp_path: Path) -> None:
    model = small()
    big = model.weight(2**20)
    model.weights[-1].raw_data = bytes(2**22)
    model.nodes[1].input[0] = model.nodes[0].output[0]
    assert big
    assert macs(read(tmp_path, model)) == 4 * 3 * 9 * 36


def test_all_but_the_contents_of_large_weights_is_kept(tmp_path: Path) -> None:
    model = small()
    for size in (1, 2**12, 2**17):
        name = model.weight(size)
        model.weights[-1].raw_data = bytes(4 * size)
        model.weights[-1].doc_string = name
    path = model.save(tmp_path / "model.onnx")
    kept = onnx.load_model_from_string(without_weights(path))
    expected = model.proto()
    assert len(kept.graph.initializer[-1].raw_data) == 0
    expected.graph.initializer[-1].ClearField("raw_data")
    assert kept == expected


def _cycle(model: Model) -> None:
    model.nodes[0].input[0] = model.nodes[1].output[0]


def _twice(model: Model) -> None:
    model.nodes[1].output[0] = model.nodes[0].output[0]


def _huge_input(model: Model) -> None:
    model.inputs[0] = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 10**12])


def _huge_weight(model: Model) -> None:
    model.weights[0].dims[0] = 10**12


def _negative(model: Model) -> None:
    model.weights[0].dims[0] = -4


def _old(model: Model) -> None:
    model.opset = 12


def _groups(model: Model) -> None:
    model.nodes[0].attribute.append(helper.make_attribute("group", 2))


def _kernel(model: Model) -> None:
    model.weights[0].dims[2] = 9


def _unnamed(model: Model) -> None:
    model.inputs[0] = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, None, 8])


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (_cycle, "the nodes form a cycle: Conv0 -> Relu1 -> Conv0"),
        (_twice, "has several producers"),
        (_huge_input, r"input 'x' has the shape \[1, 3, 8, 1000000000000\]; accepted are sizes"),
        (_huge_weight, r"tensor 'w0' has the shape \[1000000000000, 3, 3, 3\]"),
        (_negative, r"tensor 'w0' has the shape \[-4, 3, 3, 3\]"),
        (_old, "has opset 12; from 13 on they are read"),
        (_groups, r"node 'Conv0' \(Conv\): 3 channels in 2 groups do not go with"),
        (_kernel, r"node 'Conv0' \(Conv\): a window of 9 does not fit 8 words"),
        (_unnamed, "dimension 2 of input 'x' has no size and no name to bind"),
    ],
)
def test_hostile_files_are_refused(
    tmp_path: Path, harm: Callable[[Model], None], says: str
) -> None:
    model = small()
    harm(model)
    with pytest.raises(InputError, match=says) as caught:
        read(tmp_path, model)
    assert str(tmp_path / "model.onnx") in str(caught.value)


@pytest.mark.long
def test_long_chains_of_views_end_in_tensors(tmp_path: Path) -> None:
    """What would grow without bound: transpositions in a row, and joins of joins of joins."""
    model = Model()
    x = model.input("x", (4, 4))
    for _ in range(1200):
        x = model.add("Transpose", x, perm=[1, 0])
    for i in range(40):
        x = model.add("Concat", x, x, axis=i % 2)
        x = model.add("Slice", x, model.numbers(0), model.numbers(4), model.numbers(i % 2))
    for _ in range(60):
        x = model.add("Concat", x, model.add("Relu", x), axis=0)
        x = model.add("Slice", x, model.numbers(0), model.numbers(4), model.numbers(0))
    model.output(model.add("Relu", x))
    network = read(tmp_path, model)
    assert parse_network(parse(dump_network(network))) == network


def test_joins_of_joins_are_one(tmp_path: Path) -> None:
    model = Model()
    x = model.input("x", (1, 4))
    x = model.add("Concat", x, model.add("Relu", x), axis=0)
    x = model.add("Concat", x, model.input("y", (1, 4)), axis=0)
    model.output(model.add("Neg", x))
    graph = read(tmp_path, model).graph
    assert graph is not None
    (node,) = (n for n, _ in graph.counted() if n.operator == "Neg")
    assert len(node.inputs["I"].parts) == 3


def test_shape_arithmetic_cannot_take_memory(tmp_path: Path) -> None:
    model = small()
    big = model.add("ConstantOfShape", model.numbers(10**6, 10**6))
    model.add("Expand", big, model.numbers(10**6, 10**6))
    model.add("Range", model.numbers(0), model.numbers(10**12), model.numbers(1))
    assert macs(read(tmp_path, model)) == 4 * 3 * 9 * 36


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with pytest.raises(InputError, match="cannot be read: No such file"):
        load_onnx(path)
    for content in (b"", b"hello", resnet50().proto().SerializeToString()[:5000]):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is no ONNX model"):
            load_onnx(path)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_damaged_files_are_answered_with_one_message(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = bytearray(vit_b16().proto().SerializeToString()[:6000])
    if data.draw(st.booleans()):
        content = bytearray(small().proto().SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("damaged") / "model.onnx"
    path.write_bytes(bytes(content))
    try:
        load_onnx(path)
    except InputError as failure:
        assert str(failure)


def test_the_package_is_imported_only_when_it_is_used(tmp_path: Path) -> None:
    path = small().save(tmp_path / "model.onnx")
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import tilewright as tw\n"
        "tw.load_network('alexnet'), tw.load_workload('hf:gpt2')\n"
        f"try: tw.load_workload({str(path)!r})\n"
        "except tw.InputError as failure: print(failure)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'tilewright[onnx]'" in run.stdout


@pytest.mark.slow
def test_a_file_of_a_gigabyte_is_read_in_seconds(tmp_path: Path) -> None:
    model = Model()
    x = model.input("x", (4, 16384))
    model.output(model.add("Relu", model.linear(x, 16384, 16384)))
    proto = model.proto()
    (weight, *others) = sorted(proto.graph.initializer, key=lambda t: -len(t.dims))
    del proto.graph.initializer[:]
    proto.graph.initializer.extend(others)
    graph = proto.graph.SerializeToString()
    proto.ClearField("graph")
    size = 4 * 16384 * 16384
    tensor = weight.SerializeToString() + head(9, size)  # raw_data
    inner = head(5, len(tensor) + size) + tensor  # initializer
    content = proto.SerializeToString() + head(7, len(graph) + len(inner) + size) + graph + inner
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.write(content)
        file.truncate(len(content) + size)  # zeros that take no room on the disk
    assert path.stat().st_size > 2**30
    start = time.process_time()
    network = load_onnx(path)
    assert time.process_time() - start < 5
    assert macs(network) == 4 * 16384 * 16384


def head(number: int, size: int) -> bytes:
    """Return how a field of so many bytes begins."""
    found = bytearray([number << 3 | 2])
    while size > 127:
        found.append(size & 127 | 128)
        size >>= 7
    found.append(size)
    return bytes(found)
