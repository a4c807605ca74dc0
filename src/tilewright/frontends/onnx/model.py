"""ONNX graphs walked node by node: constants are folded, the rest becomes layers and views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from tilewright.errors import InputError
from tilewright.frontends.builder import Builder
from tilewright.frontends.onnx.constants import (
    COMPUTED,
    MAX_COMPUTED,
    Numbers,
    evaluated,
    is_small,
    numbers_of,
)
from tilewright.frontends.onnx.file import check_shape, read_model
from tilewright.frontends.values import Value, is_simple
from tilewright.workload.graph import MOVES, Node, in_order
from tilewright.workload.layer import Network
from tilewright.workload.view import Shape, View


class NotUnderstoodError(Exception):
    """An operation, or what it is given, has no meaning here; the network is read without it."""


@dataclass(frozen=True)
class OnnxNode:
    """A node of an ONNX graph.

    Attributes
    ----------
    name, op : str
        Its name (of its first output, when it has none) and its operator, with the domain when
        that is not ONNX's own.
    inputs, outputs : tuple of str
        Names of tensors; empty where an optional one is left out.
    attributes : mapping of str to object
        Its attributes.
    proto : object
        Itself.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    proto: Any

    def get(self, key: str, default: Any = None) -> Any:
        """Return an attribute."""
        return self.attributes.get(key, default)

    def ints(self, key: str, default: Sequence[int]) -> list[int]:
        """Return an attribute that is a list of whole numbers."""
        value = self.attributes.get(key, default)
        if not isinstance(value, list | tuple) or len(value) > 64:
            raise InputError(f"attribute '{key}' is no list of whole numbers")
        return [int(item) for item in value]


Operator: TypeAlias = "Callable[[Importer, OnnxNode], None]"


def load_onnx(
    path: str | Path,
    *,
    bind: Mapping[str, int] | None = None,
    only: Sequence[str] | None = None,
) -> Network:
    """Return the network in an ONNX file.

    Parameters
    ----------
    path : str or Path
        The file; opset 13 or newer. Weights in other files need not be there.
    bind : mapping of str to int, optional
        Sizes of symbolic dimensions.
    only : sequence of str, optional
        Kinds of operations that become layers; the others are left out, on record.

    Raises
    ------
    InputError
        When the file cannot be read, or is malformed.
    """
    model = read_model(path, bind or {})
    name = Path(path).stem
    builder = Builder(name, f"ONNX file {Path(path).name}", only)
    try:
        Importer(builder, model).run()
        return builder.network()
    except InputError as failure:
        if failure.source is not None or failure.key == "only":
            raise
        raise InputError(failure.message, source=str(path), key=failure.key) from None


