"""Searches of one kind of mapping: some spatial choices, some bypasses, some order of stores."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy

import numpy as np

from tilewright.kernels.types import Ints
from tilewright.mapper.bounds.plan import Plan
from tilewright.mapper.objective.objective import Objective
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.search.search import Search

SpatialSet = frozenset[str]
"""Dimensions that one array unrolls, by more than one chunk each."""


def afresh(search: Search, objective: Objective, below: float) -> Search:
    """Return a search of the same space that has found nothing yet.

    It finds mappings up to a value only, and shares nothing that changes: both may run at the same
    time.
    """
    part = copy(search)
    part.tables = search.tables.anew()
    part.aim(objective)
    part.best[0] = below
    return part


def spatial_sets(search: Search) -> list[SpatialSet]:
    """Return the dimensions of each spatial choice, of all arrays."""
    return [frozenset(d for _, d, _ in choice.factors) for choice in search.unrollings]


def unrolled(search: Search, allowed: Sequence[Collection[SpatialSet]]) -> Search | None:
    """Return a search whose spatial choices unroll one of the allowed sets on each array.

    Returns
    -------
    Search or None
        None when an array has no such choice.
    """
    sp = search.space
    sets = spatial_sets(search)
    chosen: list[int] = []
    start = [0]
    for k, own in enumerate(allowed):
        chosen += [c for c in range(sp.unroll_start[k], sp.unroll_start[k + 1]) if sets[c] in own]
        if len(chosen) == start[-1]:
            return None
        start.append(len(chosen))
    part = copy(search)
    rows = np.array(chosen, np.int64)
    part.unroll(
        sp._replace(
            unroll_start=np.array(start, np.int64),
            unroll=sp.unroll[rows],
            unroll_product=sp.unroll_product[rows],
            unroll_reuse=sp.unroll_reuse[rows],
            unroll_sharing=sp.unroll_sharing[rows],
            unroll_bits=sp.unroll_bits[rows],
            mirror=np.arange(len(sp.mirror)),
            mirror_choice=np.arange(len(rows)),
            mirror_dimension=np.arange(len(sp.side)),
            side=np.zeros_like(sp.side),
        ),
        [search.unrollings[c] for c in chosen],
        search.tables.slides,
    )
    return part


def kept_otherwise(search: Search, kept: Collection[str]) -> Iterator[Plan]:
    """Yield the bypass choices in which the innermost memory stores other tensors than `kept`."""
    innermost = len(search.of_memory) - 1
    names = [tensor.name for tensor in search.layer.tensors]
    for plan in search.plans() if innermost > 0 else ():
        own = {name for name, chain in zip(names, plan.keep, strict=True) if chain[-1] == innermost}
        if own != set(kept):
            yield plan


def stationary_otherwise(search: Search, stationary: Collection[str]) -> Iterator[Plan]:
    """Yield the bypass choices in which other tensors may be stationary, and only these.

    In what a search of them finds, the outermost store node of the innermost memory is that of a
    tensor which is not in `stationary`; or that memory stores nothing, if `stationary` has any.
    """
    innermost = len(search.of_memory) - 1
    names = [tensor.name for tensor in search.layer.tensors]
    for plan in search.plans():
        keepers = [t for t, chain in enumerate(plan.keep) if chain[-1] == innermost > 0]
        barred = [t for t in keepers if names[t] in stationary]
        if not keepers:
            if stationary:
                yield plan
        elif len(barred) < len(keepers):
            others = [t for t in keepers if t not in barred]
            yield reordered(plan, search.of_memory[innermost], barred, others)


def stationary_alone(
    search: Search, tensor: str, keeps: Iterable[KeepChoice] | None = None
) -> Iterator[Plan]:
    """Yield the bypass choices in which a tensor may be stationary, and only this one first.

    They are those of `keeps`, by default of all.

    What a search of them finds is the best mapping with the tensor in `Dataflow.stationary`; with
    an empty name, the best one whose innermost memory stores nothing. No constraint may hold loops
    or store nodes of the walk where they are.
    """
    innermost = len(search.of_memory) - 1
    names = [t.name for t in search.layer.tensors]
    for plan in search.plans(keeps):
        keepers = [t for t, chain in enumerate(plan.keep) if chain[-1] == innermost > 0]
        first = [t for t in keepers if names[t] == tensor]
        if not tensor and not keepers:
            yield plan
        elif first:
            barred = [t for t in keepers if t not in first]
            yield reordered(plan, search.of_memory[innermost], barred, first)


def reordered(plan: Plan, segment: int, barred: Sequence[int], others: Sequence[int]) -> Plan:
    """Return a bypass choice whose last nodes of `barred` come after one of `others`."""
    part = plan.parts[segment]
    stages = behind(part.stage_count, part.stage_next, barred, others)
    plan.parts[segment] = part._replace(stage_next=stages)
    plan.lk = plan.lk._replace(ordered=True)
    return plan


def behind(count: Ints, following: Ints, barred: Sequence[int], others: Sequence[int]) -> Ints:
    """Return the stages that follow when the last node of `barred` comes after one of `others`.

    `count` and `following` are `stage_count` and `stage_next` of a `Segment`; the last node of a
    tensor in it is that in the innermost memory.
    """
    need = count[-1]
    begun = (count[:, others] == need[others]).any(axis=1)
    result = following.copy()
    for t in barred:
        result[~begun & (count[:, t] == need[t] - 1), t] = -1
    return result
