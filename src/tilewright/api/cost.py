"""Evaluate and simulate a mapping."""

from __future__ import annotations

from collections.abc import Mapping as Dict
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from tilewright.layout.layout import Layout


def evaluate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
    layouts: Dict[str, str | Layout] | str | None = None,
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
    layouts : mapping of str to str or Layout, or "best", optional
        How tensors lie in the outermost memory: the axes of each from the outermost to the
        contiguous one, such as ``{"I": "N,P,Q,C"}``; those that are left out lie in the order of
        the einsum. With ``"best"``, in the order with which the mapping moves the fewest blocks.
        The outermost memory then moves whole blocks.

    Returns
    -------
    Evaluation
        Energy in pJ, cycles, counts in tensor elements; with layouts a BlockEvaluation.

    Raises
    ------
    InputError
        When something cannot be read; a MappingError when the mapping does not fit the machine.
    """
    chosen = the_layer(workload, layer)
    machine = the_architecture(architecture)
    nodes = the_mapping(mapping, chosen, machine)
    plain = evaluate_mapping(chosen, machine, nodes, check=isinstance(mapping, Mapping))
    if layouts is None:
        return plain
    from tilewright.layout.count import best_layouts
    from tilewright.layout.evaluate import in_blocks
    from tilewright.layout.layout import given_layouts

    if isinstance(layouts, str) and layouts == "best":
        found = best_layouts(chosen, machine, nodes)
    else:
        found = given_layouts(layouts, chosen)
    return in_blocks(chosen, machine, nodes, plain.counts, found)


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
