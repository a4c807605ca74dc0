"""Files of Keras: the operations, parameters and shapes of its layers; nothing is dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from fuzzing import damaged
from keras_files import Functional, save, sequential, small
from tilewright.cli import main
from tilewright.frontends.accounting import account, not_understood
from tilewright.frontends.keras.file import load_keras
from tilewright.workload.graphs.graph_checks import check


def macs(network: tw.Network) -> int:
    return sum(x.operations * x.repeat for x in network.layers if x.operation == "mac")


def made(network: tw.Network) -> dict[str, tuple[int, ...]]:
    assert network.graph is not None
    check(network.graph.unrolled(), {layer.name: layer for layer in network.layers})
    return network.graph.shapes()


def test_a_model_gives_the_operations_and_parameters_of_its_layers(tmp_path: Path) -> None:
    network = load_keras(save(tmp_path / "net.keras", small().data()))
    conv, depth, point = 64 * 27 * 8, 64 * 9 * 8, 64 * 8 * 8
    # 16 tokens of 8 words: four products and two of attention; then 16 steps of an LSTM
    heads = 4 * 16 * 8 * 8 + 2 * 2 * 16 * 16 * 4
    steps = 16 * (16 + 6) * 24
    assert macs(network) == conv + depth + point + depth + heads + steps + 60
    graph = network.graph
    assert graph is not None
    assert graph.parameters == sum((
        27 * 8, 4 * 8, 9 * 8 + 8 * 8 + 8, 9 * 8 + 8, 4 * (8 * 8 + 8), (16 + 6 + 1) * 24,
        6 * 10 + 10,
    ))  # fmt: skip
    assert not not_understood(network)
    fates = {row.operator: row.status for row in account(network)}
    assert fates["BatchNormalization"] == "folded"
    assert fates["ZeroPadding2D"] == "moves data"
    shapes = made(network)
    assert shapes["conv1"] == (1, 8, 8, 8)
    assert shapes["head.softmax"] == (1, 10)


def test_batches_and_open_axes_are_bound(tmp_path: Path) -> None:
    m = Functional()
    x = m.layer("Embedding", "words", m.input("ids", None), input_dim=50, output_dim=8)
    path = save(tmp_path / "net.keras", m.output(m.layer("Dense", "d", x, units=4)).data())
    with pytest.raises(tw.InputError, match=r"axis 1 of 'ids' has no size: --bind ids.1=64"):
        tw.load_workload(path)
    network = tw.load_workload(path, bind={"ids.1": 5, "batch": 3})
    assert macs(network) == 3 * 5 * 8 * 4
    with pytest.raises(tw.InputError, match=r"no axis 'ids\.2'; accepted: batch, ids\.1"):
        tw.load_workload(path, bind={"ids.1": 5, "ids.2": 3})


def test_sequences_of_layers_and_models_in_models(tmp_path: Path) -> None:
    inner = sequential(
        ("Conv2D", {"filters": 4, "kernel_size": [3, 3], "padding": "same"}),
        ("Conv2D", {"filters": 4, "kernel_size": [3, 3], "padding": "same"}),
        shape=(None, 8, 8, 2),
    )
    alone = load_keras(save(tmp_path / "seq.keras", inner))
    assert macs(alone) == 64 * 9 * (2 * 4 + 4 * 4)
    m = Functional()
    x = m.input("image", 8, 8, 2)
    m.layers.append({**inner, "config": {**inner["config"], "name": "part"}, "name": "part",
                     "inbound_nodes": [{"args": [x], "kwargs": {}}]})  # fmt: skip
    y = {**x, "config": {**x["config"], "keras_history": ["part", 0, 0]}}
    both = load_keras(save(tmp_path / "net.keras", m.output(m.layer("Flatten", "flat", y)).data()))
    assert macs(both) == macs(alone)


@pytest.mark.parametrize(
    ("config", "size", "expected"),
    [({"padding": "same", "strides": [2]}, 7, 4), ({"strides": [2]}, 7, 3),
     ({"padding": "causal", "dilation_rate": [2]}, 7, 7), ({"dilation_rate": [2]}, 7, 3)],
)  # fmt: skip
def test_padding_is_that_of_keras(
    tmp_path: Path, config: dict[str, Any], size: int, expected: int
) -> None:
    m = Functional()
    y = m.layer("Conv1D", "c", m.input("x", size, 2), filters=3, kernel_size=[3], **config)
    network = load_keras(save(tmp_path / "net.keras", m.output(y).data()))
    assert network.layers[0].bounds["P"] == expected


@pytest.mark.parametrize(
    ("config", "size", "expected"),
    [({"padding": "same", "strides": [2, 2]}, 4, 8), ({"strides": [2, 2]}, 4, 9),
     ({"strides": [3, 3], "kernel_size": [2, 2]}, 4, 12)],
)  # fmt: skip
def test_transposed_convolutions_have_the_sizes_of_keras(
    tmp_path: Path, config: dict[str, Any], size: int, expected: int
) -> None:
    m = Functional()
    keys = {"filters": 3, "kernel_size": [3, 3], **config}
    y = m.layer("Conv2DTranspose", "c", m.input("x", size, size, 2), **keys)
    z = m.layer("ReLU", "r", y)
    network = load_keras(save(tmp_path / "net.keras", m.output(z).data()))
    relu = network.layers[1]
    assert relu.operations == expected * expected * 3


def test_what_is_not_understood_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    m = Functional()
    x = m.layer("Dense", "d", m.input("x", 4), units=3)
    y = m.layer("OwnLayer", "own", x, shape=(7,))
    z = m.layer("Dense", "e", {**y}, units=2)
    path = save(tmp_path / "net.keras", m.output(z).data())
    network = load_keras(path)
    # the next layer says what an unknown one makes
    assert macs(network) == 4 * 3 + 7 * 2
    assert "OwnLayer (own)" in not_understood(network)[0]
    assert main(["show", str(path), "--bind", "batch=2"]) == 0
    assert "not understood" in capsys.readouterr().out


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.keras"
    path.write_bytes(b"PK nothing")
    with pytest.raises(tw.InputError, match=r"net.keras: is no file of Keras 3"):
        tw.load_workload(path)
    for data, says in (
        ({"class_name": "Own"}, "expected a Sequential or Functional model, found 'Own'"),
        (sequential(("Dense", {"units": -1}), shape=(None, 4)), "layer 'dense_0' (Dense): 'units'"),
        (sequential(("Conv2D", {"filters": 1, "kernel_size": [9, 9]}), shape=(None, 4, 4, 1)),
         "does not fit"),
        (sequential(("Flatten", {}), shape=(None, 4)), "no operation that can be mapped"),
        ({"class_name": "Functional", "config": {"layers": 3}}, "its model is malformed"),
    ):  # fmt: skip
        save(path, data)
        with pytest.raises(tw.InputError) as failure:
            tw.load_workload(path)
        assert says in str(failure.value)


@settings(max_examples=120, deadline=None)
@given(st.builds(small).flatmap(lambda model: damaged(model.data())))
def test_damaged_files_are_answered_with_one_message(
    tmp_path_factory: pytest.TempPathFactory, tree: Any
) -> None:
    file = save(tmp_path_factory.mktemp("damaged") / "net.keras", tree)
    try:
        load_keras(file)
    except tw.InputError as failure:
        assert "\n" not in str(failure)
