"""What is stated of the best even mapping under pipelined latency."""

from __future__ import annotations

from tilewright.architecture.machine import Architecture
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.proof import Proof
from tilewright.mapper.results.result import LayerResult
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Layer

EVENLY = (
    "Even mappings: each memory stores everything that it keeps at one point of the loops; between "
    "two such points one loop for each dimension, in any order, and the spatial loops right above "
    "the memory inside their array; tile sizes that divide evenly; every bypass that the machine "
    "allows; every spatial choice whose factors divide the bounds and fit the axes. Of uneven "
    "mappings some near the best of these were tried, and none was better."
)


def proven(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    mapping: Mapping,
    mappings_in_space: float,
    seconds: float,
    search_seconds: float | None = None,
) -> LayerResult:
    """Return the best even mapping with its proof, as the model values it."""
    cost = evaluate(layer, architecture, mapping, latency="pipelined")
    value = parse_objective(objective).value(cost.energy_pj, cost.cycles)
    parts = [EVENLY, *(f"Only mappings in which {s.words()}." for s in architecture.statements)]
    space = " ".join(parts)
    proof = Proof(
        optimal=True,
        lower_bound=value,
        value=value,
        gap=0.0,
        space=space,
        mappings_in_space=mappings_in_space,
        seconds=seconds,
        search_seconds=search_seconds,
    )
    return LayerResult(layer, mapping, cost, objective, proof)
