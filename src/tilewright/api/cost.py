"""Evaluate and simulate a mapping."""

from __future__ import annotations

from typing import Literal, overload

from tilewright.dmazerunner.counting import count_method
from tilewright.dmazerunner.result import MethodCost
from tilewright.errors import InputError, nearest
from tilewright.inputs import (
    ArchitectureLike,
    MappingLike,
    WorkloadLike,
    the_architecture,
    the_layer,
    the_mapping,
)
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import assess
from tilewright.model.evaluate import evaluate as evaluate_mapping
from tilewright.model.result import Evaluation
from tilewright.simulate import simulate as simulate_mapping

COUNTINGS = ("tilewright", "dmazerunner")


@overload
def evaluate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
    counting: Literal["tilewright"] = "tilewright",
) -> Evaluation: ...


@overload
def evaluate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
    counting: Literal["dmazerunner"],
) -> MethodCost: ...


def evaluate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
    counting: str = "tilewright",
) -> Evaluation | MethodCost:
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
    counting : str
        ``"tilewright"``, or ``"dmazerunner"`` for what that tool's model says of the mapping.

    Returns
    -------
    Evaluation or MethodCost
        Energy in pJ, cycles, counts in tensor elements.

    Raises
    ------
    InputError
        When something cannot be read; a MappingError when the mapping does not fit the machine, or
        is none that dMazeRunner's model covers.
    """
    if counting not in COUNTINGS:
        accepted = ", ".join(COUNTINGS)
        raise InputError(
            f"no counting '{counting}'; accepted: {accepted}{nearest(str(counting), COUNTINGS)}",
            key="counting",
        )
    chosen = the_layer(workload, layer)
    machine = the_architecture(architecture)
    if counting == "dmazerunner":
        return count_method(chosen, machine, the_mapping(mapping, chosen, machine))
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
    counts = simulate_mapping(chosen, machine, nodes, check=isinstance(mapping, Mapping))
    return assess(chosen, machine, nodes, counts)
