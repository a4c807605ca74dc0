"""Files of torch.export.save written by hand from its schema (torch/_export/serde/schema.py)."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def argument(value: Any) -> dict[str, Any]:
    """What the schema writes for an argument; text names a tensor."""
    if value is None:
        return {"as_none": True}
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    if isinstance(value, str):
        return {"as_string": value[1:]} if value[:1] == "!" else {"as_tensor": {"name": value}}
    if value and isinstance(value[0], str):
        return {"as_tensors": [{"name": name} for name in value]}
    return {"as_ints": list(value)}


def size(value: int | str) -> dict[str, Any]:
    if isinstance(value, int):
        return {"as_int": value}
    return {"as_expr": {"expr_str": value, "hint": {"as_int": 4}}}


class Exported:
    """Collects a program."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.values: dict[str, Any] = {}
        self.specs: list[dict[str, Any]] = []
        self.outputs: list[str] = []

    def tensor(self, name: str, *sizes: int | str) -> str:
        self.values[name] = {
            "dtype": 7, "sizes": [size(n) for n in sizes], "requires_grad": False,
            "device": {"type": "cpu", "index": None}, "strides": [], "layout": 7,
            "storage_offset": {"as_int": 0},
        }  # fmt: skip
        return name

    def input(self, name: str, *sizes: int | str) -> str:
        self.specs.append({"user_input": {"arg": {"as_tensor": {"name": name}}}})
        return self.tensor(name, *sizes)

    def parameter(self, name: str, *sizes: int) -> str:
        spec = {"arg": {"name": name}, "parameter_name": name.replace("_", ".")}
        self.specs.append({"parameter": spec})
        return self.tensor(name, *sizes)

    def call(self, target: str, shape: Sequence[int | str] | None, /, **arguments: Any) -> str:
        name = f"{target.split('.', maxsplit=1)[0]}_{len(self.nodes)}"
        outputs = [] if shape is None else [{"as_tensor": {"name": self.tensor(name, *shape)}}]
        return self._node(name, target, outputs, arguments)

    def calls(
        self, target: str, shapes: Sequence[Sequence[int | str]], /, **arguments: Any
    ) -> list[str]:
        name = f"{target.split('.', maxsplit=1)[0]}_{len(self.nodes)}"
        names = [self.tensor(f"{name}_{i}", *shape) for i, shape in enumerate(shapes)]
        self._node(name, target, [{"as_tensors": [{"name": n} for n in names]}], arguments)
        return names

    def _node(self, name: str, target: str, outputs: Any, arguments: Mapping[str, Any]) -> str:
        inputs = [
            {"name": key, "arg": argument(value), "kind": 1} for key, value in arguments.items()
        ]
        self.nodes.append(
            {"target": f"torch.ops.aten.{target}", "inputs": inputs, "outputs": outputs,
             "metadata": {}}
        )  # fmt: skip
        return name

    def data(self, major: int = 8, minor: int = 2) -> dict[str, Any]:
        specs = [{"user_output": {"arg": {"as_tensor": {"name": n}}}} for n in self.outputs]
        graph = {
            "inputs": [], "outputs": [], "nodes": self.nodes, "tensor_values": self.values,
            "sym_int_values": {}, "sym_bool_values": {}, "is_single_tensor_return": False,
            "custom_obj_values": {}, "sym_float_values": {},
        }  # fmt: skip
        return {
            "graph_module": {
                "graph": graph,
                "signature": {"input_specs": self.specs, "output_specs": specs},
                "module_call_graph": [], "metadata": {},
            },
            "opset_version": {"aten": 10},
            "range_constraints": {},
            "schema_version": {"major": major, "minor": minor},
            "verifiers": ["ATEN"],
            "torch_version": "2.7.0",
        }  # fmt: skip

    def save(self, path: Path, legacy: bool = False, **version: int) -> Path:
        with zipfile.ZipFile(path, "w") as archive:
            text = json.dumps(self.data(**version))
            if legacy:
                archive.writestr("version", "1")
                archive.writestr("serialized_exported_program.json", text)
            else:
                archive.writestr(f"{path.stem}/archive_format", "pt2")
                archive.writestr(f"{path.stem}/models/model.json", text)
                archive.writestr(f"{path.stem}/data/weights/model_weights_config.json", "{}")
        return path


def small_network(batch: int | str = 1) -> Exported:
    """A convolution with normalisation, pooling, attention over places, and a classifier."""
    e = Exported()
    conv, bias = e.parameter("p_conv_weight", 32, 3, 3, 3), e.parameter("p_conv_bias", 32)
    scale, shift = e.parameter("p_bn_weight", 32), e.parameter("p_bn_bias", 32)
    mean, var = e.parameter("b_bn_mean", 32), e.parameter("b_bn_var", 32)
    qkv, head = e.parameter("p_qkv_weight", 96, 32), e.parameter("p_head_weight", 10, 32)
    head_bias = e.parameter("p_head_bias", 10)
    x = e.input("x", batch, 3, 32, 32)
    x = e.call("conv2d.default", [batch, 32, 16, 16], input=x, weight=conv, bias=bias,
               stride=[2, 2], padding=[1, 1])  # fmt: skip
    x = e.call("batch_norm.default", [batch, 32, 16, 16], input=x, weight=scale, bias=shift,
               running_mean=mean, running_var=var, training=False, momentum=0.1, eps=1e-5,
               cudnn_enabled=True)  # fmt: skip
    x = e.call("relu_.default", [batch, 32, 16, 16], self=x)
    x = e.call("max_pool2d.default", [batch, 32, 8, 8], self=x, kernel_size=[2, 2])
    x = e.call("flatten.using_ints", [batch, 32, 64], self=x, start_dim=2)
    x = e.call("permute.default", [batch, 64, 32], self=x, dims=[0, 2, 1])
    y = e.call("linear.default", [batch, 64, 96], input=x, weight=qkv)
    parts = e.calls("split.Tensor", [[batch, 64, 32]] * 3, self=y, split_size=32, dim=-1)
    parts = [e.call("view.default", [batch, 64, 4, 8], self=part, size=[]) for part in parts]
    q, k, v = (e.call("transpose.int", [batch, 4, 64, 8], self=part, dim0=1, dim1=2)
               for part in parts)  # fmt: skip
    y = e.call("scaled_dot_product_attention.default", [batch, 4, 64, 8], query=q, key=k, value=v)
    y = e.call("transpose.int", [batch, 64, 4, 8], self=y, dim0=1, dim1=2)
    y = e.call("reshape.default", [batch, 64, 32], self=y, shape=[])
    x = e.call("add.Tensor", [batch, 64, 32], self=x, other=y)
    x = e.call("mean.dim", [batch, 32], self=x, dim=[1])
    x = e.call("addmm.default", [batch, 10], self=head_bias, mat1=x,
               mat2=e.call("t.default", [32, 10], self=head))  # fmt: skip
    e.outputs.append(x)
    return e
