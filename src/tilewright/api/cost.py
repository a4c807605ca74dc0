"""Evaluate and simulate a mapping."""

from __future__ import annotations

from dataclasses import replace

from tilewright.architecture.machine import Architecture
from tilewright.directives.syntax import Dataflow
from tilewright.directives.translate import translate
from tilewright.inputs import (
    ArchitectureLike,
    MappingLike,
    WorkloadLike,
    the_architecture,
    the_layer,
    the_network,
    the_run,
    the_style,
)
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.validity import check as check_validity
from tilewright.model.count import count
from tilewright.model.evaluate import assess
from tilewright.model.evaluate import evaluate as evaluate_mapping
from tilewright.model.network import NetworkEvaluation
from tilewright.model.result import Evaluation
from tilewright.simulate import simulate as simulate_mapping
from tilewright.workload.layer import Layer


def evaluate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
) -> Evaluation:
    """Return what a mapping costs.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    mapping : str, path, Mapping, Dataflow, list or dict
        A file, the mapping itself, or the list of its nodes as a file would have it; or
        data-centric directives: a file, a text, or the name of a style that ships, such as
        ``"kc-p"``. Directives arrange the machine's processing elements as clusters.
    layer : str, optional
        Which layer of the workload; needed where it has several.

    Returns
    -------
    Evaluation
        Energy in pJ, cycles, counts in tensor elements.

    Raises
    ------
    InputError
        When something cannot be read; a MappingError when the mapping does not fit the machine.
    """
    chosen = the_layer(workload, layer)
    machine, nodes = the_run(mapping, chosen, the_architecture(architecture))
    return evaluate_mapping(chosen, machine, nodes, check=isinstance(mapping, Mapping))


def evaluate_network(
    workload: WorkloadLike, architecture: ArchitectureLike, mapping: MappingLike
) -> NetworkEvaluation:
    """Return what all layers of a network cost, each mapped as one file or one style says.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    mapping : str, path, Mapping, Dataflow, list or dict
        As for `evaluate`; a file may have a mapping or directives for every layer.

    Returns
    -------
    NetworkEvaluation
        An evaluation for each layer. Layers that are equal but for their names are evaluated
        once.

    Raises
    ------
    InputError
        When something cannot be read; a MappingError when a mapping does not fit the machine.
    """
    network = the_network(workload)
    machine = the_architecture(architecture)
    style = the_style(mapping)
    known: dict[Layer, Evaluation] = {}
    found = []
    for layer in network.layers:
        key = layer if style is None else replace(layer, name="", repeat=1)
        if key not in known and style is not None:
            known[key] = evaluate_directives(style, layer, machine)
        elif key not in known:
            chosen, nodes = the_run(mapping, layer, machine)
            known[key] = evaluate_mapping(layer, chosen, nodes, check=isinstance(mapping, Mapping))
        found.append(replace(known[key], layer=layer))
    return NetworkEvaluation(network, machine, tuple(found))


def evaluate_directives(flow: Dataflow, layer: Layer, machine: Architecture) -> Evaluation:
    """Return what directives cost; the nodes that are counted are alike for many layers."""
    run = translate(flow, layer, machine)
    check_validity(run.mapping, layer, run.architecture)
    counts = count(layer, run.architecture, run.padded)
    return assess(layer, run.architecture, run.mapping, counts)


def simulate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
) -> Evaluation:
    """Return what a mapping costs, counted by carrying it out, one word at a time.

    Parameters, result and errors are those of `evaluate`. The layer may have 2 million operations
    at most.
    """
    chosen = the_layer(workload, layer)
    machine, nodes = the_run(mapping, chosen, the_architecture(architecture))
    counts = simulate_mapping(chosen, machine, nodes, check=isinstance(mapping, Mapping))
    return assess(chosen, machine, nodes, counts)