class Importer:
    """Turns the nodes of one model into layers, views and records.

    Parameters
    ----------
    builder : Builder
        Collects the network.
    model : onnx.ModelProto
        The model, with bound dimensions.
    """

    def __init__(self, builder: Builder, model: Any) -> None:
        self.builder = builder
        self.graph = model.graph
        self.opsets = {entry.domain: entry.version for entry in model.opset_import}
        self.initializers = {tensor.name: tensor for tensor in self.graph.initializer}
        self.values: dict[str, Value] = {}
        self.numbers: dict[str, Numbers] = {}
        self.makers: dict[str, OnnxNode] = {}
        self.readers: dict[str, int] = {}
        self.inferred = {
            info.name: shape
            for info in [*self.graph.value_info, *self.graph.output]
            if (shape := _known_shape(info)) is not None
        }

    def run(self) -> None:
        """Read all nodes."""
        from tilewright.frontends.onnx.operators import OPERATORS

        for info in self.graph.input:
            if info.name not in self.initializers:
                shape = _known_shape(info)
                if shape is None:
                    self.builder.folded(info.name, "input that is no tensor")
                    continue
                self.values[info.name] = self.builder.input(info.name, shape)
        nodes = self.nodes()
        for node in nodes:
            for name in node.inputs:
                self.readers[name] = self.readers.get(name, 0) + 1
        for output in self.graph.output:
            self.readers[output.name] = self.readers.get(output.name, 0) + 1
        for node in nodes:
            self.read(node, OPERATORS.get(node.op))
            for name in node.outputs:
                self.makers[name] = node
        for output in self.graph.output:
            if output.name in self.values:
                self.builder.output(self.values[output.name])

    def nodes(self) -> list[OnnxNode]:
        """Return the nodes in an order in which they can run."""
        found = [_node(proto) for proto in self.graph.node]
        made: set[str] = set()
        for node in found:
            for name in node.outputs:
                if name and (name in made or name in self.initializers):
                    raise InputError(f"tensor '{name}' has several producers")
                made.add(name)
        shells: list[Any] = [
            Node(
                str(i), node.op,
                {str(j): View((name,)) for j, name in enumerate(_all_inputs(node)) if name},
                dict.fromkeys((name for name in node.outputs if name), ()),
            )
            for i, node in enumerate(found)
        ]  # fmt: skip
        order, cycle = in_order(shells, self.initializers)
        if cycle:
            names = [found[int(i)].name for i in cycle]
            raise InputError(f"the nodes form a cycle: {' -> '.join([*names[:8], names[0]])}")
        return [found[int(shell.name)] for shell in order]

    def read(self, node: OnnxNode, operator: Operator | None) -> None:
        """Read one node."""
        try:
            if self.computed(node):
                self.builder.folded(node.name, node.op)
            elif operator is None:
                self.unknown(node)
            else:
                operator(self, node)
        except NotUnderstoodError:
            self.unknown(node)
        except InputError as failure:
            if failure.source is not None or failure.key == "only":
                raise
            raise InputError(f"node '{node.name}' ({node.op}): {failure.message}") from None
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as failure:
            raise InputError(
                f"node '{node.name}' ({node.op}) is malformed: {type(failure).__name__}: {failure}"
            ) from None

    def unknown(self, node: OnnxNode) -> None:
        """Record a node that is not understood; what it makes has the shapes that ONNX infers."""
        inputs = [self.value(name) for name in node.inputs if name and self.known(name)]
        names = [name for name in node.outputs if name in self.inferred]
        shapes = [self.inferred[name] for name in names]
        made = self.builder.unknown(node.name, node.op, inputs, shapes)
        self.values |= dict(zip(names, made, strict=True))

    def known(self, name: str) -> bool:
        """Whether the shape of a tensor is known."""
        return name in self.values or name in self.numbers or name in self.initializers

    def value(self, name: str) -> Value:
        """Return a tensor; one of the file's own is a weight from then on."""
        if name not in self.values:
            if name in self.initializers:
                shape = tuple(self.initializers[name].dims)
            elif name in self.numbers:
                shape = self.numbers[name].shape
            else:
                raise NotUnderstoodError
            if 0 in shape:
                raise NotUnderstoodError
            self.values[name] = self.builder.weight(name, shape)
        return self.values[name]

    def inputs(self, node: OnnxNode, count: int = 64) -> list[Value]:
        """Return the first tensors that a node reads, without those left out."""
        return [self.value(name) for name in node.inputs[:count] if name]

    def constant(self, name: str) -> Numbers | None:
        """Return the numbers of a small tensor that is known before the network runs."""
        if name not in self.numbers and name in self.initializers:
            tensor = self.initializers[name]
            if tensor.data_location or prod(tensor.dims) > MAX_COMPUTED:
                return None
            numbers = numbers_of(tensor)
            if numbers is None:
                return None
            self.numbers[name] = numbers
        return self.numbers.get(name)

    def whole(self, node: OnnxNode, position: int, key: str = "") -> list[int] | None:
        """Return whole numbers from an input, or from an attribute of older opsets."""
        if len(node.inputs) > position and node.inputs[position]:
            numbers = self.constant(node.inputs[position])
            if numbers is None:
                raise NotUnderstoodError
            return [int(n) for n in np.atleast_1d(numbers)]
        value = node.get(key) if key else None
        return None if value is None else node.ints(key, [])

    def is_constant(self, name: str) -> bool:
        """Whether a tensor is known before the network runs."""
        return name in self.initializers or name in self.numbers

    def is_number(self, name: str) -> bool:
        """Whether a tensor is a single number that is known before the network runs."""
        return self.is_constant(name) and prod(self._shape_of(name)) == 1

    def only_reader(self, name: str) -> bool:
        """Whether one node alone reads a tensor."""
        return self.readers.get(name, 0) == 1

    def put(self, node: OnnxNode, *values: Value) -> None:
        """Say what a node has made."""
        for name, value in zip(node.outputs, values, strict=False):
            if name:
                self.values[name] = value

    def view(self, node: OnnxNode, *values: Value) -> None:
        """Say that a node makes views of what it reads; of long ones it makes tensors."""
        if all(map(is_simple, values)):
            self.builder.moved(node.name, node.op)
            self.put(node, *values)
            return
        read = [self.values[name] for name in node.inputs if name in self.values]
        shapes = [value.shape for value in values]
        self.put(node, *self.builder.other(node.name, node.op, read, shapes, MOVES))

    def moved(self, node: OnnxNode, shapes: Sequence[Shape], inputs: int = 64) -> None:
        """Record a node that moves words in a way that is no view."""
        read = [self.value(name) for name in node.inputs[:inputs] if name and self.known(name)]
        self.put(node, *self.builder.other(node.name, node.op, read, shapes, MOVES))

    def shape(self, name: str) -> Shape:
        """Return the shape that ONNX infers for a tensor."""
        if name not in self.inferred:
            raise NotUnderstoodError
        return self.inferred[name]

    def computed(self, node: OnnxNode) -> bool:
        """Compute a node whose inputs are small and known, and say whether that was possible."""
        if node.op == "Constant":
            return self._keep_constant(node)
        if node.op in ("Shape", "Size") and self.known(node.inputs[0]):
            shape = self._shape_of(node.inputs[0])
            start, end = node.get("start", 0), node.get("end", len(shape))
            sizes = np.array(shape[start:end], np.int64)
            self.numbers[node.outputs[0]] = np.asarray(sizes.prod()) if node.op == "Size" else sizes
            return True
        if node.op not in COMPUTED:
            return False
        given = [self.constant(name) if name else None for name in node.inputs]
        if any(numbers is None for numbers, name in zip(given, node.inputs, strict=True) if name):
            return False
        if not is_small(node.op, [numbers for numbers in given if numbers is not None]):
            return False
        results = evaluated(node, given, self.opsets)
        if results is None:
            return False
        self.numbers |= dict(zip(node.outputs, results, strict=False))
        return True

    def _shape_of(self, name: str) -> Shape:
        if name in self.values:
            return self.values[name].shape
        if name in self.numbers:
            return self.numbers[name].shape
        return tuple(self.initializers[name].dims)

    def _keep_constant(self, node: OnnxNode) -> bool:
        """Keep the value of a Constant node."""
        (out,) = node.outputs
        if "value" in node.attributes:
            tensor = node.get("value")
            check_shape(list(tensor.dims), f"tensor '{out}'", None)
            self.initializers[out] = tensor
            return True
        for key in ("value_int", "value_ints", "value_float", "value_floats"):
            if key in node.attributes:
                self.numbers[out] = np.array(node.get(key))
                return True
        return False


