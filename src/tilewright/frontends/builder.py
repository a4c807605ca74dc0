"""Networks put together node by node: equal layers are merged, every operation is recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from tilewright.errors import InputError, nearest
from tilewright.frontends.values import Value
from tilewright.workload.einsum import build_layer
from tilewright.workload.graph import (
    FOLDED,
    MOVES,
    OUTSIDE,
    UNKNOWN,
    Block,
    Graph,
    Node,
    tensor_shape,
)
from tilewright.workload.graphs.graph_checks import check
from tilewright.workload.layer import Layer, Network
from tilewright.workload.view import Shape, View

KINDS = ("conv", "matmul", "elementwise", "normalization", "softmax", "pool", "reduce")


def check_only(only: Sequence[str] | None) -> frozenset[str]:
    """Return the kinds of operations that become layers: those asked for, by default all."""
    for kind in only or ():
        if kind not in KINDS:
            raise InputError(
                f"no kind of operation '{kind}'; accepted: {', '.join(KINDS)}"
                f"{nearest(str(kind), KINDS)}",
                key="only",
            )
    return frozenset(only or KINDS)


class Names:
    """Names of which each is given once."""

    def __init__(self) -> None:
        self.taken: dict[str, int] = {}

    def unique(self, name: str) -> str:
        """Return a name, with a number behind it when it is taken."""
        candidate, number = name, self.taken.get(name, 0)
        while candidate in self.taken:
            number += 1
            candidate = f"{name}_{number + 1}"
        if number:
            self.taken[name] = number
        self.taken[candidate] = 0
        return candidate


@dataclass
class Scope:
    """The nodes of the network, or of a block, while they are collected."""

    prefix: str = ""
    repeat: int = 1
    inputs: dict[str, Shape] = field(default_factory=dict)
    weights: dict[str, Shape] = field(default_factory=dict)
    state: dict[str, Shape] = field(default_factory=dict)
    nodes: list[Node | Block] = field(default_factory=list)
    names: Names = field(default_factory=Names)
    entry: dict[str, View] = field(default_factory=dict)
    each: dict[str, View] = field(default_factory=dict)
    carry: dict[str, str] = field(default_factory=dict)


class Builder:
    """Collects layers and other operations into a network.

    Parameters
    ----------
    name : str
        Of the network.
    source : str
        Where it comes from.
    only : sequence of str, optional
        Kinds of operations that become layers (`KINDS`); the others are left out, on record.
    """

    def __init__(self, name: str, source: str = "", only: Sequence[str] | None = None) -> None:
        self.name = name
        self.source = source
        self.only = check_only(only)
        self.layers: dict[Any, Layer] = {}
        self.layer_names = Names()
        self.tensor_names = Names()
        self.scopes = [Scope()]
        self.outputs: list[str] = []

    @property
    def scope(self) -> Scope:
        """Where nodes are added: the network, or the block that is open."""
        return self.scopes[-1]

    def input(self, name: str, shape: Shape) -> Value:
        """Add a tensor that comes from outside."""
        return self._given(self.scopes[0].inputs, name, shape, False)

    def weight(self, name: str, shape: Shape) -> Value:
        """Add parameters; those of a block are other ones in each repetition."""
        return self._given(self.scope.weights, name, shape, True)

    def state(self, name: str, shape: Shape) -> Value:
        """Add what an earlier run has left."""
        return self._given(self.scope.state, name, shape, False)

    def layer(
        self,
        name: str,
        kind: str,
        expression: str,
        bounds: Mapping[str, int],
        inputs: Mapping[str, Value],
        operator: str = "",
        operation: str = "mac",
    ) -> Value:
        """Add a node that is a layer, and return what it makes.

        Parameters
        ----------
        name : str
            Of the node and of its tensor.
        kind : str
            One of `KINDS`.
        expression : str
            Its einsum.
        bounds : mapping of str to int
            Those of its dimensions.
        inputs : mapping of str to Value
            What it reads, by the names in the einsum.
        operator : str
            In the words of the model's format.
        operation : str
            What the body does.
        """
        layer = build_layer(expression, bounds, name=printable(name), operation=operation)
        node = self._unique(name)
        output = self._tensor(node)
        shape = tensor_shape(layer.output, layer.bounds)
        views = {key: value.view for key, value in inputs.items()}
        shown = operator or operation
        if kind not in self.only:
            given = {str(i): view for i, view in enumerate(views.values())}
            self.scope.nodes.append(
                Node(
                    name=node,
                    operator=shown,
                    inputs=given,
                    outputs={output: shape},
                    layer=None,
                    status=OUTSIDE,
                    operations=layer.operations,
                )
            )
            return Value(View((output,)), shape)
        key = (layer.einsum, tuple(layer.bounds.items()), operation)
        times = prod(scope.repeat for scope in self.scopes)
        if key in self.layers:
            known = self.layers[key]
            self.layers[key] = replace(known, repeat=known.repeat + times)
        else:
            full = ".".join([scope.prefix for scope in self.scopes[1:]] + [layer.name])
            unique = self.layer_names.unique(full)
            self.layers[key] = replace(layer, name=unique, repeat=times)
        self.scope.nodes.append(Node(node, shown, views, {output: shape}, self.layers[key].name))
        return Value(View((output,)), shape)

    def other(
        self,
        name: str,
        operator: str,
        inputs: Sequence[Value],
        shapes: Sequence[Shape],
        status: str,
        operations: int = 0,
    ) -> list[Value]:
        """Add a node that is no layer, and return the tensors that it makes."""
        node = self._unique(name)
        names = [self._tensor(node if i == 0 else f"{node}.{i}") for i in range(len(shapes))]
        views = {str(i): value.view for i, value in enumerate(inputs)}
        outputs = dict(zip(names, shapes, strict=True))
        self.scope.nodes.append(
            Node(node, operator, views, outputs, status=status, operations=operations)
        )
        return [Value(View((made,)), shape) for made, shape in outputs.items()]

    def folded(self, name: str, operator: str, operations: int = 0) -> None:
        """Record an operation that another node does, or that is done before the network runs."""
        self.other(name, operator, (), (), FOLDED, operations)

    def moved(self, name: str, operator: str, *inputs: Value) -> None:
        """Record an operation that is a view."""
        self.other(name, operator, inputs, (), MOVES)

    def unknown(
        self, name: str, operator: str, inputs: Sequence[Value], shapes: Sequence[Shape]
    ) -> list[Value]:
        """Record an operation that is not understood, counted as one per word that it makes."""
        operations = sum(map(prod, shapes))
        return self.other(name, operator, inputs, shapes, UNKNOWN, operations)

    @contextmanager
    def block(self, name: str, repeat: int, **inputs: Value) -> Iterator[dict[str, Value]]:
        """Collect what is added meanwhile as a repeated block.

        Yields the inputs as they are seen inside. An input that `carry` is called for is, from
        the second repetition on, what the one before has made.
        """
        unique = self._unique(name)
        scope = Scope(unique, repeat)
        inside = {key: self._tensor(key) for key in inputs}
        scope.entry = {inside[key]: value.view for key, value in inputs.items()}
        self.scopes.append(scope)
        yield {key: Value(View((name,)), inputs[key].shape) for key, name in inside.items()}
        self.scopes.pop()
        inner = tuple(node for node in scope.nodes if isinstance(node, Node))
        self.scope.nodes.append(
            Block(
                name=unique,
                repeat=repeat,
                inputs=scope.entry,
                carry=scope.carry,
                each=scope.each,
                weights=scope.weights,
                state=scope.state,
                nodes=inner,
            )
        )

    def part_of(self, name: str, value: Value) -> Value:
        """Return the part of a tensor, along its first axis, that belongs to each repetition."""
        inside = self._tensor(name)
        self.scope.each[inside] = value.view
        return Value(View((inside,)), value.shape[1:])

    def all_of(self, block: str, value: Value, repeat: int) -> Value:
        """Return what all repetitions of a block make of a tensor of it."""
        (tensor,) = value.view.parts
        return Value(View((f"{block}.all.{tensor}",)), (repeat, *value.shape))

    def carry(self, given: Value, value: Value) -> Value:
        """Make what a block has made the input of its next repetition; return it as seen after.

        Parameters
        ----------
        given : Value
            The input, as it is seen inside.
        value : Value
            A tensor that a node of the block has made, without a view.
        """
        (tensor,) = value.view.parts
        (inside,) = given.view.parts
        self.scope.carry[str(inside)] = str(tensor)
        return Value(View((f"{self.scope.prefix}.{tensor}",)), value.shape)

    def output(self, value: Value) -> None:
        """Say that tensors go outside."""
        self.outputs += [name for name in value.view.tensors() if name not in self.outputs]

    def network(self) -> Network:
        """Return the network.

        Raises
        ------
        InputError
            When none of its operations is a layer.
        """
        (scope,) = self.scopes
        if not self.layers:
            raise InputError(f"'{self.name}' has no operation that can be mapped")
        layers = tuple(self.layers.values())
        graph = Graph(
            scope.inputs, scope.weights, scope.state, tuple(scope.nodes), tuple(self.outputs)
        )
        check(graph, {layer.name: layer for layer in layers})
        return Network(printable(self.name), layers, self.source, graph)

    def _given(self, into: dict[str, Shape], name: str, shape: Shape, weight: bool) -> Value:
        tensor = self._tensor(name)
        into[tensor] = shape
        return Value(View((tensor,)), shape, weight)

    def _tensor(self, name: str) -> str:
        """Return a name for a tensor that nothing in sight has."""
        return self.tensor_names.unique(printable(name))

    def _unique(self, name: str) -> str:
        return self.scope.names.unique(printable(name))


def printable(name: str) -> str:
    """Return a name that can be shown: without what cannot be printed, and not empty."""
    shown = "".join(c if c.isprintable() else "_" for c in name).strip()
    return shown[:200] or "unnamed"
