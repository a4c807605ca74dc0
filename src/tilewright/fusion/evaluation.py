"""Evaluate a fused mapping: counts, energy, cycles and the room that it takes."""

from __future__ import annotations

from tilewright.architecture.machine import Architecture
from tilewright.fusion.count import count_fused
from tilewright.fusion.result import FusedEvaluation
from tilewright.fusion.room import check_room, tiles_alive
from tilewright.kernels.kernel import interruptible
from tilewright.mapping.fused.connections.segments import Segment
from tilewright.mapping.fused.counts import FusedCounts
from tilewright.mapping.fused.scopes import Resolved, resolve_fused
from tilewright.mapping.fused.tree import FusedMapping
from tilewright.mapping.fused.turn_layers import largest_turn, turn_mapping
from tilewright.mapping.fused.validity import check_tree
from tilewright.model.evaluate import assess
from tilewright.reference.fused import simulate_fused as simulate_counts


@interruptible()
def evaluate(
    segment: Segment, architecture: Architecture, mapping: FusedMapping, *, check: bool = True
) -> FusedEvaluation:
    """Return what a fused mapping of a segment on a machine costs.

    Parameters
    ----------
    segment : Segment
        What is computed.
    architecture : Architecture
        On what.
    mapping : FusedMapping
        How.
    check : bool
        Whether to check first that the mapping is valid and fits; leave it out only for mappings
        that are known to be.

    Returns
    -------
    FusedEvaluation
        Energy in pJ, cycles, and exact counts in tensor elements.

    Raises
    ------
    MappingError
        When the mapping is malformed or does not fit the machine.
    """
    resolved = resolve_fused(mapping, segment)
    if check:
        check_tree(resolved, architecture)
    counts = count_fused(resolved, architecture)
    return assessed(resolved, architecture, mapping, counts, check=check)


def simulate(
    segment: Segment, architecture: Architecture, mapping: FusedMapping, *, check: bool = True
) -> FusedEvaluation:
    """Return the same as `evaluate`, counted by carrying the mapping out; small segments only."""
    resolved = resolve_fused(mapping, segment)
    if check:
        check_tree(resolved, architecture)
    counts = simulate_counts(segment, architecture, mapping)
    return assessed(resolved, architecture, mapping, counts, check=check)


def check(segment: Segment, architecture: Architecture, mapping: FusedMapping) -> None:
    """Accept a fused mapping that can be carried out.

    Raises
    ------
    MappingError
        For the first thing that is wrong. Its ``key`` is the path of the node that it concerns.
    """
    evaluate(segment, architecture, mapping)


def assessed(
    resolved: Resolved,
    architecture: Architecture,
    mapping: FusedMapping,
    counts: FusedCounts,
    *,
    check: bool,
) -> FusedEvaluation:
    """Return what counts cost, wherever they come from (the closed form or the simulator)."""
    segment = resolved.segment
    alive = tiles_alive(resolved, architecture, counts.stores)
    if check:
        check_room(architecture, alive)
    layers = {}
    for leaf in resolved.leaves:
        nodes = turn_mapping(leaf, largest_turn(leaf, segment), architecture)
        layer = segment.layer_of[leaf.layer]
        layers[leaf.layer] = assess(layer, architecture, nodes, counts.layers[leaf.layer])
    return FusedEvaluation(
        segment=segment,
        architecture=architecture,
        mapping=mapping,
        counts=counts,
        layers=layers,
        alive=alive,
    )
