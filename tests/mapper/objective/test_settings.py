"""No part of the search decides what is optimal."""

from __future__ import annotations

from dataclasses import fields, replace
from math import isclose

import pytest

from problems import problem
from tilewright.architecture.files import load_architecture
from tilewright.mapper.objective.settings import EVERY_PART, Settings
from tilewright.mapper.problem.bypass_choices import narrowed
from tilewright.mapper.search.all_sizes.all_tile_sizes import with_all_sizes
from tilewright.mapper.search.found import Found
from tilewright.mapper.search.search import Search
from tilewright.workload.einsum import einsum
from tilewright.workload.layer import Layer

PARTS = [field.name for field in fields(Settings)]
WINDOWS = einsum("O[K,P,Q] += I[C,P+R,Q+S] * W[K,C,R,S]", K=16, C=8, P=8, Q=8, R=3, S=3)
PRIMES = einsum("O[M,N] += I[M,K] * W[K,N]", M=7, N=13, K=11)


def without(*parts: str) -> Settings:
    return replace(EVERY_PART, **dict.fromkeys(parts, False))


def searched(layer: Layer, settings: Settings, objective: str = "edp") -> Found:
    return Search(layer, load_architecture("simple"), objective, settings).solve()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", (4, 1, 10, 11))
def test_the_optimum_is_the_same_without_any_part(seed: int) -> None:
    layer, machine = problem(seed)
    whole = Search(layer, machine, "edp").solve()
    for settings in (*map(without, PARTS), without(*PARTS)):
        found = Search(layer, machine, "edp", settings).solve()
        assert found.finished == whole.finished
        assert isclose(found.value, whole.value, rel_tol=1e-12)


def test_without_a_part_more_is_looked_at() -> None:
    whole = searched(WINDOWS, EVERY_PART).labels
    for part in ("dominance", "symmetry", "tables_across"):
        assert searched(WINDOWS, without(part)).labels > whole, part
    assert searched(WINDOWS, without("dives")).labels != whole


def test_bounds_of_all_tile_sizes_are_no_higher_without_a_part() -> None:
    machine = narrowed(load_architecture("simple"), PRIMES)
    even = searched(PRIMES, EVERY_PART)
    whole = with_all_sizes(PRIMES, machine, "edp", even)
    for part in ("regular_bound", "joint_bound", "shares"):
        found = with_all_sizes(PRIMES, machine, "edp", even, settings=without(part))
        assert found.bound <= whole.bound * (1 + 1e-12)
        assert found.irregular_bound <= whole.irregular_bound * (1 + 1e-12)
