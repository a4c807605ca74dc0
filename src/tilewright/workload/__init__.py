"""What is computed: layers in einsum notation, the networks they form, and those that ship."""

from tilewright.workload.einsum import einsum
from tilewright.workload.footprint import expression_words, footprint
from tilewright.workload.graph import Block, Graph, Node
from tilewright.workload.layer import Layer, Network, Tensor, Term
from tilewright.workload.network import (
    dump_network,
    load_network,
    parse_network,
    select,
    zoo_names,
)
from tilewright.workload.operators import OPERATORS
from tilewright.workload.view import View

__all__ = [
    "OPERATORS",
    "Block",
    "Graph",
    "Layer",
    "Network",
    "Node",
    "Tensor",
    "Term",
    "View",
    "dump_network",
    "einsum",
    "expression_words",
    "footprint",
    "load_network",
    "parse_network",
    "select",
    "zoo_names",
]
