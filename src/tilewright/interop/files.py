"""Files of other tools by name: None for what is none of them."""

from __future__ import annotations

from tilewright.architecture.machine import Architecture
from tilewright.document import read_text
from tilewright.interop.maestro.layers import network_of
from tilewright.interop.maestro.reader import parse_network_text
from tilewright.interop.scalesim.configuration import load_configuration
from tilewright.interop.scalesim.topology import load_topology
from tilewright.interop.timeloop.files import timeloop_architecture, timeloop_problem
from tilewright.workload.layer import Network


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
    return timeloop_architecture(name)
