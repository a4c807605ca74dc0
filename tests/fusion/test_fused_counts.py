"""The closed form of a fused mapping counts what the simulator counts."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from fused_cases import FusedCase, fused_cases
from tilewright.fusion.count import count_fused
from tilewright.mapping.fused.scopes import resolve_fused
from tilewright.reference.fused import simulate_fused

SETTINGS = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def assert_equal(case: FusedCase) -> None:
    segment, architecture, mapping = case
    simulated = simulate_fused(segment, architecture, mapping)
    counted = count_fused(resolve_fused(mapping, segment), architecture)
    assert counted.stores == simulated.stores
    assert counted == simulated


@SETTINGS
@given(case=fused_cases())
def test_halos_are_retained(case: FusedCase) -> None:
    assert_equal(case)


@SETTINGS
@given(case=fused_cases(modes=("retain", "recompute")))
def test_halos_are_recomputed(case: FusedCase) -> None:
    assert_equal(case)


@SETTINGS
@given(case=fused_cases(modes=("retain", "recompute", "refetch")))
def test_halos_are_refetched(case: FusedCase) -> None:
    assert_equal(case)
