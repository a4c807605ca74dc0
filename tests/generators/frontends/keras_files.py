"""Files of Keras 3, written by hand in the form that ``model.save`` gives them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any


class Functional:
    """Collects the layers of a functional model."""

    def __init__(self, name: str = "net") -> None:
        self.name = name
        self.layers: list[dict[str, Any]] = []
        self.inputs: list[list[Any]] = []
        self.outputs: list[list[Any]] = []

    def input(self, name: str, *shape: int | None) -> dict[str, Any]:
        config = {"batch_shape": [None, *shape], "dtype": "float32", "name": name}
        self.layers.append(
            {"class_name": "InputLayer", "config": config, "name": name, "inbound_nodes": []}
        )
        self.inputs.append([name, 0, 0])
        return tensor(name, None, *shape)

    def layer(
        self, kind: str, name: str, *reads: Any, shape: tuple[int | None, ...] = (), **config: Any
    ) -> dict[str, Any]:
        named = config.pop("named", {})
        self.layers.append({
            "module": "keras.layers", "class_name": kind, "config": {"name": name, **config},
            "name": name, "inbound_nodes": [{"args": list(reads), "kwargs": named}],
        })  # fmt: skip
        return tensor(name, None, *shape)

    def data(self) -> dict[str, Any]:
        config = {
            "name": self.name, "layers": self.layers, "input_layers": self.inputs,
            "output_layers": self.outputs,
        }  # fmt: skip
        return {"module": "keras.src.models.functional", "class_name": "Functional",
                "config": config}  # fmt: skip

    def output(self, *tensors: dict[str, Any]) -> Functional:
        self.outputs += [value["config"]["keras_history"] for value in tensors]
        return self


def tensor(layer: str, *shape: int | None) -> dict[str, Any]:
    config = {"shape": list(shape), "dtype": "float32", "keras_history": [layer, 0, 0]}
    return {"class_name": "__keras_tensor__", "config": config}


def sequential(*layers: tuple[str, dict[str, Any]], shape: tuple[int | None, ...]) -> Any:
    items = [
        {"class_name": kind, "config": {"name": f"{kind.lower()}_{i}", **config}}
        for i, (kind, config) in enumerate(layers)
    ]
    config = {"name": "seq", "layers": items, "build_input_shape": list(shape)}
    return {"class_name": "Sequential", "config": config}


def save(path: Path, data: Any) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.8.0"}')
        archive.writestr("config.json", json.dumps(data))
    return path


def small() -> Functional:
    """A residual of convolutions, pooling, attention over places and a classifier."""
    m = Functional()
    x = m.input("image", 16, 16, 3)
    x = m.layer("ZeroPadding2D", "pad", x, padding=[[0, 1], [0, 1]])
    x = m.layer("Conv2D", "conv1", x, filters=8, kernel_size=[3, 3], strides=[2, 2],
                padding="valid", use_bias=False)  # fmt: skip
    x = m.layer("BatchNormalization", "norm1", x, axis=-1)
    x = m.layer("ReLU", "relu1", x)
    y = m.layer("SeparableConv2D", "sep", x, filters=8, kernel_size=[3, 3], padding="same",
                activation="relu")  # fmt: skip
    y = m.layer("DepthwiseConv2D", "depth", y, kernel_size=[3, 3], padding="same")
    x = m.layer("Add", "sum", [x, y])
    x = m.layer("MaxPooling2D", "pool", x, pool_size=[2, 2], padding="valid")
    t = m.layer("Reshape", "tokens", x, target_shape=[-1, 8])
    a = m.layer("MultiHeadAttention", "heads", t, t, num_heads=2, key_dim=4)
    t = m.layer("Concatenate", "both", [t, a], axis=-1)
    t = m.layer("LSTM", "steps", t, units=6, return_sequences=True)
    t = m.layer("GlobalAveragePooling1D", "mean", t)
    t = m.layer("Dropout", "drop", t, rate=0.5)
    return m.output(m.layer("Dense", "head", t, units=10, activation="softmax"))
