"""The search of one layer of a network: sizes that divide first, then all tile sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf, isfinite, prod
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.errors import MappingError, NoMappingError
from tilewright.mapper.canonical.polish import costs
from tilewright.mapper.canonical.tidy import tidied
from tilewright.mapper.network.running.progress import Progress
from tilewright.mapper.network.solved_layers import Searched
from tilewright.mapper.objective.objective import Objective, parse_objective
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.problem.lattice import divisors
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.mapper.search.all_sizes.all_tile_sizes import with_all_sizes
from tilewright.mapper.search.confirmed import DisagreementError
from tilewright.mapper.search.forwarding import forwards_words, of_reading_all
from tilewright.mapper.search.search import Search
from tilewright.mapper.search.vast_layers import found_greedily, is_vast
from tilewright.mapping.nodes import For, Mapping, Node, Store
from tilewright.mapping.validity import check
from tilewright.model.count import check_size
from tilewright.workload.layer import Layer

HASTE = 0.03  # seconds beyond the limit for any mapping of a layer


def search_effort(layer: Layer) -> tuple[int, int]:
    """Return what orders layers by how long their search takes: shapes of the lattice, first."""
    return prod(len(divisors(bound)) for bound in layer.bounds.values()), layer.operations


def check_possible(layer: Layer, architecture: Architecture) -> None:
    """Refuse a layer that no mapping can run, by trying the one that needs the least storage.

    Raises
    ------
    NoMappingError
        With the memory that excludes every mapping.
    InputError
        When the layer is too large to be counted.
    """
    check_size(layer)
    outermost, *inner = architecture.memories
    nodes: list[Node] = [Store(outermost.name, tuple(t.name for t in layer.tensors))]
    nodes += [For(dimension, 1) for dimension in layer.dimensions]
    for memory in inner:
        if kept := tuple(t.name for t in layer.tensors if t.role in memory.must_keep):
            nodes.append(Store(memory.name, kept))
    try:
        check(Mapping(tuple(nodes)), layer, replace(architecture, constraints=()))
    except MappingError as failure:
        raise NoMappingError(
            f"no mapping of layer '{layer.name}' exists on '{architecture.name}': even when every "
            f"memory but the outermost holds one element of what it must keep, {failure.message}"
        ) from None


def search(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    stop: Callable[[], bool],
    progress: Progress,
    hurried: bool,
    earlier: Searched | None = None,
) -> Searched:
    """Search one layer in its share of the time, knowing what an earlier search has found.

    If `hurried` and nothing is found in that time, some mapping is made.
    """
    start = perf_counter()
    size = mappings_in_space(layer, narrowed(architecture, layer))
    if is_vast(layer):
        vast = found_greedily(layer, architecture, objective, stop)
        return Searched(vast, size, perf_counter() - start)
    searching = Search(layer, architecture, objective)
    if earlier is not None and earlier.found.mapping is not None:
        searching.begin_with(earlier.found.mapping)
    elif forwards_words(layer, architecture):
        first = of_reading_all(layer, architecture, objective, stop)
        if first is not None:
            searching.begin_with(first)
            value = float(searching.best[0])
            earlier = Searched(replace(searching.found, value=value), size, 0.0)
    found = searching.solve(stop, lambda best, bound: progress.improved(layer, best, bound))
    if hurried and found.mapping is None and not found.finished:
        end = perf_counter() + HASTE
        searching.begin(lambda: perf_counter() >= end)
        found.value = float(searching.best[0])
    before = 0.0
    if earlier is not None:
        before, found.bound = earlier.seconds, max(found.bound, earlier.found.bound)
        if found.value > earlier.found.value:  # the model counts more, see `Found.correct_value`
            found = replace(earlier.found, bound=found.bound, labels=found.labels)
    if found.finished and found.mapping is None and parse_objective(objective).limited:
        raise NoMappingError(beyond_limits(layer, architecture, parse_objective(objective)))
    if found.finished and found.mapping is None:
        raise DisagreementError(
            f"internal error: the search finds no mapping of layer '{layer.name}' on "
            f"'{architecture.name}', although there is one; please report this with the layer and "
            "the architecture"
        )
    return Searched(found, size, before + perf_counter() - start)


def improved(
    layer: Layer,
    architecture: Architecture,
    objective: str,
    ended: Searched,
    stop: Callable[[], bool],
) -> Searched:
    """Go on from the best mapping whose tile sizes divide with all tile sizes."""
    start = perf_counter()
    machine = narrowed(architecture, layer)
    found = with_all_sizes(layer, machine, objective, ended.found, stop)
    if found.mapping == ended.found.mapping:
        found.least_memory = ended.found.least_memory
    elif found.mapping is not None and found.finished:
        # ties are of interest where nothing is better
        found.mapping = tidied(
            found.mapping, layer, machine, lambda m: costs(m, layer, machine), stop
        )
        value = parse_objective(objective).value(*costs(found.mapping, layer, machine))
        found.value = min(found.value, value)
    seconds = ended.seconds + perf_counter() - start
    return Searched(found, ended.mappings_in_space, seconds)


def beyond_limits(layer: Layer, architecture: Architecture, objective: Objective) -> str:
    """Return why no mapping keeps to the limits of an objective."""
    free = replace(objective, most_energy=inf, most_cycles=inf)
    least = []
    if isfinite(objective.most_cycles):
        limited = replace(free, powers=(0.0, 1.0), then=(1.0, 0.0))
        limited = replace(limited, most_energy=objective.most_energy)
        least.append((limited, "cycles"))
    if isfinite(objective.most_energy):
        limited = replace(free, powers=(1.0, 0.0), then=(0.0, 1.0))
        limited = replace(limited, most_cycles=objective.most_cycles)
        least.append((limited, "pJ"))
    facts = []
    for limited, unit in least:
        found = Search(layer, architecture, str(limited)).solve()
        if found.mapping is not None:
            facts.append(f"the {limited.least} is {found.value:.10g} {unit}")
        else:
            alone = replace(limited, most_energy=inf, most_cycles=inf)
            found = Search(layer, architecture, str(alone)).solve()
            facts.append(f"the {alone.least} of all is {found.value:.10g} {unit}")
    return (
        f"no mapping of layer '{layer.name}' on '{architecture.name}' is "
        f"{objective.within('').strip()}: {', '.join(dict.fromkeys(facts))}"
    )
