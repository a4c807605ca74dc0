"""What computes: machines as chains of memories, arrays and a compute unit."""

from tilewright.architecture.files import (
    dump_architecture,
    load_architecture,
    parse_architecture,
    preset_names,
)
from tilewright.architecture.machine import (
    Architecture,
    Array,
    Compute,
    Constraint,
    Level,
    Memory,
)
from tilewright.architecture.technology import Technology, load_technology, technology_names

__all__ = [
    "Architecture",
    "Array",
    "Compute",
    "Constraint",
    "Level",
    "Memory",
    "Technology",
    "dump_architecture",
    "load_architecture",
    "load_technology",
    "parse_architecture",
    "preset_names",
    "technology_names",
]
