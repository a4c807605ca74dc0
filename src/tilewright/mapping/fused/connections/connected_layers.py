"""The segment of some layers of a network: what they exchange, and the dimensions that this ties.

Views between the layers are seen through as long as an index stays a sum of the dimensions on both
sides: axes in another order, joined or split, slices and pads.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.errors import InputError, nearest
from tilewright.mapping.fused.connections.axes import Axis, met, tensor_axes
from tilewright.mapping.fused.connections.segments import (
    Access,
    Exchange,
    Segment,
    SharedTensor,
    Tie,
)
from tilewright.workload.graph import Block, Graph, Node
from tilewright.workload.layer import Layer, Network
from tilewright.workload.view import Step, View

POINTWISE = """
    abs cast ceil clamp clip dropout elu erf exp floor gelu gelu_new gelu_tanh hard_sigmoid
    hard_swish hardsigmoid hardswish hardtanh identity leaky_relu leakyrelu log log_sigmoid mish
    neg prelu quick_gelu reciprocal relu relu6 round rsqrt selu sigmoid sign silu softplus sqrt
    square swish tanh
"""
"""Operations on single words, in lower case: what they read and make counts as one tensor."""


@dataclass(frozen=True)
class _Use:
    """A use of a layer in a part of a graph: its node under its full name."""

    name: str
    node: Node
    layer: Layer


def segment(network: Network, names: Iterable[str]) -> Segment:
    """Return a segment of a network.

    Parameters
    ----------
    network : Network
        With a graph.
    names : iterable of str
        Nodes of the graph that use a layer: ``"up"``; within a block ``"layer.up"``.

    Raises
    ------
    InputError
        When the network has no graph, a name is unknown, or the layers are not connected.
    """
    if network.graph is None:
        raise InputError(
            f"network '{network.name}' does not say how its layers are connected: "
            "fused mappings need a graph",
            key="graph",
        )
    wanted = list(dict.fromkeys(names))
    block, nodes = _part(network.graph, wanted)
    prefix = "" if block is None else f"{block.name}."
    by_name = {layer.name: layer for layer in network.layers}
    uses = [
        _Use(
            prefix + node.name,
            node,
            replace(by_name[node.layer], name=prefix + node.name, repeat=1),
        )
        for node in nodes
        if node.layer is not None and prefix + node.name in wanted
    ]
    found = _connected(uses, nodes, network.graph, block)
    _check_connected(found)
    return found


def _part(graph: Graph, wanted: Sequence[str]) -> tuple[Block | None, tuple[Node, ...]]:
    """Return the block, or None for the graph outside of blocks, in which all nodes stand."""
    parts: list[tuple[Block | None, tuple[Node, ...]]] = [
        (None, tuple(node for node in graph.nodes if isinstance(node, Node)))
    ]
    parts += [(node, node.nodes) for node in graph.nodes if isinstance(node, Block)]
    known = {
        ("" if block is None else f"{block.name}.") + node.name: i
        for i, (block, nodes) in enumerate(parts)
        for node in nodes
        if node.layer is not None
    }
    for name in wanted:
        if name not in known:
            raise InputError(f"no layer '{name}' in the graph{nearest(name, known)}", key="layer")
    places = {known[name] for name in wanted}
    if len(places) != 1:
        raise InputError(
            "the layers of a segment stand in one block, or all outside of blocks; found "
            f"{', '.join(wanted) or 'none'}",
            key="layer",
        )
    return parts[places.pop()]


def _connected(
    uses: Sequence[_Use], nodes: Sequence[Node], graph: Graph, block: Block | None
) -> Segment:
    inside = {use.name for use in uses}
    prefix = "" if block is None else f"{block.name}."
    makers = {name: node for node in nodes for name in node.outputs}
    made: dict[str, _Use] = {next(iter(use.node.outputs)): use for use in uses}
    readers: dict[str, list[Access]] = {}
    exchanges: list[Exchange] = []
    external: dict[tuple[str, View | None], list[Access]] = {}
    reached: dict[str, set[str]] = {}
    for use in uses:
        for tensor in use.layer.inputs:
            here = Access(use.name, tensor.name)
            view = use.node.inputs.get(tensor.name)
            if view is None:
                external[f"{use.name}.{tensor.name}", None] = [here]
                continue
            source, steps, passed = traced(view, makers)
            if source in made:
                producer = made[source]
                output = producer.layer.output
                shape = producer.node.outputs[source]
                axes = met(
                    tensor_axes(output, producer.layer), shape, steps,
                    tensor_axes(tensor, use.layer), producer.layer, use.layer,
                )  # fmt: skip
                ties = tuple(_ties(axes, producer.layer, use.layer))
                access = Access(producer.name, output.name)
                exchanges.append(Exchange(source, access, here, ties, steps))
                readers.setdefault(source, []).append(here)
                reached.setdefault(source, set()).update({*passed, use.name})
            else:
                external.setdefault((source or f"{use.name}.{tensor.name}", view), []).append(here)
    tensors = []
    for name, use in made.items():
        own = reached.get(name, set())
        wanted = _wanted(name, nodes, inside, prefix, graph, block, own) or not own
        access = Access(use.name, use.layer.output.name)
        tensors.append(SharedTensor(name, access, tuple(readers.get(name, ())), wanted))
    several = {name for name, _ in external if sum(n == name for n, _ in external) > 1}
    for (name, _), accesses in external.items():
        if name in several:
            tensors += [SharedTensor(f"{a.layer}.{a.tensor}", None, (a,)) for a in accesses]
        else:
            tensors.append(SharedTensor(name, None, tuple(accesses)))
    times = 1 if block is None else block.repeat
    return Segment(
        layers=tuple(use.layer for use in uses),
        tensors=tuple(tensors),
        exchanges=tuple(exchanges),
        repeat=times,
        sources=tuple(use.node.layer or use.name for use in uses),
    )


def traced(
    view: View, makers: Mapping[str, Node]
) -> tuple[str | None, tuple[Step, ...], tuple[str, ...]]:
    """Return the tensor behind a view and behind operations on single words before it.

    Returns
    -------
    tuple
        The tensor (None where several are joined), the steps from it to what is seen, and the names
        of the operations between.
    """
    steps: tuple[Step, ...] = ()
    passed: list[str] = []
    while True:
        steps = (*view.steps, *steps)
        if len(view.parts) != 1:
            return None, steps, tuple(passed)
        (part,) = view.parts
        if isinstance(part, View):
            view = part
            continue
        node = makers.get(part)
        if node is None or not single_words(node):
            return part, steps, tuple(passed)
        passed.append(node.name)
        view = node.inputs["0"]


def single_words(node: Node) -> bool:
    """Whether a node changes single words: what it reads and makes counts as one tensor."""
    return (
        node.layer is None
        and len(node.inputs) == 1
        and len(node.outputs) == 1
        and node.operator.lower() in POINTWISE.split()
    )


def _wanted(
    name: str, nodes: Sequence[Node], inside: set[str], prefix: str, graph: Graph,
    block: Block | None, reached: set[str],
) -> bool:  # fmt: skip
    """Return whether anything but the layers inside, or nobody, reads a tensor."""
    if block is None and name in graph.outputs:
        return True
    if block is not None:
        outer = {f"{block.name}.{name}", f"{block.name}.all.{name}"}
        if name in block.carry.values() or outer & {*graph.outputs, *_reads(graph.nodes)}:
            return True
    elif name in _reads(node for node in graph.nodes if isinstance(node, Block)):
        return True
    for node in nodes:
        if name not in set(node.reads()):
            continue
        if node.layer is not None:
            if prefix + node.name not in inside:
                return True
        elif node.name not in reached or any(
            _wanted(out, nodes, inside, prefix, graph, block, reached) for out in node.outputs
        ):
            return True
    return False


def _reads(nodes: Iterable[Node | Block]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, Node):
            yield from node.reads()
            continue
        for view in (*node.inputs.values(), *node.each.values()):
            yield from view.tensors()
        for inner in node.nodes:
            yield from inner.reads()


def _ties(axes: Sequence[tuple[Axis, Axis]], producer: Layer, reader: Layer) -> Iterator[Tie]:
    """Yield the tie of each axis on which both sides have a leading dimension."""
    for made, read in axes:
        one = made.leading(producer.bounds, producer.output.dimensions)
        other = read.leading(reader.bounds, reader.output.dimensions)
        if one is None or other is None:
            continue
        (made_dim, made_step, made_span), (read_dim, step, span) = one, other
        if made_span > made_step > 1 or (made_step == 1 and made_span > 1):
            continue
        yield Tie(made_dim, read_dim, made_step, step, span, read.offset - made.offset)


def _check_connected(found: Segment) -> None:
    """Refuse layers between which no tensor is exchanged, directly or through others."""
    first, *others = (layer.name for layer in found.layers)
    group = {first}
    grew = True
    while grew:
        grew = False
        for tensor in found.tensors:
            users = {access.layer for access in tensor.accesses}
            if users & group and not users <= group:
                group |= users
                grew = True
    if apart := [name for name in others if name not in group]:
        raise InputError(
            f"layer '{apart[0]}' has no tensor in common with {', '.join(sorted(group))}: "
            "a segment is connected",
            key="layer",
        )
