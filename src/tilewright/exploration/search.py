"""The exact front of a design space, by boxes and bounds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from time import perf_counter

from tilewright.api.inputs import WorkloadLike, check_count, check_seconds, the_network
from tilewright.document import read_text
from tilewright.errors import InputError, nearest
from tilewright.exploration.designs.reading import load_space
from tilewright.exploration.designs.space import Space
from tilewright.exploration.metrics import MAPPED, check_axes
from tilewright.exploration.proof.boxes import Search
from tilewright.exploration.proof.problem import Problem
from tilewright.exploration.proof.solver import Solver, Workload
from tilewright.exploration.proof.store import Store
from tilewright.exploration.proof.workers import Cluster, Processes
from tilewright.exploration.proof.worth import worth_of_values
from tilewright.exploration.proposers import check_strategy, proposer_of
from tilewright.exploration.result import Certificate, Exploration
from tilewright.exploration.trial import Proven, proven_front
from tilewright.exploration.trying import Trying
from tilewright.kernels.time_limits import time_is_up
from tilewright.mapper.network.network import compiled
from tilewright.mapper.network.running.progress import Progress

# Designs that a strategy tries by itself.
DESIGNS = 100

Listener = Callable[[Certificate, int], None]


def explore(
    workloads: WorkloadLike | Mapping[str, float] | Sequence[WorkloadLike] | None,
    space: Space | str | PathLike[str],
    *,
    axes: Sequence[str] = ("energy", "area"),
    objective: str = "energy",
    maximum: bool | None = None,
    time_limit: float | None = None,
    store: str | PathLike[str] | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Listener | None = None,
    strategy: str | None = None,
    designs: int | None = None,
    seed: int | None = None,
    against: Exploration | str | PathLike[str] | None = None,
    worth: str | None = None,
) -> Exploration:
    """Find the best machines of a space, each with its best mappings, and prove it.

    Parameters
    ----------
    workloads : workload, sequence of those, mapping of name to weight, or None
        What is computed; None for what the space says. Energy and latency are weighted sums.
    space : Space or path
        The machines.
    axes : sequence of str
        What is minimised: of ``energy`` (pJ), ``latency`` (s), ``edp`` (pJ*s), ``area`` (mm2),
        ``power`` and ``leakage`` (mW). With one axis the result is the best design.
    objective : str
        What the mapping of each layer minimises: ``"energy"``, ``"latency"`` or ``"edp"``, with
        tile sizes that divide, under throughput latency.
    maximum : bool, optional
        Whether the worst of the workloads counts instead of their sum; by default as the space
        says.
    time_limit : float, optional
        Seconds, more than 0.
    store : path, optional
        An SQLite file in which every solved layer is kept: a run that was stopped or killed, and
        is started again with the same file, ends with the same front without solving them anew.
    workers : int, optional
        Layers that are searched side by side, at least 1; the result is the same with any number
        of them. By default 1, or with a scheduler as many as its cluster has threads.
    scheduler : str, optional
        Address of the scheduler of a Dask cluster, such as ``"tcp://host:8786"``, whose workers
        search instead of processes of this machine. They may come, go and die meanwhile.
    progress : callable, optional
        Told what is decided, and the size of the front, after each step.
    strategy : str, optional
        Try single designs instead, each with its proven best mappings, without a proof of the
        front: ``"random"``, or by Optuna's samplers ``"nsga2"`` or ``"tpe"``.
    designs : int, optional
        Different designs that a strategy tries; by default 100, or as many as `time_limit` allows.
    seed : int, optional
        Of a strategy's random numbers (0).
    against : Exploration or path, optional
        The proven front, or the JSON file of it, that a strategy's is compared with.
    worth : str, optional
        An axis: find, for each value of each parameter, the best design that has it, too.

    Returns
    -------
    Exploration
        Ctrl-C ends the search with the front so far.

    Raises
    ------
    InputError
        When something cannot be read, or the mapper proves nothing on machines of the space; when
        a strategy needs a package that is not installed, or an option means nothing.
    """
    given = space if isinstance(space, Space) else load_space(space)
    if objective not in MAPPED:
        raise InputError(
            f"expected one of {', '.join(MAPPED)}, found '{objective}'{nearest(objective, MAPPED)}",
            key="objective",
        )
    if time_limit is not None:
        check_seconds(time_limit, "time_limit")
    if workers is not None:
        check_count(workers, "workers", 1)
    chosen = check_axes(axes)
    valued = None if worth is None else check_axes((worth,))[0]
    if strategy is not None and worth is not None:
        raise InputError("means nothing with a strategy", key="worth")
    trying = {"designs": designs, "seed": seed, "against": against}
    if strategy is None:
        for key, value in trying.items():
            if value is not None:
                raise InputError("means nothing without a strategy", key=key)
    else:
        check_strategy(strategy)
        for key, value, least in (("designs", designs, 1), ("seed", seed, 0)):
            if value is not None:
                check_count(value, key, least)
    problem = Problem(
        given, tuple(_the_workloads(workloads, given)), chosen, objective,
        given.maximum if maximum is None else maximum,
    )  # fmt: skip
    proven = None if against is None else _the_proven(against, problem)
    start = perf_counter()
    kept = Store(store)
    try:
        those = Processes(workers or 1) if scheduler is None else Cluster(scheduler, workers)
        if scheduler is None:
            compiled(Progress())  # what the other processes need, before time is counted
        solver = Solver(kept, time_is_up(time_limit), those)
        try:
            if strategy is None:
                search = Search(problem, solver)
                search.run(progress)
                found = with_mappings(search.result(perf_counter() - start), problem, solver)
                if valued is None or not found.optimal:
                    return found
                return replace(found, worth=(valued, worth_of_values(problem, valued, solver)))
            if designs is None and time_limit is None:
                designs = DESIGNS
            tried = Trying(problem, solver, proven)
            tried.run(proposer_of(strategy, given, chosen, seed or 0), designs, progress)
            return with_mappings(tried.result(strategy, seed or 0), problem, solver)
        finally:
            solver.close()
    finally:
        kept.close()


def with_mappings(found: Exploration, problem: Problem, solver: Solver) -> Exploration:
    """Return an exploration with the best mappings of the designs of its front."""
    several = len(problem.workloads) > 1
    layers = [
        (f"{each.network.name}: {layer.name}" if several else layer.name, layer)
        for each in problem.workloads
        for layer in each.network.layers
    ]
    nests = {}
    for point in found.front:
        machine = problem.space.design(point.index)
        nests[point.index] = tuple(
            (name, solver.mapping(layer, machine, problem.objective)) for name, layer in layers
        )
    return replace(found, nests=nests)


def _the_proven(given: Exploration | str | PathLike[str], problem: Problem) -> Proven:
    """Return the proven front that is given as a result or as its file."""
    wanted = {
        "space": problem.space.name, "axes": list(problem.axes), "objective": problem.objective,
        "designs": problem.space.designs,
    }  # fmt: skip
    if isinstance(given, Exploration):
        return proven_front(given.to_dict(), wanted, None)
    source = fspath(given)
    try:
        data = json.loads(read_text(source))
    except json.JSONDecodeError:
        data = None
    return proven_front(data, wanted, source)


def _the_workloads(
    given: WorkloadLike | Mapping[str, float] | Sequence[WorkloadLike] | None, space: Space
) -> list[Workload]:
    if given is None:
        if space.workloads is None:
            raise InputError(
                "no workload: name one, or give the space 'workloads'", key="workloads"
            )
        given = space.workloads
    if isinstance(given, Mapping):
        return [Workload(the_network(name), weight) for name, weight in given.items()]
    if isinstance(given, Sequence) and not isinstance(given, str):
        return [Workload(the_network(each), 1.0) for each in given]
    return [Workload(the_network(given), 1.0)]
