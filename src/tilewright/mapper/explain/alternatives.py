"""The best mapping of each kind that is nearly as good as the optimum, or works otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import inf

from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.objective.tolerances import TIE
from tilewright.mapper.problem.bypass_choices import KeepChoice, keep_choices
from tilewright.mapper.results.dataflow import Dataflow, dataflow
from tilewright.mapper.search.found import Found
from tilewright.mapper.search.questions.restricted import (
    SpatialSet,
    afresh,
    kept_otherwise,
    spatial_sets,
    stationary_otherwise,
    unrolled,
)
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import Mapping

Stop = Callable[[], bool]
Allowed = tuple[frozenset[SpatialSet], ...]
"""Sets of dimensions that each array may unroll."""

SPATIAL, BYPASS = "spatial", "bypass"
KEPT, STATIONARY = "kept", "stationary"


@dataclass(frozen=True)
class OtherDataflow:
    """The best mapping of some kind, as the search values it.

    Attributes
    ----------
    kind : str
        Why it is one: the best of a bypass choice, of a set of spatially unrolled dimensions, or
        of those in which the innermost memory keeps other tensors, or another one is stationary.
    mapping : Mapping
        How it works.
    value : float
        Its objective.
    bound : float
        No mapping of the kind has less.
    proven : bool
        Whether it is the best of its kind.
    """

    kind: str
    mapping: Mapping
    value: float
    bound: float
    proven: bool


@dataclass(frozen=True)
class Nearby:
    """What a family of kinds has within a limit.

    Attributes
    ----------
    candidates : tuple of OtherDataflow
        Each below the limit.
    complete : bool
        Whether there are no more.
    """

    candidates: tuple[OtherDataflow, ...] = ()
    complete: bool = False


@dataclass(frozen=True)
class Otherwise:
    """The best mapping of all that work otherwise than the optimum in one respect.

    Attributes
    ----------
    candidate : OtherDataflow or None
        None when there is none, or when none was found in time.
    complete : bool
        Whether every such mapping was covered.
    """

    candidate: OtherDataflow | None = None
    complete: bool = False


def candidate(kind: str, found: Found) -> OtherDataflow | None:
    """Return what a search found as a candidate."""
    if found.mapping is None:
        return None
    return OtherDataflow(kind, found.mapping, found.value, found.bound, found.finished)


def stored(search: Search, keep: KeepChoice) -> dict[str, tuple[str, ...]]:
    """Return which tensors each memory but the outermost stores, see `Dataflow`."""
    tensors = [tensor.name for tensor in search.layer.tensors]
    return {
        memory.name: tuple(name for name, chain in zip(tensors, keep, strict=True) if m in chain)
        for m, memory in enumerate(search.architecture.memories)
        if m > 0
    }


def other_bypasses(
    search: Search, objective: Objective, optimum: Dataflow, limit: float, stop: Stop
) -> tuple[Nearby, list[KeepChoice]]:
    """Find the best mapping of every bypass choice but the optimum's, up to a limit.

    Returns
    -------
    nearby : Nearby
    keeps : list of KeepChoice
        The bypass choices that may have mappings up to the limit, the optimum's included.
    """
    found, keeps, complete = [], [], True
    for keep in keep_choices(search.layer, search.architecture):
        if stored(search, keep) == optimum.stored:
            keeps.append(keep)
            continue
        part = afresh(search, objective, limit)
        ended = part.solve(stop, plans=part.plans([keep]))
        complete = complete and ended.finished
        if one := candidate(BYPASS, ended):
            found.append(one)
        if one or not ended.finished:
            keeps.append(keep)
    return Nearby(tuple(found), complete), keeps


def without(allowed: Allowed, taken: Sequence[SpatialSet]) -> list[Allowed]:
    """Return parts that hold every combination of allowed sets but one, and none twice.

    The i-th part has what is taken on the arrays above the i-th, and something else on this one
    (the partition of Murty, Operations Research 16(3), 1968).
    """
    return [
        (
            *(frozenset([one]) for one in taken[:i]),
            allowed[i] - {taken[i]},
            *allowed[i + 1 :],
        )
        for i in range(len(allowed))
    ]


def other_spatial_sets(
    search: Search,
    objective: Objective,
    optimum: Dataflow,
    limit: float,
    keeps: Sequence[KeepChoice],
    stop: Stop,
) -> tuple[Otherwise, Nearby]:
    """Find the best mapping of every set of spatial dimensions but the optimum's, up to a limit.

    Parameters
    ----------
    keeps : sequence of KeepChoice
        The bypass choices that may have mappings up to the limit.

    Returns
    -------
    otherwise : Otherwise
        The best of all, beyond the limit as well.
    nearby : Nearby
        The best of each set up to the limit.
    """
    sets = spatial_sets(search)
    start = search.space.unroll_start
    everything: Allowed = tuple(frozenset(sets[start[k] : start[k + 1]]) for k in range(search.na))
    order = count()
    queue: list[tuple[float, int, OtherDataflow, Allowed]] = []
    complete = True
    least = bound = inf

    def best_of(
        allowed: Allowed, ceiling: float, among: Sequence[KeepChoice] | None
    ) -> Found | None:
        part = unrolled(search, allowed)
        if part is None:
            return None
        ended = afresh(part, objective, ceiling)
        found = ended.solve(stop, plans=ended.plans(among))
        if one := candidate(SPATIAL, found):
            heappush(queue, (one.value, next(order), one, allowed))
        return found

    for allowed in without(everything, optimum.spatial):
        found = best_of(allowed, max(limit, least), None)
        if found is not None:
            complete = complete and found.finished
            least, bound = min(least, found.value), min(bound, found.bound)
    first = None
    if queue:
        best = queue[0][2]
        first = OtherDataflow(SPATIAL, best.mapping, best.value, min(bound, best.value), complete)
    otherwise = Otherwise(first, complete)
    nearby: list[OtherDataflow] = []
    while queue and queue[0][0] <= limit * (1 + TIE):
        _, _, one, allowed = heappop(queue)
        nearby.append(one)
        taken = dataflow(one.mapping, search.layer, search.architecture).spatial
        for rest in without(allowed, taken):
            found = best_of(rest, limit, keeps)
            complete = complete and (found is None or found.finished)
    return otherwise, Nearby(tuple(nearby), complete)


def other_kept(search: Search, objective: Objective, optimum: Dataflow, stop: Stop) -> Otherwise:
    """Find the best mapping in which the innermost memory stores other tensors."""
    part = afresh(search, objective, inf)
    ended = part.solve(stop, plans=kept_otherwise(part, optimum.kept))
    return Otherwise(candidate(KEPT, ended), ended.finished)


def other_stationary(
    search: Search, objective: Objective, optimum: Dataflow, stop: Stop
) -> Otherwise:
    """Find the best mapping in which a tensor is stationary that is not in the optimum, or none."""
    part = afresh(search, objective, inf)
    ended = part.solve(stop, plans=stationary_otherwise(part, optimum.stationary))
    return Otherwise(candidate(STATIONARY, ended), ended.finished)
