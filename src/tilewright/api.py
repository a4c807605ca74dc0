"""Evaluate, simulate and map: workloads, machines and mappings by name, by file or as objects."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from os import PathLike, fspath
from pathlib import Path
from time import perf_counter
from typing import Any

from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture
from tilewright.document import Document, describe, load
from tilewright.errors import InputError
from tilewright.mapper.cache import Cache, user_cache
from tilewright.mapper.explanation import Explanation
from tilewright.mapper.front import Front
from tilewright.mapper.frontier_result import Frontier
from tilewright.mapper.objective import ACCEPTED, parse_objective
from tilewright.mapper.progress import Progress, counted, watching
from tilewright.mapper.result import NetworkResult
from tilewright.mapping.files import parse_mapping
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.text import parse_text
from tilewright.model.evaluate import assess
from tilewright.model.evaluate import evaluate as evaluate_mapping
from tilewright.model.result import Evaluation
from tilewright.simulate import simulate as simulate_mapping
from tilewright.workload.layer import Layer, Network
from tilewright.workload.network import load_network, select

WorkloadLike = str | PathLike[str] | Layer | Network
ArchitectureLike = str | PathLike[str] | Architecture
MappingLike = str | PathLike[str] | Mapping | list[Any] | dict[str, Any]
CacheLike = bool | str | PathLike[str]


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
        When no mapping can run one of the layers.
    """
    check_options(objective, time_limit, workers)
    kept = the_cache(cache)
    network = the_network(workload, layer)
    machine = the_architecture(architecture)
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
        When no mapping can run the layer, or none was found in time.
    """
    check_options(objective, time_limit, None)
    check_within(within)
    chosen = the_layer(workload, layer)
    machine = the_architecture(architecture)
    from tilewright.mapper.explain import explain_layer

    if isinstance(progress, bool):
        progress = watching() if progress else Progress()
    return explain_layer(
        chosen, machine, objective,
        within=within, time_limit=time_limit, cache=user_cache(), progress=progress,
    )  # fmt: skip


def check_within(within: float) -> None:
    """Refuse a share that `explain` cannot use."""
    number = isinstance(within, int | float) and not isinstance(within, bool)
    if not number or not 0 <= within <= 1:
        raise InputError(
            "expected a share of the optimum from 0 to 1, for example 0.05 (5 %), "
            f"found {describe(within)}",
            key="within",
        )


def check_options(objective: str, time_limit: float | None, workers: int | None) -> None:
    """Refuse values that `map` cannot use."""
    if not isinstance(objective, str):
        raise InputError(f"expected text, found {describe(objective)}; {ACCEPTED}", key="objective")
    parse_objective(objective)
    if time_limit is not None:
        number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
        if not number or not isfinite(time_limit) or time_limit <= 0:
            raise InputError(
                f"expected a number of seconds greater than 0, found {describe(time_limit)}",
                key="time_limit",
            )
    if workers is not None and (not isinstance(workers, int) or workers < 1):
        raise InputError(
            f"expected a whole number of at least 1, found {describe(workers)}", key="workers"
        )


def the_cache(cache: CacheLike) -> Cache | None:
    """Return where proven results are kept, or None when they are not."""
    if isinstance(cache, bool):
        return user_cache() if cache else None
    if not isinstance(cache, str | PathLike) or not fspath(cache):
        raise InputError(
            f"expected True, False or the path of a directory, found {describe(cache)}",
            key="cache",
        )
    directory = Path(cache)
    if directory.exists() and not directory.is_dir():
        raise InputError(
            f"'{directory}' is no directory; True, False or the path of a directory is accepted",
            key="cache",
        )
    return Cache(directory)


def the_network(workload: WorkloadLike, layer: str | None = None) -> Network:
    """Return a workload as a network, of one layer alone when its name is given."""
    if isinstance(workload, Layer):
        network = Network(workload.name, (workload,))
    elif isinstance(workload, Network):
        network = workload
    elif isinstance(workload, str | PathLike):
        network = load_network(fspath(workload))
    else:
        raise InputError(
            f"expected a name, a path, a Layer or a Network, found {describe(workload)}",
            key="workload",
        )
    if layer is None:
        return network
    return Network(network.name, (select(network, layer),), network.source)


def the_layer(workload: WorkloadLike, name: str | None) -> Layer:
    """Return the layer of a workload that is meant."""
    network = the_network(workload, name)
    if len(network.layers) > 1:
        names = [layer.name for layer in network.layers]
        shown = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
        raise InputError(
            f"network '{network.name}' has {len(names)} layers; name one of them: {shown}",
            key="layer",
        )
    return network.layers[0]


def the_architecture(architecture: ArchitectureLike) -> Architecture:
    """Return a machine by name, from a file, or as it is."""
    if isinstance(architecture, Architecture):
        return architecture
    if not isinstance(architecture, str | PathLike):
        raise InputError(
            f"expected a name, a path or an Architecture, found {describe(architecture)}",
            key="architecture",
        )
    return load_architecture(fspath(architecture))


def the_mapping(mapping: MappingLike, layer: Layer, architecture: Architecture) -> Mapping:
    """Return a mapping as it is, or one that was written, checked for the machine."""
    if isinstance(mapping, Mapping):
        return mapping
    if isinstance(mapping, list | dict):
        return parse_mapping(mapping, layer, architecture)
    if not isinstance(mapping, str | PathLike):
        raise InputError(
            f"expected a path, a Mapping or a list of nodes, found {describe(mapping)}",
            key="mapping",
        )
    document = load(fspath(mapping))
    if is_loop_nest(document):
        text = Path(mapping).read_text(encoding="utf-8")
        return parse_text(text, layer, architecture, source=document.source)
    return parse_mapping(document, layer, architecture)


def is_loop_nest(document: Document) -> bool:
    """Whether a file holds a mapping as it is printed for people: to YAML, that is one text."""
    return isinstance(document.data, str) and " stores " in document.data
