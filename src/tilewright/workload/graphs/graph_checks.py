"""What holds in every graph: one producer per tensor, shapes and uses that agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.errors import InputError, nearest
from tilewright.workload.graph import Block, Graph, Node, tensor_shape, visible
from tilewright.workload.layer import Layer
from tilewright.workload.view import Shape, View, text


class GraphError(InputError):
    """A graph does not fit together.

    Parameters
    ----------
    message : str
        What is wrong.
    node : tuple of str
        The node, after the block in which it stands; empty for the graph as a whole.
    place : tuple of str or int
        The keys within it, such as ``("tensors", "I")``.
    """

    def __init__(
        self, message: str, node: tuple[str, ...], place: tuple[str | int, ...] = ()
    ) -> None:
        super().__init__(message, key=".".join(map(str, (*node, *place))) or None)
        self.node = node
        self.place = place


def check(graph: Graph, layers: Mapping[str, Layer]) -> None:
    """Check that every tensor is made once, before it is read, in the shape that is wanted.

    Parameters
    ----------
    graph : Graph
        Its nodes in an order in which they can run.
    layers : mapping of str to Layer
        The layers of the network by name.

    Raises
    ------
    GraphError
        For the first thing that is wrong.
    """
    shapes = {**graph.inputs, **graph.weights, **graph.state}
    names: set[str] = set()
    for node in graph.nodes:
        if node.name in names:
            raise GraphError(f"the name '{node.name}' occurs twice", (node.name,))
        names.add(node.name)
        if isinstance(node, Block):
            _check_block(node, layers, shapes)
        else:
            _check_node(node, (node.name,), layers, shapes)
        _make(visible(node), (node.name,), shapes)
    for name in graph.outputs:
        if name not in shapes:
            raise GraphError(f"no tensor '{name}'{nearest(name, shapes)}", (), ("outputs",))
    for name, uses in graph.uses().items():
        if uses != layers[name].repeat:
            raise GraphError(
                f"layer '{name}' has repeat {layers[name].repeat} and occurs {uses} times "
                "in the graph",
                (),
                ("graph",),
            )


def _check_block(block: Block, layers: Mapping[str, Layer], outside: Mapping[str, Shape]) -> None:
    shapes = dict(outside)
    at = (block.name,)
    for name, view in block.inputs.items():
        shapes[name] = _checked_shape(view, outside, at, ("inputs", name))
    for name, view in block.each.items():
        shape = _checked_shape(view, outside, at, ("each", name))
        if shape[:1] != (block.repeat,):
            raise GraphError(
                f"{text(shape)} has no part for each of {block.repeat} repetitions",
                at,
                ("each", name),
            )
        shapes[name] = shape[1:]
    shapes |= {**block.weights, **block.state}
    own = {*block.inputs, *block.each, *block.weights, *block.state}
    made: dict[str, Shape] = {}
    for node in block.nodes:
        _check_node(node, (block.name, node.name), layers, shapes)
        _make(node.outputs, (block.name, node.name), made, own)
        shapes |= node.outputs
    for name, tensor in block.carry.items():
        if name not in block.inputs:
            raise GraphError(f"no input '{name}'{nearest(name, block.inputs)}", at, ("carry", name))
        if tensor not in made:
            raise GraphError(
                f"no node of the block makes '{tensor}'{nearest(tensor, made)}",
                at,
                ("carry", name),
            )
        if made[tensor] != shapes[name]:
            raise GraphError(
                f"'{tensor}' is {text(made[tensor])}, '{name}' {text(shapes[name])}",
                at,
                ("carry", name),
            )


def _check_node(
    node: Node, at: tuple[str, ...], layers: Mapping[str, Layer], shapes: Mapping[str, Shape]
) -> None:
    for key, view in node.inputs.items():
        if node.layer is None:
            _checked_shape(view, shapes, at, ("inputs", int(key)))
            continue
        shape = _checked_shape(view, shapes, at, ("tensors", key))
        layer = layers[node.layer]
        wanted = tensor_shape(next(t for t in layer.inputs if t.name == key), layer.bounds)
        if shape != wanted:
            raise GraphError(
                f"layer '{layer.name}' reads {text(wanted)} as '{key}', found {text(shape)}",
                at,
                ("tensors", key),
            )


def _make(
    made: Mapping[str, Shape],
    at: tuple[str, ...],
    shapes: dict[str, Shape],
    taken: Iterable[str] = (),
) -> None:
    for name, shape in made.items():
        if name in shapes or name in taken:
            raise GraphError(f"tensor '{name}' is there already: each has one producer", at)
        shapes[name] = shape


def _checked_shape(
    view: View, shapes: Mapping[str, Shape], at: tuple[str, ...], key: tuple[str | int, ...]
) -> Shape:
    for name in view.tensors():
        if name not in shapes:
            raise GraphError(f"no tensor '{name}'{nearest(name, shapes)}", at, key)
    try:
        return view.shape(shapes)
    except InputError as failure:
        place = key if failure.key is None else (*key, int(failure.key) + 1)
        raise GraphError(failure.message, at, place) from None
