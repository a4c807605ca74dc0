"""The search of a network whose layers may be fused: of layers by themselves, then of segments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.rounds import Rounds
from tilewright.mapper.network.network import compiled, map_network
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.processes import processors
from tilewright.workload.layer import Network

SHARE = 0.5  # of a limited time, for layers by themselves; what they cost at least bounds segments
CLOSE = 0.01  # of the value of all: what is unknown of layers when half of that is enough
SEARCH = 0.95  # of it, until the last search ends


@dataclass(frozen=True)
class SearchedNetwork:
    """What is known of a network after a search.

    Attributes
    ----------
    search : FusedNetworkSearch
        Of its segments.
    alone : NetworkResult
        Of layers by themselves.
    interrupted, stopped : bool
        Whether Ctrl-C or the time limit ended it.
    """

    search: FusedNetworkSearch
    alone: NetworkResult
    interrupted: bool
    stopped: bool


def search_fused(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    run: Run = UNLIMITED,
    tiles: str = DIVISORS,
    before: Callable[[FusedNetworkSearch], None] = lambda search: None,
) -> SearchedNetwork:
    """Search layers by themselves, then all segments of them; see `map_fused`.

    `before` is called before segments are searched.
    """
    compiled(run.progress)  # counts for no limit
    start = perf_counter()
    last = start + run.seconds * SEARCH
    alone = map_alone(network, architecture, objective, run=run, tiles=tiles)
    searching = FusedNetworkSearch(network, architecture, alone.objective, alone.layers)
    searching.list_segments()
    before(searching)
    rounds = Rounds(searching, last, run.workers or processors(), start)
    if not alone.interrupted:
        with run.progress.working(rounds.state):
            # with several arrays searches take long
            rounds.carry_out(hoped=len(architecture.arrays) > 1, all_sizes=tiles == ALL)
    return SearchedNetwork(
        searching,
        alone,
        interrupted=alone.interrupted or rounds.interrupted,
        stopped=alone.stopped or perf_counter() >= last,
    )


def map_alone(
    network: Network, architecture: Architecture, objective: str, *, run: Run, tiles: str
) -> NetworkResult:
    """Map every layer by itself, in a part of the time.

    Layers that are not proven are searched again only where that may matter.
    """
    half = replace(run, time_limit=run.share(SHARE / 2))
    found = map_network(network, architecture, objective, run=half, tiles=tiles)
    unknown = sum((r.proof.value - r.proof.lower_bound) * r.layer.repeat for r in found.layers)
    close = unknown <= CLOSE * found.value and not found.unmapped
    if run.time_limit is None or found.interrupted or not found.stopped or close:
        return found
    known = {result.layer.name: result for result in found.layers}
    proven = {name for name, result in known.items() if result.proof.optimal}
    left = Network(network.name, tuple(la for la in network.layers if la.name not in proven))
    again = map_network(left, architecture, objective, run=half, tiles=tiles)
    for result in again.layers:
        name = result.layer.name
        known[name] = better(known[name], result) if name in known else result
    return replace(
        again,
        network=network,
        layers=tuple(known[la.name] for la in network.layers if la.name in known),
        seconds=found.seconds + again.seconds,
    )


def better(one: LayerResult, two: LayerResult) -> LayerResult:
    """Return the better one of two results of a layer, with the higher bound."""
    best = min(one, two, key=lambda own: own.proof.value)
    bound = max(one.proof.lower_bound, two.proof.lower_bound)
    return replace(best, proof=best.proof.of(best.proof.value, bound))
