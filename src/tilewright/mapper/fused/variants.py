"""The best of the variants of a network, each with what is fused in it."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.mapper.fused.network import map_fused
from tilewright.mapper.fused.result import FusedResult, Variant
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.progress import Progress
from tilewright.mapper.results.searched_space import DIVISORS
from tilewright.workload.layer import Network


def map_variants(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    time_limit: float | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    cache: Cache | None = None,
    tiles: str = DIVISORS,
) -> FusedResult:
    """Find the best mapping of the variant that costs least.

    Parameters
    ----------
    network : Network
        With variants.
    time_limit : float, optional
        Seconds for all of them; each gets its share of what is left.
    architecture, objective, workers, progress, cache, tiles
        As for `map_fused`.
    """
    start = perf_counter()
    found: list[FusedResult] = []
    for i, own in enumerate(network.variants):
        left = None
        if time_limit is not None:
            left = max(time_limit - (perf_counter() - start), 0.1) / (len(network.variants) - i)
        found.append(
            map_fused(
                own, architecture, objective,
                time_limit=left, workers=workers, progress=progress, cache=cache, tiles=tiles,
            )
        )  # fmt: skip
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
