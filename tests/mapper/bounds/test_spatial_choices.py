"""Combinations of spatial choices bound every mapping, and lose none of the best."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np
import pytest

from problems import problem
from tilewright.architecture import parse_architecture
from tilewright.document import parse
from tilewright.mapper.bounds.combinations import (
    MOST,
    combinations,
    combined,
    shared_in_windows,
)
from tilewright.mapper.bounds.small_memories import with_small_memories
from tilewright.mapper.bounds.spatial_choices import SpatialBounds, values
from tilewright.mapper.problem.bypass_choices import KeepChoice
from tilewright.mapper.search import best_first
from tilewright.mapper.search.search import Search
from tilewright.mapping.nodes import For, Mapping, Spatial, Store
from tilewright.model.evaluate import evaluate
from tilewright.workload.operators import conv2d

OBJECTIVES = ("energy", "latency", "edp")
ARRAYS_ALONE = """
name: arrays-alone
levels:
- {memory: DRAM, word: 8 bits, energy: {read: 20, write: 20}}
- {memory: L1, size: 64 B, word: 8 bits, energy: {read: 4, write: 4}, bandwidth: 2}
- {array: Cluster, axes: {X: 4}, network: {multicast: true, reduction: true}}
- {array: PE, axes: {X: 4}, network: {multicast: true, reduction: true}}
- {compute: MAC, energy: 0.1, cycles: 1}
"""


def bounds_of(search: Search) -> SpatialBounds:
    """Return the bounds of all combinations."""
    found = combinations(search.space)
    assert found is not None
    return SpatialBounds(
        search.layer, search.architecture, search.space, search.operations_energy(),
        search.chains, found,
    )  # fmt: skip


def kept(search: Search, mapping: Mapping) -> KeepChoice:
    """Return the bypass choice of a mapping."""
    return tuple(
        tuple(
            m
            for m, memory in enumerate(search.architecture.memories)
            if any(
                isinstance(node, Store) and node.memory == memory.name and t.name in node.tensors
                for node in mapping.nodes
            )
        )
        for t in search.layer.tensors
    )


def choices_of(search: Search, mapping: Mapping) -> list[int]:
    """Return the spatial choice of each array in a mapping."""
    extents = dict(search.layer.bounds)
    factors = {a.name: dict.fromkeys(extents, 1) for a in search.architecture.arrays}
    for node in mapping.nodes:
        if isinstance(node, Spatial):
            factors[node.array][node.dimension] *= extents[node.dimension] // node.tile
        if isinstance(node, For | Spatial):
            extents[node.dimension] = node.tile
    choices = []
    for k, own in enumerate(factors.values()):
        begin, end = search.space.unroll_start[k : k + 2]
        digits = [
            int(np.searchsorted(search.tiles.values[i, : search.tiles.sizes[i]], own[d]))
            for i, d in enumerate(search.tiles.dimensions)
        ]
        (choice,) = np.flatnonzero((search.space.unroll[begin:end] == digits).all(axis=1))
        choices.append(int(begin + choice))
    return choices


def position(search: Search, bounds: SpatialBounds, mapping: Mapping) -> int:
    """Return the combination of a mapping."""
    kinds = bounds.all.kind_of[choices_of(search, mapping)]
    (found,) = np.flatnonzero((bounds.all.kind == kinds).all(axis=1))
    return int(found)


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(s, marks=pytest.mark.slow) for s in range(12, 40))]
)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_bypass_choice_is_bounded_above_its_best_mapping(
    seed: int, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(best_first, "combine", lambda search, plan, whole: False)
    search = Search(*problem(seed), objective)
    if not search.na:
        pytest.skip("no array")
    bounds = bounds_of(search)
    for keep in search.keeps()[:4]:
        search.begin_anew()
        found = search.solve(plans=search.plans([keep]))
        least = values(search.goal, *bounds.least(keep))
        assert least.min() <= found.value * (1 + 1e-9)


@pytest.mark.sampled(9)
@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(s, marks=pytest.mark.slow) for s in range(12, 60))]
)
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_searches_in_parts_find_what_whole_ones_find(
    seed: int, objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setattr(best_first, "combine", lambda search, plan, whole: False)
        whole = Search(*problem(seed), objective)
        expected = whole.solve()
    monkeypatch.setattr(best_first, "EASY", 0)
    monkeypatch.setattr(best_first, "DIVIDED", 1)
    monkeypatch.setattr(best_first, "WIDE", 1)
    search = Search(*problem(seed), objective)
    found = search.solve()
    assert found.finished
    assert expected.finished
    assert search.best[:2] == pytest.approx(whole.best[:2], rel=1e-9)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "seed", [*range(12), *(pytest.param(s, marks=pytest.mark.slow) for s in range(12, 40))]
)
def test_each_combination_bounds_its_own_mappings(seed: int) -> None:
    search = Search(*problem(seed), "energy")
    if not search.na:
        pytest.skip("no array")
    bounds = bounds_of(search)
    compare_walks(search, bounds)


def compare_walks(search: Search, bounds: SpatialBounds) -> None:
    """Compare what mappings cost with the bounds of their combinations."""
    search.anneal(4, 200, lambda: False)
    assert search.annealing is not None
    for walk in search.annealing.rounds(4, 100, lambda: False):
        if walk.value == inf:
            continue
        mapping = search.annealing.mapping(walk)
        cost = evaluate(search.layer, search.architecture, mapping)
        energy, cycles = bounds.least(kept(search, mapping))
        at = position(search, bounds, mapping)
        assert energy[at] <= cost.energy_pj * (1 + 1e-9)
        assert cycles[at] <= cost.cycles * (1 + 1e-9)
        if bounds.all.apart or not (search.space.windows >= 0).any():
            energy, cycles = with_small_memories(
                search.layer, search.architecture, kept(search, mapping), bounds.all,
                bounds.compute_cycles(),
            )  # fmt: skip
            assert energy[at] <= cost.energy_pj * (1 + 1e-9)
            assert cycles[at] <= cost.cycles * (1 + 1e-9)
        plan = search.plan(kept(search, mapping))
        bounds.restrict(plan, search.goal, walk.value)
        choices = choices_of(search, mapping)
        assert plan.lk.matters[choices].all()
        for least in (plan.lk.fewest_cycles, plan.lk.cycles_of[choices].max()):
            assert least <= cost.cycles * (1 + 1e-9)


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_windows_over_two_arrays_share_what_a_sum_of_sets_allows(
    stride: int, dilation: int, objective: str
) -> None:
    layer = conv2d(K=2, C=2, P=4, Q=2, R=4, S=2, stride=stride, dilation=dilation)
    search = Search(layer, parse_architecture(parse(ARRAYS_ALONE)), objective)
    bounds = bounds_of(search)
    assert bounds.all.apart
    compare_walks(search, bounds)
    found = search.solve()
    assert found.finished
    assert found.bound <= found.value


def test_what_elements_of_two_arrays_share_is_known() -> None:
    search = Search(
        conv2d(K=2, C=2, P=4, Q=2, R=4, S=2), parse_architecture(parse(ARRAYS_ALONE)), "energy"
    )
    bounds = bounds_of(search)
    group = bounds.all.group
    p, r = (int(group[search.tiles.dimensions.index(d)]) for d in "PR")
    factors = bounds.all.factors
    (at,) = np.flatnonzero(
        (factors[:, 0, p] == 4) & (factors[:, 1, r] == 4) & (bounds.all.product == 4).all(axis=1)
    )
    # 4 + 4 - 1 words for 16 elements
    shared = shared_in_windows(bounds.all, search.space, 0, [0, 1])
    assert shared[at] == pytest.approx(16 / 7)


def test_wide_combinations_are_divided_into_those_that_they_are_made_of() -> None:
    layer = conv2d(K=2, C=2, P=4, Q=2, R=4, S=2)
    sp = Search(layer, parse_architecture(parse(ARRAYS_ALONE)), "energy").space
    wide, fine = combined(sp, False, MOST), combined(sp, True, MOST)
    assert wide is not None
    assert fine is not None
    some = wide.some(np.arange(len(wide.kind)) % 3 == 0)
    own = {tuple(kinds) for kinds in some.kind.tolist()}
    # the wider class of every fine one
    wider = np.full(fine.kind_of.max() + 1, -1), np.full(fine.kind_of.max() + 1, -1)
    for k, (begin, end) in enumerate(pairwise(sp.unroll_start)):
        wider[k][fine.kind_of[begin:end]] = wide.kind_of[begin:end]
    expected = [
        kinds
        for kinds in fine.kind.tolist()
        if tuple(wider[k][kind] for k, kind in enumerate(kinds)) in own
    ]
    divided = combined(sp, True, MOST, some)
    assert divided is not None
    assert 0 < len(expected) < len(fine.kind)
    assert divided.kind.tolist() == expected


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_dividing_wide_combinations_loses_nothing(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = conv2d(K=2, C=2, P=4, Q=2, R=4, S=2)
    machine = parse_architecture(parse(ARRAYS_ALONE))
    expected = Search(layer, machine, objective).solve()
    monkeypatch.setattr(best_first, "combinations", lambda sp: combined(sp, apart=False, most=MOST))
    search = Search(layer, machine, objective)
    found = search.solve()
    assert search.together is not None
    assert search.together.all.apart
    assert found.finished
    assert found.value == pytest.approx(expected.value, rel=1e-9)


def test_combinations_are_found_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many are tried at once, the same ones are found, in the same order."""
    layer, machine = conv2d(K=2, C=2, P=4, Q=2, R=4, S=2), parse_architecture(parse(ARRAYS_ALONE))
    space = Search(layer, machine, "energy").space
    whole = combinations(space)
    assert whole is not None
    monkeypatch.setattr("tilewright.mapper.bounds.combinations.AT_ONCE", 1)
    again = combinations(space)
    assert again is not None
    assert len(again.kind) > 8
    for own, other in zip(whole, again, strict=True):
        np.testing.assert_array_equal(own, other)
    assert combined(space, True, len(whole.kind) - 1) is None
