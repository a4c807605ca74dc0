"""How a layer runs on a machine: nodes, files, text, validity."""

from tilewright.mapping.constraints import under, violations
from tilewright.mapping.files import (
    dump_mapping,
    dump_mappings,
    load_mapping,
    mapping_data,
    parse_mapping,
)
from tilewright.mapping.given import given_constraints
from tilewright.mapping.nodes import For, Mapping, Node, Spatial, Store
from tilewright.mapping.structure import Link, Loop, Structure, resolve
from tilewright.mapping.text import mapping_text, parse_text
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
    "dump_mapping",
    "dump_mappings",
    "given_constraints",
    "load_mapping",
    "mapping_data",
    "mapping_text",
    "parse_mapping",
    "parse_text",
    "resolve",
    "under",
    "violations",
]
