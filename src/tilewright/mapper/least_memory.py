"""The least memory that an optimum needs, proven over all mappings that cost the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from tilewright.architecture.machine import Architecture, Memory
from tilewright.errors import InputError
from tilewright.mapper.objective import Objective, parse_objective
from tilewright.mapper.result import LayerResult
from tilewright.mapper.sizes import DIVISORS
from tilewright.mapper.solve import Search
from tilewright.mapper.space_text import forwards
from tilewright.mapping.files import mapping_data
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import evaluate
from tilewright.model.result import Evaluation


@dataclass(frozen=True)
class LeastMemory:
    """The mapping of the least memory among those of equal energy and cycles.

    Attributes
    ----------
    mapping : Mapping
        Of two mappings the one needs less that uses fewer bits in the outermost memory in which
        they differ.
    evaluation : Evaluation
        What it costs; `occupied_bits` of its memories are the bits that it uses.
    before : dict of str to int
        Bits that the given mapping uses in each memory but the outermost.
    proven : bool
        Whether no mapping of the space with the same energy and cycles needs less.
    searches : int
        Searches that it took.
    seconds : float
        Time that they took.
    """

    mapping: Mapping
    evaluation: Evaluation
    before: dict[str, int]
    proven: bool
    searches: int
    seconds: float

    @property
    def used(self) -> dict[str, int]:
        """Bits that the mapping uses in each memory but the outermost."""
        return used_bits(self.evaluation)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "mapping": mapping_data(self.mapping, self.evaluation.layer),
            "used_bits": self.used,
            "used_bits_before": self.before,
            "proven": self.proven,
            "searches": self.searches,
            "seconds": self.seconds,
        }


def prove_least_memory(
    result: LayerResult, stop: Callable[[], bool] = lambda: False
) -> LeastMemory:
    """Find the mapping of the least memory among those that cost what an optimum does.

    From the outermost memory inward, mappings are searched that cost no more and use at least one
    bit less than the best so far: in the end there is none.

    Parameters
    ----------
    result : LayerResult
        Proven to be the best among tile sizes that divide.
    stop : callable
        Asked every now and then whether to end.

    Raises
    ------
    InputError
        When the result is not proven, or its costs are not those that the search minimises.
    """
    begin = perf_counter()
    evaluation, layer = result.evaluation, result.layer
    machine = evaluation.architecture
    check_result(result)
    energy, cycles = evaluation.energy_pj, float(evaluation.cycles)
    within = Objective((1.0, 0.0), (0.0, 1.0), energy, cycles)
    search = Search(layer, machine, result.objective)
    mapping, searches = result.mapping, 0
    most: dict[str, int] = {}
    for memory in machine.memories[1:]:
        while used := used_bits(evaluation)[memory.name]:
            search.aim(within, with_capacities(machine, most | {memory.name: used - 1}))
            # a mapping that costs as much is as good as any
            search.best = np.array([energy, inf, inf, inf])
            found = search.solve(lambda: stop() or search.found.mapping is not None)
            searches += 1
            if found.mapping is None:
                break
            mapping = found.mapping
            evaluation = evaluate(layer, machine, mapping)
        if stop():
            break
        most[memory.name] = used
    return LeastMemory(
        mapping, evaluation, used_bits(result.evaluation),
        len(most) == len(machine.memories) - 1, searches, perf_counter() - begin,
    )  # fmt: skip


def check_result(result: LayerResult) -> None:
    """Refuse a result that is not proven, or by other counts than those of the search.

    Raises
    ------
    InputError
    """
    proof, evaluation = result.proof, result.evaluation
    if not proof.optimal or proof.tiles != DIVISORS:
        raise InputError(
            f"the least memory is that of a mapping proven to be the best of those whose tile "
            f"sizes divide; that of layer '{result.layer.name}' is not",
            key="result",
        )
    plain = evaluate(result.layer, evaluation.architecture, result.mapping, check=False)
    costs = (plain.energy_pj, plain.cycles) == (evaluation.energy_pj, evaluation.cycles)
    other = parse_objective(result.objective).movement or evaluation.pipeline is not None
    if other or not costs or forwards(evaluation.architecture):
        raise InputError(
            f"the least memory is known under throughput latency, in words; the costs of layer "
            f"'{result.layer.name}' are others",
            key="result",
        )


def used_bits(evaluation: Evaluation) -> dict[str, int]:
    """Return the bits that a mapping uses in each memory but the outermost."""
    _, *inner = evaluation.memories.items()
    return {name: memory.occupied_bits for name, memory in inner}


def with_capacities(machine: Architecture, bits: dict[str, int]) -> Architecture:
    """Return a machine some of whose memories have other capacities, shares of tensors aside."""
    levels = [
        replace(level, capacity_bits=bits[level.name])
        if isinstance(level, Memory) and level.name in bits
        else level
        for level in machine.levels
    ]
    return replace(machine, levels=tuple(levels))
