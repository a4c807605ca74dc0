"""What became of every operation of a model: nothing is dropped in silence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tilewright.workload.footprint import footprint
from tilewright.workload.graph import MOVES, STATUSES, UNKNOWN, Node
from tilewright.workload.layer import Layer, Network
from tilewright.workload.view import Shape


@dataclass(frozen=True)
class Account:
    """Operations of one kind that have met the same fate.

    Attributes
    ----------
    status : str
        One of `tilewright.workload.graph.STATUSES`.
    operator : str
        In the words of the model's format.
    nodes : int
        How many, repeated blocks counted as often as they run.
    operations : int
        Of all of them; of what is not understood one per word that is made.
    words : int
        That they read and write, each tensor of each node once.
    names : tuple of str
        Of the nodes.
    """

    status: str
    operator: str
    nodes: int
    operations: int
    words: int
    names: tuple[str, ...]


def account(network: Network) -> list[Account]:
    """Return what became of every node of a network's graph; without a graph, its layers.

    Returns
    -------
    list of Account
        What is mapped first, then in the order of the statuses; the most operations first.
    """
    layers = {layer.name: layer for layer in network.layers}
    rows: dict[tuple[str, str], Account] = {}
    for node, times, shapes in _nodes(network):
        layer = layers[node.layer] if node.layer is not None else None
        operations = node.operations if layer is None else layer.operations
        words = _words(node, layer, shapes)
        key = (node.status, node.operator)
        old = rows.get(key, Account(*key, 0, 0, 0, ()))
        rows[key] = Account(
            *key,
            nodes=old.nodes + times,
            operations=old.operations + times * operations,
            words=old.words + times * words,
            names=(*old.names, node.name) if len(old.names) < 1000 else old.names,
        )
    order = {status: i for i, status in enumerate(STATUSES)}
    return sorted(rows.values(), key=lambda row: (order[row.status], -row.operations, row.operator))


def not_understood(network: Network) -> list[str]:
    """Return a line for each operator that is not understood, with its share."""
    if network.graph is None or all(node.status != UNKNOWN for node, _ in network.graph.counted()):
        return []
    accounts = account(network)
    operations, words = (
        sum(row.operations for row in accounts) or 1,
        sum(row.words for row in accounts) or 1,
    )
    return [
        f"not understood, and not mapped: {row.operator} ({', '.join(row.names[:5])}"
        f"{', ...' if len(row.names) > 5 else ''}), at least {row.operations:,} operations "
        f"({row.operations / operations:.2%}) and {row.words:,} words ({row.words / words:.2%})"
        for row in accounts
        if row.status == UNKNOWN
    ]


def _nodes(network: Network) -> Iterator[tuple[Node, int, dict[str, Shape]]]:
    if network.graph is None:
        for layer in network.layers:
            yield Node(layer.name, layer.operation, layer=layer.name), layer.repeat, {}
        return
    shapes = network.graph.shapes()
    for part in network.graph.nodes:
        if isinstance(part, Node):
            yield part, 1, shapes
            continue
        inside = {**shapes, **part.weights, **part.state}
        inside |= {name: view.shape(shapes) for name, view in part.inputs.items()}
        inside |= {name: view.shape(shapes)[1:] for name, view in part.each.items()}
        for node in part.nodes:
            inside |= node.outputs
        for node in part.nodes:
            yield node, part.repeat, inside


def _words(node: Node, layer: Layer | None, shapes: dict[str, Shape]) -> int:
    if layer is not None:
        return sum(footprint(tensor, layer.bounds) for tensor in layer.tensors)
    made = sum(map(prod, node.outputs.values()))
    read = sum(prod(view.shape(shapes)) for view in node.inputs.values())
    # a lookup reads the words that it moves, not the table
    return made + (min(read, made) if node.status == MOVES else read)
