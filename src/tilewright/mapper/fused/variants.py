"""The best of the variants of a network, each with what is fused in it."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.fused.results.result import FusedResult, Variant
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.workload.layer import Network


def map_variants(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    run: Run = UNLIMITED,
    tiles: str = DIVISORS,
) -> FusedResult:
    """Find the best mapping of the variant that costs least.

    Parameters
    ----------
    network : Network
        With variants.
    architecture, objective, tiles
        As for `map_fused`.
    run : Run
        As for `map_fused`; of the time each variant gets its share of what is left.
    """
    start = perf_counter()
    found: list[FusedResult] = []
    for i, own in enumerate(network.variants):
        left = None
        if run.time_limit is not None:
            left = max(run.time_limit - (perf_counter() - start), 0.1) / (len(network.variants) - i)
        part = replace(run, time_limit=left)
        found.append(map_fused(own, architecture, objective, run=part, tiles=tiles))
        if found[-1].interrupted:
            break
    whole = [result for result in found if not result.unmapped] or found
    best = min(whole, key=lambda result: result.value)
    missing = len(found) < len(network.variants)
    return replace(
        best,
        seconds=perf_counter() - start,
        bound=0.0 if missing else min(result.lower_bound for result in found),
        stopped=any(result.stopped for result in found),
        interrupted=any(result.interrupted for result in found),
        variants=tuple(
            Variant(own.name, result.value, result.lower_bound)
            for own, result in zip(network.variants, found, strict=False)
        ),
    )
