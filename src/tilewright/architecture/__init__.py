"""What computes: machines as chains of memories, arrays and a compute unit."""

from tilewright.architecture.constraints.constraint import Constraint, Constraints, Limits
from tilewright.architecture.constraints.files import (
    dump_constraints,
    load_constraints,
    parse_constraints,
)
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
    Level,
    Memory,
)
from tilewright.architecture.technology.files import (
    load_technology,
    register_technology,
    technology_names,
)
from tilewright.architecture.technology.technology import Technology

__all__ = [
    "Architecture",
    "Array",
    "Compute",
    "Constraint",
    "Constraints",
    "Level",
    "Limits",
    "Memory",
    "Technology",
    "dump_architecture",
    "dump_constraints",
    "load_architecture",
    "load_constraints",
    "load_technology",
    "parse_architecture",
    "parse_constraints",
    "preset_names",
    "register_technology",
    "technology_names",
]
