"""Layers whose best even mapping under pipelined latency is known from earlier searches."""

from __future__ import annotations

from tilewright.architecture.machine import Architecture
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.solved_layers import Searched, SolvedLayers
from tilewright.mapper.objective.tolerances import TOLERANCE
from tilewright.mapper.pipelined.even_proof import proven
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.search.confirmed import DisagreementError
from tilewright.mapper.search.found import Found
from tilewright.workload.layer import Layer


class SolvedEvenly(SolvedLayers):
    """Results under pipelined latency; only the best even mappings are kept."""

    def __init__(self, cache: Cache | None, architecture: Architecture, objective: str) -> None:
        super().__init__(cache, architecture, objective, options={"latency": "pipelined"})

    def confirm(self, layer: Layer, searched: Searched) -> LayerResult:
        """Return a result as the model values it.

        Raises
        ------
        DisagreementError
            When the model gives the mapping another value.
        """
        found = searched.found
        assert found.mapping is not None
        result = proven(
            layer, self.architecture, self.objective, found.mapping, searched.mappings_in_space,
            searched.seconds, searched.search_seconds,
        )  # fmt: skip
        if abs(result.proof.value - found.value) > TOLERANCE * abs(found.value):
            raise DisagreementError(
                f"internal error: the mapping of layer '{layer.name}' on "
                f"'{self.architecture.name}' has {result.proof.value!r}, not {found.value!r}"
            )
        return result


def searched_evenly(result: LayerResult) -> Searched:
    """Return a proven result as what a search ended with."""
    proof = result.proof
    found = Found(result.mapping, proof.value, proof.lower_bound, finished=True)
    return Searched(found, proof.mappings_in_space, proof.seconds)
