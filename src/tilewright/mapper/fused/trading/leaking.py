"""The search for the least energy on machines that leak, where bounds know little of both together.

With several arrays, bounds of trees add up the energy of words, and those of cycles are others. So
the machine is searched without its leakage first, and for the fewest cycles. A tree takes no less
energy than the one, and leaks no less than the other says.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, isfinite
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.errors import NoMappingError
from tilewright.mapper.fused.network_search import FusedNetworkSearch
from tilewright.mapper.fused.trading.priced_search import PricedSearch
from tilewright.mapper.fused.whole_search import SearchedNetwork, search_fused
from tilewright.mapper.network.network import compiled
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.results.result import LayerResult
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.model.energy import leakage_per_cycle
from tilewright.model.evaluate import evaluate
from tilewright.workload.layer import Network

SHARES = 0.4, 0.5  # of the time that is left: without leakage, and for cycles


def apart(architecture: Architecture) -> bool:
    """Whether bounds of energy and of cycles are others, and a machine leaks."""
    return len(architecture.arrays) > 1 and leakage_per_cycle(architecture) > 0.0


def search_least(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    run: Run = UNLIMITED,
    tiles: str = DIVISORS,
) -> SearchedNetwork:
    """Search a network for the least of an objective; see `search_fused`."""
    if parse_objective(objective).powers != (1.0, 0.0) or not apart(architecture):
        return search_fused(network, architecture, objective, run=run, tiles=tiles)
    compiled()  # counts for no limit
    end = perf_counter() + run.seconds
    known = PricedSearch(network, architecture)
    for price, share in zip((-leakage_per_cycle(architecture), inf), SHARES, strict=True):
        left = (end - perf_counter()) * share
        try:
            known.solve(price, replace(run, time_limit=left if isfinite(left) else None))
        except NoMappingError:
            break  # there was no time; with more of it there may be
        if known.interrupted:
            break
    if known.interrupted:
        return left_off(known)
    left = end - perf_counter()
    run = replace(run, time_limit=left if isfinite(left) else None)
    before = partial(known.know, 0.0)
    return search_fused(network, architecture, objective, run=run, tiles=tiles, before=before)


def left_off(known: PricedSearch) -> SearchedNetwork:
    """Return what is known with leakage when Ctrl-C has ended a search without it."""
    found = next(iter(known.found.values()), known.last)
    assert found is not None
    layers = tuple(with_leakage(result, known.architecture) for result in found.alone.layers)
    search = FusedNetworkSearch(known.network, known.architecture, "energy", layers)
    search.list_segments()
    known.know(0.0, search)
    alone = replace(found.alone, architecture=known.architecture, layers=layers)
    return SearchedNetwork(search, alone, interrupted=True, stopped=found.stopped)


def with_leakage(result: LayerResult, architecture: Architecture) -> LayerResult:
    """Return a result of the search without leakage with it; its bound holds."""
    cost = evaluate(result.layer, architecture, result.mapping)
    proof = result.proof.of(cost.energy_pj, result.proof.lower_bound)
    return replace(result, evaluation=cost, proof=proof)
