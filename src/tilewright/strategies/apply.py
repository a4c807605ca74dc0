"""Mappings of a whole network by a strategy, without a proof."""

from __future__ import annotations

from math import inf
from time import perf_counter

from tilewright.architecture.machine import Architecture
from tilewright.errors import InputError
from tilewright.mapper.results.proof import Proof
from tilewright.mapper.results.result import LayerResult, NetworkResult
from tilewright.mapper.results.searched_space import OWN
from tilewright.model.evaluate import evaluate
from tilewright.strategies.catalogue import strategy
from tilewright.strategies.run import Run, improvements
from tilewright.strategies.steps import Problem
from tilewright.workload.layer import Layer, Network

ENDLESS = ("random", "pruned", "blackbox")


def apply_strategy(
    network: Network,
    architecture: Architecture,
    objective: str,
    text: str,
    time_limit: float | None = None,
) -> NetworkResult:
    """Return the best mapping of each layer that a strategy finds.

    Parameters
    ----------
    network, architecture
        What is mapped onto what.
    objective : str
        What to minimise, see `objective.parse_objective`.
    text : str
        A strategy, with its options, see `catalogue.strategy`.
    time_limit : float, optional
        CPU seconds for all layers together, evenly; needed for strategies that do not end by
        themselves.

    Returns
    -------
    NetworkResult
        Nothing is proven: every lower bound is 0.

    Raises
    ------
    InputError
        When there is no such strategy, or it does not cover the machine or needs a time limit.
    """
    way = strategy(text)
    name = text.partition(":")[0]
    if time_limit is None and name in ENDLESS:
        raise InputError(f"{name} does not end by itself; give it a time limit", key="time_limit")
    seconds = inf if time_limit is None else time_limit / len(network.layers)
    start = perf_counter()
    results: list[LayerResult] = []
    unmapped: list[Layer] = []
    for layer in network.layers:
        problem = Problem(layer, architecture, objective)
        way.check(problem)
        run, begin = Run(text), perf_counter()
        for _ in improvements(run, way, problem, seconds, 0):
            pass
        if run.best is None:
            unmapped.append(layer)
            continue
        proof = Proof(
            optimal=False,
            lower_bound=0.0,
            value=run.best.value,
            gap=1.0,
            space=f"What the strategy {text} tries: {run.evaluated:,} mappings of this layer.",
            mappings_in_space=float(run.evaluated),
            seconds=perf_counter() - begin,
            tiles=OWN,
            reason="a strategy proves nothing",
        )
        cost = evaluate(layer, architecture, run.best.mapping)
        results.append(LayerResult(layer, run.best.mapping, cost, objective, proof))
    return NetworkResult(
        network=network,
        architecture=architecture,
        objective=objective,
        layers=tuple(results),
        seconds=perf_counter() - start,
        interrupted=False,
        unmapped=tuple(unmapped),
    )
