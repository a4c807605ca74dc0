"""Evaluate, simulate, map, compare: workloads, machines, mappings by name, file or as objects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from math import isfinite
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.architecture.files import load_architecture
from tilewright.architecture.machine import Architecture
from tilewright.document import Document, describe, load
from tilewright.errors import InputError, nearest
from tilewright.mapper.progress import Progress, watching
from tilewright.mapper.result import UNITS, NetworkResult
from tilewright.mapping.files import parse_mapping
from tilewright.mapping.nodes import Mapping
from tilewright.mapping.text import parse_text
from tilewright.model.evaluate import assess
from tilewright.model.evaluate import evaluate as evaluate_mapping
from tilewright.model.result import Evaluation
from tilewright.simulate import simulate as simulate_mapping
from tilewright.workload.layer import Layer, Network
from tilewright.workload.network import load_network, select

if TYPE_CHECKING:
    from tilewright.strategies.comparison import Comparison
    from tilewright.strategies.mapspace import MapSpace

WorkloadLike = str | PathLike[str] | Layer | Network
ArchitectureLike = str | PathLike[str] | Architecture
MappingLike = str | PathLike[str] | Mapping | list[Any] | dict[str, Any]


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
) -> NetworkResult:
    """Find the best mapping of every layer of a workload, and prove that none is better.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself.
    objective : str
        What to minimise for each layer: ``"energy"`` (pJ), ``"latency"`` (cycles) or ``"edp"``
        (pJ x cycles).
    layer : str, optional
        Map this layer of the workload alone.
    time_limit : float, optional
        Seconds for all layers together, more than 0; the result has the best mappings so far.
    workers : int, optional
        Layers searched at the same time, at least 1; by default the number of processors.
    progress : bool or Progress
        Whether to show bars on the standard error stream, or who is told instead.

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
    network = the_network(workload, layer)
    machine = the_architecture(architecture)
    # the compiled search is only imported once the input is known to be good
    from tilewright.mapper.network import map_network

    if isinstance(progress, bool):
        progress = watching() if progress else Progress()
    return map_network(
        network, machine, objective, time_limit=time_limit, workers=workers, progress=progress
    )


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


def listener(progress: bool | Callable[[str], None]) -> Callable[[str], None]:
    """Return who is told what begins."""
    if callable(progress):
        return progress
    return (lambda line: print(line, file=sys.stderr, flush=True)) if progress else lambda _: None


def check_options(objective: str, time_limit: float | None, workers: int | None) -> None:
    """Refuse values that `map` cannot use."""
    if objective not in UNITS:
        raise InputError(
            f"no objective {describe(objective)}; accepted: {', '.join(UNITS)}"
            f"{nearest(str(objective), UNITS)}",
            key="objective",
        )
    if time_limit is not None:
        check_seconds(time_limit, "time_limit")
    if workers is not None:
        check_count(workers, "workers", 1)


def check_seconds(seconds: float, key: str) -> None:
    """Refuse what is not a time."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not isfinite(seconds) or seconds <= 0:
        raise InputError(
            f"expected a number of seconds greater than 0, found {describe(seconds)}", key=key
        )


def check_count(count: int, key: str, least: int) -> None:
    """Refuse what is not a whole number, or too small."""
    if not isinstance(count, int) or isinstance(count, bool) or count < least:
        raise InputError(
            f"expected a whole number of at least {least}, found {describe(count)}", key=key
        )


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
