"""The search on machines whose memories retain optimally: good mappings, and a lower bound.

What a memory retains is decided for whole mappings, so no part of one has a cost of its own that
the search could build on. But retention only takes away traffic between a memory and the one
above it. Two machines without it enclose it: one with tiles alone, whose best mappings are
evaluated with retention; and one on which the memory is unbounded, where every word comes once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from time import perf_counter

from tilewright.architecture.machine import Architecture, Level, Memory
from tilewright.errors import InputError, MappingError, NoMappingError
from tilewright.mapper.cache import Cache
from tilewright.mapper.network import map_network
from tilewright.mapper.progress import Progress
from tilewright.mapper.result import LayerResult, NetworkResult, objective_value, space_text
from tilewright.retention.evaluate import evaluate
from tilewright.retention.policy import retaining
from tilewright.workload.layer import Layer, Network

ROOMS = (1, 2, 4, 8)  # parts of a memory, one of which is for tiles
CLOSE = 1e-9


def map_retaining(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    time_limit: float | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
    cache: Cache | None = None,
    tiles: str,
) -> NetworkResult:
    """Find good mappings of every layer on a machine some memories of which retain optimally.

    Parameters
    ----------
    network, architecture, objective, time_limit, workers, progress, cache, tiles
        As for `network.map_network`. The time is divided among the searches evenly.

    Returns
    -------
    NetworkResult
        The best mappings of those that were found, with a lower bound (pJ, cycles or their
        product). Optimal where they are equal. Layers without a mapping that goes with retention
        are `unmapped`. Progress is told of the search on the whole memory alone.

    Raises
    ------
    NoMappingError
        When no mapping can run one of the layers with tiles alone.

    Notes
    -----
    Why no mapping is below the bound: on the unbounded machine its store nodes of a memory that
    retains, and of those above, may stand above all loops. Then these memories receive each word
    once, which retention cannot undercut, and whatever is below receives what it received before.
    """
    begin = perf_counter()
    machines = [unbounded(architecture), *with_tiles(architecture)]
    results: list[NetworkResult] = []
    for at, machine in enumerate(machines):
        left = None
        if time_limit is not None:
            left = max((time_limit - perf_counter() + begin) / (len(machines) - at), 1e-3)
        try:
            found = map_network(
                network, machine, objective, time_limit=left, workers=workers,
                progress=progress if at == 1 else None, cache=cache, tiles=tiles,
            )  # fmt: skip
        except NoMappingError:
            # smaller tiles may be too small; on the whole memory it is an error
            if at < 2:
                raise
            continue
        results.append(found)
        if found.interrupted:
            break
    bounds, *searched = results
    layers, unmapped = [], []
    for layer in network.layers:
        best = best_of(layer, architecture, bounds, searched, perf_counter() - begin)
        if best is None:
            unmapped.append(layer)
        else:
            layers.append(best)
    return NetworkResult(
        network, architecture, bounds.objective, tuple(layers), perf_counter() - begin,
        results[-1].interrupted, tuple(unmapped),
    )  # fmt: skip


def with_tiles(architecture: Architecture) -> Iterator[Architecture]:
    """Yield machines that keep tiles alone, in all or in a part of the memories that retain."""
    for rooms in ROOMS:
        levels: list[Level] = []
        for level in architecture.levels:
            if isinstance(level, Memory) and level.retention == "optimal":
                sizes, bits = level.tensor_bits, level.capacity_bits
                levels.append(
                    replace(
                        level,
                        retention="tile",
                        capacity_bits=None if bits is None else bits // rooms,
                        tensor_bits=sizes and {role: size // rooms for role, size in sizes.items()},
                    )
                )
            else:
                levels.append(level)
        yield replace(architecture, levels=tuple(levels))


def unbounded(architecture: Architecture) -> Architecture:
    """Return the machine on which memories that retain, and those above, hold whatever comes.

    What is demanded of the loops and tiles at a memory does not carry over to it.
    """
    last = architecture.levels.index(retaining(architecture)[-1])
    levels: list[Level] = []
    for at, level in enumerate(architecture.levels):
        if isinstance(level, Memory) and at <= last:
            keep = level.keep
            if level.tensor_bits is not None:
                roles = frozenset(level.tensor_bits)
                keep = roles if keep is None else keep & roles
            levels.append(
                replace(level, retention="tile", capacity_bits=None, tensor_bits=None, keep=keep)
            )
        else:
            levels.append(level)
    arrays = {array.name for array in architecture.arrays}
    kept = tuple(each for each in architecture.constraints if each.at in arrays)
    return replace(architecture, levels=tuple(levels), constraints=kept)


def best_of(
    layer: Layer,
    architecture: Architecture,
    bounds: NetworkResult,
    searched: list[NetworkResult],
    seconds: float,
) -> LayerResult | None:
    """Return the best of the mappings that were found for a layer, evaluated with retention."""
    best: LayerResult | None = None
    least = inf
    for result in searched:
        for found in result.layers:
            if found.layer is not layer:
                continue
            try:
                evaluation = evaluate(layer, architecture, found.mapping)
            except (MappingError, InputError):
                continue
            value = objective_value(evaluation, result.objective)
            if value < least:
                least = value
                best = replace(found, evaluation=evaluation)
    if best is None:
        return None
    bound = next((each.proof.lower_bound for each in bounds.layers if each.layer is layer), 0.0)
    bound = min(bound, least)
    proof = replace(
        best.proof,
        optimal=least <= bound * (1 + CLOSE),
        lower_bound=bound,
        value=least,
        gap=(least - bound) / least if least else 0.0,
        space=space_text(architecture, best.proof.tiles),
        seconds=seconds,
        search_seconds=None,
    )
    return replace(best, proof=proof)
