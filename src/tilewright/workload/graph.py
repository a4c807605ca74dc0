"""Graphs: the tensors that connect the layers of a network, and what lies between them.

A node stands for one use of a layer, or for an operation that is none. Tensors are named; a node
sees them through views. A block is a part that is repeated, each repetition fed by the one before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import prod

from tilewright.workload.layer import Tensor
from tilewright.workload.view import Reshape, Shape, Take, View

MAPPED = "mapped"
FOLDED = "folded"
MOVES = "moves data"
OUTSIDE = "left out"
UNKNOWN = "not understood"
STATUSES = (MAPPED, FOLDED, MOVES, OUTSIDE, UNKNOWN)


@dataclass(frozen=True)
class Node:
    """One use of a layer, or an operation that is none of the layers.

    Attributes
    ----------
    name : str
        Unique in its graph or block.
    operator : str
        What it does, in the words of where it comes from: ``"conv2d"``, ``"Softmax"``.
    inputs : mapping of str to View
        What it reads, under the names of the layer's tensors, or numbered (``"0"``, ``"1"``) where
        there is no layer. An input of a layer that is not named is its own: weights that nobody
        else uses.
    outputs : mapping of str to shape
        The tensors that it makes. Of a layer it is one, in the shape that the layer gives it.
    layer : str or None
        Name of the layer.
    status : str
        What became of it: ``"mapped"`` (a layer), ``"folded"`` into another node, ``"moves data"``
        only, ``"left out"`` on purpose, or ``"not understood"``.
    operations : int
        Of a node that is no layer: how many it carries out; 0 if that is not known.
    """

    name: str
    operator: str
    inputs: Mapping[str, View] = field(default_factory=dict)
    outputs: Mapping[str, Shape] = field(default_factory=dict)
    layer: str | None = None
    status: str = MAPPED
    operations: int = 0

    def reads(self) -> Iterator[str]:
        """Yield the names of the tensors that it reads."""
        for view in self.inputs.values():
            yield from view.tensors()


@dataclass(frozen=True)
class Block:
    """Nodes that are repeated, each repetition reading what the one before has made.

    Attributes
    ----------
    name : str
        Unique in its graph. What the last repetition makes is known outside as ``name.tensor``,
        what all make, along a new first axis, as ``name.all.tensor``.
    repeat : int
        How often, at least 1.
    inputs : mapping of str to View
        Names inside, and what they stand for in the first repetition.
    carry : mapping of str to str
        Names among the inputs, and the tensor inside that takes their place from the second
        repetition on. An input that is not carried is the same in all.
    each : mapping of str to View
        Names inside of which every repetition has its own part: that along the first axis, which
        has as many words as there are repetitions.
    weights, state : mapping of str to shape
        As in `Graph`; each repetition has its own.
    nodes : tuple of Node
        In an order in which they can run. They may read tensors of the graph as well.
    """

    name: str
    repeat: int
    inputs: Mapping[str, View] = field(default_factory=dict)
    carry: Mapping[str, str] = field(default_factory=dict)
    each: Mapping[str, View] = field(default_factory=dict)
    weights: Mapping[str, Shape] = field(default_factory=dict)
    state: Mapping[str, Shape] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True)
class Graph:
    """The tensors of a network and the nodes that make and read them.

    Attributes
    ----------
    inputs : mapping of str to shape
        Tensors that come from outside.
    weights : mapping of str to shape
        Tensors that nobody makes and that stay the same from run to run.
    state : mapping of str to shape
        Tensors that earlier runs have left, such as the keys and values of tokens before.
    nodes : tuple of Node or Block
        In an order in which they can run.
    outputs : tuple of str
        Tensors that go outside; empty means those that no node reads.
    """

    inputs: Mapping[str, Shape] = field(default_factory=dict)
    weights: Mapping[str, Shape] = field(default_factory=dict)
    state: Mapping[str, Shape] = field(default_factory=dict)
    nodes: tuple[Node | Block, ...] = ()
    outputs: tuple[str, ...] = ()

    @cached_property
    def parameters(self) -> int:
        """Words of all weights, those of repeated blocks counted as often as they are repeated."""
        blocks = [node for node in self.nodes if isinstance(node, Block)]
        own = sum(prod(shape) for shape in self.weights.values())
        return own + sum(b.repeat * sum(map(prod, b.weights.values())) for b in blocks)

    def counted(self) -> Iterator[tuple[Node, int]]:
        """Yield every node with how often it occurs."""
        for node in self.nodes:
            if isinstance(node, Block):
                yield from ((inner, node.repeat) for inner in node.nodes)
            else:
                yield node, 1

    def uses(self) -> Counter[str]:
        """Return how often each layer occurs."""
        count: Counter[str] = Counter()
        for node, times in self.counted():
            if node.layer is not None:
                count[node.layer] += times
        return count

    def unrolled(self) -> Graph:
        """Return the same graph without blocks: ``encoder.query`` becomes ``encoder[3].query``."""
        nodes: list[Node | Block] = []
        weights, state = dict(self.weights), dict(self.state)
        names: dict[str, str] = {}
        stacks: dict[str, View] = {}
        wanted = {name for node in self.nodes for name in reads(node)} | set(self.outputs)
        for node in self.nodes:
            if isinstance(node, Block):
                nodes += _repetitions(node, stacks, names)
                for i in range(node.repeat):
                    here = f"{node.name}[{i}]"
                    weights |= {f"{here}.{name}": shape for name, shape in node.weights.items()}
                    state |= {f"{here}.{name}": shape for name, shape in node.state.items()}
                last = f"{node.name}[{node.repeat - 1}]"
                for inner in node.nodes:
                    names |= {f"{node.name}.{name}": f"{last}.{name}" for name in inner.outputs}
                    for name, shape in inner.outputs.items():
                        if f"{node.name}.all.{name}" in wanted:
                            stacks[f"{node.name}.all.{name}"] = _stacked(node, name, shape)
            else:
                inputs = {k: replaced(view, stacks, names) for k, view in node.inputs.items()}
                nodes.append(replace(node, inputs=inputs))
        outputs = tuple(
            part
            for name in self.outputs
            for part in (stacks[name].tensors() if name in stacks else (names.get(name, name),))
        )
        return Graph(self.inputs, weights, state, tuple(nodes), outputs)

    def shapes(self) -> dict[str, Shape]:
        """Return the shape of every tensor that nodes outside of blocks can name."""
        shapes = {**self.inputs, **self.weights, **self.state}
        for node in self.nodes:
            shapes |= visible(node)
        return shapes


def _repetitions(
    block: Block, views: Mapping[str, View], outer: Mapping[str, str]
) -> Iterator[Node]:
    """Yield the nodes of every repetition under their full names."""
    made = [name for node in block.nodes for name in node.outputs]
    first = {name: replaced(view, views, outer) for name, view in block.inputs.items()}
    parts = {name: replaced(view, views, outer) for name, view in block.each.items()}
    for i in range(block.repeat):
        here = f"{block.name}[{i}]"
        names = dict(outer) | {
            name: f"{here}.{name}" for name in (*made, *block.weights, *block.state)
        }
        seen = dict(views) | first
        seen |= {name: view.then(Take(i)) for name, view in parts.items()}
        if i:
            seen |= {
                name: View((f"{block.name}[{i - 1}].{tensor}",))
                for name, tensor in block.carry.items()
            }
        for node in block.nodes:
            inputs = {key: replaced(view, seen, names) for key, view in node.inputs.items()}
            outputs = {names[name]: shape for name, shape in node.outputs.items()}
            yield replace(node, name=f"{here}.{node.name}", inputs=inputs, outputs=outputs)


def _stacked(block: Block, tensor: str, shape: Shape) -> View:
    steps = (Reshape((1, *shape)),)
    parts = tuple(View((f"{block.name}[{i}].{tensor}",), steps) for i in range(block.repeat))
    return parts[0] if len(parts) == 1 else View(parts)


def replaced(view: View, views: Mapping[str, View], names: Mapping[str, str]) -> View:
    """Return a view in which some tensors are views themselves and others have other names."""
    if len(view.parts) == 1 and isinstance(view.parts[0], str) and view.parts[0] in views:
        inner = views[view.parts[0]]
        return inner.then(*view.steps)
    parts = tuple(
        views.get(part, names.get(part, part))
        if isinstance(part, str)
        else replaced(part, views, names)
        for part in view.parts
    )
    return View(parts, view.steps, view.axis)


def visible(node: Node | Block) -> dict[str, Shape]:
    """Return the tensors of a node or a block that those after it can read."""
    if isinstance(node, Node):
        return dict(node.outputs)
    made = [item for inner in node.nodes for item in inner.outputs.items()]
    last = {f"{node.name}.{name}": shape for name, shape in made}
    return last | {f"{node.name}.all.{name}": (node.repeat, *shape) for name, shape in made}


def tensor_shape(tensor: Tensor, bounds: Mapping[str, int]) -> Shape:
    """Return the shape of a layer's tensor: for each axis the last index that is touched, plus 1.

    Parameters
    ----------
    tensor : Tensor
        One of the layer's.
    bounds : mapping of str to int
        Those of the layer.
    """
    return tuple(
        1 + sum(term.coefficient * (bounds[term.dimension] - 1) for term in terms)
        for terms in tensor.expressions
    )


def in_order(
    nodes: Iterable[Node | Block], outside: Iterable[str]
) -> tuple[list[Node | Block], list[str]]:
    """Return nodes in an order in which they can run, as near as possible to the given one.

    Parameters
    ----------
    nodes : iterable of Node or Block
        In any order.
    outside : iterable of str
        Tensors that are there from the beginning.

    Returns
    -------
    tuple
        The nodes that can run, and the names of those on a cycle, in its order; none if all can.
    """
    given = list(nodes)
    maker = {name: i for i, node in enumerate(given) for name in visible(node)}
    for name in outside:
        maker.pop(name, None)
    needs = [{maker[name] for name in reads(node) if name in maker} for node in given]
    waiting = [len(need) for need in needs]
    users: list[list[int]] = [[] for _ in given]
    for i, need in enumerate(needs):
        for j in need:
            users[j].append(i)
    ready = [i for i, count in enumerate(waiting) if not count]
    heapify(ready)
    order = []
    while ready:
        i = heappop(ready)
        order.append(i)
        for j in users[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heappush(ready, j)
    if len(order) == len(given):
        return [given[i] for i in order], []
    left = set(range(len(given))) - set(order)
    path = [min(left)]
    while path[-1] not in path[:-1]:
        path.append(min(needs[path[-1]] & left))
    cycle = path[path.index(path[-1]) + 1 :]
    return [given[i] for i in order], [given[i].name for i in reversed(cycle)]


def reads(node: Node | Block) -> set[str]:
    """Return the tensors that a node or a block reads from outside of itself."""
    if isinstance(node, Node):
        return set(node.reads())
    inside = {*node.inputs, *node.each, *node.weights, *node.state}
    inside |= {name for inner in node.nodes for name in inner.outputs}
    views = (*node.inputs.values(), *node.each.values())
    seen = {name for view in views for name in view.tensors()}
    return seen | {name for inner in node.nodes for name in inner.reads() if name not in inside}
