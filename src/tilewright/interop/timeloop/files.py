"""Files of Timeloop by name: None for what is none of them."""

from __future__ import annotations

from tilewright.architecture.files import preset_names
from tilewright.architecture.machine import Architecture
from tilewright.document import Document
from tilewright.interop.timeloop.architecture import is_architecture, read_architecture
from tilewright.interop.timeloop.mapping import is_mapping, read_mapping
from tilewright.interop.timeloop.problem import is_problem, read_problem
from tilewright.interop.timeloop.reading import may_be_timeloop, read
from tilewright.interop.timeloop.report import Report
from tilewright.mapping.nodes import Mapping
from tilewright.workload.layer import Layer, Network
from tilewright.workload.network import zoo_names


def timeloop_problem(name: str, report: Report | None = None) -> Network | None:
    """Return the layer of a problem of Timeloop; None when the file holds none."""
    document = None if name in zoo_names() else timeloop_document(name)
    if document is None or not is_problem(document):
        return None
    return read_problem(document, report or Report())


def timeloop_architecture(name: str, report: Report | None = None) -> Architecture | None:
    """Return the machine of an architecture of Timeloop; None when the file holds none."""
    document = None if name in preset_names() else timeloop_document(name)
    if document is None or not is_architecture(document):
        return None
    return read_architecture(document, report or Report())


def timeloop_mapping(
    name: str, layer: Layer, machine: Architecture, report: Report | None = None
) -> Mapping | None:
    """Return a mapping of Timeloop as nodes; None when the file holds none."""
    document = timeloop_document(name)
    if document is None or not is_mapping(document):
        return None
    return read_mapping(document, layer, machine, report or Report())


def timeloop_document(name: str) -> Document | None:
    """Return a file that may be one of Timeloop's."""
    return read(name) if may_be_timeloop(name) else None
