"""Where the energy of a layer goes, by tensor."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.model.energy import network_energy
from tilewright.model.results.energy_figure import LEAKAGE, energy_by_level
from tilewright.model.results.result import Evaluation

__all__ = ["LEAKAGE", "energy_by_level", "energy_by_role", "role_names"]


def energy_by_role(evaluation: Evaluation) -> dict[str, float]:
    """Return the energy of moving each tensor, by its role, of the compute unit and leakage, in pJ.

    A tensor has the energy of its accesses to every memory and of its hops through every network.
    """
    parts: dict[str, float] = {}
    for tensor in evaluation.layer.tensors:
        accesses = sum(m.tensors[tensor.name].energy_pj for m in evaluation.memories.values())
        hops = sum(
            network_energy(array, evaluation.counts.networks[array.name][tensor.name])
            for array in evaluation.architecture.arrays
        )
        parts[tensor.role] = parts.get(tensor.role, 0.0) + accesses + hops
    compute = evaluation.architecture.compute.name
    parts[compute] = parts.get(compute, 0.0) + evaluation.compute.energy_pj
    parts[LEAKAGE] = parts.get(LEAKAGE, 0.0) + evaluation.leakage_pj
    return parts


def role_names(evaluations: Iterable[Evaluation]) -> dict[str, str]:
    """Return what to call the tensors of each role: their name where all layers agree on it.

    The roles come in the order I, W, others, O, in which the stacks of every plot stand.
    """
    names: dict[str, set[str]] = {}
    for evaluation in evaluations:
        for tensor in evaluation.layer.tensors:
            names.setdefault(tensor.role, set()).add(tensor.name)
    rank = {"I": 0, "W": 1, "O": 3}
    return {
        role: min(names[role]) if len(names[role]) == 1 else role
        for role in sorted(names, key=lambda role: (rank.get(role, 2), role))
    }
