"""The least memory that an optimum needs, proven over all mappings that cost the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

from tilewright.errors import InputError
from tilewright.mapper.canonical.polish import alike, costs
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.searched_space import DIVISORS, forwards
from tilewright.mapper.search.search import Search
from tilewright.mapping.files import mapping_data
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import evaluate
from tilewright.model.results.result import Evaluation
from tilewright.workload.layer import Layer


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
    seconds : float
        Time that it took.
    """

    mapping: Mapping
    evaluation: Evaluation
    before: dict[str, int]
    proven: bool
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
            "seconds": self.seconds,
        }


def prove_least_memory(
    result: LayerResult, stop: Callable[[], bool] = lambda: False
) -> LeastMemory:
    """Find the mapping of the least memory among those that cost what an optimum does.

    Where the proof of the result does not say so already, the search is repeated, and then looks
    at as many ties as there are, see `ties.least_of_ties`.

    Parameters
    ----------
    result : LayerResult
        The best among tile sizes that divide, proven unless others were looked for, too.
    stop : callable
        Asked every now and then whether to end.

    Raises
    ------
    InputError
        When the result is none such, or its costs are not those that the search minimises.
    """
    begin = perf_counter()
    evaluation, layer = result.evaluation, result.layer
    machine = evaluation.architecture
    check_result(result)
    proven = result.proof.least_memory
    if not proven:
        search = Search(layer, machine, result.objective)
        search.most_tied = inf
        found = search.solve(stop)
        proven = found.least_memory
        if found.finished and found.mapping is not None:
            own = costs(result.mapping, layer, machine)
            if not alike(own, costs(found.mapping, layer, machine)):
                raise unproven(layer)
            evaluation = evaluate(layer, machine, found.mapping)
    return LeastMemory(
        evaluation.mapping, evaluation, used_bits(result.evaluation), proven, perf_counter() - begin
    )


def check_result(result: LayerResult) -> None:
    """Refuse a result that is not proven, or by other counts than those of the search.

    Raises
    ------
    InputError
    """
    proof, evaluation = result.proof, result.evaluation
    if not proof.optimal and proof.tiles == DIVISORS:
        raise unproven(result.layer)
    plain = evaluate(result.layer, evaluation.architecture, result.mapping, check=False)
    costs = (plain.energy_pj, plain.cycles) == (evaluation.energy_pj, evaluation.cycles)
    other = parse_objective(result.objective).movement or evaluation.pipeline is not None
    if other or not costs or forwards(evaluation.architecture):
        raise InputError(
            f"the least memory is known under throughput latency, in words; the costs of layer "
            f"'{result.layer.name}' are others",
            key="result",
        )


def unproven(layer: Layer) -> InputError:
    """Return the error of a result that is not known to be the best."""
    return InputError(
        f"the least memory is that of a mapping proven to be the best of those whose tile sizes "
        f"divide; that of layer '{layer.name}' is not",
        key="result",
    )


def used_bits(evaluation: Evaluation) -> dict[str, int]:
    """Return the bits that a mapping uses in each memory but the outermost."""
    _, *inner = evaluation.memories.items()
    return {name: memory.occupied_bits for name, memory in inner}
