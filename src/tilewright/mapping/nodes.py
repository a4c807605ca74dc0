"""A mapping: one flat list of nodes, from outermost to innermost."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Store:
    """Memory ``memory`` holds ``tensors`` (names of the layer's tensors) from here inward."""

    memory: str
    tensors: tuple[str, ...]


@dataclass(frozen=True)
class For:
    """Temporal loop over ``dimension`` in consecutive chunks of ``tile`` iterations."""

    dimension: str
    tile: int


@dataclass(frozen=True)
class Spatial:
    """Cut of ``dimension`` in chunks of ``tile``; chunk i goes to element i along ``axis``."""

    dimension: str
    tile: int
    axis: str
    array: str


Node = Store | For | Spatial


@dataclass(frozen=True, repr=False)
class Mapping:
    """How a layer runs on a machine: store, temporal and spatial nodes, outermost first.

    What the list leaves of each dimension runs one iteration at a time at the compute unit.
    """

    nodes: tuple[Node, ...]

    def __len__(self) -> int:
        return len(self.nodes)

    def __repr__(self) -> str:
        return f"<Mapping of {len(self)} nodes: {' > '.join(map(node_text, self.nodes))}>"

    def __str__(self) -> str:
        lines = (f"{'  ' * depth}{node_text(node)}" for depth, node in enumerate(self.nodes))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def node_text(node: Node) -> str:
    """Return a node in words; how many chunks a loop has depends on the layer."""
    if isinstance(node, Store):
        return f"{node.memory} stores {', '.join(node.tensors)}"
    if isinstance(node, For):
        return f"for {node.dimension} tile {node.tile}"
    return f"spatial {node.dimension} tile {node.tile} on {node.array}.{node.axis}"
