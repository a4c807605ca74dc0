"""Evaluate and simulate a mapping."""

from __future__ import annotations

from tilewright.inputs import (
    ArchitectureLike,
    MappingLike,
    WorkloadLike,
    the_architecture,
    the_layer,
    the_mapping,
)
from tilewright.mapping.nodes import Mapping
from tilewright.model.result import Evaluation
from tilewright.retention.evaluate import evaluate as evaluate_mapping
from tilewright.retention.evaluate import simulate as simulate_mapping


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
    mapping : str, path, Mapping, list or dict
        A file, the mapping itself, or the list of its nodes as a file would have it.
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
    machine = the_architecture(architecture)
    return evaluate_mapping(
        chosen, machine, the_mapping(mapping, chosen, machine), check=isinstance(mapping, Mapping)
    )


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
    machine = the_architecture(architecture)
    nodes = the_mapping(mapping, chosen, machine)
    return simulate_mapping(chosen, machine, nodes, check=isinstance(mapping, Mapping))
