"""The proven optimum that strategies are compared with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter, thread_time

from tilewright.kernels.time_limits import time_is_up
from tilewright.mapper.network.layer_search import check_possible
from tilewright.mapper.objective.objective import parse_objective
from tilewright.mapper.problem.space_size import mappings_in_space
from tilewright.mapper.results.ticking import every, so_far
from tilewright.mapper.search.confirmed import confirmed
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping
from tilewright.strategies.steps import Problem
from tilewright.workload.einsum import einsum

SMALL = einsum("O[K,P] += I[C,P+R] * W[K,C,R]", K=2, C=2, P=2, R=2)


@dataclass(frozen=True)
class Optimum:
    """What the mapper found, and whether it is proven.

    Attributes
    ----------
    value, lower_bound : float
        pJ, cycles, or pJ x cycles; equal when proven.
    proven : bool
        Whether no mapping of the space is better.
    seconds : float
        CPU seconds of the search.
    mapping : Mapping
    """

    value: float
    lower_bound: float
    proven: bool
    seconds: float
    mapping: Mapping


def optimum(
    problem: Problem,
    time_limit: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Optimum | None:
    """Search until the best mapping is proven, or time is up.

    Parameters
    ----------
    problem : Problem
        What to map onto what.
    time_limit : float, optional
        Seconds for the proof, without those of the compilation.
    tell : callable
        Told in a line, every few seconds, what the best is and what is proven of it.

    Returns
    -------
    Optimum or None
        None where time was up before there was any mapping.

    Raises
    ------
    NoMappingError
        When no mapping can run the layer.
    """
    layer, architecture, objective = problem.layer, problem.architecture, problem.objective
    check_possible(layer, architecture)
    Search(SMALL, architecture, objective).solve()  # compiles what is not compiled yet
    unit, reached = parse_objective(objective).unit, [inf, 0.0]
    begin, start = thread_time(), perf_counter()
    stop = time_is_up(time_limit)

    def reach(best: float, bound: float) -> None:
        reached[:] = best, bound

    def lines() -> list[str]:
        state = so_far(reached[0], reached[1], unit)
        return [f"{layer.name}, least {objective}: {state}, {perf_counter() - start:.0f} s"]

    with every(lines, tell):
        found = Search(layer, architecture, objective).solve(stop, reach)
    seconds = thread_time() - begin
    if found.mapping is None and not found.finished:
        return None
    assert found.mapping is not None
    result = confirmed(
        layer, architecture, objective, found,
        mappings_in_space=mappings_in_space(layer, architecture), seconds=seconds,
    )  # fmt: skip
    proof = result.proof
    return Optimum(proof.value, proof.lower_bound, proof.optimal, seconds, found.mapping)


def until(time_limit: float | None) -> str:
    """Return in words when the search for an optimum ends."""
    return "until it is proven" + ("" if time_limit is None else f", for {time_limit:g} s at most")
