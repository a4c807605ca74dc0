"""The proven optimum that strategies are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from time import thread_time

from tilewright.mapper.confirmed import confirmed
from tilewright.mapper.network import check_possible
from tilewright.mapper.size import mappings_in_space
from tilewright.mapper.solve import Search
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


def optimum(problem: Problem) -> Optimum:
    """Search until the best mapping is proven.

    Raises
    ------
    NoMappingError
        When no mapping can run the layer.
    """
    layer, architecture, objective = problem.layer, problem.architecture, problem.objective
    check_possible(layer, architecture)
    Search(SMALL, architecture, objective).solve()  # compiles what is not compiled yet
    begin = thread_time()
    found = Search(layer, architecture, objective).solve()
    seconds = thread_time() - begin
    assert found.mapping is not None
    result = confirmed(
        layer, architecture, objective, found,
        mappings_in_space=mappings_in_space(layer, architecture), seconds=seconds,
    )  # fmt: skip
    proof = result.proof
    return Optimum(proof.value, proof.lower_bound, proof.optimal, seconds, found.mapping)
