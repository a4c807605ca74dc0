"""Evaluate, simulate, map, compare: workloads, machines, mappings by name, file or as objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from tilewright.inputs import (
    ArchitectureLike,
    CacheLike,
    MappingLike,
    WorkloadLike,
    check_count,
    check_options,
    check_seconds,
    check_within,
    listener,
    the_architecture,
    the_cache,
    the_layer,
    the_mapping,
    the_network,
)
from tilewright.mapper.explanation import Explanation
from tilewright.mapper.front import Front
from tilewright.mapper.frontier_result import Frontier
from tilewright.mapper.progress import Progress, counted, watching
from tilewright.mapper.result import NetworkResult
from tilewright.mapping.constraints import under
from tilewright.mapping.given import ConstraintsLike, check_own_names, given_constraints
from tilewright.mapping.nodes import Mapping
from tilewright.model.evaluate import assess
from tilewright.model.evaluate import evaluate as evaluate_mapping
from tilewright.model.result import Evaluation
from tilewright.simulate import simulate as simulate_mapping

if TYPE_CHECKING:
    from tilewright.strategies.comparison import Comparison
    from tilewright.strategies.mapspace import MapSpace


def evaluate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
) -> Evaluation:
    """Return what a mapping costs.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    mapping : str, path, Mapping, list or dict
        A file, the mapping itself, or the list of its nodes as a file would have it.
    layer : str, optional
        Which layer of the workload; needed where it has several.

    Returns
    -------
    Evaluation
        Energy in pJ, cycles, counts in tensor elements.

    Raises
    ------
    InputError
        When something cannot be read; a MappingError when the mapping does not fit the machine.
    """
    chosen = the_layer(workload, layer)
    machine = the_architecture(architecture)
    return evaluate_mapping(
        chosen, machine, the_mapping(mapping, chosen, machine), check=isinstance(mapping, Mapping)
    )


def simulate(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    mapping: MappingLike,
    *,
    layer: str | None = None,
) -> Evaluation:
    """Return what a mapping costs, counted by carrying it out, one word at a time.

    Parameters, result and errors are those of `evaluate`. The layer may have 2 million operations
    at most.
    """
    chosen = the_layer(workload, layer)
    machine = the_architecture(architecture)
    nodes = the_mapping(mapping, chosen, machine)
    counts = simulate_mapping(chosen, machine, nodes, check=isinstance(mapping, Mapping))
    return assess(chosen, machine, nodes, counts)


def map(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    objective: str = "energy",
    *,
    layer: str | None = None,
    constraints: ConstraintsLike = None,
    time_limit: float | None = None,
    workers: int | None = None,
    progress: bool | Progress = False,
    cache: CacheLike = True,
) -> NetworkResult:
    """Find the best mapping of every layer of a workload, and prove that none is better.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    objective : str
        What to minimise for each layer: ``"energy"`` (pJ), ``"latency"`` (cycles), ``"edp"``,
        ``"ed2p"`` or a product of powers such as ``"energy*latency^0.5"``. After a comma a second
        one that decides between equals (else the other one of energy and cycles), and
        limits: ``"energy, latency<=1e6"`` is the least energy within a million cycles.
    layer : str, optional
        Map this layer of the workload alone.
    constraints : str, path, dict, Constraint, Constraints, or a list of those, optional
        What the mappings must satisfy besides the constraints of the machine: the name of a
        dataflow, a file, statements such as ``"PE.X.dims=C,K"``, or the thing itself.
    time_limit : float, optional
        Seconds for all layers together, more than 0; the result has the best mappings so far.
    workers : int, optional
        Layers searched at the same time, at least 1; by default the number of processors.
    progress : bool or Progress
        Whether to show bars on the standard error stream, or who is told instead.
    cache : bool, str or path
        Whether proven results are looked up in the user's cache and kept there, or in which
        directory instead. Where the cache cannot be written, results are only not kept.

    Returns
    -------
    NetworkResult
        Mapping, evaluation and proof of each layer. Ctrl-C ends the search with the best so far.

    Raises
    ------
    InputError
        When something cannot be read.
    NoMappingError
        When no mapping can run one of the layers, or satisfies the constraints.
    """
    check_options(objective, time_limit, workers)
    kept = the_cache(cache)
    network = the_network(workload, layer)
    machine = the_architecture(architecture)
    check_own_names(machine, network.layers)
    machine = under(machine, given_constraints(constraints, machine, network.layers))
    # the compiled search is only imported once the input is known to be good
    from tilewright.mapper.network import map_network

    if isinstance(progress, bool):
        progress = watching() if progress else Progress()
    return map_network(
        network, machine, objective,
        time_limit=time_limit, workers=workers, progress=progress, cache=kept,
    )  # fmt: skip


def pareto(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    limits: str = "energy",
    *,
    layer: str | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> Front:
    """Find every trade-off of energy against cycles of one layer, and prove that none is missing.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    limits : str
        An objective whose limits hold for every point, for example ``"energy, latency<=1e6"``.
    layer : str, optional
        Which layer of the workload; needed where it has several.
    time_limit : float, optional
        Seconds, more than 0; the result has the points found until then.
    progress : bool
        Whether to show the number of points on the standard error stream.

    Returns
    -------
    Front
        Mapping and evaluation of each point, the least energy first.

    Raises
    ------
    InputError
        When something cannot be read.
    NoMappingError
        When no mapping can run the layer within the limits.
    """
    check_options(limits, time_limit, None)
    chosen = the_layer(workload, layer)
    machine = the_architecture(architecture)
    from tilewright.mapper.network import map_front

    with counted("points", progress) as told:
        return map_front(chosen, machine, limits, time_limit=time_limit, progress=told)


def frontier(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    over: Sequence[str],
    objective: str = "energy",
    *,
    traffic: str | None = None,
    layer: str | None = None,
    time_limit: float | None = None,
    progress: bool = False,
) -> Frontier:
    """Find the least cost of one layer for every size of one or two memories, with a proof.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself. The energy per access stays what
        it is whatever the size; the reads and writes at every point allow for another.
    over : sequence of str
        Names of one or two memories whose size varies.
    objective : str
        What to minimise, as for `map`.
    traffic : str, optional
        Name of a memory: its reads and writes, in elements, are minimised instead: the bound on
        data movement.
    layer : str, optional
        Which layer of the workload; needed where it has several.
    time_limit : float, optional
        Seconds, more than 0; the result has the points found until then.
    progress : bool
        Whether to show the number of searches on the standard error stream.

    Returns
    -------
    Frontier
        A step function: the least size of each step, its value, mapping and evaluation.

    Raises
    ------
    InputError
        When something cannot be read, or a memory has no size that can vary.
    NoMappingError
        When no mapping can run the layer.
    """
    check_options(objective, time_limit, None)
    chosen = the_layer(workload, layer)
    machine = the_architecture(architecture)
    from tilewright.mapper.frontier import least_cost

    end = perf_counter() + (inf if time_limit is None else time_limit)
    names = (over,) if isinstance(over, str) else tuple(over)
    with counted("searches", progress) as told:
        return least_cost(
            chosen, machine, names, objective,
            traffic=traffic, stop=lambda: perf_counter() >= end, progress=told,
        )  # fmt: skip


def explain(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    objective: str = "energy",
    *,
    layer: str | None = None,
    constraints: ConstraintsLike = None,
    within: float = 0.05,
    time_limit: float | None = None,
    progress: bool | Progress = False,
) -> Explanation:
    """Say what limits the best mapping of a layer, and what else is nearly as good.

    Every limit of the machine (capacities, axes, bandwidths, constraints, bypasses) is relaxed
    alone, and the best mapping found anew. Then come the best mapping of every other bypass choice
    and of every other set of spatially unrolled dimensions near the optimum, and the best one with
    another dataflow.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    objective : str
        What is minimised, as in `map`.
    layer : str, optional
        Which layer of the workload; needed where it has several.
    constraints : str, path, dict, Constraint, Constraints, or a list of those, optional
        What mappings must satisfy besides the constraints of the machine, as in `map`. Each is one
        of the limits.
    within : float
        How far above the optimum runner-ups are looked for, as a share of it, from 0 to 1.
    time_limit : float, optional
        Seconds, more than 0; the result then says what is not proven.
    progress : bool or Progress
        Whether to show the search for the optimum on the standard error stream, or who is told.

    Returns
    -------
    Explanation
        Ctrl-C ends the searches with what is known so far.

    Raises
    ------
    InputError
        When something cannot be read, or on a machine whose arrays forward words: no mapping is
        proven there.
    NoMappingError
        When no mapping can run the layer or satisfies the constraints, or none was found in time.
    """
    check_options(objective, time_limit, None)
    check_within(within)
    chosen = the_layer(workload, layer)
    machine = the_architecture(architecture)
    check_own_names(machine, [chosen])
    machine = under(machine, given_constraints(constraints, machine, [chosen]))
    from tilewright.mapper.explain import explain_layer

    if isinstance(progress, bool):
        progress = watching() if progress else Progress()
    return explain_layer(
        chosen, machine, objective,
        within=within, time_limit=time_limit, cache=the_cache(True), progress=progress,
    )  # fmt: skip


def compare(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    objective: str = "edp",
    *,
    layer: str | None = None,
    strategies: Sequence[str] | None = None,
    seconds: float = 10.0,
    seed: int = 0,
    optimum: bool = True,
    progress: bool | Callable[[str], None] = False,
) -> Comparison:
    """Let other search strategies look for a good mapping, and compare with the proven optimum.

    Parameters
    ----------
    workload, architecture
        What is mapped onto what, as for `map`.
    objective : str
        What to minimise: ``"energy"`` (pJ), ``"latency"`` (cycles) or ``"edp"`` (pJ x cycles).
    layer : str, optional
        Which layer of the workload; needed where it has several.
    strategies : sequence of str, optional
        ``"random"``, ``"pruned"``, ``"dmazerunner"``, ``"blackbox"``, with options after a colon:
        ``"pruned:victory=100000"``. By default all that cover the machine and are installed.
    seconds : float
        CPU seconds of the calling thread that each strategy gets, drawing and evaluation of
        mappings included, compilation excluded; more than 0.
    seed : int
        Where the random numbers of each strategy begin, 0 or more.
    optimum : bool
        Whether to find the proven optimum first, however long that takes.
    progress : bool or callable
        Whether to tell on the standard error stream what begins, or who is told instead.

    Returns
    -------
    Comparison
        Ctrl-C ends it with what was found so far.

    Raises
    ------
    InputError
        When something cannot be read, or a strategy does not cover the machine.
    NoMappingError
        When no mapping can run the layer.
    """
    check_options(objective, None, None)
    check_seconds(seconds, "seconds")
    check_count(seed, "seed", 0)
    chosen_layer, machine = the_layer(workload, layer), the_architecture(architecture)
    from tilewright.strategies.catalogue import chosen
    from tilewright.strategies.comparison import compare_strategies
    from tilewright.strategies.steps import Problem

    problem = Problem(chosen_layer, machine, objective)
    return compare_strategies(
        problem, chosen(strategies, problem), seconds=seconds, seed=seed, prove=optimum,
        tell=listener(progress),
    )  # fmt: skip


def mapspace(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    *,
    layer: str | None = None,
    samples: int = 100_000,
    seed: int = 0,
    optimum: bool = True,
    progress: bool | Callable[[str], None] = False,
) -> MapSpace:
    """Draw mappings at random and tell how many fit, and how energy and cycles are spread.

    Parameters
    ----------
    workload, architecture
        What is mapped onto what, as for `map`.
    layer : str, optional
        Which layer of the workload; needed where it has several.
    samples : int
        Mappings to draw, at least 1.
    seed : int
        Where random numbers begin, 0 or more.
    optimum : bool
        Whether to find the least energy and the fewest cycles as well, however long that takes.
    progress : bool or callable
        Whether to tell on the standard error stream what begins, or who is told instead.

    Returns
    -------
    MapSpace
        Ctrl-C ends it with what was drawn so far.

    Raises
    ------
    InputError
        When something cannot be read.
    NoMappingError
        When no mapping can run the layer.
    """
    check_count(samples, "samples", 1)
    check_count(seed, "seed", 0)
    chosen_layer, machine = the_layer(workload, layer), the_architecture(architecture)
    from tilewright.strategies.mapspace import sample_mapspace

    return sample_mapspace(
        chosen_layer, machine, samples=samples, seed=seed, prove=optimum, tell=listener(progress)
    )
