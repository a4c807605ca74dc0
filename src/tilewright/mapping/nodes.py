"""A mapping: one flat list of nodes, from outermost to innermost."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True)
class Mapping:
    """How a layer runs on a machine: store, temporal and spatial nodes, outermost first.

    What the list leaves of each dimension runs one iteration at a time at the compute unit.
    """

    nodes: tuple[Node, ...]

    def __len__(self) -> int:
        return len(self.nodes)
