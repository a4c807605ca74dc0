"""Files of other tools by name: None for what is none of them."""

from __future__ import annotations

import re
from pathlib import Path

from tilewright.architecture.constraints.constraint import Constraints
from tilewright.architecture.constraints.files import Check
from tilewright.architecture.machine import Architecture
from tilewright.document import Document, load, read_text
from tilewright.interop.accelforge import workload as accelforge
from tilewright.interop.accelforge.architecture import is_architecture, read_architecture
from tilewright.interop.maestro.layers import network_of
from tilewright.interop.maestro.reader import parse_network_text
from tilewright.interop.scalesim.configuration import load_configuration
from tilewright.interop.scalesim.topology import load_topology
from tilewright.interop.timeloop.files import timeloop_architecture, timeloop_problem
from tilewright.interop.timeloop.reading import read as read_template
from tilewright.interop.zigzag import mapping as zigzag_mapping
from tilewright.interop.zigzag import workload as zigzag_workload
from tilewright.interop.zigzag.hardware import is_hardware, read_hardware
from tilewright.workload.layer import Network

ACCELFORGE = re.compile(r"^[ \t]*(workload|arch)[ \t]*:", re.MULTILINE)
ZIGZAG = re.compile(
    r"^[ \t-]*(equation|multipliers|operational_array|spatial_mapping(_hint)?"
    r"|memory_operand_links|core_allocation)[ \t]*:",
    re.MULTILINE,
)


def other_network(name: str) -> Network | None:
    """Return the network of a file of another tool.

    Raises
    ------
    InputError
        When it is one and cannot be read.
    """
    if name.lower().endswith(".csv"):
        return load_topology(name)
    if name.endswith(".m"):
        return network_of(parse_network_text(read_text(name), name))
    if (document := yaml_of(name)) is not None and zigzag_workload.is_workload(document):
        return zigzag_workload.read_workload(document)
    if (document := accelforge_of(name)) is not None and accelforge.is_workload(document):
        return accelforge.read_workload(document)
    return timeloop_problem(name)


def other_architecture(name: str) -> Architecture | None:
    """Return the machine of a file of another tool.

    Raises
    ------
    InputError
        When it is one and cannot be read.
    """
    if name.lower().endswith(".cfg"):
        return load_configuration(name)
    if (document := yaml_of(name)) is not None and is_hardware(document):
        return read_hardware(document)
    if (document := accelforge_of(name)) is not None and is_architecture(document):
        return read_architecture(document)
    return timeloop_architecture(name)


def other_constraints(name: str, machine: Architecture, check: Check) -> Constraints | None:
    """Return the constraints of a file of another tool.

    Raises
    ------
    InputError
        When it is one and cannot be read.
    """
    document = yaml_of(name)
    if document is None or not zigzag_mapping.is_mapping(document):
        return None
    return zigzag_mapping.read_mapping(document, machine, check)


def accelforge_of(name: str) -> Document | None:
    """Return the data of a file that may be one of AccelForge's, by a glance at its text.

    Of its templates, inclusions of files and variables that are set to plain values are resolved.
    """
    path = Path(name)
    if path.suffix.lower() not in (".yaml", ".yml") or not path.is_file():
        return None
    return read_template(path) if ACCELFORGE.search(read_text(path)) else None


def yaml_of(name: str) -> Document | None:
    """Return the data of a file that may be one of ZigZag's, by a glance at its text."""
    path = Path(name)
    if path.suffix.lower() not in (".yaml", ".yml") or not path.is_file():
        return None
    return load(path) if ZIGZAG.search(read_text(path)) else None
