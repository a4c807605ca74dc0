"""The search on machines whose memories retain optimally: good mappings, and a lower bound.

What a memory retains is decided for whole mappings, so no part of one has a cost of its own that
the search could build on. But retention only takes away traffic between a memory and the one
above it. Two machines without it enclose it: one with tiles alone, whose best mappings are
evaluated with retention; and one on which the memory is unbounded, where every word comes once.
A memory below arrays has a part of the words in each instance. On the second machine it stands
above the arrays, and each word is sent to each instance that wants it: so whatever the order of the
loops, it receives each word once and sends as much as its instances do together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from time import perf_counter

from tilewright.architecture.checks import ROLES
from tilewright.architecture.machine import Architecture, Array, Level, Memory
from tilewright.errors import InputError, MappingError, NoMappingError
from tilewright.mapper.network.network import map_network
from tilewright.mapper.network.running.progress import Progress
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.results.searched_space import ALL, DIVISORS, space_text
from tilewright.mapper.search.confirmed import objective_value
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
    run: Run = UNLIMITED,
    tiles: str,
) -> NetworkResult:
    """Find good mappings of every layer on a machine some memories of which retain optimally.

    Parameters
    ----------
    network, architecture, objective, run, tiles
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
    Why no mapping is below the bound: on the unbounded machine the store nodes of the memories that
    retain, and of those above, may stand above all loops. Then these memories receive each word
    once, which retention cannot undercut, and whatever is below receives what it received before.
    Where there are arrays above a memory that retains, it sends each word as often as all of its
    instances do; nothing is refetched below. A tensor that bypasses it costs nothing on its way.
    """
    begin = perf_counter()
    machines = [(unbounded(architecture), tiles)]
    machines += [(machine, tiles) for machine in with_tiles(architecture)]
    if tiles == ALL:
        # retention may favour a mapping that tiles alone do not: those of sizes that divide, too
        machines += [(machine, DIVISORS) for machine in with_tiles(architecture)]
    results: list[NetworkResult] = []
    for at, (machine, sizes) in enumerate(machines):
        left = None
        if run.time_limit is not None:
            left = max((run.time_limit - perf_counter() + begin) / (len(machines) - at), 1e-3)
        try:
            told = run.progress if at == 1 else Progress()
            part = replace(run, time_limit=left, progress=told)
            found = map_network(network, machine, objective, run=part, tiles=sizes)
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
        network=network,
        architecture=architecture,
        objective=bounds.objective,
        layers=tuple(layers),
        seconds=perf_counter() - begin,
        interrupted=results[-1].interrupted,
        unmapped=tuple(unmapped),
        stopped=any(result.stopped for result in results),
    )


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

    They stand above all arrays, each one with the bandwidth and leakage of all its instances. What
    is demanded of the loops and tiles at a memory does not carry over to it.
    """
    last = architecture.levels.index(retaining(architecture)[-1])
    outer, inner = architecture.levels[: last + 1], architecture.levels[last + 1 :]
    memories = [
        whole(level, architecture.instances(level.name))
        for level in outer
        if isinstance(level, Memory)
    ]
    arrays = [each_for_itself(level) for level in outer if isinstance(level, Array)]
    lowest = memories[-1]
    spare = frozenset(ROLES) - lowest.must_keep
    if arrays and spare:
        memories.append(Memory(f"{lowest.name} bypassed", lowest.word_bits, keep=spare))
    names = {array.name for array in architecture.arrays}
    kept = tuple(each for each in architecture.constraints if each.at in names)
    return replace(architecture, levels=(*memories, *arrays, *inner), constraints=kept)


def whole(memory: Memory, instances: int) -> Memory:
    """Return an unbounded memory that stands for all instances of one."""
    keep = memory.keep
    if memory.tensor_bits is not None:
        roles = frozenset(memory.tensor_bits)
        keep = roles if keep is None else keep & roles
    rates = (memory.read_bandwidth, memory.write_bandwidth, memory.shared_bandwidth)
    reads, writes, shared = (None if rate is None else rate * instances for rate in rates)
    return replace(
        memory, retention="tile", capacity_bits=None, tensor_bits=None, keep=keep,
        read_bandwidth=reads, write_bandwidth=writes, shared_bandwidth=shared,
        leakage=memory.leakage * instances,
    )  # fmt: skip


def each_for_itself(array: Array) -> Array:
    """Return an array whose elements share nothing, through a network that costs nothing."""
    return replace(
        array, multicast=False, reduction=False, forwarding=False, hop_energy=0.0, bandwidth=None,
        networks=None, adders=None,
    )  # fmt: skip


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
    known = next((each.proof for each in bounds.layers if each.layer is layer), None)
    bound = 0.0 if known is None else min(known.lower_bound, least)
    of_all = 0.0 if known is None else known.lower_bound_irregular
    optimal = least <= bound * (1 + CLOSE)
    # the bound is about the sizes that were asked for, whatever sizes the best mapping has
    tiles = best.proof.tiles if known is None else known.tiles
    proof = replace(
        best.proof,
        tiles=tiles,
        optimal=optimal,
        lower_bound=bound,
        value=least,
        gap=(least - bound) / least if least else 0.0,
        reason="" if optimal else best.proof.reason,
        lower_bound_irregular=None if of_all is None else min(of_all, bound),
        space=space_text(architecture, tiles),
        seconds=seconds,
        search_seconds=None,
    )
    return replace(best, proof=proof)