def _node(proto: Any) -> OnnxNode:
    from onnx.helper import get_attribute_value

    op = proto.op_type if proto.domain in ("", "ai.onnx") else f"{proto.domain}.{proto.op_type}"
    name = proto.name or next((out for out in proto.output if out), proto.op_type)
    try:
        attributes = {a.name: get_attribute_value(a) for a in proto.attribute}
    except ValueError as failure:
        raise InputError(f"node '{name}' ({op}) is malformed: {failure}") from None
    return OnnxNode(name, op, tuple(proto.input), tuple(proto.output), attributes, proto)


def _all_inputs(node: OnnxNode) -> list[str]:
    """Return what a node reads, with what the graphs inside it read from outside."""
    names = list(node.inputs)
    for value in node.attributes.values():
        if hasattr(value, "node") and hasattr(value, "initializer"):
            inner = {out for n in value.node for out in n.output}
            names += [name for n in value.node for name in n.input if name not in inner]
    return names


def _known_shape(info: Any) -> Shape | None:
    entry = info.type.tensor_type
    if not info.type.HasField("tensor_type") or not entry.HasField("shape"):
        return None
    sizes = [dim.dim_value if dim.HasField("dim_value") else 0 for dim in entry.shape.dim]
    return tuple(sizes) if all(size > 0 for size in sizes) and prod(sizes) < 2**62 else None
