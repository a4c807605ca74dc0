"""Count dMazeRunner's execution methods, and find the best ones."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.api.inputs import (
    ArchitectureLike,
    WorkloadLike,
    listener,
    the_architecture,
    the_network,
)
from tilewright.interop.dmazerunner.methods import ExecutionMethods, count_methods


def methods(
    workload: WorkloadLike,
    architecture: ArchitectureLike,
    *,
    layer: str | None = None,
    best: str | None = None,
    progress: bool | Callable[[str], None] = False,
) -> ExecutionMethods:
    """Count the execution methods of every layer as dMazeRunner does, and find the best ones.

    A method is a tiling of every dimension in DRAM, in a buffer, on the array and in the registers
    that fits the machine; heuristics OPT1 to OPT3 prune them (S. Dave et al., ACM TECS 18(5s),
    2019, section 4.2). The best ones are those of all their loop orderings, by dMazeRunner's own
    counting: see `evaluate` with ``counting="dmazerunner"``. Nothing is enumerated one by one, and
    bounds prove that no method is better.

    Parameters
    ----------
    workload : str, path, Layer or Network
        Name of a network that ships, a file, or the thing itself.
    architecture : str, path or Architecture
        Name of a machine that ships, a file, or the thing itself: an outermost memory, a buffer,
        an array and registers.
    layer : str, optional
        This layer of the workload alone.
    best : str, optional
        What the best methods minimise: ``"edp"`` (pJ x cycles), ``"cycles"`` or ``"energy"`` (pJ).
        By default they are only counted.
    progress : bool or callable
        Whether to tell on the standard error stream what begins, or who is told instead.

    Returns
    -------
    ExecutionMethods
        Counts, and best methods, for every layer and with more and more of the heuristics.

    Raises
    ------
    InputError
        When something cannot be read, or the machine or a layer is not of the kind that
        dMazeRunner covers.
    """
    network, machine = the_network(workload, layer), the_architecture(architecture)
    return count_methods(network, machine, best, listener(progress))
