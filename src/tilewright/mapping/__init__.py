"""How a layer runs on a machine: nodes, files, text, validity."""

from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.structure import Link, Loop, Structure, resolve
from tilewright.mapping.validity import check

__all__ = [
    "For",
    "Link",
    "Loop",
    "Mapping",
    "Node",
    "Spatial",
    "Store",
    "Structure",
    "check",
    "resolve",
]
