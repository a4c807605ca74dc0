"""Graphs as network files write them: read with the line of every key, and written again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from tilewright.document import Document, KeyPath, Strict, describe
from tilewright.errors import InputError, nearest
from tilewright.workload.einsum import MAX_BOUND
from tilewright.workload.graph import (
    OUTSIDE,
    STATUSES,
    Block,
    Graph,
    Node,
    in_order,
    tensor_shape,
    visible,
)
from tilewright.workload.graphs.graph_checks import GraphError, check
from tilewright.workload.graphs.view_files import flow, read_view, row, view_data
from tilewright.workload.layer import Layer
from tilewright.workload.view import MAX_WORDS, Shape, View

if TYPE_CHECKING:
    from ruamel.yaml.comments import CommentedMap

MAX_REPEAT = 2**16

Name = Annotated[str, Field(min_length=1)]


class LayerNode(Strict):
    """A use of a layer."""

    layer: Name
    name: Name | None = None
    operator: str | None = None
    tensors: dict[str, Any] = Field(default_factory=dict)


class OtherNode(Strict):
    """An operation that is none of the layers."""

    node: Name
    operator: Name
    inputs: list[Any] = Field(default_factory=list)
    outputs: dict[str, Any] | None = None
    status: str = OUTSIDE
    operations: Annotated[int, Field(ge=0, le=MAX_WORDS)] | None = None


class BlockNode(Strict):
    """A part that is repeated."""

    block: Name
    repeat: Annotated[int, Field(ge=1, le=MAX_REPEAT)]
    inputs: dict[str, Any] = Field(default_factory=dict)
    carry: dict[str, str] = Field(default_factory=dict)
    each: dict[str, Any] = Field(default_factory=dict)
    weights: dict[str, Any] = Field(default_factory=dict)
    state: dict[str, Any] = Field(default_factory=dict)
    nodes: list[Any]


KINDS = ("layer", "node", "block")


def read_graph(document: Document, layers: Mapping[str, Layer]) -> Graph | None:
    """Return the graph of a network file, or None where its layers are not connected.

    Parameters
    ----------
    document : Document
        The file, with the keys of a network.
    layers : mapping of str to Layer
        Its layers by name, in their order.

    Raises
    ------
    InputError
        For the first thing that is wrong, with its line and key.
    """
    data = document.data
    written = [i for i, layer in enumerate(data["layers"]) if "tensors" in layer]
    if "graph" in data and written:
        message = "give either the 'tensors' of the layers or a 'graph', not both"
        raise document.error(message, ("layers", written[0], "tensors"))
    if "graph" not in data and not written:
        for key in ("inputs", "weights", "state", "outputs"):
            if key in data:
                message = "is of no use where neither a 'graph' nor 'tensors' of layers use it"
                raise document.error(message, (key,))
        return None
    return Reader(document, layers).graph(written)


class Reader:
    """Reads the graph of one file and remembers where each of its nodes stands."""

    def __init__(self, document: Document, layers: Mapping[str, Layer]) -> None:
        self.document = document
        self.layers = layers
        self.paths: dict[tuple[str, ...], KeyPath] = {}
        self.unshaped: set[tuple[str, ...]] = set()

    def graph(self, connected: Iterable[int]) -> Graph:
        """Return the graph; without a ``graph`` key, that of the layers with these numbers."""
        data = self.document.data
        inputs = self.shapes(("inputs",), data.get("inputs", {}))
        weights = self.shapes(("weights",), data.get("weights", {}))
        state = self.shapes(("state",), data.get("state", {}))
        outside = {**inputs, **weights, **state}
        nodes: list[Node | Block] = []
        if "graph" in data:
            for i, item in enumerate(data["graph"]):
                path: KeyPath = ("graph", i)
                block = isinstance(item, dict) and "block" in item
                nodes.append(self.block(path) if block else self.node(path, item, ()))
        else:
            names = list(self.layers)
            for i in connected:
                tensors = data["layers"][i]["tensors"]
                nodes.append(self.of_layer(("layers", i), names[i], names[i], "", tensors, ()))
        nodes = self.ordered(nodes, set(outside), ())
        try:
            nodes = self.shaped(nodes, outside)
            graph = Graph(inputs, weights, state, tuple(nodes), tuple(data.get("outputs", ())))
            check(graph, self.layers)
        except GraphError as failure:
            path = (*self.paths.get(failure.node, ()), *failure.place)
            raise self.document.error(failure.message, path) from None
        return graph

    def node(self, path: KeyPath, data: Any, outer: tuple[str, ...]) -> Node:
        """Read a node of the graph, or of the block `outer`."""
        kinds = [kind for kind in KINDS if isinstance(data, dict) and kind in data]
        if kinds not in (["layer"], ["node"]):
            accepted = "'layer' or 'node'" if outer else "'layer', 'node' or 'block'"
            raise self.document.error(f"needs one of the keys {accepted}", path)
        if kinds == ["layer"]:
            use = self.document.validate(LayerNode, path)
            if use.layer not in self.layers:
                message = f"no layer '{use.layer}'{nearest(use.layer, self.layers)}"
                raise self.document.error(message, (*path, "layer"))
            name = use.layer if use.name is None else use.name
            return self.of_layer(path, name, use.layer, use.operator or "", use.tensors, outer)
        other = self.document.validate(OtherNode, path)
        if other.status not in STATUSES[1:]:
            message = f"no status '{other.status}'; accepted: {', '.join(STATUSES[1:])}"
            raise self.document.error(
                message + nearest(other.status, STATUSES[1:]), (*path, "status")
            )
        self.placed(path, (*outer, other.node))
        inputs = {
            str(i): self.view((*path, "inputs", i), item) for i, item in enumerate(other.inputs)
        }
        if other.outputs is None:
            self.unshaped.add((*outer, other.node))
        given = {other.node: [1]} if other.outputs is None else other.outputs
        outputs = self.shapes((*path, "outputs"), given)
        counted = sum(map(prod, outputs.values()))
        return Node(
            other.node, other.operator, inputs, outputs, status=other.status,
            operations=counted if other.operations is None else other.operations,
        )  # fmt: skip

    def of_layer(
        self, path: KeyPath, name: str, layer_name: str, operator: str, tensors: Any,
        outer: tuple[str, ...],
    ) -> Node:  # fmt: skip
        """Return the node of a layer from what it says about its tensors."""
        layer = self.layers[layer_name]
        if not isinstance(tensors, dict):
            raise self.document.error(
                f"expected names of tensors, such as {{I: image}}, found {describe(tensors)}",
                (*path, "tensors"),
            )
        self.placed(path, (*outer, name))
        names = [tensor.name for tensor in layer.tensors]
        for key in tensors:
            if key not in names:
                message = f"layer '{layer_name}' has {', '.join(names)}{nearest(key, names)}"
                raise self.document.error(message, (*path, "tensors", key))
        made = tensors.get(layer.output.name, name)
        if not isinstance(made, str) or not made:
            raise self.document.error(
                f"expected the name of the tensor that is made, found {describe(made)}",
                (*path, "tensors", layer.output.name),
            )
        inputs = {
            key: self.view((*path, "tensors", key), value)
            for key, value in tensors.items()
            if key != layer.output.name
        }
        outputs = {made: tensor_shape(layer.output, layer.bounds)}
        return Node(name, operator or layer.operation, inputs, outputs, layer_name)

    def block(self, path: KeyPath) -> Block:
        """Read a repeated part."""
        block = self.document.validate(BlockNode, path)
        self.placed(path, (block.block,))
        inputs, each = (
            {name: self.view((*path, key, name), view) for name, view in given.items()}
            for key, given in (("inputs", block.inputs), ("each", block.each))
        )
        weights = self.shapes((*path, "weights"), block.weights)
        state = self.shapes((*path, "state"), block.state)
        nodes = [
            self.node((*path, "nodes", i), item, (block.block,))
            for i, item in enumerate(block.nodes)
        ]
        ordered = self.ordered(nodes, {*inputs, *each, *weights, *state}, (block.block,))
        inner = tuple(node for node in ordered if isinstance(node, Node))
        return Block(
            name=block.block,
            repeat=block.repeat,
            inputs=inputs,
            carry=block.carry,
            each=each,
            weights=weights,
            state=state,
            nodes=inner,
        )

    def placed(self, path: KeyPath, name: tuple[str, ...]) -> None:
        """Remember where a node stands."""
        if name in self.paths:
            line = self.document.line(self.paths[name])
            message = f"the name '{name[-1]}' occurs twice (first on line {line})"
            raise self.document.error(message, path)
        self.paths[name] = path

    def ordered(
        self, nodes: Iterable[Node | Block], outside: set[str], outer: tuple[str, ...]
    ) -> list[Node | Block]:
        """Return nodes in an order in which they can run."""
        given = list(nodes)
        made = set(outside)
        for node in given:
            for name in visible(node):
                if name in made:
                    message = f"tensor '{name}' is there already: each has one producer"
                    raise self.document.error(message, self.paths[(*outer, node.name)])
                made.add(name)
        order, cycle = in_order(given, outside)
        if cycle:
            message = f"a cycle: {' -> '.join([*cycle, cycle[0]])}"
            raise self.document.error(message, self.paths[(*outer, cycle[0])])
        return order

    def shaped(
        self, nodes: Iterable[Node | Block], shapes: dict[str, Shape], outer: tuple[str, ...] = ()
    ) -> list[Any]:
        """Return nodes whose outputs have the shape of their first input where none is given."""
        result: list[Node | Block] = []
        for node in nodes:
            new: Node | Block = node
            at = (*outer, node.name)
            if isinstance(node, Block):
                inside = {**shapes, **node.weights, **node.state}
                for name, view in node.inputs.items():
                    inside[name] = _seen(view, shapes, at, ("inputs", name))
                for name, view in node.each.items():
                    inside[name] = _seen(view, shapes, at, ("each", name))[1:]
                new = replace(node, nodes=tuple(self.shaped(node.nodes, inside, at)))
            elif at in self.unshaped:
                if "0" not in node.inputs:
                    raise GraphError("needs 'inputs' or the shapes of its 'outputs'", at)
                shape = _seen(node.inputs["0"], shapes, at, ("inputs", 0))
                counted = "operations" not in self.given(at)
                operations = prod(shape) if counted else node.operations
                new = replace(node, outputs={node.name: shape}, operations=operations)
            shapes |= visible(new)
            result.append(new)
        return result

    def given(self, node: tuple[str, ...]) -> Any:
        """Return the keys with which the file describes a node."""
        data = self.document.data
        for key in self.paths[node]:
            data = data[key]
        return data

    def view(self, path: KeyPath, data: Any) -> View:
        """Read a view."""
        error = self.document.error
        return read_view(data, lambda text, key: error(text, path if key == "" else (*path, key)))

    def shapes(self, path: KeyPath, data: Any) -> dict[str, Shape]:
        """Read shapes of tensors by name."""
        if not isinstance(data, dict):
            raise self.document.error(
                f"expected shapes by name, such as {{image: [1, 3, 224, 224]}}, "
                f"found {describe(data)}",
                path,
            )
        return {name: self.shape((*path, name), value) for name, value in data.items()}

    def shape(self, path: KeyPath, data: Any) -> Shape:
        """Read the shape of a tensor."""
        whole = isinstance(data, list) and all(type(size) is int for size in data)
        if not whole or not all(1 <= size <= MAX_BOUND for size in data) or prod(data) > MAX_WORDS:
            raise self.document.error(
                "expected a shape such as [1, 3, 224, 224]: whole numbers from 1 to 2**40, with "
                f"a product of at most 2**62, found {data if whole else describe(data)}",
                path,
            )
        return tuple(data)


def graph_data(graph: Graph, layers: Mapping[str, Layer]) -> dict[str, Any]:
    """Return the keys with which a network file describes a graph."""
    data: dict[str, Any] = {"inputs": _shapes(graph.inputs)}
    data |= _kept(graph)
    data["graph"] = [
        _block_data(node, layers) if isinstance(node, Block) else _node_data(node, layers)
        for node in graph.nodes
    ]
    if graph.outputs:
        data["outputs"] = row(list(graph.outputs))
    return data


def _block_data(block: Block, layers: Mapping[str, Layer]) -> dict[str, Any]:
    data: dict[str, Any] = {"block": block.name, "repeat": block.repeat}
    data["inputs"] = flow({name: view_data(view) for name, view in block.inputs.items()})
    data["carry"] = flow(dict(block.carry))
    if block.each:
        data["each"] = flow({name: view_data(view) for name, view in block.each.items()})
    data |= _kept(block)
    data["nodes"] = [_node_data(node, layers) for node in block.nodes]
    return data


def _node_data(node: Node, layers: Mapping[str, Layer]) -> dict[str, Any]:
    views = {key: view_data(view) for key, view in node.inputs.items()}
    if node.layer is None:
        data: dict[str, Any] = {"node": node.name, "operator": node.operator}
        data["inputs"] = row(list(views.values()))
        data["outputs"] = _shapes(node.outputs)
        if node.status != OUTSIDE:
            data["status"] = node.status
        return flow(data | {"operations": node.operations})
    layer = layers[node.layer]
    data = {"layer": node.layer}
    if node.name != node.layer:
        data["name"] = node.name
    if node.operator != layer.operation:
        data["operator"] = node.operator
    (made,) = node.outputs
    if made != node.name:
        views[layer.output.name] = made
    return flow(data | {"tensors": flow(views)})


def _kept(part: Graph | Block) -> dict[str, Any]:
    given = {"weights": part.weights, "state": part.state}
    return {key: _shapes(shapes) for key, shapes in given.items() if shapes}


def _shapes(shapes: Mapping[str, Shape]) -> CommentedMap:
    return flow({name: row(list(shape)) for name, shape in shapes.items()})


def _seen(
    view: View, shapes: Mapping[str, Shape], at: tuple[str, ...], place: tuple[str | int, ...]
) -> Shape:
    for name in view.tensors():
        if name not in shapes:
            raise GraphError(f"no tensor '{name}'{nearest(name, shapes)}", at, place)
    try:
        return view.shape(shapes)
    except InputError as failure:
        raise GraphError(failure.message, at, place) from None
