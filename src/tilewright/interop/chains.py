"""Layers that name the layers whose results they read, as a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tilewright.workload.graph import Graph, Node, tensor_shape
from tilewright.workload.layer import Layer, Tensor
from tilewright.workload.view import Pad, Reshape, Shape, Slice, Step, View


def connected(layers: Sequence[Layer], sources: Sequence[Mapping[str, int]]) -> Graph:
    """Return the graph of layers, each of which makes one tensor.

    Parameters
    ----------
    layers : sequence of Layer
        In an order in which they can run; names are unique.
    sources : sequence of mapping of str to int
        For each layer: the inputs that are results of earlier layers, by the number of that layer.
        An input of role I without a source comes from outside.

    Notes
    -----
    Windows may reach beyond what the source makes, which is padding, or less far. A result that
    has other axes but as many words is reshaped. Anything else cannot be what is meant; such an
    input stays the layer's own.
    """
    made = [tensor_shape(layer.output, layer.bounds) for layer in layers]
    inputs: dict[str, Shape] = {}
    nodes = []
    for i, layer in enumerate(layers):
        views: dict[str, View] = {}
        for tensor in layer.inputs:
            wanted = tensor_shape(tensor, layer.bounds)
            source = sources[i].get(tensor.name)
            if source is not None and source < i:
                steps = between(made[source], wanted, tensor)
                if steps is not None:
                    views[tensor.name] = View((layers[source].name,), steps)
            elif source is None and tensor.role == "I":
                inputs[f"{layer.name}.{tensor.name}"] = wanted
                views[tensor.name] = View((f"{layer.name}.{tensor.name}",))
        nodes.append(
            Node(layer.name, layer.operation, views, {layer.name: made[i]}, layer=layer.name)
        )
    return Graph(inputs=inputs, nodes=tuple(nodes))


def between(made: Shape, wanted: Shape, tensor: Tensor) -> tuple[Step, ...] | None:
    """Return the steps from what is made to what is read; None where there are none."""
    if made == wanted:
        return ()
    if len(made) == len(wanted):
        slides = [
            len(terms) > 1 or terms[0].coefficient > 1 if terms else False
            for terms in tensor.expressions
        ]
        pairs = list(zip(made, wanted, slides, strict=True))
        if all(own == other or slide for own, other, slide in pairs):
            steps: list[Step] = []
            if any(own > other for own, other, _ in pairs):
                steps.append(Slice(tuple((0, min(own, other), 1) for own, other, _ in pairs)))
            missing = [max(0, other - own) for own, other, _ in pairs]
            if any(missing):
                steps.append(Pad(tuple((words // 2, words - words // 2) for words in missing)))
            return tuple(steps)
    return (Reshape(wanted),) if prod(made) == prod(wanted) else None
