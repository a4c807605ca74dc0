"""One style for a whole network: the best one, with the best mapping of every layer in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError, NoMappingError
from tilewright.kernels.time_limits import time_is_up
from tilewright.mapper.network.cache import Cache
from tilewright.mapper.network.layer_search import search_effort
from tilewright.mapper.network.network import compiled, map_network
from tilewright.mapper.network.running.run import UNLIMITED, Run
from tilewright.mapper.network.solution_key import likeness
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.bypass_choices import about_memories
from tilewright.mapper.results.result import NetworkResult
from tilewright.mapper.results.searched_space import ALL, DIVISORS, forwards
from tilewright.mapper.styles.all_tile_sizes_of_style import with_sizes
from tilewright.mapper.styles.best_style import BestStyle
from tilewright.mapper.styles.result import UniformResult
from tilewright.mapper.styles.shared_results import Alike
from tilewright.mapper.styles.style import Style, spatial_styles, stationaries
from tilewright.mapper.styles.totals import Totals
from tilewright.processes import processors
from tilewright.workload.layer import Network

FREE = 0.5  # share of a limited time in which each layer is mapped in a style of its own


def map_uniform(
    network: Network,
    architecture: Architecture,
    objective: str,
    *,
    within: float = 0.0,
    run: Run = UNLIMITED,
    tiles: str = DIVISORS,
) -> UniformResult:
    """Find the style that is best for all layers of a network together, with their mappings.

    Parameters
    ----------
    network, architecture, objective, run
        As for `network.map_network`.
    tiles : str
        ``"divisors"``, or ``"all"``: the best styles are then improved with other sizes, and
        compared with a bound of all.
    within : float
        Styles whose totals are above the best by no more than this share are mapped to the end.

    Returns
    -------
    UniformResult
        When the search is stopped, by Ctrl-C or the time limit, the best style so far, and what
        no style can fall below.

    Raises
    ------
    InputError
        On a machine on which nothing is proven, or whose constraints fix loops or tiles.
    NoMappingError
        When no style has a mapping of every layer, or none was found in time.
    """
    compiled(run.progress)  # counts for no limit
    start = perf_counter()
    is_up = time_is_up(run.seconds)
    check_machine(architecture)
    share = run.share(FREE)
    free = map_network(
        network, architecture, objective, run=replace(run, time_limit=share), tiles=tiles
    )
    spatial = list(spatial_styles(network, architecture))
    roles = stationaries(network, architecture)
    goal = parse_objective(free.objective)
    kinds = kinds_of(free, spatial, run.cache)
    search = BestStyle(
        kinds, spatial, roles, architecture, Totals(goal, [kind.runs for kind in kinds]),
        within=within, workers=run.workers or processors(),
        stop=lambda: free.interrupted or is_up(), progress=run.progress,
    )  # fmt: skip
    interrupted = search.search() or free.interrupted
    if not search.ended:
        raise NoMappingError(without_style(search, network, architecture))
    ranking = search.ranking()
    if tiles == ALL:
        ranking, interrupted = with_sizes(search, interrupted)
    best, lower = ranking.ranked[0], ranking.lower_bound
    cut = free.interrupted or bool(free.unmapped) or (share is not None and free.seconds >= share)
    covered = lower >= ranking.best * (1 - TIE)
    return UniformResult(
        network, best.style.machine(architecture), free.objective,
        ranking.layers(best, network), perf_counter() - start, interrupted,
        styles=ranking.styles(None if cut else value_of(free)), others=ranking.others(),
        count=len(spatial) * len(roles),
        covered=covered, lower_bound=ranking.best if covered else lower, free=free,
        stopped=search.stop(),
    )  # fmt: skip


def kinds_of(free: NetworkResult, styles: Sequence[Style], cache: Cache | None) -> list[Alike]:
    """Return the different layers of a network; those that weigh most for their effort first."""
    bounds = {likeness(result.layer): result.proof.lower_bound for result in free.layers}
    runs: dict[tuple[object, ...], int] = {}
    for layer in free.network.layers:
        runs[likeness(layer)] = runs.get(likeness(layer), 0) + layer.repeat
    first = {likeness(layer): layer for layer in reversed(free.network.layers)}
    kinds = [
        Alike(
            first[kind], n, bounds.get(kind, 0.0), styles, free.architecture, free.objective, cache
        )
        for kind, n in runs.items()
    ]
    return sorted(kinds, key=lambda kind: -kind.runs * kind.free / search_effort(kind.layer)[0])


def without_style(search: BestStyle, network: Network, architecture: Architecture) -> str:
    """Return why there is no style."""
    if any(search.totals.least(candidate) < inf for candidate in search.waiting):
        return "the search was stopped before it had mapped all layers in any one style"
    return f"no style has a mapping of every layer of '{network.name}' on '{architecture.name}'"


def value_of(result: NetworkResult) -> float:
    """Return the objective of the totals of a network."""
    powers = parse_objective(result.objective).powers
    return float(result.energy_pj ** powers[0] * result.cycles ** powers[1])


def check_machine(architecture: Architecture) -> None:
    """Refuse machines on which styles are not covered."""
    if forwards(architecture):
        raise InputError(
            f"neighbours forward words on '{architecture.name}', where no mapping is proven to be "
            "the best; accepted: a machine with 'forwarding: false' on every array",
            key="uniform",
        )
    for statement in about_memories(architecture):
        raise InputError(
            f"takes no constraint on tiles, loops or the use of a memory, found '{statement}'; "
            "accepted: constraints on arrays, 'keep' and 'bypass'",
            key="uniform",
        )
