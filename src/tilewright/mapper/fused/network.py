"""The best mapping of a network whose layers may be fused.

Every layer is mapped by itself first. Then each set of layers that exchange tensors which nobody
else reads is searched for a fused mapping that is better than what its layers cost otherwise; last,
those that gain most together are chosen.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.fusion.evaluation import evaluate as evaluate_fused
from tilewright.mapper.fused.all_sizes import tree_from
from tilewright.mapper.fused.edge_details import detailed_edges
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.results.edges import UnfusedEdge
from tilewright.mapper.fused.results.result import FusedResult, Unfused
from tilewright.mapper.fused.results.segment_result import SegmentResult
from tilewright.mapper.fused.search.trees import exchanged
from tilewright.mapper.fused.space.partition import Names, in_order
from tilewright.mapper.fused.whole_search import SearchedNetwork, search_fused
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TIE, TOLERANCE
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.mapper.search.confirmed import DisagreementError
from tilewright.workload.layer import Network


def map_fused(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    run: Run = UNLIMITED,
    tiles: str = DIVISORS,
) -> FusedResult:
    """Find the best mapping of a network with a graph, layers by themselves or fused.

    Parameters
    ----------
    network : Network
        With a graph.
    architecture : Architecture
        What computes it.
    objective : str
        What to minimise: energy, summed over segments and layers.
    run : Run
        How long everything may take; the rest as for `map_network`, of layers by themselves.
    tiles : str
        Tile sizes that are tried: ``"divisors"`` or ``"all"``.

    Raises
    ------
    NoMappingError
        When no mapping can run one of the layers.
    """
    start = perf_counter()
    found = search_fused(network, architecture, objective, run=run, tiles=tiles)
    return replace(
        result(found),
        tiles=tiles,
        interrupted=found.interrupted,
        seconds=perf_counter() - start,
    )


def result(found: SearchedNetwork) -> FusedResult:
    """Return what was chosen, as the model values it."""
    search, alone = found.search, found.alone
    segments = []
    unfused: Counter[str] = Counter()
    edges: list[UnfusedEdge] = []
    for part in search.parts:
        sets = search.chosen(part)
        edges += detailed_edges(search, part, sets)
        fused = frozenset[str]().union(*sets)
        for name in part.names:
            if name not in fused:
                unfused[part.layer_of[name]] += part.repeat
        for names in in_order(part, sets):
            own = (part.layer_of[layer.name] for layer in search.segments[names].layers)
            before = tuple(search.alone[layer] for layer in own)
            segments.append(confirmed(search, names, before))
    layers = tuple(
        Unfused(search.alone[name], count)
        for name, count in unfused.items()
        if name in search.alone
    )
    return FusedResult(
        network=search.network,
        architecture=search.architecture,
        objective=search.objective,
        layers=alone.layers,
        seconds=0.0,
        interrupted=alone.interrupted,
        unmapped=alone.unmapped,
        stopped=found.stopped,
        segments=tuple(segments),
        unfused=layers,
        unfused_edges=tuple(edges),
        bound=search.bound_of_all(),
        most_layers=search.most_layers(),
    )


def confirmed(
    search: FusedNetworkSearch, names: Names, before: tuple[LayerResult, ...]
) -> SegmentResult:
    """Return a segment's result; the model gives its mapping the value that was found.

    Raises
    ------
    DisagreementError
        When the model gives it another value.
    """
    segment, outcome = search.segments[names], search.outcomes[names]
    mapping = tree_from(segment, search, outcome)
    evaluation = evaluate_fused(segment, search.architecture, mapping)
    goal = parse_objective(search.objective)
    exact = sum(goal.value(one.energy_pj, one.cycles) for one in evaluation.layers.values())
    if abs(exact - outcome.value) > TOLERANCE * max(abs(exact), outcome.value):
        unit = goal.unit
        raise DisagreementError(
            f"internal error: for the segment {', '.join(sorted(names))} on "
            f"'{search.architecture.name}' the search gives its mapping {outcome.value!r} {unit},"
            f" the model {exact!r}; please report this with the network and the architecture"
        )
    close = outcome.bound >= outcome.value * (1 - TIE)
    return SegmentResult(
        segment=segment,
        mapping=mapping,
        evaluation=evaluation,
        alone=before,
        exchanged=tuple(exchanged(segment, mapping, search.architecture)),
        value=exact,
        lower_bound=exact if close else min(outcome.bound, exact),
        seconds=outcome.seconds,
    )
