"""ONNX graphs of well-known networks, made with the official helper, without their weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402


class Model:
    """Collects nodes and weights of a graph."""

    def __init__(self, opset: int = 17) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []

    def input(self, name: str, shape: Sequence[int | str], kind: int = TensorProto.FLOAT) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        return name

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT))
        return name

    def numbers(self, *values: int) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
        return name

    def floats(self, *values: float) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(helper.make_tensor(name, TensorProto.FLOAT, [len(values)], values))
        return name

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{op.lower()}{len(self.nodes)}.{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(op, list(inputs), names, name=f"{op}{len(self.nodes)}", **attributes)
        )
        return names[0] if outputs == 1 else names

    def conv(self, x: str, k: int, c: int, size: int, stride: int = 1, pad: int | None = None,
             group: int = 1, bias: bool = True) -> str:  # fmt: skip
        pad = size // 2 if pad is None else pad
        extra = [self.weight(k)] if bias else []
        return self.add("Conv", x, self.weight(k, c // group, size, size), *extra,
                        strides=[stride] * 2, pads=[pad] * 4, group=group,
                        kernel_shape=[size] * 2)  # fmt: skip

    def linear(self, x: str, k: int, c: int) -> str:
        return self.add("Gemm", x, self.weight(k, c), self.weight(k), transB=1)

    def output(self, name: str) -> None:
        self.outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))

    def proto(self) -> Any:
        graph = helper.make_graph(self.nodes, "graph", self.inputs, self.outputs, self.weights)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)])

    def save(self, path: Path) -> Path:
        path.write_bytes(self.proto().SerializeToString())
        return path


def resnet50() -> Model:
    m = Model()
    x = m.input("image", [1, 3, 224, 224])
    x = m.add("Relu", m.conv(x, 64, 3, 7, 2))
    x = m.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    c = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        w = 64 * 2**stage
        for i in range(blocks):
            stride = 2 if i == 0 and stage else 1
            y = m.add("Relu", m.conv(x, w, c, 1))
            y = m.add("Relu", m.conv(y, w, w, 3, stride))
            y = m.conv(y, 4 * w, w, 1)
            x = m.conv(x, 4 * w, c, 1, stride) if i == 0 else x
            x, c = m.add("Relu", m.add("Add", y, x)), 4 * w
    x = m.add("Flatten", m.add("GlobalAveragePool", x))
    m.output(m.linear(x, 1000, 2048))
    return m


def mobilenet_v2() -> Model:
    m = Model()
    six = m.floats(0.0), m.floats(6.0)

    def bn(y: str, c: int) -> str:
        return m.add("BatchNormalization", y, *(m.weight(c) for _ in range(4)))

    x = m.add("Clip", bn(m.conv(m.input("image", [1, 3, 224, 224]), 32, 3, 3, 2, bias=False), 32),
              *six)  # fmt: skip
    c = 32
    for t, k, n, s in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                       (6, 160, 3, 2), (6, 320, 1, 1)):  # fmt: skip
        for i in range(n):
            y, h, stride = x, c * t, s if i == 0 else 1
            if t > 1:
                y = m.add("Clip", bn(m.conv(y, h, c, 1, bias=False), h), *six)
            y = m.add("Clip", bn(m.conv(y, h, h, 3, stride, group=h, bias=False), h), *six)
            y = bn(m.conv(y, k, h, 1, bias=False), k)
            x = m.add("Add", x, y) if stride == 1 and c == k else y
            c = k
    x = m.add("Clip", bn(m.conv(x, 1280, 320, 1, bias=False), 1280), *six)
    x = m.add("Flatten", m.add("GlobalAveragePool", x))
    m.output(m.linear(x, 1000, 1280))
    return m


def vgg16() -> Model:
    m = Model()
    x, c = m.input("image", ["batch", 3, 224, 224]), 3
    for k, n in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(n):
            x, c = m.add("Relu", m.conv(x, k, c, 3)), k
        x = m.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = m.add("Reshape", x, m.numbers(0, -1))
    for k, c in ((4096, 25088), (4096, 4096)):
        x = m.add("Dropout", m.add("Relu", m.linear(x, k, c)))
    m.output(m.linear(x, 1000, 4096))
    return m


def alexnet() -> Model:
    """The version of torchvision, with one group."""
    m = Model()
    x = m.input("image", [1, 3, 224, 224])

    def pool(y: str) -> str:
        return m.add("MaxPool", y, kernel_shape=[3, 3], strides=[2, 2])

    x = pool(m.add("Relu", m.conv(x, 64, 3, 11, 4, 2)))
    x = pool(m.add("Relu", m.conv(x, 192, 64, 5)))
    for k, c in ((384, 192), (256, 384), (256, 256)):
        x = m.add("Relu", m.conv(x, k, c, 3))
    x = m.add("Flatten", pool(x))
    for k, c in ((4096, 9216), (4096, 4096)):
        x = m.add("Relu", m.linear(x, k, c))
    m.output(m.linear(x, 1000, 4096))
    return m


def vit_b16() -> Model:
    """Exported as old exporters do: with shapes that the graph computes."""
    m = Model()
    image = m.input("image", ["batch", 3, 224, 224])
    x = m.conv(image, 768, 3, 16, 16, 0)
    size = m.add("Gather", m.add("Shape", image), m.numbers(0), axis=0)
    shape = m.add("Concat", size, m.numbers(768), m.numbers(-1), axis=0)
    x = m.add("Transpose", m.add("Reshape", x, shape), perm=[0, 2, 1])
    first = m.add("Expand", m.weight(1, 1, 768),
                  m.add("Concat", size, m.numbers(1, 768), axis=0))  # fmt: skip
    x = m.add("Add", m.add("Concat", first, x, axis=1), m.weight(1, 197, 768))

    def norm(y: str) -> str:
        return m.add("LayerNormalization", y, m.weight(768), m.weight(768), axis=-1)

    def dense(y: str, k: int, c: int) -> str:
        return m.add("Add", m.add("MatMul", y, m.weight(c, k)), m.weight(k))

    def heads(y: str, perm: list[int]) -> str:
        return m.add("Transpose", m.add("Reshape", y, m.numbers(0, 0, 12, 64)), perm=perm)

    for _ in range(12):
        q, k, v = m.add("Split", dense(norm(x), 2304, 768), m.numbers(768, 768, 768), outputs=3,
                        axis=2)  # fmt: skip
        scores = m.add("MatMul", heads(q, [0, 2, 1, 3]), heads(k, [0, 2, 3, 1]))
        y = m.add("MatMul", m.add("Softmax", m.add("Div", scores, m.floats(8.0))),
                  heads(v, [0, 2, 1, 3]))  # fmt: skip
        y = m.add("Reshape", m.add("Transpose", y, perm=[0, 2, 1, 3]), m.numbers(0, 0, 768))
        x = m.add("Add", x, dense(y, 768, 768))
        y = dense(norm(x), 3072, 768)
        y = m.add("Mul", y, m.add("Erf", y))
        x = m.add("Add", x, dense(y, 768, 3072))
    index = m.weight()
    m.weights[-1] = helper.make_tensor(index, TensorProto.INT64, [], [0])
    m.output(m.linear(m.add("Gather", norm(x), index, axis=1), 1000, 768))
    return m


def efficientnet_b0() -> Model:
    m = Model()

    def swish(y: str) -> str:
        return m.add("Mul", y, m.add("Sigmoid", y))

    x, c = swish(m.conv(m.input("image", [1, 3, 224, 224]), 32, 3, 3, 2)), 32
    for t, k, n, s, size in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3),
                             (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):  # fmt: skip
        for i in range(n):
            y, h, stride = x, c * t, s if i == 0 else 1
            y = swish(m.conv(y, h, c, 1)) if t > 1 else y
            y = swish(m.conv(y, h, h, size, stride, group=h))
            z = m.add("ReduceMean", y, axes=[2, 3])
            z = swish(m.conv(z, max(1, c // 4), h, 1))
            y = m.add("Mul", y, m.add("Sigmoid", m.conv(z, h, max(1, c // 4), 1)))
            y = m.conv(y, k, h, 1)
            x = m.add("Add", x, y) if stride == 1 and c == k else y
            c = k
    x = m.add("Flatten", m.add("GlobalAveragePool", swish(m.conv(x, 1280, 320, 1))))
    m.output(m.linear(x, 1000, 1280))
    return m
