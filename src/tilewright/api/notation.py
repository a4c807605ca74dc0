"""Translate between notations: MAESTRO's data-centric directives and lists of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tilewright.api.inputs import ArchitectureLike, WorkloadLike, the_architecture, the_network
from tilewright.api.mappings import MappingLike, the_dataflow, the_run
from tilewright.architecture.files import dump_architecture
from tilewright.architecture.machine import Architecture
from tilewright.interop.maestro.express import express
from tilewright.interop.maestro.syntax import Dataflow
from tilewright.interop.maestro.writing import dump_network
from tilewright.mapping.files import dump_mappings
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.text import mapping_text
from tilewright.workload.layer import Layer, Network
from tilewright.workload.network import dump_network as dump_workload

Notation = Literal["directives", "mapping"]


@dataclass(frozen=True)
class Converted:
    """The layers of a workload with their mappings, to be written in either notation.

    Attributes
    ----------
    network : Network
        The layers.
    architecture : Architecture
        The machine that was given.
    layers : tuple of (Layer, Architecture, Mapping)
        Each layer, the machine with the clusters that its directives ask for, and the resolved
        mapping on it.
    notation : str
        In which notation the mappings were given: ``"directives"`` or ``"mapping"``.
    """

    network: Network
    architecture: Architecture
    layers: tuple[tuple[Layer, Architecture, Mapping], ...]
    notation: Notation

    def dataflows(self) -> list[Dataflow]:
        """Return the mappings as directives.

        Raises
        ------
        MappingError
            When directives cannot express one of them.
        """
        return [
            express(mapping, layer, machine).dataflow for layer, machine, mapping in self.layers
        ]

    def directives(self) -> str:
        """Return the network with its dataflows in MAESTRO's file format.

        Raises
        ------
        InputError
            When the format has no type for a layer; a MappingError when directives cannot express
            a mapping.
        """
        flows = self.dataflows()
        layers = [(layer, flow) for (layer, _, _), flow in zip(self.layers, flows, strict=True)]
        return dump_network(self.network.name, layers)

    def mappings(self) -> str:
        """Return the mappings as the text of a mapping file, which is for the clustered machine."""
        pairs = [(layer, mapping) for layer, _, mapping in self.layers]
        machines = dict.fromkeys(machine.name for _, machine, _ in self.layers)
        return dump_mappings(pairs, ", ".join(machines), self.network.name)

    def workload(self) -> str:
        """Return the layers as the text of a workload file."""
        return dump_workload(self.network)

    def machine(self) -> str:
        """Return the machine, its elements arranged as clusters, as the text of a file."""
        return dump_architecture(self.layers[0][1])

    def text(self) -> str:
        """Return the resolved loop nests."""
        return "\n".join(
            f"{layer.name} on {machine.name}\n{mapping_text(mapping, layer, machine)}"
            for layer, machine, mapping in self.layers
        )


def convert(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
) -> Converted:
    """Resolve mappings, so that they can be written as directives or as lists of nodes.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file (``*.m`` in MAESTRO's format), or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    mapping : str, path, Mapping, Dataflow, list or dict
        As for `tilewright.evaluate`.
    layer : str, optional
        Convert this layer of the workload alone.

    Returns
    -------
    Converted

    Raises
    ------
    InputError
        When something cannot be read or does not fit.
    """
    network = the_network(workload, layer)
    machine = the_architecture(architecture)
    found = []
    for one in network.layers:
        clusters, nodes = the_run(mapping, one, machine)
        found.append((one, clusters, nodes))
    given: Notation = "mapping"
    if the_dataflow(mapping, network.layers[0].name) is not None:
        given = "directives"
    return Converted(network, machine, tuple(found), given)
