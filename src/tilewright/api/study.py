"""Compare strategies of search, and look at the space that they search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tilewright.api.inputs import (
    ArchitectureLike,
    WorkloadLike,
    check_count,
    check_options,
    check_seconds,
    listener,
    the_layer,
    the_searched_architecture,
)

if TYPE_CHECKING:
    from tilewright.strategies.comparison import Comparison
    from tilewright.strategies.mapspace import MapSpace


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
    time_limit: float | None = 60.0,
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
        ``"random"``, ``"pruned"``, ``"dmazerunner"``, ``"blackbox"``, ``"decoupled"``, with options
        after a colon: ``"pruned:victory=100000"``. By default all that cover the machine and are
        installed.
    seconds : float
        CPU seconds of the calling thread that each strategy gets, drawing and evaluation of
        mappings included, compilation excluded; more than 0.
    seed : int
        Where the random numbers of each strategy begin, 0 or more.
    optimum : bool
        Whether to find the proven optimum first.
    time_limit : float or None
        Seconds for its proof, more than 0; None for as long as it takes.
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
    check_options(objective, time_limit, None)
    check_seconds(seconds, "seconds")
    check_count(seed, "seed", 0)
    chosen_layer, machine = the_layer(workload, layer), the_searched_architecture(architecture)
    from tilewright.strategies.catalogue import chosen
    from tilewright.strategies.comparison import compare_strategies
    from tilewright.strategies.steps import Problem

    problem = Problem(chosen_layer, machine, objective)
    return compare_strategies(
        problem, chosen(strategies, problem), seconds=seconds, seed=seed, prove=optimum,
        time_limit=time_limit, tell=listener(progress),
    )  # fmt: skip


def mapspace(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    *,
    layer: str | None = None,
    samples: int = 100_000,
    seed: int = 0,
    optimum: bool = True,
    time_limit: float | None = 60.0,
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
        Whether to find the least energy and the fewest cycles as well.
    time_limit : float or None
        Seconds for the proof of each, more than 0; None for as long as it takes.
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
    check_options("energy", time_limit, None)
    check_count(samples, "samples", 1)
    check_count(seed, "seed", 0)
    chosen_layer, machine = the_layer(workload, layer), the_searched_architecture(architecture)
    from tilewright.strategies.mapspace import sample_mapspace

    return sample_mapspace(
        chosen_layer, machine, samples=samples, seed=seed, prove=optimum, time_limit=time_limit,
        tell=listener(progress),
    )  # fmt: skip
