"""What is computed: layers in einsum notation, the networks they form, and those that ship."""

from tilewright.workload.einsum import einsum
from tilewright.workload.footprint import expression_words, footprint
from tilewright.workload.layer import Layer, Network, Tensor, Term
from tilewright.workload.network import (
    dump_network,
    load_network,
    parse_network,
    select,
    zoo_names,
)
from tilewright.workload.operators import OPERATORS

__all__ = [
    "OPERATORS",
    "Layer",
    "Network",
    "Tensor",
    "Term",
    "dump_network",
    "einsum",
    "expression_words",
    "footprint",
    "load_network",
    "parse_network",
    "select",
    "zoo_names",
]
