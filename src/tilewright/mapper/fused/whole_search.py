"""The search of a network whose layers may be fused: of layers by themselves, then of segments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.rounds import Rounds
from tilewright.mapper.network.network import map_network
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.results.result import NetworkResult
from tilewright.mapper.results.searched_space import ALL, DIVISORS
from tilewright.processes import processors
from tilewright.workload.layer import Network

SHARE = 0.5  # of a limited time, for layers by themselves; what they cost at least bounds segments
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
    start = perf_counter()
    last = start + run.seconds * SEARCH
    first = replace(run, time_limit=run.share(SHARE))
    alone = map_network(network, architecture, objective, run=first, tiles=tiles)
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
